//! What the kubelets of nodes tell that pods hold, which counts more than what was foreseen.

use std::collections::BTreeSet;

use super::{Guest, Inside};
use crate::catalog::Catalog;
use crate::hardware::{HeldByPod, HeldDevices, HeldFacts, HeldMemory};
use crate::ids::PodId;
use crate::topology::{Block, CpuSet, DevicesTaken, Taken, ZoneMask};

impl Inside {
    /// Takes in what the kubelet tells. Whoever it does not name came after it was told.
    pub(super) fn report(&mut self, catalog: &Catalog, held: &HeldFacts) {
        self.state = self.state.emptied(&self.machine);
        let guests = std::mem::take(&mut self.guests);
        let mut unnamed = Vec::new();
        self.is_contradicted = !held.left_out.is_empty();
        for guest in guests {
            let uid = guest.pod.map(|pod| &*catalog.pod(pod).key.uid);
            let told = uid.and_then(|uid| held.pods.iter().find(|held| *held.uid == *uid));
            match told {
                Some(told) => {
                    let taken = self.told(catalog, told);
                    self.take(&taken);
                    let zones = self.zones_taken(&taken).unwrap_or(guest.zones);
                    self.is_contradicted |= !guest.is_reported && zones != guest.zones;
                    self.guests.push(Guest { taken, zones, is_reported: true, ..guest });
                }
                None => unnamed.push(guest),
            }
        }
        self.sum_up(catalog);
        unnamed.into_iter().for_each(|guest| self.come(catalog, guest.pod, guest.class));
    }

    /// Takes in what the kubelet told before somebody came whom it names; tells whether it did.
    pub(super) fn catch_up(&mut self, catalog: &Catalog, held: &HeldFacts) -> bool {
        let mut foreseen = self.guests.iter().filter(|guest| !guest.is_reported).peekable();
        if foreseen.peek().is_none() {
            return false;
        }
        let named: BTreeSet<&str> = held.pods.iter().map(|held| &*held.uid).collect();
        let is_named = |pod: PodId| named.contains(&*catalog.pod(pod).key.uid);
        let is_news = foreseen.any(|guest| guest.pod.is_some_and(is_named));
        if is_news {
            self.report(catalog, held);
        }
        is_news
    }

    /// What a pod holds by what its kubelet tells.
    fn told(&self, catalog: &Catalog, held: &HeldByPod) -> Taken {
        let mut cpus = CpuSet::EMPTY;
        held.cpus.iter().for_each(|cpu| _ = cpus.insert(cpu));
        let mut taken = Taken::default();
        // A report may be older than the machine.
        taken.cpus = cpus.common(self.machine.cpus());
        let places: Vec<_> = self.machine.device_resources().collect();
        for HeldDevices { resource, indices } in &held.devices {
            let resource = catalog.find_resource(resource);
            let place = places.iter().position(|of| Some(*of) == resource);
            let Some(resource) = place else { continue };
            let count = self.machine.device_count(resource);
            let named = indices.iter().flatten().filter(|index| **index < count);
            let mut devices = named.fold(0_u128, |devices, index| devices | 1 << index);
            // Of which only the number is told: any that are free.
            let unnamed = indices.iter().filter(|index| index.is_none()).count();
            let mut free = self.state.free_devices(&self.machine, resource) & !devices;
            for _ in 0..unnamed {
                let lowest = free & free.wrapping_neg();
                (devices, free) = (devices | lowest, free & !lowest);
            }
            taken.devices.push(DevicesTaken { resource, devices });
        }
        for HeldMemory { resource, zones, bytes } in &held.memory {
            let resource = catalog.find_resource(resource);
            let mut kinds = self.machine.memory_kinds().iter();
            let kind = kinds.position(|kind| Some(*kind) == resource);
            let places = zones.iter().filter_map(|zone| self.machine.zone_place(*zone));
            let bits = places.fold(0_u8, |bits, place| bits | 1 << place);
            if let Some(kind) = kind.filter(|_| bits != 0) {
                let zones = ZoneMask::from_bits(bits);
                let block = Block { container: 0, zones, kind, amount: *bytes, is_init: false };
                taken.blocks.push(block);
            }
        }
        taken
    }

    /// What a guest gave back stays taken as far as others were told to have it too.
    pub(super) fn hold_shared(&mut self, given: &Taken) {
        let mut free = *self.state.free_cpus();
        for other in self.guests.iter().filter(|guest| guest.is_reported) {
            free.remove(&other.taken.cpus.common(&given.cpus));
            for DevicesTaken { resource, devices } in &other.taken.devices {
                let before = self.state.taken_devices(*resource);
                self.state.set_devices(*resource, before | devices);
            }
        }
        self.state.set_free_cpus(&self.machine, free);
    }

    /// Takes what was told, whatever was thought to be taken before.
    fn take(&mut self, taken: &Taken) {
        let mut free = *self.state.free_cpus();
        free.remove(&taken.cpus);
        self.state.set_free_cpus(&self.machine, free);
        for DevicesTaken { resource, devices } in &taken.devices {
            let before = self.state.taken_devices(*resource);
            self.state.set_devices(*resource, before | devices);
        }
        taken.blocks.iter().for_each(|block| self.state.hold_memory(block));
    }
}
