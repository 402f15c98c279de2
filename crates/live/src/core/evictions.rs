//! Evictions: who goes for whom, and for how long that is wanted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::{Disband, Event, Outcome, PodId, Preemption};

use super::gangs::note;
use super::{Core, State};
use crate::metrics::GangResult;
use crate::order::{self, Order, PodRef, Preempt};

impl State {
    /// A pod needs no room any more, or asks for it elsewhere: what is still to be evicted stays.
    pub(super) fn give_up(&mut self, uid: &str) {
        if let Some((_, stands)) = self.plans.remove(uid) {
            stands.store(false, Ordering::Relaxed);
        }
    }
}

impl Core {
    /// Takes in what became of an eviction.
    pub(super) fn evicted(&mut self, uid: &str, is_done: bool) {
        self.state.evicting.remove(uid);
        if !is_done {
            let (now, event) = (self.moment(), Event::Outcome(Outcome::EvictionFailed(uid.into())));
            self.scheduler.apply(&event, now);
            self.record_applied(now, event);
        }
    }

    /// Has pods evicted for another one.
    pub(super) fn preempt(&mut self, preemption: &Preemption) {
        let catalog = self.scheduler.catalog();
        let Preemption { pod, node, victims, outranked } = preemption;
        let stands = Arc::new(AtomicBool::new(true));
        let mut order = Preempt {
            pod: self.reference(*pod),
            scheduler: self.scheduler_of(*pod),
            node: catalog.node_name(*node).into(),
            victims: victims.iter().map(|pod| self.victim(*pod)).collect(),
            outranked: outranked.iter().map(|pod| self.reference(*pod)).collect(),
            stands: stands.clone(),
        };
        let state = &mut self.state;
        order.outranked.retain(|pod| state.notes.unproposed(&pod.key.uid));
        state.evicting.extend(order.victims.iter().map(|(it, _)| it.key.uid.clone()));
        let uid = &order.pod.key.uid;
        state.give_up(uid);
        state.plans.insert(uid.clone(), (order.node.clone(), stands));
        self.send(Order::Preempt(order));
    }

    /// A pod that has to go, and its generation.
    fn victim(&self, pod: PodId) -> (PodRef, i64) {
        (self.reference(pod), self.scheduler.catalog().pod(pod).generation)
    }

    /// Gives up plans for pods that are elsewhere by now, or for which the node is not proposed any
    /// more: somebody more important may have come, or it turned out to be of no use.
    pub(super) fn review_plans(&mut self) {
        let scheduler = &self.scheduler;
        self.state.plans.retain(|uid, (node, stands)| {
            let is_proposed = scheduler.is_proposed(uid, node);
            stands.store(is_proposed, Ordering::Relaxed);
            is_proposed
        });
    }

    /// Has pods of a gang evicted that could not be completed.
    pub(super) fn disband(&mut self, disband: &Disband) {
        let Disband { gang, evicted, bare } = disband;
        let catalog = self.scheduler.catalog();
        let row = catalog.gang(*gang);
        self.metrics.gang(&row.namespace, GangResult::TakenBack);
        let order = order::Disband {
            scheduler: self.scheduler_of_gang(*gang),
            note: note(catalog, *gang),
            evicted: evicted.iter().map(|pod| self.victim(*pod)).collect(),
            bare: bare.iter().map(|pod| self.reference(*pod)).collect(),
        };
        self.state.arrivals.remove(gang);
        self.state.evicting.extend(order.evicted.iter().map(|(pod, _)| pod.key.uid.clone()));
        self.send(Order::Disband(order));
    }
}
