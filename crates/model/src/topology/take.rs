//! Which CPUs the kubelet gives: whole zones and sockets first, then caches if they count, then
//! cores, then single threads, each time from where the least is left.
//!
//! The kubelet reckons that sockets and cores are all of one size. Where they are not, it may take
//! a socket or core for free of which a part is not; so does this.

use super::cpus::CpuSet;
use super::facts::CpuManagerFacts;
use super::processors::{Core, Part, Processors};
use super::zones::ZONES_MAX;

/// There are fewer CPUs than are asked for, or the kubelet fails to reckon with what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooFew;

/// Takes `count` CPUs out of `from`, packed: as few zones, sockets and cores as possible.
pub(super) fn packed(
    processors: &Processors,
    options: &CpuManagerFacts,
    from: &CpuSet,
    count: u32,
) -> Result<CpuSet, TooFew> {
    let mut taking = Taking::new(processors, from, count);
    if taking.is_done() {
        return Ok(taking.taken);
    }
    if taking.needed > i64::from(taking.free.count()) {
        return Err(TooFew);
    }
    if processors.is_zone_outermost() {
        taking.whole_zones();
        taking.whole_sockets();
    } else {
        taking.whole_sockets();
        taking.whole_zones();
    }
    if options.prefers_one_cache && !taking.is_done() {
        taking.caches();
    }
    if !options.is_distributed_across_cores && !taking.is_done() {
        taking.whole_cores();
    }
    if !taking.is_done() {
        taking.threads(options.is_distributed_across_cores);
    }
    if taking.is_done() { Ok(taking.taken) } else { Err(TooFew) }
}

impl Processors {
    /// Whether zones contain sockets, and not the other way round.
    pub(super) fn is_zone_outermost(&self) -> bool {
        self.sockets.len() >= self.with_cpus.count()
    }

    /// Zones with free CPUs in the order in which the kubelet takes from them.
    pub(super) fn zones_in_order(&self, free: &CpuSet) -> Order {
        if self.is_zone_outermost() {
            return Order::new(0..self.zones.len(), |zone| free.count_in(&self.zones[zone]));
        }
        let mut order = Order::EMPTY;
        for socket in self.sockets_by_size(free).iter() {
            let here = free.common(&self.sockets[socket].cpus);
            let inside = (0..self.zones.len()).filter(|zone| here.count_in(&self.zones[*zone]) > 0);
            order.extend(Order::new(inside, |zone| free.count_in(&self.zones[zone])));
        }
        order
    }

    /// Sockets with free CPUs in the order in which the kubelet takes from them.
    fn sockets_in_order(&self, free: &CpuSet) -> Order {
        if !self.is_zone_outermost() {
            return self.sockets_by_size(free);
        }
        let mut order = Order::EMPTY;
        for zone in self.zones_in_order(free).iter() {
            let here = free.common(&self.zones[zone]);
            let inside =
                (0..self.sockets.len()).filter(|of| here.count_in(&self.sockets[*of].cpus) > 0);
            order.extend(Order::new(inside, |of| free.count_in(&self.sockets[of].cpus)));
        }
        order
    }

    fn sockets_by_size(&self, free: &CpuSet) -> Order {
        Order::new(0..self.sockets.len(), |socket| free.count_in(&self.sockets[socket].cpus))
    }
}

/// Zones or sockets, by how little of them is free, then by id.
#[derive(Clone, Copy)]
pub(super) struct Order {
    places: [u8; 2 * Self::MAX],
    count: usize,
}

impl Order {
    /// Sockets that can be told apart; a socket that lies in several zones is met once in each.
    const MAX: usize = 64;
    const EMPTY: Self = Order { places: [0; 2 * Self::MAX], count: 0 };

    fn new(places: impl Iterator<Item = usize>, free: impl Fn(usize) -> u32) -> Order {
        let mut order = Order::EMPTY;
        for place in places.filter(|place| free(*place) > 0).take(Self::MAX) {
            order.push(place);
        }
        order.places[..order.count].sort_by_key(|place| (free(usize::from(*place)), *place));
        order
    }

    fn push(&mut self, place: usize) {
        if let (Some(slot), Ok(place)) = (self.places.get_mut(self.count), u8::try_from(place)) {
            *slot = place;
            self.count += 1;
        }
    }

    fn extend(&mut self, other: Order) {
        other.iter().for_each(|place| self.push(place));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.places[..self.count].iter().map(|place| usize::from(*place))
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }
}

/// CPUs on their way to a container.
pub(super) struct Taking<'a> {
    processors: &'a Processors,
    pub(super) free: CpuSet,
    pub(super) taken: CpuSet,
    /// Below zero if more was taken than asked for.
    pub(super) needed: i64,
}

impl<'a> Taking<'a> {
    pub(super) fn new(processors: &'a Processors, from: &CpuSet, count: u32) -> Self {
        let free = from.common(&processors.all);
        Taking { processors, free, taken: CpuSet::EMPTY, needed: count.into() }
    }

    pub(super) fn is_done(&self) -> bool {
        self.needed < 1
    }

    pub(super) fn take(&mut self, cpus: &CpuSet) {
        self.taken.add(cpus);
        self.free.remove(cpus);
        self.needed -= i64::from(cpus.count());
    }

    /// Takes a part that counted as free, if no more than all of it is needed.
    fn take_whole(&mut self, cpus: &CpuSet) {
        if self.needed >= i64::from(cpus.count()) {
            self.take(cpus);
        }
    }

    fn whole_zones(&mut self) {
        let free = self.free;
        for zone in self.processors.zones_in_order(&free).iter() {
            let cpus = &self.processors.zones[zone];
            if free.count_in(cpus) == cpus.count() {
                self.take_whole(cpus);
            }
        }
    }

    fn whole_sockets(&mut self) {
        let free = self.free;
        for socket in self.processors.sockets_in_order(&free).iter() {
            let cpus = &self.processors.sockets[socket].cpus;
            if free.count_in(cpus) == self.processors.per_socket() {
                self.take_whole(cpus);
            }
        }
    }

    fn whole_cores(&mut self) {
        let free = self.free;
        let per_core = self.processors.per_core();
        self.each_core(&free, |taking, core, count| {
            if count == per_core {
                taking.take_whole(&core.cpus());
            }
        });
    }

    /// Takes what is left to take, thread by thread.
    fn threads(&mut self, is_spread: bool) {
        let free = self.free;
        if is_spread {
            for socket in self.processors.sockets_in_order(&free).iter() {
                self.take_some(&free.common(&self.processors.sockets[socket].cpus));
            }
        } else {
            self.each_core(&free, |taking, core, _| taking.take_some(&free.common(&core.cpus())));
        }
    }

    /// Takes the lowest of these until nothing more is needed.
    fn take_some(&mut self, cpus: &CpuSet) {
        for cpu in cpus.iter() {
            if self.is_done() {
                return;
            }
            self.take(&CpuSet::from_iter([cpu]));
        }
    }

    /// Walks the cores that have free CPUs, with how many: the outer parts in their order, cores by
    /// how little of them is free.
    fn each_core(&mut self, free: &CpuSet, mut visit: impl FnMut(&mut Self, &Core, u32)) {
        let processors = self.processors;
        let outer = if processors.is_zone_outermost() {
            processors.sockets_in_order(free)
        } else {
            processors.zones_in_order(free)
        };
        let threads = processors.threads_max();
        for place in outer.iter() {
            for count in 1..=threads {
                for core in &processors.cores_inside[place] {
                    let core = &processors.cores[usize::from(*core)];
                    if core.count_in(free) == count {
                        visit(self, core, count);
                    }
                }
            }
        }
    }

    /// Takes whole caches, then a part of one if what is left fits it.
    fn caches(&mut self) {
        let free = self.free;
        for cache in caches_in_order(self.processors, &free) {
            if self.needed >= i64::from(self.processors.per_cache()) {
                self.whole_caches();
            }
            if self.is_done() {
                return;
            }
            self.part_of_cache(cache);
            if self.is_done() {
                return;
            }
        }
    }

    fn whole_caches(&mut self) {
        let free = self.free;
        for cache in caches_in_order(self.processors, &free) {
            if free.count_in(&cache.cpus) == cache.cpus.count() {
                self.take_whole(&cache.cpus);
            }
        }
    }

    fn part_of_cache(&mut self, cache: &Part) {
        let Ok(needed) = usize::try_from(self.needed) else { return };
        let per_core = self.processors.per_core() as usize;
        let here = self.free.common(&cache.cpus);
        let mut cpus = CpuSet::EMPTY;
        let with_free = self.processors.cores.iter().filter(|core| core.count_in(&here) > 0);
        for core in with_free.take(needed.div_ceil(per_core.max(1))) {
            cpus.add(&self.free.common(&core.cpus()));
        }
        let is_odd = needed % 2 != 0 && per_core > 1;
        if is_odd && cpus.count() as usize > needed {
            let last = cpus.iter().last();
            cpus.remove(&last.into_iter().collect());
        }
        if cpus.count() as usize == needed {
            self.take(&cpus);
        }
    }
}

/// Caches with free CPUs: zone by zone, those of which the least is free first.
fn caches_in_order<'a>(processors: &'a Processors, free: &CpuSet) -> Vec<&'a Part> {
    let mut order = Vec::with_capacity(processors.caches.len().min(ZONES_MAX));
    for zone in processors.zones_in_order(free).iter() {
        let here = free.common(&processors.zones[zone]);
        let first = order.len();
        order.extend(processors.caches.iter().filter(|of| of.cpus.count_in(&here) > 0));
        order[first..].sort_by_key(|of: &&Part| free.count_in(&of.cpus));
    }
    order
}
