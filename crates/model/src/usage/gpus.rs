//! What pods take of the GPUs of nodes: whole ones, or parts of some.
//!
//! Which GPUs a pod gets is up to its kubelet and the device plugin. Until somebody reports it, or
//! the pod says with which it was bound, the best ones are assumed; where nothing tells GPUs apart
//! that changes nothing but their numbers. A change inside a transaction is undone by putting back
//! what was there before.

use std::sync::Arc;

use super::insides::Inside;
use crate::catalog::{Catalog, Occupant};
use crate::gpu::{GpuAsk, GpuFault, GpuLayout, GpuPrices, GpuShare, WHOLE_MILLI, places};
use crate::ids::{ClassId, NodeId, PodId, ResourceId};

/// What is taken of the GPUs of all nodes. Only nodes that offer some have an entry.
#[derive(Default)]
pub(super) struct Gpus {
    nodes: Vec<Option<Box<[GpuPool]>>>,
    /// The changes of the transaction so far.
    undo: Vec<(NodeId, usize, Change)>,
}

/// GPUs of a node that are offered as one resource, and what is taken of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuPool {
    layout: Arc<GpuLayout>,
    /// What is taken of each, in thousandths.
    used: Box<[u32]>,
    /// Those that are allocated to claims and belong to nobody here.
    claimed: u128,
    /// Those of which nothing is taken.
    free: u128,
    guests: Vec<GpuGuest>,
}

/// What a pod, or room that is kept for one, takes of GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuGuest {
    /// The pod; none if it does not exist yet.
    pub pod: Option<PodId>,
    /// What it asks for.
    pub class: ClassId,
    /// Which it has; none if there was too little for it.
    pub devices: u128,
    /// How much of each, in thousandths.
    pub milli: u16,
}

/// What happened, and to which place among the guests.
enum Change {
    Came(usize),
    Left(usize, GpuGuest),
}

impl GpuGuest {
    fn is(&self, occupant: Occupant) -> bool {
        self.pod == occupant.pod && self.class == occupant.class
    }
}

impl GpuPool {
    fn new(layout: Arc<GpuLayout>, claimed: u128) -> Self {
        let used = vec![0; layout.count()].into();
        let free = layout.healthy() & !claimed;
        Self { layout, used, claimed, free, guests: Vec::new() }
    }

    /// How its GPUs are laid out.
    #[must_use]
    pub fn layout(&self) -> &GpuLayout {
        &self.layout
    }

    /// Who takes them, in the order in which they came.
    #[must_use]
    pub fn guests(&self) -> &[GpuGuest] {
        &self.guests
    }

    /// GPUs of which nothing is taken, bit 0 being the first.
    #[must_use]
    pub fn free(&self) -> u128 {
        self.free
    }

    /// What is left of one, in thousandths.
    #[must_use]
    pub fn left(&self, at: usize) -> u16 {
        let is_open = self.layout.healthy() & !self.claimed;
        let used = self.used[at].min(WHOLE_MILLI.into());
        if is_open >> at & 1 == 1 { WHOLE_MILLI - u16::try_from(used).unwrap_or(0) } else { 0 }
    }

    /// How much a pod takes of each GPU that it gets here, in thousandths.
    ///
    /// # Errors
    /// When it asks for a part that nothing here could give it.
    pub fn part(&self, ask: &GpuAsk) -> Result<u16, GpuFault> {
        let layout = &self.layout;
        let replicas = layout.sharing.replicas();
        match ask.share {
            None if replicas <= 1 => Ok(WHOLE_MILLI),
            None => Ok(u16::try_from(u32::from(WHOLE_MILLI) / replicas).unwrap_or(0).max(1)),
            Some(GpuShare::Milli(WHOLE_MILLI)) => Ok(WHOLE_MILLI),
            Some(_) if replicas <= 1 => Err(GpuFault::NoSharing),
            Some(GpuShare::Milli(milli)) => Ok(milli),
            Some(GpuShare::Memory(bytes)) => {
                let known = (0..layout.count()).map(|at| layout.memory(at));
                let memory = known.filter(|memory| *memory > 0).min();
                let memory = memory.ok_or(GpuFault::MemoryUnknown)?;
                let milli = (u128::from(bytes) * 1000).div_ceil(memory.into());
                let milli = u16::try_from(milli).ok().filter(|milli| *milli <= WHOLE_MILLI);
                milli.ok_or(GpuFault::MemoryTooSmall)
            }
        }
    }

    /// GPUs that have so much left.
    #[must_use]
    pub fn with_left(&self, milli: u16) -> u128 {
        if milli == WHOLE_MILLI {
            return self.free;
        }
        let has = |at: &usize| self.left(*at) >= milli;
        (0..self.layout.count()).filter(has).fold(0, |set, at| set | 1 << at)
    }

    /// The GPUs that a pod gets of which it takes so much each, if there are enough: those of one
    /// model that are nearest to each other; parts where least is lost by it.
    // Hot: once per node that a pod with GPUs is looked at on.
    #[must_use]
    pub fn chosen(&self, ask: &GpuAsk, milli: u16, prices: Option<&GpuPrices>) -> Option<u128> {
        let allowed = match ask.memory {
            0 => u128::MAX,
            memory => self.layout.with_memory(memory),
        };
        self.chosen_among(allowed, ask, milli, prices)
    }

    fn chosen_among(
        &self,
        allowed: u128,
        ask: &GpuAsk,
        milli: u16,
        prices: Option<&GpuPrices>,
    ) -> Option<u128> {
        let count = ask.count;
        let within = |models: u128| {
            let allowed = allowed & models;
            match (milli, ask.share) {
                (WHOLE_MILLI, _) => {
                    let favoured = self.layout.favoured(ask);
                    self.layout.best_set(self.free, allowed, count, favoured)
                }
                // As device plugins give replicas.
                (_, None) => self.lowest(allowed, count, milli, |left| -i64::from(left)),
                _ => self.lowest(allowed, count, milli, |left| {
                    prices.map_or(0, |prices| prices.part_lost(left, milli))
                }),
            }
        };
        match self.layout.models() {
            [_] => within(u128::MAX),
            models => {
                let rated = |set: &u128| (self.layout.nearness(*set), std::cmp::Reverse(*set));
                let of_one = models.iter().filter_map(|models| within(*models)).max_by_key(rated);
                of_one.or_else(|| within(u128::MAX))
            }
        }
    }

    /// So many GPUs with enough left, of which the least is lost by what is left of them, and else
    /// of which least is left.
    fn lowest(
        &self,
        allowed: u128,
        count: u32,
        milli: u16,
        lost: impl Fn(u16) -> i64,
    ) -> Option<u128> {
        let open = self.with_left(milli) & allowed;
        let rank = |at: usize| (lost(self.left(at)), self.left(at), at);
        if count == 1 {
            return places(open).map(rank).min().map(|(_, _, at)| 1 << at);
        }
        let mut ranked: Vec<_> = places(open).map(rank).collect();
        ranked.sort_unstable();
        let is_enough = ranked.len() >= count as usize;
        let chosen = ranked.iter().take(count as usize);
        is_enough.then(|| chosen.fold(0, |set, (_, _, at)| set | 1 << at))
    }

    /// The GPUs of a pod that is here.
    #[must_use]
    pub fn devices_of(&self, pod: PodId) -> Option<u128> {
        let guest = self.guests.iter().find(|guest| guest.pod == Some(pod))?;
        Some(guest.devices).filter(|devices| *devices != 0)
    }

    fn change(&mut self, guest: &GpuGuest, sign: i64) {
        for at in places(guest.devices) {
            let used = i64::from(self.used[at]) + sign * i64::from(guest.milli);
            self.used[at] = u32::try_from(used).unwrap_or(0);
            let is_free = used == 0 && (self.layout.healthy() & !self.claimed) >> at & 1 == 1;
            self.free = self.free & !(1 << at) | u128::from(is_free) << at;
        }
    }

    fn insert(&mut self, at: usize, guest: GpuGuest) {
        self.change(&guest, 1);
        self.guests.insert(at, guest);
    }

    fn remove(&mut self, at: usize) -> GpuGuest {
        let guest = self.guests.remove(at);
        self.change(&guest, -1);
        guest
    }

    /// What somebody gets who comes.
    fn received(&self, catalog: &Catalog, occupant: Occupant, node: Surroundings<'_>) -> GpuGuest {
        let Occupant { pod, class, .. } = occupant;
        let none = GpuGuest { pod, class, devices: 0, milli: WHOLE_MILLI };
        let Some(ask) = catalog.class(class).gpus.as_deref() else { return none };
        // Whoever is here against the rules has something all the same.
        let milli = self.part(ask).unwrap_or(WHOLE_MILLI);
        let told = pod.and_then(|pod| node.told(catalog, pod, self.layout.resource));
        if let Some(devices) = told.filter(|devices| devices & !self.layout.all() == 0) {
            return GpuGuest { devices, milli, ..none };
        }
        let bound = pod.map_or(0, |pod| u128::from(catalog.pod(pod).rest.gpus));
        let is_sound = bound.count_ones() == ask.count && bound & !self.with_left(milli) == 0;
        if bound != 0 && is_sound {
            return GpuGuest { devices: bound, milli, ..none };
        }
        let prices = catalog.gpu_prices().map(|(prices, _)| prices);
        let near = node.zoned(catalog, occupant, self.layout.resource);
        let near = near.and_then(|near| self.chosen_among(near, ask, milli, prices));
        let devices = near
            .or_else(|| self.chosen(ask, milli, prices))
            .or_else(|| self.chosen_among(u128::MAX, ask, milli, prices));
        GpuGuest { devices: devices.unwrap_or(0), milli, ..none }
    }
}

/// What else is known of a node on which somebody gets GPUs.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub(super) node: NodeId,
    pub(super) inside: Option<&'a Inside>,
}

impl Surroundings<'_> {
    /// Which devices the node's agent tells that a pod holds, where it tells all of them by number.
    fn told(self, catalog: &Catalog, pod: PodId, resource: ResourceId) -> Option<u128> {
        let held = catalog.node(self.node).held.as_deref()?;
        let uid = &*catalog.pod(pod).key.uid;
        let of_pod = held.pods.iter().find(|held| *held.uid == *uid)?;
        let name = catalog.resource_name(resource);
        let of = of_pod.devices.iter().find(|devices| *devices.resource == *name)?;
        let bit = |index: &Option<u32>| index.filter(|index| *index < 128).map(|at| 1_u128 << at);
        of.indices.iter().map(bit).try_fold(0, |all, one| Some(all | one?)).filter(|it| *it != 0)
    }

    /// The devices at the zones that a pod is foreseen to be in.
    fn zoned(self, catalog: &Catalog, occupant: Occupant, resource: ResourceId) -> Option<u128> {
        let inside = self.inside?;
        let devices = catalog.devices(self.node)?.get(resource).filter(|of| of.is_foreseen)?;
        let is_it =
            |guest: &&super::Guest| guest.pod == occupant.pod && guest.class == occupant.class;
        let guest = inside.guests().iter().rev().find(is_it)?;
        let ids = inside.machine().zone_ids();
        let zones: Vec<u32> = guest.zones.places().map(|place| ids[place]).collect();
        let is_near = |zones_of: &[u32]| zones_of.iter().any(|zone| zones.contains(zone));
        let near = devices.devices.iter().enumerate();
        let near = near.filter(|(_, device)| device.zones.as_deref().is_none_or(is_near));
        Some(near.fold(0, |set, (at, _)| set | 1 << at))
    }
}

impl Gpus {
    pub(super) fn pools(&self, node: NodeId) -> &[GpuPool] {
        self.nodes.get(node.index()).and_then(Option::as_deref).unwrap_or(&[])
    }

    /// The pool that a pod takes from, if it takes GPUs of which something is known here.
    fn pool_at(&self, catalog: &Catalog, class: ClassId, node: NodeId) -> Option<usize> {
        let ask = catalog.class(class).gpus.as_deref()?;
        self.pools(node).iter().position(|pool| pool.layout.resource == ask.resource)
    }

    fn pool(&mut self, node: NodeId, at: usize) -> &mut GpuPool {
        let pools = self.nodes[node.index()].as_mut().expect("a node with guests is there");
        &mut pools[at]
    }

    pub(super) fn come(
        &mut self,
        catalog: &Catalog,
        occupant: Occupant,
        node: NodeId,
        inside: Option<&Inside>,
    ) {
        let Some(at) = self.pool_at(catalog, occupant.class, node) else { return };
        let (place, guest) = match self.undo.last() {
            // Something else about it changed.
            Some((other, pool, Change::Left(place, guest)))
                if (*other, *pool) == (node, at)
                    && guest.is(occupant)
                    && occupant.pod.is_some() =>
            {
                (*place, *guest)
            }
            Some(_) | None => {
                let pool = &self.pools(node)[at];
                let surroundings = Surroundings { node, inside };
                (pool.guests.len(), pool.received(catalog, occupant, surroundings))
            }
        };
        self.pool(node, at).insert(place, guest);
        self.undo.push((node, at, Change::Came(place)));
    }

    pub(super) fn leave(&mut self, catalog: &Catalog, occupant: Occupant, node: NodeId) {
        let Some(at) = self.pool_at(catalog, occupant.class, node) else { return };
        let pool = self.pool(node, at);
        let place = pool.guests.iter().rposition(|guest| guest.is(occupant));
        let place = place.expect("a guest that leaves came");
        let guest = pool.remove(place);
        self.undo.push((node, at, Change::Left(place, guest)));
    }

    /// Takes back the last change of the transaction, if it was about this pod.
    pub(super) fn undo(&mut self, catalog: &Catalog, occupant: Occupant, node: NodeId) {
        if self.pool_at(catalog, occupant.class, node).is_none() {
            return;
        }
        let (node, at, change) = self.undo.pop().expect("a change that is undone was made");
        match change {
            Change::Came(place) => _ = self.pool(node, at).remove(place),
            Change::Left(place, guest) => self.pool(node, at).insert(place, guest),
        }
    }

    /// Makes the changes last.
    pub(super) fn commit(&mut self) {
        self.undo.clear();
    }

    /// Takes in that the facts of a node changed, or what is told of who holds what there.
    /// `guests` are those who are there.
    pub(super) fn renew(
        &mut self,
        catalog: &Catalog,
        node: NodeId,
        inside: Option<&Inside>,
        guests: &[Occupant],
    ) {
        let layouts = catalog.gpu_layouts(node);
        if self.nodes.len() <= node.index() {
            if layouts.is_empty() {
                return;
            }
            self.nodes.resize_with(node.index() + 1, || None);
        }
        let before = self.nodes[node.index()].take();
        if layouts.is_empty() {
            return;
        }
        let made = |layout: &Arc<GpuLayout>| {
            let claimed = catalog.claimed_devices(node, layout.resource);
            GpuPool::new(layout.clone(), claimed)
        };
        let mut pools: Box<[GpuPool]> = layouts.iter().map(made).collect();
        let surroundings = Surroundings { node, inside };
        for pool in &mut pools {
            let old = before.iter().flatten().find(|old| old.layout == pool.layout);
            pool.settle(catalog, surroundings, guests, old.map_or(&[], |old| &old.guests));
        }
        self.nodes[node.index()] = Some(pools);
    }

    /// Whether somebody is told to hold GPUs of a node that another was thought to have.
    pub(super) fn are_given_twice(&self, node: NodeId) -> bool {
        let is_given_twice = |used: &u32| *used > WHOLE_MILLI.into();
        self.pools(node).iter().any(|pool| pool.used.iter().any(is_given_twice))
    }

    /// Gives others to whoever was thought to have GPUs that somebody else is told to hold. Tells
    /// whether anybody has others now.
    pub(super) fn catch_up(
        &mut self,
        catalog: &Catalog,
        node: NodeId,
        inside: Option<&Inside>,
        guests: &[Occupant],
    ) -> bool {
        let before: Box<[GpuPool]> = self.pools(node).into();
        self.renew(catalog, node, inside, guests);
        *before != *self.pools(node)
    }

    /// Puts back what guests take, if these are those who are there.
    pub(super) fn restore(
        &mut self,
        node: NodeId,
        resource: ResourceId,
        guests: &[GpuGuest],
    ) -> bool {
        let pools = self.nodes.get_mut(node.index()).and_then(Option::as_mut);
        let pool =
            pools.and_then(|pools| pools.iter_mut().find(|pool| pool.layout.resource == resource));
        let Some(pool) = pool else { return false };
        let key = |guest: &GpuGuest| (guest.pod, guest.class);
        let mut here: Vec<_> = pool.guests.iter().map(key).collect();
        let mut there: Vec<_> = guests.iter().map(key).collect();
        here.sort_unstable();
        there.sort_unstable();
        let is_sound = |guest: &GpuGuest| guest.devices & !pool.layout.all() == 0;
        if here != there || !guests.iter().all(is_sound) {
            return false;
        }
        let mut renewed = GpuPool::new(pool.layout.clone(), pool.claimed);
        guests.iter().enumerate().for_each(|(at, guest)| renewed.insert(at, *guest));
        *pool = renewed;
        true
    }
}

impl GpuPool {
    /// Takes in who is here: first those of whom it is told what they have, then those who were
    /// here before with what they had, then the others.
    fn settle(
        &mut self,
        catalog: &Catalog,
        surroundings: Surroundings<'_>,
        guests: &[Occupant],
        before: &[GpuGuest],
    ) {
        let resource = self.layout.resource;
        let asks = |occupant: &&Occupant| {
            let ask = catalog.class(occupant.class).gpus.as_deref();
            ask.is_some_and(|ask| ask.resource == resource)
        };
        let is_told = |occupant: &Occupant| {
            occupant.pod.is_some_and(|pod| surroundings.told(catalog, pod, resource).is_some())
        };
        let here: Vec<Occupant> = guests.iter().filter(asks).copied().collect();
        let (told, others): (Vec<_>, Vec<_>) = here.into_iter().partition(is_told);
        for occupant in told {
            let guest = self.received(catalog, occupant, surroundings);
            self.insert(self.guests.len(), guest);
        }
        let mut before = before.to_vec();
        let mut fresh = Vec::new();
        for occupant in others {
            let old = before.iter().position(|guest| guest.is(occupant));
            let old = old.map(|at| before.remove(at));
            let still =
                old.filter(|old| old.devices != 0 && old.devices & !self.with_left(old.milli) == 0);
            match still {
                Some(guest) => self.insert(self.guests.len(), guest),
                None => fresh.push(occupant),
            }
        }
        for occupant in fresh {
            let guest = self.received(catalog, occupant, surroundings);
            self.insert(self.guests.len(), guest);
        }
    }
}
