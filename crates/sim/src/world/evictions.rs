//! What the API server says to a scheduler that evicts a pod, or proposes a node for one.

use model::Millis;

use super::World;
use super::happenings::Happening;
use super::records::PodAt;

/// How long an owner takes to make another pod, at least and at most. At once it would take the
/// room of a pod that is to be spread, which then has others evicted, for ever and quickly.
const REPLACED: (Millis, Millis) = (Millis(500), Millis(5_000));

/// A request that evicts a pod. For another pod, two are needed, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The status says why.
    Reason,
    /// The pod is deleted.
    Delete,
    /// The pod is deleted because its gang cannot be completed; nothing is said before.
    TakeBack,
}

impl World {
    /// Does what is asked of a pod that is to go; tells whether there is such a pod.
    pub(crate) fn post_eviction(&mut self, pod: PodAt, step: Step) -> bool {
        if self.pods[pod.0].is_gone {
            return false;
        }
        match step {
            Step::Reason => {
                self.pods[pod.0].is_disrupted = true;
                self.publish_pod(pod);
            }
            Step::Delete | Step::TakeBack => self.delete_for_another(pod, step),
        }
        true
    }

    fn delete_for_another(&mut self, pod: PodAt, step: Step) {
        if self.pods[pod.0].is_terminating {
            return;
        }
        let is_over = self.pods[pod.0].phase.is_over();
        self.terminate(pod);
        if !is_over {
            match step {
                Step::Reason | Step::Delete => self.happened.preempted += 1,
                Step::TakeBack => self.happened.taken_back += 1,
            }
            if !self.is_calm {
                let at = self.now + self.draw(REPLACED);
                self.agenda.add(at, Happening::OwnerReplaces(pod));
            }
        }
    }

    /// Writes down which node is proposed for a pod.
    pub(crate) fn propose(&mut self, pod: PodAt, node: Option<&str>) {
        let record = &mut self.pods[pod.0];
        if record.proposed.as_deref() != node {
            record.proposed = node.map(str::to_owned);
            if !record.is_gone {
                self.publish_pod(pod);
            }
        }
    }
}
