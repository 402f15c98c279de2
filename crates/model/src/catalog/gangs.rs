//! Which gangs there are, who is in them, and how many of them have to start together.
//!
//! What pods and objects say is put together here and nowhere else. Where they contradict each
//! other nothing is guessed: the gang waits and says why.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::amounts::Amounts;
use crate::catalog::pods::PodState;
use crate::gang::{GANG_MAX, GangClaim, PodGroupFacts, PodGroupKey, PodGroupKind};
use crate::ids::{GangId, PodId};
use crate::map::{Table, hash_of};
use crate::reason::Reason;

/// Pods that start together, or groups of such pods.
#[derive(Debug)]
pub struct Gang {
    /// Its namespace.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// Its pods that are neither finished nor being deleted. None if its parts are gangs.
    pub members: BTreeSet<PodId>,
    /// How many of the members are on nodes, or sent there.
    pub placed: u32,
    /// How many of these are known to be there.
    pub bound: u32,
    /// What holds for it; or why that cannot be told.
    pub terms: Result<GangTerms, Reason>,
    /// Whether enough of its pods were once on nodes.
    pub is_started: bool,
    /// The gang it is a part of.
    pub parent: Option<GangId>,
    /// Its parts.
    pub parts: BTreeSet<GangId>,
    is_composite: bool,
    /// What its members say, each with how many say so.
    claims: Vec<(Arc<GangClaim>, u32)>,
}

/// What holds for a gang.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GangTerms {
    /// How many members, or parts, have to start together. One by one if it is 1 or less.
    pub min: u32,
    /// For how many seconds some may be on nodes without the others, if that is said.
    pub timeout: Option<u32>,
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

    /// Whether its parts are gangs.
    #[must_use]
    pub fn is_composite(&self) -> bool {
        self.is_composite
    }

    fn hash(&self) -> u64 {
        hash_of(&(&*self.namespace, &*self.name, self.is_composite))
    }

    fn count(&mut self, state: PodState, is_more: bool) {
        let (placed, bound) = match state {
            PodState::Waiting => (0, 0),
            PodState::Assumed(..) => (1, 0),
            PodState::Bound(_) => (1, 1),
        };
        if is_more {
            (self.placed, self.bound) = (self.placed + placed, self.bound + bound);
        } else {
            (self.placed, self.bound) = (self.placed - placed, self.bound - bound);
        }
    }
}

/// Namespace and name.
type Name = (Box<str>, Box<str>);

/// All gangs.
#[derive(Default)]
pub(super) struct Gangs {
    rows: Vec<Option<Gang>>,
    free: Vec<GangId>,
    by_key: Table<GangId>,
    objects: BTreeMap<PodGroupKey, PodGroupFacts>,
    /// Gangs that an object is about.
    by_object: BTreeMap<PodGroupKey, BTreeSet<GangId>>,
    /// Kinds that were listed.
    served: BTreeSet<PodGroupKind>,
    /// Pods that ran to a good end, by the gang they were in and by uid.
    succeeded: BTreeMap<Name, BTreeSet<Box<str>>>,
    gang_of_succeeded: BTreeMap<Box<str>, Name>,
}

impl Gangs {
    pub(super) fn get(&self, id: GangId) -> &Gang {
        self.rows[id.index()].as_ref().expect("a gang that is named is there")
    }

    pub(super) fn has(&self, id: GangId) -> bool {
        self.rows.get(id.index()).is_some_and(Option::is_some)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = GangId> {
        let is_there = |at: &usize| self.rows[*at].is_some();
        (0..self.rows.len()).filter(is_there).map(GangId::at)
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
        state: PodState,
    ) -> (GangId, Arc<GangClaim>) {
        let id = self.enter(namespace, &claim.name, false);
        let gang = self.row(id);
        gang.members.insert(pod);
        gang.count(state, true);
        if let Some((known, count)) = gang.claims.iter_mut().find(|(known, _)| known == claim) {
            *count += 1;
            return (id, known.clone());
        }
        gang.claims.push((claim.clone(), 1));
        for key in objects_of(namespace, claim) {
            self.by_object.entry(key).or_default().insert(id);
        }
        self.resolve(id);
        (id, claim.clone())
    }

    pub(super) fn leave(&mut self, id: GangId, pod: PodId, claim: &GangClaim, state: PodState) {
        let gang = self.row(id);
        gang.members.remove(&pod);
        gang.count(state, false);
        let at = gang.claims.iter().position(|(known, _)| **known == *claim);
        let at = at.expect("a member's claim is counted");
        gang.claims[at].1 -= 1;
        if gang.claims[at].1 > 0 {
            return;
        }
        gang.claims.remove(at);
        let namespace = gang.namespace.clone();
        let is_named = |key: &PodGroupKey, gang: &Gang| {
            let mut claims = gang.claims.iter();
            claims.any(|(claim, _)| objects_of(&namespace, claim).any(|other| other == *key))
        };
        for key in objects_of(&namespace, claim) {
            if !is_named(&key, self.get(id)) {
                self.unlist(&key, id);
            }
        }
        self.resolve(id);
        self.remove_if_empty(id);
    }

    /// Takes in that a member moves on.
    pub(super) fn move_on(&mut self, id: GangId, before: PodState, after: PodState) {
        let gang = self.row(id);
        gang.count(before, false);
        gang.count(after, true);
    }

    pub(super) fn set_started(&mut self, id: GangId, is_started: bool) {
        self.row(id).is_started = is_started;
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
        let about = self.by_object.get(key).into_iter().flatten().copied();
        let mut about: Vec<GangId> = about.collect();
        if key.kind == PodGroupKind::Composite {
            about.extend(self.find(&key.namespace, &key.name, true));
        }
        // A gang that is resolved may give up a parent, which is removed then.
        about.retain(|gang| {
            let is_there = self.has(*gang);
            if is_there {
                self.resolve(*gang);
            }
            is_there && self.has(*gang)
        });
        about
    }

    /// Notes that objects of a kind can be there; tells which gangs are concerned.
    pub(super) fn set_served(&mut self, kind: PodGroupKind) -> Vec<GangId> {
        if !self.served.insert(kind) {
            return Vec::new();
        }
        let about: Vec<GangId> = self.all().collect();
        about.iter().for_each(|gang| self.resolve(*gang));
        about
    }

    pub(super) fn objects(&self) -> impl Iterator<Item = &PodGroupFacts> {
        self.objects.values()
    }

    pub(super) fn served(&self) -> impl Iterator<Item = PodGroupKind> {
        self.served.iter().copied()
    }

    /// Notes that a pod of a gang ran to a good end, or that it is not known any more.
    pub(super) fn set_succeeded(&mut self, uid: &str, gang: Option<(&str, &str)>) {
        if let Some(key) = self.gang_of_succeeded.remove(uid)
            && let Some(uids) = self.succeeded.get_mut(&key)
        {
            uids.remove(uid);
            if uids.is_empty() {
                self.succeeded.remove(&key);
            }
        }
        if let Some((namespace, name)) = gang {
            let key: Name = (namespace.into(), name.into());
            self.succeeded.entry(key.clone()).or_default().insert(uid.into());
            self.gang_of_succeeded.insert(uid.into(), key);
        }
    }

    /// Pods of gangs that ran to a good end: uid, namespace and name of the gang.
    pub(super) fn succeeded(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.gang_of_succeeded
            .iter()
            .map(|(uid, (namespace, name))| (&**uid, &**namespace, &**name))
    }

    /// Whether a gang ran to a good end: pods of it did, and none lives.
    pub(super) fn is_over(&self, namespace: &str, name: &str) -> bool {
        self.find(namespace, name, false).is_none()
            && self.succeeded.contains_key(&(namespace.into(), name.into()))
    }

    fn row(&mut self, id: GangId) -> &mut Gang {
        self.rows[id.index()].as_mut().expect("a gang that is named is there")
    }

    fn enter(&mut self, namespace: &str, name: &str, is_composite: bool) -> GangId {
        if let Some(id) = self.find(namespace, name, is_composite) {
            return id;
        }
        let id = self.free.pop().unwrap_or_else(|| {
            self.rows.push(None);
            GangId::at(self.rows.len() - 1)
        });
        self.rows[id.index()] = Some(Gang {
            namespace: namespace.into(),
            name: name.into(),
            members: BTreeSet::new(),
            placed: 0,
            bound: 0,
            terms: Ok(GangTerms::default()),
            is_started: false,
            parent: None,
            parts: BTreeSet::new(),
            is_composite,
            claims: Vec::new(),
        });
        let rows = &self.rows;
        let rehash = |id: &GangId| rows[id.index()].as_ref().map_or(0, Gang::hash);
        self.by_key.insert_unique(hash_of(&(namespace, name, is_composite)), id, rehash);
        id
    }

    fn unlist(&mut self, key: &PodGroupKey, id: GangId) {
        let Some(gangs) = self.by_object.get_mut(key) else { return };
        gangs.remove(&id);
        if gangs.is_empty() {
            self.by_object.remove(key);
        }
    }

    fn remove_if_empty(&mut self, id: GangId) {
        let gang = self.get(id);
        if !gang.members.is_empty() || !gang.parts.is_empty() {
            return;
        }
        let hash = gang.hash();
        self.set_parent(id, None);
        let entry = self.by_key.find_entry(hash, |other| *other == id);
        entry.expect("a gang that is there is listed").remove();
        self.rows[id.index()] = None;
        self.free.push(id);
    }

    /// Works out what holds for a gang.
    fn resolve(&mut self, id: GangId) {
        let gang = self.get(id);
        let mut parent = None;
        let terms = self.terms(gang, &mut parent);
        let parent = parent.map(|name| (gang.namespace.clone(), name));
        let is_started = terms.as_ref().is_ok_and(|terms| {
            let object = terms.object.as_ref().and_then(|key| self.objects.get(key));
            object.is_some_and(|object| object.is_started)
        });
        let gang = self.row(id);
        gang.terms = terms;
        gang.is_started |= is_started;
        self.set_parent(id, parent);
    }

    fn terms(&self, gang: &Gang, parent: &mut Option<Box<str>>) -> Result<GangTerms, Reason> {
        let mut terms = GangTerms::default();
        let mut min = None;
        if gang.is_composite {
            let (namespace, name) = (gang.namespace.clone(), gang.name.clone());
            let own = PodGroupKey { kind: PodGroupKind::Composite, namespace, name };
            self.add_object(own, "", &mut terms, &mut min, parent)?;
        }
        for (claim, _) in &gang.claims {
            if let Some(said) = claim.min {
                agree(&mut min, said, gang)?;
            }
            terms.timeout = terms.timeout.max(claim.timeout);
            terms.workers += claim.workers.iter().map(|workers| workers.count).sum::<u32>();
            if terms.after.is_empty() {
                terms.after.clone_from(&claim.after);
            }
            for (kind, name, part) in &claim.objects {
                if kind.is_foreign() && !self.served.contains(kind) {
                    continue;
                }
                let (namespace, name) = (gang.namespace.clone(), name.clone());
                let key = PodGroupKey { kind: *kind, namespace, name };
                self.add_object(key, part, &mut terms, &mut min, parent)?;
            }
        }
        terms.min = min.unwrap_or(1);
        if terms.min > GANG_MAX {
            let text = format!("a gang of {} pods, expected at most {GANG_MAX}", terms.min);
            return Err(Reason::GangFault(text.into()));
        }
        Ok(terms)
    }

    fn add_object(
        &self,
        key: PodGroupKey,
        part: &str,
        terms: &mut GangTerms,
        min: &mut Option<u32>,
        parent: &mut Option<Box<str>>,
    ) -> Result<(), Reason> {
        let Some(object) = self.objects.get(&key) else {
            return Err(Reason::NoPodGroup(key.name));
        };
        let Some((_, said)) = object.mins.iter().find(|(name, _)| **name == *part) else {
            return Err(Reason::NoPodGroup(format!("{}/{part}", key.name).into()));
        };
        let said = if key.kind == PodGroupKind::Composite { *said } else { (*said).max(1) };
        if min.is_some_and(|min| min != said) {
            let other = min.unwrap_or_default();
            let text = format!("its pods say that {other} start together, its PodGroup {said}");
            return Err(Reason::GangFault(text.into()));
        }
        *min = Some(said);
        terms.timeout = object.timeout.or(terms.timeout);
        terms.priority = object.priority.or(terms.priority);
        terms.topology.clone_from(&object.topology);
        terms.is_evicted_whole = object.is_evicted_whole;
        terms.min_resources.clone_from(&object.min_resources);
        parent.clone_from(&object.parent);
        terms.object = Some(key);
        Ok(())
    }

    /// Makes a gang a part of another one, or of none.
    fn set_parent(&mut self, id: GangId, parent: Option<(Box<str>, Box<str>)>) {
        let known = parent.as_ref().map(|(namespace, name)| self.find(namespace, name, true));
        let before = self.get(id).parent;
        if known.flatten() == before && (before.is_some() || parent.is_none()) {
            return;
        }
        if let Some(before) = before {
            self.row(id).parent = None;
            self.row(before).parts.remove(&id);
            self.remove_if_empty(before);
        }
        let Some((namespace, name)) = parent else { return };
        let is_new = self.find(&namespace, &name, true).is_none();
        let parent = self.enter(&namespace, &name, true);
        // A chain that ends in itself has no root.
        let mut above = Some(parent);
        while let Some(at) = above {
            if at == id {
                self.remove_if_empty(parent);
                let text = "its groups are parts of each other".into();
                self.row(id).terms = Err(Reason::GangFault(text));
                return;
            }
            above = self.get(at).parent;
        }
        self.row(id).parent = Some(parent);
        self.row(parent).parts.insert(id);
        if is_new {
            self.resolve(parent);
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

/// Takes in how many start together, by what another member says.
fn agree(min: &mut Option<u32>, said: u32, gang: &Gang) -> Result<(), Reason> {
    match *min {
        Some(other) if other != said => {
            let (low, high) = (other.min(said), other.max(said));
            let name = &gang.name;
            let text =
                format!("members of {name} disagree on how many start together: {low}, {high}");
            Err(Reason::GangFault(text.into()))
        }
        _ => {
            *min = Some(said);
            Ok(())
        }
    }
}
