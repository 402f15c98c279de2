//! Whom a change could help.

use std::cell::LazyCell;
use std::collections::BTreeMap;

use framework::{cures, is_about_others};
use model::{Change, ClassId, NodeId, Occupant, Reason, Time};

use crate::board::{Answers, NodeAlone};
use crate::queue::Helped;
use crate::{Scheduler, profile_of};

impl Scheduler {
    /// Wakes the units that a change of one node could help: those that wait for a reason which
    /// the node does not give any more. It may still give others, and they are noted then. If all
    /// it gives is noted already, or it has too little of something that all of them wait for, a
    /// try would find what is known: what ends that wakes them. That is not so where somebody could
    /// be evicted, who may have been too little before. Units for whom others are leaving have a
    /// node of their own and do not need that.
    pub(crate) fn wake(&mut self, change: Change, node: NodeId, now: Time) {
        self.wake_proposed(node, now);
        let is_there = self.catalog.has_node(node);
        // Only looked up if somebody waits whom it could help.
        let lowest = LazyCell::new(|| {
            let pods = self.catalog.pods_on(node).iter();
            pods.map(|pod| self.catalog.pod(*pod).priority).min()
        });
        let may_be_cured = |reason: &Reason| cures(reason, change);
        let at = NodeAlone { catalog: &self.catalog, usage: &self.usage, node };
        let mut asked: BTreeMap<ClassId, Answers> = BTreeMap::new();
        self.queue.wake(now, may_be_cured, |class, reason, parked| {
            if reaches_around(reason) {
                return Helped::All;
            }
            if let Reason::ClusterShort { resource, asked, .. } = reason {
                if !at.offers(resource) {
                    return Helped::None;
                }
                let free = self.gangs.free.get_mut().of(at.catalog, at.usage, resource);
                return (free >= *asked).into();
            }
            // A pod that leaves a node which is gone makes no room.
            if !is_there {
                return Helped::None;
            }
            let profile = profile_of(&self.profiles, &self.catalog, class);
            let board = self.boards.prepared(class, profile, &self.catalog);
            let has_lesser =
                || lowest.map(|lowest| profile.order.rank(lowest)) > parked.first_rank();
            let is_noted = |reason: &Reason| parked.all_wait_for(reason);
            let is_cured = !board.is_short(at, &is_noted) && {
                let answers = asked.entry(class).or_default();
                let is_known =
                    answers.first(board, at).is_some_and(|reasons| reasons.iter().all(is_noted));
                !is_known && !answers.gives(board, at, reason)
            };
            if is_cured {
                Helped::All
            } else if board.rescues.preemption && has_lesser() {
                Helped::Idle
            } else {
                Helped::None
            }
        });
        // A gang is helped by any node that could take one of its pods, and where nodes are, by
        // what its pods must be near to, far from or spread over.
        let is_around = !matches!(change, Change::Freed);
        self.queue.wake_gangs(now, |class| {
            if is_around {
                return true;
            }
            let profile = profile_of(&self.profiles, &self.catalog, class);
            let board = self.boards.prepared(class, profile, &self.catalog);
            is_there
                && !board.is_short(at, &|_| true)
                && Answers::default().first(board, at).is_none()
        });
    }

    /// Wakes the units for which a node is proposed: it may be of no use to them any more, and is
    /// kept from others as long as they do not know.
    pub(crate) fn wake_proposed(&mut self, node: NodeId, now: Time) {
        for pod in self.catalog.nominated_to(node).to_vec() {
            if let Some(unit) = self.queue.unit_of(pod) {
                self.queue.wake_unit(unit, now);
            }
        }
    }

    /// Wakes the units that a pod which came to a node, or left it, could help wherever they go.
    pub(crate) fn wake_around(&mut self, occupant: Occupant, now: Time) {
        self.wake_about(occupant, is_about_others, now);
    }

    /// The same for some reasons.
    pub(crate) fn wake_about(
        &mut self,
        occupant: Occupant,
        is_about: fn(&Reason) -> bool,
        now: Time,
    ) {
        let Occupant { class, tags, .. } = occupant;
        let is_meant = !self.catalog.tags(tags).meant.is_empty();
        if !is_meant && self.catalog.class(class).company.holds.is_empty() {
            // No rule is about the pod, and it has none.
            return;
        }
        self.queue.wake(now, is_about, |class, _, _| {
            let profile = profile_of(&self.profiles, &self.catalog, class);
            let board = self.boards.prepared(class, profile, &self.catalog);
            board.is_moved_by(&self.catalog, occupant).into()
        });
        self.queue.wake_gangs(now, |class| {
            let profile = profile_of(&self.profiles, &self.catalog, class);
            self.boards.prepared(class, profile, &self.catalog).is_moved_by(&self.catalog, occupant)
        });
    }

    /// Wakes the units that wait for a gang which ended, or a pod of which ran to a good end.
    pub(crate) fn wake_after(&mut self, namespace: &str, gang: &str, now: Time) {
        self.queue
            .wake_after(gang, now, |class| self.catalog.class(class).spec.namespace == namespace);
    }
}

/// Whether a reason is that pods are not spread evenly.
pub(crate) fn is_spread(reason: &Reason) -> bool {
    *reason == Reason::SpreadSkew
}

/// Whether a reason speaks of a node's surroundings, so that the node alone cannot tell whether it
/// still stands.
fn reaches_around(reason: &Reason) -> bool {
    is_about_others(reason) || matches!(reason, Reason::SpreadLabel | Reason::OtherDomain)
}
