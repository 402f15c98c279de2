//! Gangs, held against the plain rules: nothing partial is decided, nothing partial lasts, room is
//! only kept for pods that are to come, and a gang that fits does not wait.

use std::collections::{BTreeMap, BTreeSet};

use model::{Millis, NodeFacts, PodFacts, Time};

use super::Violation;
use super::company::{self, Scene};
use super::fabric::Bounds;
use super::kinds::Kinds;
use super::ledger::{Known, Ledger, Place};
use super::members::makes_others;
use super::roster::{Gang, GangKey, gang_of};
use super::trees::{Top, Tree};

/// For how long a gang may be incomplete if nobody says otherwise, and how much longer it may take
/// until somebody notices.
const PERMITTED: Millis = Millis::seconds(10);
const NOTICED: Millis = Millis(1_000);

fn wrong(key: &GangKey, why: String) -> Violation {
    Violation::Gang { gang: format!("{}/{}", key.0, key.1), why }
}

/// Checks pods that are sent to nodes in one step: a gang goes whole, or it has started before.
pub(crate) fn check_whole(ledger: &Ledger, sent: &[Box<str>]) -> Result<(), Violation> {
    let mut gangs: BTreeMap<GangKey, Vec<&Known>> = BTreeMap::new();
    for known in sent.iter().filter_map(|uid| ledger.pod(uid)) {
        if let Some(key) = gang_of(known.facts()) {
            gangs.entry(key).or_default().push(known);
        }
    }
    for (key, sent) in gangs {
        let gang = Gang::of(ledger, &key);
        if let Err(troubles) = &gang.terms {
            return Err(wrong(&key, format!("pods are sent to nodes, but {troubles:?}")));
        }
        if !gang.is_reached && !gang.is_whole() {
            let (placed, min) = (gang.placed(), gang.min());
            let why = format!("{} are sent, {placed} of {min:?} would be on nodes", sent.len());
            return Err(wrong(&key, why));
        }
        check_tree(ledger, &gang)?;
        check_domain(ledger, &gang, &sent)?;
    }
    Ok(())
}

/// A gang that is a part of another goes with enough others, or that one has started before.
fn check_tree(ledger: &Ledger, gang: &Gang<'_>) -> Result<(), Violation> {
    let Top::Composite(root) = &gang.top else { return Ok(()) };
    let roster = ledger.roster();
    if roster.reached.contains(root) || roster.blurred.contains(root) {
        return Ok(());
    }
    let Some(tree) = Tree::around(ledger, gang) else { return Ok(()) };
    Err(wrong(&gang.key, format!("pods are sent to nodes, but not enough parts of {}", tree.name)))
}

/// All pods of a gang go where those are that it has, if it has to stay together.
fn check_domain(ledger: &Ledger, gang: &Gang<'_>, sent: &[&Known]) -> Result<(), Violation> {
    let bounds = Bounds::of(ledger, gang);
    if gang.terms.is_err() || bounds.is_anything() {
        return Ok(());
    }
    let domain = |known: &Known| Some(bounds.values(ledger.node(known.spot.node()?)?.0));
    let is_sent = |known: &&Known| sent.iter().any(|one| std::ptr::eq(*one, *known));
    let others: Vec<_> = gang.pods().filter(|known| !is_sent(known)).filter_map(domain).collect();
    let ours: Vec<_> = sent.iter().filter_map(|known| domain(known)).collect();
    let is_one = |domains: &[Domain<'_>]| domains.windows(2).all(|two| two[0] == two[1]);
    let has_left = others.first().is_some_and(|first| ours.first() != Some(first));
    // Nodes that changed their labels may have torn a gang apart, and then nothing is left to keep.
    if !is_one(&ours) || (is_one(&others) && has_left) || ours.iter().any(Option::is_none) {
        return Err(wrong(&gang.key, format!("sent to {ours:?}, the others are in {others:?}")));
    }
    Ok(())
}

/// What the node of a pod has of what the nodes of its gang must have in common; nothing if it
/// lacks some.
type Domain<'a> = Option<Vec<Option<&'a str>>>;

/// Checks pods that are taken back: only from a gang that is not complete and never was, and only
/// those that somebody makes again.
pub(crate) fn check_disband(
    ledger: &Ledger,
    key: &GangKey,
    evicted: &[Box<str>],
    bare: &[Box<str>],
) -> Result<(), Violation> {
    if !ledger.roster().is_gang(key) {
        return check_disband_tree(ledger, key, evicted);
    }
    let gang = Gang::of(ledger, key);
    if gang.is_surely_reached || gang.is_up() {
        return Err(wrong(key, "pods are taken back, though it has started".to_owned()));
    }
    for (uid, is_remade) in
        evicted.iter().map(|uid| (uid, true)).chain(bare.iter().map(|uid| (uid, false)))
    {
        let known = gang.bound().find(|known| known.facts().key.uid == *uid);
        let is_right = known.is_some_and(|known| {
            known.facts().rest.is_remade == is_remade && !(is_remade && known.is_leaving())
        });
        if !is_right {
            return Err(wrong(key, format!("{uid} is taken back, or reported, and must not be")));
        }
    }
    Ok(())
}

fn check_disband_tree(
    ledger: &Ledger,
    key: &GangKey,
    evicted: &[Box<str>],
) -> Result<(), Violation> {
    let tree = Tree::of(ledger, key);
    let Some(tree) = tree.filter(|_| !ledger.roster().blurred.contains(key)) else { return Ok(()) };
    if ledger.roster().reached.contains(key) || tree.is_up() {
        return Err(wrong(key, "pods are taken back, though it has started".to_owned()));
    }
    let all = tree.gangs();
    for uid in evicted {
        let mut bound = all.iter().flat_map(|gang| gang.bound());
        let known = bound.find(|known| known.facts().key.uid == *uid);
        if !known.is_some_and(|known| known.facts().rest.is_remade && !known.is_leaving()) {
            return Err(wrong(key, format!("{uid} is taken back, and must not be")));
        }
    }
    Ok(())
}

/// Checks that room is only kept for pods that are to come.
pub(crate) fn check_seats(ledger: &Ledger) -> Result<(), Violation> {
    let keys: BTreeSet<&GangKey> = ledger.seats().iter().map(|seat| &seat.gang).collect();
    for key in keys {
        let gang = Gang::of(ledger, key);
        let most = gang.seats_max();
        if gang.seats > most {
            let why = format!("room is kept for {} pods, and {most} are to come", gang.seats);
            return Err(wrong(key, why));
        }
    }
    Ok(())
}

/// How long gangs have been incomplete, while somebody could have done something about it.
#[derive(Default)]
pub(crate) struct Patience {
    seen: Time,
    /// For how long, and since which opening.
    waited: BTreeMap<GangKey, (u64, Millis)>,
    /// Gangs that were incomplete when they were last looked at.
    counted: Vec<GangKey>,
}

impl Patience {
    /// Looks at all gangs. Time counts if the scheduler can act.
    pub(crate) fn check(
        &mut self,
        ledger: &Ledger,
        now: Time,
        is_able: bool,
    ) -> Result<(), Violation> {
        let passed = Millis(now.0 - self.seen.0);
        self.seen = now;
        for key in std::mem::take(&mut self.counted) {
            let waited = self.waited.get_mut(&key);
            let (_, waited) = waited.expect("what is counted is looked at");
            *waited = Millis(waited.0 + passed.0);
        }
        let mut waited = BTreeMap::new();
        for (gang, opened) in ledger.open_gangs() {
            let key = &gang.key;
            let (true, Some(allowed)) = (is_partial(&gang), allowed(&gang)) else { continue };
            // It may have had no pod on a node in between, within one moment.
            let so_far = self.waited.get(key).filter(|(since, _)| *since == opened);
            let so_far = so_far.map_or(Millis(0), |(_, so_far)| *so_far);
            if so_far > allowed {
                let (bound, min) = (gang.members.bound.len(), gang.min());
                let why = format!("{bound} of {min:?} were on nodes for {} ms", so_far.0);
                return Err(wrong(key, why));
            }
            // What is on its way may complete it.
            if is_able && !gang.is_whole() {
                self.counted.push(key.clone());
            }
            waited.insert(key.clone(), (opened, so_far));
        }
        for (tree, key, opened) in ledger.open_trees().filter(|(tree, ..)| is_partial_tree(tree)) {
            let so_far = self.waited.get(key).filter(|(since, _)| *since == opened);
            let so_far = so_far.map_or(Millis(0), |(_, so_far)| *so_far);
            if so_far.0 > PERMITTED.0 + NOTICED.0 {
                let why = format!("not enough parts were on nodes for {} ms", so_far.0);
                return Err(wrong(key, why));
            }
            if is_able && !tree.is_whole() {
                self.counted.push(key.clone());
            }
            waited.insert(key.clone(), (opened, so_far));
        }
        self.waited = waited;
        Ok(())
    }
}

fn allowed(gang: &Gang<'_>) -> Option<Millis> {
    let terms = gang.terms.as_ref().ok()?;
    Some(Millis(terms.timeout_ms.unwrap_or(PERMITTED.0) + NOTICED.0))
}

/// Whether a gang that never had enough pods on nodes has some there that could be taken back.
pub(crate) fn is_partial(gang: &Gang<'_>) -> bool {
    let could_go = |known: &Known| known.facts().rest.is_remade && !known.is_leaving();
    gang.min().is_some() && !gang.is_reached && !gang.is_up() && gang.bound().any(could_go)
}

/// The same of a gang of gangs.
pub(crate) fn is_partial_tree(tree: &Tree<'_>) -> bool {
    let could_go = |known: &Known| known.facts().rest.is_remade && !known.is_leaving();
    let is_clear = tree.gangs().iter().all(|gang| gang.terms.is_ok());
    is_clear && !tree.is_up() && tree.gangs().iter().any(|gang| gang.bound().any(could_go))
}

/// Whether nothing but a lack of room keeps a gang from being placed.
pub(crate) fn is_ready(ledger: &Ledger, gang: &Gang<'_>) -> bool {
    let Ok(terms) = &gang.terms else { return false };
    (gang.is_surely_reached || gang.members.count() + gang.missing() >= terms.min)
        && gang.waiting().all(|known| ledger.may_be_placed(known.facts()))
        && may_begin(ledger, gang)
}

/// Whether all gangs are over that a gang has to wait for, and all nodes together have free what it
/// asks for.
pub(crate) fn may_begin(ledger: &Ledger, gang: &Gang<'_>) -> bool {
    let Ok(terms) = &gang.terms else { return false };
    let mut after = terms.after.iter();
    let has_enough = || {
        let mut asked = terms.min_resources.named();
        asked.all(|(resource, asked)| free(ledger, resource, true) >= asked)
    };
    gang.placed() > 0
        || after.all(|name| ledger.is_gang_over(&gang.key.0, name))
            && (gang.is_surely_reached || has_enough())
}

/// How much of a resource is free on all nodes together; room that is kept is not, if that counts.
pub(super) fn free(ledger: &Ledger, resource: &str, counts_seats: bool) -> i64 {
    let left = |(node, place): (&NodeFacts, &Place)| {
        let offered = node.allocatable.named().find(|(name, _)| *name == resource);
        let taken = if counts_seats { place.taken() } else { place.taken_by_pods() };
        (offered.map_or(0, |(_, amount)| amount) - taken.of(resource)).max(0)
    };
    ledger.nodes().map(left).sum()
}

/// Checks that a gang may begin, before its first pod is sent to a node. Room may be kept for
/// others in the same step, so that it does not count.
pub(crate) fn check_begin(ledger: &Ledger, facts: &PodFacts) -> Result<(), Violation> {
    let Some(key) = gang_of(facts) else { return Ok(()) };
    let gang = Gang::of(ledger, &key);
    let Ok(terms) = &gang.terms else { return Ok(()) };
    let early = terms.after.iter().find(|name| !ledger.is_gang_over(&key.0, name));
    if let Some(name) = early.filter(|_| gang.placed() == 0) {
        return Err(wrong(&key, format!("it begins, and gang {name} has not succeeded")));
    }
    if gang.is_reached || gang.placed() > 0 {
        return Ok(());
    }
    for (resource, asked) in terms.min_resources.named() {
        let free = free(ledger, resource, false);
        if free < asked {
            let why = format!("it begins with {free} of {resource} free, and asks for {asked}");
            return Err(wrong(&key, why));
        }
    }
    Ok(())
}

/// Places for all pods that a gang needs, if a simple search finds any: the largest first, each on
/// the first node that takes it.
pub(crate) fn witness(ledger: &Ledger, gang: &Gang<'_>) -> Option<Vec<String>> {
    // Room for pods that do not exist is not looked for.
    if gang.terms.is_err() || gang.missing() > 0 || gang.may_be_lucky() {
        return None;
    }
    let mut pods: Vec<&PodFacts> = gang.waiting().map(Known::facts).collect();
    let needed = gang.min()?.saturating_sub(gang.placed()).min(pods.len());
    pods.sort_by_cached_key(|facts| {
        let fit = &facts.spec.requests.fit;
        (std::cmp::Reverse((fit.cpu, fit.memory)), facts.key.name.clone())
    });
    domains(ledger, gang, &Bounds::of(ledger, gang)).iter().find_map(|nodes| {
        let mut scene = Scene::of(ledger);
        let mut places = Vec::new();
        let mut kinds: Kinds<'_, usize> = Kinds::new(ledger);
        for pod in &pods {
            // What was full for one like it is still full.
            let passed = kinds.find(pod).filter(|_| only_gets_fuller(pod));
            let mut left = nodes.iter().enumerate().skip(passed.copied().unwrap_or(0));
            let takes = |node: &NodeFacts| company::surely_takes(&scene, pod, node);
            let found = left.find(|(_, node)| takes(node));
            kinds.set(pod, found.map_or(nodes.len(), |(at, _)| at));
            if let Some((_, node)) = found {
                places.push(format!("{} on {}", pod.key.name, node.name));
                scene.add(node, pod);
            } else if makes_others(pod) {
                // While a driver waits, the others do not go without it.
                return None;
            }
        }
        (places.len() >= needed && needed > 0).then_some(places)
    })
}

/// Whether nodes that do not take a pod do not either when others have come to nodes.
fn only_gets_fuller(pod: &PodFacts) -> bool {
    pod.spec.near.is_empty() && !pod.spec.spread.iter().any(|spread| spread.is_required)
}

/// The sets of nodes that a gang may be on.
pub(super) fn domains<'a>(
    ledger: &'a Ledger,
    gang: &Gang<'_>,
    bounds: &Bounds<'_>,
) -> Vec<Vec<&'a NodeFacts>> {
    let mut domains = all_domains(ledger, bounds);
    for own in values_of_pods(ledger, gang, bounds) {
        // A gang that was torn apart is everywhere at once, which leaves nothing.
        domains.retain(|values, _| Some(values) == own.as_ref());
    }
    domains.into_values().collect()
}

/// The domains in which a gang has pods.
pub(super) fn pieces<'a>(
    ledger: &'a Ledger,
    gang: &Gang<'_>,
    bounds: &Bounds<'_>,
) -> Vec<Vec<&'a NodeFacts>> {
    let mut domains = all_domains(ledger, bounds);
    let own = values_of_pods(ledger, gang, bounds);
    domains.retain(|values, _| own.iter().any(|own| own.as_ref() == Some(values)));
    domains.into_values().collect()
}

/// Nodes by what they have in common. Where nothing is asked for all nodes are one domain.
fn all_domains<'a>(
    ledger: &'a Ledger,
    bounds: &Bounds<'_>,
) -> BTreeMap<Vec<Option<&'a str>>, Vec<&'a NodeFacts>> {
    let mut nodes: Vec<&NodeFacts> = ledger.nodes().map(|(node, _)| node).collect();
    nodes.sort_by(|one, other| one.name.cmp(&other.name));
    let mut domains: BTreeMap<Vec<Option<&str>>, Vec<&NodeFacts>> = BTreeMap::new();
    for node in nodes {
        if let Some(values) = bounds.values(node) {
            domains.entry(values).or_default().push(node);
        }
    }
    domains
}

/// In which domains the pods of a gang are that are on nodes; none for nodes in no domain.
fn values_of_pods<'a>(ledger: &'a Ledger, gang: &Gang<'_>, bounds: &Bounds<'_>) -> Vec<Domain<'a>> {
    // Where nothing is asked of nodes, all of them will do.
    let nodes = gang.placed_pods().filter(|_| !bounds.is_anything());
    let nodes = nodes.filter_map(|known| ledger.node(known.spot.node()?));
    nodes.map(|(node, _)| bounds.values(node)).collect()
}
