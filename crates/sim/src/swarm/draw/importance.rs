//! Who is more important than whom, and how many must stay.

use super::company;
use crate::dice::Dice;
use crate::plan::{Budget, Job, Stay};

/// In some worlds most pods are more important than others, or less; budgets protect a few.
pub(super) fn draw(dice: &mut Dice, jobs: &mut [Job]) -> Vec<Budget> {
    if !dice.percent(35) {
        return Vec::new();
    }
    for job in jobs {
        job.priority = dice.pick(&[-10, 0, 0, 10, 20, 1_000]);
    }
    let count = dice.pick(&[0, 1, 3]);
    let budget = |number: u64| Budget {
        name: format!("b{number}"),
        namespace: dice.pick(&["red", "blue"]).to_owned(),
        selector: company::selector(dice),
        stay: Stay::AtLeast(dice.pick(&[0, 1, 2, 5, 100])),
    };
    (0..count).map(budget).collect()
}
