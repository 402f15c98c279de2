//! How full a node would be: emptier is better, fuller is better, or by a line through points.

use framework::{Reach, Rows, Scores, ShapePoint, UNFIT, View, sweep_by_node};
use model::{Levels, NodeId};

use super::vector::{self, Kernel};
use super::whole::{exact, integer, quotient, within};
use super::{Counting, Pair, Scored, level};

/// Scores nodes by what would be taken of each resource.
pub(super) struct Fullness {
    resources: Vec<Scored>,
    strategy: Kind,
}

enum Kind {
    Least,
    Most,
    /// Points with scores already brought from 0..10 to 0..100.
    Ratio(Vec<ShapePoint>),
}

impl Fullness {
    pub(super) fn least(resources: Vec<Scored>) -> Self {
        Self { resources, strategy: Kind::Least }
    }

    pub(super) fn most(resources: Vec<Scored>) -> Self {
        Self { resources, strategy: Kind::Most }
    }

    pub(super) fn ratio(resources: Vec<Scored>, shape: &[ShapePoint]) -> Self {
        let point = |point: &ShapePoint| ShapePoint { score: point.score * 10, ..*point };
        Self { resources, strategy: Kind::Ratio(shape.iter().map(point).collect()) }
    }

    // Hot: once per touched node.
    fn mean(&self, view: View<'_>, node: NodeId, score: impl Fn(i64, i64) -> i64) -> i32 {
        let (mut sum, mut weights) = (0, 0);
        for scored in &self.resources {
            let level = level(view, node, scored.resource, Counting::Defaulted);
            if level.offered != 0 {
                let requested = level.taken.wrapping_add(scored.request);
                sum += score(requested, level.offered) * scored.weight;
                weights += scored.weight;
            }
        }
        as_score(if weights == 0 { 0 } else { sum / weights })
    }

    /// The mean along a line, which leaves out resources whose score is 0, and is rounded.
    fn rounded_mean(&self, view: View<'_>, node: NodeId, shape: &[ShapePoint]) -> i32 {
        let (mut sum, mut weights) = (0, 0);
        for scored in &self.resources {
            let level = level(view, node, scored.resource, Counting::Defaulted);
            if level.offered != 0 {
                let requested = level.taken.wrapping_add(scored.request);
                let score = along(shape, most(requested, level.offered));
                sum += score * scored.weight;
                weights += if score == 0 { 0 } else { scored.weight };
            }
        }
        as_score(if weights == 0 { 0 } else { rounded(sum, weights) })
    }
}

impl Scores for Fullness {
    fn reach(&self) -> Reach {
        Reach::Load
    }

    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        let nodes = nodes.iter().zip(out);
        match &self.strategy {
            Kind::Least => nodes.for_each(|(node, out)| *out = self.mean(view, *node, least)),
            Kind::Most => nodes.for_each(|(node, out)| *out = self.mean(view, *node, most)),
            Kind::Ratio(shape) => {
                nodes.for_each(|(node, out)| *out = self.rounded_mean(view, *node, shape));
            }
        }
    }

    fn sweep(&self, view: View<'_>, rows: Rows<'_>, weight: i32, totals: &mut [i32]) {
        let mean = Pair::of(&self.resources).and_then(Mean::of);
        match (&self.strategy, mean) {
            (Kind::Least, Some(mean)) => vector::run(Sweep::<true> { mean, rows, weight, totals }),
            (Kind::Most, Some(mean)) => vector::run(Sweep::<false> { mean, rows, weight, totals }),
            (Kind::Least | Kind::Most | Kind::Ratio(_), _) => {
                sweep_by_node(self, view, rows, weight, totals);
            }
        }
    }
}

/// A weighted mean of two percentages.
struct Mean {
    cpu: f64,
    memory: f64,
    cpu_weight: f64,
    memory_weight: f64,
}

impl Mean {
    fn of(Pair { cpu, memory }: Pair) -> Option<Self> {
        let weights = 1..=i64::from(i16::MAX);
        if !weights.contains(&cpu.weight) || !weights.contains(&memory.weight) {
            return None;
        }
        Some(Self {
            cpu: exact(cpu.request)?,
            memory: exact(memory.request)?,
            cpu_weight: exact(cpu.weight)?,
            memory_weight: exact(memory.weight)?,
        })
    }
}

/// Adds means of what would be left, or of what would be taken.
struct Sweep<'a, const IS_LEFT: bool> {
    mean: Mean,
    rows: Rows<'a>,
    weight: i32,
    totals: &'a mut [i32],
}

impl<const IS_LEFT: bool> Kernel for Sweep<'_, IS_LEFT> {
    // Hot: once per pod of a shape that was not seen before, and once per touched node.
    #[inline(always)]
    fn run<const IS_FUSED: bool>(self) {
        let Self { mean, rows, weight, totals } = self;
        let weights = mean.cpu_weight + mean.memory_weight;
        let inverse_weights = 1.0 / weights;
        let (cpu, memory, count) = (&rows.columns.cpu, &rows.columns.memory, totals.len());
        let [a, b, c] = columns(cpu).map(|column| rows.of(column, count));
        let [d, e, f] = columns(memory).map(|column| rows.of(column, count));
        let rows = a.iter().zip(b).zip(c).zip(d.iter().zip(e).zip(f));
        for (total, (((a, b), c), ((d, e), f))) in totals.iter_mut().zip(rows) {
            let cpu = percent_of::<IS_LEFT>([*a, *b, *c], mean.cpu);
            let memory = percent_of::<IS_LEFT>([*d, *e, *f], mean.memory);
            let sum = cpu * mean.cpu_weight + memory * mean.memory_weight;
            let mean = integer(quotient(sum, weights, inverse_weights));
            let added = total.wrapping_add(weight.wrapping_mul(mean));
            *total = if *total == UNFIT { UNFIT } else { added };
        }
    }
}

#[inline(always)]
fn columns(levels: &Levels) -> [&[f64]; 3] {
    [&levels.scored_free, &levels.offered, &levels.inverse]
}

/// What would be left, or taken, of a hundred.
#[inline(always)]
fn percent_of<const IS_LEFT: bool>([free, offered, inverse]: [f64; 3], asked: f64) -> f64 {
    let part = if IS_LEFT { free - asked } else { offered - free + asked };
    quotient(100.0 * within(part, 0.0, offered), offered, inverse)
}

fn as_score(mean: i64) -> i32 {
    i32::try_from(mean).expect("a mean of scores is a score")
}

/// `part * 100 / whole`, where a part is at least nothing and at most the whole.
fn percent(part: i64, whole: i64) -> i64 {
    let part = part.clamp(0, whole);
    match part.checked_mul(100) {
        Some(product) => product / whole,
        None => {
            let share = i128::from(part) * 100 / i128::from(whole);
            i64::try_from(share).expect("a part is no more than its whole")
        }
    }
}

fn least(requested: i64, offered: i64) -> i64 {
    percent(offered.saturating_sub(requested), offered)
}

fn most(requested: i64, offered: i64) -> i64 {
    percent(requested, offered)
}

/// The height of the line at `at`; flat before its first and after its last point.
pub(crate) fn along(shape: &[ShapePoint], at: i64) -> i64 {
    let Some(next) = shape.iter().position(|point| at <= point.utilization) else {
        return shape.last().map_or(0, |point| point.score);
    };
    let end = shape[next];
    if next == 0 {
        return end.score;
    }
    let start = shape[next - 1];
    let run = end.utilization - start.utilization;
    start.score + (end.score - start.score) * (at - start.utilization) / run
}

/// The mean, rounded half away from zero.
fn rounded(sum: i64, weights: i64) -> i64 {
    (2 * sum + weights) / (2 * weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fullness_by_table() {
        // (requested, offered, least, most)
        let table = [
            (0, 4000, 100, 0),
            (1000, 4000, 75, 25),
            (4000, 4000, 0, 100),
            (5000, 4000, 0, 100),
            (1, 3, 66, 33),
            (i64::MAX / 2, i64::MAX, 50, 49),
            (i64::MIN, 4000, 100, 0),
        ];
        for (requested, offered, l, m) in table {
            assert_eq!(least(requested, offered), l, "least {requested}/{offered}");
            assert_eq!(most(requested, offered), m, "most {requested}/{offered}");
        }
    }

    #[test]
    fn the_line_goes_through_its_points() {
        let shape = [(10, 100), (50, 20), (90, 60)]
            .map(|(utilization, score)| ShapePoint { utilization, score });
        let table = [(0, 100), (10, 100), (30, 60), (50, 20), (70, 40), (90, 60), (100, 60)];
        for (at, expected) in table {
            assert_eq!(along(&shape, at), expected, "at {at}");
        }
    }

    #[test]
    fn means_are_rounded_half_up() {
        assert_eq!([rounded(5, 2), rounded(7, 3), rounded(8, 3)], [3, 2, 3]);
    }
}
