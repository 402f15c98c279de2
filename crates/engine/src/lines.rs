//! Lines: units that are alike, of which the first is tried for all.
//!
//! A line are waiting pods without a gang that have the same class, labels and priority, and for
//! which no node is proposed. Plugins cannot tell them apart. If the first finds a node, or evicts
//! others, it leaves the line and the next is tried. If it finds nothing, so would all that stand
//! behind it: they are told what it is told, at once, and wait as it does, with a backoff of their
//! own. What a unit takes never helps them; what is given up before their turn would have come, by
//! a pod that goes elsewhere than was proposed, wakes them like everybody who waits.

use std::sync::Arc;

use framework::is_about_others;
use model::{Decision, Diagnosis, Pod, PodId, Time, UnitId, Waiting};

use crate::queue::Alike;
use crate::{Scheduler, Shown};

/// How many units are told at once. If there are more, the next of them is tried again.
const TOLD_MAX: usize = 1024;

/// In which line a pod stands, if it can stand in one.
pub(crate) fn alike(pod: &Pod) -> Option<Alike> {
    let is_alone = pod.gang.is_none() && pod.claim.is_none();
    is_alone.then_some(Alike { class: pod.class, tags: pod.tags })
}

/// Whether the same is found for one pod as for another, as long as nothing happens.
fn is_alike(one: &Pod, other: &Pod) -> bool {
    let what = |pod: &Pod| (alike(pod), pod.rest.priority, pod.rest.is_preempting, pod.nominated);
    alike(one).is_some() && one.nominated.is_none() && what(one) == what(other)
}

impl Scheduler {
    /// Whether what is found for a pod that is about to be tried is found for others behind it.
    pub(crate) fn leads(&self, pod: PodId) -> bool {
        let pod = self.catalog.pod(pod);
        is_alike(pod, pod)
    }

    /// Tells all behind a unit what it was told: it found nothing.
    pub(crate) fn settle_line(
        &mut self,
        head: UnitId,
        diagnosis: &Arc<Diagnosis>,
        now: Time,
        decisions: &mut Vec<Decision>,
        show: &mut impl FnMut(&Self, Shown<'_>),
    ) {
        // A pod that is placed before their turn comes may help them, if they wait for such a one.
        if diagnosis.curable().into_iter().any(is_about_others) {
            return;
        }
        let head_pod = self.queue.pods(head)[0];
        for unit in self.queue.line_behind(head, TOLD_MAX) {
            let pod = self.queue.pods(unit)[0];
            if !is_alike(self.catalog.pod(head_pod), self.catalog.pod(pod)) {
                continue;
            }
            show(self, Shown::Settled { pod, head: head_pod });
            let class = self.catalog.pod(pod).class;
            self.queue.settle(unit, now, class, diagnosis.clone());
            decisions.push(Decision::Wait(Waiting { pod, diagnosis: diagnosis.clone() }));
        }
    }
}
