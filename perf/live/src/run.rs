//! One run: pods, a contender, and what it took.

use std::cell::Cell;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use tokio::time::sleep;

use crate::contender::{Contender, Running};
use crate::objects::Workload;
use crate::stage::Stage;
use crate::usage::Neighbours;
use crate::watch::Bound;

/// How long it may take until all pods are bound.
const BOUND_WITHIN: Duration = Duration::from_secs(300);
/// How long events may take after the last binding.
const EVENTS_WITHIN: Duration = Duration::from_secs(60);
/// Events that were not written for this long were dropped.
const EVENTS_PAUSE_MAX: Duration = Duration::from_secs(4);
/// How often a contender's CPU time is read until it binds.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// When the pods are created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Before the contender starts: what counts is how fast it binds.
    Before,
    /// While it runs, as fast as the API server takes them.
    Meanwhile,
}

/// What is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) workload: Workload,
    pub(crate) pods: usize,
    pub(crate) arrival: Arrival,
}

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    /// Pods per second from the first binding to the last.
    pub(crate) rate: f64,
    /// CPU time per pod in microseconds, from before the first write to after the last.
    pub(crate) cpu_us: f64,
    /// The same from the start of the process.
    pub(crate) cpu_life_us: f64,
    /// Peak of resident memory.
    pub(crate) peak_mib: f64,
    /// Events that were written.
    pub(crate) events: usize,
    /// Seconds from the last binding to the last event.
    pub(crate) events_seconds: f64,
    /// Cores that were busy with something else.
    pub(crate) others_cores: f64,
}

/// Runs a contender against a plan. The pods are gone afterwards.
pub(crate) async fn run(stage: &Stage, contender: Contender, plan: Plan) -> Result<Measured> {
    let namespace = stage.namespace().await?;
    let neighbours = Neighbours::watch(&stage.pids())?;
    let measured = measure(stage, contender, plan, &namespace).await;
    stage.delete_pods(&namespace).await?;
    let others_cores = neighbours.cores(&stage.pids())?;
    let measured = Measured { others_cores, ..measured? };
    eprintln!(
        "  {:>26} {:>6.0} pods/s {:>6.0} us CPU/pod {:>6.1} MiB, {} events {:.1} s later, \
         neighbours {others_cores:.2} cores",
        contender.title(),
        measured.rate,
        measured.cpu_us,
        measured.peak_mib,
        measured.events,
        measured.events_seconds,
    );
    Ok(measured)
}

async fn measure(
    stage: &Stage,
    contender: Contender,
    plan: Plan,
    namespace: &str,
) -> Result<Measured> {
    let create = || stage.create_pods(namespace, plan.workload, plan.pods);
    let watch = || Bound::open(&stage.client, namespace);
    let (mut running, pace) = match plan.arrival {
        Arrival::Before => {
            create().await?;
            let bound = watch().await?;
            let mut running = Running::start(stage, contender, namespace).await?;
            let pace = follow(bound, &mut running, plan.pods).await?;
            (running, pace)
        }
        Arrival::Meanwhile => {
            let bound = watch().await?;
            let mut running = Running::start(stage, contender, namespace).await?;
            running.ready().await?;
            let follow = follow(bound, &mut running, plan.pods);
            let ((), pace) = tokio::try_join!(create(), follow)?;
            (running, pace)
        }
    };
    let events = events(stage, contender, namespace, plan.pods).await?;
    let cpu = running.cpu()?;
    let per_pod = |time: Duration| time.as_secs_f64() * 1e6 / plan.pods as f64;
    let measured = Measured {
        rate: (plan.pods - 1) as f64 / pace.span.as_secs_f64(),
        cpu_us: per_pod(cpu.saturating_sub(pace.cpu_before)),
        cpu_life_us: per_pod(cpu),
        peak_mib: running.peak_mib()?,
        events: events.0,
        events_seconds: events.1,
        others_cores: 0.0,
    };
    running.kill()?;
    Ok(measured)
}

/// How the bindings of a run came.
pub(crate) struct Pace {
    /// From the first to the last.
    pub(crate) span: Duration,
    /// When the last came.
    pub(crate) last: Instant,
    /// CPU time that the contender had used before the first.
    pub(crate) cpu_before: Duration,
}

/// Follows a contender until so many pods are bound.
pub(crate) async fn follow(mut bound: Bound, running: &mut Running, pods: usize) -> Result<Pace> {
    let count = Cell::new(0);
    let cpu_before = Cell::new(Duration::ZERO);
    let counting = async {
        let first = bound.next().await?.at;
        count.set(1);
        let mut last = first;
        while count.get() < pods {
            last = bound.next().await?.at;
            count.set(count.get() + 1);
        }
        Ok((first, last))
    };
    let looking = async {
        let began = Instant::now();
        while began.elapsed() < BOUND_WITHIN {
            running.must_run()?;
            if count.get() == 0 {
                cpu_before.set(running.cpu()?);
            }
            sleep(LOOK_EVERY).await;
        }
        let (count, tail) = (count.get(), running.tail());
        bail!("{count} of {pods} pods are bound after {BOUND_WITHIN:?}:\n{tail}")
    };
    let (first, last) = tokio::select! {
        ends = counting => ends,
        failed = looking => failed,
    }?;
    Ok(Pace { span: last - first, last, cpu_before: cpu_before.get() })
}

/// Waits for the events of a run. Gives their number, and the seconds to the last of them.
pub(crate) async fn events(
    stage: &Stage,
    contender: Contender,
    namespace: &str,
    pods: usize,
) -> Result<(usize, f64)> {
    if !contender.has_events() {
        return Ok((0, 0.0));
    }
    let began = Instant::now();
    let (mut count, mut changed) = (0, began);
    while began.elapsed() < EVENTS_WITHIN && changed.elapsed() < EVENTS_PAUSE_MAX {
        let found = stage.events(namespace).await?;
        if found != count {
            (count, changed) = (found, Instant::now());
        }
        if count >= pods {
            break;
        }
        sleep(Duration::from_millis(100)).await;
    }
    Ok((count, (changed - began).as_secs_f64()))
}
