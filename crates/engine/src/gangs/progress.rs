//! What becomes of gangs whose pods are on nodes: they start, lose pods, or are taken back.

use model::{
    Decision, Disband, Found, GangId, GangReport, GangState, GangTerms, Kept, Millis, NodeId,
    OnPartialFailure, Pod, PodGroupKind, PodId, PodState, Progress, Stage, Time,
};

use super::{Gangs, News};
use crate::Scheduler;
use crate::queue::Place;

impl Scheduler {
    /// Takes in how many pods of a gang are on nodes.
    pub(super) fn note_progress(&mut self, gang: GangId, news: News, now: Time) {
        let row = self.catalog.gang(gang);
        if row.terms.is_err() || (!row.is_composite() && row.min() <= 1) {
            return;
        }
        if row.bound > 0 && row.missing() > 0 && row.progress.kept.is_none() {
            self.gangs.unkept.insert(gang);
        }
        let is_replaced = self.is_replaced(gang, news);
        let stage = self.catalog.gang(gang).progress.stage;
        if self.is_up(gang) {
            match stage {
                Stage::Waiting | Stage::Partial { .. } => self.start(gang),
                Stage::Degraded => self.catalog.progress_mut(gang).stage = Stage::Started,
                Stage::Started => {}
            }
            return;
        }
        // One that needed nothing before has started with the first of its parts.
        let has_begun = || {
            let parts = &self.catalog.gang(gang).parts;
            parts.iter().any(|part| self.catalog.gang(*part).is_started())
        };
        if stage.is_started() || is_replaced || has_begun() {
            // Pods that ran to their end are not missed: nobody takes their place.
            let is_mended = self.catalog.has_waiting(gang) && !self.is_satisfied(gang);
            if is_mended && stage != Stage::Degraded {
                self.catalog.progress_mut(gang).stage = Stage::Degraded;
                self.gangs.reports.push(GangReport { gang, state: GangState::Degraded });
            } else if !stage.is_started() {
                self.catalog.progress_mut(gang).stage = Stage::Started;
            }
            return;
        }
        self.note_timeouts(gang);
        // Time counts from the first that is on a node, also if the others are on their way in
        // between.
        if !self.catalog.has_bound(gang) {
            self.catalog.progress_mut(gang).stage = Stage::Waiting;
            return;
        }
        let patience = self.patience(gang);
        let before = std::mem::replace(&mut self.catalog.progress_mut(gang).patience, patience);
        match stage {
            Stage::Waiting => {
                let until = now + patience;
                self.catalog.progress_mut(gang).stage = Stage::Partial { until, is_told: false };
            }
            // A pod that came later, or another object, may say another time.
            Stage::Partial { until, is_told } if before != patience => {
                let since = Time(until.0.saturating_sub(before.0));
                self.catalog.progress_mut(gang).stage =
                    Stage::Partial { until: since + patience, is_told };
            }
            Stage::Partial { .. } | Stage::Started | Stage::Degraded => {}
        }
    }

    /// Notes once that pods of a gang which has not started do not agree on how long it may be
    /// incomplete.
    fn note_timeouts(&mut self, gang: GangId) {
        let row = self.catalog.gang(gang);
        let terms = row.terms.as_ref().ok().filter(|_| !row.progress.is_timeout_told);
        let both = terms.and_then(|terms| terms.shorter_timeout.zip(terms.timeout));
        if let Some((least, most)) = both {
            self.catalog.progress_mut(gang).is_timeout_told = true;
            let state = GangState::TimeoutsDiffer(least, most);
            self.gangs.reports.push(GangReport { gang, state });
        }
    }

    /// Notes that a PodGroup has started whose status has to say so, though nobody waits for that:
    /// its pods go one by one, or it is a part of a gang that started without it.
    pub(super) fn note_start(&mut self, gang: GangId, root: GangId) {
        let row = self.catalog.gang(gang);
        let object = row.terms.as_ref().ok().and_then(|terms| terms.object.as_ref());
        let is_native = object.is_some_and(|key| key.kind == PodGroupKind::Native);
        let is_free = gang == root || self.catalog.gang(root).is_started();
        if is_native && is_free && !row.is_started() && self.is_up(gang) {
            self.start(gang);
        }
    }

    /// Notes that a gang, with all its parts that are up, has started.
    fn start(&mut self, gang: GangId) {
        self.catalog.progress_mut(gang).stage = Stage::Started;
        // What others started, or we before a restart, is no news unless its object says otherwise.
        let has_object = |terms: &GangTerms| terms.object.is_some();
        let is_unsaid = self.catalog.gang(gang).terms.as_ref().is_ok_and(has_object);
        let is_sent = std::mem::take(&mut self.catalog.progress_mut(gang).is_sent);
        if is_sent || is_unsaid {
            self.gangs.reports.push(GangReport { gang, state: GangState::Started });
        }
        for part in self.catalog.gang(gang).parts.clone() {
            if self.is_up(part) && !self.catalog.gang(part).is_started() {
                self.start(part);
            }
        }
    }

    /// How long a gang may have some of its pods on nodes without the others.
    pub(crate) fn patience(&self, gang: GangId) -> Millis {
        let timeout = self.catalog.gang(gang).terms.as_ref().ok().and_then(|terms| terms.timeout);
        timeout.map_or(self.options.permit_timeout, |seconds| Millis::seconds(u64::from(seconds)))
    }

    /// Notes that pods of a gang were on nodes when they were first heard of.
    pub(crate) fn note_found(&mut self, gang: GangId) {
        if self.catalog.gang(gang).progress.found.is_none() {
            self.catalog.progress_mut(gang).found = Some(self.found_in(gang));
        }
    }

    fn found_in(&self, gang: GangId) -> Found {
        let mut found = Found::default();
        let pods = self.catalog.pods_in(gang);
        pods.for_each(|pod| add_found(&mut found, self.catalog.pod(pod)));
        found
    }

    /// Whether a waiting pod takes the place of one that is gone. Whoever saw all of the gang knows
    /// better.
    fn is_replaced(&mut self, gang: GangId, news: News) -> bool {
        let Progress { stage, found, .. } = &self.catalog.gang(gang).progress;
        let Some(mut found) = found.filter(|_| !stage.is_started()) else { return false };
        match news {
            News::Arrived(pod) | News::Pod(pod) => add_found(&mut found, self.catalog.pod(pod)),
            News::Left => {}
            News::All => found = self.found_in(gang),
        }
        // Those that are gone, or wait no more, do not count. Without them there may be nobody to
        // take a place, never somebody more.
        if found.is_replaced() {
            found = self.found_in(gang);
        }
        self.catalog.progress_mut(gang).found = Some(found);
        found.is_replaced()
    }

    /// Notes when a gang, and the one that it is tried with, are to be looked at.
    pub(crate) fn watch(&mut self, gang: GangId) {
        self.watch_one(gang);
        let root = self.catalog.root_of(gang);
        if root != gang {
            self.watch_one(root);
        }
    }

    fn watch_one(&mut self, gang: GangId) {
        let Progress { stage, kept, due, .. } = &self.catalog.gang(gang).progress;
        let kept = kept.as_ref().filter(|kept| !kept.holds.is_empty()).map(|kept| kept.until);
        let open = stage.deadline().filter(|_| !self.is_satisfied(gang));
        let (before, after) = (*due, kept.into_iter().chain(open).min());
        if before != after {
            before.into_iter().for_each(|at| _ = self.gangs.due.remove(&(at, gang)));
            self.gangs.due.extend(after.map(|at| (at, gang)));
            self.catalog.progress_mut(gang).due = after;
        }
    }

    /// Takes back gangs that were not completed in time, and tells what is to be told.
    pub(crate) fn review_gangs(&mut self, now: Time, decisions: &mut Vec<Decision>) {
        let is_due = |(at, _): &(Time, GangId)| *at <= now;
        let Gangs { due, unkept, reports, .. } = &self.gangs;
        if unkept.is_empty() && reports.is_empty() && !due.first().is_some_and(is_due) {
            return;
        }
        let due = due.iter().take_while(|due| is_due(due)).map(|(_, gang)| *gang);
        for gang in due.collect::<Vec<_>>() {
            self.review(gang, now, decisions);
        }
        for gang in std::mem::take(&mut self.gangs.unkept) {
            self.keep_room(gang, now);
        }
        for report in std::mem::take(&mut self.gangs.reports) {
            if self.catalog.has_gang(report.gang) {
                decisions.push(Decision::Report(report));
            }
        }
    }

    fn review(&mut self, gang: GangId, now: Time, decisions: &mut Vec<Decision>) {
        self.catalog.look(1);
        let Progress { stage, kept, .. } = &self.catalog.gang(gang).progress;
        let is_over = stage.deadline().is_some_and(|until| until <= now);
        let has_expired = |kept: &Kept| !kept.holds.is_empty() && kept.until <= now;
        let is_expired = kept.as_ref().is_some_and(has_expired);
        if is_over && !self.is_satisfied(gang) {
            let unit = self.queue.unit_of_gang(gang);
            // It is given its turn before it is given up.
            let is_next = unit.is_some_and(|unit| self.queue.place(unit) == Place::Active);
            if !is_next {
                decisions.extend(self.disband(gang, now));
            }
        }
        if is_expired {
            self.release_holds(gang, now);
            // It is not tried again.
            self.catalog.progress_mut(gang).kept = Some(Kept::default());
            self.gangs.reports.push(GangReport { gang, state: GangState::Room(0) });
            // Without it they may be too few to be tried one by one.
            self.regroup(gang, News::All, now);
        }
        self.watch(gang);
    }

    /// When gangs are next to be looked at.
    pub(crate) fn next_review(&self) -> Option<Time> {
        if !self.gangs.reports.is_empty() || !self.gangs.unkept.is_empty() {
            return Some(Time::default());
        }
        self.gangs.due.first().map(|(at, _)| *at)
    }

    /// Takes back the pods of a gang that cannot be completed.
    fn disband(&mut self, gang: GangId, now: Time) -> Option<Decision> {
        let Stage::Partial { is_told, .. } = self.catalog.gang(gang).progress.stage else {
            return None;
        };
        let evicts = self.options.on_partial_failure == OnPartialFailure::EvictBound;
        let (mut evicted, mut bare) = (Vec::new(), Vec::new());
        for id in self.catalog.pods_in(gang) {
            let pod = self.catalog.pod(id);
            if matches!(pod.state, PodState::Bound(_)) && !pod.is_evicted {
                if pod.rest.is_remade && evicts { evicted.push(id) } else { bare.push(id) }
            }
        }
        evicted.iter().for_each(|pod| self.catalog.set_evicted(*pod, true));
        // What stays on its nodes is said once.
        let is_news = !evicted.is_empty() || !(bare.is_empty() || is_told);
        let patience = self.patience(gang);
        self.catalog.progress_mut(gang).patience = patience;
        let until = now + patience;
        self.catalog.progress_mut(gang).stage =
            Stage::Partial { until, is_told: is_told || is_news };
        is_news.then_some(Decision::Disband(Disband { gang, evicted, bare }))
    }

    /// A binding of a pod of a gang was refused: it is tried on another node at once, a few times.
    pub(crate) fn refused_in_gang(&mut self, pod: PodId, node: NodeId, now: Time) {
        let nodes = self.gangs.refused.entry(pod).or_default();
        nodes.push(node);
        let is_over = nodes.len() > self.options.bind_retries as usize;
        if is_over {
            self.gangs.refused.remove(&pod);
        }
        if let Some(gang) = self.catalog.pod(pod).gang {
            // It is planned anew, with the pods it makes.
            if self.catalog.pod(pod).makes_others() {
                self.release_holds(gang, now);
            }
            self.regroup(gang, News::Pod(pod), now);
        }
        let Some(unit) = self.queue.unit_of(pod) else { return };
        if is_over {
            self.queue.retry(unit, now);
        } else {
            self.queue.activate_now(unit, now);
        }
    }
}

/// Takes in a pod of a gang that was found on nodes.
fn add_found(found: &mut Found, pod: &Pod) {
    match (pod.state, pod.rest.started) {
        (PodState::Waiting, _) => found.newest = found.newest.max(Some(pod.rest.created)),
        (_, Some(at)) => found.started = Some(found.started.map_or(at, |first| first.min(at))),
        (_, None) => {}
    }
}
