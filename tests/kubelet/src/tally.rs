//! What cases were about, so that a run that compares nothing is noticed.

use std::collections::BTreeMap;
use std::fmt;

use model::topology::{Machine, RejectionCause, Taken};

use crate::case::MachineCase;

/// Counts of what was met.
#[derive(Debug, Default)]
pub struct Tally(BTreeMap<&'static str, u64>);

/// What every long run must meet.
const MUST_MEET: &[&str] = &[
    "machines",
    "machines on which the kubelet does not start",
    "machines with gaps between zones",
    "machines with 8 zones",
    "pods admitted",
    "pods admitted: aligned with several zones",
    "pods admitted: exclusive CPUs",
    "pods admitted: exclusive CPUs of several zones",
    "pods admitted: memory of several zones",
    "pods admitted: pinned memory",
    "pods admitted: devices",
    "pods rejected: CPUs taken",
    "pods rejected: SMT alignment",
    "pods rejected: devices taken",
    "pods rejected: memory grouped",
    "pods rejected: memory taken",
    "pods rejected: topology affinity",
    "pods with a guess",
];

impl Tally {
    fn count(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    /// A machine, and whether its kubelet starts.
    pub fn machine(&mut self, machine: &MachineCase, starts: bool) {
        self.count("machines");
        if !starts {
            self.count("machines on which the kubelet does not start");
        }
        let last = machine.zones.last().map_or(0, |zone| zone.id as usize);
        if last >= machine.zones.len() {
            self.count("machines with gaps between zones");
        }
        if machine.zones.len() == 8 {
            self.count("machines with 8 zones");
        }
    }

    /// A pod that both admit.
    pub fn admitted(&mut self, machine: &Machine, taken: &Taken) {
        self.count("pods admitted");
        let all = machine.all_zones();
        let several = |mask: &model::topology::ZoneMask| mask.count() > 1 && *mask != all;
        if taken.masks.iter().flatten().any(several) {
            self.count("pods admitted: aligned with several zones");
        }
        let zones = || 0..machine.zone_ids().len();
        if !taken.cpus.is_empty() {
            self.count("pods admitted: exclusive CPUs");
        }
        if zones().filter(|zone| taken.cpus_in(machine, *zone) > 0).count() > 1 {
            self.count("pods admitted: exclusive CPUs of several zones");
        }
        if !taken.blocks.is_empty() {
            self.count("pods admitted: pinned memory");
        }
        if taken.blocks.iter().any(|block| block.zones.count() > 1) {
            self.count("pods admitted: memory of several zones");
        }
        if !taken.devices.is_empty() {
            self.count("pods admitted: devices");
        }
        if taken.guess.is_some() {
            self.count("pods admitted: devices at random zones");
        }
    }

    /// A pod that both reject.
    pub fn rejected(&mut self, cause: RejectionCause) {
        self.count(match cause {
            RejectionCause::TopologyAffinity => "pods rejected: topology affinity",
            RejectionCause::SmtAlignment => "pods rejected: SMT alignment",
            RejectionCause::CpusTaken => "pods rejected: CPUs taken",
            RejectionCause::DevicesTaken(_) => "pods rejected: devices taken",
            RejectionCause::NoHealthyDevice(_) => "pods rejected: no healthy device",
            RejectionCause::MemoryTaken => "pods rejected: memory taken",
            RejectionCause::MemoryNotPreferred => "pods rejected: memory not preferred",
            RejectionCause::MemoryGrouped => "pods rejected: memory grouped",
            RejectionCause::MemoryKindUnknown(_) => "pods rejected: huge pages unknown",
        });
    }

    /// A pod that is compared in part only, because the kubelet took devices at random before.
    pub fn guessed(&mut self) {
        self.count("pods with a guess");
    }

    /// Adds what another thread counted.
    pub fn merge(&mut self, other: Tally) {
        for (what, count) in other.0 {
            *self.0.entry(what).or_default() += count;
        }
    }

    /// What should have been met and was not.
    pub fn missing(&self) -> impl Iterator<Item = &'static str> + '_ {
        MUST_MEET.iter().copied().filter(|what| !self.0.contains_key(what))
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, count) in &self.0 {
            writeln!(f, "  {count:>8}  {what}")?;
        }
        Ok(())
    }
}
