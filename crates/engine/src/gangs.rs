//! Gangs: which pods are tried together, when, and what becomes of gangs that are not whole.
//!
//! As long as a gang has fewer pods on nodes than it needs, all that wait are one unit. Once it has
//! enough, every other pod is a unit of its own.

mod after;
mod divide;
mod holds;
pub(crate) mod minimum;
mod progress;
mod turn;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use model::{GangId, GangReport, NodeId, PodId, PodState, Reason, Time};

use crate::lines::alike;
use crate::queue::{Share, Standing};
use crate::{Scheduler, profile_of};
pub(crate) use after::CYCLE_SHOWN;
use minimum::FreeSums;

/// What is known of gangs beyond what stands in their rows.
#[derive(Default)]
pub(crate) struct Gangs {
    /// Gangs that are to be looked at, by the time: their own is over, or that of room that is kept
    /// for them.
    due: BTreeSet<(Time, GangId)>,
    /// Nodes that refused pods of gangs.
    pub(crate) refused: BTreeMap<PodId, Vec<NodeId>>,
    /// Gangs for which room is to be kept, and is not.
    unkept: BTreeSet<GangId>,
    /// Gangs that are evicted whole, with other pods on nodes than whoever would evict them knows.
    shifted: BTreeSet<GangId>,
    /// What is to be told.
    reports: Vec<GangReport>,
    /// What is free on all nodes together.
    pub(crate) free: RefCell<FreeSums>,
}

/// What may be different about a gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// Anything.
    All,
    /// A pod of it waits that was not there before.
    Arrived(PodId),
    /// Something about one of its pods.
    Pod(PodId),
    /// A pod is not in it any more.
    Left,
}

/// How far a gang is, before any node is looked at.
#[derive(Clone, Copy, Debug, Default)]
struct Readiness {
    /// Whether it has all it needs to be tried.
    is_ready: bool,
    /// Whether pods of it wait that can be tried: their part has started before, or has all it
    /// needs.
    can_be_mended: bool,
}

impl News {
    fn pod(self) -> Option<PodId> {
        match self {
            Self::Arrived(pod) | Self::Pod(pod) => Some(pod),
            Self::All | Self::Left => None,
        }
    }
}

impl Gangs {
    /// Forgets that a node refused pods, because its place may become that of another node.
    pub(crate) fn forget_node(&mut self, node: NodeId) {
        self.refused.values_mut().for_each(|nodes| nodes.retain(|other| *other != node));
    }
}

impl Scheduler {
    /// Takes in which gangs ended by an event, and which have other parts.
    pub(crate) fn settle_gangs(&mut self, now: Time) {
        for (id, gang) in self.catalog.take_ended_gangs() {
            gang.progress.due.into_iter().for_each(|at| _ = self.gangs.due.remove(&(at, id)));
            self.queue.forget_gang(id);
            if let Some(kept) = gang.progress.kept {
                self.release(&kept, now);
            }
            self.wake_after(&gang.namespace, &gang.name, now);
        }
        // Those that are tried together are brought in line once.
        let mut roots: Vec<GangId> = Vec::new();
        let mut moved: BTreeMap<GangId, Vec<GangId>> = BTreeMap::new();
        for gang in self.catalog.take_moved_gangs() {
            if self.catalog.has_gang(gang) {
                let root = self.catalog.root_of(gang);
                let gangs = moved.entry(root).or_default();
                roots.extend(Some(root).filter(|_| gangs.is_empty()));
                gangs.push(gang);
            }
        }
        for root in roots {
            self.regroup_below(root, &moved[&root], News::All, now);
        }
    }

    /// Brings the units of a gang in line with the pods it has.
    pub(crate) fn regroup(&mut self, gang: GangId, news: News, now: Time) {
        if !self.catalog.has_gang(gang) {
            return;
        }
        let root = self.catalog.root_of(gang);
        self.regroup_below(root, &[gang], news, now);
        // Of a composite without a minimum every part stands for itself, also if it did not before.
        let row = self.catalog.gang(gang);
        if root == gang && row.is_composite() && row.terms.is_ok() && row.min() == 0 {
            for part in row.parts.clone() {
                self.regroup(part, News::All, now);
            }
        }
    }

    /// The same for some of the gangs that are tried together with one, or as it.
    fn regroup_below(&mut self, root: GangId, gangs: &[GangId], news: News, now: Time) {
        self.note_progress(root, news, now);
        gangs.iter().for_each(|gang| self.note_start(*gang, root));
        self.divide(root, news, now);
        gangs.iter().for_each(|gang| self.watch(*gang));
        if matches!(news, News::Arrived(_)) {
            return;
        }
        let has_lost = |gang: &&GangId| self.catalog.gang(**gang).has_lost_class.take();
        let is_freer = gangs.iter().filter(has_lost).count() > 0;
        // Another pod may decide now where the others have to be, or one less has a say in that.
        if (self.catalog.is_close(root) && self.is_decided_anew(root, news)) || is_freer {
            self.wake_waiting(root, now);
        }
        // Whoever would evict one of it on a node would evict all of it now.
        let is_waiting = |pod: PodId| self.catalog.pod(pod).state == PodState::Waiting;
        for gang in gangs.iter().filter(|_| !news.pod().is_some_and(is_waiting)) {
            let terms = self.catalog.gang(*gang).terms.as_ref();
            if terms.is_ok_and(|terms| terms.is_evicted_whole) {
                self.gangs.shifted.insert(*gang);
            }
        }
    }

    /// Wakes the units of the waiting pods of a gang, which may be one.
    fn wake_waiting(&mut self, gang: GangId, now: Time) {
        let whole = self.queue.unit_of_gang(gang);
        if let Some(unit) = whole.filter(|unit| self.queue.crew(*unit).is_some()) {
            return self.queue.wake_unit(unit, now);
        }
        for pod in self.waiting_in(gang) {
            let unit = self.queue.unit_of(pod);
            unit.into_iter().for_each(|unit| self.queue.wake_unit(unit, now));
        }
    }

    /// Tells whoever would evict gangs as a whole that their pods are on other nodes.
    pub(crate) fn touch_shifted(&mut self) {
        for gang in std::mem::take(&mut self.gangs.shifted) {
            if !self.catalog.has_gang(gang) {
                continue;
            }
            let members = &self.catalog.gang(gang).members;
            self.catalog.look(members.len());
            for pod in members {
                let node = self.catalog.pod(*pod).state.node();
                node.into_iter().for_each(|node| self.usage.touch_guests(node));
            }
        }
    }

    /// Notes by which of its pods it is decided where the others have to be; tells whether that is
    /// another one than before.
    fn is_decided_anew(&mut self, gang: GangId, news: News) -> bool {
        let row = self.catalog.gang(gang);
        if row.is_composite() {
            return true;
        }
        let is_placed = |pod: &PodId| {
            let node = self.catalog.pod(*pod).state.node();
            self.catalog.look(1);
            row.members.contains(pod) && node.is_some_and(|node| self.catalog.has_node(node))
        };
        let before = row.progress.decides;
        let first = || row.members.iter().copied().find(is_placed);
        let after = match (before, news.pod()) {
            _ if row.placed == 0 => None,
            (Some(known), Some(pod)) if row.members.contains(&known) && is_placed(&known) => {
                Some(known.min(Some(pod).filter(is_placed).unwrap_or(known)))
            }
            (Some(known), None) if news == News::Left && row.members.contains(&known) => {
                Some(known).filter(is_placed).or_else(first)
            }
            _ => first(),
        };
        self.catalog.progress_mut(gang).decides = after;
        before != after
    }

    /// The waiting pods of a gang and of its parts, by name.
    pub(super) fn waiting_in(&self, gang: GangId) -> Vec<PodId> {
        let mut pods: Vec<PodId> = self.catalog.waiting_in(gang).collect();
        pods.sort_by(|one, other| {
            self.catalog.pod(*one).key.name.cmp(&self.catalog.pod(*other).key.name)
        });
        pods
    }

    /// Whether a gang has enough pods on nodes, or room that is kept for them.
    fn is_satisfied(&self, gang: GangId) -> bool {
        let row = self.catalog.gang(gang);
        self.catalog.look(1);
        if row.is_composite() {
            let satisfied = row.parts.iter().filter(|part| self.is_satisfied_part(**part));
            return satisfied.count() >= row.min() as usize;
        }
        if row.min() <= 1 || row.placed >= row.min() {
            return true;
        }
        let Some(kept) = &row.progress.kept else { return false };
        if self.catalog.gang(gang).makers_placed == 0 {
            return false;
        }
        let kept = kept.holds.len().min(row.missing() + row.waiting());
        row.placed as usize + kept >= row.min() as usize
    }

    /// The same of a part, of which one pod counts though its pods go one by one.
    fn is_satisfied_part(&self, part: GangId) -> bool {
        let row = self.catalog.gang(part);
        self.is_satisfied(part) && (row.is_composite() || row.placed > 0)
    }

    /// Whether enough pods of a gang are known to be on nodes.
    fn is_up(&self, gang: GangId) -> bool {
        let row = self.catalog.gang(gang);
        self.catalog.look(1);
        if row.is_composite() {
            let up = row.parts.iter().filter(|part| self.is_up(**part)).count();
            return up > 0 && up >= row.min() as usize;
        }
        row.bound > 0 && row.bound as usize + row.missing() >= row.min() as usize
    }

    /// Whether a gang has all it needs to be tried; tells why not.
    fn is_ready(&self, gang: GangId, refusal: &mut Option<Reason>) -> bool {
        self.readiness(gang, refusal).is_ready
    }

    /// How far a gang is. Every part of it is looked at once.
    fn readiness(&self, gang: GangId, refusal: &mut Option<Reason>) -> Readiness {
        let row = self.catalog.gang(gang);
        self.catalog.look(1);
        let terms = match &row.terms {
            Ok(terms) => terms,
            Err(reason) => {
                refusal.get_or_insert_with(|| reason.clone());
                return Readiness::default();
            }
        };
        let (count, can_be_mended) = if row.is_composite() {
            let (mut of_parts, mut count, mut can_be_mended) = (None, 0, false);
            for part in &row.parts {
                let part = self.readiness(*part, &mut of_parts);
                count += usize::from(part.is_ready);
                can_be_mended |= part.is_ready && part.can_be_mended;
            }
            if let Some(fault) = of_parts.filter(|reason| !is_passing(reason)) {
                refusal.get_or_insert(fault);
                return Readiness::default();
            }
            (count, can_be_mended)
        } else {
            (row.members.len() + row.missing(), row.waiting() > 0)
        };
        let there = u32::try_from(count).unwrap_or(u32::MAX);
        // What takes the place of a pod that is gone does not wait for others.
        let is_mended = row.is_started() && (!row.is_composite() || can_be_mended);
        let is_ready = is_mended || there >= terms.min;
        if !is_ready {
            refusal.get_or_insert(Reason::GangIncomplete { there, min: terms.min });
        }
        Readiness { is_ready, can_be_mended }
    }

    /// Where the unit of a pod stands, and whether it is kept out.
    pub(crate) fn standing(&self, id: PodId) -> (Standing, bool) {
        let pod = self.catalog.pod(id);
        let profile = profile_of(&self.profiles, &self.catalog, pod.class);
        let is_gated = profile.admit.iter().any(|plugin| plugin.refuses(pod).is_some());
        let sharing = profile.order.sharing().map(|sharing| Share {
            tenant: self.catalog.class(pod.class).namespace,
            age: pod.rest.created,
            eligible: pod.eligible_since(),
            starving_after: sharing.starving_after,
        });
        let standing = Standing {
            rank: profile.order.rank(pod.rest.priority),
            boost: self.boost(pod),
            is_mending: false,
            sharing,
            alike: alike(pod),
        };
        (standing, is_gated)
    }
}

/// Whether a reason ends by itself, when more pods come.
fn is_passing(reason: &Reason) -> bool {
    matches!(reason, Reason::GangIncomplete { .. })
}
