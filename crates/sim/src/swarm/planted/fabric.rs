//! Bugs about the network between nodes: gangs that are torn apart, pods on networks that are too
//! slow, and what is told of both.

use model::{CoLocation, Event, FabricTier, FabricWish, Fact, NodeFacts, PodFacts};

use super::{Alters, FailureKind, Saboteur, World, caught, check, run};
use crate::plan::{Membership, NodePlan, Plan};
use crate::quantities::requests;

const RACK: &str = "topology.kubernetes.io/rack";
const ZONE: &str = "topology.kubernetes.io/zone";
const NETWORK: &str = "network.kubenexus.io/fabric";

/// Nodes of two CPUs with these labels, and pods of our own profile that take a CPU each and say
/// this.
fn plan(nodes: &[&[(&str, &str)]], pods: u64, wish: FabricWish) -> Plan {
    let mut plan = super::plan();
    let template = plan.nodes[0].facts.clone();
    let named = |(at, labels): (usize, &&[(&str, &str)])| {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let (name, labels) = (format!("n{at}"), labels.collect());
        NodePlan::new("pool", NodeFacts { name, labels, ..template.clone() })
    };
    plan.nodes = nodes.iter().enumerate().map(named).collect();
    let job = &mut plan.jobs[0];
    job.pods = pods;
    job.spec.scheduler = "kubenexus-scheduler".to_owned();
    job.spec.fabric = (wish != FabricWish::default()).then(|| Box::new(wish));
    plan
}

/// The same as a gang that starts whole.
fn gang(nodes: &[&[(&str, &str)]], pods: u64, wish: FabricWish) -> Plan {
    let mut plan = plan(nodes, pods, wish);
    let min = u32::try_from(pods).ok();
    let job = &mut plan.jobs[0];
    job.gang = Some(Membership { gang: "g".into(), min, ..Membership::default() });
    job.spec.hints.get_or_insert_default().is_in_gang = true;
    plan
}

fn strict(level: &str) -> FabricWish {
    let (co_location, level) = (CoLocation::Strict, Some(level.into()));
    FabricWish { co_location, level, ..FabricWish::default() }
}

fn fast() -> FabricWish {
    FabricWish { min_tier: Some(FabricTier::Infiniband), ..FabricWish::default() }
}

/// Two racks of two nodes each.
const RACKS: [&[(&str, &str)]; 4] =
    [&[(RACK, "r1")], &[(RACK, "r1")], &[(RACK, "r2")], &[(RACK, "r2")]];

/// Changes what the engine sees of pods.
fn on_pods(mut change: impl FnMut(&mut PodFacts)) -> impl Saboteur {
    Alters(move |event: &mut Event| {
        if let Event::Seen(Fact::Pod(facts)) = event {
            change(facts);
        }
        true
    })
}

/// Changes what the engine sees of nodes.
fn on_nodes(mut change: impl FnMut(&mut NodeFacts)) -> impl Saboteur {
    Alters(move |event: &mut Event| {
        if let Event::Seen(Fact::Node(facts)) = event {
            change(facts);
        }
        true
    })
}

fn found(plan: Plan, saboteur: impl Saboteur + 'static, words: &str) {
    check(&caught(plan, saboteur), FailureKind::Wrong, words);
}

#[test]
fn nobody_is_accused_where_nothing_is_planted() {
    let honest = || Alters(|_: &mut Event| true);
    let invalid = || FabricWish { fault: Some("nonsense".into()), ..FabricWish::default() };
    let slow: [&[(&str, &str)]; 2] = [&[(NETWORK, "roce")], &[(NETWORK, "InfiniBand")]];
    for plan in [
        gang(&RACKS, 4, strict("rack")),
        gang(&RACKS, 5, strict("rack")),
        gang(&RACKS, 5, FabricWish::default()),
        gang(&RACKS, 2, strict("spine")),
        gang(&RACKS, 2, strict("row")),
        plan(&slow, 3, fast()),
        gang(&slow, 3, fast()),
        plan(&slow, 1, invalid()),
    ] {
        let said = format!("{:?} of {}", plan.jobs[0].spec.fabric, plan.jobs[0].pods);
        assert_eq!(run(plan, honest()), Ok(()), "{said}");
    }
}

#[test]
fn a_gang_in_two_racks_is_caught() {
    let wider = on_pods(|facts| facts.spec.fabric = None);
    found(gang(&RACKS, 5, strict("rack")), wider, "sent to");
    // One pod is sent to another node than was decided.
    struct Elsewhere(usize);
    impl Saboteur for Elsewhere {
        fn order(&mut self, uid: &str, node: &str, _: &World) -> Vec<(Box<str>, Box<str>)> {
            self.0 += 1;
            let other = if ["n0", "n1"].contains(&node) { "n3" } else { "n0" };
            vec![(uid.into(), if self.0 == 1 { other.into() } else { node.into() })]
        }
    }
    found(gang(&RACKS, 3, strict("rack")), Elsewhere(0), "sent to");
}

#[test]
fn racks_that_only_share_their_name_are_caught() {
    let nodes: [&[(&str, &str)]; 2] =
        [&[(RACK, "r1"), (ZONE, "east")], &[(RACK, "r1"), (ZONE, "west")]];
    let blind = on_nodes(|facts| facts.labels.retain(|(key, _)| key != ZONE));
    found(gang(&nodes, 3, strict("rack")), blind, "sent to");
}

#[test]
fn a_gang_in_no_rack_is_caught() {
    let labelled = on_nodes(|facts| facts.labels = vec![(RACK.to_owned(), "r1".to_owned())]);
    found(gang(&[&[], &[]], 3, strict("rack")), labelled, "sent to");
}

#[test]
fn a_rack_that_holds_a_gang_and_is_not_seen_is_caught() {
    let torn = on_nodes(|facts| {
        let name = facts.name.clone();
        facts.labels.iter_mut().for_each(|(_, value)| value.clone_from(&name));
    });
    let failure = caught(gang(&RACKS, 4, strict("rack")), torn);
    check(&failure, FailureKind::Wrong, "gang g is parked, but");
}

#[test]
fn a_network_that_is_too_slow_is_caught() {
    for wanting in [plan, gang] {
        let ignored = on_pods(|facts| facts.spec.fabric = None);
        found(wanting(&[&[(NETWORK, "roce")]], 1, fast()), ignored, "slower than it asks for");
        let ignored = on_pods(|facts| facts.spec.fabric = None);
        found(wanting(&[&[]], 1, fast()), ignored, "slower than it asks for");
    }
    // NVLink inside a node is of use to those who are alone, and to nobody else.
    let inside: [&[(&str, &str)]; 1] = [&[(NETWORK, "nvlink")]];
    assert_eq!(run(plan(&inside, 2, fast()), Alters(|_: &mut Event| true)), Ok(()));
    let alone = on_pods(|facts| facts.spec.hints = None);
    found(gang(&inside, 2, fast()), alone, "slower than it asks for");
}

#[test]
fn a_fast_network_that_is_not_seen_is_caught() {
    let blind = on_nodes(|facts| facts.labels.clear());
    found(plan(&[&[(NETWORK, "infiniband")]], 1, fast()), blind, "but node n0 takes it");
}

#[test]
fn a_slow_network_that_is_called_full_is_caught() {
    let full = on_nodes(|facts| facts.allocatable.cpu = 0);
    found(plan(&[&[(NETWORK, "roce")]], 1, fast()), full, "was told of 1 nodes");
}

#[test]
fn nonsense_that_is_ignored_or_invented_is_caught() {
    let nonsense = FabricWish { fault: Some("nonsense".into()), ..FabricWish::default() };
    for wish in [nonsense.clone(), strict("row")] {
        let ignored = on_pods(|facts| facts.spec.fabric = None);
        found(plan(&[&[]], 1, wish), ignored, "what it says of the network makes no sense");
    }
    let invented = on_pods(move |facts| facts.spec.fabric = Some(Box::new(nonsense.clone())));
    let mut large = plan(&[&[]], 1, FabricWish::default());
    large.jobs[0].spec.requests = requests(64_000, 64, 0);
    found(large, invented, "was told of 1 nodes");
}
