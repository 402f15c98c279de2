//! Whom a change could help.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use framework::{Profile, cures, is_about_others};
use model::{Change, ClassId, NodeId, Occupant, PodId, Reason, Time, UnitId};

use crate::board::{Answers, NodeAlone};
use crate::queue::{Queue, Room, Waits};
use crate::{Scheduler, profile_of};

impl Scheduler {
    /// Wakes the units that a change of one node could help: those that wait for a reason which
    /// the node does not give any more. It may still give others, and they are noted then. If all
    /// it gives is noted already, or it has too little of something that all of them wait for, a
    /// try would find what is known: what ends that wakes them. That is not so where somebody could
    /// be evicted, who may have been too little before. Units for whom others are leaving have a
    /// node of their own and do not need that.
    ///
    /// Who could be helped is looked up by what it waits for and by what it asks, so that the
    /// others cost nothing. Plugins are asked about the few that are left.
    pub(crate) fn wake(&mut self, change: Change, node: NodeId, now: Time) {
        self.wake_by(change, node, None, now);
    }

    /// The same for a pod that left a node. Who could have evicted it had the use of its room
    /// before, and is only helped if the node takes it as it is.
    pub(crate) fn wake_left(&mut self, node: NodeId, pod: PodId, now: Time) {
        let pod = self.catalog.pod(pod);
        // Pods of a gang may go together, or be spared for its sake.
        let priority = pod.gang.is_none().then_some(pod.rest.priority);
        self.wake_by(Change::Freed, node, priority, now);
    }

    fn wake_by(&mut self, change: Change, node: NodeId, left: Option<i32>, now: Time) {
        self.wake_proposed(node, now);
        let is_there = self.catalog.has_node(node);
        let at = NodeAlone { catalog: &self.catalog, usage: &self.usage, node };
        let free = self.gangs.free.get_mut();
        let reaches_on = |reason: &Reason| cures(reason, change) && is_about_more(reason);
        let mut woken = self.queue.helped(reaches_on, |_, reason| {
            let Reason::ClusterShort { resource, asked, .. } = reason else { return true };
            at.offers(resource) && free.of(at.catalog, at.usage, resource) >= *asked
        });
        // A pod that leaves a node which is gone makes no room.
        if is_there {
            self.add_cured(change, node, left, &mut woken);
        }
        self.queue.wake_all(woken, now);
        let at = NodeAlone { catalog: &self.catalog, usage: &self.usage, node };
        // A gang is helped by any node that could take pods of it, once such nodes take as many as
        // there was too little room for; and where nodes are, by what its pods must be near to, far
        // from or spread over.
        let is_around = !matches!(change, Change::Freed);
        self.queue.wake_gangs(now, |class| {
            if is_around {
                return u64::MAX;
            }
            let profile = profile_of(&self.profiles, &self.catalog, class);
            let board = self.boards.prepared(class, profile, &self.catalog);
            let is_helped = is_there
                && !board.is_short(at, &|_| true)
                && Answers::default().first(board, at).is_none();
            if is_helped { board.room_at(at) } else { 0 }
        });
    }

    /// Adds the units that a node could help by itself.
    fn add_cured(
        &mut self,
        change: Change,
        node: NodeId,
        left: Option<i32>,
        woken: &mut BTreeSet<UnitId>,
    ) {
        let Self { catalog, usage, queue, boards, profiles, .. } = self;
        let may_be_cured = |reason: &Reason| cures(reason, change) && !is_about_more(reason);
        queue.catch_up(|class, resource| catalog.class(class).requests.fit.of(resource));
        let (queue, index) = (&*queue, queue.parked());
        let at = NodeAlone { catalog, usage, node };
        woken.extend(outranking(profiles, queue, at, may_be_cured, left));
        let room = Room { is_full: at.is_full(), of: &|resource| at.has(resource) };
        let covered = index.covered(may_be_cured, &room);
        for (class, waits) in covered {
            let is_noted = |reason: &Reason| index.all_wait_for(class, reason);
            // Labels that all of them miss are compared first, which needs no board.
            if want_labels(waits) && !at.has_labels_for(class) {
                continue;
            }
            let board = boards.prepared(class, profile_of(profiles, catalog, class), catalog);
            let mut answers = Answers::default();
            if board.is_short(at, &is_noted)
                || answers.first(board, at).is_some_and(|reasons| reasons.iter().all(is_noted))
            {
                continue;
            }
            for (reason, _) in waits.iter().filter(|(reason, _)| may_be_cured(reason)) {
                if !answers.gives(board, at, reason) {
                    woken.extend(queue.waiting_for(class, reason));
                }
            }
        }
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
        if self.catalog.has_no_rules(class, tags) {
            return;
        }
        self.queue.wake(now, is_about, |class, _| {
            let profile = profile_of(&self.profiles, &self.catalog, class);
            let board = self.boards.prepared(class, profile, &self.catalog);
            board.is_moved_by(&self.catalog, occupant)
        });
        self.queue.wake_gangs(now, |class| {
            let profile = profile_of(&self.profiles, &self.catalog, class);
            let board = self.boards.prepared(class, profile, &self.catalog);
            if board.is_moved_by(&self.catalog, occupant) { u64::MAX } else { 0 }
        });
    }

    /// Wakes the units that wait for a gang which ended, or a pod of which ran to a good end.
    pub(crate) fn wake_after(&mut self, namespace: &str, gang: &str, now: Time) {
        self.queue
            .wake_after(gang, now, |class| self.catalog.class(class).spec.namespace == namespace);
    }
}

/// Units that wait for a reason which may be cured and could evict pods from a node: less important
/// ones are there, and nobody is leaving for the unit already.
fn outranking(
    profiles: &[Profile],
    queue: &Queue,
    at: NodeAlone<'_>,
    may_be_cured: impl Fn(&Reason) -> bool,
    left: Option<i32>,
) -> Vec<UnitId> {
    let (catalog, index) = (at.catalog, queue.parked());
    // Only looked up if somebody waits whom it could help.
    let lowest = LazyCell::new(|| {
        let pods = catalog.pods_on(at.node).iter();
        pods.map(|pod| catalog.pod(*pod).rest.priority).min()
    });
    let last_by = |profile: &Profile| Some(profile.order.rank((*lowest)?));
    let left_by = |profile: &Profile| left.map(|left| profile.order.rank(left));
    // The widest of all profiles.
    let evicting = || profiles.iter().filter(|profile| profile.rescues.preemption);
    let last = LazyCell::new(|| evicting().filter_map(last_by).max());
    let left_first = evicting().filter_map(left_by).min();
    let room = Room { is_full: at.is_full(), of: &|resource| at.has(resource) };
    let units_of = |(class, waits): (ClassId, &Waits)| {
        let profile = profile_of(profiles, catalog, class);
        let left = left_by(profile);
        if !profile.rescues.preemption || last_by(profile) <= index.first_rank(class) {
            return None;
        }
        if want_labels(waits) && !at.has_labels_for(class) {
            return None;
        }
        let reasons = waits.iter().map(|(reason, _)| reason);
        let reasons = reasons.filter(|reason| may_be_cured(reason));
        let units = reasons.flat_map(|reason| queue.waiting_for(class, reason));
        let is_news = |unit: &UnitId| left.is_none_or(|left| queue.standing(*unit).rank >= left);
        Some(units.filter(|unit| queue.is_idle(*unit)).filter(is_news).collect::<Vec<_>>())
    };
    let classes = index.outranking(&may_be_cured, &room, left_first, || *last);
    classes.into_iter().filter_map(units_of).flatten().collect()
}

/// Whether all of them miss labels that they select nodes by.
fn want_labels(waits: &Waits) -> bool {
    waits.contains(&(Reason::NodeAffinity, true))
}

/// Whether a reason is that pods are not spread evenly.
pub(crate) fn is_spread(reason: &Reason) -> bool {
    *reason == Reason::SpreadSkew
}

/// Whether a reason speaks of a node's surroundings or of all nodes, so that the node alone cannot
/// tell whether it still stands.
fn is_about_more(reason: &Reason) -> bool {
    is_about_others(reason)
        || matches!(reason, Reason::SpreadLabel | Reason::OtherDomain | Reason::Volume(_))
        || matches!(reason, Reason::ClusterShort { .. })
}
