//! What pods of a class ask of GPUs, worked out once.

use super::is_gpu;
use super::wish::{GpuShare, WHOLE_MILLI};
use crate::ids::ResourceId;
use crate::resources::Resources;
use crate::spec::PodSpec;

/// What pods of a class ask of the GPUs of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuAsk {
    /// The resource. Of several the one of which most are asked for; what is asked of the others
    /// is counted and no more.
    pub resource: ResourceId,
    /// How many.
    pub count: u32,
    /// The memory in bytes that each must have; 0 if any will do.
    pub memory: u64,
    /// How much it uses of each, if it shares them. Nothing means what the node makes of it: a
    /// whole GPU, or a replica where GPUs are offered more than once.
    pub share: Option<GpuShare>,
    /// Other counted resources that it asks for.
    pub others: Box<[ResourceId]>,
}

impl GpuAsk {
    pub(crate) fn new(spec: &PodSpec, resources: &Resources) -> Option<Self> {
        let asked = spec.requests.charge.amounts.scalars.iter();
        let gpus = asked.filter(|(name, amount)| *amount > 0 && is_gpu(name));
        // Of equally many the first by name, whatever their numbers.
        let (name, count) = gpus.min_by_key(|(_, amount)| std::cmp::Reverse(*amount))?;
        let wish = spec.gpu.as_deref();
        let total = wish.and_then(|wish| wish.memory_total);
        let count = u32::try_from(*count).unwrap_or(u32::MAX);
        let part = total.map(|total| total.div_ceil(count.into()));
        let memory = wish.and_then(|wish| wish.memory).into_iter().chain(part).max();
        let share = wish.and_then(|wish| wish.share);
        let resource = resources.find(name)?;
        let asked = spec.requests.charge.amounts.scalars.iter();
        let others = asked.filter(|(other, amount)| *amount > 0 && other != name);
        let others = others.filter_map(|(other, _)| resources.find(other)).collect();
        Some(Self { resource, count, memory: memory.unwrap_or(0), share, others })
    }

    /// Whether it asks for whole GPUs, or for a part of each.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.share.is_some_and(|share| share != GpuShare::Milli(WHOLE_MILLI))
    }
}
