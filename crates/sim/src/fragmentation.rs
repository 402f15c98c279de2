//! How much of what is free is of no use.
//!
//! Take a free unit of a resource at random, and a pod of the workload that could want it: the
//! fragmentation is the chance that the pod does not fit on the unit's node. It fits when the node
//! has the CPU, the memory, the GPUs and the room for one more pod; labels and taints do not count.
//! GPUs are compared with the pods that ask for GPUs, CPU and memory with those that do not. The
//! workload is what arrives without a node, each pod with the same weight.

use std::collections::BTreeMap;

use crate::plan::Job;
use crate::quantities::{Columns, add, columns, permille};
use crate::world::NodeRecord;

/// The commonest requests on each side; rarer ones hardly move the result.
const SHAPES_MAX: usize = 32;

/// What the pods of a workload ask for.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    without_gpus: Shapes,
    with_gpus: Shapes,
}

#[derive(Clone, Debug, Default)]
struct Shapes {
    /// Requests, and how many pods have them.
    shapes: Vec<(Columns, u64)>,
    pods: u64,
}

/// What is free, and how much of it is of no use.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Free {
    amounts: Columns,
    /// Amount times the pods that cannot use it.
    stranded: [i128; 3],
}

impl Workload {
    pub(crate) fn of(jobs: &[Job]) -> Self {
        let [mut without_gpus, mut with_gpus] = [BTreeMap::new(), BTreeMap::new()];
        for job in jobs.iter().filter(|job| job.node.is_none()) {
            let request = columns(&job.spec.requests.fit);
            let side = if request[2] > 0 { &mut with_gpus } else { &mut without_gpus };
            *side.entry(request).or_insert(0u64) += job.pods.saturating_add(job.followers);
        }
        Self { without_gpus: Shapes::new(without_gpus), with_gpus: Shapes::new(with_gpus) }
    }

    /// Adds what is free on a node.
    pub(crate) fn look_at(&self, node: &NodeRecord, free: &mut Free) {
        let offered = columns(&node.facts.allocatable);
        let left: Columns = std::array::from_fn(|at| (offered[at] - node.taken[at]).max(0));
        let is_full = i64::try_from(node.pods.len()).is_ok_and(|pods| pods >= node.facts.pods_max);
        let misfits = [&self.without_gpus, &self.with_gpus].map(|side| side.misfits(left, is_full));
        add(&mut free.amounts, left, 1);
        for (at, misfits) in [misfits[0], misfits[0], misfits[1]].into_iter().enumerate() {
            free.stranded[at] += i128::from(left[at]) * i128::from(misfits);
        }
    }

    /// The fragmentation of a resource in thousandths, if any of it is free and anyone wants it.
    pub(crate) fn permille(&self, free: &Free, column: usize) -> Option<u32> {
        let side = if column == 2 { &self.with_gpus } else { &self.without_gpus };
        let whole = i128::from(free.amounts[column]) * i128::from(side.pods);
        (whole > 0).then(|| permille(free.stranded[column], whole))
    }
}

impl Shapes {
    fn new(counts: BTreeMap<Columns, u64>) -> Self {
        let mut shapes: Vec<(Columns, u64)> = counts.into_iter().collect();
        // Stable: requests that are equally common stay in the order of their size.
        shapes.sort_by_key(|(_, pods)| std::cmp::Reverse(*pods));
        shapes.truncate(SHAPES_MAX);
        let pods = shapes.iter().fold(0, |sum: u64, (_, pods)| sum.saturating_add(*pods));
        Self { shapes, pods }
    }

    /// How many pods do not fit into what is left.
    fn misfits(&self, left: Columns, is_full: bool) -> u64 {
        if is_full {
            return self.pods;
        }
        let fits = |request: &Columns| request.iter().zip(left).all(|(asked, left)| *asked <= left);
        let misfits = self.shapes.iter().filter(|(request, _)| !fits(request));
        misfits.map(|(_, pods)| pods).sum()
    }
}

impl Free {
    /// The sum of two parts of a cluster.
    pub(crate) fn plus(mut self, other: &Self) -> Self {
        add(&mut self.amounts, other.amounts, 1);
        for (sum, more) in self.stranded.iter_mut().zip(other.stranded) {
            *sum += more;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use model::{Millis, NodeFacts};

    use super::*;
    use crate::meter::PoolAt;
    use crate::plan::NodePlan;
    use crate::quantities::{amounts, requests};
    use crate::workload;

    fn node(taken: Columns) -> NodeRecord {
        let allocatable = amounts(8000, 1024, 8);
        let facts = NodeFacts { allocatable, pods_max: 110, ..NodeFacts::default() };
        let mut record = NodeRecord::new(PoolAt(0), NodePlan::new("pool", facts));
        record.taken = taken;
        record
    }

    fn jobs(shapes: &[(u64, i64, i64)]) -> Vec<Job> {
        let any = workload::plan(1, &[], Millis::seconds(60)).remove(0);
        let job = |&(pods, cpu, gpus): &(u64, i64, i64)| {
            let mut job = any.clone();
            job.pods = pods;
            job.spec.requests = requests(cpu, 0, gpus);
            job
        };
        shapes.iter().map(job).collect()
    }

    #[test]
    fn a_free_gpu_is_worth_the_pods_that_fit_on_its_node() {
        // Three of four GPU pods ask for four GPUs, one asks for one.
        let workload = Workload::of(&jobs(&[(3, 100, 4), (1, 100, 1), (50, 100, 0)]));
        // (taken of each node, fragmentation of GPUs)
        let table: [(&[Columns], Option<u32>); 6] = [
            (&[[0, 0, 0]], Some(0)),
            (&[[0, 0, 4]], Some(0)),
            (&[[0, 0, 5]], Some(750)),
            (&[[0, 0, 5], [0, 0, 8]], Some(750)),
            (&[[0, 0, 5], [0, 0, 0]], Some(205)),
            (&[[8000, 0, 0]], Some(1000)),
        ];
        for (taken, expected) in table {
            let mut free = Free::default();
            taken.iter().for_each(|taken| workload.look_at(&node(*taken), &mut free));
            assert_eq!(workload.permille(&free, 2), expected, "{taken:?}");
        }
        let mut nothing = Free::default();
        workload.look_at(&node([0, 0, 8]), &mut nothing);
        assert_eq!(workload.permille(&nothing, 2), None, "nothing is free");
    }

    #[test]
    fn cpu_beside_exhausted_memory_is_stranded_and_bound_pods_are_no_workload() {
        let mut jobs = jobs(&[(1, 1000, 0), (9, 9000, 0)]);
        jobs[0].spec.requests = requests(1000, 512, 0);
        jobs[1].node = Some("node".to_owned());
        let workload = Workload::of(&jobs);
        let mut free = Free::default();
        workload.look_at(&node([0, 513 << 20, 0]), &mut free);
        assert_eq!(
            [0, 1, 2].map(|at| workload.permille(&free, at)),
            [Some(1000), Some(1000), None]
        );
        let sum = Free::default().plus(&free);
        assert_eq!(workload.permille(&sum, 0), Some(1000));
    }
}
