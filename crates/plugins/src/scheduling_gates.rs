//! Keeps pods out of the queue while they carry scheduling gates.

use framework::{Admit, Plugin};
use model::{Pod, Reason};

pub(crate) struct SchedulingGates;

impl Plugin for SchedulingGates {
    fn name(&self) -> &'static str {
        "SchedulingGates"
    }
}

impl Admit for SchedulingGates {
    fn refuses(&self, pod: &Pod) -> Option<Reason> {
        (!pod.rest.gates.is_empty()).then(|| Reason::Gated(pod.rest.gates.clone()))
    }
}
