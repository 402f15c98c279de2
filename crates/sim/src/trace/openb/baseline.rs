//! The baselines of the paper at work.

use super::Trace;
use super::bestfit;
use super::fgd::Fgd;
use super::node::{Choice, Node};
use super::shapes::{Shape, ShapeAt};
use crate::dice::{Dice, Stream};

/// How a node is chosen, and a GPU of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// Any node that fits, any GPU that fits.
    Random,
    /// The node that has least CPU and GPU left, the GPU that has least left.
    BestFit,
    /// Where fragments of GPUs grow least: fragmentation gradient descent.
    Fgd,
}

/// Nodes on which a baseline places pods.
pub(super) struct Cluster {
    pub(super) nodes: Vec<Node>,
    chooser: Chooser,
}

/// Where a pod is.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) node: usize,
    /// The GPUs it uses.
    pub(super) gpus: Box<[usize]>,
}

impl Cluster {
    pub(super) fn new(baseline: Baseline, trace: &Trace, seed: u64) -> Self {
        Self { nodes: trace.nodes.clone(), chooser: Chooser::new(baseline, trace, seed) }
    }

    /// Places a pod if it fits anywhere.
    pub(super) fn place(&mut self, trace: &Trace, at: ShapeAt) -> Option<Placed> {
        let shape = &trace.shapes[at.0];
        let Choice { node, gpu } = self.chooser.choose(&self.nodes, at, shape)?;
        let gpus = self.nodes[node].place(shape, gpu);
        self.chooser.changed(node, &self.nodes[node]);
        Some(Placed { node, gpus })
    }

    /// Takes a pod away.
    pub(super) fn release(&mut self, trace: &Trace, at: ShapeAt, placed: &Placed) {
        let node = &mut self.nodes[placed.node];
        node.release(&trace.shapes[at.0], &placed.gpus);
        self.chooser.changed(placed.node, node);
    }
}

/// A baseline, and what it remembers.
pub(super) enum Chooser {
    Random(Box<Dice>),
    BestFit,
    Fgd(Box<Fgd>),
}

impl Chooser {
    pub(super) fn new(baseline: Baseline, trace: &Trace, seed: u64) -> Self {
        match baseline {
            Baseline::Random => Self::Random(Box::new(Dice::new(seed, Stream::TracePolicy))),
            Baseline::BestFit => Self::BestFit,
            Baseline::Fgd => Self::Fgd(Box::new(Fgd::new(trace))),
        }
    }

    /// A node that fits, and the GPU of it if the pod shares one.
    pub(super) fn choose(&mut self, nodes: &[Node], at: ShapeAt, shape: &Shape) -> Option<Choice> {
        match self {
            Self::Random(dice) => random(dice, nodes, shape),
            Self::BestFit => bestfit::choose(nodes, shape),
            Self::Fgd(fgd) => fgd.choose(nodes, at, shape),
        }
    }

    /// Takes note of a node that took a pod, or lost one.
    fn changed(&mut self, at: usize, node: &Node) {
        match self {
            Self::Random(_) | Self::BestFit => {}
            Self::Fgd(fgd) => fgd.changed(at, node),
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
