//! What arrives: services that stay, batch jobs that end, inference, tuning and training on GPUs,
//! and a few pods that wait to the end. Sized by the cluster, so that it gets busy but not buried.

mod shapes;

use model::Millis;

use crate::cluster::Group;
use crate::dice::{Dice, Stream};
use crate::plan::{Job, NodePlan};
use crate::quantities::{Columns, columns};

/// What a job is; the namespace of its pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Service,
    Batch,
    /// On few GPUs, before training comes.
    Tuning,
    /// On all GPUs of a machine.
    Training,
    Inference,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Batch => "batch",
            Self::Tuning => "tuning",
            Self::Training => "training",
            Self::Inference => "inference",
        }
    }

    fn priority(self) -> i32 {
        match self {
            Self::Inference => 2000,
            Self::Service => 1000,
            Self::Tuning | Self::Training => 100,
            Self::Batch => 0,
        }
    }
}

/// How long after the start tuning has come and training begins to.
pub(crate) fn eve(span: Millis) -> Millis {
    Millis(span.0 * 2 / 5)
}

/// Resource time a job takes: amounts times the milliseconds it holds them, at most `span`.
fn cost(job: &Job, column: usize, span: Millis) -> i128 {
    let held = job.runs.map_or(span.0, |(low, high)| low.0.midpoint(high.0).min(span.0));
    let amount = columns(&job.spec.requests.fit)[column];
    i128::from(amount) * i128::from(job.pods) * i128::from(held)
}

/// Everything that arrives within `span`, in the order of arrival.
pub(crate) fn plan(seed: u64, nodes: &[NodePlan], span: Millis) -> Vec<Job> {
    const CPU: usize = 0;
    const MEMORY: usize = 1;
    const GPUS: usize = 2;
    let mut drawing =
        Drawing { dice: Dice::new(seed, Stream::Workload), nodes, span, jobs: Vec::new() };
    // Shares of each group's resource over the whole span. What tuning leaves is enough for
    // training, if it is left in whole machines.
    drawing.fill(&[Group::General], CPU, 40, shapes::service);
    drawing.fill(&[Group::Memory], MEMORY, 60, shapes::memory_service);
    drawing.fill(&[Group::General, Group::Spot], CPU, 30, shapes::batch);
    drawing.fill(&[Group::GpuA100], GPUS, 25, shapes::tuning);
    drawing.fill(&[Group::GpuA100], GPUS, 20, shapes::training);
    drawing.fill(&[Group::GpuL4], GPUS, 80, shapes::inference);
    for stranded in shapes::STRANDED {
        drawing.add(stranded);
    }
    drawing.jobs.sort_by(|a, b| (a.at, &a.name).cmp(&(b.at, &b.name)));
    drawing.jobs
}

struct Drawing<'a> {
    dice: Dice,
    nodes: &'a [NodePlan],
    span: Millis,
    jobs: Vec<Job>,
}

impl Drawing<'_> {
    /// Adds jobs of a shape until they take `percent` of a resource of some groups.
    fn fill(&mut self, groups: &[Group], column: usize, percent: i128, shape: shapes::Shape) {
        let of_groups =
            self.nodes.iter().filter(|plan| groups.iter().any(|group| *plan.pool == *group.name()));
        let offered = |plan: &NodePlan| -> Columns { columns(&plan.facts.allocatable) };
        let room: i128 = of_groups.map(|plan| i128::from(offered(plan)[column])).sum();
        let mut left = room * i128::from(self.span.0) * percent / 100;
        while left > 0 {
            let span = self.span;
            left -= cost(self.add(shape), column, span);
        }
    }

    fn add(&mut self, shape: shapes::Shape) -> &Job {
        let mut job = shape(&mut self.dice, self.span);
        job.name = format!("{}-{}", job.name, self.jobs.len() + 1);
        self.jobs.push(job);
        self.jobs.last().expect("just added")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster;

    #[test]
    fn every_sort_of_job_arrives_within_the_span() {
        let span = Millis::seconds(3600);
        let jobs = plan(42, &cluster::plan(42, 200, span), span);
        for kind in [Kind::Service, Kind::Batch, Kind::Tuning, Kind::Training, Kind::Inference] {
            assert!(jobs.iter().any(|job| job.spec.namespace == kind.name()), "{kind:?}");
        }
        assert!(jobs.iter().all(|job| job.at.0 < span.0 && job.pods > 0));
        let has = |is: fn(&Job) -> bool| jobs.iter().any(is);
        assert!(has(|job| job.gates.is_some()));
        assert!(has(|job| !job.spec.ports.is_empty()));
        assert!(has(|job| !job.spec.preferred.is_empty()));
        assert!(has(|job| job.spec.required.is_some()));
        assert!(has(|job| !job.spec.node_selector.is_empty()));
    }

    #[test]
    fn an_empty_cluster_gets_only_pods_that_would_wait_anyway() {
        let jobs = plan(42, &[], Millis::seconds(60));
        assert_eq!(jobs.len(), shapes::STRANDED.len());
    }
}
