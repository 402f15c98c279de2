//! What pods take inside the nodes whose kubelets align them: CPUs, devices and memory of zones.
//!
//! What a pod gets is foreseen when it is placed, as its kubelet would decide, and replaced by what
//! is reported of it. A change inside a transaction is undone by putting back what was there
//! before, so that it is exact whatever the kubelet's rules are.

mod lag;
mod reports;
mod sums;

use std::sync::Arc;

pub use lag::Account;
use sums::Sums;

use super::ways::zones_by_id;
use crate::catalog::{Catalog, Occupant};
use crate::ids::{ClassId, NodeId, PodId};
use crate::map::Map;
use crate::numa::{Alignment, NumaPolicy};
use crate::topology::{Free, Machine, Predictor, Shared, State, Taken, ZoneMask, predicted_zones};

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
    /// Whether what was told of it last was not what had been foreseen.
    is_contradicted: bool,
    /// What follows from the guests.
    sums: Sums,
    /// What a NodeResourceTopology tells, if one does.
    told: Option<lag::Told>,
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
    /// The zones it is in.
    pub zones: ZoneMask,
    /// Whether its kubelet has told so.
    pub is_reported: bool,
    /// Whether it is taken anyway, by what a NodeResourceTopology tells.
    pub account: Account,
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

    /// Whether it is not certain what is taken: the kubelet is unknown, or did last what nobody
    /// had foreseen, or what is told of it lags.
    #[must_use]
    pub fn is_estimated(&self) -> bool {
        self.is_contradicted || self.machine.is_kubelet_unknown() || self.told.is_some()
    }

    /// Whether what was told of it last was not what had been foreseen.
    #[must_use]
    pub fn is_contradicted(&self) -> bool {
        self.is_contradicted
    }

    /// What guests use of zones that is nobody's alone.
    pub(super) fn shared(&self) -> &Shared {
        &self.sums.shared
    }

    /// Zones in which somebody has CPUs or devices alone.
    pub(super) fn busy(&self) -> ZoneMask {
        self.sums.busy
    }

    /// Whether somebody has CPUs or devices alone.
    #[must_use]
    pub fn has_exclusive(&self) -> bool {
        !self.sums.busy.is_empty()
    }

    /// Zones that are kept for pods which must be alone there.
    pub(super) fn kept(&self) -> ZoneMask {
        self.sums.kept
    }

    /// Ids of the zones that a pod is in.
    #[must_use]
    pub fn zones_of(&self, pod: PodId) -> Option<Vec<u32>> {
        let guest = self.guests.iter().find(|guest| guest.pod == Some(pod))?;
        Some(guest.zones.places().map(|place| self.machine.zone_ids()[place]).collect())
    }

    fn come(&mut self, catalog: &Catalog, pod: Option<PodId>, class: ClassId) {
        let Some(alignment) = catalog.class(class).alignment.as_deref() else { return };
        let (taken, zones) = self.foreseen(catalog, pod, alignment);
        self.state.apply(&taken);
        let account = Account::Open;
        let guest = Guest { pod, class, taken, zones, is_reported: false, account };
        self.sums.add(&self.machine, alignment, &guest);
        // A guest is large: room for twice as many would be most of what a node takes.
        if self.guests.len() == self.guests.capacity() {
            self.guests.reserve_exact(2);
        }
        self.guests.push(guest);
        debug_assert_eq!(self.sums, self.summed(catalog), "what is added is what adds up");
    }

    /// What a pod takes, and the zones it is in: those that it was bound with, those that its
    /// kubelet chooses, or the best ones.
    fn foreseen(
        &self,
        catalog: &Catalog,
        pod: Option<PodId>,
        alignment: &Alignment,
    ) -> (Taken, ZoneMask) {
        let (machine, state, ask) = (&*self.machine, &self.state, &alignment.ask);
        let mut predictor = Predictor::default();
        let placed = self.placed(catalog, pod, alignment);
        if !machine.is_kubelet_unknown() {
            let taken = predictor.predict(machine, state, ask).cloned().unwrap_or_default();
            let zones = predicted_zones(machine, ask, &taken).or_else(|| self.zones_taken(&taken));
            if placed.is_none_or(|placed| zones == Some(placed)) {
                return (taken, zones.unwrap_or(machine.all_zones()));
            }
        }
        let chosen = placed.or_else(|| {
            let gang = pod.and_then(|pod| catalog.pod(pod).gang);
            let asked = alignment.wish.asked().unwrap_or(NumaPolicy::None);
            let ways = self.ways(alignment, asked, &mut predictor);
            // Who is there against its own wish is somewhere all the same.
            let ways = ways.or_else(|_| self.ways(alignment, NumaPolicy::None, &mut predictor));
            let ways = ways.ok()?;
            ways.best(catalog, gang).map(|(_, zones)| zones)
        });
        let taken = match chosen {
            Some(zones) => predictor.predict_in(machine, state, ask, zones),
            None => predictor.predict(machine, state, ask),
        };
        let taken = taken.cloned().unwrap_or_default();
        let zones = chosen.or_else(|| self.zones_taken(&taken)).unwrap_or(machine.all_zones());
        (taken, zones)
    }

    /// The zones that a pod was bound with, if they could be true.
    fn placed(
        &self,
        catalog: &Catalog,
        pod: Option<PodId>,
        alignment: &Alignment,
    ) -> Option<ZoneMask> {
        let ids = catalog.pod(pod?).rest.placed;
        if ids == 0 {
            return None;
        }
        let zones = zones_by_id(&self.machine, ids);
        let free = Free::new(&self.machine, &self.state, &self.sums.shared);
        let is_sound = zones.count() == ids.count_ones() as usize;
        (is_sound && free.could_fit(&alignment.needs, zones)).then_some(zones)
    }

    /// The zones that what is taken lies in; nothing if it lies in none.
    pub(super) fn zones_taken(&self, taken: &Taken) -> Option<ZoneMask> {
        let machine = &*self.machine;
        let has = |place: &usize| {
            taken.cpus_in(machine, *place) > 0
                || taken.devices.iter().any(|of| taken.devices_in(machine, of.resource, *place) > 0)
                || taken.blocks.iter().any(|block| block.zones.has(*place))
        };
        let places = (0..machine.zone_ids().len()).filter(has);
        let zones = places.fold(ZoneMask::EMPTY, |zones, at| zones.union(ZoneMask::of(at)));
        (!zones.is_empty()).then_some(zones)
    }

    /// Adds up anew what guests take together.
    fn sum_up(&mut self, catalog: &Catalog) {
        self.sums = self.summed(catalog);
    }

    fn summed(&self, catalog: &Catalog) -> Sums {
        let busy = self.told.map_or(ZoneMask::EMPTY, |told| told.busy);
        let mut sums = Sums { busy, ..Sums::default() };
        for guest in &self.guests {
            let Some(alignment) = catalog.class(guest.class).alignment.as_deref() else { continue };
            sums.add(&self.machine, alignment, guest);
        }
        sums
    }
}

impl Insides {
    pub(super) fn get(&self, node: NodeId) -> Option<&Inside> {
        self.nodes.get(&node)
    }

    /// Whether a pod of a class takes anything inside a node.
    pub(super) fn is_guest(&self, catalog: &Catalog, class: ClassId, node: NodeId) -> bool {
        catalog.class(class).alignment.is_some() && self.nodes.contains_key(&node)
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
                inside.sum_up(catalog);
                *place
            }
            Some(_) | None => {
                inside.come(catalog, occupant.pod, occupant.class);
                inside.guests.len() - 1
            }
        };
        self.undo.push((node, before, Change::Came(at)));
    }

    /// A pod leaves a node where it took something.
    pub(super) fn leave(&mut self, catalog: &Catalog, occupant: Occupant, node: NodeId) {
        let inside = self.nodes.get_mut(&node).expect("a node with guests is there");
        let at = inside.guests.iter().rposition(|guest| guest.is(occupant));
        let at = at.expect("a guest that leaves came");
        let state = inside.state.clone();
        let guest = inside.guests.remove(at);
        if guest.account != Account::Counted {
            inside.state.release(&inside.machine, &guest.taken);
            inside.hold_shared(&guest.taken);
        }
        inside.sum_up(catalog);
        self.undo.push((node, state, Change::Left(at, Box::new(guest))));
    }

    /// Takes back the last change of the transaction.
    pub(super) fn undo(&mut self, catalog: &Catalog) {
        let (node, state, change) = self.undo.pop().expect("a change that is undone was made");
        let inside = self.nodes.get_mut(&node).expect("a node with guests is there");
        inside.state = state;
        match change {
            Change::Came(at) => _ = inside.guests.remove(at),
            Change::Left(at, guest) => inside.guests.insert(at, *guest),
        }
        inside.sum_up(catalog);
    }

    /// Makes the changes last.
    pub(super) fn commit(&mut self) {
        self.undo.clear();
    }

    /// Puts back what was taken inside a node, for the same guests in any order.
    pub(super) fn restore(
        &mut self,
        catalog: &Catalog,
        node: NodeId,
        state: State,
        guests: Vec<Guest>,
        is_contradicted: bool,
    ) -> bool {
        let Some(inside) = self.nodes.get_mut(&node) else { return false };
        let mut here: Vec<_> = inside.guests.iter().map(|it| (it.pod, it.class)).collect();
        let mut there: Vec<_> = guests.iter().map(|it| (it.pod, it.class)).collect();
        here.sort_unstable();
        there.sort_unstable();
        let is_sound = here == there && state.is_of(&inside.machine);
        if is_sound {
            let mut state = state;
            state.claim_as(&inside.state);
            (inside.state, inside.guests) = (state, guests);
            inside.is_contradicted = is_contradicted;
            // Before zones were written down, they followed from what is taken.
            for at in 0..inside.guests.len() {
                if inside.guests[at].zones.is_empty() {
                    let zones = inside.zones_taken(&inside.guests[at].taken);
                    inside.guests[at].zones = zones.unwrap_or(inside.machine.all_zones());
                }
            }
            inside.sum_up(catalog);
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
        let claimed = machine.device_resources().map(|of| catalog.claimed_devices(node, of));
        let is_same = |inside: &&mut Inside| Arc::ptr_eq(&inside.machine, machine);
        if let Some(inside) = self.nodes.get_mut(&node).filter(is_same) {
            inside.state.set_claimed(claimed);
        } else {
            let before = self.nodes.get(&node);
            let accounts = lag::accounts(before);
            let mut state = State::new(machine);
            state.set_claimed(claimed);
            let mut inside = Inside {
                machine: machine.clone(),
                state,
                guests: Vec::new(),
                is_contradicted: false,
                sums: Sums::default(),
                told: before.and_then(|inside| inside.told),
            };
            inside.sum_up(catalog);
            guests.for_each(|guest| inside.come(catalog, guest.pod, guest.class));
            for guest in &mut inside.guests {
                let account = guest.pod.and_then(|pod| accounts.get(&pod));
                guest.account = account.copied().unwrap_or_default();
            }
            self.nodes.insert(node, inside);
        }
        let Some(inside) = self.nodes.get_mut(&node) else { return };
        match lag::object(catalog, node) {
            Some(object) => inside.follow(catalog, node, object),
            None => inside.unfollow(catalog),
        }
        if let Some(held) = catalog.node(node).held.as_deref() {
            inside.report(catalog, held);
        }
    }

    /// Takes in that other pods are on a node, or that they run: what was told of the node before
    /// may name or account for them. Tells whether it does.
    pub(super) fn recount(&mut self, catalog: &Catalog, node: NodeId) -> bool {
        self.catch_up(catalog, node)
            || self.nodes.get_mut(&node).is_some_and(|inside| inside.recount(catalog, node))
    }

    /// Takes in what the kubelet of a node told of pods before they were seen. Tells whether there
    /// was anything.
    pub(super) fn catch_up(&mut self, catalog: &Catalog, node: NodeId) -> bool {
        let Some(inside) = self.nodes.get_mut(&node) else { return false };
        let held = catalog.node(node).held.as_deref();
        held.is_some_and(|held| inside.catch_up(catalog, held))
    }
}
