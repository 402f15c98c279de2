//! What pods are to each other: labels, and rules about pods with such labels.

use model::{
    LabelOperator, LabelSelector, Labels, PodSpec, PodTerm, RequirementSpec, SpreadSpec, Target,
};

use super::LABELS;
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
    let is_any = dice.percent(25);
    let target = Target {
        namespaces: if is_any { Vec::new() } else { vec![namespace.to_owned()] },
        namespace_selector: is_any.then(LabelSelector::default),
        selector: Some(selector(dice)),
    };
    PodTerm { key: key(dice), target }
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
