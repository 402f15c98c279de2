//! Pods that come and leave, and run as long as they did in the trace.
//!
//! When they come cannot be taken from the trace: its pods never asked for more than about a
//! hundredth of the GPUs at once, 99 of a hundred came in the last quarter of five months, and a
//! few that ran for months are most of the GPU time. So they come in the order of the trace,
//! several times over, and evenly, so fast that they would use the GPU time that is asked for if
//! none had to wait.
//!
//! Who waits is tried in the order of arrival whenever a pod arrives or leaves, and one that does
//! not fit lets the others pass. What counts is how much of all GPU time is allocated until the
//! last arrival.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use model::{Millis, Time};
use serde::Serialize;

use super::baseline::{Cluster, Placed};
use super::shapes::ShapeAt;
use super::shipped::{PodAt, Shipped};
use super::{Baseline, Demand, Life, Misplaced, Policy, Trace, round};
use crate::report::percentile;
use crate::trace::csv::TraceError;

/// How often every pod of the trace comes.
const ROUNDS: usize = 5;
/// Longer than any run: a thousand years.
const HORIZON_MAX: u64 = 1000 * 366 * 86_400_000;

/// When pods arrive, and how long they run.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// In the order of arrival.
    arrivals: Vec<Arrival>,
    /// When the last arrives.
    horizon: Time,
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Time,
    shape: ShapeAt,
    runs: Millis,
}

/// What came of a run until the last arrival.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// GPU time that was allocated, in percent of all there was.
    pub allocated: f64,
    /// Pods that started.
    pub started: f64,
    /// How long pods waited in the mean, in milliseconds. One that did not start counts with what
    /// it waited so far.
    pub wait_mean_ms: f64,
    /// What 99 of a hundred did not wait longer than, counted likewise.
    pub wait_p99_ms: f64,
}

impl Outcome {
    /// The mean of several, which are not none.
    #[must_use]
    pub fn mean(outcomes: &[Self]) -> Self {
        let mean = |value: fn(&Self) -> f64| {
            round(outcomes.iter().map(value).sum::<f64>() / outcomes.len() as f64)
        };
        Self {
            allocated: mean(|outcome| outcome.allocated),
            started: mean(|outcome| outcome.started),
            wait_mean_ms: mean(|outcome| outcome.wait_mean_ms),
            wait_p99_ms: mean(|outcome| outcome.wait_p99_ms),
        }
    }
}

impl Schedule {
    /// From the first arrival to the last.
    #[must_use]
    pub fn horizon(&self) -> Millis {
        Millis(self.horizon.0)
    }

    /// How many pods arrive.
    #[must_use]
    pub fn pods(&self) -> usize {
        self.arrivals.len()
    }
}

impl Trace {
    /// The pods of the trace, in the order in which they were made and several times over. If none
    /// had to wait, they would use `load_permille` thousandths of the GPU time that there is until
    /// the last arrival, or as much as they can if that is less.
    ///
    /// # Errors
    /// When the file does not tell when pods were made and deleted, or not so that it could be
    /// used.
    pub fn schedule(&self, load_permille: u64) -> Result<Schedule, TraceError> {
        self.schedule_of(ROUNDS, load_permille)
    }

    fn schedule_of(&self, rounds: usize, load_permille: u64) -> Result<Schedule, TraceError> {
        let lives = self.lives.as_ref().map_err(Clone::clone)?;
        let mut pods: Vec<_> = self.pods.iter().zip(lives).collect();
        // Stable: pods that are made together stay in the order of the file.
        pods.sort_by_key(|(_, life)| life.created);
        let arrival = |(pod, life): &(&ShapeAt, &Life)| Arrival {
            at: Time::default(),
            shape: **pod,
            runs: Millis::seconds(life.deleted - life.created),
        };
        let round: Vec<Arrival> = pods.iter().map(arrival).collect();
        let mut arrivals = round.repeat(rounds);
        let offered = u128::from(self.capacity_milli()) * u128::from(load_permille);
        // The longest time in which they ask for as much. The more time there is, the less of it
        // they use.
        let (mut horizon, mut beyond) = (1, HORIZON_MAX);
        while beyond - horizon > 1 {
            let middle = u64::midpoint(horizon, beyond);
            if self.asked(&arrivals, middle) * 1000 >= offered * u128::from(middle) {
                horizon = middle;
            } else {
                beyond = middle;
            }
        }
        let count = arrivals.len();
        for (at, arrival) in arrivals.iter_mut().enumerate() {
            arrival.at = even(at, count, horizon);
        }
        Ok(Schedule { arrivals, horizon: Time(horizon) })
    }

    /// What pods would use until the horizon if they came evenly until then and none had to wait,
    /// in thousandths of a GPU times milliseconds.
    fn asked(&self, arrivals: &[Arrival], horizon: u64) -> u128 {
        let used = |(at, arrival): (usize, &Arrival)| {
            let left = horizon - even(at, arrivals.len(), horizon).0;
            u128::from(self.shapes[arrival.shape.0].demand_milli())
                * u128::from(arrival.runs.0.min(left))
        };
        arrivals.iter().enumerate().map(used).sum()
    }

    /// Lets pods come and leave.
    ///
    /// # Errors
    /// When the scheduler places pods where they do not fit.
    pub fn outcome(
        &self,
        schedule: &Schedule,
        policy: Policy,
        seed: u64,
    ) -> Result<Outcome, Misplaced> {
        let mut calendar = Calendar::new(schedule);
        match policy {
            Policy::Published(baseline) => self.sweep(&mut calendar, baseline, seed),
            Policy::Kubenexus(demand) => self.schedule_all(&mut calendar, demand, seed)?,
        }
        Ok(self.summary(schedule, &calendar.starts))
    }

    /// A baseline with a list of those that wait.
    fn sweep(&self, calendar: &mut Calendar<'_>, baseline: Baseline, seed: u64) {
        let mut cluster = Cluster::new(baseline, self, seed);
        let mut placed: Vec<Option<Placed>> = vec![None; calendar.schedule.arrivals.len()];
        let mut waiting = Waiting::new(self.shapes.len());
        while let Some(now) = calendar.next_at() {
            let mut freed = BTreeSet::new();
            while let Some(pod) = calendar.take_end(now) {
                let gone = placed[pod].take().expect("a pod that ends is on a node");
                cluster.release(self, calendar.shape(pod), &gone);
                freed.insert(gone.node);
            }
            // What is freed can only help on the nodes where it is.
            waiting.hope(|shape| {
                freed.iter().any(|node| cluster.nodes[*node].fits(&self.shapes[shape.0]))
            });
            while let Some(pod) = calendar.take_arrival(now) {
                waiting.add(pod, calendar.shape(pod));
            }
            while let Some((pod, shape)) = waiting.next() {
                match cluster.place(self, shape) {
                    Some(found) => {
                        placed[pod] = Some(found);
                        waiting.started(shape);
                        calendar.start(pod, now);
                    }
                    None => waiting.failed(shape),
                }
            }
        }
    }

    /// The scheduler with its own queue.
    fn schedule_all(
        &self,
        calendar: &mut Calendar<'_>,
        demand: Demand,
        seed: u64,
    ) -> Result<(), Misplaced> {
        let mut shipped = Shipped::new(self, demand, seed);
        let horizon = calendar.schedule.horizon;
        loop {
            let wakeup = shipped.next_wakeup().filter(|at| *at <= horizon);
            let Some(now) = calendar.next_at().into_iter().chain(wakeup).min() else { break };
            while let Some(pod) = calendar.take_end(now) {
                shipped.leave(PodAt(pod), now);
            }
            while let Some(pod) = calendar.take_arrival(now) {
                shipped.arrive(calendar.shape(pod), now);
            }
            for PodAt(pod) in shipped.decide(now) {
                calendar.start(pod, now);
            }
        }
        shipped.finish()
    }

    fn summary(&self, schedule: &Schedule, starts: &[Option<Time>]) -> Outcome {
        let horizon = schedule.horizon;
        let (mut gpu_ms, mut waits_ms) = (0_u128, Vec::new());
        for (arrival, start) in schedule.arrivals.iter().zip(starts) {
            waits_ms.push(start.unwrap_or(horizon).0 - arrival.at.0);
            let demand = u128::from(self.shapes[arrival.shape.0].demand_milli());
            let end = start.map(|start| (start + arrival.runs).min(horizon).0 - start.0);
            gpu_ms += demand * u128::from(end.unwrap_or(0));
        }
        waits_ms.sort_unstable();
        let sum: u128 = waits_ms.iter().map(|wait| u128::from(*wait)).sum();
        let offered = u128::from(self.capacity_milli()) * u128::from(horizon.0);
        Outcome {
            allocated: round(gpu_ms as f64 * 100.0 / offered as f64),
            started: starts.iter().flatten().count() as f64,
            wait_mean_ms: (sum / waits_ms.len() as u128) as f64,
            wait_p99_ms: percentile(&waits_ms, 99) as f64,
        }
    }
}

/// When a pod comes, of so many that come evenly until the horizon.
fn even(at: usize, count: usize, horizon: u64) -> Time {
    let ms = at as u128 * u128::from(horizon) / (count as u128 - 1).max(1);
    Time(u64::try_from(ms).expect("it is not beyond the horizon"))
}

/// Pods that wait, by what they ask for: of those that ask for the same, the first is tried.
struct Waiting {
    by_shape: Vec<VecDeque<usize>>,
    /// Shapes that fit nowhere as things are. Placements only make things worse.
    is_hopeless: Vec<bool>,
    /// The first pod of every shape that is not hopeless.
    first: BTreeSet<(usize, usize)>,
}

impl Waiting {
    fn new(shapes: usize) -> Self {
        Self {
            by_shape: vec![VecDeque::new(); shapes],
            is_hopeless: vec![false; shapes],
            first: BTreeSet::new(),
        }
    }

    /// A pod arrives.
    fn add(&mut self, pod: usize, shape: ShapeAt) {
        self.by_shape[shape.0].push_back(pod);
        self.list(shape);
    }

    /// Who may fit again.
    fn hope(&mut self, may_fit: impl Fn(ShapeAt) -> bool) {
        for shape in 0..self.is_hopeless.len() {
            if self.is_hopeless[shape] && may_fit(ShapeAt(shape)) {
                self.is_hopeless[shape] = false;
                self.list(ShapeAt(shape));
            }
        }
    }

    /// Whose turn it is.
    fn next(&self) -> Option<(usize, ShapeAt)> {
        self.first.first().map(|(pod, shape)| (*pod, ShapeAt(*shape)))
    }

    /// The pod whose turn it was has started.
    fn started(&mut self, shape: ShapeAt) {
        self.first.pop_first();
        self.by_shape[shape.0].pop_front();
        self.list(shape);
    }

    /// It fits nowhere, and neither does anyone who asks for the same.
    fn failed(&mut self, shape: ShapeAt) {
        self.first.pop_first();
        self.is_hopeless[shape.0] = true;
    }

    fn list(&mut self, shape: ShapeAt) {
        let first = self.by_shape[shape.0].front().filter(|_| !self.is_hopeless[shape.0]);
        self.first.extend(first.map(|pod| (*pod, shape.0)));
    }
}

/// What happens by itself: arrivals, and the ends of pods that started.
struct Calendar<'a> {
    schedule: &'a Schedule,
    arrived: usize,
    ends: BinaryHeap<Reverse<(Time, usize)>>,
    /// When each pod started.
    starts: Vec<Option<Time>>,
}

impl<'a> Calendar<'a> {
    fn new(schedule: &'a Schedule) -> Self {
        let starts = vec![None; schedule.arrivals.len()];
        Self { schedule, arrived: 0, ends: BinaryHeap::new(), starts }
    }

    fn shape(&self, pod: usize) -> ShapeAt {
        self.schedule.arrivals[pod].shape
    }

    /// When something happens next, up to the last arrival.
    fn next_at(&self) -> Option<Time> {
        let arrival = self.schedule.arrivals.get(self.arrived).map(|arrival| arrival.at);
        let end = self.ends.peek().map(|Reverse((at, _))| *at);
        let next = arrival.into_iter().chain(end).min();
        next.filter(|at| *at <= self.schedule.horizon)
    }

    /// A pod that ends by then.
    fn take_end(&mut self, now: Time) -> Option<usize> {
        let Reverse((at, pod)) = *self.ends.peek()?;
        (at <= now).then(|| self.ends.pop())?;
        Some(pod)
    }

    /// A pod that arrives by then.
    fn take_arrival(&mut self, now: Time) -> Option<usize> {
        let arrival = self.schedule.arrivals.get(self.arrived)?;
        if arrival.at > now {
            return None;
        }
        self.arrived += 1;
        Some(self.arrived - 1)
    }

    /// A pod starts, and will end.
    fn start(&mut self, pod: usize, now: Time) {
        self.starts[pod] = Some(now);
        self.ends.push(Reverse((now + self.schedule.arrivals[pod].runs, pod)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::openb;

    const POLICIES: [Baseline; 3] = [Baseline::Random, Baseline::BestFit, Baseline::Fgd];

    /// One node of 16 CPUs, and pods `(created, deleted, cpu_milli, num_gpu, gpu_milli)`.
    fn made(gpus: u64, pods: &[(u64, u64, u64, u64, u64)]) -> Trace {
        let nodes = format!("sn,cpu_milli,memory_mib,gpu,model\na,16000,1000,{gpus},T4\n");
        let mut file =
            "cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time\n".to_owned();
        for (created, deleted, cpu, gpus, gpu) in pods {
            file += &format!("{cpu},1,{gpus},{gpu},{created},{deleted}\n");
        }
        openb::read(("nodes.csv", &nodes), ("pods.csv", &file)).unwrap()
    }

    fn starts(trace: &Trace, schedule: &Schedule, policy: Policy, seed: u64) -> Vec<Option<u64>> {
        let mut calendar = Calendar::new(schedule);
        match policy {
            Policy::Published(baseline) => trace.sweep(&mut calendar, baseline, seed),
            Policy::Kubenexus(demand) => {
                trace.schedule_all(&mut calendar, demand, seed).unwrap();
            }
        }
        calendar.starts.iter().map(|start| start.map(|start| start.0)).collect()
    }

    #[test]
    fn pods_come_evenly_in_the_order_of_the_trace_as_fast_as_the_load_needs() {
        // Two GPUs. The pod that was made first uses both for 100 s, the other one for 100 s.
        let trace = made(2, &[(5000, 5100, 0, 1, 1000), (4000, 4100, 0, 2, 1000)]);
        // (rounds, load, times in seconds): in one round the second comes too late to count. In
        // two, the first comes again after two thirds of the time, and the second after one: with
        // 120 s they use 2 * 100 + 80 + 2 * 40 GPU seconds of 240.
        let table: [(usize, u64, &[u64]); 3] =
            [(1, 1000, &[0, 100]), (1, 500, &[0, 200]), (2, 1500, &[0, 40, 80, 120])];
        for (rounds, load, expected) in table {
            let schedule = trace.schedule_of(rounds, load).unwrap();
            // Times are cut to milliseconds, which moves the end by one.
            let arrivals = schedule.arrivals.iter();
            let found: Vec<(u64, usize)> =
                arrivals.map(|arrival| (arrival.at.0 / 1000, arrival.shape.0)).collect();
            let expected: Vec<(u64, usize)> = expected.iter().copied().zip([1, 0, 1, 0]).collect();
            assert_eq!(found, expected, "{load}");
            assert_eq!(schedule.pods(), rounds * 2);
        }
    }

    #[test]
    fn who_does_not_fit_waits_and_lets_others_pass() {
        // A GPU. A pod of 600 for 75 s; after 30 s one of 500, which waits, and after 60 s one of
        // 400, which passes. When the first leaves, the second starts. The last comes after 90 s.
        let pods = [(0, 75, 0, 1, 600), (1, 49, 0, 1, 500), (2, 62, 0, 1, 400), (3, 3, 0, 0, 0)];
        let trace = made(1, &pods);
        // 45 + 24 + 12 GPU seconds of 90.
        let schedule = trace.schedule_of(1, 900).unwrap();
        assert_eq!(schedule.horizon(), Millis(90_000));
        for policy in POLICIES {
            let policy = Policy::Published(policy);
            let expected = [Some(0), Some(75_000), Some(60_000), Some(90_000)];
            assert_eq!(starts(&trace, &schedule, policy, 1), expected, "{policy:?}");
            let outcome = trace.outcome(&schedule, policy, 1).unwrap();
            // 45 + 7.5 + 12 GPU seconds of 90.
            let expected = Outcome {
                allocated: 71.6667,
                started: 4.0,
                wait_mean_ms: 11_250.0,
                wait_p99_ms: 45_000.0,
            };
            assert_eq!(outcome, expected, "{policy:?}");
        }
    }

    #[test]
    fn who_has_not_started_counts_with_what_it_waited() {
        let pods = [(0, 250, 0, 1, 1000), (1, 101, 0, 1, 1000), (2, 2, 0, 0, 0)];
        let trace = made(1, &pods);
        // The first for 200 s, the second for 100 s.
        let schedule = trace.schedule_of(1, 1500).unwrap();
        let outcome = trace.outcome(&schedule, Policy::Published(Baseline::BestFit), 1).unwrap();
        let expected = Outcome {
            allocated: 100.0,
            started: 2.0,
            wait_mean_ms: 33_333.0,
            wait_p99_ms: 100_000.0,
        };
        assert_eq!(outcome, expected);
    }

    #[test]
    fn the_queue_of_the_scheduler_lets_pass_whom_a_list_would() {
        // One node, so that where pods go is no question, and CPU decides who fits. The numbers
        // follow from each other and look like chance.
        let pods: Vec<(u64, u64, u64, u64, u64)> = (0..400_u64)
            .map(|at| {
                let number = at * at * 7919 + at * 104_729;
                let (runs, cpu) = (1 + number % 700, 500 * (1 + number / 7 % 20));
                (at * 13, at * 13 + runs, cpu, 1, 10)
            })
            .collect();
        let trace = made(8, &pods);
        let schedule = trace.schedule_of(1, 10).unwrap();
        let by_list = starts(&trace, &schedule, Policy::Published(Baseline::BestFit), 1);
        let by_queue = starts(&trace, &schedule, Policy::Kubenexus(Demand::Learnt), 1);
        let waits = |pod: &usize| by_list[*pod] != Some(schedule.arrivals[*pod].at.0);
        assert!((0..400).filter(waits).count() > 200, "{by_list:?}");
        assert_eq!(by_queue, by_list);
    }

    #[test]
    fn files_without_times_are_refused_where_pods_leave() {
        const HEAD: &str = "cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time\n";
        let nodes = "sn,cpu_milli,memory_mib,gpu,model\na,1000,100,2,T4\n";
        let table = [
            (
                "cpu_milli,memory_mib,num_gpu,gpu_milli\n1,1,1,500\n".to_owned(),
                "pods.csv:1: expected a column \"creation_time\", found cpu_milli, memory_mib, \
                 num_gpu, gpu_milli",
            ),
            (
                format!("{HEAD}1,1,1,500,7,\n"),
                "pods.csv:2: deletion_time: expected a whole number from 0 to 1099511627776, found \
                 \"\"",
            ),
            (
                format!("{HEAD}1,1,1,500,7,6\n"),
                "pods.csv:2: deletion_time: expected no time before creation_time, found \"6\"",
            ),
            (
                format!("{HEAD}1,1,1,500,7,7\n1,1,0,0,8,9\n"),
                "pods.csv: no pod uses a GPU for any time",
            ),
        ];
        for (pods, expected) in table {
            let trace = openb::read(("nodes.csv", nodes), ("pods.csv", &pods)).unwrap();
            assert_eq!(trace.schedule(1200).unwrap_err().to_string(), expected);
        }
    }
}
