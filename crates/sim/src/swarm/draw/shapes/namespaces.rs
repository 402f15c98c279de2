//! Many namespaces that come and go, most of them empty, beside rules that select namespaces.

use model::{LabelOperator, LabelSelector, Labels, PodTerm, RequirementSpec, Target, Time};

use super::{NAMESPACE, job, range};
use crate::dice::Dice;
use crate::plan::{NamespacePlan, Plan};
use crate::swarm::draw::{LABELS, TEAM, TEAMS};

pub(super) fn draw(dice: &mut Dice, plan: &mut Plan, is_large: bool) {
    let count = if is_large { dice.between(1_000, 3_000) } else { dice.between(12, 40) };
    let percent = if is_large { 5 } else { 30 };
    for at in 0..count {
        let name = format!("{NAMESPACE}{at}");
        if dice.percent(percent) {
            let mut job = job(dice, format!("in{at}"), plan.span);
            job.spec.namespace.clone_from(&name);
            job.pods = dice.between(1, 2);
            job.labels = [("app".into(), dice.pick(&["web", "db"]).into())].into();
            job.life.deleted_after = dice.percent(60).then(|| range(dice, plan.span.0));
            plan.jobs.push(job);
        }
        // Some were never heard of.
        if dice.percent(90) {
            plan.namespaces.push(namespace(dice, name, plan.span.0));
        }
    }
    for at in 0..dice.between(2, 4) {
        let mut job = job(dice, format!("rule{at}"), plan.span);
        job.pods = dice.between(1, 3);
        job.labels = [("app".into(), dice.pick(&["web", "db"]).into())].into();
        let term = term(dice);
        match dice.between(0, 3) {
            0 => job.spec.near = vec![term],
            1 | 2 => job.spec.far = vec![term],
            _ => job.spec.prefers = vec![(dice.pick(&[50, -50]), term)],
        }
        job.life.deleted_after = dice.percent(50).then(|| range(dice, plan.span.0));
        plan.jobs.push(job);
    }
}

fn namespace(dice: &mut Dice, name: String, span: u64) -> NamespacePlan {
    let mut at = if dice.percent(30) { 0 } else { dice.between(0, span * 8 / 10) };
    let mut states = vec![(Time(at), Some(labels(dice)))];
    for _ in 0..dice.pick(&[0, 0, 1, 2]) {
        at = dice.between(at, span);
        states.push((Time(at), (!dice.percent(40)).then(|| labels(dice))));
    }
    if dice.percent(70) {
        states.push((Time(dice.between(at, span)), None));
    }
    NamespacePlan { name: name.into(), states }
}

fn labels(dice: &mut Dice) -> Labels {
    let team = dice.percent(70).then(|| (TEAM.into(), dice.pick(&TEAMS).into()));
    team.into_iter().collect()
}

/// Pods of an app in the namespaces of a team.
fn term(dice: &mut Dice) -> PodTerm {
    let one = |key: &str, value: &str| {
        let operator = LabelOperator::In;
        let values = vec![value.to_owned()];
        let requirement = RequirementSpec { key: key.to_owned(), operator, values };
        LabelSelector { requirements: vec![requirement] }
    };
    let target = Target {
        namespaces: Vec::new(),
        namespace_selector: Some(one(TEAM, dice.pick(&TEAMS))),
        selector: Some(one("app", dice.pick(&["web", "db"]))),
    };
    PodTerm { key: dice.pick(&LABELS).0.to_owned(), target }
}
