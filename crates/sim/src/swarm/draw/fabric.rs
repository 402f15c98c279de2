//! A network between nodes, which one world in six has: racks, spines and what else is a level,
//! networks of every speed, and gangs that must be close to each other, had better be, or do not
//! care. Some nodes move while pods run.
//!
//! They have dice of their own and stand behind everything else, so that a seed keeps the nodes and
//! jobs it had without them.

use model::{
    Amounts, CoLocation, FabricTier, FabricWish, Millis, NodeFacts, PodGroupFacts, PodGroupKey,
    PodGroupKind, Time,
};

use super::gangs::driver;
use super::shapes::{job, range, some_time};
use super::{OTHER, OURS};
use crate::dice::{Dice, Stream};
use crate::plan::{Fate, Job, Membership, NodePlan, Plan, PodGroupPlan};
use crate::quantities::{amounts, requests_of};

/// How many of a hundred worlds have it.
const PERCENT: u64 = 16;
const RACK: &str = "topology.kubernetes.io/rack";
const SPINE: &str = "topology.kubernetes.io/spine";
/// Labels of the levels that are drawn, the widest first: what each is called mostly, what it may
/// be called too, and how many domains are in one of the next wider level.
const LEVELS: [(&str, &str, u64); 4] = [
    (SPINE, "network.kubenexus.io/spine-id", 2),
    (RACK, "network.kubenexus.io/rack-id", 3),
    ("topology.kubernetes.io/switch", "network.kubenexus.io/switch-id", 2),
    ("nvidia.com/gpu.clique", "gpu.kubenexus.io/clique", 2),
];
/// What is said of networks, some of which means nothing.
const NETWORKS: [&str; 8] =
    ["ethernet", "roce", "RoCE", "infiniband", "InfiniBand", "nvlink", "nvswitch", "token-ring"];
/// Levels that pods name, by what they are called or by a label.
const NAMES: [&str; 7] = ["clique", "switch", "rack", "rack", "spine", RACK, "zone"];

/// Adds to a plan what its seed has of it.
pub(super) fn add(plan: &mut Plan) {
    let mut dice = Dice::new(plan.seed, Stream::Fabric);
    if !dice.percent(PERCENT) {
        return;
    }
    // Where nobody else gives nodes more than they have, they keep what they have.
    let has_others = plan.faults.second_scheduler.is_some();
    let depth = dice.between(1, LEVELS.len() as u64) as usize;
    for number in 0..dice.between(2, 14) {
        let node = node(&mut dice, (number, depth), plan.span, has_others);
        plan.nodes.push(node);
    }
    for number in 0..dice.between(1, 7) {
        match dice.between(0, 9) {
            0 => composite(&mut dice, plan, number),
            1 => driven(&mut dice, plan, number),
            2 | 3 => alone(&mut dice, plan, number),
            _ => gang(&mut dice, plan, number, has_others),
        }
    }
}

// === Nodes ===

fn node(
    dice: &mut Dice,
    (number, depth): (u64, usize),
    span: Millis,
    has_others: bool,
) -> NodePlan {
    let facts = NodeFacts {
        name: format!("f{number}"),
        labels: labels(dice, depth),
        allocatable: allocatable(dice),
        pods_max: dice.pick(&[3, 110, 110]),
        ..NodeFacts::default()
    };
    let joins = if dice.percent(80) { 0 } else { dice.between(0, span.0 * 6 / 10) };
    let mut node = NodePlan { joins: Time(joins), ..NodePlan::new("fabric", facts) };
    let mut at = joins;
    for _ in 0..dice.pick(&[0, 0, 0, 1, 2, 3]) {
        at = dice.between(at, span.0);
        let fate = match dice.between(0, 7) {
            0 => Fate::Closes,
            1 => Fate::Opens,
            2 => Fate::Dies,
            3 => Fate::Returns,
            4 if has_others => {
                Fate::Resizes { allocatable: allocatable(dice), pods_max: dice.pick(&[2, 110]) }
            }
            5 => Fate::Drains,
            _ => Fate::Labels(labels(dice, depth)),
        };
        node.fates.push((Time(at), fate));
    }
    node
}

fn allocatable(dice: &mut Dice) -> Amounts<String> {
    amounts(dice.pick(&[1_000, 2_000, 2_000, 4_000]), 16_384, dice.pick(&[0, 0, 4]))
}

/// The labels of a place in a tree of so many levels. Domains inside different ones may be called
/// the same, and levels may be left out.
fn labels(dice: &mut Dice, depth: usize) -> Vec<(String, String)> {
    let mut labels = Vec::new();
    for (key, other, count) in &LEVELS[..depth] {
        let value = dice.between(0, count - 1).to_string();
        let key = if dice.percent(85) { key } else { other };
        if dice.percent(85) {
            labels.push(((*key).to_owned(), value));
        }
    }
    for key in ["network.kubenexus.io/fabric", "network.kubenexus.io/fabric-type"] {
        if dice.percent(45) {
            labels.push((key.to_owned(), dice.pick(&NETWORKS).to_owned()));
        }
    }
    if dice.percent(30) {
        let speed = dice.pick(&["100Gbps", "400", "fast"]).to_owned();
        labels.push(("network.kubenexus.io/bandwidth".to_owned(), speed));
    }
    labels
}

// === Pods ===

/// What pods say of the network.
fn wish(dice: &mut Dice) -> FabricWish {
    let tiers = FabricTier::WORDS.map(|(_, tier)| tier);
    let mut wish = FabricWish {
        min_tier: dice.percent(25).then(|| dice.pick(&tiers)),
        co_location: match dice.between(0, 9) {
            0..6 => CoLocation::Strict,
            6..9 => CoLocation::Preferred,
            _ => CoLocation::None,
        },
        level: dice.percent(85).then(|| dice.pick(&NAMES).into()),
        is_network_intensive: dice.pick(&[None, None, Some(true), Some(false)]),
        fault: None,
    };
    match dice.between(0, 24) {
        0 => wish.level = Some("row".into()),
        1 => wish = FabricWish { fault: Some("nonsense".into()), ..FabricWish::default() },
        _ => {}
    }
    wish
}

fn with(mut job: Job, wish: &FabricWish) -> Job {
    job.spec.fabric = (*wish != FabricWish::default()).then(|| Box::new(wish.clone()));
    job.spec.hints.get_or_insert_default().is_in_gang = job.gang.is_some();
    job.spec.hints = job.spec.hints.take().and_then(|hints| hints.if_any());
    job
}

/// Pods that take some of a node.
fn wanting(dice: &mut Dice, name: String, span: Millis) -> Job {
    let mut job = job(dice, name, span);
    let gpus = dice.pick(&[0, 0, 0, 0, 1, 2]);
    job.spec.requests = requests_of(amounts(dice.pick(&[250, 500, 1_000, 1_000, 2_000]), 16, gpus));
    job.spec.scheduler = dice.pick(&[OURS[0], OURS[1], OURS[1], OURS[1], OURS[1]]).to_owned();
    job.pods = dice.between(2, 8);
    job.priority = dice.pick(&[0, 0, 0, 5, 10]);
    job.runs = dice.percent(60).then(|| range(dice, 60_000));
    job
}

fn alone(dice: &mut Dice, plan: &mut Plan, number: u64) {
    let job = wanting(dice, format!("lone{number}"), plan.span);
    plan.jobs.push(with(job, &wish(dice)));
}

/// A gang, of which some pods may be others than the rest, and say something else.
fn gang(dice: &mut Dice, plan: &mut Plan, number: u64, has_others: bool) {
    let mut job = wanting(dice, format!("close{number}"), plan.span);
    let name: Box<str> = format!("f{number}").into();
    let partner = dice.percent(25).then(|| {
        let mut partner = wanting(dice, format!("near{number}"), plan.span);
        (partner.pods, partner.priority) = (dice.between(1, 3), job.priority);
        partner.spec.namespace.clone_from(&job.spec.namespace);
        if dice.percent(70) {
            (partner.spec.scheduler, partner.at) = (job.spec.scheduler.clone(), job.at);
        }
        partner
    });
    let size = job.pods + partner.as_ref().map_or(0, |partner| partner.pods);
    let min = if dice.percent(60) { size } else { dice.between(1, size) };
    let min = u32::try_from(min).unwrap_or(u32::MAX);
    let object = dice.percent(25).then_some(PodGroupKind::Native);
    let gang = Membership {
        gang: name.clone(),
        min: object.is_none().then_some(min),
        object,
        every: if dice.percent(20) { Millis(dice.between(1, 3_000)) } else { Millis(0) },
        is_bare: dice.percent(20),
        ..Membership::default()
    };
    if let Some(kind) = object {
        let topology = dice.percent(40).then(|| dice.pick(&[RACK, SPINE]));
        let facts = facts((kind, &job.spec.namespace, &name), min, topology, None);
        plan.pod_groups.push(shown(dice, facts, plan.span));
    }
    // One that is there already.
    if has_others && dice.percent(25) {
        let mut early = Job { pods: 1, name: format!("early{number}"), ..job.clone() };
        (early.node, early.gang) = (Some("f0".to_owned()), Some(gang.clone()));
        plan.jobs.push(with(early, &wish(dice)));
    }
    job.gang = Some(gang.clone());
    let said = wish(dice);
    if has_others && dice.percent(5) {
        job.spec.scheduler = OTHER.to_owned();
    }
    plan.jobs.push(with(job, &said));
    if let Some(mut partner) = partner {
        partner.gang = Some(Membership { every: Millis(0), ..gang });
        let other = if dice.percent(50) { said } else { wish(dice) };
        plan.jobs.push(with(partner, &other));
    }
}

/// A pod that makes others, which must be near it.
fn driven(dice: &mut Dice, plan: &mut Plan, number: u64) {
    let mut jobs = vec![wanting(dice, format!("driver{number}"), plan.span)];
    jobs[0].priority = 0;
    driver(dice, &mut jobs, 0, &format!("f{number}"));
    let wish = wish(dice);
    plan.jobs.extend(jobs.into_iter().map(|job| with(job, &wish)));
}

/// Two groups that start together, each in a rack or wherever it likes, and both below one spine.
fn composite(dice: &mut Dice, plan: &mut Plan, number: u64) {
    let (namespace, top) = (dice.pick(&["red", "blue"]), format!("fc{number}"));
    let topology = dice.percent(60).then_some(SPINE);
    let all = facts((PodGroupKind::Composite, namespace, &top), 2, topology, None);
    plan.pod_groups.push(shown(dice, all, plan.span));
    for part in ["a", "b"] {
        let name = format!("f{number}{part}");
        let mut job = wanting(dice, format!("part{number}{part}"), plan.span);
        job.spec.namespace = namespace.to_owned();
        (job.pods, job.priority) = (dice.between(1, 4), 0);
        let min = u32::try_from(job.pods).unwrap_or(u32::MAX);
        let topology = dice.percent(50).then_some(RACK);
        let facts = facts((PodGroupKind::Native, namespace, &name), min, topology, Some(&top));
        plan.pod_groups.push(shown(dice, facts, plan.span));
        let (gang, object) = (name.into(), Some(PodGroupKind::Native));
        job.gang = Some(Membership { gang, object, ..Membership::default() });
        plan.jobs.push(with(job, &wish(dice)));
    }
}

fn facts(
    (kind, namespace, name): (PodGroupKind, &str, &str),
    min: u32,
    topology: Option<&str>,
    parent: Option<&str>,
) -> PodGroupFacts {
    PodGroupFacts {
        key: PodGroupKey { kind, namespace: namespace.into(), name: name.into() },
        mins: [("".into(), min)].into(),
        timeout: None,
        priority: None,
        topology: topology.into_iter().map(Into::into).collect(),
        is_evicted_whole: false,
        parent: parent.map(Into::into),
        is_started: false,
        min_resources: Amounts::default(),
    }
}

fn shown(dice: &mut Dice, facts: PodGroupFacts, span: Millis) -> PodGroupPlan {
    PodGroupPlan { facts, at: some_time(dice, span), deleted: None, later: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_wanted_of_networks_is_drawn() {
        let plans: Vec<Plan> = (1..=500).map(super::super::plan).collect();
        let count = |is_there: &dyn Fn(&Plan) -> bool| plans.iter().filter(|p| is_there(p)).count();
        let wants = |is_it: &dyn Fn(&Job, &FabricWish) -> bool| {
            let is_it = |job: &Job| job.spec.fabric.as_ref().is_some_and(|wish| is_it(job, wish));
            count(&|plan| plan.jobs.iter().any(is_it))
        };
        let worlds = count(&|plan| plan.nodes.iter().any(|node| &*node.pool == "fabric"));
        assert!((50..=110).contains(&worlds), "{worlds}");
        let is_strict = |wish: &FabricWish| wish.co_location == CoLocation::Strict;
        assert!(wants(&|job, wish| job.gang.is_some() && is_strict(wish)) > 30, "strict gangs");
        let prefers = |wish: &FabricWish| wish.co_location == CoLocation::Preferred;
        assert!(wants(&|job, wish| job.gang.is_some() && prefers(wish)) > 20, "others");
        assert!(wants(&|_, wish| wish.min_tier.is_some()) > 30, "fast networks");
        assert!(wants(&|_, wish| wish.fault.is_some()) > 5, "nonsense");
        assert!(wants(&|_, wish| wish.level.as_deref() == Some("row")) > 5, "no level");
        let moves = |node: &NodePlan| {
            let is_it = |(_, fate): &(Time, Fate)| matches!(fate, Fate::Labels(_));
            &*node.pool == "fabric" && node.fates.iter().any(is_it)
        };
        assert!(count(&|plan| plan.nodes.iter().any(moves)) > 20, "nodes that move");
        let is_top = |group: &PodGroupPlan| group.facts.key.name.starts_with("fc");
        assert!(count(&|plan| plan.pod_groups.iter().any(is_top)) > 10, "gangs of gangs");
        assert!(wants(&|job, _| job.name.starts_with("driver")) > 10, "drivers");
        assert!(count(&|plan| plan.jobs.iter().any(|job| job.name.starts_with("early"))) > 2);
    }
}
