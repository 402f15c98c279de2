//! Alibaba's openb trace with the method of the FGD paper (Weng et al., USENIX ATC 2023): pods of
//! the trace arrive until they ask for more GPUs than there are, are placed one by one, and none
//! leaves. What counts is how much of the GPUs is allocated by then.
//!
//! Nothing here is part of the scheduler. The policies are the published baselines, kept to the
//! letter, coarse scores and tie-break included: a simulator that does not reproduce their figures
//! proves nothing about other policies either.

mod arrivals;
mod bestfit;
mod fgd;
mod node;
mod read;
mod shapes;
#[cfg(test)]
mod tests;

use crate::dice::{Dice, Stream};
use fgd::Fgd;
use node::{Choice, Node};
pub use read::read;
use shapes::{Shape, ShapeAt};

/// A GPU in the unit of the trace.
const WHOLE_GPU: u64 = 1000;

/// Nodes and pods of a trace.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Empty, by name: a tie goes to the smallest name, which is the first.
    nodes: Vec<Node>,
    shapes: Vec<Shape>,
    /// The pods, in the order of the file.
    pods: Vec<ShapeAt>,
}

/// How a node is chosen, and a GPU of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Any node that fits, any GPU that fits.
    Random,
    /// The node that has least CPU and GPU left, the GPU that has least left.
    BestFit,
    /// Where fragments of GPUs grow least: fragmentation gradient descent.
    Fgd,
}

impl Trace {
    /// How many nodes, GPUs and pods there are.
    #[must_use]
    pub fn counts(&self) -> (usize, u64, usize) {
        (self.nodes.len(), self.capacity_milli() / WHOLE_GPU, self.pods.len())
    }

    /// Lets pods arrive until they ask for `percent` of all GPUs. The result is the share of the
    /// GPUs that is allocated, in percent, at each arrival percentage from 0 to `percent`: after
    /// the last pod with which no more than that percentage was asked for.
    #[must_use]
    pub fn allocation(&self, policy: Policy, seed: u64, percent: u32) -> Vec<f64> {
        let capacity = self.capacity_milli();
        let mut chooser = Chooser::new(policy, self, seed);
        let used = self.used_milli(&mut chooser, &self.arrivals(seed, percent), percent);
        used.into_iter().map(|used| round(used as f64 * 100.0 / capacity as f64)).collect()
    }

    /// What is allocated at each arrival percentage, in thousandths of a GPU.
    fn used_milli(&self, chooser: &mut Chooser, arrivals: &[ShapeAt], percent: u32) -> Vec<u64> {
        let capacity = u128::from(self.capacity_milli());
        let count = percent as usize + 1;
        let mut nodes = self.nodes.clone();
        let (mut arrived, mut used) = (0, 0);
        let mut at_percent = Vec::with_capacity(count);
        for at in arrivals {
            let shape = &self.shapes[at.0];
            arrived += shape.demand_milli();
            // Percentages that are passed with this pod were reached without it.
            while at_percent.len() < count
                && u128::from(arrived) * 100 > capacity * at_percent.len() as u128
            {
                at_percent.push(used);
            }
            if at_percent.len() == count {
                break;
            }
            if let Some(choice) = chooser.choose(&nodes, *at, shape) {
                nodes[choice.node].place(shape, choice.gpu);
                chooser.placed_on(choice.node, &nodes[choice.node]);
                used += shape.demand_milli();
            }
        }
        at_percent.resize(count, used);
        at_percent
    }

    fn capacity_milli(&self) -> u64 {
        self.nodes.iter().map(|node| node.gpus.len() as u64 * WHOLE_GPU).sum()
    }
}

/// The mean of several results of the same length, place by place.
#[must_use]
pub fn mean(results: &[Vec<f64>]) -> Vec<f64> {
    let places = results.first().map_or(0, Vec::len);
    let sum = |at: usize| results.iter().map(|result| result[at]).sum::<f64>();
    (0..places).map(|at| round(sum(at) / results.len() as f64)).collect()
}

/// Four digits behind the point: of ten thousand GPUs that is a hundredth of one.
fn round(percent: f64) -> f64 {
    (percent * 10_000.0).round() / 10_000.0
}

/// A policy at work.
enum Chooser {
    Random(Box<Dice>),
    BestFit,
    Fgd(Box<Fgd>),
}

impl Chooser {
    fn new(policy: Policy, trace: &Trace, seed: u64) -> Self {
        match policy {
            Policy::Random => Self::Random(Box::new(Dice::new(seed, Stream::TracePolicy))),
            Policy::BestFit => Self::BestFit,
            Policy::Fgd => Self::Fgd(Box::new(Fgd::new(trace))),
        }
    }

    /// A node that fits, and the GPU of it if the pod shares one.
    fn choose(&mut self, nodes: &[Node], at: ShapeAt, shape: &Shape) -> Option<Choice> {
        match self {
            Self::Random(dice) => random(dice, nodes, shape),
            Self::BestFit => bestfit::choose(nodes, shape),
            Self::Fgd(fgd) => fgd.choose(nodes, at, shape),
        }
    }

    /// Takes note of a node that took the pod.
    fn placed_on(&mut self, at: usize, node: &Node) {
        match self {
            Self::Random(_) | Self::BestFit => {}
            Self::Fgd(fgd) => fgd.placed_on(at, node),
        }
    }
}

fn random(dice: &mut Dice, nodes: &[Node], shape: &Shape) -> Option<Choice> {
    let fits = |at: &usize| nodes[*at].fits(shape);
    let feasible: Vec<usize> = (0..nodes.len()).filter(fits).collect();
    let node = (!feasible.is_empty()).then(|| dice.pick(&feasible))?;
    let gpu = shape.is_shared().then(|| {
        let gpus: Vec<usize> = nodes[node].gpus_for(shape).collect();
        dice.pick(&gpus)
    });
    Some(Choice { node, gpu })
}
