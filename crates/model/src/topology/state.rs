//! What is taken of a machine.
//!
//! ```text
//!            predict ──▶ Taken
//!                          │
//!   State ──── apply ──────┤           the pod is placed
//!     ▲──────── undo ──────┤           it is not, after all: the last one applied goes first
//!     ▲──── end_init ──────┤           its init containers have ended
//!     ▲───── release ──────┘           it has left: what the kubelet does then
//! ```

use serde::{Deserialize, Serialize};

use super::cpus::CpuSet;
use super::machine::{MEMORY_KINDS_MAX, Machine};
use super::taken::{Block, Taken};
use super::zones::{ZONES_MAX, ZoneMask};

/// What is taken of one machine. Who holds what is in the [`Taken`] of every pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// CPUs that could be given exclusively: neither taken nor reserved.
    pub(super) free: CpuSet,
    /// Devices that are taken, by the place of their resource.
    pub(super) devices: Box<[u128]>,
    /// Nothing if memory is not pinned.
    pub(super) memory: Option<Box<MemoryState>>,
    /// Devices that are allocated to claims and belong to nobody here, by the place of their
    /// resource; none if it is empty. They follow from facts, also where a state is read again.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    claimed: Box<[u128]>,
}

/// What is taken of pinned memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MemoryState {
    /// Bytes by kind and place.
    pub(super) free: [[u64; ZONES_MAX]; MEMORY_KINDS_MAX],
    /// By place.
    pub(super) zones: [ZoneMemory; ZONES_MAX],
}

/// Whom a zone's memory serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneMemory {
    /// Blocks that lie in it, wholly or in part.
    pub assignments: u32,
    /// The zones that serve containers together with it; itself alone if it is in no group.
    pub group: ZoneMask,
}

impl State {
    /// A machine of which nothing is taken.
    #[must_use]
    pub fn new(machine: &Machine) -> State {
        let memory = machine.memory.as_ref().map(|memory| {
            let group = |place| ZoneMemory { assignments: 0, group: ZoneMask::of(place) };
            let zones = std::array::from_fn(group);
            let mut free = [[0; ZONES_MAX]; MEMORY_KINDS_MAX];
            free[..memory.kinds.len()].copy_from_slice(&memory.allocatable);
            Box::new(MemoryState { free, zones })
        });
        let devices = vec![0; machine.devices.len()].into();
        let claimed = Box::default();
        let mut state = State { free: CpuSet::EMPTY, devices, memory, claimed };
        state.set_free_cpus(machine, machine.processors.all);
        state
    }

    /// Whether it could be the state of a machine.
    #[must_use]
    pub fn is_of(&self, machine: &Machine) -> bool {
        self.devices.len() == machine.devices.len()
            && self.memory.is_some() == machine.memory.is_some()
    }

    /// CPUs that could be given exclusively: neither taken nor reserved.
    #[must_use]
    pub fn free_cpus(&self) -> &CpuSet {
        &self.free
    }

    /// A machine of which nothing is taken but what is allocated to claims as here.
    #[must_use]
    pub fn emptied(&self, machine: &Machine) -> State {
        State { claimed: self.claimed.clone(), ..State::new(machine) }
    }

    /// Takes over what is allocated to claims in another state of the machine.
    pub fn claim_as(&mut self, other: &State) {
        self.claimed.clone_from(&other.claimed);
    }

    /// Sets which devices are allocated to claims, by the place of their resource.
    pub fn set_claimed(&mut self, claimed: impl Iterator<Item = u128>) {
        let claimed: Box<[u128]> = claimed.collect();
        let is_empty = claimed.iter().all(|devices| *devices == 0);
        self.claimed = if is_empty { Box::default() } else { claimed };
    }

    /// Devices of a resource that are allocated to claims.
    #[must_use]
    pub fn claimed_devices(&self, resource: usize) -> u128 {
        self.claimed.get(resource).copied().unwrap_or(0)
    }

    /// Devices of a resource that pods take.
    #[must_use]
    pub fn taken_devices(&self, resource: usize) -> u128 {
        self.devices[resource]
    }

    /// Healthy devices of a resource that nobody has, neither a pod nor a claim.
    #[must_use]
    pub fn free_devices(&self, machine: &Machine, resource: usize) -> u128 {
        let taken = self.devices[resource] | self.claimed_devices(resource);
        machine.devices[resource].healthy & !taken
    }

    /// Free bytes of a kind of memory in a zone, and whom the zone serves; nothing if memory is not
    /// pinned.
    #[must_use]
    pub fn memory(&self, kind: usize, zone: usize) -> Option<(u64, ZoneMemory)> {
        self.memory.as_ref().map(|memory| (memory.free[kind][zone], memory.zones[zone]))
    }

    /// Sets the CPUs that nobody has for itself, as they were reported; reserved ones among them do
    /// not count.
    pub fn set_free_cpus(&mut self, machine: &Machine, cpus: CpuSet) {
        self.free = cpus;
        self.free.remove(&machine.processors.reserved);
    }

    /// Sets the devices of a resource that are taken, as they were reported.
    pub fn set_devices(&mut self, resource: usize, taken: u128) {
        self.devices[resource] = taken;
    }

    /// Sets what is free of a kind of memory in a zone, and whom the zone serves, as reported.
    pub fn set_memory(&mut self, kind: usize, zone: usize, free: u64, serves: ZoneMemory) {
        if let Some(memory) = &mut self.memory {
            memory.free[kind][zone] = free;
            memory.zones[zone] = serves;
        }
    }

    /// Takes exclusive CPUs in a zone of which only the number is known: whole cores first, the
    /// lowest ones. Takes what there is if there are fewer, and returns which.
    pub fn assume_cpus(&mut self, machine: &Machine, zone: usize, count: u32) -> CpuSet {
        let free = self.free.common(machine.cpus_of(zone));
        let processors = &machine.processors;
        let plain = super::CpuManagerFacts::default();
        let count = count.min(free.count());
        let cpus = super::take::packed(processors, &plain, &free, count).unwrap_or_default();
        self.free.remove(&cpus);
        cpus
    }

    /// Takes memory as a report says that a container holds it.
    pub fn hold_memory(&mut self, block: &Block) {
        if let Some(memory) = &mut self.memory {
            memory.take(block.zones, block.kind, block.amount);
        }
    }

    /// Takes what was predicted on this very state.
    pub fn apply(&mut self, taken: &Taken) {
        self.free.remove(&taken.cpus);
        for of in &taken.devices {
            self.devices[of.resource] |= of.devices;
        }
        let Some(memory) = &mut self.memory else { return };
        for of in &taken.zones {
            let zone = &mut memory.zones[of.zone];
            zone.assignments += of.assignments;
            zone.group = of.group;
            for (free, amount) in memory.free.iter_mut().zip(of.amounts) {
                free[of.zone] -= amount;
            }
        }
    }

    /// Undoes [`State::apply`]. Of several, the last one must be undone first.
    pub fn undo(&mut self, taken: &Taken) {
        let mut cpus = taken.cpus;
        if let Some(twice) = &taken.cpus_twice {
            cpus.remove(twice);
        }
        self.free.add(&cpus);
        for of in &taken.devices {
            self.devices[of.resource] &= !of.devices;
        }
        let Some(memory) = &mut self.memory else { return };
        for of in &taken.zones {
            let zone = &mut memory.zones[of.zone];
            zone.assignments -= of.assignments;
            zone.group = of.group_before;
            for (free, amount) in memory.free.iter_mut().zip(of.amounts) {
                free[of.zone] += amount;
            }
        }
    }

    /// The init containers of a pod have ended: their memory is given back, as far as no other
    /// container of the pod uses it. CPUs and devices stay until the pod leaves.
    pub fn end_init(&mut self, machine: &Machine, taken: &mut Taken) {
        let init: Vec<Block> = taken.blocks.iter().filter(|block| block.is_init).copied().collect();
        taken.blocks.retain(|block| !block.is_init);
        self.give_back(machine, &init);
    }

    /// A pod has left. Memory of a group of zones is given back to its lowest zone first, whichever
    /// zone this pod had it from; that is how the kubelet counts.
    pub fn release(&mut self, machine: &Machine, taken: &Taken) {
        let mut cpus = taken.cpus;
        cpus.remove(&machine.processors.reserved);
        self.free.add(&cpus);
        for of in &taken.devices {
            self.devices[of.resource] &= !of.devices;
        }
        self.give_back(machine, &taken.blocks);
    }

    fn give_back(&mut self, machine: &Machine, blocks: &[Block]) {
        if let (Some(state), Some(memory)) = (&mut self.memory, &machine.memory) {
            blocks.iter().for_each(|block| state.give_back(memory, block));
        }
    }
}
