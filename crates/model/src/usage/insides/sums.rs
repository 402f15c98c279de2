//! What the guests of a node take of its zones together, beside what each has for itself.

use super::Guest;
use crate::numa::{Alignment, NumaPolicy};
use crate::topology::{Machine, Shared, Taken, ZoneMask};

/// What guests take of zones together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) shared: Shared,
    /// Zones in which somebody has CPUs or devices alone.
    pub(super) busy: ZoneMask,
    /// Zones that are kept for pods which must be alone there.
    pub(super) kept: ZoneMask,
}

impl Sums {
    /// Adds what a guest takes. The order in which guests are added does not matter.
    pub(super) fn add(&mut self, machine: &Machine, alignment: &Alignment, guest: &Guest) {
        let (cpu, memory) = shared_by(machine, alignment, &guest.taken);
        self.shared.add(guest.zones, cpu, memory);
        if !guest.taken.is_empty() {
            self.busy = self.busy.union(guest.zones);
        }
        if alignment.wish.policy == Some(NumaPolicy::Isolated) {
            self.kept = self.kept.union(guest.zones);
        }
    }
}

/// CPU and memory of a guest that nobody gives to it alone.
fn shared_by(
    machine: &Machine,
    Alignment { ask, needs, .. }: &Alignment,
    taken: &Taken,
) -> (u64, u64) {
    let alone = u64::from(taken.cpus.count()) * 1_000;
    let is_pinned = ask.is_exclusive && !machine.memory_kinds().is_empty();
    let memory = if is_pinned { 0 } else { needs.memory };
    (needs.cpu_milli.saturating_sub(alone), memory)
}
