//! Looks at everything a scheduler keeps, whenever it has nothing to do: nothing is lost, nobody
//! sleeps next to a node that takes him, and what is counted is what is taken.
//!
//! What did not change since it was last looked at is not looked at again, except from time to
//! time.

use std::collections::{BTreeMap, BTreeSet};

use engine::{Place, Scheduler};
use model::topology::predict;
use model::{Load, NodeFacts, PodFacts, PodState, ResourceId, Time};

use super::Violation;
use super::company::{self, Scene};
use super::fabric::{self, Bounds};
use super::gangs::{check_seats, domains, is_ready, may_begin, witness};
use super::gpus;
use super::insides::{Reports, check_insides};
use super::kinds::Kinds;
use super::ledger::{self, Ledger};
use super::roster::{Gang, GangKey, gang_of};
use super::rules::{self, Taken};
use super::trees::{Top, Tree};
use super::volumes::{Ends, Kept, is_kept_for_others};

/// After how many looks everything is looked at again.
const EVERYTHING_EVERY: u64 = 64;

/// What was seen at the last look.
#[derive(Default)]
pub(crate) struct Inspector {
    looks: u64,
    version: u64,
    /// Parked pods that no node took.
    seen: BTreeSet<Box<str>>,
    ends: Ends,
    reports: Reports,
}

impl Inspector {
    /// Looks at a scheduler, which has nothing to do at this moment if `is_idle`, and at what it
    /// keeps as given.
    pub(crate) fn inspect(
        &mut self,
        ledger: &Ledger,
        (scheduler, kept): (&Scheduler, &Kept),
        (now, is_idle): (Time, bool),
    ) -> Result<(), Violation> {
        self.looks += 1;
        if self.looks.is_multiple_of(EVERYTHING_EVERY) {
            self.version = 0;
            self.seen.clear();
        }
        let is_changed = |(_, place): &(&NodeFacts, &ledger::Place)| place.version > self.version;
        let changed: Vec<Looked<'_>> = ledger.nodes().filter(is_changed).map(Looked::at).collect();
        check_counts(ledger, scheduler)?;
        let parked = check_waiting(ledger, scheduler)?;
        check_usage(&changed, scheduler)?;
        check_seats(ledger)?;
        kept.check(ledger)?;
        self.ends.check(ledger, now, is_idle)?;
        check_insides(scheduler)?;
        self.reports.check(ledger, scheduler)?;
        // While there is something to do, what changed has to be looked at next time.
        if is_idle {
            self.check_parked((ledger, scheduler), &parked, &changed)?;
            self.version = ledger.nodes().map(|(_, place)| place.version).max().unwrap_or(0);
        }
        Ok(())
    }

    /// No node takes a pod that is parked.
    fn check_parked(
        &mut self,
        (ledger, scheduler): (&Ledger, &Scheduler),
        parked: &[&str],
        changed: &[Looked<'_>],
    ) -> Result<(), Violation> {
        let (mut all, scene) = (None, Scene::of(ledger));
        let mut seen = BTreeSet::new();
        let mut gangs: BTreeMap<GangKey, Vec<&PodFacts>> = BTreeMap::new();
        for uid in parked {
            let facts = ledger.pod(uid).expect("a waiting pod is known").facts();
            if let Some(key) = gang_of(facts) {
                gangs.entry(key).or_default().push(facts);
                continue;
            }
            if !ledger.may_be_placed(facts) || rules::cannot_be_ranked(&facts.spec) {
                continue;
            }
            let has_company = company::matters(ledger, facts);
            let nodes = if self.seen.contains(*uid) && !has_company {
                changed
            } else {
                all.get_or_insert_with(|| ledger.nodes().map(Looked::at).collect::<Vec<_>>())
            };
            let takes = |node: &&Looked<'_>| {
                let is_alone = || {
                    let mut rivals = ledger.rivals(&node.facts.name, facts);
                    rivals.next().is_none() && ledger.insisting(facts).next().is_none()
                };
                rules::objections(&facts.spec, node.facts, &node.taken).is_empty()
                    && !is_refused(scheduler, ledger, facts, node.facts)
                    && !gpus::is_refused(scheduler, ledger, facts, node.facts)
                    && fabric::objection(ledger, facts, node.facts).is_none()
                    && !is_kept_for_others(ledger, facts, &node.facts.name)
                    && ((!has_company && is_alone())
                        || company::objections(&scene, facts, node.facts).is_empty())
            };
            if let Some(node) = nodes.iter().find(takes) {
                let (pod, node) = (facts.key.name.to_string(), node.facts.name.clone());
                return Err(Violation::Asleep { pod, node });
            }
            seen.insert((*uid).into());
        }
        for (key, parked) in gangs {
            let gang = Gang::of(ledger, &key);
            let is_new = parked.iter().any(|facts| !self.seen.contains(&facts.key.uid));
            let has_company = parked.iter().any(|facts| company::matters(ledger, facts));
            if is_new || has_company || !changed.is_empty() {
                check_parked_gang(ledger, &gang, &parked)?;
            }
            seen.extend(parked.iter().map(|facts| facts.key.uid.clone()));
        }
        self.seen = seen;
        Ok(())
    }
}

/// Whether the kubelet of a node refuses a pod, as far as the scheduler knows what is taken there
/// and asks for that. Where another pod has to fit beside it, this is not certain.
fn is_refused(scheduler: &Scheduler, ledger: &Ledger, pod: &PodFacts, node: &NodeFacts) -> bool {
    if !ledger.is_aligned(pod, node) {
        return false;
    }
    let catalog = scheduler.catalog();
    let inside = catalog.find_node(&node.name).and_then(|node| scheduler.usage().inside(node));
    let id = catalog.find_pod(&pod.key.uid);
    let alignment = id.and_then(|id| catalog.class(catalog.pod(id).class).alignment.as_ref());
    let (Some(inside), Some(alignment)) = (inside, alignment) else { return false };
    let machine = inside.machine();
    let is_alone = ledger.rivals(&node.name, pod).next().is_none();
    !machine.is_kubelet_unknown()
        && (!is_alone || predict(machine, inside.state(), &alignment.ask).is_err())
}

/// No nodes take a gang that is parked, or any of its pods if it has enough already.
fn check_parked_gang(
    ledger: &Ledger,
    gang: &Gang<'_>,
    parked: &[&PodFacts],
) -> Result<(), Violation> {
    let asleep = |pod: String, node: String| Err(Violation::Asleep { pod, node });
    if let Some(waits) = waits_with_others(ledger, gang) {
        let Some(place) = waits else { return Ok(()) };
        return asleep(format!("gang {}", gang.key.1), place);
    }
    if gang.is_whole() {
        let (scene, mut kinds) = (Scene::of(ledger), Kinds::new(ledger));
        for facts in parked.iter().copied() {
            if kinds.find(facts).is_some() {
                continue;
            }
            if let Some(node) = takes_one(ledger, &scene, gang, facts) {
                return asleep(facts.key.name.to_string(), node.to_owned());
            }
            kinds.set(facts, ());
        }
        return Ok(());
    }
    if !is_ready(ledger, gang) || parked.iter().any(|one| rules::cannot_be_ranked(&one.spec)) {
        return Ok(());
    }
    let Some(places) = witness(ledger, gang) else { return Ok(()) };
    asleep(format!("gang {}", gang.key.1), places.join(", "))
}

/// Of a gang that has to wait for others: where all of them would find room, if they would.
pub(crate) fn waits_with_others(ledger: &Ledger, gang: &Gang<'_>) -> Option<Option<String>> {
    match &gang.top {
        Top::Itself => return None,
        Top::Unclear => return Some(None),
        Top::Composite(_) => {}
    }
    // Where all have enough, parts stand for themselves.
    let tree = Tree::around(ledger, gang)?;
    let mut waiting = tree.gangs().into_iter().flat_map(|gang| gang.waiting());
    let is_odd = waiting.any(|known| rules::cannot_be_ranked(&known.facts().spec));
    Some(if tree.is_ready(ledger) && !is_odd { tree.witness(ledger) } else { None })
}

/// A node that takes a pod of a gang which has enough already.
pub(crate) fn takes_one<'a>(
    ledger: &'a Ledger,
    scene: &Scene<'a>,
    gang: &Gang<'_>,
    facts: &PodFacts,
) -> Option<&'a str> {
    if gang.terms.is_err() || !ledger.may_be_placed(facts) || rules::cannot_be_ranked(&facts.spec) {
        return None;
    }
    if !may_begin(ledger, gang) {
        return None;
    }
    let domains = domains(ledger, gang, &Bounds::of(ledger, gang));
    let mut nodes = domains.into_iter().flatten();
    let node = nodes.find(|node| company::surely_takes(scene, facts, node))?;
    Some(&node.name)
}

/// A node and what is taken of it.
struct Looked<'a> {
    facts: &'a NodeFacts,
    taken: Taken<'a>,
}

impl<'a> Looked<'a> {
    fn at((facts, place): (&'a NodeFacts, &'a ledger::Place)) -> Self {
        Self { facts, taken: place.taken() }
    }
}

/// As many pods and nodes are known as were delivered.
fn check_counts(ledger: &Ledger, scheduler: &Scheduler) -> Result<(), Violation> {
    let catalog = scheduler.catalog();
    let rows = [
        ("pods", catalog.pod_count(), ledger.pod_count()),
        ("nodes", catalog.nodes().len(), ledger.nodes().count()),
    ];
    for (what, known, delivered) in rows {
        if known != delivered {
            let state = format!("{known} are known, {delivered} were delivered");
            return Err(Violation::Lost { pod: what.to_owned(), state });
        }
    }
    Ok(())
}

/// Every pod that waits is known and will have its turn. Returns those that are parked.
fn check_waiting<'a>(ledger: &'a Ledger, scheduler: &Scheduler) -> Result<Vec<&'a str>, Violation> {
    let catalog = scheduler.catalog();
    let mut parked = Vec::new();
    for (uid, facts) in ledger.waiting() {
        let lost = |state: &str| {
            let (pod, state) = (format!("pod {}", facts.key.name), state.to_owned());
            Err(Violation::Lost { pod, state })
        };
        let Some(id) = catalog.find_pod(uid) else {
            return lost("it waits, and the scheduler does not know it");
        };
        if catalog.pod(id).state != PodState::Waiting {
            return lost("it waits, and the scheduler counts it on a node");
        }
        let is_gated = !facts.rest.gates.is_empty();
        match scheduler.place_of(id) {
            Some(Place::Parked(_)) if !is_gated => parked.push(uid),
            Some(Place::Active | Place::Backoff) if !is_gated => {}
            Some(Place::Gated) if is_gated => {}
            // What keeps one back keeps its gang back.
            Some(Place::Gathering(_) | Place::Parked(_) | Place::Active | Place::Backoff)
                if is_gated && facts.gang.is_some() => {}
            Some(Place::Gathering(_)) if facts.gang.is_some() => {}
            Some(Place::Parked(_) | Place::Active | Place::Backoff) => {
                return lost("it is gated, and has its turn");
            }
            Some(Place::Gated | Place::Gathering(_)) => {
                return lost("its gates are lifted, and it is kept back");
            }
            Some(Place::Tried) => return lost("it was tried, and that came to nothing"),
            None => return lost("it waits, and is in no queue"),
        }
    }
    Ok(parked)
}

/// What is counted on every node is what its pods take, with the room that is kept for others.
fn check_usage(nodes: &[Looked<'_>], scheduler: &Scheduler) -> Result<(), Violation> {
    let catalog = scheduler.catalog();
    let numbers = numbers(scheduler);
    for Looked { facts, taken } in nodes {
        let missing = || Violation::Lost {
            pod: format!("node {}", facts.name),
            state: "the scheduler does not know it".to_owned(),
        };
        let node = catalog.find_node(&facts.name).ok_or_else(missing)?;
        let load: &Load = scheduler.usage().load(node);
        let fixed = [
            ("pods", load.pods, taken.pods),
            ("cpu", load.cpu, taken.of("cpu")),
            ("memory", load.memory, taken.of("memory")),
            ("ephemeral-storage", load.ephemeral, taken.of("ephemeral-storage")),
        ];
        let scalars = numbers.iter().map(|(name, id)| (&**name, load.scalar(*id), taken.of(name)));
        for (resource, counted, taken) in fixed.into_iter().chain(scalars) {
            if counted != taken {
                let (node, resource) = (facts.name.clone(), resource.to_owned());
                return Err(Violation::Miscounted { node, resource, counted, taken });
            }
        }
    }
    Ok(())
}

/// The scheduler's numbers of counted resources, as far as nodes and pods name any.
fn numbers(scheduler: &Scheduler) -> BTreeMap<String, ResourceId> {
    let catalog = scheduler.catalog();
    let offered = catalog.nodes().iter().flat_map(|node| &catalog.offer(*node).amounts.scalars);
    let requested = catalog
        .pods()
        .flat_map(|pod| &catalog.class(catalog.pod(pod).class).requests.charge.amounts.scalars);
    let ids: BTreeSet<ResourceId> = offered.chain(requested).map(|(id, _)| *id).collect();
    ids.into_iter().map(|id| (catalog.resource_name(id).to_owned(), id)).collect()
}
