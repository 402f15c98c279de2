//! Services, which one world in four has: zones and racks on nodes, services and ReplicaSets whose
//! pods come, go and are made again, and some that say whether they are to be spread.
//!
//! They have dice of their own. Nodes and jobs that are there get zones, and mostly lose what
//! speaks for nodes in other ways.

use model::{
    Effect, GroupingFacts, GroupingKey, GroupingKind, Hints, LabelOperator, LabelSelector, Millis,
    Owner, RequirementSpec, Said,
};

use super::shapes::{job, range};
use super::{IMAGES, MIB, OURS};
use crate::dice::{Dice, Stream};
use crate::plan::{Job, Keeper, Plan};
use crate::quantities::requests;

/// How many of a hundred worlds have them.
const PERCENT: u64 = 25;
const ZONE: &str = "topology.kubernetes.io/zone";
const ZONES: [Option<&str>; 5] = [Some("a"), Some("a"), Some("b"), Some("c"), None];
const RACKS: [&str; 2] = ["topology.kubernetes.io/rack", "network.kubenexus.io/rack-id"];
const APPS: [&str; 3] = ["front", "back", "cache"];

/// Whether a world has them.
pub(super) fn is_drawn(dice: &mut Dice) -> bool {
    dice.percent(PERCENT)
}

/// Adds to a plan what its seed has of them.
pub(super) fn add(plan: &mut Plan) {
    let mut dice = Dice::new(plan.seed, Stream::Spread);
    if !is_drawn(&mut dice) {
        return;
    }
    let has_racks = dice.percent(50);
    for node in &mut plan.nodes {
        let labels = &mut node.facts.labels;
        if let Some(zone) = dice.pick(&ZONES) {
            labels.push((ZONE.to_owned(), zone.to_owned()));
        }
        if has_racks && dice.percent(80) {
            let rack = dice.pick(&["r1", "r2", "r3"]);
            labels.push((dice.pick(&RACKS).to_owned(), rack.to_owned()));
        }
    }
    // Where others speak for nodes as well, little is certain.
    if dice.percent(70) {
        for node in &mut plan.nodes {
            node.facts.taints.retain(|taint| taint.effect != Effect::PreferNoSchedule);
        }
        for job in &mut plan.jobs {
            job.spec.near.clear();
            job.spec.prefers.clear();
        }
    }
    for number in 0..dice.between(1, 5) {
        let app = dice.pick(&APPS);
        let service = service(&mut dice, number, app, plan.span);
        let namespace = service.spec.namespace.clone();
        if let Keeper::Controller(Some(owner)) = &service.life.keeper {
            plan.groupings.push(grouping(owner.kind, &owner.name, &namespace, app));
        }
        if dice.percent(60) {
            plan.groupings.push(grouping(GroupingKind::Service, app, &namespace, app));
        }
        plan.jobs.push(service);
    }
}

fn service(dice: &mut Dice, number: u64, app: &str, span: Millis) -> Job {
    let mut job = job(dice, format!("serves-{number}"), span);
    job.spec.scheduler = OURS[usize::from(dice.percent(85))].to_owned();
    job.pods = dice.between(2, 9);
    job.labels = [("app".into(), app.into())].into();
    let cpu = dice.pick(&[0, 10, 100, 500]);
    job.spec.requests = requests(cpu, dice.pick(&[0, 64 * MIB, 256 * MIB]) / MIB, 0);
    if dice.percent(40) {
        job.spec.images = vec![dice.pick(&IMAGES).to_owned()];
    }
    if dice.percent(40) {
        let spread = match dice.between(0, 3) {
            0 => Said::Known(false),
            1 => Said::Unknown("perhaps".into()),
            _ => Said::Known(true),
        };
        job.spec.hints = Hints { spread: Some(spread), ..Hints::default() }.if_any();
    }
    if dice.percent(60) {
        let name = format!("serves-{number}").into();
        let owner = Owner { kind: GroupingKind::ReplicaSet, name };
        job.life.keeper = Keeper::Controller(Some(owner));
    }
    if dice.percent(50) {
        job.runs = Some(range(dice, 20_000));
        job.followers = dice.between(0, 6);
    }
    job
}

fn grouping(kind: GroupingKind, name: &str, namespace: &str, app: &str) -> GroupingFacts {
    let requirement = RequirementSpec {
        key: "app".to_owned(),
        operator: LabelOperator::In,
        values: vec![app.to_owned()],
    };
    GroupingFacts {
        key: GroupingKey { kind, namespace: namespace.into(), name: name.into() },
        selector: LabelSelector { requirements: vec![requirement] },
    }
}
