//! Prefers nodes on which the pod makes the use of resources more even.
//!
//! Each node is scored with and without the pod by how far its resources' shares lie apart; what
//! counts is the improvement. 75 means no change, 100 the largest gain, 50 the largest loss.

use framework::{BalancedArgs, MAX_SCORE, Plugin, Rank, Reach, Rows, Scores, UNFIT, View};
use model::{Catalog, Class, Columns, Levels, NodeId, ResourceId};

use super::whole::{exact, floor, integer};
use super::{Counting, Scored, level, scored_resources};

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
        if let Some(pair) = Pair::of(&self.resources) {
            return pair.sweep(view.usage.columns(), rows, weight, totals);
        }
        for (at, total) in totals.iter_mut().enumerate().filter(|(_, total)| **total != UNFIT) {
            *total += weight * self.score(view, rows.node(at));
        }
    }
}

/// What is asked of cpu and memory, where these two are what counts.
struct Pair {
    cpu: f64,
    memory: f64,
}

impl Pair {
    fn of(resources: &[Scored]) -> Option<Self> {
        let [one, other] = resources else { return None };
        let is_cpu_first = one.resource == ResourceId::CPU;
        let (cpu, memory) = if is_cpu_first { (one, other) } else { (other, one) };
        if cpu.resource != ResourceId::CPU || memory.resource != ResourceId::MEMORY {
            return None;
        }
        Some(Self { cpu: exact(cpu.request)?, memory: exact(memory.request)? })
    }

    // Hot: once per node and pod of a shape that was not seen before. The order of the two makes no
    // difference: what counts is how far apart they are.
    #[inline]
    fn sweep(&self, columns: &Columns, rows: Rows<'_>, weight: i32, totals: &mut [i32]) {
        let (cpu, memory) = (&columns.cpu, &columns.memory);
        let even = |one: f64, other: f64| floor((1.0 - ((one - other) / 2.0).abs()) * 100.0);
        let with = |[free, offered]: [f64; 2], asked: f64| {
            let share = (offered - free + asked) / offered;
            if share > 1.0 { 1.0 } else { share }
        };
        let score = |c: [f64; 2], m: [f64; 2], shares: [f64; 2]| {
            let gain = even(with(c, self.cpu), with(m, self.memory)) - even(shares[0], shares[1]);
            MAX_SCORE / 2 + integer(gain).wrapping_add(MAX_SCORE / 2) / 2
        };
        match rows {
            Rows::From(from) => {
                let range = from..from + totals.len();
                let (a, b) = (&cpu.free[range.clone()], &cpu.offered[range.clone()]);
                let (c, d) = (&memory.free[range.clone()], &memory.offered[range.clone()]);
                let (e, f) = (&cpu.share[range.clone()], &memory.share[range]);
                let rows = a.iter().zip(b).zip(c.iter().zip(d)).zip(e.iter().zip(f));
                for (total, (((a, b), (c, d)), (e, f))) in totals.iter_mut().zip(rows) {
                    let score = score([*a, *b], [*c, *d], [*e, *f]);
                    let added = total.wrapping_add(weight.wrapping_mul(score));
                    *total = if *total == UNFIT { UNFIT } else { added };
                }
            }
            Rows::These(nodes) => {
                for (total, node) in totals.iter_mut().zip(nodes) {
                    if *total == UNFIT {
                        continue;
                    }
                    let at = node.index();
                    let row = |levels: &Levels| [levels.free[at], levels.offered[at]];
                    let shares = [cpu.share[at], memory.share[at]];
                    let score = score(row(cpu), row(memory), shares);
                    *total = total.wrapping_add(weight.wrapping_mul(score));
                }
            }
        }
    }
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
