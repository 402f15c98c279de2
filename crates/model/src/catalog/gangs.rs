//! Which gangs there are, who is in them, and how many of them have to start together.
//!
//! What pods and objects say is put together here and nowhere else. Where they contradict each
//! other nothing is guessed: the gang waits and says why.

mod ended;
mod progress;
mod terms;
mod tree;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::Arc;

use crate::amounts::Amounts;
use crate::catalog::pods::PodState;
use crate::gang::{GangClaim, PodGroupFacts, PodGroupKey, PodGroupKind};
use crate::ids::{ClassId, GangId, PodId};
use crate::looks::Looks;
use crate::map::{Table, hash_of};
use crate::reason::Reason;
use ended::{Ended, Jobs};
pub use progress::{Found, Kept, Progress, Stage};

/// Pods that start together, or groups of such pods.
#[derive(Debug)]
pub struct Gang {
    /// Its namespace.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// Its pods that are neither finished nor being deleted. None if its parts are gangs.
    pub members: BTreeSet<PodId>,
    /// Those of them that wait for a node.
    pub unplaced: BTreeSet<PodId>,
    /// How many of the members are on nodes, or sent there.
    pub placed: u32,
    /// How many of these are known to be there.
    pub bound: u32,
    /// What holds for it; or why that cannot be told.
    pub terms: Result<GangTerms, Reason>,
    /// How far it is.
    pub progress: Progress,
    /// The gang it is a part of.
    pub parent: Option<GangId>,
    /// Its parts.
    pub parts: BTreeSet<GangId>,
    /// Where the gangs that it waits for lead, as it was when the catalog's `after_revision` was
    /// this.
    pub chain: Cell<Option<(u64, Chain)>>,
    /// The composite that it says it is a part of, where it cannot be.
    refused_parent: Option<Box<str>>,
    is_composite: bool,
    /// How many of the members make others when they run.
    pub makers: u32,
    /// How many of these are on nodes, or sent there.
    pub makers_placed: u32,
    /// What its members say, each with how many say so.
    claims: BTreeMap<Arc<GangClaim>, u32>,
    /// The classes of its members, each with how many have it.
    pub classes: BTreeMap<ClassId, u32>,
    /// Whether the last pod of a class left it since this was last taken: what that said of the
    /// others holds no more.
    pub has_lost_class: Cell<bool>,
}

/// Where the gangs that a gang waits for lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chain {
    /// Never back to itself.
    Clear,
    /// Further than they are followed.
    Long,
}

/// What holds for a gang.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GangTerms {
    /// How many members, or parts, have to start together. One by one if it is 1 or less.
    pub min: u32,
    /// For how many seconds some may be on nodes without the others, if that is said.
    pub timeout: Option<u32>,
    /// The least that its pods say of that, where they do not agree and no object decides.
    pub shorter_timeout: Option<u32>,
    /// Importance of all its pods, if it is said.
    pub priority: Option<i32>,
    /// Labels of nodes: all pods must be on nodes that have the same values of them.
    pub topology: Box<[Box<str>]>,
    /// Whether its pods are only evicted together.
    pub is_evicted_whole: bool,
    /// How many pods a member makes when it runs.
    pub workers: u32,
    /// Gangs that must have run to a good end before.
    pub after: Box<[Box<str>]>,
    /// What has to be free on all nodes together before any of its pods is tried.
    pub min_resources: Amounts<String>,
    /// The object that says so, if one does.
    pub object: Option<PodGroupKey>,
}

impl Gang {
    /// How many have to start together; 0 as long as that cannot be told.
    #[must_use]
    pub fn min(&self) -> u32 {
        self.terms.as_ref().map_or(0, |terms| terms.min)
    }

    /// Whether enough of its pods were once on nodes.
    #[must_use]
    pub fn is_started(&self) -> bool {
        self.progress.stage.is_started()
    }

    /// How many of its own pods wait for a node.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.unplaced.len()
    }

    /// How many more of its own pods need a node, be they there or not.
    #[must_use]
    pub fn lacking(&self) -> usize {
        self.min().saturating_sub(self.placed) as usize
    }

    /// How many pods are still to be made by another one of its own.
    #[must_use]
    pub fn missing(&self) -> usize {
        let Ok(terms) = &self.terms else { return 0 };
        if terms.workers == 0 || self.makers == 0 {
            return 0;
        }
        let made = self.members.len() - self.makers as usize;
        (terms.workers as usize).saturating_sub(made)
    }

    /// Whether its parts are gangs.
    #[must_use]
    pub fn is_composite(&self) -> bool {
        self.is_composite
    }

    fn hash(&self) -> u64 {
        hash_of(&(&*self.namespace, &*self.name, self.is_composite))
    }

    /// Takes in that one fewer is of a class.
    fn lose(&mut self, class: ClassId) {
        let count = self.classes.get_mut(&class).expect("a member's class is counted");
        *count -= 1;
        if *count == 0 {
            self.classes.remove(&class);
            self.has_lost_class.set(true);
        }
    }

    /// Counts a pod that is in this state now, or is not any more.
    fn count(&mut self, pod: PodId, state: PodState, is_maker: bool, is_more: bool) {
        match (state, is_more) {
            (PodState::Waiting, true) => _ = self.unplaced.insert(pod),
            (PodState::Waiting, false) => _ = self.unplaced.remove(&pod),
            (PodState::Assumed(..) | PodState::Bound(_), _) => {}
        }
        let (placed, bound) = match state {
            PodState::Waiting => (0, 0),
            PodState::Assumed(..) => (1, 0),
            PodState::Bound(_) => (1, 1),
        };
        let makers = if is_maker { placed } else { 0 };
        if is_more {
            (self.placed, self.bound) = (self.placed + placed, self.bound + bound);
            self.makers_placed += makers;
        } else {
            (self.placed, self.bound) = (self.placed - placed, self.bound - bound);
            self.makers_placed -= makers;
        }
    }
}

/// Namespace and name.
type Name = (Box<str>, Box<str>);

/// All gangs.
#[derive(Default)]
pub(super) struct Gangs {
    rows: Vec<Slot>,
    free: Vec<usize>,
    by_key: Table<GangId>,
    objects: BTreeMap<PodGroupKey, PodGroupFacts>,
    /// Gangs that an object is about, and how many claims of their pods name it.
    by_object: BTreeMap<PodGroupKey, BTreeMap<GangId, u32>>,
    /// Kinds that were listed.
    served: BTreeSet<PodGroupKind>,
    /// Pods that ran to their end, by the gang they were in.
    ended_pods: BTreeMap<Name, Ended>,
    gang_of_ended: BTreeMap<Box<str>, Name>,
    jobs: Jobs,
    /// How many gangs wait for which.
    awaited: BTreeMap<Name, u32>,
    /// Grows when a gang waits for others that is waited for itself.
    after_revision: u64,
    /// Gangs that cannot be parts of the composites they name, by the names of these.
    refused_parts: BTreeMap<Name, BTreeSet<GangId>>,
    /// Gangs that are not there any more, and nobody was told yet.
    ended: Vec<(GangId, Gang)>,
    /// Gangs that are parts of others than before, or have other parts.
    moved: BTreeSet<GangId>,
    pub(super) looks: Looks,
}

/// A place for a gang.
struct Slot {
    /// Of the gang that is there, or of the next one.
    generation: NonZeroU32,
    gang: Option<Gang>,
}

impl Gangs {
    pub(super) fn get(&self, id: GangId) -> &Gang {
        self.find_row(id).expect("a gang that is named is there")
    }

    pub(super) fn has(&self, id: GangId) -> bool {
        self.find_row(id).is_some()
    }

    fn find_row(&self, id: GangId) -> Option<&Gang> {
        let slot = self.rows.get(id.index())?;
        slot.gang.as_ref().filter(|_| slot.generation == id.generation())
    }

    pub(super) fn all(&self) -> impl Iterator<Item = GangId> {
        let id = |(at, slot): (usize, &Slot)| {
            slot.gang.as_ref().map(|_| GangId::new(at, slot.generation))
        };
        self.rows.iter().enumerate().filter_map(id)
    }

    pub(super) fn after_revision(&self) -> u64 {
        self.after_revision
    }

    /// The gangs that ended since this was last asked.
    pub(super) fn take_ended(&mut self) -> Vec<(GangId, Gang)> {
        std::mem::take(&mut self.ended)
    }

    /// The gangs whose place among others is another one since this was last asked.
    pub(super) fn take_moved(&mut self) -> BTreeSet<GangId> {
        std::mem::take(&mut self.moved)
    }

    pub(super) fn find(&self, namespace: &str, name: &str, is_composite: bool) -> Option<GangId> {
        let is_it = |id: &GangId| {
            let gang = self.get(*id);
            (&*gang.namespace, &*gang.name, gang.is_composite) == (namespace, name, is_composite)
        };
        self.by_key.find(hash_of(&(namespace, name, is_composite)), is_it).copied()
    }

    /// The gang of a pod that lives and makes such a claim, which it joins.
    pub(super) fn join(
        &mut self,
        pod: PodId,
        namespace: &str,
        claim: &Arc<GangClaim>,
        (state, class): (PodState, ClassId),
    ) -> (GangId, Arc<GangClaim>) {
        let id = self.enter(namespace, &claim.name, false);
        let gang = self.row(id);
        gang.members.insert(pod);
        *gang.classes.entry(class).or_default() += 1;
        gang.makers += u32::from(claim.makes_others());
        gang.count(pod, state, claim.makes_others(), true);
        let known = gang.claims.get_key_value(claim).map(|(known, _)| known.clone());
        let known = known.unwrap_or_else(|| claim.clone());
        let count = gang.claims.entry(known.clone()).or_default();
        *count += 1;
        if *count > 1 {
            return (id, known);
        }
        for key in objects_of(namespace, claim) {
            *self.by_object.entry(key).or_default().entry(id).or_default() += 1;
        }
        self.resolve(id);
        (id, known)
    }

    pub(super) fn leave(
        &mut self,
        id: GangId,
        pod: PodId,
        claim: &GangClaim,
        (state, class): (PodState, ClassId),
    ) {
        let gang = self.row(id);
        gang.members.remove(&pod);
        gang.lose(class);
        gang.makers -= u32::from(claim.makes_others());
        gang.count(pod, state, claim.makes_others(), false);
        let count = gang.claims.get_mut(claim).expect("a member's claim is counted");
        *count -= 1;
        if *count > 0 {
            return;
        }
        gang.claims.remove(claim);
        let namespace = gang.namespace.clone();
        objects_of(&namespace, claim).for_each(|key| self.unlist(&key, id));
        self.resolve(id);
        let mut due = Vec::new();
        self.remove_if_empty(id, &mut due);
        self.resolve_due(due);
    }

    /// Takes in that a member is of another class.
    pub(super) fn reclass(&mut self, id: GangId, before: ClassId, after: ClassId) {
        let gang = self.row(id);
        *gang.classes.entry(after).or_default() += 1;
        gang.lose(before);
    }

    /// Takes in that a member moves on.
    pub(super) fn move_on(
        &mut self,
        id: GangId,
        (pod, is_maker): (PodId, bool),
        (before, after): (PodState, PodState),
    ) {
        let gang = self.row(id);
        gang.count(pod, before, is_maker, false);
        gang.count(pod, after, is_maker, true);
    }

    pub(super) fn progress(&mut self, id: GangId) -> &mut Progress {
        &mut self.row(id).progress
    }

    /// Takes in an object, or that it is gone; tells which gangs it is about.
    pub(super) fn set_object(
        &mut self,
        key: &PodGroupKey,
        facts: Option<&PodGroupFacts>,
    ) -> Vec<GangId> {
        if self.objects.get(key) == facts {
            return Vec::new();
        }
        match facts {
            Some(facts) => self.objects.insert(key.clone(), facts.clone()),
            None => self.objects.remove(key),
        };
        let about = self.by_object.get(key).into_iter().flat_map(BTreeMap::keys);
        let mut about: Vec<GangId> = about.copied().collect();
        if key.kind == PodGroupKind::Composite {
            about.extend(self.find(&key.namespace, &key.name, true));
        }
        self.resolve_all(&mut about);
        about
    }

    /// Notes that objects of a kind can be there; tells which gangs are concerned.
    pub(super) fn set_served(&mut self, kind: PodGroupKind) -> Vec<GangId> {
        if !self.served.insert(kind) {
            return Vec::new();
        }
        let mut about: Vec<GangId> = self.all().collect();
        self.resolve_all(&mut about);
        about
    }

    pub(super) fn objects(&self) -> impl Iterator<Item = &PodGroupFacts> {
        self.objects.values()
    }

    pub(super) fn served(&self) -> impl Iterator<Item = PodGroupKind> {
        self.served.iter().copied()
    }

    fn row(&mut self, id: GangId) -> &mut Gang {
        let slot = &mut self.rows[id.index()];
        let gang = slot.gang.as_mut().filter(|_| slot.generation == id.generation());
        gang.expect("a gang that is named is there")
    }

    fn enter(&mut self, namespace: &str, name: &str, is_composite: bool) -> GangId {
        if let Some(id) = self.find(namespace, name, is_composite) {
            return id;
        }
        let at = self.free.pop().unwrap_or_else(|| {
            self.rows.push(Slot { generation: NonZeroU32::MIN, gang: None });
            self.rows.len() - 1
        });
        let slot = &mut self.rows[at];
        let id = GangId::new(at, slot.generation);
        slot.gang = Some(Gang {
            namespace: namespace.into(),
            name: name.into(),
            members: BTreeSet::new(),
            unplaced: BTreeSet::new(),
            placed: 0,
            bound: 0,
            terms: Ok(GangTerms::default()),
            progress: Progress::default(),
            parent: None,
            parts: BTreeSet::new(),
            chain: Cell::new(None),
            refused_parent: None,
            is_composite,
            makers: 0,
            makers_placed: 0,
            claims: BTreeMap::new(),
            classes: BTreeMap::new(),
            has_lost_class: Cell::new(false),
        });
        let rows = &self.rows;
        let rehash = |id: &GangId| rows[id.index()].gang.as_ref().map_or(0, Gang::hash);
        self.by_key.insert_unique(hash_of(&(namespace, name, is_composite)), id, rehash);
        id
    }

    fn unlist(&mut self, key: &PodGroupKey, id: GangId) {
        let Some(gangs) = self.by_object.get_mut(key) else { return };
        let claims = gangs.get_mut(&id).expect("an object that a claim names is listed");
        *claims -= 1;
        if *claims == 0 {
            gangs.remove(&id);
        }
        if gangs.is_empty() {
            self.by_object.remove(key);
        }
    }

    /// Removes a gang without members and parts, and those above that are left without any. Gangs
    /// that have to be resolved for it are due then.
    fn remove_if_empty(&mut self, id: GangId, due: &mut Vec<GangId>) {
        let mut next = Some(id);
        while let Some(id) = next {
            let gang = self.get(id);
            if !gang.members.is_empty() || !gang.parts.is_empty() {
                return;
            }
            let (hash, parent) = (gang.hash(), gang.parent);
            self.set_terms(id, Ok(GangTerms::default()));
            self.accept_parent(id);
            if let Some(parent) = parent {
                self.cut(id, parent, due);
            } else {
                self.accept_below(id, due);
            }
            let entry = self.by_key.find_entry(hash, |other| *other == id);
            entry.expect("a gang that is there is listed").remove();
            let slot = &mut self.rows[id.index()];
            let gang = slot.gang.take();
            slot.generation = slot.generation.checked_add(1).unwrap_or(NonZeroU32::MIN);
            self.free.push(id.index());
            self.ended.extend(gang.map(|gang| (id, gang)));
            next = parent;
        }
    }
}

/// The objects that a claim names.
fn objects_of<'a>(
    namespace: &'a str,
    claim: &'a GangClaim,
) -> impl Iterator<Item = PodGroupKey> + use<'a> {
    claim.objects.iter().map(|(kind, name, _)| PodGroupKey {
        kind: *kind,
        namespace: namespace.into(),
        name: name.clone(),
    })
}
