//! What metrics tell of the engine's thread.

use model::{Event, Fact, GpuRoom, Key, Kind};

use super::Core;
use crate::metrics::{Cached, Handled, Queue};

impl Core {
    /// What kube-scheduler calls an event.
    pub(super) fn handled(&self, event: &Event) -> Option<Handled> {
        let catalog = self.scheduler.catalog();
        let is_placed =
            |uid: &str| catalog.find_pod(uid).map(|pod| catalog.pod(pod).state.node().is_some());
        Some(match event {
            Event::Seen(Fact::Node(facts)) => match catalog.find_node(&facts.name) {
                Some(_) => Handled::NodeUpdate,
                None => Handled::NodeAdd,
            },
            Event::Gone(Key { kind: Kind::Node, .. }) => Handled::NodeDelete,
            Event::Seen(Fact::Pod(facts)) => match (is_placed(&facts.key.uid), &facts.node) {
                (None | Some(false), Some(_)) => Handled::AssignedPodAdd,
                (Some(true), _) => Handled::AssignedPodUpdate,
                (None, None) => Handled::UnscheduledPodAdd,
                (Some(false), None) => Handled::UnscheduledPodUpdate,
            },
            Event::Gone(Key { kind: Kind::Pod, name: uid }) => match is_placed(uid) {
                Some(true) => Handled::AssignedPodDelete,
                Some(false) | None => Handled::UnscheduledPodDelete,
            },
            Event::Seen(_) | Event::Gone(_) | Event::Listed(..) | Event::Outcome(_) => return None,
        })
    }

    /// How many jobs would fit that want several GPUs. Costs a look at every node that has some.
    pub(super) fn count_gpu_room(&self) {
        let (catalog, usage) = (self.scheduler.catalog(), self.scheduler.usage());
        if catalog.has_gpus() {
            self.metrics.gpu_room(&GpuRoom::new(catalog, usage));
        }
    }

    /// How many wait and how many are known.
    pub(super) fn publish(&self) {
        let (waiting, catalog) = (self.scheduler.waiting(), self.scheduler.catalog());
        let on_no_node = waiting.active + waiting.backoff + waiting.parked + waiting.gated;
        let metrics = &self.metrics;
        metrics.pending(Queue::Active, waiting.active);
        metrics.pending(Queue::Backoff, waiting.backoff);
        metrics.pending(Queue::Unschedulable, waiting.parked);
        metrics.pending(Queue::Gated, waiting.gated);
        metrics.cached(Cached::Nodes, catalog.nodes().len());
        metrics.cached(Cached::Pods, catalog.pod_count() - on_no_node);
        metrics.cached(Cached::AssumedPods, self.state.notes.unconfirmed());
        if let Some(journal) = &self.journal {
            metrics.journal(journal.totals());
        }
    }
}
