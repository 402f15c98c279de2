//! Alibaba's openb trace with the method of the FGD paper (Weng et al., USENIX ATC 2023): pods of
//! the trace arrive until they ask for more GPUs than there are, are placed one by one, and none
//! leaves. What counts is how much of the GPUs is allocated by then. In [`departures`] pods leave
//! as well.
//!
//! Nothing here is part of the scheduler. The baselines are the published ones, kept to the letter,
//! coarse scores and tie-break included: a simulator that does not reproduce their figures proves
//! nothing about other policies either.

mod arrivals;
mod baseline;
mod bestfit;
pub mod departures;
mod fgd;
mod node;
mod read;
mod shapes;
mod shipped;
#[cfg(test)]
mod tests;

use crate::trace::csv::TraceError;
pub use baseline::Baseline;
use baseline::Cluster;
use node::Node;
pub use read::read;
use shapes::{Shape, ShapeAt};
use shipped::Shipped;
pub use shipped::{Demand, Misplaced};

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
    /// When each of them came and went, if the file tells.
    lives: Result<Vec<Life>, TraceError>,
}

/// When a pod was made and deleted, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Life {
    created: u64,
    deleted: u64,
}

/// Who places the pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// A baseline as it was published.
    Published(Baseline),
    /// The scheduler as it is shipped: the engine with its profile `kubenexus-scheduler`.
    Kubenexus(Demand),
}

impl Policy {
    /// Whether the seed changes what it decides about the same pods.
    #[must_use]
    pub fn draws(self) -> bool {
        match self {
            Self::Published(baseline) => baseline == Baseline::Random,
            // It draws among nodes that are equally good.
            Self::Kubenexus(_) => true,
        }
    }
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
    ///
    /// # Errors
    /// When the scheduler places pods where they do not fit.
    pub fn allocation(
        &self,
        policy: Policy,
        seed: u64,
        percent: u32,
    ) -> Result<Vec<f64>, Misplaced> {
        let arrivals = self.arrivals(seed, percent);
        let used = match policy {
            Policy::Published(baseline) => {
                let mut cluster = Cluster::new(baseline, self, seed);
                self.used_milli(&arrivals, percent, |at| cluster.place(self, at).is_some())
            }
            Policy::Kubenexus(demand) => {
                let mut shipped = Shipped::new(self, demand, seed);
                let used = self.used_milli(&arrivals, percent, |at| shipped.offer(at));
                shipped.finish()?;
                used
            }
        };
        let capacity = self.capacity_milli() as f64;
        Ok(used.into_iter().map(|used| round(used as f64 * 100.0 / capacity)).collect())
    }

    /// What is allocated at each arrival percentage, in thousandths of a GPU, if `place` finds a
    /// place for a pod or drops it.
    fn used_milli(
        &self,
        arrivals: &[ShapeAt],
        percent: u32,
        mut place: impl FnMut(ShapeAt) -> bool,
    ) -> Vec<u64> {
        let capacity = u128::from(self.capacity_milli());
        let count = percent as usize + 1;
        let (mut arrived, mut used) = (0, 0);
        let mut at_percent = Vec::with_capacity(count);
        for at in arrivals {
            let demand = self.shapes[at.0].demand_milli();
            arrived += demand;
            // Percentages that are passed with this pod were reached without it.
            while at_percent.len() < count
                && u128::from(arrived) * 100 > capacity * at_percent.len() as u128
            {
                at_percent.push(used);
            }
            if at_percent.len() == count {
                break;
            }
            if place(*at) {
                used += demand;
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
