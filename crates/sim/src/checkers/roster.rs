//! Which pods are in which gang, and what was said of gangs, as far as it was delivered.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Amounts, Event, Fact, Key, Kind, PodFacts, PodGroupFacts, PodGroupKey, PodGroupKind, PodSpec,
    Present,
};

use super::ledger::{Known, Ledger, Spot};
use super::members::Members;
use super::trees::{self, Top};

/// Namespace and name of a gang.
pub(crate) type GangKey = (Box<str>, Box<str>);

/// How many different things pods may say of their gang.
const CLAIMS_MAX: usize = 64;

/// The gang a pod is in, if it is in one.
pub(crate) fn gang_of(facts: &PodFacts) -> Option<GangKey> {
    let claim = facts.gang.as_ref().filter(|claim| !claim.name.is_empty())?;
    Some((facts.key.namespace.clone(), claim.name.clone()))
}

/// Room that is kept for a pod which does not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeatFacts {
    pub(crate) gang: GangKey,
    pub(crate) node: Box<str>,
    pub(crate) spec: PodSpec,
}

/// How many start together by a pod that succeeded, and the Job that made it, if one did.
type Success = (u32, Box<str>);

/// All gangs.
#[derive(Default)]
pub(crate) struct Roster {
    /// Pods that live.
    members: BTreeMap<GangKey, Members>,
    groups: BTreeMap<PodGroupKey, PodGroupFacts>,
    /// Pods that succeeded, by uid: of which gang.
    succeeded: BTreeMap<Box<str>, GangKey>,
    /// The same by gang.
    succeeded_of: BTreeMap<GangKey, BTreeMap<Box<str>, Success>>,
    /// Jobs that are complete, with how many pods they had.
    complete: BTreeMap<Box<str>, u32>,
    /// Gangs that had enough pods on nodes, as far as was seen, or as an object said while any of
    /// their pods lived: another object of the same name need not say it.
    pub(super) reached: BTreeSet<GangKey>,
    /// Those of them of which that is not known: they had enough as parts of a blurred composite,
    /// and a part has only started if the composite has.
    pub(super) unsure: BTreeSet<GangKey>,
    /// Gangs that have pods on nodes, and never had enough; with a number that is another one
    /// each time the first of them comes to a node.
    pub(super) open: BTreeMap<GangKey, u64>,
    /// Gangs some of whose pods were on nodes when they were first heard of.
    pub(super) found: BTreeSet<GangKey>,
    /// What the version of all nodes was when a gang was last tried in vain.
    pub(super) tried: BTreeMap<GangKey, u64>,
    /// What is said of the pods of gangs that are not there.
    nobody: Members,
    /// Composites of which it is not known how far they were: objects about them changed while
    /// pods were on nodes, or pods were there when they were first heard of.
    pub(super) blurred: BTreeSet<GangKey>,
    /// Composites that had enough parts once, of which that may be forgotten: objects about them
    /// changed since, or a group has no pods any more, and a composite without any ends.
    pub(super) faded: BTreeSet<GangKey>,
}

impl Roster {
    /// Takes in that a pod is there, or is not any more where it was.
    pub(super) fn put(&mut self, before: Option<&Known>, facts: &PodFacts, spot: &Spot) {
        let before = before.filter(|known| !known.facts().rest.is_terminating);
        let left = before.and_then(|known| Some((gang_of(known.facts())?, known)));
        if let Some((key, known)) = &left
            && let Some(members) = self.members.get_mut(key)
        {
            members.remove(known.facts(), &known.spot);
        }
        if let Some(key) = gang_of(facts).filter(|_| !facts.rest.is_terminating) {
            self.members.entry(key.clone()).or_default().add(facts, spot);
            if before.is_none() && spot.node().is_some() {
                self.found.insert(key);
            }
        }
        left.into_iter().for_each(|(key, _)| self.forget_if_empty(&key));
    }

    /// Takes in that a pod is not there any more.
    pub(super) fn remove(&mut self, known: &Known) {
        let facts = known.facts();
        let Some(key) = gang_of(facts).filter(|_| !facts.rest.is_terminating) else { return };
        let Some(members) = self.members.get_mut(&key) else { return };
        members.remove(facts, &known.spot);
        self.forget_if_empty(&key);
    }

    fn forget_if_empty(&mut self, key: &GangKey) {
        if self.members.get(key).is_some_and(|members| members.count() == 0) {
            self.members.remove(key);
            self.reached.remove(key);
            self.unsure.remove(key);
            self.open.remove(key);
            self.found.remove(key);
            self.tried.remove(key);
            self.fade();
        }
    }

    /// Takes in that composites may have ended.
    pub(super) fn fade(&mut self) {
        let composites = self.reached.iter().filter(|key| !self.members.contains_key(*key));
        self.faded.extend(composites.cloned());
    }

    /// Takes in what is said of gangs by others than pods.
    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            Event::Seen(Fact::PodGroup(facts)) => {
                self.groups.insert(facts.key.clone(), (**facts).clone());
            }
            Event::Gone(Key { kind: Kind::PodGroup(sort), name }) => {
                self.groups.remove(&PodGroupKey::of(*sort, name));
            }
            Event::Listed(Kind::PodGroup(kind), Present::Names(names)) => {
                self.groups.retain(|key, _| key.kind != *kind || names.contains(&key.listed_by()));
            }
            Event::Seen(Fact::Succeeded(facts)) => {
                let key = (facts.namespace.clone(), facts.gang.clone());
                self.unsucceed(&facts.uid);
                self.succeeded.insert(facts.uid.clone(), key.clone());
                let own = self.succeeded_of.entry(key).or_default();
                own.insert(facts.uid.clone(), (facts.min.unwrap_or(1), facts.job.clone()));
            }
            Event::Gone(Key { kind: Kind::Succeeded, name: uid }) => self.unsucceed(uid),
            Event::Listed(Kind::Succeeded, Present::Names(uids)) => {
                let gone = self.succeeded.keys().filter(|uid| !uids.contains(*uid));
                let gone: Vec<Box<str>> = gone.cloned().collect();
                gone.iter().for_each(|uid| self.unsucceed(uid));
            }
            Event::Seen(Fact::Job(facts)) => {
                self.complete.insert(facts.uid.clone(), facts.pods);
            }
            Event::Gone(Key { kind: Kind::Job, name }) => _ = self.complete.remove(name),
            Event::Listed(Kind::Job, Present::Names(names)) => {
                self.complete.retain(|uid, _| names.contains(uid));
            }
            Event::Seen(_) | Event::Gone(_) | Event::Listed(..) | Event::Outcome(_) => {}
        }
    }

    fn unsucceed(&mut self, uid: &str) {
        let Some(key) = self.succeeded.remove(uid) else { return };
        let Some(own) = self.succeeded_of.get_mut(&key) else { return };
        own.remove(uid);
        if own.is_empty() {
            self.succeeded_of.remove(&key);
        }
    }

    /// Whether an object says the same of a gang as before, or there is no such object.
    pub(super) fn says_nothing_new(&self, facts: &PodGroupFacts) -> bool {
        let is_started = facts.is_started;
        let known = self.groups.get(&facts.key);
        known.is_some_and(|known| PodGroupFacts { is_started, ..known.clone() } == *facts)
    }

    pub(super) fn has_composites(&self) -> bool {
        self.groups.keys().any(|key| key.kind == PodGroupKind::Composite)
    }

    /// The composites of a namespace.
    pub(super) fn composites(&self, namespace: &str) -> impl Iterator<Item = &PodGroupFacts> {
        let all = self.groups.values();
        all.filter(move |facts| {
            facts.key.kind == PodGroupKind::Composite && *facts.key.namespace == *namespace
        })
    }

    /// The composites that groups of a namespace say they are parts of, whose pods live.
    pub(super) fn parents_in(&self, namespace: &str) -> impl Iterator<Item = Option<Box<str>>> {
        let keys = self.members.keys().filter(move |(other, _)| **other == *namespace);
        keys.filter_map(|key| self.native(key)).map(|facts| facts.parent.clone())
    }

    /// The composite that a gang is a part of, by an object that its pods name.
    pub(super) fn parent_of(&self, key: &GangKey) -> Option<Box<str>> {
        let claim = self.members.get(key)?.claims().next()?;
        let is_native = claim.objects.iter().any(|(kind, ..)| *kind == PodGroupKind::Native);
        self.native(key).filter(|_| is_native)?.parent.clone()
    }

    fn native(&self, (namespace, name): &GangKey) -> Option<&PodGroupFacts> {
        let kind = PodGroupKind::Native;
        self.groups.get(&PodGroupKey { kind, namespace: namespace.clone(), name: name.clone() })
    }

    /// Whether pods are in such a gang.
    pub(super) fn is_gang(&self, key: &GangKey) -> bool {
        self.members.contains_key(key)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &GangKey> {
        self.members.keys()
    }

    /// How many objects about gangs a namespace has; none if no gang has parts, or says that it is
    /// a part of one that may not be there.
    pub(super) fn groups_in_trees(&self, namespace: &str) -> usize {
        let own = || self.groups.values().filter(|facts| *facts.key.namespace == *namespace);
        let is_part = |facts: &PodGroupFacts| facts.parent.is_some();
        let is_tree =
            own().any(|facts| facts.key.kind == PodGroupKind::Composite || is_part(facts));
        if is_tree { own().count() } else { 0 }
    }

    pub(super) fn group(&self, key: &PodGroupKey) -> Option<&PodGroupFacts> {
        self.groups.get(key)
    }

    /// Whether a gang ran to a good end: as many of its pods did as start together, and none lives.
    /// Of pods that Jobs made that is up to the Jobs.
    pub(super) fn is_over(&self, key: &GangKey) -> bool {
        let Some(own) = self.succeeded_of.get(key).filter(|_| !self.members.contains_key(key))
        else {
            return false;
        };
        let min = own.values().map(|(min, _)| *min).max().unwrap_or(1).max(1);
        let jobs: BTreeSet<&str> = own.values().map(|(_, job)| &**job).collect();
        let jobs = jobs.into_iter().filter(|job| !job.is_empty());
        let made: Option<Vec<u32>> = jobs.map(|job| self.complete.get(job).copied()).collect();
        let others = own.values().filter(|(_, job)| job.is_empty()).count() as u64;
        made.is_some_and(|made| made.into_iter().map(u64::from).sum::<u64>() + others >= min.into())
    }
}

/// What holds for a gang.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) min: usize,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) topology: Vec<Box<str>>,
    pub(crate) workers: usize,
    pub(crate) is_started: bool,
    /// Whether a PodGroup of Kubernetes itself says so.
    is_native: bool,
    /// How important all of it is, if that is said.
    pub(crate) priority: Option<i32>,
    pub(crate) after: Vec<Box<str>>,
    /// What has to be free on all nodes together before it starts.
    pub(crate) min_resources: Amounts<String>,
    /// The composite it says it is a part of.
    pub(super) parent: Option<Box<str>>,
}

/// Why it cannot be told what holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// An object is not there; its name.
    NoGroup(Box<str>),
    /// Members, or members and objects, contradict each other.
    Contradiction,
    /// What its pods say of it makes no sense.
    Fault(Box<str>),
    /// Its pods say too many different things.
    Claims,
    /// Groups are parts of each other.
    Circle,
    /// There are too many levels of groups above it.
    Depth,
}

/// A gang as it is at the moment.
pub(crate) struct Gang<'a> {
    pub(crate) key: GangKey,
    ledger: &'a Ledger,
    /// Its pods that live.
    pub(super) members: &'a Members,
    pub(crate) terms: Result<Terms, Vec<Trouble>>,
    /// What it is tried with.
    pub(crate) top: Top,
    /// Room that is kept for pods which it is to make.
    pub(crate) seats: usize,
    /// Whether it had enough pods on nodes, as far as can be known.
    pub(crate) is_reached: bool,
    /// Whether that is certain.
    pub(crate) is_surely_reached: bool,
}

impl<'a> Gang<'a> {
    pub(crate) fn of(ledger: &'a Ledger, key: &GangKey) -> Self {
        let roster = ledger.roster();
        let members = roster.members.get(key).unwrap_or(&roster.nobody);
        let seats = ledger.seats_of(key);
        let mut terms = terms(roster, key, members);
        // Also while it is not clear what it is a part of.
        let is_started = terms.as_ref().is_ok_and(|terms| terms.is_started);
        let is_reached = is_started || roster.reached.contains(key);
        let is_surely_reached = is_started || is_reached && !roster.unsure.contains(key);
        let parent = terms.as_ref().ok().and_then(|terms| terms.parent.as_deref());
        let top = match trees::top(roster, &key.0, parent) {
            Ok(top) => top,
            Err(troubles) => {
                terms = Err(troubles);
                Top::Itself
            }
        };
        let key = key.clone();
        Self { key, ledger, members, terms, top, seats, is_reached, is_surely_reached }
    }

    /// How many have to start together; none if nothing has to, or it cannot be told.
    pub(crate) fn min(&self) -> Option<usize> {
        self.terms.as_ref().ok().map(|terms| terms.min).filter(|min| *min > 1)
    }

    /// All its pods that live.
    pub(crate) fn pods(&self) -> impl Iterator<Item = &'a Known> {
        self.members.uids().filter_map(|uid| self.ledger.pod(uid))
    }

    pub(crate) fn bound(&self) -> impl Iterator<Item = &'a Known> {
        self.members.bound.iter().filter_map(|uid| self.ledger.pod(uid))
    }

    pub(crate) fn waiting(&self) -> impl Iterator<Item = &'a Known> {
        self.members.waiting.iter().filter_map(|uid| self.ledger.pod(uid))
    }

    /// Those that are on nodes, or sent there.
    pub(super) fn placed_pods(&self) -> impl Iterator<Item = &'a Known> {
        let placed = self.members.sent.iter().chain(&self.members.bound);
        placed.filter_map(|uid| self.ledger.pod(uid))
    }

    /// How many these are.
    pub(crate) fn placed(&self) -> usize {
        self.members.sent.len() + self.members.bound.len()
    }

    /// How many pods are still to be made by one of it.
    pub(crate) fn missing(&self) -> usize {
        let Ok(terms) = &self.terms else { return 0 };
        let (all, makers) = (self.members.count(), self.members.makers);
        if makers == 0 { 0 } else { terms.workers.saturating_sub(all - makers) }
    }

    /// For how many pods there may be room at most that is kept.
    pub(crate) fn seats_max(&self) -> usize {
        let Members { waiting, makers, makers_waiting, .. } = self.members;
        if makers > makers_waiting { self.missing() + waiting.len() - makers_waiting } else { 0 }
    }

    /// Whether enough are on nodes, or sent there, with the room that is kept.
    pub(crate) fn is_whole(&self) -> bool {
        let seats = self.seats.min(self.seats_max());
        self.min().is_none_or(|min| self.placed() + seats >= min)
    }

    /// Whether enough are known to be on nodes.
    pub(crate) fn is_up(&self) -> bool {
        let bound = self.members.bound.len();
        self.min().is_some_and(|min| bound > 0 && bound + self.missing() >= min)
    }

    /// Whether room was only taken since it was last tried, and its waiting pods differ. It is not
    /// tried again then, but may fit by chance: pods of different sizes are put in another way for
    /// it, where pods of one size find as many places as before at most.
    pub(crate) fn may_be_lucky(&self) -> bool {
        let mut specs = self.waiting().map(|known| &known.facts().spec);
        let first = specs.next();
        specs.any(|spec| Some(spec) != first) && self.ledger.has_only_lost_room(&self.key)
    }

    /// Whether it is a PodGroup whose pods go one by one, and one of them is on a node: so it has
    /// started, also if more have to start together later.
    pub(super) fn has_begun_one_by_one(&self) -> bool {
        let is_one_by_one = |terms: &Terms| terms.is_native && terms.min <= 1;
        self.terms.as_ref().is_ok_and(is_one_by_one) && !self.members.bound.is_empty()
    }

    /// Whether a pod waits that was made after another one started: somebody who did not see it
    /// all must think that it takes the place of another.
    pub(super) fn seems_mended(&self) -> bool {
        self.members.has_successor()
    }
}

fn terms(
    roster: &Roster,
    (namespace, _): &GangKey,
    members: &Members,
) -> Result<Terms, Vec<Trouble>> {
    let (mut terms, mut troubles, mut mins) = (Terms::default(), Vec::new(), BTreeSet::new());
    if members.claims().len() > CLAIMS_MAX {
        troubles.push(Trouble::Claims);
    }
    for claim in members.claims() {
        troubles.extend(claim.fault.clone().map(Trouble::Fault));
        mins.extend(claim.min);
        let workers: u32 = claim.workers.iter().map(|workers| workers.count).sum();
        terms.workers += workers as usize;
        let timeout_ms = claim.timeout.map(|seconds| u64::from(seconds) * 1000);
        terms.timeout_ms = terms.timeout_ms.max(timeout_ms);
        if terms.after.is_empty() {
            terms.after = claim.after.to_vec();
        }
        for (kind, name, part) in &claim.objects {
            let (namespace, name) = (namespace.clone(), name.clone());
            let key = PodGroupKey { kind: *kind, namespace, name };
            let Some(group) = roster.group(&key) else {
                troubles.push(Trouble::NoGroup(key.name));
                continue;
            };
            mins.extend(group.mins.iter().filter(|(own, _)| own == part).map(|(_, min)| *min));
            let timeout_ms = group.timeout.map(|seconds| u64::from(seconds) * 1000);
            terms.timeout_ms = timeout_ms.or(terms.timeout_ms);
            terms.topology = group.topology.to_vec();
            terms.min_resources = group.min_resources.clone();
            terms.is_started |= group.is_started;
            terms.is_native = *kind == PodGroupKind::Native;
            let said = group.priority.filter(|_| group.parent.is_none());
            if claim.priority.is_some_and(|own| said.is_some_and(|said| own != said)) {
                troubles.push(Trouble::Contradiction);
            }
            terms.priority = group.priority.or(terms.priority);
            terms.parent = group.parent.clone();
        }
    }
    if mins.len() > 1 {
        troubles.push(Trouble::Contradiction);
    }
    terms.min = mins.first().map_or(1, |min| *min as usize);
    if troubles.is_empty() { Ok(terms) } else { Err(troubles) }
}
