//! Prefers nodes on which the pod makes the use of resources more even.
//!
//! Each node is scored with and without the pod by how far its resources' shares lie apart; what
//! counts is the improvement. 75 means no change, 100 the largest gain, 50 the largest loss.

use framework::{
    BalancedArgs, MAX_SCORE, Plugin, Rank, Reach, Rows, Scores, UNFIT, View, sweep_by_node,
};
use model::{Catalog, Class, Levels, NodeId, ResourceId};

use super::vector::{self, Kernel};
use super::whole::{exact, floor, integer, ratio};
use super::{Counting, Pair, Scored, level, scored_resources};

pub(crate) struct NodeResourcesBalancedAllocation {
    resources: Vec<(ResourceId, i64)>,
}

impl NodeResourcesBalancedAllocation {
    pub(crate) fn new(args: &BalancedArgs, catalog: &mut Catalog) -> Self {
        let resource =
            |spec: &framework::ResourceWeight| (catalog.resource(&spec.name), spec.weight);
        Self { resources: args.resources.iter().map(resource).collect() }
    }
}

impl Plugin for NodeResourcesBalancedAllocation {
    fn name(&self) -> &'static str {
        "NodeResourcesBalancedAllocation"
    }
}

impl Rank for NodeResourcesBalancedAllocation {
    fn prepare(&self, catalog: &Catalog, class: &Class) -> Option<Box<dyn Scores>> {
        let request = &class.requests.charge.amounts;
        let resources = scored_resources(&self.resources, request, catalog);
        // A pod that asks for nothing unbalances nothing: it would pile up on one node.
        let asks = resources.iter().any(|scored| scored.request != 0);
        asks.then(|| Box::new(Prepared { resources }) as _)
    }
}

struct Prepared {
    resources: Vec<Scored>,
}

impl Prepared {
    // Hot: once per touched node.
    fn score(&self, view: View<'_>, node: NodeId) -> i32 {
        let gain = match &self.resources[..] {
            [one, other] => pair_gain(view, node, *one, *other),
            _ => self.gain(view, node),
        };
        MAX_SCORE / 2 + (MAX_SCORE / 2 + gain) / 2
    }

    /// How much more even the node would be with the pod.
    fn gain(&self, view: View<'_>, node: NodeId) -> i32 {
        let shares = |is_with_pod: bool| {
            self.resources.iter().filter_map(move |scored| {
                let level = level(view, node, scored.resource, Counting::Plain);
                let added = if is_with_pod { scored.request } else { 0 };
                (level.offered != 0).then(|| share(level.taken.wrapping_add(added), level.offered))
            })
        };
        evenness(shares(true)) - evenness(shares(false))
    }
}

impl Scores for Prepared {
    fn reach(&self) -> Reach {
        Reach::Load
    }

    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        for (node, score) in nodes.iter().zip(out) {
            *score = self.score(view, *node);
        }
    }

    fn sweep(&self, view: View<'_>, rows: Rows<'_>, weight: i32, totals: &mut [i32]) {
        let asked = Pair::of(&self.resources)
            .and_then(|Pair { cpu, memory }| Some([exact(cpu.request)?, exact(memory.request)?]));
        match asked {
            Some(asked) => vector::run(Sweep { asked, rows, weight, totals }),
            None => sweep_by_node(self, view, rows, weight, totals),
        }
    }
}

/// Adds scores of cpu and memory, of which so much is asked. The order of the two makes no
/// difference: what counts is how far apart they are.
struct Sweep<'a> {
    asked: [f64; 2],
    rows: Rows<'a>,
    weight: i32,
    totals: &'a mut [i32],
}

impl Kernel for Sweep<'_> {
    // Hot: once per pod of a shape that was not seen before, and once per touched node.
    #[inline(always)]
    fn run<const IS_FUSED: bool>(self) {
        let Self { asked, rows, weight, totals } = self;
        let (cpu, memory, count) = (&rows.columns.cpu, &rows.columns.memory, totals.len());
        let [a, b, c, d] = columns(cpu).map(|column| rows.of(column, count));
        let [e, f, g, h] = columns(memory).map(|column| rows.of(column, count));
        let cpu = a.iter().zip(b).zip(c.iter().zip(d));
        let memory = e.iter().zip(f).zip(g.iter().zip(h));
        let rows = cpu.zip(memory);
        for (total, (((a, b), (c, d)), ((e, f), (g, h)))) in totals.iter_mut().zip(rows) {
            let cpu = share_with::<IS_FUSED>([*a, *b, *c], asked[0]);
            let memory = share_with::<IS_FUSED>([*e, *f, *g], asked[1]);
            let gain = integer(pair_evenness(cpu, memory) - pair_evenness(*d, *h));
            let score = MAX_SCORE / 2 + gain.wrapping_add(MAX_SCORE / 2) / 2;
            let added = total.wrapping_add(weight.wrapping_mul(score));
            *total = if *total == UNFIT { UNFIT } else { added };
        }
    }
}

#[inline(always)]
fn columns(levels: &Levels) -> [&[f64]; 4] {
    [&levels.free, &levels.offered, &levels.inverse, &levels.share]
}

#[inline(always)]
fn share_with<const IS_FUSED: bool>([free, offered, inverse]: [f64; 3], asked: f64) -> f64 {
    let share = ratio::<IS_FUSED>(offered - free + asked, offered, inverse);
    if share > 1.0 { 1.0 } else { share }
}

#[inline(always)]
fn pair_evenness(one: f64, other: f64) -> f64 {
    floor((1.0 - ((one - other) / 2.0).abs()) * 100.0)
}

/// The same for two resources, which is nearly always.
// Hot: once per touched node.
fn pair_gain(view: View<'_>, node: NodeId, one: Scored, other: Scored) -> i32 {
    let a = level(view, node, one.resource, Counting::Plain);
    let b = level(view, node, other.resource, Counting::Plain);
    // A resource that the node does not have leaves one, and one is always even.
    if a.offered == 0 || b.offered == 0 {
        return 0;
    }
    let pair = |a: f64, b: f64| percent_even(((a - b) / 2.0).abs());
    let with = pair(
        share(a.taken.wrapping_add(one.request), a.offered),
        share(b.taken.wrapping_add(other.request), b.offered),
    );
    with - pair(share(a.taken, a.offered), share(b.taken, b.offered))
}

/// 100 less a deviation.
#[expect(clippy::cast_possible_truncation, reason = "the result is in 0..=100")]
fn percent_even(deviation: f64) -> i32 {
    ((1.0 - deviation) * 100.0) as i32
}

/// The share of a resource that is taken, from 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "the same rounding as upstream's")]
fn share(taken: i64, offered: i64) -> f64 {
    (taken as f64 / offered as f64).clamp(0.0, 1.0)
}

/// 100 less the standard deviation of shares. The order of the operations is upstream's: floats
/// are not associative, and another order would round some scores to the next integer.
fn evenness(shares: impl Iterator<Item = f64> + Clone) -> i32 {
    let (mut count, mut sum, mut difference) = (0.0, 0.0, 0.0);
    for share in shares.clone() {
        difference = if count == 0.0 { share } else { difference - share };
        sum += share;
        count += 1.0;
    }
    let deviation = if count < 2.0 {
        0.0
    } else if count == 2.0 {
        (difference / 2.0).abs()
    } else {
        let mean = sum / count;
        let squares = shares.fold(0.0, |sum, share| sum + (share - mean) * (share - mean));
        (squares / count).sqrt()
    };
    percent_even(deviation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evenness_by_table() {
        let table: &[(&[(i64, i64)], i32)] = &[
            (&[], 100),
            (&[(1, 2)], 100),
            (&[(1, 2), (1, 2)], 100),
            (&[(0, 2), (2, 2)], 50),
            (&[(9, 2), (0, 2)], 50),
            (&[(0, 4), (2, 4), (4, 4)], 59),
        ];
        for (levels, expected) in table {
            let shares = levels.iter().map(|(taken, offered)| share(*taken, *offered));
            assert_eq!(evenness(shares), *expected, "{levels:?}");
        }
    }
}
