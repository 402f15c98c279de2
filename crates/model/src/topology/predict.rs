//! The kubelet's admission of a pod, container by container.

use super::ask::{ContainerAsk, ContainerRole, PodAsk};
use super::cpus::CpuSet;
use super::distribute::distributed;
use super::facts::{CpuManagerFacts, TopologyPolicy, TopologyScope};
use super::hints::of_cpus;
use super::machine::{DEVICE_RESOURCES_MAX, MEMORY_KINDS_MAX, Machine};
use super::memory::{self, Reusable};
use super::merge::{Affinity, Merge};
use super::state::{MemoryState, State};
use super::take::{TooFew, packed};
use super::taken::{Taken, ZoneTaken};
use super::zones::{MaskSet, ZoneMask};
use crate::ids::ResourceId;

/// Why the kubelet does not admit a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// What is in the way.
    pub cause: RejectionCause,
    /// The place of the container it is about; nothing if it is about the pod as a whole.
    pub container: Option<usize>,
    /// Whether the kubelet might have decided otherwise, because it took devices for an earlier
    /// container at random.
    pub is_guess: bool,
}

/// What is in the way of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RejectionCause {
    /// The resources have no set of zones in common that the policy accepts.
    TopologyAffinity,
    /// Only whole cores are given, and this many CPUs are none, or too few cores are whole.
    SmtAlignment,
    /// There are too few CPUs.
    CpusTaken,
    /// There are too few devices.
    DevicesTaken(ResourceId),
    /// The resource has no healthy device, whatever is asked for.
    NoHealthyDevice(ResourceId),
    /// No zones have enough memory and may be used together.
    MemoryTaken,
    /// Only zones that are not preferred have enough memory.
    MemoryNotPreferred,
    /// The zones that others prefer serve other containers, alone or in another group.
    MemoryGrouped,
    /// The machine has no huge pages of this size.
    MemoryKindUnknown(ResourceId),
}

impl RejectionCause {
    /// The reason that the kubelet writes into the status of the pod.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            RejectionCause::TopologyAffinity => "TopologyAffinityError",
            RejectionCause::SmtAlignment => "SMTAlignmentError",
            RejectionCause::CpusTaken
            | RejectionCause::DevicesTaken(_)
            | RejectionCause::NoHealthyDevice(_)
            | RejectionCause::MemoryTaken
            | RejectionCause::MemoryNotPreferred
            | RejectionCause::MemoryGrouped
            | RejectionCause::MemoryKindUnknown(_) => "UnexpectedAdmissionError",
        }
    }
}

/// What the kubelet of a machine would do with a pod.
///
/// # Errors
/// If it would not admit the pod.
pub fn predict(machine: &Machine, state: &State, ask: &PodAsk) -> Result<Taken, Rejection> {
    let mut predictor = Predictor::default();
    predictor.predict(machine, state, ask)?;
    Ok(predictor.taken)
}

/// Predicts for one machine after the other without allocating for each.
#[derive(Clone, Debug, Default)]
pub struct Predictor {
    taken: Taken,
    reusable: Reusable,
    hints: Vec<MaskSet>,
}

impl Predictor {
    /// What the kubelet of a machine would do with a pod.
    ///
    /// # Errors
    /// If it would not admit the pod.
    pub fn predict(
        &mut self,
        machine: &Machine,
        state: &State,
        ask: &PodAsk,
    ) -> Result<&Taken, Rejection> {
        let memory = self.run(machine, state, ask, Run { is_trial: false, zones: None })?;
        self.taken.finish(state, memory.as_ref());
        Ok(&self.taken)
    }

    /// What a pod takes if it is aligned with these zones, whatever the kubelet would choose.
    ///
    /// # Errors
    /// If it finds too little there, and elsewhere.
    pub fn predict_in(
        &mut self,
        machine: &Machine,
        state: &State,
        ask: &PodAsk,
        zones: ZoneMask,
    ) -> Result<&Taken, Rejection> {
        let memory = self.run(machine, state, ask, Run { is_trial: false, zones: Some(zones) })?;
        self.taken.finish(state, memory.as_ref());
        Ok(&self.taken)
    }

    /// The zones that the containers which the kubelet aligns would get together, or nothing if it
    /// aligns none.
    ///
    /// # Errors
    /// If the kubelet would not admit the pod.
    // Hot: once per node that a pod with whole CPUs or devices is looked at on.
    pub fn zones(
        &mut self,
        machine: &Machine,
        state: &State,
        ask: &PodAsk,
    ) -> Result<Option<ZoneMask>, Rejection> {
        self.masks(machine, state, ask)?;
        Ok(predicted_zones(machine, ask, &self.taken))
    }

    /// With which zones the containers of a pod would be aligned. Costs less than to predict what
    /// they take, because it need not be known which CPUs the last one gets.
    ///
    /// # Errors
    /// If the kubelet would not admit the pod.
    // Hot: once per node that a pod with whole CPUs or devices is looked at on.
    pub fn masks(
        &mut self,
        machine: &Machine,
        state: &State,
        ask: &PodAsk,
    ) -> Result<&[Option<ZoneMask>], Rejection> {
        self.run(machine, state, ask, Run { is_trial: true, zones: None })?;
        Ok(&self.taken.masks)
    }

    /// Admits the pod, and returns what is left of pinned memory.
    fn run(
        &mut self,
        machine: &Machine,
        state: &State,
        ask: &PodAsk,
        Run { is_trial, zones }: Run,
    ) -> Result<Option<MemoryState>, Rejection> {
        self.taken.clear();
        self.reusable.clear();
        if ask.is_plain() {
            let mask = untouched(machine);
            self.taken.masks.extend(ask.containers.iter().map(|_| mask));
            return Ok(None);
        }
        let mut admission = Admission {
            machine,
            ask,
            is_trial,
            zones,
            free: state.free,
            devices: [0; DEVICE_RESOURCES_MAX],
            memory: state.memory.as_deref().cloned(),
            reusable_cpus: CpuSet::EMPTY,
            reusable_devices: [0; DEVICE_RESOURCES_MAX],
            reusable_memory: &mut self.reusable,
            hints: &mut self.hints,
            taken: &mut self.taken,
        };
        for (place, taken) in state.devices.iter().enumerate() {
            admission.devices[place] = taken | state.claimed_devices(place);
        }
        let admitted = admission.admit();
        let memory = admission.memory;
        let is_guess = self.taken.guess.is_some();
        admitted.map_err(|(cause, container)| Rejection { cause, container, is_guess })?;
        Ok(memory)
    }
}

/// The zones of the containers that the kubelet aligns, taken together; nothing if it aligns none.
#[must_use]
pub fn predicted_zones(machine: &Machine, ask: &PodAsk, taken: &Taken) -> Option<ZoneMask> {
    if machine.policy == TopologyPolicy::None {
        return None;
    }
    let has = |resource: ResourceId| machine.device_resources().any(|of| of == resource);
    let is_aligned = |container: &ContainerAsk| {
        let has_devices = container.devices.iter().any(|(resource, _)| has(*resource));
        let has_cpus = machine.cpu_manager.is_some() && container.whole_cpus() > 0;
        let has_memory = machine.memory.is_some() && !container.memory.is_empty();
        has_devices || ask.is_exclusive && (has_cpus || has_memory)
    };
    let of_containers = ask.containers.iter().zip(&taken.masks);
    let masks = of_containers.filter(|(ask, _)| is_aligned(ask)).map(|(_, mask)| {
        // Without a mask it may have all zones: there is but one.
        mask.unwrap_or(machine.all_zones())
    });
    masks.reduce(ZoneMask::union)
}

/// How a pod is put through the managers.
struct Run {
    /// Whether it need not be known which CPUs the last container gets.
    is_trial: bool,
    /// What its containers are aligned with, if that is not for the kubelet to choose.
    zones: Option<ZoneMask>,
}

/// What a container is aligned with for which nobody cares.
fn untouched(machine: &Machine) -> Option<ZoneMask> {
    match machine.policy {
        TopologyPolicy::None | TopologyPolicy::SingleNumaNode => None,
        TopologyPolicy::BestEffort | TopologyPolicy::Restricted => Some(machine.all_zones()),
    }
}

/// A pod on its way through the managers, on a copy of the state.
struct Admission<'a> {
    machine: &'a Machine,
    ask: &'a PodAsk,
    /// Whether it need not be known which CPUs the last container gets.
    is_trial: bool,
    /// What containers are aligned with, if that is not for the kubelet to choose.
    zones: Option<ZoneMask>,
    free: CpuSet,
    devices: [u128; DEVICE_RESOURCES_MAX],
    memory: Option<MemoryState>,
    reusable_cpus: CpuSet,
    reusable_devices: [u128; DEVICE_RESOURCES_MAX],
    reusable_memory: &'a mut Reusable,
    hints: &'a mut Vec<MaskSet>,
    taken: &'a mut Taken,
}

/// Why not, and for which container.
type Refusal = (RejectionCause, Option<usize>);

impl Admission<'_> {
    fn admit(&mut self) -> Result<(), Refusal> {
        let for_pod = match (self.machine.policy, self.machine.scope) {
            _ if self.zones.is_some() => Some(Affinity { mask: self.zones, is_preferred: true }),
            (TopologyPolicy::None, _) => Some(Affinity { mask: None, is_preferred: false }),
            (_, TopologyScope::Pod) => {
                let refused = |()| (RejectionCause::TopologyAffinity, None);
                Some(self.of_pod().map_err(refused)?)
            }
            (_, TopologyScope::Container) => None,
        };
        for container in 0..self.ask.containers.len() {
            let affinity = match for_pod {
                Some(affinity) => affinity,
                None => {
                    let refused = |()| (RejectionCause::TopologyAffinity, Some(container));
                    self.of_container(container).map_err(refused)?
                }
            };
            self.taken.masks.push(affinity.mask);
            let allocated = self.allocate(container, affinity);
            allocated.map_err(|cause| (cause, Some(container)))?;
        }
        Ok(())
    }

    /// What the managers agree on for a container.
    fn of_container(&mut self, container: usize) -> Result<Affinity, ()> {
        let ask = &self.ask.containers[container];
        let mut merge = Merge::new(self.machine, self.hints);
        for (place, devices) in self.machine.devices.iter().enumerate() {
            if let Some((_, count)) = ask.devices.iter().find(|(of, _)| *of == devices.resource) {
                let free = devices.healthy & !self.devices[place];
                merge.add(&devices.hints(free, self.reusable_devices[place], *count));
            }
        }
        if !self.ask.is_exclusive {
            return merge.finish();
        }
        if self.machine.cpu_manager.is_some() && ask.whole_cpus() > 0 {
            let (free, reusable) = (&self.free, &self.reusable_cpus);
            merge.add(&of_cpus(self.machine, free, reusable, ask.whole_cpus()));
        }
        if let Some(state) = &self.memory {
            let (machine, reusable) = (self.machine, &*self.reusable_memory);
            memory::hints_of_container(machine, state, reusable, ask, |hints| merge.add(hints));
        }
        merge.finish()
    }

    /// What the managers agree on for the pod. Nothing of it was given before, so there is nothing
    /// to be used again.
    fn of_pod(&mut self) -> Result<Affinity, ()> {
        let ask = self.ask;
        let mut merge = Merge::new(self.machine, self.hints);
        for (place, devices) in self.machine.devices.iter().enumerate() {
            if let Some(count) = ask.devices(devices.resource) {
                merge.add(&devices.hints(devices.healthy & !self.devices[place], 0, count));
            }
        }
        if !ask.is_exclusive {
            return merge.finish();
        }
        let cpus = ask.whole_cpus();
        if self.machine.cpu_manager.is_some() && cpus > 0 {
            merge.add(&of_cpus(self.machine, &self.free, &CpuSet::EMPTY, cpus));
        }
        if let Some(state) = &self.memory {
            memory::hints_of_pod(self.machine, state, ask, |hints| merge.add(hints));
        }
        merge.finish()
    }

    /// Gives a container what it asks for: devices, CPUs, memory, in the kubelet's order.
    fn allocate(&mut self, container: usize, affinity: Affinity) -> Result<(), RejectionCause> {
        self.allocate_devices(container, affinity.mask)?;
        if !self.ask.is_exclusive {
            return Ok(());
        }
        self.allocate_cpus(container, affinity.mask)?;
        let Some(state) = &mut self.memory else { return Ok(()) };
        let (machine, reusable) = (self.machine, &mut *self.reusable_memory);
        let blocks = &mut self.taken.blocks;
        memory::allocate(machine, state, reusable, self.ask, container, affinity, blocks)
    }

    fn allocate_devices(
        &mut self,
        container: usize,
        mask: Option<ZoneMask>,
    ) -> Result<(), RejectionCause> {
        let ask = &self.ask.containers[container];
        for (place, devices) in self.machine.devices.iter().enumerate() {
            let asked = ask.devices.iter().find(|(of, _)| *of == devices.resource);
            let Some((_, count)) = asked else { continue };
            let free = devices.healthy & !self.devices[place];
            let picked = devices.pick(free, self.reusable_devices[place], *count, mask)?;
            if picked.is_guess && self.taken.guess.is_none() {
                self.taken.guess = Some(container);
            }
            self.devices[place] |= picked.devices;
            self.taken.add_devices(place, picked.devices);
            match ask.role {
                ContainerRole::Init => self.reusable_devices[place] |= picked.devices,
                ContainerRole::Sidecar | ContainerRole::App => {
                    self.reusable_devices[place] &= !picked.devices;
                }
            }
        }
        Ok(())
    }

    fn allocate_cpus(
        &mut self,
        container: usize,
        mask: Option<ZoneMask>,
    ) -> Result<(), RejectionCause> {
        let ask = &self.ask.containers[container];
        let count = ask.whole_cpus();
        let Some(options) = self.machine.cpu_manager.filter(|_| count > 0) else { return Ok(()) };
        self.check_cores(&options, count)?;
        let is_last = container + 1 == self.ask.containers.len();
        // Distributing may fail though there are enough; packing does not. It may even succeed
        // though there are not, where the kubelet takes cores for free that are not.
        let enough = self.free.count() + self.reusable_cpus.count() >= count;
        if self.is_trial && is_last && enough && !options.is_distributed_across_zones {
            return Ok(());
        }
        let cpus = self.choose_cpus(&options, count, mask);
        let cpus = cpus.map_err(|TooFew| RejectionCause::CpusTaken)?;
        self.free.remove(&cpus);
        self.taken.cpus.add(&cpus);
        match ask.role {
            ContainerRole::Init => self.reusable_cpus.add(&cpus),
            ContainerRole::Sidecar | ContainerRole::App => self.reusable_cpus.remove(&cpus),
        }
        Ok(())
    }

    /// Whether whole cores can be given, if only those are. CPUs of init containers do not count
    /// as free here, though they may be given again.
    fn check_cores(&self, options: &CpuManagerFacts, count: u32) -> Result<(), RejectionCause> {
        if !options.is_full_cores_only {
            return Ok(());
        }
        let processors = &self.machine.processors;
        let is_whole = processors.per_core() > 0 && count.is_multiple_of(processors.per_core());
        let mut whole = self.free;
        whole.remove(&processors.reserved_cores);
        if !is_whole || count > whole.count() {
            return Err(RejectionCause::SmtAlignment);
        }
        Ok(())
    }

    /// CPUs near the zones of the mask as far as there are any, then others.
    fn choose_cpus(
        &self,
        options: &CpuManagerFacts,
        count: u32,
        mask: Option<ZoneMask>,
    ) -> Result<CpuSet, TooFew> {
        let processors = &self.machine.processors;
        let take = |from: &CpuSet, count: u32| {
            if options.is_distributed_across_zones {
                distributed(processors, options, from, count)
            } else {
                packed(processors, options, from, count)
            }
        };
        let mut free = self.free;
        free.add(&self.reusable_cpus);
        let mut taken = CpuSet::EMPTY;
        if let Some(mask) = mask {
            let near = if options.is_aligned_by_socket {
                processors.in_sockets_of(mask)
            } else {
                processors.in_zones(mask)
            };
            let near = free.common(&near);
            taken = take(&near, count.min(near.count()))?;
        }
        free.remove(&taken);
        taken.add(&take(&free, count.saturating_sub(taken.count()))?);
        Ok(taken)
    }
}

impl Taken {
    /// Works out how the state changes.
    fn finish(&mut self, state: &State, after: Option<&MemoryState>) {
        let mut twice = self.cpus;
        twice.remove(&state.free);
        self.cpus_twice = (!twice.is_empty()).then(|| Box::new(twice));
        let (Some(before), Some(after)) = (&state.memory, after) else { return };
        for (zone, (old, new)) in before.zones.iter().zip(&after.zones).enumerate() {
            if old.assignments == new.assignments {
                continue;
            }
            let mut amounts = [0; MEMORY_KINDS_MAX];
            for (kind, amount) in amounts.iter_mut().enumerate() {
                *amount = before.free[kind][zone] - after.free[kind][zone];
            }
            self.zones.push(ZoneTaken {
                zone,
                amounts,
                assignments: new.assignments - old.assignments,
                group_before: old.group,
                group: new.group,
            });
        }
    }
}
