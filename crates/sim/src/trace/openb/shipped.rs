//! The scheduler as it is shipped, on the nodes of a trace: the real engine with its profile
//! `kubenexus-scheduler`, fed with events. What it decides is carried out at once.
//!
//! Every placement is held against an account of its own (`account`), which shares nothing with the
//! engine: a GPU is whole or shared by what is on it, and nobody gets more than there is.

mod account;
mod facts;

use std::collections::BTreeMap;

use engine::Scheduler;
use model::{Decision, Event, Kind, Millis, NodeId, PodId, Time};

use super::Trace;
use super::shapes::ShapeAt;
use crate::run::scheduler;
use account::Account;
pub use account::Misplaced;
use facts::Facts;

/// The profile that places the pods.
pub(super) const PROFILE: &str = "kubenexus-scheduler";

/// The published method knows no times. So much passes from one arrival to the next: what was
/// learnt of demand is worked out anew once a minute at most.
const BETWEEN_ARRIVALS: Millis = Millis::seconds(10);

/// More units than any turn tries, so that one step is enough as a rule.
const BUDGET: usize = 1024;

/// What the scheduler knows of the pods that are yet to come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Demand {
    /// What it learns from those that came.
    #[default]
    Learnt,
    /// All pods of the trace, before the first arrives.
    Known,
}

/// The scheduler, and what there is beside it.
pub(super) struct Shipped<'a> {
    trace: &'a Trace,
    scheduler: Scheduler,
    facts: Facts,
    account: Account,
    /// The pods that came, in their order, and when they did.
    pods: Vec<(ShapeAt, Time)>,
    now: Time,
    decisions: Vec<Decision>,
}

/// A pod that was placed, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PodAt(pub(super) usize);

impl<'a> Shipped<'a> {
    /// A scheduler that knows the nodes.
    pub(super) fn new(trace: &'a Trace, demand: Demand, seed: u64) -> Self {
        let mut settings = k8s::config::defaults(plugins::known());
        // A pod that could be placed is tried at once. A pause after failures, which spares a
        // cluster work, would only let later pods pass.
        (settings.initial_backoff, settings.max_backoff) = (Millis(0), Millis(0));
        let facts = Facts::new(trace);
        let mut scheduler = scheduler(&settings, seed);
        for node in &facts.nodes {
            scheduler.apply(&Event::seen(node.clone()), Time::default());
        }
        match demand {
            Demand::Learnt => {}
            Demand::Known => foretell(&mut scheduler, &facts, &trace.pods),
        }
        Self {
            trace,
            scheduler,
            facts,
            account: Account::new(trace),
            pods: Vec::new(),
            now: Time::default(),
            decisions: Vec::new(),
        }
    }

    /// A pod arrives some time after the one before. It is deleted if it does not fit. Whether it
    /// was placed.
    pub(super) fn offer(&mut self, shape: ShapeAt) -> bool {
        self.now = self.now + BETWEEN_ARRIVALS;
        let pod = self.arrive(shape, self.now);
        let is_placed = self.decide(self.now).contains(&pod);
        if !is_placed {
            self.leave(pod, self.now);
        }
        is_placed
    }

    /// A pod arrives.
    pub(super) fn arrive(&mut self, shape: ShapeAt, now: Time) -> PodAt {
        let pod = PodAt(self.pods.len());
        self.pods.push((shape, now));
        self.scheduler.apply(&Event::seen(self.facts.pod(pod, shape, now)), now);
        self.now = now;
        pod
    }

    /// A pod ends, or is deleted before it was placed.
    pub(super) fn leave(&mut self, pod: PodAt, now: Time) {
        let (shape, _) = self.pods[pod.0];
        self.account.release(self.trace, shape, pod);
        self.scheduler.apply(&Event::gone(Kind::Pod, facts::uid(pod)), now);
        self.now = now;
    }

    /// Lets the scheduler decide until it has nothing more to try at this time. Pods that it places
    /// are on their nodes from then on.
    pub(super) fn decide(&mut self, now: Time) -> Vec<PodAt> {
        self.now = now;
        let mut placed = Vec::new();
        loop {
            self.decisions.clear();
            let tries = self.scheduler.tries();
            self.scheduler.step(now, BUDGET, &mut self.decisions);
            let bound = self.bindings();
            for (pod, node) in &bound {
                let (shape, arrived) = self.pods[pod.0];
                let facts = self.facts.placed_pod(*pod, shape, *node, arrived);
                self.scheduler.apply(&Event::seen(facts), now);
            }
            placed.extend(bound.iter().map(|(pod, _)| *pod));
            if bound.is_empty() && self.scheduler.tries() == tries {
                return placed;
            }
        }
    }

    /// When the scheduler would try something again by itself, later than now.
    pub(super) fn next_wakeup(&self) -> Option<Time> {
        self.scheduler.next_wakeup().filter(|at| *at > self.now)
    }

    /// Whether all placements were sound.
    pub(super) fn finish(self) -> Result<(), Misplaced> {
        self.account.finish()
    }

    /// The bindings among the last decisions, which go into the account.
    fn bindings(&mut self) -> Vec<(PodAt, usize)> {
        let mut bound = Vec::new();
        for decision in &self.decisions {
            let (id, on) = match decision {
                Decision::Bind { pod, node, .. } => (*pod, *node),
                // All pods are equally important, alone and without volumes: what does not fit
                // waits, and nothing else happens.
                Decision::Wait(_)
                | Decision::Preempt(_)
                | Decision::Disband(_)
                | Decision::Report(_)
                | Decision::Prepare(_)
                | Decision::Unprepared { .. } => continue,
            };
            let catalog = self.scheduler.catalog();
            let pod = facts::pod_of(&catalog.pod(id).key.uid);
            let node = self.facts.node_of(catalog.node_name(on));
            let shape = &self.trace.shapes[self.pods[pod.0].0.0];
            let gpus = match shape.ask.gpus {
                0 => Some(Box::default()),
                _ => devices_of(&self.scheduler, id, on),
            };
            self.account.place((pod, node), shape, gpus);
            bound.push((pod, node));
        }
        bound
    }
}

/// Tells the scheduler of all pods of the trace before the first arrives.
fn foretell(scheduler: &mut Scheduler, facts: &Facts, pods: &[ShapeAt]) {
    let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
    pods.iter().for_each(|pod| *counts.entry(pod.0).or_default() += 1);
    let specs: Vec<_> = counts
        .into_iter()
        .map(|(shape, count)| (facts.spec(ShapeAt(shape)).clone(), count))
        .collect();
    scheduler.foretell_gpu_demand(&specs);
}

/// The GPUs of a node that a pod was given; nothing if it has no room there.
fn devices_of(scheduler: &Scheduler, pod: PodId, node: NodeId) -> Option<Box<[usize]>> {
    let mut pools = scheduler.usage().gpus(node).iter();
    let devices = pools.find_map(|pool| pool.devices_of(pod))?;
    Some((0..128).filter(|at| devices >> at & 1 == 1).collect())
}
