//! What pods need before they can be bound.

use k8s::render;
use model::{Attempt, Event, PodId, PodKey, Preparation, Unprepared};

use super::Core;
use crate::order::{Order, Prepare};

impl Core {
    /// Has written what a pod needs.
    pub(super) fn prepare(&mut self, preparation: Preparation) {
        let Preparation { pod, node, attempt, writes } = preparation;
        let node: Box<str> = self.scheduler.catalog().node_name(node).into();
        let reference = self.reference(pod);
        let pod = reference.key.clone();
        let is_news = self.state.notes.proposed(&pod.uid, &node);
        let proposal = is_news.then_some((reference, node));
        self.state.in_flight += 1;
        self.send(Order::Prepare(Prepare { pod, proposal, attempt, writes }));
    }

    /// Takes in what became of that.
    pub(super) fn prepared(
        &mut self,
        pod: &PodKey,
        attempt: Attempt,
        result: Result<Box<[u64]>, String>,
    ) {
        self.state.in_flight -= 1;
        let now = self.moment();
        let uid = pod.uid.clone();
        let (outcome, message) = match result {
            Ok(versions) => (model::Outcome::Prepared { uid, attempt, versions }, None),
            Err(message) => (model::Outcome::PrepareRefused { uid, attempt }, Some(message)),
        };
        let event = Event::Outcome(outcome);
        self.scheduler.apply(&event, now);
        self.record_applied(now, event);
        let Some(message) = message else { return };
        let Some(id) = self.scheduler.catalog().find_pod(&pod.uid) else { return };
        let message = format!("running PreBind plugin \"VolumeBinding\": {message}");
        self.tell(id, "SchedulerError", message.into());
    }

    /// Tells the owner of a pod why it was not bound.
    pub(super) fn unprepared(&mut self, pod: PodId, why: &Unprepared) {
        self.tell(pod, "SchedulerError", render::unprepared_text(why).into());
    }
}
