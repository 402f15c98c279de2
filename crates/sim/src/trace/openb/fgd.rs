//! FGD: fragmentation gradient descent. A GPU that typical pods cannot use is a fragment; a pod
//! goes where it adds least of that.
//!
//! Only the node that took a pod changes, so what each node is worth to each kind of pod is kept
//! until then.

mod fragments;

use std::collections::BTreeMap;

use super::Trace;
use super::node::{Choice, Node, take_whole};
use super::shapes::{Ask, Shape, ShapeAt};
use fragments::Fragments;

/// The policy, and what it remembers of each node.
pub(super) struct Fgd {
    fragments: Fragments,
    nodes: Vec<Known>,
    /// The kind of each shape.
    kinds: Vec<usize>,
    /// Scores of nodes by kind.
    scores: Vec<Vec<Score>>,
    /// GPUs of a node as they would be.
    scratch: Vec<u64>,
}

/// What is known of a node.
#[derive(Clone, Copy)]
struct Known {
    /// How often it has changed.
    changes: u32,
    /// Fragments of it as it is.
    fragments: i64,
}

/// What a node is worth to a kind of pod.
#[derive(Clone, Copy)]
struct Score {
    /// The state of the node it belongs to; none if there was no score yet.
    changes: Option<u32>,
    /// None if the pod does not fit, not counting memory.
    value: Option<u8>,
}

impl Fgd {
    pub(super) fn new(trace: &Trace) -> Self {
        let mut kind_of: BTreeMap<&Ask, usize> = BTreeMap::new();
        let mut kinds = Vec::new();
        for shape in &trace.shapes {
            let next = kind_of.len();
            kinds.push(*kind_of.entry(&shape.ask).or_insert(next));
        }
        let fragments = Fragments::new(trace);
        let known = |node| Known { changes: 0, fragments: fragments.of_node(node) };
        let unknown = vec![Score { changes: None, value: None }; trace.nodes.len()];
        Self {
            nodes: trace.nodes.iter().map(known).collect(),
            fragments,
            scores: vec![unknown; kind_of.len()],
            kinds,
            scratch: Vec::new(),
        }
    }

    /// The first of the nodes with the best score, and the first of its GPUs with that score.
    pub(super) fn choose(&mut self, nodes: &[Node], at: ShapeAt, shape: &Shape) -> Option<Choice> {
        let kind = self.kinds[at.0];
        let mut best: Option<(u8, usize)> = None;
        for (at, node) in nodes.iter().enumerate() {
            let changes = Some(self.nodes[at].changes);
            if self.scores[kind][at].changes != changes {
                let value = self.weigh(at, node, shape).map(|(score, _)| score);
                self.scores[kind][at] = Score { changes, value };
            }
            let Some(score) = self.scores[kind][at].value else { continue };
            let is_best = best.is_none_or(|(highest, _)| score > highest);
            if is_best && node.memory_mib >= shape.memory_mib {
                best = Some((score, at));
            }
        }
        let (_, node) = best?;
        let (_, gpu) = self.weigh(node, &nodes[node], shape)?;
        Some(Choice { node, gpu })
    }

    /// Takes note that a node has changed.
    pub(super) fn changed(&mut self, at: usize, node: &Node) {
        let changes = self.nodes[at].changes + 1;
        self.nodes[at] = Known { changes, fragments: self.fragments.of_node(node) };
    }

    /// The score of a node and the GPU it is for, if the pod fits, not counting memory.
    fn weigh(&mut self, at: usize, node: &Node, shape: &Shape) -> Option<(u8, Option<usize>)> {
        if !node.fits_without_memory(shape) {
            return None;
        }
        if !shape.is_shared() {
            return Some((self.score(at, node, shape, None), None));
        }
        let mut best: Option<(u8, usize)> = None;
        for gpu in node.gpus_for(shape) {
            // GPUs that have the same left are worth the same.
            if node.gpus[..gpu].contains(&node.gpus[gpu]) {
                continue;
            }
            let score = self.score(at, node, shape, Some(gpu));
            if best.is_none_or(|(highest, _)| score > highest) {
                best = Some((score, gpu));
            }
        }
        best.map(|(score, gpu)| (score, Some(gpu)))
    }

    /// What it is worth to place the pod on a node, and on a GPU if it shares one.
    fn score(&mut self, at: usize, node: &Node, shape: &Shape, gpu: Option<usize>) -> u8 {
        self.scratch.clear();
        self.scratch.extend_from_slice(&node.gpus);
        match gpu {
            Some(gpu) => self.scratch[gpu] -= shape.ask.gpu_milli,
            None => take_whole(&mut self.scratch, shape.ask.gpus),
        }
        let cpu_milli = node.cpu_milli - shape.ask.cpu_milli;
        let after = self.fragments.of(node.model, cpu_milli, &self.scratch);
        self.fragments.score(self.nodes[at].fragments - after)
    }
}
