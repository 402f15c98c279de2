//! What a pod needs of zones as a whole, and which sets of zones have it.

use super::ask::PodAsk;
use super::machine::{Machine, Zone};
use super::processors::Processors;
use super::state::State;
use super::zones::{Sums, ZONES_MAX, ZoneMask};
use crate::ids::ResourceId;

/// What the containers of a pod need at once, of the resources that are to be aligned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Thousandths of a CPU; 0 if CPUs do not count.
    pub cpu_milli: u64,
    /// Bytes; 0 if memory does not count.
    pub memory: u64,
    /// Devices that count.
    pub devices: Box<[(ResourceId, u32)]>,
    /// Whether it asks for much memory beside its CPUs, counted or not.
    pub is_memory_intensive: bool,
}

/// Bytes for each CPU from which on a pod counts as one that moves much memory.
const MEMORY_PER_CPU: u64 = 8 << 30;

impl Needs {
    /// What a pod needs of the resources of which `counts` holds.
    #[must_use]
    pub fn new(ask: &PodAsk, counts: impl Fn(ResourceId) -> bool) -> Self {
        let mut named: Vec<ResourceId> =
            ask.resources().filter(|resource| counts(*resource)).collect();
        named.sort_unstable();
        named.dedup();
        let devices =
            named.iter().filter_map(|resource| Some((*resource, ask.devices(*resource)?)));
        let of = |resource: ResourceId, amount: u64| if counts(resource) { amount } else { 0 };
        let (cpu_milli, memory) = (ask.cpu_milli(), ask.memory_at_once(ResourceId::MEMORY));
        let for_cpus = u128::from(cpu_milli) * u128::from(MEMORY_PER_CPU) / 1_000;
        Self {
            cpu_milli: of(ResourceId::CPU, cpu_milli),
            memory: of(ResourceId::MEMORY, memory),
            devices: devices.collect(),
            is_memory_intensive: cpu_milli > 0 && u128::from(memory) >= for_cpus,
        }
    }
}

/// What pods use of zones that nobody gives to them alone: CPU time, and memory that is not pinned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    /// Thousandths of a CPU by place.
    pub cpu_milli: [u64; ZONES_MAX],
    /// Bytes by place.
    pub memory: [u64; ZONES_MAX],
}

impl Shared {
    /// Adds what a pod uses of zones, the same of each.
    pub fn add(&mut self, zones: ZoneMask, cpu_milli: u64, memory: u64) {
        let count = (zones.count() as u64).max(1);
        for place in zones.places() {
            let (cpu, bytes) = (&mut self.cpu_milli[place], &mut self.memory[place]);
            *cpu = cpu.saturating_add(cpu_milli.div_ceil(count));
            *bytes = bytes.saturating_add(memory.div_ceil(count));
        }
    }
}

/// What there is in the zones of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Whole {
    /// CPUs that are not reserved.
    cpu_milli: Sums,
    memory: Sums,
    /// Zones whose memory is known.
    with_memory: ZoneMask,
}

impl Whole {
    pub(super) fn new(processors: &Processors, zones: &[Zone]) -> Self {
        let (mut cpu_milli, mut memory) = ([0; ZONES_MAX], [0; ZONES_MAX]);
        let mut with_memory = ZoneMask::EMPTY;
        for (place, zone) in zones.iter().enumerate() {
            let cpus = &processors.zones[place];
            let reserved = processors.reserved.count_in(cpus);
            cpu_milli[place] = u64::from(cpus.count() - reserved) * 1_000;
            if let Some(all) = zone.memory {
                with_memory = with_memory.union(ZoneMask::of(place));
                memory[place] = all;
            }
        }
        let sums = |of| Sums::new(of, zones.len());
        Self { cpu_milli: sums(&cpu_milli), memory: sums(&memory), with_memory }
    }
}

/// What is free of the zones of a machine, and what there is.
pub struct Free<'a> {
    machine: &'a Machine,
    state: &'a State,
    cpu_milli: Sums,
    memory: Sums,
    all: &'a Whole,
}

impl<'a> Free<'a> {
    /// Works it out.
    // Hot: once per node that a pod which is to be aligned is looked at on.
    #[must_use]
    pub fn new(machine: &'a Machine, state: &'a State, shared: &Shared) -> Self {
        let (mut cpu, mut memory) = ([0; ZONES_MAX], [0; ZONES_MAX]);
        let zones = machine.zone_ids().len();
        for place in 0..zones {
            let cpus = machine.cpus_of(place);
            let free = u64::from(state.free_cpus().count_in(cpus)) * 1_000;
            cpu[place] = free.saturating_sub(shared.cpu_milli[place]);
            if let Some(all) = machine.zone(place).memory {
                let free = state.memory(0, place).map_or(all, |(free, _)| free);
                memory[place] = free.saturating_sub(shared.memory[place]);
            }
        }
        Self {
            machine,
            state,
            cpu_milli: Sums::new(&cpu, zones),
            memory: Sums::new(&memory, zones),
            all: &machine.whole,
        }
    }

    /// Whether zones have what a pod needs.
    #[must_use]
    pub fn fits(&self, needs: &Needs, zones: ZoneMask) -> bool {
        needs.cpu_milli <= self.cpu_milli.of(zones)
            && self.fits_memory(needs, zones)
            && needs.devices.iter().all(|(resource, count)| {
                self.devices(*resource, zones).is_none_or(|(free, _)| *count <= free)
            })
    }

    /// The same for what no manager of the kubelet gives to the pod alone.
    #[must_use]
    pub fn fits_shared(&self, needs: &Needs, is_exclusive: bool, zones: ZoneMask) -> bool {
        let has_cpus = is_exclusive && self.machine.gives_cpus();
        let has_memory = is_exclusive && !self.machine.memory_kinds().is_empty();
        (has_cpus || needs.cpu_milli <= self.cpu_milli.of(zones))
            && (has_memory || self.fits_memory(needs, zones))
    }

    fn fits_memory(&self, needs: &Needs, zones: ZoneMask) -> bool {
        !zones.is_within(self.all.with_memory) || needs.memory <= self.memory.of(zones)
    }

    /// Whether zones would have what a pod needs if nothing else were there.
    #[must_use]
    pub fn could_fit(&self, needs: &Needs, zones: ZoneMask) -> bool {
        let has_memory =
            !zones.is_within(self.all.with_memory) || needs.memory <= self.all.memory.of(zones);
        needs.cpu_milli <= self.all.cpu_milli.of(zones)
            && has_memory
            && needs.devices.iter().all(|(resource, count)| {
                self.devices(*resource, zones).is_none_or(|(_, all)| *count <= all)
            })
    }

    /// For every resource how many zones it takes at least to have what a pod needs, were nothing
    /// taken.
    pub fn narrowest(&self, needs: &Needs) -> impl Iterator<Item = usize> {
        let all = self.machine.all_zones();
        let least = move |has: &dyn Fn(ZoneMask) -> bool| {
            let enough = all.subsets().filter(|mask| has(*mask)).map(ZoneMask::count).min();
            enough.unwrap_or(usize::MAX)
        };
        let cpu = (needs.cpu_milli > 0)
            .then(|| least(&|mask| needs.cpu_milli <= self.all.cpu_milli.of(mask)));
        let memory = (needs.memory > 0 && self.all.with_memory == all)
            .then(|| least(&|mask| needs.memory <= self.all.memory.of(mask)));
        let devices = needs.devices.iter().filter_map(move |(resource, count)| {
            self.devices(*resource, all)?;
            let enough = |mask| self.devices(*resource, mask).is_some_and(|(_, of)| *count <= of);
            Some(least(&enough))
        });
        cpu.into_iter().chain(memory).chain(devices)
    }

    /// How full zones are with a pod, in percent: the mean of the resources that count.
    #[must_use]
    pub fn fullness(&self, needs: &Needs, zones: ZoneMask) -> u64 {
        let (mut sum, mut count) = (0, 0);
        let mut add = |asked: u64, free: u64, all: u64| {
            if asked > 0 && all > 0 {
                sum += (all.saturating_sub(free).saturating_add(asked)).min(all) as u128 * 10_000
                    / u128::from(all);
                count += 1;
            }
        };
        add(needs.cpu_milli, self.cpu_milli.of(zones), self.all.cpu_milli.of(zones));
        add(needs.memory, self.memory.of(zones), self.all.memory.of(zones));
        for (resource, asked) in &needs.devices {
            if let Some((free, all)) = self.devices(*resource, zones) {
                add((*asked).into(), free.into(), all.into());
            }
        }
        // Less than 101, as every part is at most all.
        u64::try_from(sum.checked_div(count).unwrap_or(0) / 100).unwrap_or(0)
    }

    /// How full the memory of zones is, in percent; nothing if it is not known.
    #[must_use]
    pub fn memory_used(&self, zones: ZoneMask) -> Option<u64> {
        let (free, all) = (self.memory.of(zones), self.all.memory.of(zones));
        let is_known = zones.is_within(self.all.with_memory) && all > 0;
        is_known
            .then(|| (all - free.min(all)) as u128 * 100 / u128::from(all))
            .map(|used| used as u64)
    }

    /// Free devices of a resource near zones, and all of them; nothing if the machine does not list
    /// them, or none of them names a zone.
    fn devices(&self, resource: ResourceId, zones: ZoneMask) -> Option<(u32, u32)> {
        let at = self.machine.device_resources().position(|of| of == resource)?;
        let devices = &self.machine.devices[at];
        let near = devices.is_aligned().then(|| devices.meeting(zones))?;
        let free = self.state.free_devices(self.machine, at) & near;
        Some((free.count_ones(), (devices.healthy & near).count_ones()))
    }
}
