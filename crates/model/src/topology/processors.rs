//! The CPUs of a machine by zone, socket, cache and core, in the order in which the kubelet walks
//! through them.

use super::cpus::{CPUS_MAX, CpuSet};
use super::facts::ZoneFacts;
use super::machine::MachineFault;
use super::zones::ZoneMask;

/// Sockets that can be told apart.
const SOCKETS_MAX: usize = 64;

/// Hardware threads of a core.
const THREADS_MAX: usize = 8;

/// A core: hardware threads that share what computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Core {
    threads: [u16; THREADS_MAX],
    count: usize,
}

impl Core {
    /// Its CPUs, lowest first.
    pub(super) fn threads(&self) -> impl Iterator<Item = u32> + '_ {
        self.threads[..self.count].iter().map(|cpu| u32::from(*cpu))
    }

    pub(super) fn cpus(&self) -> CpuSet {
        self.threads().collect()
    }

    /// How many of its CPUs are in a set.
    pub(super) fn count_in(&self, cpus: &CpuSet) -> u32 {
        self.threads().map(|cpu| u32::from(cpus.has(cpu))).sum()
    }

    fn add(&mut self, cpu: u32) -> Result<(), MachineFault> {
        let cpu = u16::try_from(cpu).map_err(|_| MachineFault::TooManyCpus)?;
        *self.threads.get_mut(self.count).ok_or(MachineFault::TooManyThreads)? = cpu;
        self.count += 1;
        self.threads[..self.count].sort_unstable();
        Ok(())
    }
}

/// CPUs of one cache or socket, with the id that orders it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    id: u32,
    pub(super) cpus: CpuSet,
}

/// The CPUs of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Processors {
    pub(super) all: CpuSet,
    /// Never given exclusively.
    pub(super) reserved: CpuSet,
    /// Those and the other threads of their cores.
    pub(super) reserved_cores: CpuSet,
    /// By place.
    pub(super) zones: Box<[CpuSet]>,
    /// Zones that have CPUs.
    pub(super) with_cpus: ZoneMask,
    /// By id.
    pub(super) sockets: Box<[Part]>,
    /// By id.
    pub(super) caches: Box<[Part]>,
    /// By their lowest CPU.
    pub(super) cores: Box<[Core]>,
    /// Places of the cores of each zone, if sockets contain zones, else of each socket.
    pub(super) cores_inside: Box<[Box<[u16]>]>,
    /// How many CPUs the `k` largest zones have, for `k` from 1.
    largest: Box<[u32]>,
}

impl Processors {
    pub(super) fn new(zones: &[&ZoneFacts], reserved: &[u32]) -> Result<Processors, MachineFault> {
        let mut processors = Processors {
            all: CpuSet::EMPTY,
            reserved: CpuSet::EMPTY,
            reserved_cores: CpuSet::EMPTY,
            zones: vec![CpuSet::EMPTY; zones.len()].into(),
            with_cpus: ZoneMask::EMPTY,
            sockets: Box::default(),
            caches: Box::default(),
            cores: Box::default(),
            cores_inside: Box::default(),
            largest: Box::default(),
        };
        let (mut sockets, mut caches) = (Vec::new(), Vec::new());
        for (place, zone) in zones.iter().enumerate() {
            for cpu in &zone.cpus {
                if cpu.id as usize >= CPUS_MAX {
                    return Err(MachineFault::TooManyCpus);
                }
                if processors.all.has(cpu.id) {
                    return Err(MachineFault::CpuTwice);
                }
                processors.all.insert(cpu.id);
                processors.zones[place].insert(cpu.id);
                processors.with_cpus = processors.with_cpus.union(ZoneMask::of(place));
                part(&mut caches, cpu.cache).insert(cpu.id);
                part(&mut sockets, cpu.socket).insert(cpu.id);
            }
        }
        processors.sockets = sorted(sockets);
        processors.caches = sorted(caches);
        if processors.sockets.len() > SOCKETS_MAX {
            return Err(MachineFault::TooManyCpus);
        }
        processors.cores = cores(zones)?;
        processors.cores_inside = processors.cores_inside();
        processors.reserve(reserved)?;
        processors.largest = processors.largest();
        Ok(processors)
    }

    fn cores_inside(&self) -> Box<[Box<[u16]>]> {
        let inside = |cpus: &CpuSet| -> Box<[u16]> {
            let is_inside = |place: &u16| self.cores[usize::from(*place)].count_in(cpus) > 0;
            (0..self.cores.len() as u16).filter(is_inside).collect()
        };
        if self.is_zone_outermost() {
            self.sockets.iter().map(|socket| inside(&socket.cpus)).collect()
        } else {
            self.zones.iter().map(inside).collect()
        }
    }

    fn largest(&self) -> Box<[u32]> {
        let mut largest: Vec<u32> = self.zones.iter().map(CpuSet::count).collect();
        largest.sort_by_key(|cpus| std::cmp::Reverse(*cpus));
        for zone in 1..largest.len() {
            largest[zone] += largest[zone - 1];
        }
        largest.into()
    }

    fn reserve(&mut self, reserved: &[u32]) -> Result<(), MachineFault> {
        for cpu in reserved {
            if !self.all.has(*cpu) {
                return Err(MachineFault::ReservedCpuUnknown);
            }
            self.reserved.insert(*cpu);
            let is_its = |core: &&Core| core.threads().any(|thread| thread == *cpu);
            for core in self.cores.iter().filter(is_its) {
                self.reserved_cores.add(&core.cpus());
            }
        }
        Ok(())
    }

    /// Threads of the largest core.
    pub(super) fn threads_max(&self) -> u32 {
        self.cores.iter().map(|core| core.count as u32).max().unwrap_or(0)
    }

    /// CPUs of a core, as the kubelet reckons: the mean.
    pub(super) fn per_core(&self) -> u32 {
        self.all.count().checked_div(self.cores.len() as u32).unwrap_or(0)
    }

    /// CPUs of a socket, as the kubelet reckons: the mean.
    pub(super) fn per_socket(&self) -> u32 {
        self.all.count().checked_div(self.sockets.len() as u32).unwrap_or(0)
    }

    /// CPUs of a cache, as the kubelet reckons: the mean.
    pub(super) fn per_cache(&self) -> u32 {
        self.all.count().checked_div(self.caches.len() as u32).unwrap_or(0)
    }

    /// How many zones it takes at least to have so many CPUs, were all of them free.
    pub(super) fn zones_for(&self, cpus: u32) -> usize {
        let zones = self.with_cpus.count();
        let enough = self.largest[..zones].iter().position(|largest| *largest >= cpus);
        enough.map_or(zones, |place| place + 1)
    }

    /// How many sockets zones have CPUs in.
    pub(super) fn sockets_of(&self, zones: ZoneMask) -> usize {
        let cpus = self.in_zones(zones);
        self.sockets.iter().filter(|socket| socket.cpus.count_in(&cpus) > 0).count()
    }

    /// CPUs of zones.
    pub(super) fn in_zones(&self, zones: ZoneMask) -> CpuSet {
        let mut cpus = CpuSet::EMPTY;
        for place in zones.places().filter(|place| *place < self.zones.len()) {
            cpus.add(&self.zones[place]);
        }
        cpus
    }

    /// CPUs of the sockets that zones have CPUs in.
    pub(super) fn in_sockets_of(&self, zones: ZoneMask) -> CpuSet {
        let near = self.in_zones(zones);
        let mut cpus = CpuSet::EMPTY;
        for socket in self.sockets.iter().filter(|socket| socket.cpus.count_in(&near) > 0) {
            cpus.add(&socket.cpus);
        }
        cpus
    }
}

/// All cores by their lowest CPU.
fn cores(zones: &[&ZoneFacts]) -> Result<Box<[Core]>, MachineFault> {
    let mut all = Vec::new();
    for zone in zones {
        let mut named: Vec<(u32, u32, Core)> = Vec::new();
        for cpu in &zone.cpus {
            let is_its = |of: &(u32, u32, Core)| (of.0, of.1) == (cpu.socket, cpu.core);
            let place = named.iter().position(is_its).unwrap_or_else(|| {
                named.push((cpu.socket, cpu.core, Core { threads: [0; THREADS_MAX], count: 0 }));
                named.len() - 1
            });
            named[place].2.add(cpu.id)?;
        }
        all.extend(named.into_iter().map(|(_, _, core)| core));
    }
    all.sort_by_key(|core| core.threads[0]);
    Ok(all.into())
}

fn part(parts: &mut Vec<Part>, id: u32) -> &mut CpuSet {
    let place = parts.iter().position(|part| part.id == id).unwrap_or_else(|| {
        parts.push(Part { id, cpus: CpuSet::EMPTY });
        parts.len() - 1
    });
    &mut parts[place].cpus
}

fn sorted(mut parts: Vec<Part>) -> Box<[Part]> {
    parts.sort_by_key(|part| part.id);
    parts.into()
}
