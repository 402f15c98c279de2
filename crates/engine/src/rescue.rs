//! Who could help a pod that fits nowhere. Nothing is evicted yet; what kube-scheduler would say
//! is known exactly where nobody on a node is less important than the pod.

use framework::Rescues;
use model::{Catalog, Pod, Reason, Rescue};

/// What about a pod decides who can help it; its class does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Appeal {
    is_preempting: bool,
    /// Whether a pod on a node is less important.
    has_lesser: bool,
}

impl Appeal {
    pub(crate) fn of(pod: &Pod, catalog: &Catalog) -> Self {
        let lowest = catalog.lowest_placed_priority();
        Self {
            is_preempting: pod.is_preempting,
            has_lesser: lowest.is_some_and(|lowest| lowest < pod.priority),
        }
    }

    /// What comes of it. `asked` plugins found nothing wrong before any node was looked at, and on
    /// `evictable` nodes room could help.
    pub(crate) fn rescue(self, rescues: Rescues, asked: usize, evictable: usize) -> Rescue {
        if rescues.claims_after.is_some_and(|after| asked < after) {
            return Rescue::ClaimsUnknown;
        }
        if !rescues.preemption {
            let is_asked = rescues.claims_after.is_some();
            return if is_asked { Rescue::Silent } else { Rescue::NotAsked };
        }
        if !self.is_preempting {
            return Rescue::NotPreempting;
        }
        if self.has_lesser && evictable > 0 {
            return Rescue::NotSupported;
        }
        Rescue::NoVictims(evictable)
    }
}

/// Whether kube-scheduler would not give this reason, so that it is not known what it would do.
pub(crate) fn is_own(reason: &Reason) -> bool {
    matches!(reason, Reason::NotSupported(_))
}
