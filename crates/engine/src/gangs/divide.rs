//! Which units the waiting pods of a gang are: one as long as it needs them, each its own after.

use model::{GangId, Millis, PodId, PodState, Reason, Stage, Time, UnitId};

use super::News;
use crate::queue::{Own, Place, Standing, Start};
use crate::{Scheduler, profile_of};

/// How long a gang may be incomplete before its pods are told.
const GATHERS: Millis = Millis::seconds(1);

/// How the unit of a gang has to be.
struct Wanted {
    standing: Standing,
    refusal: Option<Reason>,
    /// Whether all of its pods are kept out.
    is_gated: bool,
}

impl Wanted {
    fn is_out(&self) -> bool {
        self.is_gated && self.refusal.is_some()
    }
}

impl Scheduler {
    /// Gives the waiting pods of a gang, and of its parts, the units they belong to.
    pub(super) fn divide(&mut self, gang: GangId, news: News, now: Time) {
        if self.catalog.is_fault(gang) || !self.is_satisfied(gang) {
            return self.gather(gang, news, now);
        }
        let unit = self.queue.unit_of_gang(gang);
        // Those that were one unit until now.
        let is_split = unit.is_some_and(|unit| self.queue.crew(unit).is_some());
        let news = if is_split { News::All } else { news };
        let row = self.catalog.gang(gang);
        if row.is_composite() {
            let own = news.pod().and_then(|pod| self.catalog.pod(pod).gang);
            let is_above =
                |part: &GangId| own.is_some_and(|own| self.catalog.is_within(own, *part));
            let parts = row.parts.iter().copied();
            let parts: Vec<GangId> = match news {
                News::All | News::Left => parts.collect(),
                News::Arrived(_) | News::Pod(_) => parts.filter(is_above).collect(),
            };
            return parts.into_iter().for_each(|part| self.divide(part, news, now));
        }
        let is_short =
            row.terms.as_ref().is_ok_and(|terms| terms.min_resources.named().count() > 0);
        // The first on a node ends what others wait for.
        let is_first = |pod: PodId| self.catalog.pod(pod).state != PodState::Waiting;
        let is_begun = is_short && row.placed == 1 && news.pod().is_none_or(is_first);
        let pods = match news.pod() {
            Some(pod) if !is_begun => vec![pod],
            None if news == News::Left && !is_begun => Vec::new(),
            Some(_) | None => self.waiting_in(gang),
        };
        let stage = &mut self.catalog.progress_mut(gang).stage;
        match stage {
            Stage::Degraded => *stage = Stage::Started,
            Stage::Partial { is_told, .. } => *is_told = false,
            Stage::Waiting | Stage::Started => {}
        }
        pods.into_iter().for_each(|pod| self.divide_pod(pod, now));
    }

    /// Makes a waiting pod a unit of its own.
    fn divide_pod(&mut self, pod: PodId, now: Time) {
        if self.catalog.pod(pod).state != PodState::Waiting {
            return;
        }
        if let Some(unit) = self.queue.unit_alone(pod) {
            // Its binding was refused, and it may have changed since it was sent.
            if self.queue.place(unit) == Place::Tried {
                self.queue.set_standing(unit, self.standing(pod).0);
            }
            return self.wake_from_all(unit, now);
        }
        let unit = self.queue.unit_of(pod);
        let past = unit.map(|unit| self.queue.past(unit));
        self.queue.take_out(pod);
        let (standing, is_gated) = self.standing(pod);
        let unit = self.queue.add(vec![pod], None, standing, now, &Start::of(is_gated));
        if let Some((_, last_failure, arrived)) = past {
            self.queue.inherit(unit, (0, last_failure, arrived));
        }
    }

    /// Makes one unit of the waiting pods of a gang.
    fn gather(&mut self, gang: GangId, news: News, now: Time) {
        let known = self.queue.unit_of_gang(gang);
        let is_whole = known.is_some_and(|unit| self.queue.crew(unit).is_some());
        let Some(unit) = known else {
            let pods = self.waiting_in(gang);
            return self.gather_new(gang, pods, now);
        };
        // One that comes to the others is the common case, and nothing is listed for it.
        let (one, all);
        let pods = match news {
            News::Arrived(pod) | News::Pod(pod) if is_whole => {
                one = [pod];
                &one[..]
            }
            News::Left if is_whole => &[],
            News::All | News::Arrived(_) | News::Pod(_) | News::Left => {
                all = self.waiting_in(gang);
                &all[..]
            }
        };
        if news == News::All || !is_whole {
            self.dismiss_others(unit, gang, is_whole);
            if pods.is_empty() {
                return self.queue.remove(unit);
            }
        }
        let (mut is_added, mut is_helped) = (false, false);
        for pod in pods.iter().copied() {
            if self.catalog.pod(pod).state != PodState::Waiting {
                continue;
            }
            let before = self.queue.unit_of(pod);
            if before != Some(unit) {
                (is_added, is_helped) = (true, is_helped || self.may_help(gang, unit, pod));
                before.into_iter().for_each(|_| self.queue.take_out(pod));
                self.queue.enlist(unit, pod);
            }
            let own = self.own(pod);
            self.queue.crew(unit).into_iter().for_each(|crew| crew.set(pod, own.clone()));
        }
        self.set_gathered(gang, unit, (is_added, is_helped), now);
    }

    /// Lets the unit of a gang go on with the pods it has now. Pods that were added may help it.
    fn set_gathered(
        &mut self,
        gang: GangId,
        unit: UnitId,
        (is_added, is_helped): (bool, bool),
        now: Time,
    ) {
        // It may need fewer pods now.
        self.queue.set_short(unit, 0);
        let first = self.queue.pods(unit).first().copied();
        let crew = self.queue.crew(unit).zip(first);
        let Some((crew, first)) = crew else { return };
        let Some(standing) = crew.standing() else { return };
        let gated = (crew.is_gated(), crew.first_gated().map(Into::into));
        let wanted = self.wanted(gang, first, standing, gated);
        let place = self.queue.place(unit);
        let is_same = self.queue.refusal(unit) == wanted.refusal.as_ref()
            && self.queue.standing(unit) == wanted.standing
            && (place == Place::Gated) == wanted.is_out();
        match place {
            Place::Active
            | Place::Backoff
            | Place::Parked(_)
            | Place::Gated
            | Place::Gathering(_)
                if is_same && !is_added =>
            {
                return self.wake_from_all(unit, now);
            }
            Place::Active | Place::Gated if is_same => return,
            Place::Gathering(_) if wanted.refusal.is_some() && !wanted.is_gated => {
                self.queue.set_standing(unit, wanted.standing);
                return self.queue.set_refusal(unit, wanted.refusal);
            }
            Place::Parked(_) | Place::Backoff if is_same && wanted.refusal.is_none() => {
                // Pods like those that found no room are told so in time.
                if is_helped {
                    return self.queue.activate_now(unit, now);
                }
                return self.queue.wake_unit(unit, now);
            }
            Place::Active
            | Place::Backoff
            | Place::Parked(_)
            | Place::Gated
            | Place::Gathering(_)
            | Place::Tried => {}
        }
        let start = start(&wanted, now);
        self.queue.set_refusal(unit, wanted.refusal);
        self.queue.renew(unit, wanted.standing, now, &start);
    }

    /// Whether another pod could help a gang that finds no room: not if as many of its kind as the
    /// gang needs wait already.
    fn may_help(&mut self, gang: GangId, unit: UnitId, pod: PodId) -> bool {
        let row = self.catalog.gang(gang);
        let (needed, is_composite, pod) =
            (row.lacking(), row.is_composite(), self.catalog.pod(pod));
        let alike = self.queue.crew(unit).map_or(0, |crew| crew.count(pod.class));
        is_composite || pod.makes_others() || alike < needed
    }

    /// What a pod adds to the unit of its gang.
    pub(crate) fn own(&self, id: PodId) -> Own {
        let (standing, is_gated) = self.standing(id);
        let pod = self.catalog.pod(id);
        Own { standing, class: pod.class, gated: is_gated.then(|| pod.key.name.clone()) }
    }

    /// How the unit of a gang has to be, by what follows from its pods.
    fn wanted(
        &self,
        gang: GangId,
        first: PodId,
        mut standing: Standing,
        (is_gated, first_gated): (bool, Option<Box<str>>),
    ) -> Wanted {
        let mut refusal = None;
        self.is_ready(gang, &mut refusal);
        let refusal = refusal.or(first_gated.map(Reason::MemberGated));
        let row = self.catalog.gang(gang);
        if let Some(priority) = row.terms.as_ref().ok().and_then(|terms| terms.priority) {
            let class = self.catalog.pod(first).class;
            standing.rank = profile_of(&self.profiles, &self.catalog, class).order.rank(priority);
        }
        standing.is_mending = row.is_started();
        Wanted { standing, refusal, is_gated }
    }

    /// Takes pods out of the unit of a gang that do not wait, or are not in the gang any more.
    fn dismiss_others(&mut self, unit: UnitId, gang: GangId, is_whole: bool) {
        let is_other = |pod: &PodId| {
            let row = self.catalog.pod(*pod);
            let is_within = row.gang.is_some_and(|own| self.catalog.is_within(own, gang));
            row.state != PodState::Waiting || !is_within
        };
        self.catalog.look(self.queue.pods(unit).len());
        let others = self.queue.pods(unit).iter().copied().filter(is_other);
        let others: Vec<PodId> = others.collect();
        others.into_iter().for_each(|pod| self.queue.dismiss(pod));
        if !is_whole {
            let crew = self.queue.new_crew();
            self.queue.set_crew(unit, Some(crew));
        }
    }

    fn gather_new(&mut self, gang: GangId, pods: Vec<PodId>, now: Time) {
        let mut crew = self.queue.new_crew();
        for pod in &pods {
            let own = self.own(*pod);
            crew.set(*pod, own);
        }
        let Some(standing) = crew.standing() else { return };
        let mut past = None;
        for pod in &pods {
            if let Some(unit) = self.queue.unit_of(*pod) {
                past = past.max(Some(self.queue.past(unit)));
                self.queue.take_out(*pod);
            }
        }
        let gated = (crew.is_gated(), crew.first_gated().map(Into::into));
        let wanted = self.wanted(gang, pods[0], standing, gated);
        let start = start(&wanted, now);
        let unit = self.queue.add(pods, Some(gang), wanted.standing, now, &start);
        self.queue.set_crew(unit, Some(crew));
        past.into_iter().for_each(|past| self.queue.inherit(unit, past));
        self.queue.set_refusal(unit, wanted.refusal);
    }
}

fn start(wanted: &Wanted, now: Time) -> Start {
    match &wanted.refusal {
        None => Start::Active,
        Some(_) if wanted.is_gated => Start::Gated,
        Some(_) => Start::Gathering(now + GATHERS),
    }
}
