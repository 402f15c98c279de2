//! What pods are to each other: labels, and rules about pods with such labels.

use model::{
    LabelOperator, LabelSelector, Labels, PodSpec, PodTerm, RequirementSpec, SpreadSpec, Target,
};

use super::{LABELS, TEAM, TEAMS};
use crate::dice::Dice;

const APP: &str = "app";
const APPS: [&str; 3] = ["web", "web", "db"];

/// The labels of a job's pods.
pub(super) fn labels(dice: &mut Dice) -> Labels {
    let app = dice.percent(80).then(|| (APP.into(), dice.pick(&APPS).into()));
    app.into_iter().collect()
}

/// Adds rules about other pods to a spec.
pub(super) fn draw(dice: &mut Dice, spec: &mut PodSpec) {
    if dice.percent(12) {
        let count = dice.between(1, 2);
        spec.spread = (0..count).map(|_| spread(dice)).collect();
    }
    if dice.percent(6) {
        spec.near = vec![term(dice, &spec.namespace)];
    }
    if dice.percent(10) {
        spec.far = vec![term(dice, &spec.namespace)];
    }
    if dice.percent(8) {
        let weight = dice.pick(&[1, 50, 100, -1, -50]);
        spec.prefers = vec![(weight, term(dice, &spec.namespace))];
    }
}

fn spread(dice: &mut Dice) -> SpreadSpec {
    SpreadSpec {
        key: key(dice),
        selector: Some(selector(dice)),
        max_skew: dice.pick(&[1, 1, 2, 5]),
        min_domains: dice.pick(&[1, 1, 1, 2, 3]),
        is_required: dice.percent(60),
        honours_affinity: dice.percent(70),
        honours_taints: dice.percent(30),
    }
}

fn term(dice: &mut Dice, namespace: &str) -> PodTerm {
    let chosen = match dice.between(0, 99) {
        0..25 => Some(LabelSelector::default()),
        25..45 => Some(team(dice)),
        _ => None,
    };
    let is_named = chosen.is_none() || dice.percent(10);
    let target = Target {
        namespaces: if is_named { vec![namespace.to_owned()] } else { Vec::new() },
        namespace_selector: chosen,
        selector: Some(selector(dice)),
    };
    PodTerm { key: key(dice), target }
}

/// Chooses namespaces.
fn team(dice: &mut Dice) -> LabelSelector {
    let operators = [LabelOperator::In, LabelOperator::NotIn, LabelOperator::Exists];
    let operator = dice.pick(&operators);
    let is_any = operator == LabelOperator::Exists;
    let values = if is_any { Vec::new() } else { vec![dice.pick(&TEAMS).to_owned()] };
    LabelSelector { requirements: vec![RequirementSpec { key: TEAM.to_owned(), operator, values }] }
}

fn key(dice: &mut Dice) -> String {
    let (key, _) = dice.pick(&LABELS);
    key.to_owned()
}

pub(super) fn selector(dice: &mut Dice) -> LabelSelector {
    let operator = dice.pick(&[LabelOperator::In, LabelOperator::In, LabelOperator::NotIn]);
    let values = vec![dice.pick(&APPS).to_owned()];
    LabelSelector { requirements: vec![RequirementSpec { key: APP.to_owned(), operator, values }] }
}
