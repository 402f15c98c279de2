//! What a manager answers when it is asked with which sets of zones it could serve a request.

use super::cpus::CpuSet;
use super::machine::Machine;
use super::zones::{MaskSet, Sums, ZONES_MAX, ZoneMask};

/// An answer about one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hints {
    /// Any set will do, and none is needed.
    Any,
    /// No set will do.
    Impossible,
    /// One of these will do.
    Some {
        /// All that will do; at least one.
        possible: MaskSet,
        /// Those of them that are as narrow as they could be on the empty machine.
        preferred: MaskSet,
    },
}

impl Hints {
    pub(super) fn new(possible: MaskSet, preferred: MaskSet) -> Hints {
        if possible.is_empty() { Hints::Impossible } else { Hints::Some { possible, preferred } }
    }
}

/// Which sets of zones could serve `count` CPUs from those that are `free` and those that init
/// containers of the pod had.
pub(super) fn of_cpus(machine: &Machine, free: &CpuSet, reusable: &CpuSet, count: u32) -> Hints {
    let processors = &machine.processors;
    let narrowest = processors.zones_for(count);
    let is_by_socket = machine.cpu_manager.is_some_and(|options| options.is_aligned_by_socket);
    let (mut free_in, mut reusable_in) = ([0; ZONES_MAX], ZoneMask::EMPTY);
    let has_reusable = !reusable.is_empty();
    for place in processors.with_cpus.places() {
        free_in[place] = free.count_in(&processors.zones[place]).into();
        if has_reusable && reusable.count_in(&processors.zones[place]) > 0 {
            reusable_in = reusable_in.union(ZoneMask::of(place));
        }
    }
    let reusable = if has_reusable { u64::from(reusable.count()) } else { 0 };
    let (mut possible, mut preferred) = (MaskSet::EMPTY, MaskSet::EMPTY);
    let free_in = Sums::new(&free_in, processors.zones.len());
    for mask in processors.with_cpus.subsets() {
        let matching = free_in.of(mask);
        if !reusable_in.is_within(mask) || matching + reusable < count.into() {
            continue;
        }
        possible.insert(mask);
        let is_narrow = mask.count() == narrowest;
        if is_narrow || (is_by_socket && is_socket_aligned(machine, mask, narrowest)) {
            preferred.insert(mask);
        }
    }
    Hints::new(possible, preferred)
}

/// Whether zones span no more sockets than the narrowest ones would.
fn is_socket_aligned(machine: &Machine, mask: ZoneMask, narrowest: usize) -> bool {
    let processors = &machine.processors;
    match processors.with_cpus.count().checked_div(processors.sockets.len()) {
        None | Some(0) => false,
        Some(per_socket) => processors.sockets_of(mask) == narrowest.div_ceil(per_socket),
    }
}
