//! What pods take inside the nodes whose kubelets align them: CPUs, devices and memory of zones.
//!
//! What a pod gets is foreseen when it is placed, as its kubelet would decide, and replaced by what
//! is reported of it. A change inside a transaction is undone by putting back what was there
//! before, so that it is exact whatever the kubelet's rules are.

use std::sync::Arc;

use crate::catalog::{Catalog, Occupant};
use crate::hardware::{HeldByPod, HeldDevices, HeldFacts, HeldMemory};
use crate::ids::{ClassId, NodeId, PodId};
use crate::map::Map;
use crate::topology::{
    Block, CpuSet, DevicesTaken, Machine, PodAsk, State, Taken, ZoneMask, predict,
};

/// What is taken inside nodes. Only those have an entry whose machines are known.
#[derive(Default)]
pub(super) struct Insides {
    nodes: Map<NodeId, Inside>,
    /// The changes of the transaction so far.
    undo: Vec<(NodeId, State, Change)>,
}

/// What is taken inside a node.
#[derive(Clone, Debug)]
pub struct Inside {
    machine: Arc<Machine>,
    state: State,
    guests: Vec<Guest>,
}

/// What a pod, or room that is kept for one, takes of the inside of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guest {
    /// The pod; none if it does not exist yet.
    pub pod: Option<PodId>,
    /// What it asks for.
    pub class: ClassId,
    /// Nothing at all if its kubelet would refuse it.
    pub taken: Taken,
    /// Whether its kubelet has told so.
    pub is_reported: bool,
}

/// What happened, and to which place among the guests.
enum Change {
    Came(usize),
    Left(usize, Box<Guest>),
}

impl Guest {
    fn is(&self, occupant: Occupant) -> bool {
        self.pod == occupant.pod && self.class == occupant.class
    }
}

impl Inside {
    /// What the node is.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// What is taken.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Who takes it, in the order in which they came.
    #[must_use]
    pub fn guests(&self) -> &[Guest] {
        &self.guests
    }

    fn come(&mut self, pod: Option<PodId>, class: ClassId, ask: &PodAsk) {
        let taken = predict(&self.machine, &self.state, ask).unwrap_or_default();
        self.state.apply(&taken);
        self.guests.push(Guest { pod, class, taken, is_reported: false });
    }

    /// Takes in what the kubelet tells. Whoever it does not name came after it was told.
    fn report(&mut self, catalog: &Catalog, held: &HeldFacts) {
        self.state = State::new(&self.machine);
        let guests = std::mem::take(&mut self.guests);
        let mut unnamed = Vec::new();
        for guest in guests {
            let uid = guest.pod.map(|pod| &*catalog.pod(pod).key.uid);
            let told = uid.and_then(|uid| held.pods.iter().find(|held| *held.uid == *uid));
            match told {
                Some(told) => {
                    let taken = self.told(catalog, told);
                    self.take(&taken);
                    self.guests.push(Guest { taken, is_reported: true, ..guest });
                }
                None => unnamed.push(guest),
            }
        }
        for guest in unnamed {
            if let Some(ask) = &catalog.class(guest.class).ask {
                self.come(guest.pod, guest.class, ask);
            }
        }
    }

    /// What a pod holds by what its kubelet tells.
    fn told(&self, catalog: &Catalog, held: &HeldByPod) -> Taken {
        let mut cpus = CpuSet::EMPTY;
        held.cpus.iter().for_each(|cpu| _ = cpus.insert(cpu));
        let mut taken = Taken::default();
        taken.cpus = cpus;
        let places: Vec<_> = self.machine.device_resources().collect();
        for HeldDevices { resource, indices } in &held.devices {
            let resource = catalog.find_resource(resource);
            let place = places.iter().position(|of| Some(*of) == resource);
            let Some(resource) = place else { continue };
            let named = indices.iter().flatten().filter(|index| **index < u128::BITS);
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

impl Insides {
    pub(super) fn get(&self, node: NodeId) -> Option<&Inside> {
        self.nodes.get(&node)
    }

    /// Whether a pod of a class takes anything inside a node.
    pub(super) fn is_guest(&self, catalog: &Catalog, class: ClassId, node: NodeId) -> bool {
        catalog.class(class).ask.is_some() && self.nodes.contains_key(&node)
    }

    /// A pod comes to a node where it takes something.
    pub(super) fn come(&mut self, catalog: &Catalog, occupant: Occupant, node: NodeId) {
        let inside = self.nodes.get_mut(&node).expect("a node with guests is there");
        let before = inside.state.clone();
        let at = match self.undo.last() {
            // Something else about it changed.
            Some((at, state, Change::Left(place, guest)))
                if *at == node && guest.is(occupant) && occupant.pod.is_some() =>
            {
                inside.state.clone_from(state);
                inside.guests.insert(*place, (**guest).clone());
                *place
            }
            Some(_) | None => {
                let ask = catalog.class(occupant.class).ask.as_ref();
                inside.come(occupant.pod, occupant.class, ask.expect("a guest asks for something"));
                inside.guests.len() - 1
            }
        };
        self.undo.push((node, before, Change::Came(at)));
    }

    /// A pod leaves a node where it took something.
    pub(super) fn leave(&mut self, occupant: Occupant, node: NodeId) {
        let inside = self.nodes.get_mut(&node).expect("a node with guests is there");
        let at = inside.guests.iter().rposition(|guest| guest.is(occupant));
        let at = at.expect("a guest that leaves came");
        let state = inside.state.clone();
        let guest = inside.guests.remove(at);
        inside.state.release(&inside.machine, &guest.taken);
        self.undo.push((node, state, Change::Left(at, Box::new(guest))));
    }

    /// Takes back the last change of the transaction.
    pub(super) fn undo(&mut self) {
        let (node, state, change) = self.undo.pop().expect("a change that is undone was made");
        let inside = self.nodes.get_mut(&node).expect("a node with guests is there");
        inside.state = state;
        match change {
            Change::Came(at) => _ = inside.guests.remove(at),
            Change::Left(at, guest) => inside.guests.insert(at, *guest),
        }
    }

    /// Makes the changes last.
    pub(super) fn commit(&mut self) {
        self.undo.clear();
    }

    /// Puts back what was taken inside a node, for the same guests in any order.
    pub(super) fn restore(&mut self, node: NodeId, state: State, guests: Vec<Guest>) -> bool {
        let Some(inside) = self.nodes.get_mut(&node) else { return false };
        let mut here: Vec<_> = inside.guests.iter().map(|it| (it.pod, it.class)).collect();
        let mut there: Vec<_> = guests.iter().map(|it| (it.pod, it.class)).collect();
        here.sort_unstable();
        there.sort_unstable();
        let is_sound = here == there && state.is_of(&inside.machine);
        if is_sound {
            (inside.state, inside.guests) = (state, guests);
        }
        is_sound
    }

    /// Takes in that the facts of a node changed; `guests` are those who are there.
    pub(super) fn renew(
        &mut self,
        catalog: &Catalog,
        node: NodeId,
        guests: impl Iterator<Item = Occupant>,
    ) {
        let Some(machine) = catalog.machine(node) else {
            self.nodes.remove(&node);
            return;
        };
        let known = self.nodes.get(&node).filter(|inside| Arc::ptr_eq(&inside.machine, machine));
        if known.is_none() {
            let state = State::new(machine);
            let mut inside = Inside { machine: machine.clone(), state, guests: Vec::new() };
            for occupant in guests {
                if let Some(ask) = &catalog.class(occupant.class).ask {
                    inside.come(occupant.pod, occupant.class, ask);
                }
            }
            self.nodes.insert(node, inside);
        }
        let held = catalog.node(node).held.as_deref();
        if let (Some(held), Some(inside)) = (held, self.nodes.get_mut(&node)) {
            inside.report(catalog, held);
        }
    }
}
