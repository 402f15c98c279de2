//! How much of a node's GPUs typical pods cannot use.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::trace::openb::node::Node;
use crate::trace::openb::shapes::Ask;
use crate::trace::openb::{Trace, WHOLE_GPU};

/// Typical are the most frequent pods that together make up this percentage of all.
const TYPICAL_PERCENT: u64 = 95;
/// The highest score of kube-scheduler.
const SCORE_MAX: u8 = 100;

/// The measure, in thousandths of a GPU times the number of typical pods, so that it is whole.
pub(super) struct Fragments {
    /// How typical pods see a node, by its GPU model.
    views: Vec<View>,
    /// The least gain for every score above 0.
    bounds: Vec<i64>,
}

/// Typical pods as nodes of one GPU model see them.
#[derive(Clone, Debug, Default)]
struct View {
    /// How many can use no GPU of it at all: they ask for none, or for another model.
    others: i64,
    /// What the rest ask for, by the part of a GPU.
    asks: Vec<(Need, i64)>,
}

/// What a pod that accepts the model asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Need {
    gpu_milli: u64,
    gpus: usize,
    cpu_milli: u64,
}

impl Fragments {
    pub(super) fn new(trace: &Trace) -> Self {
        let typical = typical(trace);
        let models = trace.nodes.iter().map(|node| node.model + 1).max().unwrap_or(0);
        let mut views = vec![View::default(); models];
        for node in &trace.nodes {
            let view = &mut views[node.model];
            if view.others == 0 && view.asks.is_empty() {
                *view = View::new(&typical, &node.model_name);
            }
        }
        let pods = typical.iter().map(|(_, count)| count).sum();
        Self { views, bounds: bounds(pods) }
    }

    pub(super) fn of_node(&self, node: &Node) -> i64 {
        self.of(node.model, node.cpu_milli, &node.gpus)
    }

    /// Fragments of a node with so much CPU and GPU left. For each typical pod that fits these are
    /// the GPUs that have too little left for it; for one that does not, all that is left.
    ///
    /// Hot: called for every way to place every pod.
    pub(super) fn of(&self, model: usize, cpu_milli: u64, gpus: &[u64]) -> i64 {
        let view = &self.views[model];
        let all: u64 = gpus.iter().sum();
        let mut sum = view.others * all as i64;
        let (mut level, mut enough, mut too_little) = (None, 0, 0);
        for (need, count) in &view.asks {
            if level != Some(need.gpu_milli) {
                level = Some(need.gpu_milli);
                enough = gpus.iter().filter(|left| **left >= need.gpu_milli).count();
                too_little = gpus.iter().filter(|left| **left < need.gpu_milli).sum();
            }
            let fits = enough >= need.gpus && cpu_milli >= need.cpu_milli;
            sum += count * if fits { too_little } else { all } as i64;
        }
        sum
    }

    /// The score of a placement that makes fragments smaller by `gain`.
    pub(super) fn score(&self, gain: i64) -> u8 {
        let score = self.bounds.partition_point(|bound| gain >= *bound);
        u8::try_from(score).expect("there are fewer bounds than scores")
    }
}

impl View {
    fn new(typical: &[(&Ask, i64)], model: &str) -> Self {
        let mut view = Self::default();
        for (ask, count) in typical {
            if ask.gpus == 0 || !ask.models.accept(model) {
                view.others += count;
                continue;
            }
            let Ask { cpu_milli, gpu_milli, gpus, .. } = **ask;
            view.asks.push((Need { gpu_milli, gpus, cpu_milli }, *count));
        }
        view.asks.sort_unstable();
        view
    }
}

/// What the typical pods of a trace ask for, and how many there are of each.
fn typical(trace: &Trace) -> Vec<(&Ask, i64)> {
    let mut counts: BTreeMap<&Ask, i64> = BTreeMap::new();
    for pod in &trace.pods {
        *counts.entry(&trace.shapes[pod.0].ask).or_default() += 1;
    }
    let mut typical: Vec<(&Ask, i64)> = counts.into_iter().collect();
    typical.sort_by_key(|(ask, count)| Reverse((*count, *ask)));
    let enough = trace.pods.len() as u64 * TYPICAL_PERCENT;
    let mut seen = 0;
    let is_needed = |(_, count): &&(&Ask, i64)| {
        let is_needed = seen * 100 < enough;
        seen += count.unsigned_abs();
        is_needed
    };
    let needed = typical.iter().take_while(is_needed).count();
    typical.truncate(needed);
    typical
}

/// The score is the whole part of `100 * sigmoid(gain in GPUs)`; sigmoid reaches `s / 100` where
/// the gain is `ln(s / (100 - s))`. The bounds are whole numbers, so that floats decide nothing.
fn bounds(pods: i64) -> Vec<i64> {
    let bound = |score: u8| {
        let gpus = (f64::from(score) / f64::from(SCORE_MAX - score)).ln();
        (gpus * WHOLE_GPU as f64 * pods as f64).ceil() as i64
    };
    (1..SCORE_MAX).map(bound).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::openb;

    fn trace(pods: &str) -> Trace {
        let nodes = "sn,cpu_milli,memory_mib,gpu,model\na,8000,100,2,T4\n";
        let head = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n";
        openb::read(("nodes.csv", nodes), ("pods.csv", &format!("{head}{pods}"))).unwrap()
    }

    #[test]
    fn fragments_by_table() {
        // Typical: a part of 500 with 2 CPUs, two GPUs, one GPU of another model, no GPU.
        let pods = "p,2000,1,1,500,\nq,1000,1,2,1000,\nr,1000,1,1,1000,P100\ns,1000,1,0,0,\n";
        let fragments = Fragments::new(&trace(pods));
        // (CPU left, GPUs left, fragments)
        let table: [(u64, &[u64], i64); 6] = [
            // The other model and the pod without GPUs see nothing but fragments.
            (8000, &[1000, 1000], 2 * 2000),
            // So do two GPUs if one is shared.
            (8000, &[500, 1000], 3 * 1500),
            // Too little is left for 500 on one GPU.
            (8000, &[400, 1000], 400 + 3 * 1400),
            // No GPU has 500 left.
            (8000, &[400, 400], 4 * 800),
            // Too little CPU for the first.
            (1000, &[1000, 1000], 3 * 2000),
            (8000, &[0, 0], 0),
        ];
        for (cpu, gpus, expected) in table {
            assert_eq!(fragments.of(0, cpu, gpus), expected, "{cpu} {gpus:?}");
        }
    }

    #[test]
    fn the_most_frequent_pods_are_typical_and_of_two_the_larger() {
        let pods = "p,1000,1,1,500,\n".repeat(94)
            + &"q,1000,1,1,600,\n".repeat(3)
            + &"r,2000,1,1,100,\n".repeat(3);
        let trace = trace(&pods);
        let typical: Vec<(u64, i64)> =
            typical(&trace).iter().map(|(ask, count)| (ask.gpu_milli, *count)).collect();
        assert_eq!(typical, [(500, 94), (100, 3)]);
    }

    #[test]
    fn scores_are_whole_points_of_a_sigmoid() {
        let fragments = Fragments { views: Vec::new(), bounds: bounds(4) };
        let sigmoid = |gpus: f64| (100.0 / (1.0 + (-gpus).exp())) as u8;
        for gain in [-30_000, -4_001, -100, -1, 0, 1, 100, 1_777, 4_001, 30_000] {
            assert_eq!(fragments.score(gain), sigmoid(gain as f64 / 4000.0), "{gain}");
        }
        assert_eq!([-1, 0].map(|gain| fragments.score(gain)), [49, 50]);
    }
}
