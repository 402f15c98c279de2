//! BestFit: the node on which least is left over, CPU and GPU weighed by the largest node there is.

use std::cmp::Reverse;

use super::node::{Choice, Node};
use super::shapes::Shape;

/// The largest node, in thousandths of a CPU.
const CPU_MAX: i64 = 128_000;
/// The largest node, in thousandths of a GPU.
const GPU_MAX: i64 = 8_000;

/// The first of the nodes with the best score, and the tightest GPU of it.
pub(super) fn choose(nodes: &[Node], shape: &Shape) -> Option<Choice> {
    let feasible = (0..nodes.len()).filter(|at| nodes[*at].fits(shape));
    let node = feasible.max_by_key(|at| (score(&nodes[*at], shape), Reverse(*at)))?;
    let gpus = &nodes[node].gpus;
    let tightest = || nodes[node].gpus_for(shape).min_by_key(|gpu| gpus[*gpu]);
    let gpu = if shape.is_shared() { tightest() } else { None };
    Some(Choice { node, gpu })
}

/// `100 - 50 * cpu / CPU_MAX - 50 * gpu / GPU_MAX` of what is left, in whole points as a score of
/// kube-scheduler is: nodes that differ by less than a point are equal.
fn score(node: &Node, shape: &Shape) -> i64 {
    let left = |there: u64, asked: u64| (there - asked) as i64;
    let cpu = left(node.cpu_milli, shape.ask.cpu_milli);
    let gpu = left(node.gpu_milli(), shape.demand_milli());
    (2 * CPU_MAX - cpu - gpu * (CPU_MAX / GPU_MAX)) / (2 * CPU_MAX / 100)
}
