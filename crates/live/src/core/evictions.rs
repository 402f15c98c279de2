//! Evictions that are out, and stopping those that are not wanted any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::{Disband, Event, Outcome, PodId, Preemption};

use super::Core;
use super::gangs::note;
use crate::metrics::GangResult;
use crate::order::{self, Order, Preempt, Victim};

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
        let mut order = Preempt {
            pod: self.reference(*pod),
            scheduler: self.scheduler_of(*pod),
            node: catalog.node_name(*node).into(),
            victims: victims.iter().map(|pod| self.victim(*pod)).collect(),
            outranked: outranked.iter().map(|pod| self.reference(*pod)).collect(),
        };
        let state = &mut self.state;
        order.outranked.retain(|pod| state.notes.unproposed(&pod.key.uid));
        state.evicting.extend(order.victims.iter().map(Victim::noted));
        self.send(Order::Preempt(order));
    }

    fn victim(&self, pod: PodId) -> Victim {
        Victim {
            pod: self.reference(pod),
            generation: self.scheduler.catalog().pod(pod).rest.generation,
            is_wanted: Arc::new(AtomicBool::new(true)),
        }
    }

    /// Stops evictions that the engine does not want any more.
    pub(super) fn spare(&mut self) {
        for uid in self.scheduler.spared() {
            if let Some(is_wanted) = self.state.evicting.get(&uid) {
                is_wanted.store(false, Ordering::Relaxed);
            }
        }
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
        self.state.evicting.extend(order.evicted.iter().map(Victim::noted));
        self.send(Order::Disband(order));
    }
}
