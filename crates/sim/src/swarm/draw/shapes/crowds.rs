//! Gangs with many pods: all of which are needed, few of which are, none of which is.

use std::sync::Arc;

use model::{Amounts, GangClaim, NodeFacts, Time};

use super::{job, range, some_time};
use crate::dice::Dice;
use crate::plan::{Fate, Job, Membership, NodePlan, Plan};
use crate::quantities::{amounts, requests_of};

pub(super) fn draw(dice: &mut Dice, plan: &mut Plan, is_large: bool) {
    let pods = if is_large { dice.between(1_000, 3_000) } else { dice.between(20, 80) };
    // Without them most find no room.
    if dice.percent(70) {
        let count = dice.between(1, 3);
        (0..count).for_each(|at| large_node(dice, plan, (at, pods)));
    }
    let mut job = job(dice, "crowd".to_owned(), plan.span);
    job.spec.requests = requests_of(Amounts { cpu: dice.pick(&[0, 1, 10]), ..Amounts::default() });
    job.pods = pods;
    job.runs = dice.percent(40).then(|| range(dice, plan.span.0 / 2));
    job.life.deleted_after = dice.percent(20).then(|| range(dice, plan.span.0));
    let gang =
        Membership { gang: "crowd".into(), is_bare: dice.percent(30), ..Membership::default() };
    match dice.between(0, 9) {
        0..4 => alone(plan, job, gang, u32::try_from(pods).ok()),
        4..6 => alone(plan, job, gang, Some(8)),
        6..8 => alone(plan, job, gang, None),
        _ => different(dice, plan, &job, &gang),
    }
}

fn alone(plan: &mut Plan, job: Job, gang: Membership, min: Option<u32>) {
    plan.jobs.push(Job { gang: Some(Membership { min, ..gang }), ..job });
}

/// Every pod says something else of the gang.
fn different(dice: &mut Dice, plan: &mut Plan, job: &Job, gang: &Membership) {
    let pods = job.pods.min(400);
    let min = dice.pick(&[8, u32::try_from(pods).unwrap_or(8)]);
    for at in 0..pods {
        let timeout = u32::try_from(at % 3_600 + 1).ok();
        let claim = GangClaim { min: Some(min), timeout, ..GangClaim::default() };
        let gang = Some(Membership { claim: Some(Arc::new(claim)), ..gang.clone() });
        let name = format!("crowd{at}");
        plan.jobs.push(Job { name, pods: 1, gang, ..job.clone() });
    }
}

fn large_node(dice: &mut Dice, plan: &mut Plan, (at, pods): (u64, u64)) {
    let pods_max = i64::try_from(pods).unwrap_or(i64::MAX) / dice.pick(&[1, 1, 2, 3]);
    let facts = NodeFacts {
        name: format!("large{at}"),
        allocatable: amounts(pods_max * 10, 65_536, 0),
        pods_max,
        ..NodeFacts::default()
    };
    let joins = some_time(dice, plan.span);
    let mut node = NodePlan { joins, ..NodePlan::new("pool", facts) };
    if dice.percent(25) {
        let at = Time(dice.between(joins.0, plan.span.0));
        let fate = match dice.between(0, 2) {
            0 => Fate::Drains,
            1 => Fate::Leaves,
            _ => Fate::Dies,
        };
        node.fates.push((at, fate));
    }
    plan.nodes.push(node);
}
