//! An account of what the scheduler gave to whom, by the rules of the trace: every GPU is whole or
//! shared by what is on it, and CPU, memory and models are respected.

use std::fmt;

use model::Map;

use super::PodAt;
use crate::trace::openb::Trace;
use crate::trace::openb::baseline::Placed;
use crate::trace::openb::node::Node;
use crate::trace::openb::shapes::{Shape, ShapeAt};

/// The scheduler placed pods where they do not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misplaced {
    /// How many.
    pods: usize,
    /// How many were placed at all.
    placed: usize,
    /// What is wrong with the first.
    first: String,
}

impl fmt::Display for Misplaced {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pods, placed, first } = self;
        write!(out, "{pods} of {placed} pods were placed where they do not fit; first {first}")
    }
}

impl std::error::Error for Misplaced {}

/// What is left of every node.
pub(super) struct Account {
    nodes: Vec<Node>,
    /// Pods that are on nodes, without those that are there wrongly.
    pods: Map<usize, Placed>,
    placed: usize,
    wrong: usize,
    first: Option<String>,
}

impl Account {
    pub(super) fn new(trace: &Trace) -> Self {
        let nodes = trace.nodes.clone();
        Self { nodes, pods: Map::default(), placed: 0, wrong: 0, first: None }
    }

    /// Takes in that a pod is on GPUs of a node, or that none were found for it.
    pub(super) fn place(
        &mut self,
        (pod, node): (PodAt, usize),
        shape: &Shape,
        gpus: Option<Box<[usize]>>,
    ) {
        self.placed += 1;
        let left = &mut self.nodes[node];
        let gpus = gpus.filter(|gpus| are_free(left, shape, gpus));
        let Some(gpus) = gpus.filter(|_| left.fits(shape)) else {
            self.wrong += 1;
            self.first.get_or_insert_with(|| describe(pod, shape, left));
            return;
        };
        left.take(shape, &gpus);
        self.pods.insert(pod.0, Placed { node, gpus });
    }

    /// Takes in that a pod is gone, wherever it was.
    pub(super) fn release(&mut self, trace: &Trace, shape: ShapeAt, pod: PodAt) {
        if let Some(Placed { node, gpus }) = self.pods.remove(&pod.0) {
            self.nodes[node].release(&trace.shapes[shape.0], &gpus);
        }
    }

    /// What is wrong, if anything is.
    pub(super) fn finish(self) -> Result<(), Misplaced> {
        let Self { placed, wrong: pods, first, .. } = self;
        first.map_or(Ok(()), |first| Err(Misplaced { pods, placed, first }))
    }
}

/// Whether these are as many GPUs as a pod asks for, and each has enough left.
fn are_free(left: &Node, shape: &Shape, gpus: &[usize]) -> bool {
    let is_free = |(at, gpu): (usize, &usize)| {
        left.gpus.get(*gpu).is_some_and(|left| *left >= shape.ask.gpu_milli)
            && !gpus[..at].contains(gpu)
    };
    gpus.len() == shape.ask.gpus && gpus.iter().enumerate().all(is_free)
}

fn describe(pod: PodAt, shape: &Shape, left: &Node) -> String {
    let ask = &shape.ask;
    let models = if ask.models.0.is_empty() { "any model" } else { &ask.models.0 };
    format!(
        "pod {}, which asks for {} GPUs with {} thousandths of each, {models}, {} thousandths of a \
         CPU and {} MiB, on {}, which has {:?} of its GPUs, {}, {} and {} left",
        pod.0,
        ask.gpus,
        ask.gpu_milli,
        ask.cpu_milli,
        shape.memory_mib,
        left.name,
        left.gpus,
        left.model_name,
        left.cpu_milli,
        left.memory_mib,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::openb;

    fn trace() -> Trace {
        let nodes = "sn,cpu_milli,memory_mib,gpu,model\na,8000,100,2,T4\n";
        let pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n\
                    p,1000,1,1,600,\nq,1000,1,2,1000,\nr,1000,1,1,400,P100\ns,9000,1,0,0,\n";
        openb::read(("nodes.csv", nodes), ("pods.csv", pods)).unwrap()
    }

    /// What is said after pods, by shape and GPUs, were placed on the only node.
    fn check(pods: &[(usize, &[usize])]) -> Result<(), Misplaced> {
        let trace = trace();
        let mut account = Account::new(&trace);
        for (at, (shape, gpus)) in pods.iter().enumerate() {
            account.place((PodAt(at), 0), &trace.shapes[*shape], Some((*gpus).into()));
        }
        account.finish()
    }

    #[test]
    fn wrong_placements_by_table() {
        // (pods by shape and GPUs, how many are wrong)
        type Case<'a> = (&'a [(usize, &'a [usize])], usize);
        let table: [Case<'_>; 9] = [
            (&[(0, &[0]), (0, &[1])], 0),
            (&[(1, &[1, 0])], 0),
            // 600 and 600 are more than one.
            (&[(0, &[0]), (0, &[0])], 1),
            // A GPU that is shared is not whole.
            (&[(0, &[0]), (1, &[0, 1])], 1),
            // One GPU twice, and one that is not there.
            (&[(1, &[0, 0])], 1),
            (&[(0, &[2])], 1),
            (&[(1, &[0])], 1),
            // Another model, and more CPU than there is.
            (&[(2, &[0])], 1),
            (&[(3, &[]), (3, &[])], 2),
        ];
        for (pods, expected) in table {
            let found = check(pods).map_or_else(|wrong| wrong.pods, |()| 0);
            assert_eq!(found, expected, "{pods:?}");
        }
    }

    #[test]
    fn the_first_that_is_wrong_is_told() {
        let text = check(&[(0, &[0]), (0, &[0])]).unwrap_err().to_string();
        let expected = "1 of 2 pods were placed where they do not fit; first pod 1, which asks for \
                        1 GPUs with 600 thousandths of each, any model, 1000 thousandths of a CPU \
                        and 1 MiB, on a, which has [400, 1000] of its GPUs, T4, 7000 and 99 left";
        assert_eq!(text, expected);
    }

    #[test]
    fn what_a_pod_took_is_there_again_when_it_is_gone() {
        let trace = trace();
        let mut account = Account::new(&trace);
        for pod in [0, 1, 2].map(PodAt) {
            account.place((pod, 0), &trace.shapes[1], Some([0, 1].into()));
            account.release(&trace, ShapeAt(1), pod);
        }
        assert_eq!(account.finish(), Ok(()));
    }
}
