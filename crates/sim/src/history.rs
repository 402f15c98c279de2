//! How full the cluster was, and how many pods waited, in the course of a run: samples at equal
//! distances in virtual time. There are never many, however long a run is.

use model::{Millis, Time};
use serde::Serialize;

use crate::fragmentation::{Free, Workload};
use crate::meter::Gauge;
use crate::plan::Job;
use crate::quantities::permille;
use crate::world::World;

/// How many samples a run of a known span has. When the end is not known, there are up to twice as
/// many before every second one is dropped.
const SAMPLES: usize = 240;
/// The distance that a run without a known end starts with.
const INTERVAL_MIN: Millis = Millis::seconds(1);
/// Spans beyond this are no known end.
const SPAN_KNOWN_MAX: Millis = Millis::seconds(100 * 366 * 86_400);

/// A moment of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sample {
    /// When, in virtual milliseconds since the start.
    pub at_ms: u64,
    /// Pods without a node, those whose binding is on its way not counted.
    pub waiting: u64,
    /// Pods that ever had a node.
    pub placed: u64,
    /// The whole cluster.
    pub all: Levels,
    /// Pools of nodes, in the order of the report's.
    pub pools: Vec<Levels>,
}

/// How full a part of the cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Levels {
    /// CPU.
    pub cpu: Level,
    /// Memory.
    pub memory: Level,
    /// GPUs, if there are any at this moment.
    pub gpu: Option<Level>,
}

/// How full, and how fragmented the rest is, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Level {
    /// Requested of allocatable.
    pub used_permille: u32,
    /// Of what is free, the part that is of no use; none if nothing is free, or nobody wants it.
    pub fragmented_permille: Option<u32>,
}

/// Takes samples while a run goes on.
pub(crate) struct Recorder {
    workload: Workload,
    interval: Millis,
    next: Time,
    samples: Vec<Sample>,
}

impl Recorder {
    pub(crate) fn new(jobs: &[Job], span: Millis) -> Self {
        let interval = match span {
            known if known <= SPAN_KNOWN_MAX => Millis((known.0 / SAMPLES as u64).max(1)),
            _ => INTERVAL_MIN,
        };
        let workload = Workload::of(jobs);
        Self { workload, interval, next: Time::default(), samples: Vec::new() }
    }

    /// Takes the samples that are due before the next thing happens.
    pub(crate) fn pass(&mut self, world: &World, until: Time) {
        while self.next < until {
            let sample = self.sample(world, self.next);
            self.samples.push(sample);
            if self.samples.len() == 2 * SAMPLES {
                let mut at = 0;
                self.samples.retain(|_| {
                    at += 1;
                    at % 2 == 1
                });
                self.interval = Millis(self.interval.0.saturating_mul(2));
                let last = self.samples.last().map_or(0, |sample| sample.at_ms);
                self.next = Time(last);
            }
            self.next = self.next + self.interval;
        }
    }

    /// All samples, and one of the end.
    pub(crate) fn finish(&mut self, world: &World) -> Vec<Sample> {
        self.pass(world, world.now());
        self.samples.push(self.sample(world, world.now()));
        std::mem::take(&mut self.samples)
    }

    fn sample(&self, world: &World, at: Time) -> Sample {
        let mut free = vec![Free::default(); world.pools().count()];
        for node in world.nodes().iter().filter(|node| node.is_there && !node.facts.is_closed) {
            self.workload.look_at(node, &mut free[node.pool.0]);
        }
        let gauges = || world.pools().map(|(at, _)| world.meter().gauge(at));
        let (placed, waiting) = world.placed_and_waiting();
        let pools = gauges().zip(&free).map(|(gauge, free)| self.levels(gauge, free)).collect();
        let all_free = free.iter().fold(Free::default(), |sum, free| sum.plus(free));
        let all = self.levels(&gauges().fold(Gauge::default(), Gauge::plus), &all_free);
        Sample { at_ms: at.0, waiting, placed, all, pools }
    }

    fn levels(&self, gauge: &Gauge, free: &Free) -> Levels {
        let level = |column: usize| Level {
            used_permille: permille(gauge.requested[column].into(), gauge.offered[column].into()),
            fragmented_permille: self.workload.permille(free, column),
        };
        let gpu = (gauge.offered[2] > 0).then(|| level(2));
        Levels { cpu: level(0), memory: level(1), gpu }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::Demo;
    use crate::plan::Faults;

    fn world() -> World {
        let plan = Demo { seed: 1, nodes: 10, minutes: 1 }.plan();
        World::new(
            1,
            plan.nodes,
            (plan.jobs, Vec::new()),
            Default::default(),
            Faults::NONE,
            Vec::new(),
        )
    }

    #[test]
    fn a_known_span_has_as_many_samples_as_planned() {
        let world = world();
        let mut recorder = Recorder::new(&[], Millis::seconds(3600));
        recorder.pass(&world, Time(1_800_000));
        recorder.pass(&world, Time(3_600_000));
        let times: Vec<u64> = recorder.samples.iter().map(|sample| sample.at_ms).collect();
        assert_eq!(times, (0..240).map(|at| at * 15_000).collect::<Vec<u64>>());
    }

    #[test]
    fn without_a_known_end_samples_move_apart_and_stay_evenly_spaced() {
        let world = world();
        let mut recorder = Recorder::new(&[], Millis(u64::MAX));
        for hour in 1..=72 {
            recorder.pass(&world, Time(hour * 3_600_000));
            assert!(recorder.samples.len() < 2 * SAMPLES);
        }
        assert!(recorder.samples.len() >= SAMPLES);
        let distances = recorder.samples.windows(2).map(|two| two[1].at_ms - two[0].at_ms);
        assert!(distances.into_iter().all(|distance| distance == recorder.interval.0));
        assert_eq!(recorder.samples[0].at_ms, 0);
    }
}
