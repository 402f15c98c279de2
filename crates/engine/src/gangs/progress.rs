//! What becomes of gangs whose pods are on nodes: they start, lose pods, or are taken back.

use model::{
    Decision, Disband, GangId, GangReport, GangState, GangTerms, Millis, NodeId, OnPartialFailure,
    PodGroupKind, PodId, PodState, Time,
};

use super::Kept;
use crate::Scheduler;
use crate::queue::Place;

impl Scheduler {
    /// Takes in how many pods of a gang are on nodes.
    pub(super) fn note_progress(&mut self, gang: GangId, now: Time) {
        let row = self.catalog.gang(gang);
        if row.terms.is_err() || (!row.is_composite() && row.min() <= 1) {
            return;
        }
        let is_found = self.gangs.found.contains(&gang);
        let is_started = row.is_started || is_found && self.is_replaced(gang);
        if row.bound > 0 && self.missing(gang) > 0 && !self.gangs.kept.contains_key(&gang) {
            self.gangs.unkept.insert(gang);
        }
        if self.is_up(gang) {
            self.gangs.partial.remove(&gang);
            self.gangs.degraded.remove(&gang);
            if !self.catalog.gang(gang).is_started {
                self.start(gang);
            }
            return;
        }
        if is_started {
            self.gangs.partial.remove(&gang);
            self.catalog.set_gang_started(gang);
            // Pods that ran to their end are not missed: nobody takes their place.
            let is_mended = !self.waiting_in(gang).is_empty();
            if is_mended && !self.is_satisfied(gang) && self.gangs.degraded.insert(gang) {
                self.gangs.reports.push(GangReport { gang, state: GangState::Degraded });
            }
            return;
        }
        // Time counts from the first that is on a node, also if the others are on their way in
        // between.
        if self.has_bound(gang) {
            let patience = self.patience(gang);
            self.gangs.partial.entry(gang).or_insert(now + patience);
        } else {
            self.gangs.partial.remove(&gang);
        }
    }

    /// Notes that a PodGroup has started whose status has to say so, though nobody waits for that:
    /// its pods go one by one, or it is a part of a gang that started without it.
    pub(super) fn note_start(&mut self, gang: GangId, root: GangId) {
        let row = self.catalog.gang(gang);
        let object = row.terms.as_ref().ok().and_then(|terms| terms.object.as_ref());
        let is_native = object.is_some_and(|key| key.kind == PodGroupKind::Native);
        let is_free = gang == root || self.catalog.gang(root).is_started;
        if is_native && is_free && !row.is_started && self.is_up(gang) {
            self.start(gang);
        }
    }

    fn has_bound(&self, gang: GangId) -> bool {
        let row = self.catalog.gang(gang);
        row.bound > 0 || row.parts.iter().any(|part| self.has_bound(*part))
    }

    /// Notes that a gang, with all its parts that are up, has started.
    fn start(&mut self, gang: GangId) {
        self.catalog.set_gang_started(gang);
        // What others started, or we before a restart, is no news unless its object says otherwise.
        let has_object = |terms: &GangTerms| terms.object.is_some();
        let is_unsaid = self.catalog.gang(gang).terms.as_ref().is_ok_and(has_object);
        if self.gangs.sent.remove(&gang) || is_unsaid {
            self.gangs.reports.push(GangReport { gang, state: GangState::Started });
        }
        for part in self.catalog.gang(gang).parts.clone() {
            if self.is_up(part) && !self.catalog.gang(part).is_started {
                self.start(part);
            }
        }
    }

    /// How long a gang may have some of its pods on nodes without the others.
    fn patience(&self, gang: GangId) -> Millis {
        let timeout = self.catalog.gang(gang).terms.as_ref().ok().and_then(|terms| terms.timeout);
        timeout.map_or(self.options.permit_timeout, |seconds| Millis::seconds(u64::from(seconds)))
    }

    /// Whether a waiting pod was made after another one of the gang began to run: so it takes the
    /// place of one that is gone, or came on top. Whoever saw all of it knows better.
    fn is_replaced(&self, gang: GangId) -> bool {
        let (mut started, mut newest) = (None, None);
        self.collect(gang, &mut |pod| {
            let pod = self.catalog.pod(pod);
            match (pod.state, pod.started) {
                (PodState::Waiting, _) => newest = newest.max(Some(pod.created)),
                (_, Some(at)) => started = Some(started.map_or(at, |first: i64| first.min(at))),
                (_, None) => {}
            }
        });
        started.is_some_and(|started| newest > Some(started))
    }

    /// Takes back gangs that were not completed in time, and tells what is to be told.
    pub(crate) fn review_gangs(&mut self, now: Time, decisions: &mut Vec<Decision>) {
        let due = |(gang, at): (&GangId, &Time)| {
            (*at <= now && !self.is_satisfied(*gang)).then_some(*gang)
        };
        let due: Vec<GangId> = self.gangs.partial.iter().filter_map(due).collect();
        for gang in due {
            let unit = self.queue.unit_of_gang(gang);
            // It is given its turn before it is given up.
            let is_next = unit.is_some_and(|unit| self.queue.place(unit) == Place::Active);
            if !is_next {
                decisions.extend(self.disband(gang, now));
            }
        }
        let expired = |(gang, kept): (&GangId, &Kept)| {
            (!kept.seats.is_empty() && kept.until <= now).then_some(*gang)
        };
        let expired: Vec<GangId> = self.gangs.kept.iter().filter_map(expired).collect();
        for gang in expired {
            self.release_seats(gang, now);
            // It is not tried again.
            self.gangs.kept.insert(gang, Kept::default());
            self.gangs.reports.push(GangReport { gang, state: GangState::Room(0) });
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

    /// When gangs are next to be looked at.
    pub(crate) fn next_review(&self) -> Option<Time> {
        if !self.gangs.reports.is_empty() || !self.gangs.unkept.is_empty() {
            return Some(Time::default());
        }
        let is_open = |(gang, _): &(&GangId, &Time)| !self.is_satisfied(**gang);
        let partial = self.gangs.partial.iter().filter(is_open).map(|(_, at)| *at);
        let kept = self.gangs.kept.values().filter(|kept| !kept.seats.is_empty());
        partial.chain(kept.map(|kept| kept.until)).min()
    }

    /// Takes back the pods of a gang that cannot be completed.
    fn disband(&mut self, gang: GangId, now: Time) -> Option<Decision> {
        let patience = self.patience(gang);
        self.gangs.partial.insert(gang, now + patience);
        let evicts = self.options.on_partial_failure == OnPartialFailure::EvictBound;
        let (mut evicted, mut bare) = (Vec::new(), Vec::new());
        self.collect(gang, &mut |id| {
            let pod = self.catalog.pod(id);
            if matches!(pod.state, PodState::Bound(_)) && !pod.is_evicted {
                if pod.is_remade && evicts { evicted.push(id) } else { bare.push(id) }
            }
        });
        evicted.iter().for_each(|pod| self.catalog.set_evicted(*pod, true));
        let is_known = self.gangs.degraded.contains(&gang);
        if evicted.is_empty() && (bare.is_empty() || is_known) {
            return None;
        }
        // What stays on its nodes is said once.
        self.gangs.degraded.insert(gang);
        Some(Decision::Disband(Disband { gang, evicted, bare }))
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
                self.release_seats(gang, now);
            }
            self.regroup(gang, now);
        }
        let Some(unit) = self.queue.unit_of(pod) else { return };
        if is_over {
            self.queue.retry(unit, now);
        } else {
            self.queue.activate_now(unit, now);
        }
    }
}
