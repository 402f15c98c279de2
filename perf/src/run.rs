//! Runs the real engine over ready-made events: apply, step, and decisions written out.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use engine::{Options, Scheduler};
use k8s::{config, ingest, render};
use model::{Catalog, Decision, Event, Time};
use serde_json::Value;

/// How many pods arrive between two steps, as they would in bursts from a watch.
const BURST: usize = 128;

/// A scheduler with kube-scheduler's default profile and the given nodes.
pub(crate) fn scheduler(nodes: usize) -> Result<Scheduler> {
    let settings = config::defaults(plugins::known());
    let profile = settings.profiles.iter().find(|profile| profile.scheduler == "default-scheduler");
    let mut catalog = Catalog::default();
    let profile = plugins::build(profile.context("there is a default profile")?, &mut catalog)?;
    let mut scheduler = Scheduler::new(catalog, vec![profile], Options::default());
    for at in 0..nodes {
        scheduler.apply(&ingest::node(&crate::cluster::node(at))?, Time::default());
    }
    Ok(scheduler)
}

/// Events of pods that wait.
pub(crate) fn events(
    pods: usize,
    shapes: usize,
    pod: fn(usize, usize) -> Value,
) -> Result<Vec<Event>> {
    (0..pods).map(|at| Ok(ingest::pod(&pod(at, at % shapes))?)).collect()
}

/// Schedules all pods and tells how long it took; how many must find a node is known before.
fn schedule(scheduler: &mut Scheduler, events: &[Event], fitting: usize) -> Result<Duration> {
    let mut decisions = Vec::new();
    let mut body = Vec::new();
    let (mut bound, mut written) = (0, 0);
    let start = Instant::now();
    for burst in events.chunks(BURST) {
        for event in burst {
            scheduler.apply(event, Time::default());
        }
        scheduler.step(Time::default(), BURST, &mut decisions);
        for decision in decisions.drain(..) {
            body.clear();
            let catalog = scheduler.catalog();
            match decision {
                Decision::Bind { pod, node, .. } => {
                    serde_json::to_writer(&mut body, &render::binding(catalog, pod, node))?;
                    bound += 1;
                }
                Decision::Wait(waiting) => {
                    let condition = render::condition(&waiting.diagnosis, catalog);
                    serde_json::to_writer(&mut body, &condition)?;
                }
            }
            written += body.len();
        }
    }
    let taken = start.elapsed();
    ensure!(bound == fitting, "{bound} of {} pods found a node, not {fitting}", events.len());
    ensure!(written > 100 * events.len(), "every decision was written out");
    Ok(taken)
}

/// Pods per second: the median of several runs, each on a new scheduler.
pub(crate) fn rate(
    nodes: usize,
    pods: usize,
    shapes: usize,
    pod: fn(usize, usize) -> Value,
) -> Result<f64> {
    let fitting = (0..pods).filter(|at| !crate::cluster::fits_nowhere(&pod(*at, *at % shapes)));
    let fitting = fitting.count();
    let events = events(pods, shapes, pod)?;
    let mut rates = Vec::new();
    for _ in 0..5 {
        let taken = schedule(&mut scheduler(nodes)?, &events, fitting)?;
        rates.push(pods as f64 / taken.as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    Ok(rates[rates.len() / 2])
}
