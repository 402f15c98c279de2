//! The parts of the benchmark, one after the other.

mod gangs;
mod idle;
mod in_flight;
mod latency;
mod memory;
mod numa;
mod preemption;
mod racks;
mod restart;
mod throughput;
mod volumes;
mod whole;

use std::time::Instant;

use anyhow::{Context as _, Result};
use clap::ValueEnum;

use crate::Args;
use crate::contender::Contender;
use crate::figures::Figures;
use crate::objects::Workload;
use crate::stage::Programs;
use crate::usage::Neighbours;

/// What can be measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Pods per second, CPU time per pod and memory of all contenders
    Throughput,
    /// The same for pods of 3,600 sizes
    Sizes,
    /// The same for plain pods while they arrive
    Arrival,
    /// Pods that must be spread over zones, at 1,000 nodes
    Spread,
    /// Pods that must be in zones with others, at 1,000 nodes
    Affinity,
    /// Pods that must be on nodes without others, by namespace selector, at 1,000 nodes
    AntiAffinity,
    /// 500 pods in place of others on 500 full nodes
    Preemption,
    /// Native gangs of three at 5,000 nodes
    Gangs,
    /// Native gangs of 8 and of 50, one at a time, and 100 at once, at 1,000 nodes
    GangLatency,
    /// Native gangs of 4 and of 1,000, each within one rack, at 5,000 nodes in 50 racks
    Racks,
    /// 2,000 pods of which each has a claim that waits for it, at 1,000 nodes
    Volumes,
    /// Peak memory at 1,000 nodes and 10,000 pods, also with NUMA nodes and GPUs told
    Memory,
    /// From the creation of a pod until it is bound, one at a time
    Latency,
    /// The same for pods that NUMA nodes and GPUs matter to, beside a null binder
    Numa,
    /// The whole of our own profile: services, GPUs, gangs with a preferred rack, bare pods; from
    /// creation to bound, pods per second and memory beside null binders, at 1,000 nodes
    Whole,
    /// Start with 5,000 nodes and 20,000 bound pods
    Restart,
    /// CPU when nothing happens, and at 500 pods per second
    Idle,
    /// The number of bindings in flight that suits the null binder best; only on request
    InFlight,
}

const DEFAULT: [Part; 17] = [
    Part::Throughput,
    Part::Sizes,
    Part::Arrival,
    Part::Spread,
    Part::Affinity,
    Part::AntiAffinity,
    Part::Preemption,
    Part::Gangs,
    Part::GangLatency,
    Part::Racks,
    Part::Volumes,
    Part::Latency,
    Part::Numa,
    Part::Whole,
    Part::Idle,
    Part::Memory,
    Part::Restart,
];

/// How large everything is.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    pub(crate) repeats: usize,
    /// Nodes of the runs for throughput.
    pub(crate) nodes: Vec<usize>,
    /// Pods of a run.
    pub(crate) pods: usize,
    /// Nodes and pods of the run for memory.
    pub(crate) memory: (usize, usize),
    /// Pods that are created one at a time.
    pub(crate) single_pods: usize,
    /// Nodes and bound pods of a restart.
    pub(crate) restart: (usize, usize),
    /// Nodes that are full, and pods that take the place of others on them.
    pub(crate) preemption: (usize, usize),
    /// Nodes, and gangs of three on them.
    pub(crate) gangs: (usize, usize),
    /// Gangs of 8, and of 50, that are created one at a time.
    pub(crate) single_gangs: [usize; 2],
    /// Nodes in racks, and gangs of 4 and of 1,000 on them.
    pub(crate) racks: (usize, [usize; 2]),
    /// Nodes, and pods with a claim each.
    pub(crate) volumes: (usize, usize),
    /// Seconds of nothing, and of 500 pods per second.
    pub(crate) idle_seconds: u64,
}

impl Sizes {
    fn of(args: &Args) -> Self {
        let mut sizes = Self::before_flags(args);
        if let Some(nodes) = args.nodes {
            sizes.nodes = vec![nodes.max(1)];
            sizes.volumes.0 = nodes.max(1);
        }
        if let Some(pods) = args.pods {
            // A rate needs a first pod and a last one.
            sizes.pods = pods.max(2);
            sizes.volumes.1 = pods.max(2);
        }
        sizes
    }

    fn before_flags(args: &Args) -> Self {
        let usual = Self {
            repeats: args.repeats.max(1),
            nodes: vec![1_000, 5_000],
            pods: 5_000,
            memory: (1_000, 10_000),
            single_pods: 300,
            restart: (5_000, 20_000),
            preemption: (500, 500),
            gangs: (5_000, 3_000),
            single_gangs: [100, 20],
            racks: (5_000, [2_000, 2]),
            volumes: (1_000, 2_000),
            idle_seconds: 10,
        };
        if !args.quick {
            return usual;
        }
        Self {
            repeats: 1,
            nodes: vec![1_000],
            pods: 2_000,
            single_pods: 100,
            restart: (1_000, 5_000),
            preemption: (100, 100),
            gangs: (1_000, 500),
            single_gangs: [30, 5],
            racks: (1_000, [500, 1]),
            volumes: (1_000, 500),
            idle_seconds: 3,
            ..usual
        }
    }
}

/// What every part is given.
pub(crate) struct Bench {
    pub(crate) programs: Programs,
    pub(crate) sizes: Sizes,
    pub(crate) figures: Figures,
}

impl Bench {
    /// Those of some contenders that can be started.
    pub(crate) fn present(&self, contenders: &[Contender]) -> Vec<Contender> {
        let has_ours = self.programs.kubenexus.is_some();
        let is_present = |contender: &Contender| match contender {
            Contender::KubeNexus => has_ours,
            Contender::NullBinder | Contender::WatchingNullBinder | Contender::KubeScheduler => {
                true
            }
        };
        contenders.iter().copied().filter(is_present).collect()
    }
}

/// Both schedulers.
pub(crate) const SCHEDULERS: [Contender; 2] = [Contender::KubeScheduler, Contender::KubeNexus];

/// Measures all parts, or those that are asked for. A part that fails does not spoil the others:
/// tells whether none did.
pub(crate) async fn run(args: &Args) -> Result<bool> {
    let programs = Programs {
        control_plane: args.control_plane.clone().context("no --control-plane FOLDER is given")?,
        kubenexus: args.kubenexus.clone(),
        in_flight: args.in_flight,
        keeps_folder: args.keep,
    };
    introduce(&programs);
    if programs.kubenexus.is_none() {
        println!("No --kubenexus FILE is given: only the others are measured.");
    }
    let mut bench = Bench { programs, sizes: Sizes::of(args), figures: Figures::default() };
    let parts = if args.only.is_empty() { DEFAULT.to_vec() } else { args.only.clone() };
    let mut all_measured = true;
    for part in parts {
        let began = Instant::now();
        let name = part.to_possible_value().expect("no part is hidden").get_name().to_owned();
        eprintln!("measuring {name}");
        let neighbours = Neighbours::watch(&[])?;
        let measured = match part {
            Part::Throughput => {
                throughput::measure(&mut bench, &[Workload::Plain, Workload::Diverse]).await
            }
            Part::Sizes => throughput::measure(&mut bench, &[Workload::Sizes]).await,
            Part::Arrival => throughput::measure_arrival(&mut bench).await,
            Part::Spread => throughput::measure_rule(&mut bench, Workload::Spread).await,
            Part::Affinity => throughput::measure_rule(&mut bench, Workload::Affinity).await,
            Part::AntiAffinity => {
                throughput::measure_rule(&mut bench, Workload::AntiAffinity).await
            }
            Part::Preemption => preemption::measure(&mut bench).await,
            Part::Gangs => gangs::measure(&mut bench).await,
            Part::GangLatency => gangs::measure_latency(&mut bench).await,
            Part::Racks => racks::measure(&mut bench).await,
            Part::Volumes => volumes::measure(&mut bench).await,
            Part::Memory => memory::measure(&mut bench).await,
            Part::Latency => latency::measure(&mut bench).await,
            Part::Numa => numa::measure(&mut bench).await,
            Part::Whole => whole::measure(&mut bench).await,
            Part::Restart => restart::measure(&mut bench).await,
            Part::Idle => idle::measure(&mut bench).await,
            Part::InFlight => in_flight::measure(&mut bench).await,
        };
        if let Err(error) = measured {
            eprintln!("bench-live: {name}: {error:#}");
            all_measured = false;
        }
        let others = neighbours.cores(&[])?;
        bench.figures.put(format!("live_others_cores_{}", name.replace('-', "_")), others);
        let seconds = began.elapsed().as_secs_f64();
        eprintln!("measured {name} in {seconds:.0} s; neighbours used {others:.2} cores");
    }
    bench.figures.print();
    Ok(all_measured)
}

/// Says where this is, and whether something else runs here: figures depend on both.
fn introduce(programs: &Programs) {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    let in_flight = programs.in_flight;
    println!("{cores} cores, load {load} before it begins. Null binders have {in_flight} bindings");
    println!("in flight. All are administrators to the API server, which runs on the same cores.");
}
