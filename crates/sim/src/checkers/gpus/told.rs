//! What a node tells of its GPUs, and what a pod wants of them.

use model::hardware::{Gpu, HardwareFacts};
use model::{GpuFault, GpuShare, NodeFacts, PodSpec, is_gpu};

/// A whole GPU, in thousandths.
pub(super) const WHOLE: u32 = 1000;
/// More GPUs than this are counted and no more.
const GPUS_MAX: usize = 128;
/// How resources end that are shared under a name of their own.
const SHARED: &str = ".shared";

/// What a pod wants of GPUs.
#[derive(Debug)]
pub(in super::super) struct Wanted<'a> {
    /// Of several resources the one of which it asks most.
    pub(super) resource: &'a str,
    pub(super) count: u32,
    /// That each must have; 0 if any will do.
    pub(super) memory: u64,
    pub(super) share: Option<GpuShare>,
}

impl<'a> Wanted<'a> {
    pub(in super::super) fn of(spec: &'a PodSpec) -> Option<Self> {
        let mut most: Option<(&str, i64)> = None;
        for (name, amount) in &spec.requests.charge.amounts.scalars {
            if is_gpu(name) && *amount > most.map_or(0, |(_, amount)| amount) {
                most = Some((name, *amount));
            }
        }
        let (resource, count) = most?;
        let wish = spec.gpu.clone().unwrap_or_default();
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let each = wish.memory_total.map_or(0, |total| total.div_ceil(count.into()));
        let memory = wish.memory.unwrap_or(0).max(each);
        Some(Self { resource, count, memory, share: wish.share })
    }

    fn is_part(&self) -> bool {
        self.share.is_some_and(|share| share != GpuShare::Milli(1000))
    }
}

/// What a node tells of the GPUs that it offers as a resource.
#[derive(Debug)]
pub(super) struct TellsOf<'a> {
    /// Of each; 0 where it is not told.
    pub(super) memory: Vec<u64>,
    pub(super) models: Vec<Option<&'a str>>,
    /// How often each is offered.
    pub(super) replicas: u32,
}

impl<'a> TellsOf<'a> {
    /// None if the node offers none, or too many to tell them apart.
    pub(super) fn of(node: &'a NodeFacts, resource: &str) -> Option<Self> {
        let offered = node.allocatable.scalars.iter().find(|(name, _)| name == resource);
        let amount = offered.and_then(|(_, amount)| usize::try_from(*amount).ok())?;
        if amount == 0 {
            return None;
        }
        let told = node.hardware.as_deref().and_then(|it| Self::told(it, resource, amount));
        let unknown = || {
            let (memory, models) = (vec![0; amount], vec![None; amount]);
            (amount <= GPUS_MAX).then_some(Self { memory, models, replicas: 1 })
        };
        told.or_else(unknown)
    }

    fn told(hardware: &'a HardwareFacts, resource: &str, amount: usize) -> Option<Self> {
        let all = &hardware.all_gpus;
        let base = resource.strip_suffix(SHARED).unwrap_or(resource);
        let shared = all.shared.iter().find(|shared| *shared.resource == *base);
        let replicas = shared.map_or(1, |shared| shared.replicas);
        let is_renamed = base != resource;
        if base != crate::quantities::GPU || (is_renamed && shared.is_none()) {
            return None;
        }
        if !amount.is_multiple_of(replicas as usize) {
            return None;
        }
        let count = amount / replicas as usize;
        let is_listed = |(at, gpu): (usize, &Gpu)| gpu.index as usize == at;
        if hardware.gpus.len() == count && hardware.gpus.iter().enumerate().all(is_listed) {
            let gpus = &hardware.gpus;
            let memory = |gpu: &Gpu| match (gpu.memory, all.memory) {
                (Some(one), Some(other)) => one.min(other),
                (one, other) => one.or(other).unwrap_or(0),
            };
            let models = gpus.iter().map(|gpu| gpu.model.as_deref().or(all.model.as_deref()));
            let memory = gpus.iter().map(memory).collect();
            return Some(Self { memory, models: models.collect(), replicas });
        }
        let is_known = all.model.is_some() || all.memory.is_some();
        let is_count = all.count.is_none_or(|told| told as usize == count);
        (is_known && is_count && count <= GPUS_MAX).then(|| Self {
            memory: vec![all.memory.unwrap_or(0); count],
            models: vec![all.model.as_deref(); count],
            replicas,
        })
    }

    /// How much a pod takes of each GPU that it gets.
    pub(super) fn part(&self, wanted: &Wanted<'_>) -> Result<u32, GpuFault> {
        match wanted.share {
            None if self.replicas == 1 => Ok(WHOLE),
            None => Ok((WHOLE / self.replicas).max(1)),
            Some(GpuShare::Milli(1000)) => Ok(WHOLE),
            Some(_) if self.replicas == 1 => Err(GpuFault::NoSharing),
            Some(GpuShare::Milli(milli)) => Ok(milli.into()),
            Some(GpuShare::Memory(bytes)) => {
                let known = self.memory.iter().filter(|memory| **memory > 0).min();
                let memory = *known.ok_or(GpuFault::MemoryUnknown)?;
                if bytes > memory {
                    return Err(GpuFault::MemoryTooSmall);
                }
                let part = (u128::from(bytes) * 1000).div_ceil(memory.into());
                Ok(u32::try_from(part).unwrap_or(WHOLE))
            }
        }
    }

    /// Whether enough GPUs of one model do.
    fn has(&self, count: u32, does: impl Fn(usize) -> bool) -> bool {
        let of = |model: &Option<&str>| {
            let places = (0..self.models.len()).filter(|at| self.models[*at] == *model);
            places.filter(|at| does(*at)).count()
        };
        self.models.iter().any(|model| of(model) >= count as usize)
    }

    fn suits(&self, wanted: &Wanted<'_>, at: usize) -> bool {
        wanted.memory == 0 || self.memory[at] >= wanted.memory
    }

    /// Whether enough is left for a pod if so much is taken of each.
    pub(super) fn has_room(&self, wanted: &Wanted<'_>, used: &[u32]) -> bool {
        let Ok(part) = self.part(wanted) else { return false };
        // Who wants all of a GPU wants nobody else on it.
        let is_open = |at: usize| match part {
            WHOLE => used[at] == 0,
            _ => used[at] + part <= WHOLE,
        };
        self.has(wanted.count, |at| self.suits(wanted, at) && is_open(at))
    }
}

/// What a node has against a pod for good, by what it tells of its GPUs.
pub(in super::super) fn fault_of(spec: &PodSpec, node: &NodeFacts) -> Option<GpuFault> {
    let wanted = Wanted::of(spec)?;
    let Some(tells) = TellsOf::of(node, wanted.resource) else {
        return match wanted.is_part() {
            true => Some(GpuFault::NoSharing),
            false => (wanted.memory > 0).then_some(GpuFault::MemoryUnknown),
        };
    };
    if let Err(fault) = tells.part(&wanted) {
        return Some(fault);
    }
    if wanted.memory > 0 && tells.memory.iter().all(|memory| *memory == 0) {
        return Some(GpuFault::MemoryUnknown);
    }
    let is_mixed = tells.models.iter().any(|model| *model != tells.models[0]);
    let is_about_them = wanted.memory > 0 || is_mixed;
    let has_enough = tells.has(wanted.count, |at| tells.suits(&wanted, at));
    (is_about_them && !has_enough).then_some(GpuFault::MemoryTooSmall)
}

/// Whether a node that has as many GPUs left as a pod asks for has such as it asks for: it wants
/// nothing but whole ones, which are all alike and given to one each.
pub(in super::super) fn is_certain(spec: &PodSpec, node: &NodeFacts) -> bool {
    let Some(wanted) = Wanted::of(spec) else { return true };
    let tells = TellsOf::of(node, wanted.resource);
    let are_alike = tells.is_none_or(|tells| {
        let first = tells.models.first();
        tells.replicas == 1 && tells.models.iter().all(|model| Some(model) == first)
    });
    spec.gpu.is_none() && node.held.is_none() && are_alike
}
