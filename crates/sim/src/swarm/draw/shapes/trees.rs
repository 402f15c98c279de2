//! Composites of composites: deep, wide, in circles, and none of them for ever.

use model::{Amounts, Millis, PodGroupFacts, PodGroupKey, PodGroupKind, Time};

use super::{job, range, some_time};
use crate::dice::Dice;
use crate::plan::{Membership, Plan, PodGroupPlan};
use crate::swarm::draw::LABELS;

pub(super) fn draw(dice: &mut Dice, plan: &mut Plan) {
    for number in 0..dice.between(1, 2) {
        tree(dice, plan, number);
    }
}

/// A tree of up to twelve composites, of which eight levels are honoured at most.
fn tree(dice: &mut Dice, plan: &mut Plan, tree: u64) {
    let namespace = dice.pick(&["red", "blue"]);
    let count: u64 = dice.pick(&[1, 1, 2, 3, 4, 6, 7, 8, 9, 12]);
    let is_chain = dice.percent(60);
    let composite = |at: u64| -> Box<str> { format!("c{tree}-{at}").into() };
    let span = plan.span;
    for at in 0..count {
        let above = if is_chain { at.saturating_sub(1) } else { dice.between(0, at) };
        let mut parent = (above < at).then(|| composite(above));
        // A circle, if it is below itself.
        if at == 0 && dice.percent(12) {
            parent = Some(composite(dice.between(0, count - 1)));
        }
        let min = dice.pick(&[0, 1, 1, 1, 2, 2]);
        let facts = facts(dice, PodGroupKind::Composite, (namespace, composite(at)), min, parent);
        let others = [composite(dice.between(0, count - 1))];
        plan.pod_groups.push(object(dice, facts, &others, span));
    }
    for at in 0..dice.between(1, 5) {
        // Most are as deep as it goes.
        let above = if dice.percent(60) { count - 1 } else { dice.between(0, count - 1) };
        let name: Box<str> = format!("tg{tree}-{at}").into();
        let mut job = job(dice, format!("t{tree}-{at}"), span);
        job.spec.namespace = namespace.to_owned();
        job.pods = dice.between(1, 4);
        job.runs = dice.percent(50).then(|| range(dice, span.0 / 3));
        job.life.deleted_after = dice.percent(35).then(|| range(dice, span.0));
        let is_bare = dice.percent(30);
        let min = if dice.percent(70) { job.pods } else { dice.between(1, job.pods) };
        let min = u32::try_from(min).unwrap_or(u32::MAX);
        let parent = Some(composite(above));
        let facts = facts(dice, PodGroupKind::Native, (namespace, name.clone()), min, parent);
        let others = [composite(dice.between(0, count - 1))];
        plan.pod_groups.push(object(dice, facts, &others, span));
        let object = Some(PodGroupKind::Native);
        job.gang = Some(Membership { gang: name, object, is_bare, ..Membership::default() });
        plan.jobs.push(job);
    }
}

fn facts(
    dice: &mut Dice,
    kind: PodGroupKind,
    (namespace, name): (&str, Box<str>),
    min: u32,
    parent: Option<Box<str>>,
) -> PodGroupFacts {
    let topology = dice.percent(8).then(|| dice.pick(&LABELS).0.into());
    PodGroupFacts {
        key: PodGroupKey { kind, namespace: namespace.into(), name },
        mins: [("".into(), min)].into(),
        timeout: None,
        priority: None,
        topology: topology.into_iter().collect(),
        is_evicted_whole: false,
        parent,
        is_started: false,
        min_resources: Amounts::default(),
    }
}

/// An object that may go and come back, ask for more or less, or be moved.
fn object(
    dice: &mut Dice,
    facts: PodGroupFacts,
    parents: &[Box<str>],
    span: Millis,
) -> PodGroupPlan {
    let at = some_time(dice, span);
    let (mut later, mut now, mut time) = (Vec::new(), facts.clone(), at.0);
    for _ in 0..dice.pick(&[0, 0, 0, 1, 2, 4]) {
        time = dice.between(time, span.0);
        match dice.between(0, 9) {
            0..5 => {
                later.push((Time(time), None));
                time = dice.between(time, (time + 20_000).min(span.0));
            }
            5..8 => now.mins = [("".into(), dice.pick(&[0, 1, 1, 2, 3]))].into(),
            8 => now.parent = Some(parents[0].clone()),
            _ => now.parent = None,
        }
        later.push((Time(time), Some(now.clone())));
    }
    if dice.percent(15) {
        later.push((Time(dice.between(time, span.0)), None));
    }
    PodGroupPlan { facts, at, deleted: None, later }
}
