//! When faults are off: everything that fits must be placed, and what waits must say why.
//!
//! First the world comes to rest; whoever waits then waits because no node takes him. Then five
//! minutes pass in which nothing happens, after which everybody who waits has been tried again:
//! that must not place anyone, and what they are told is held against the plain rules.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{Diagnosis, Millis, PodFacts};

use super::{Failure, go};
use crate::checkers::company::{self, Scene};
use crate::checkers::{
    Gang, GangKey, Kinds, Spot, check_told, gang_of, helps, is_ready, rules, takes_one,
    waits_with_others, witness,
};
use crate::run::{Replica, Run};
use crate::world::{Phase, PodRecord};

/// How long a world may take to come to rest, in steps: volumes may be long in coming.
const RESTS: (u64, Millis) = (400, Millis::seconds(5));
/// After this, everything parked was tried again.
const EVERYBODY_TRIED: Millis = Millis::seconds(330);

pub(super) fn check(run: &mut Run) -> Result<(), Failure> {
    run.calm_down();
    come_to_rest(run)?;
    let leader = run.leader().expect("a world at rest has a leader");
    check_waits_rightly(run, leader)?;
    // A node took such a pod when it was last tried, and does not any more. Nothing wakes it, but
    // when it is tried again it may have others evicted.
    let is_odd = |pod: &PodRecord| {
        let job = run.world().job(pod.job);
        rules::cannot_be_ranked(&job.spec) && !job.life.is_modest
    };
    let has_odd = waiting(run).any(is_odd);
    let lucky = lucky(run, leader);
    let (rest, before) = (run.progress().now, *run.tally());
    run.prolong(EVERYBODY_TRIED);
    go(run)?;
    if run.tally().preemptions != before.preemptions {
        let text = "pods were evicted only because five minutes had passed".to_owned();
        return if has_odd { Ok(()) } else { Err(Failure::stuck(run, text)) };
    }
    if run.tally().bindings != before.bindings {
        let still: BTreeSet<&str> = waiting(run).map(|pod| &*pod.key.uid).collect();
        if lucky.iter().any(|uid| !still.contains(&**uid)) {
            return Ok(());
        }
        let text = "a pod was placed only because five minutes had passed".to_owned();
        return Err(Failure::stuck(run, text));
    }
    let leader = run.leader().expect("a world at rest has a leader");
    let mut kinds: Kinds<'_, &Arc<Diagnosis>> = Kinds::new(&leader.ledger);
    for pod in waiting(run) {
        let told = pod.condition.as_ref().filter(|_| pod.told >= Some(rest));
        let Some(told) = told else {
            let text = format!("pod {} waits, and was not told why", pod.key.name);
            return Err(Failure::stuck(run, text));
        };
        let facts = known(run, leader, pod)?;
        // Those who are alike are mostly told the same.
        if kinds.find(facts) != Some(&told) {
            check_told(&leader.ledger, leader.scheduler.catalog(), facts, told)
                .map_err(|violation| Failure::wrong(run, &violation))?;
            kinds.set(facts, told);
        }
    }
    Ok(())
}

/// Pods of gangs that may fit when they are tried again, though nothing wakes them.
fn lucky(run: &Run, leader: &Replica) -> Vec<Box<str>> {
    let mut gangs: BTreeMap<GangKey, bool> = BTreeMap::new();
    let mut may_be = |pod: &&PodRecord| {
        let facts = leader.ledger.pod(&pod.key.uid).map(|known| known.facts());
        facts.and_then(gang_of).is_some_and(|key| {
            let find = || Gang::of(&leader.ledger, &key).may_be_lucky();
            *gangs.entry(key.clone()).or_insert_with(find)
        })
    };
    waiting(run).filter(|pod| may_be(pod)).map(|pod| pod.key.uid.clone()).collect()
}

fn come_to_rest(run: &mut Run) -> Result<(), Failure> {
    let (steps, step) = RESTS;
    for _ in 0..steps {
        run.prolong(step);
        go(run)?;
        if run.is_quiet() {
            return Ok(());
        }
    }
    Err(Failure::stuck(run, "the world does not come to rest".to_owned()))
}

/// Pods that our scheduler has to place, or to explain, as the API has them.
fn waiting(run: &Run) -> impl Iterator<Item = &PodRecord> {
    let world = run.world();
    let is_waiting = |pod: &PodRecord| match pod.phase {
        Phase::Waiting | Phase::Ordered(_) => true,
        Phase::Running(_) | Phase::Finished | Phase::Evicted | Phase::Deleted => false,
    };
    world.pods().map(|(_, pod)| pod).filter(move |pod| {
        is_waiting(pod) && world.is_ours(pod.job) && !pod.is_gated && !pod.is_terminating
    })
}

/// What the leader was told of a pod that waits.
fn known<'a>(run: &Run, leader: &'a Replica, pod: &PodRecord) -> Result<&'a PodFacts, Failure> {
    let known = leader.ledger.pod(&pod.key.uid);
    let stuck = |what: &str| Failure::stuck(run, format!("pod {} waits, and {what}", pod.key.name));
    match known.map(|known| (&known.spot, known.facts())) {
        Some((Spot::Waiting, facts)) => Ok(facts),
        Some((Spot::Assumed(node, _), _)) => {
            Err(stuck(&format!("the leader has sent it to {node} and leaves it at that")))
        }
        Some((Spot::Bound(node), _)) => Err(stuck(&format!("the leader believes it on {node}"))),
        None => Err(stuck("the leader was never shown it")),
    }
}

/// Everybody who waits does so because no node takes him.
fn check_waits_rightly(run: &Run, leader: &Replica) -> Result<(), Failure> {
    let (scene, mut kinds) = (Scene::of(&leader.ledger), Kinds::new(&leader.ledger));
    for pod in waiting(run) {
        let facts = known(run, leader, pod)?;
        if kinds.find(facts).is_none() {
            check_one_waits_rightly(run, leader, &scene, facts)?;
            kinds.set(facts, ());
        }
    }
    Ok(())
}

fn check_one_waits_rightly<'a>(
    run: &Run,
    leader: &'a Replica,
    scene: &Scene<'a>,
    facts: &PodFacts,
) -> Result<(), Failure> {
    if let Some(key) = gang_of(facts) {
        let gang = Gang::of(&leader.ledger, &key);
        return check_gang_waits_rightly(run, leader, scene, &gang, facts);
    }
    if !leader.ledger.may_be_placed(facts) || rules::cannot_be_ranked(&facts.spec) {
        return Ok(());
    }
    let mut nodes = leader.ledger.nodes();
    let takes = nodes.find(|(node, _)| company::surely_takes(scene, facts, node));
    if let Some((node, _)) = takes {
        let text = format!("pod {} waits, but node {} takes it", facts.key.name, node.name);
        return Err(Failure::stuck(run, text));
    }
    let Some(node) = helps(&leader.ledger, facts) else { return Ok(()) };
    let text = format!("pod {} waits, but evicting would help on {node}", facts.key.name);
    Err(Failure::stuck(run, text))
}

fn check_gang_waits_rightly<'a>(
    run: &Run,
    leader: &'a Replica,
    scene: &Scene<'a>,
    gang: &Gang<'_>,
    pod: &PodFacts,
) -> Result<(), Failure> {
    let (ledger, name) = (&leader.ledger, &gang.key.1);
    if let Some(waits) = waits_with_others(ledger, gang) {
        let Some(place) = waits else { return Ok(()) };
        let text = format!("gang {name} waits, but it fits with others: {place}");
        return Err(Failure::stuck(run, text));
    }
    if gang.is_whole() {
        let Some(node) = takes_one(ledger, scene, gang, pod) else { return Ok(()) };
        let text = format!("pod {} of gang {name} waits, but {node} takes it", pod.key.name);
        return Err(Failure::stuck(run, text));
    }
    let is_odd = gang.waiting().any(|known| rules::cannot_be_ranked(&known.facts().spec));
    if is_odd || !is_ready(ledger, gang) {
        return Ok(());
    }
    let Some(places) = witness(ledger, gang) else { return Ok(()) };
    let text = format!("gang {name} waits, but it fits: {}", places.join(", "));
    Err(Failure::stuck(run, text))
}
