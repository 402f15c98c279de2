//! Nodes, and what becomes of them.

use model::{Amounts, Effect, Features, Millis, NodeFacts, Taint, Time};

use super::{IMAGES, LABELS, MIB, SCALARS, TAINTS, few};
use crate::dice::Dice;
use crate::plan::{Fate, NodePlan};

pub(super) fn draw(dice: &mut Dice, span: Millis) -> Vec<NodePlan> {
    let count = few(dice, 40);
    // In some worlds most pods fit, in others most have to wait.
    let size = dice.pick(&[1, 2, 4, 8]);
    (0..count).map(|number| node(dice, number, size, span)).collect()
}

pub(super) fn name(number: u64) -> String {
    format!("n{number}")
}

fn node(dice: &mut Dice, number: u64, size: i64, span: Millis) -> NodePlan {
    let facts = NodeFacts {
        name: name(number),
        labels: labels(dice),
        taints: taints(dice),
        is_closed: dice.percent(8),
        allocatable: allocatable(dice, size),
        pods_max: dice.pick(&[1, 3, 8, 110]) * size,
        images: images(dice),
        features: features(dice),
        ..NodeFacts::default()
    };
    let joins = if dice.percent(75) { 0 } else { dice.between(0, span.0 * 6 / 10) };
    let mut plan = NodePlan { joins: Time(joins), ..NodePlan::new("pool", facts) };
    let mut at = joins;
    for _ in 0..dice.pick(&[0, 0, 1, 2, 4, 8]) {
        at = dice.between(at, span.0);
        plan.fates.push((Time(at), fate(dice, size)));
    }
    plan
}

fn fate(dice: &mut Dice, size: i64) -> Fate {
    match dice.between(0, 15) {
        0 | 1 => Fate::Closes,
        2 | 3 => Fate::Opens,
        4 => Fate::Drains,
        5 => Fate::Leaves,
        6 | 7 => Fate::Dies,
        8 | 9 => Fate::Returns,
        10 | 11 => {
            let pods_max = dice.pick(&[0, 1, 4, 16, 110]) * size;
            Fate::Resizes { allocatable: allocatable(dice, size), pods_max }
        }
        12 | 13 => Fate::Taints(taints(dice)),
        _ => Fate::Labels(labels(dice)),
    }
}

fn labels(dice: &mut Dice) -> Vec<(String, String)> {
    let mut labels = Vec::new();
    for (key, values) in LABELS {
        if dice.percent(70) {
            labels.push((key.to_owned(), dice.pick(values).to_owned()));
        }
    }
    labels
}

fn taints(dice: &mut Dice) -> Vec<Taint<String>> {
    let mut taints = Vec::new();
    for key in TAINTS {
        if dice.percent(10) {
            let value = dice.pick(&["", "yes"]).to_owned();
            let effects = [Effect::NoSchedule, Effect::NoExecute, Effect::PreferNoSchedule];
            taints.push(Taint { key: key.to_owned(), value, effect: dice.pick(&effects) });
        }
    }
    taints
}

fn allocatable(dice: &mut Dice, size: i64) -> Amounts<String> {
    let scalars = SCALARS.iter().filter_map(|name| {
        let amount = dice.pick(&[0, 0, 0, 1, 2, 8]);
        (amount > 0).then(|| ((*name).to_owned(), amount))
    });
    let mut scalars: Vec<(String, i64)> = scalars.collect();
    scalars.sort();
    Amounts {
        cpu: dice.pick(&[500, 1_000, 2_000, 4_000, 8_000]) * size,
        memory: dice.pick(&[512, 1_024, 4_096, 16_384]) * MIB * size,
        ephemeral: dice.pick(&[512, 2_048, 10_240]) * MIB * size,
        scalars: scalars.into(),
    }
}

fn images(dice: &mut Dice) -> Vec<(String, i64)> {
    let mut images = Vec::new();
    for image in IMAGES {
        if dice.percent(30) {
            images.push((image.to_owned(), dice.pick(&[50, 500, 2_000]) * MIB));
        }
    }
    images
}

fn features(dice: &mut Dice) -> Features {
    if dice.percent(50) { Features::BIND_MOUNT_OPTIONS } else { Features::default() }
}
