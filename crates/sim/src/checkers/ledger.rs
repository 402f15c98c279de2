//! What a scheduler may know: kept from the events that were delivered to it and from its own
//! decisions, and from nothing else.
//!
//! A second, plain account of what the engine keeps. Whatever the engine does is judged by it, so
//! it must not ask the engine anything.

mod gangs;
mod place;
mod profiles;
mod proposals;
mod storage;

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{
    Attempt, BudgetFacts, Event, Fact, Key, Kind, Labels, Map, Millis, NodeFacts, Outcome,
    PodFacts, Present,
};

use super::Violation;
use super::evictions::Eviction;
use super::fabric::Networked;
use super::hardware_tiers::Law;
use super::roster::{Roster, gang_of};
use super::spread::Alike;
use gangs::Seats;
pub(crate) use place::Place;
pub(crate) use storage::{Given, Storage};

/// Where a pod is, as far as a scheduler was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    Waiting,
    /// Sent there by this scheduler, and not heard of since.
    Assumed(Box<str>, Attempt),
    Bound(Box<str>),
}

impl Spot {
    pub(crate) fn node(&self) -> Option<&str> {
        match self {
            Self::Waiting => None,
            Self::Assumed(node, _) | Self::Bound(node) => Some(node),
        }
    }
}

/// A pod as it was last delivered.
pub(crate) struct Known {
    /// Its number: pods are numbered as they become known.
    pub(crate) number: u64,
    object: Arc<Event>,
    pub(crate) spot: Spot,
    /// The node that is proposed for it: what the API said last, or we since.
    pub(crate) proposed: Option<Box<str>>,
    /// Whether we asked it to go, and have not heard that it does.
    pub(crate) is_asked: bool,
}

impl Known {
    /// Whether it goes, or should.
    pub(crate) fn is_leaving(&self) -> bool {
        self.is_asked || self.facts().rest.is_terminating
    }

    pub(crate) fn facts(&self) -> &PodFacts {
        facts_of(&self.object)
    }

    /// The event that delivered it.
    pub(crate) fn object(&self) -> Arc<Event> {
        self.object.clone()
    }
}

/// Pods as they were last delivered, by number.
type Objects = BTreeMap<u64, Arc<Event>>;

fn facts_of(object: &Event) -> &PodFacts {
    match object {
        Event::Seen(Fact::Pod(facts)) => facts,
        Event::Seen(_) | Event::Gone(_) | Event::Listed(..) | Event::Outcome(_) => {
            unreachable!("only pods are kept as pods")
        }
    }
}

/// Whether a pod is to others what it was to them.
fn is_as_before(was: &PodFacts, is: &PodFacts) -> bool {
    let what = |facts: &PodFacts| (facts.rest.is_terminating, facts.rest.priority);
    what(was) == what(is) && was.spec == is.spec && was.labels == is.labels
}

/// The whole account.
#[derive(Default)]
pub(crate) struct Ledger {
    /// Names of the profiles.
    ours: Vec<String>,
    /// Profiles that ask what kubelets do with pods.
    aligning: Vec<String>,
    /// Profiles that ask what GPUs are.
    picky: Vec<String>,
    /// What profiles say of tiers of hardware.
    laws: Vec<Law>,
    /// Profiles that know the network.
    networked: Vec<Networked>,
    nodes: Map<Box<str>, Place>,
    pods: Map<Box<str>, Known>,
    waiting: Objects,
    /// Pods on nodes that want others to be far, and their nodes: there are few.
    unwelcoming: BTreeMap<u64, (Box<str>, Arc<Event>)>,
    /// Waiting pods by the node that is proposed for them.
    proposals: BTreeMap<Box<str>, Objects>,
    budgets: BTreeMap<Box<str>, Arc<Event>>,
    namespaces: BTreeMap<Box<str>, Labels>,
    roster: Roster,
    seats: Seats,
    storage: Storage,
    alike: Alike,
    /// How often pods were to be evicted for whom since anything was delivered, and ever.
    plans: BTreeMap<Box<str>, usize>,
    all_plans: BTreeMap<Box<str>, usize>,
    numbers: u64,
    versions: u64,
}

impl Ledger {
    /// Of a scheduler with profiles of these names, whose pods wait so long for their volumes.
    pub(crate) fn new(ours: Vec<String>, timeouts: Vec<(String, Millis)>) -> Self {
        let mut ledger = Self { ours, ..Self::default() };
        ledger.expect_timeouts(timeouts);
        ledger
    }

    /// Whether a profile has this name.
    pub(super) fn is_ours(&self, scheduler: &str) -> bool {
        self.ours.iter().any(|name| name == scheduler)
    }

    /// Takes in an event that is delivered.
    pub(crate) fn apply(&mut self, event: &Arc<Event>) {
        self.plans.clear();
        match &**event {
            Event::Seen(Fact::Node(facts)) => {
                self.open(&facts.name).object = Some(event.clone());
            }
            Event::Gone(Key { kind: Kind::Node, name }) => self.delete_node(name),
            Event::Seen(Fact::Pod(facts)) => self.apply_pod(facts, event),
            Event::Gone(Key { kind: Kind::Pod, name: uid }) => self.forget(uid),
            Event::Listed(Kind::Node, Present::Names(names)) => {
                let there = self.nodes.iter().filter(|(_, place)| place.object.is_some());
                let gone = there.map(|(name, _)| name).filter(|name| !names.contains(*name));
                let mut gone: Vec<Box<str>> = gone.cloned().collect();
                gone.sort_unstable();
                gone.iter().for_each(|name| self.delete_node(name));
            }
            Event::Listed(Kind::Pod, Present::Names(uids)) => {
                let mut gone: Vec<Box<str>> =
                    self.pods.keys().filter(|uid| !uids.contains(*uid)).cloned().collect();
                gone.sort_unstable();
                gone.iter().for_each(|uid| self.forget(uid));
            }
            Event::Outcome(Outcome::BindRefused { uid, attempt }) => self.refused(uid, *attempt),
            Event::Seen(Fact::Budget(facts)) => _ = self.budgets.insert(facts.key(), event.clone()),
            Event::Gone(Key { kind: Kind::Budget, name: key }) => _ = self.budgets.remove(key),
            Event::Listed(Kind::Budget, Present::Names(keys)) => {
                self.budgets.retain(|key, _| keys.contains(key));
            }
            Event::Outcome(Outcome::Prepared { uid, attempt, versions }) => {
                self.prepared(uid, *attempt, versions);
            }
            Event::Outcome(Outcome::PrepareRefused { uid, attempt }) => {
                self.prepare_refused(uid, *attempt);
            }
            Event::Outcome(Outcome::EvictionFailed(uid)) => {
                self.pods.get_mut(uid).into_iter().for_each(|pod| pod.is_asked = false);
            }
            Event::Seen(Fact::PodGroup(_) | Fact::Succeeded(_))
            | Event::Gone(Key { kind: Kind::PodGroup(_) | Kind::Succeeded, .. })
            | Event::Listed(Kind::PodGroup(_) | Kind::Succeeded, _) => {
                self.apply_group(event);
            }
            Event::Seen(Fact::Namespace(facts)) => {
                self.namespaces.insert(facts.name.clone(), facts.labels.clone());
            }
            Event::Gone(Key { kind: Kind::Namespace, name }) => _ = self.namespaces.remove(name),
            Event::Listed(Kind::Namespace, Present::Names(names)) => {
                self.namespaces.retain(|name, _| names.contains(name));
            }
            // The world has no queues.
            Event::Seen(_) | Event::Gone(_) | Event::Listed(..) => {
                self.roster.apply(event);
                self.storage.apply(event);
                self.alike.apply(event);
            }
        }
    }

    /// Takes in that a pod is sent to a node.
    pub(crate) fn assume(&mut self, uid: &str, node: &str, attempt: Attempt) {
        self.tried(uid);
        if let Some(known) = self.pods.get(uid) {
            let (object, proposed) = (known.object.clone(), known.proposed.clone());
            self.put(uid, object, Spot::Assumed(node.into(), attempt), proposed);
        }
    }

    /// Takes in that pods are asked to go for another one.
    pub(crate) fn preempt(&mut self, plan: &Eviction) -> Result<(), Violation> {
        self.ask(&plan.victims);
        plan.outranked.iter().for_each(|pod| self.propose(pod, None));
        self.propose(&plan.pod, Some(plan.node.clone()));
        // Only somebody more important can make it think again before anything is heard.
        let priority = self.pods.get(&plan.pod).map_or(0, |known| known.facts().rest.priority);
        let superiors = self.waiting().filter(|(_, other)| other.rest.priority > priority).count();
        *self.all_plans.entry(plan.pod.clone()).or_default() += 1;
        let plans = self.plans.entry(plan.pod.clone()).or_default();
        *plans += 1;
        if *plans > 1 + superiors {
            return Err(Violation::Restless { pod: plan.pod.to_string(), plans: *plans });
        }
        Ok(())
    }

    fn propose(&mut self, uid: &str, node: Option<Box<str>>) {
        let Some(known) = self.pods.get(uid).filter(|known| known.proposed != node) else { return };
        let (object, spot) = (known.object.clone(), known.spot.clone());
        self.put(uid, object, spot, node);
    }

    fn apply_pod(&mut self, facts: &PodFacts, event: &Arc<Event>) {
        let uid = &*facts.key.uid;
        if facts.is_finished {
            return self.forget(uid);
        }
        let before = self.pods.get(uid);
        let spot = match (&facts.node, before.map(|known| known.spot.clone())) {
            (Some(node), _) => Spot::Bound(node.as_str().into()),
            // Sent somewhere, which the API has not heard of yet, or has forgotten to say.
            (None, Some(spot @ (Spot::Assumed(..) | Spot::Bound(_)))) => spot,
            (None, _) if facts.rest.is_terminating => return self.forget(uid),
            (None, Some(Spot::Waiting)) => Spot::Waiting,
            (None, None) if self.ours.contains(&facts.spec.scheduler) => Spot::Waiting,
            (None, None) => return,
        };
        if facts.node.is_some() {
            self.ungive(uid);
            self.tried(uid);
        }
        let before = self.pods.get(uid);
        let by_api = facts.nominated.as_deref();
        let proposed = match before {
            Some(known) if known.facts().nominated.as_deref() == by_api => known.proposed.clone(),
            Some(_) | None => by_api.map(Into::into),
        };
        self.put(uid, event.clone(), spot, proposed);
    }

    fn refused(&mut self, uid: &str, attempt: Attempt) {
        let Some(known) = self.pods.get(uid) else { return };
        if !matches!(known.spot, Spot::Assumed(_, current) if current == attempt) {
            return;
        }
        if known.facts().rest.is_terminating {
            return self.forget(uid);
        }
        let (object, proposed) = (known.object.clone(), known.proposed.clone());
        self.put(uid, object, Spot::Waiting, proposed);
    }

    fn put(&mut self, uid: &str, object: Arc<Event>, spot: Spot, proposed: Option<Box<str>>) {
        self.numbers += 1;
        let before = self.pods.remove(uid);
        before.iter().for_each(|known| self.unpropose(known));
        let number = before.as_ref().map_or(self.numbers, |known| known.number);
        match spot.node() {
            None => {
                if let Some(node) = &proposed {
                    self.touch(node);
                    let proposals = self.proposals.entry(node.clone()).or_default();
                    proposals.insert(number, object.clone());
                }
                self.unwelcoming.remove(&number);
                self.waiting.insert(number, object.clone());
            }
            Some(node) => {
                match facts_of(&object).spec.far.is_empty() {
                    true => _ = self.unwelcoming.remove(&number),
                    false => _ = self.unwelcoming.insert(number, (node.into(), object.clone())),
                }
                let place = self.place(node);
                let was = place.pods.insert(number, object.clone());
                if was.is_some_and(|was| !is_as_before(facts_of(&was), facts_of(&object))) {
                    place.opened = place.version;
                }
            }
        }
        if let Some(before) = &before
            && before.spot.node() != spot.node()
        {
            self.leave(number, &before.spot);
        }
        self.roster.put(before.as_ref(), facts_of(&object), &spot);
        let is_asked = before.is_some_and(|before| before.is_asked);
        let is_asked = is_asked && !facts_of(&object).rest.is_terminating;
        let gang = gang_of(facts_of(&object));
        self.pods.insert(uid.into(), Known { number, object, spot, proposed, is_asked });
        gang.into_iter().for_each(|key| self.note_gang(key));
    }

    fn unpropose(&mut self, known: &Known) {
        let Some(node) = &known.proposed else { return };
        let Some(proposals) = self.proposals.get_mut(node) else { return };
        if proposals.remove(&known.number).is_some() {
            if proposals.is_empty() {
                self.proposals.remove(node);
            }
            self.touch(node);
            self.nodes.get_mut(node).into_iter().for_each(|place| place.opened = place.version);
        }
    }

    fn forget(&mut self, uid: &str) {
        self.tried(uid);
        self.leave_commit(uid);
        let Some(known) = self.pods.remove(uid) else { return };
        self.all_plans.remove(uid);
        self.unpropose(&known);
        self.unwelcoming.remove(&known.number);
        self.leave(known.number, &known.spot);
        self.roster.remove(&known);
        gang_of(known.facts()).into_iter().for_each(|key| self.note_gang(key));
    }

    /// Takes a pod from where it was.
    fn leave(&mut self, number: u64, spot: &Spot) {
        match spot.node() {
            None => {
                self.waiting.remove(&number);
            }
            Some(node) => {
                self.open(node).pods.remove(&number);
                self.tidy(node);
            }
        }
    }

    fn delete_node(&mut self, name: &str) {
        self.open(name).object = None;
        self.tidy(name);
    }

    fn tidy(&mut self, name: &str) {
        let is_empty = |place: &Place| {
            place.object.is_none() && place.pods.is_empty() && place.seats.is_empty()
        };
        if self.nodes.get(name).is_some_and(is_empty) {
            self.nodes.remove(name);
        }
    }

    /// Others may go to a node now, or not any more.
    fn touch(&mut self, name: &str) {
        if self.nodes.contains_key(name) {
            self.place(name);
        }
    }

    /// A place where others may have room now.
    fn open(&mut self, name: &str) -> &mut Place {
        let place = self.place(name);
        place.opened = place.version;
        place
    }

    /// A place that is about to change.
    fn place(&mut self, name: &str) -> &mut Place {
        self.versions += 1;
        if !self.nodes.contains_key(name) {
            self.nodes.insert(name.into(), Place::default());
        }
        let place = self.nodes.get_mut(name).expect("it was just made");
        place.version = self.versions;
        place
    }
}

// === What can be read ===

impl Ledger {
    pub(crate) fn pod(&self, uid: &str) -> Option<&Known> {
        self.pods.get(uid)
    }

    pub(crate) fn pods(&self) -> impl Iterator<Item = &PodFacts> {
        self.pods.values().map(Known::facts)
    }

    pub(super) fn alike(&self) -> &Alike {
        &self.alike
    }

    /// The labels of a namespace that is there.
    pub(crate) fn namespace(&self, name: &str) -> Option<&Labels> {
        self.namespaces.get(name)
    }

    /// Whether there is a namespace with such labels.
    pub(crate) fn has_namespace(&self, is_it: impl Fn(&Labels) -> bool) -> bool {
        self.namespaces.values().any(is_it)
    }

    /// Grows with every change of a node, or of what is on it.
    pub(crate) fn version(&self) -> u64 {
        self.versions
    }

    pub(crate) fn pod_count(&self) -> usize {
        self.pods.len()
    }

    /// The nodes that are there, with their facts.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (&NodeFacts, &Place)> {
        self.nodes.values().filter_map(|place| Some((place.facts()?, place)))
    }

    /// A node that is there.
    pub(crate) fn node(&self, name: &str) -> Option<(&NodeFacts, &Place)> {
        let place = self.nodes.get(name)?;
        Some((place.facts()?, place))
    }

    /// Pods that want others to be far, with their nodes as far as these are there.
    pub(crate) fn unwelcoming(&self) -> impl Iterator<Item = (&NodeFacts, &PodFacts)> {
        let all = self.unwelcoming.values();
        all.filter_map(|(node, object)| Some((self.node(node)?.0, facts_of(object))))
    }

    /// The budgets that a pod counts against.
    pub(crate) fn budgets_of(&self, pod: &PodFacts) -> impl Iterator<Item = &BudgetFacts> {
        let budgets = self.budgets.values().filter_map(|object| match &**object {
            Event::Seen(Fact::Budget(facts)) => Some(&**facts),
            Event::Seen(_) | Event::Gone(_) | Event::Listed(..) | Event::Outcome(_) => None,
        });
        budgets.filter(|budget| {
            let selector = budget.selector.as_ref().filter(|one| !one.requirements.is_empty());
            budget.namespace == pod.key.namespace
                && !pod.labels.is_empty()
                && selector.is_some_and(|selector| selector.matches(&pod.labels))
        })
    }

    /// The pods that wait for us, gated or not, by uid.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (&str, &PodFacts)> {
        self.waiting.values().map(|object| facts_of(object)).map(|facts| (&*facts.key.uid, facts))
    }

    pub(crate) fn waiting_count(&self) -> usize {
        self.waiting.len()
    }

    /// All pods that are on nodes, or sent there.
    pub(crate) fn placed(&self) -> impl Iterator<Item = &PodFacts> {
        let placed = self.pods.values().filter(|known| known.spot.node().is_some());
        placed.map(Known::facts)
    }
}
