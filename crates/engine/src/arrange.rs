//! A gang on one state of the cluster: places for all of its pods that have to start together, or
//! for none.
//!
//! Pods are placed one by one in a transaction, the largest first. Where that fails and the pods
//! are not alike, other orders are tried, and at last places are taken back one by one, as long as
//! the work stays within bounds. Pods beyond the minimum take what is left.

mod deep;
mod domains;
mod explain;
mod fabric;
mod groups;
mod members;
mod opened;
mod outlook;
mod room;
mod sizes;

use std::collections::BTreeMap;

use framework::Profile;
use model::{
    ClassId, Gang, GangId, Hold, NodeId, Occupant, Pod, PodId, PodRest, PodState, Txn, hash_of,
};

use crate::board::Boards;
use crate::cycle::{Within, give, seek};
use crate::gangs::Gangs;
use crate::profile_of;
use crate::trial::{Trial, view};
use sizes::room;
pub(crate) use sizes::{places, share};

/// How many places are looked for before an arrangement is given up.
pub(crate) const WORK_MAX: usize = 4_000;
/// Where all nodes that take a pod are compared, so many of them are as much work as one place.
const NODES_PER_LOOK: usize = 32;
/// How many pods places are taken back for.
const DEEP_MAX: usize = 64;

/// Looks for places.
pub(crate) struct Arranger<'a> {
    pub(crate) profiles: &'a [Profile],
    pub(crate) boards: &'a mut Boards,
    pub(crate) seed: u64,
    pub(crate) txn: Txn<'a>,
    /// Nodes that refused a pod.
    pub(crate) gangs: &'a Gangs,
    /// Pods that do not exist yet and need room, by the pod that will make them.
    pub(crate) expected: Vec<(PodId, Occupant)>,
    /// What was found.
    pub(crate) places: Vec<(PodId, NodeId)>,
    pub(crate) holds: Vec<Hold>,
    /// How large pods of a class are, where that was asked.
    sizes: BTreeMap<ClassId, u64>,
    /// Classes that pods are taken for in thought, by the class they have.
    opened: BTreeMap<ClassId, ClassId>,
    /// Where the gang may go, beside what its topology says.
    within: Within,
    /// The domain that was chosen for a gang some of whose pods do not exist yet.
    home: Option<Within>,
    /// Whether a pod is placed that others of its gang do not wait for.
    is_one_by_one: bool,
    work: usize,
    /// Whether a gang was given up before every way to place it was tried.
    is_cut: bool,
    /// Whether other ways than the first are tried though counting says that there are none.
    is_thorough: bool,
}

/// The first pod for which there is no place.
#[derive(Clone, Debug)]
pub(crate) struct Short {
    pub(crate) gang: GangId,
    pub(crate) pod: PodId,
    within: Within,
    /// What does not exist yet and is made by the pod, if it is for that.
    pub(crate) expected: Option<Occupant>,
}

/// A moment to come back to.
#[derive(Clone, Copy)]
struct Moment {
    savepoint: model::Savepoint,
    places: usize,
    holds: usize,
}

/// Which of the nodes that take a pod is chosen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    Best,
    Tightest,
    /// The first by name.
    First,
}

impl<'a> Arranger<'a> {
    pub(crate) fn new(
        profiles: &'a [Profile],
        boards: &'a mut Boards,
        seed: u64,
        txn: Txn<'a>,
        gangs: &'a Gangs,
    ) -> Self {
        Self {
            profiles,
            boards,
            seed,
            txn,
            gangs,
            expected: Vec::new(),
            places: Vec::new(),
            holds: Vec::new(),
            sizes: BTreeMap::new(),
            opened: BTreeMap::new(),
            within: Within::default(),
            home: None,
            is_one_by_one: false,
            work: 0,
            is_cut: false,
            is_thorough: false,
        }
    }

    /// Places a gang, or none of it, with so much work at most beyond the first attempt.
    pub(crate) fn arrange(&mut self, gang: GangId, limit: usize) -> Result<(), Short> {
        (self.work, self.is_cut, self.home) = (0, false, None);
        let start = self.moment();
        let within = self.within.clone();
        let result = self.part(gang, &within, limit);
        let home = self.home.take().unwrap_or(within);
        let result = result.and_then(|()| self.expect(gang, &home));
        let result = result.and_then(|()| self.has_moved(gang, start));
        if result.is_err() {
            self.back_to(start);
        }
        result
    }

    /// Places one pod of a gang that has enough already.
    pub(crate) fn add(&mut self, gang: GangId, pod: PodId) -> Result<(), Short> {
        self.is_one_by_one = true;
        let mut domains = self.domains(gang, &Within::default());
        for within in &domains {
            if let Some(node) = self.seek(pod, within, Choice::Best) {
                self.take(pod, node);
                return Ok(());
            }
        }
        // Where no domain is chosen yet, none is the wrong one.
        let mut within = domains.pop().unwrap_or_default();
        if !domains.is_empty() {
            let others = domains.iter().chain([&within]).filter_map(|other| other.nodes.as_ref());
            let mut nodes: Vec<NodeId> = others.flat_map(|nodes| nodes.iter().copied()).collect();
            nodes.sort_unstable();
            within.nodes = Some(nodes.into());
        }
        Err(Short { gang, pod, within, expected: None })
    }

    /// Places a gang of pods, or of gangs; nothing may be left of a try that failed. Beyond the
    /// first attempt work is only done up to a limit.
    fn part(&mut self, gang: GangId, within: &Within, limit: usize) -> Result<(), Short> {
        let start = self.moment();
        let domains = self.domains(gang, within);
        if limit > 0 && self.in_network(gang, &domains, limit).is_some() {
            return Ok(());
        }
        if !self.is_confined(gang) && !self.txn.catalog().gang(gang).is_composite() {
            let result = self.members(gang, within, limit);
            if result.is_err() && limit > 0 {
                self.back_to(start);
            }
            return result;
        }
        if limit == 0 {
            return self.most(gang, &domains);
        }
        self.in_first(gang, &domains, limit)
    }

    fn in_domain(&mut self, gang: GangId, domain: &Within, limit: usize) -> Result<(), Short> {
        if self.txn.catalog().gang(gang).is_composite() {
            self.groups(gang, domain, limit)
        } else {
            self.members(gang, domain, limit)
        }
    }

    /// How many pods of a gang do not exist yet.
    fn expected_of(&self, gang: &Gang) -> usize {
        let is_own = |(maker, _): &&(PodId, Occupant)| gang.members.contains(maker);
        self.expected.iter().filter(is_own).count()
    }

    /// Finds room for pods that do not exist yet: for as many as are needed, and for others as far
    /// as there is any.
    fn expect(&mut self, gang: GangId, within: &Within) -> Result<(), Short> {
        let row = self.txn.catalog().gang(gang);
        let needed = (row.min() as usize).saturating_sub(row.placed as usize + self.places.len());
        for (number, (maker, occupant)) in self.expected.clone().into_iter().enumerate() {
            let catalog = self.txn.catalog();
            let pod = stand_in(catalog.pod(maker), occupant);
            let profile = profile_of(self.profiles, catalog, pod.class);
            let seed = self.seed ^ hash_of(&self.holds.len());
            let board = self.boards.of(pod.class, profile, catalog, self.txn.usage());
            let mut trial = Trial::new(maker, &pod, board, &mut self.txn);
            self.work += 1;
            let Ok(node) = seek(&mut trial, within, seed) else {
                if number >= needed {
                    return Ok(());
                }
                // The pods of the gang are not placed elsewhere to make room for these.
                self.is_cut = true;
                let gang = catalog.pod(maker).gang.expect("only pods of gangs make others");
                let (within, expected) = (within.clone(), Some(occupant));
                return Err(Short { gang, pod: maker, within, expected });
            };
            let hold = Hold::of_gang(gang, occupant, node);
            self.txn.hold(hold);
            self.holds.push(hold);
        }
        Ok(())
    }

    /// Finds room for as many pods that do not exist yet as there is, and takes it.
    pub(crate) fn keep_what_fits(mut self, gang: GangId) -> Vec<Hold> {
        let within = self.within_of_placed(gang);
        let _ = self.expect(gang, &within);
        self.commit().1
    }

    /// Makes what was found last.
    pub(crate) fn commit(self) -> (Vec<(PodId, NodeId)>, Vec<Hold>) {
        self.txn.commit();
        (self.places, self.holds)
    }

    /// A node for a pod.
    fn seek(&mut self, id: PodId, within: &Within, choice: Choice) -> Option<NodeId> {
        self.work += 1;
        if choice != Choice::Best {
            if self.work > WORK_MAX {
                return None;
            }
            let nodes = self.fitting(id, within).into_iter();
            let catalog = self.txn.catalog();
            let class = catalog.pod(id).class;
            return match choice {
                Choice::First => nodes.min_by_key(|node| catalog.node_name(*node)),
                Choice::Best | Choice::Tightest => {
                    nodes.min_by_key(|node| (room(&self.txn, class, *node), *node))
                }
            };
        }
        let own;
        let within = if self.gangs.refused.is_empty() {
            within
        } else {
            own = self.without_refused(id, within);
            &own
        };
        let catalog = self.txn.catalog();
        let cast = self.cast(id);
        let pod = cast.as_ref().unwrap_or_else(|| catalog.pod(id));
        let profile = profile_of(self.profiles, catalog, pod.class);
        let board = self.boards.of(pod.class, profile, catalog, self.txn.usage());
        let seed = self.seed ^ hash_of(&*pod.key.uid);
        seek(&mut Trial::new(id, pod, board, &mut self.txn), within, seed).ok()
    }

    /// All nodes that take a pod.
    fn fitting(&mut self, id: PodId, within: &Within) -> Vec<NodeId> {
        self.work += 1;
        let within = self.without_refused(id, within);
        let catalog = self.txn.catalog();
        let cast = self.cast(id);
        let pod = cast.as_ref().unwrap_or_else(|| catalog.pod(id));
        let profile = profile_of(self.profiles, catalog, pod.class);
        let board = self.boards.of(pod.class, profile, catalog, self.txn.usage());
        let mut trial = Trial::new(id, pod, board, &mut self.txn);
        // What is said before any node is looked at.
        if seek(&mut trial, &within, self.seed).is_err() {
            return Vec::new();
        }
        let mut held = trial.held();
        held.extend(&within.avoided);
        held.sort_unstable();
        let Trial { pod, board, txn, .. } = trial;
        let fitting = board.fitting_among(view(txn, pod), within.nodes.as_deref(), &held);
        self.work += fitting.len() / NODES_PER_LOOK;
        fitting
    }

    fn without_refused(&self, id: PodId, within: &Within) -> Within {
        let mut within = within.clone();
        if let Some(nodes) = self.gangs.refused.get(&id) {
            within.avoided.extend(nodes);
            within.avoided.sort_unstable();
        }
        within
    }

    fn is_around(&mut self, id: PodId) -> bool {
        let catalog = self.txn.catalog();
        let pod = catalog.pod(id);
        let class = self.class(pod.class);
        let profile = profile_of(self.profiles, catalog, class);
        self.boards.prepared(class, profile, catalog).is_around(view(&self.txn, pod))
    }

    fn take(&mut self, pod: PodId, node: NodeId) {
        self.txn.place(self.occupant(pod), node);
        let class = self.txn.catalog().pod(pod).class;
        let profile = profile_of(self.profiles, self.txn.catalog(), class);
        give(&mut self.txn, profile, pod, node);
        self.places.push((pod, node));
    }

    /// The class that pods of a class are taken for.
    fn class(&self, class: ClassId) -> ClassId {
        self.opened.get(&class).copied().unwrap_or(class)
    }

    fn occupant(&self, pod: PodId) -> Occupant {
        let occupant = self.txn.catalog().pod(pod).occupant(pod);
        Occupant { class: self.class(occupant.class), ..occupant }
    }

    /// The pod that a pod is taken for, if it is not itself.
    fn cast(&self, id: PodId) -> Option<Pod> {
        let pod = self.txn.catalog().pod(id);
        self.opened.contains_key(&pod.class).then(|| stand_in(pod, self.occupant(id)))
    }

    fn moment(&self) -> Moment {
        let savepoint = self.txn.savepoint();
        Moment { savepoint, places: self.places.len(), holds: self.holds.len() }
    }

    fn back_to(&mut self, moment: Moment) {
        self.txn.back_to(moment.savepoint);
        self.places.truncate(moment.places);
        self.holds.truncate(moment.holds);
    }
}

/// A pod that does not exist yet, made by another one.
fn stand_in(maker: &Pod, occupant: Occupant) -> Pod {
    Pod {
        key: maker.key.clone(),
        class: occupant.class,
        tags: occupant.tags,
        rest: PodRest {
            priority: maker.rest.priority,
            is_preempting: false,
            created: maker.rest.created,
            eligible: maker.rest.eligible,
            is_remade: true,
            ..PodRest::default()
        },
        nominated: None,
        nominated_by_api: None,
        is_evicted: false,
        claim: None,
        gang: None,
        state: PodState::Waiting,
        among_like: 0,
    }
}
