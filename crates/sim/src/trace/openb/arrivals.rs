//! Which pods arrive, and in which order.

use super::Trace;
use super::shapes::ShapeAt;
use crate::dice::{Dice, Stream};

impl Trace {
    /// The pods of the trace and, as long as less than `percent` of all GPUs is asked for, pods
    /// drawn from it, all of them shuffled. Policies see the same arrivals for the same seed.
    pub(super) fn arrivals(&self, seed: u64, percent: u32) -> Vec<ShapeAt> {
        let mut dice = Dice::new(seed, Stream::TraceArrivals);
        let demand = |pod: ShapeAt| self.shapes[pod.0].demand_milli();
        let target = u128::from(self.capacity_milli()) * u128::from(percent) / 100;
        let mut pods = self.pods.clone();
        let mut asked: u128 = pods.iter().map(|pod| u128::from(demand(*pod))).sum();
        // Some pod asks for GPUs, or the trace would not have been read: this ends.
        loop {
            let pod = dice.pick(&self.pods);
            asked += u128::from(demand(pod));
            if asked > target {
                break;
            }
            pods.push(pod);
        }
        for last in (1..pods.len()).rev() {
            let other = dice.between(0, last as u64) as usize;
            pods.swap(last, other);
        }
        pods
    }
}
