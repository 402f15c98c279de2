//! Nodes of which a NodeResourceTopology tells how much is free. It lags: an updater writes it some
//! time after pods come and go. So what it says is taken is taken, and a pod is taken on top of it
//! until the object accounts for the pod:
//!
//! ```text
//!            fingerprint matches, or: an update while it runs     and another one
//!   Open ───────────────────────────────────────▶ Once ──────────────────────────▶ Counted
//! ```
//!
//! A pod that is counted and leaves frees nothing: the next update does.

use serde::{Deserialize, Serialize};

use super::{Guest, Inside};
use crate::catalog::{Catalog, Pod, PodState};
use crate::fingerprint::fingerprint;
use crate::ids::{NodeId, PodId, ResourceId};
use crate::map::Map;
use crate::node_resource_topology::{
    FingerprintMethod, NodeResourceTopologyFacts, PodsFingerprint, ZoneAmount,
};
use crate::resources::is_extended_resource;
use crate::topology::{ContainerAsk, ContainerRole, Machine, PodAsk, State, ZoneMask, ZoneMemory};

/// Whether a NodeResourceTopology accounts for what a pod takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Account {
    /// It does not, as far as is known.
    #[default]
    Open,
    /// It was updated once since the pod runs, and may have been looked at before.
    Once,
    /// What it says is free goes without what the pod takes.
    Counted,
}

impl Account {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_open(&self) -> bool {
        *self == Self::Open
    }
}

/// The object that tells how much is free inside a node; exact facts are better.
pub(super) fn object(catalog: &Catalog, node: NodeId) -> Option<&NodeResourceTopologyFacts> {
    let object = catalog.node_resource_topology(node)?;
    let is_told = catalog.node(node).held.is_none() && !object.zones.is_empty();
    is_told.then_some(object)
}

/// What is known of the accounts of guests, for when the same ones are put anew.
pub(super) fn accounts(inside: Option<&Inside>) -> Map<PodId, Account> {
    let guests = inside.into_iter().flat_map(|inside| &inside.guests);
    guests.filter_map(|guest| Some((guest.pod?, guest.account))).collect()
}

/// What a NodeResourceTopology tells of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// Which update of the object it is.
    pub(super) version: u64,
    /// Zones of which something is taken.
    pub(super) busy: ZoneMask,
}

impl Inside {
    /// Takes in what an object tells.
    pub(super) fn follow(
        &mut self,
        catalog: &Catalog,
        node: NodeId,
        object: &NodeResourceTopologyFacts,
    ) {
        let told = Told { version: object.version, busy: busy(&self.machine, object) };
        let before = self.told.replace(told);
        let is_update = before.is_none_or(|before| before.version != object.version);
        match object.pods {
            Some(pods) => _ = self.match_pods(catalog, node, object, pods),
            None if is_update => self.count_running(catalog),
            None => {}
        }
        self.foresee(catalog, base(catalog, &self.machine, object));
    }

    /// Takes in that other pods are on the node, or that their states are others: the object may be
    /// about these. Tells whether it is.
    pub(super) fn recount(&mut self, catalog: &Catalog, node: NodeId) -> bool {
        let is_settled = self.guests.iter().all(|guest| guest.account == Account::Counted);
        if self.told.is_none() || is_settled {
            return false;
        }
        let Some(object) = object(catalog, node) else { return false };
        let Some(pods) = object.pods else { return false };
        let is_matched = self.match_pods(catalog, node, object, pods);
        if is_matched {
            self.foresee(catalog, base(catalog, &self.machine, object));
        }
        is_matched
    }

    /// No object tells what is free any more, or something better does.
    pub(super) fn unfollow(&mut self, catalog: &Catalog) {
        if self.told.take().is_some() {
            self.guests.iter_mut().for_each(|guest| guest.account = Account::Open);
            self.foresee(catalog, State::new(&self.machine));
        }
    }

    /// Foresees anew what guests take beyond what is taken in any case, as those who came last.
    fn foresee(&mut self, catalog: &Catalog, mut base: State) {
        base.claim_as(&self.state);
        self.state = base;
        let guests = std::mem::take(&mut self.guests);
        let is_counted = |guest: &Guest| guest.account == Account::Counted;
        let (counted, others): (Vec<_>, Vec<_>) = guests.into_iter().partition(is_counted);
        self.guests = counted;
        self.sum_up(catalog);
        for guest in others {
            self.come(catalog, guest.pod, guest.class);
            if let Some(again) = self.guests.last_mut() {
                again.account = guest.account;
            }
        }
    }

    fn count_running(&mut self, catalog: &Catalog) {
        let runs = |pod: PodId| runs(catalog.pod(pod));
        for guest in self.guests.iter_mut().filter(|guest| guest.pod.is_some_and(runs)) {
            guest.account = match guest.account {
                Account::Open => Account::Once,
                Account::Once | Account::Counted => Account::Counted,
            };
        }
    }

    /// Counts the pods that an object's fingerprint is about; tells whether there is one more.
    fn match_pods(
        &mut self,
        catalog: &Catalog,
        node: NodeId,
        object: &NodeResourceTopologyFacts,
        pods: PodsFingerprint,
    ) -> bool {
        let Some(is_meant) = meant(catalog, node, (&self.machine, object), pods) else {
            return false;
        };
        let is_news = |guest: &&mut Guest| {
            guest.account != Account::Counted && guest.pod.is_some_and(&is_meant)
        };
        let mut news = 0;
        for guest in self.guests.iter_mut().filter(is_news) {
            guest.account = Account::Counted;
            news += 1;
        }
        news > 0
    }
}

/// Which pods a fingerprint is about. An updater may have seen all pods of the node, or not those
/// that are on their way, or only those that started; and what counts as a pod's own is a matter
/// of what it asks for, or of what its kubelet gives it.
fn meant<'a>(
    catalog: &'a Catalog,
    node: NodeId,
    (machine, object): (&'a Machine, &'a NodeResourceTopologyFacts),
    pods: PodsFingerprint,
) -> Option<impl Fn(PodId) -> bool + 'a> {
    const STAGES: [fn(&Pod) -> bool; 3] = [|_| true, is_bound, |pod| is_bound(pod) && runs(pod)];
    let given = (machine.gives_cpus(), !machine.memory_kinds().is_empty());
    let shares: &[Option<(bool, bool)>] = match pods.method {
        FingerprintMethod::All => &[None],
        FingerprintMethod::WithExclusiveResources => &[Some(given), Some((true, true))],
    };
    let is_device = |resource: ResourceId| object.tells(catalog.resource_name(resource));
    let is_in = move |pod: PodId, stage: fn(&Pod) -> bool, share: Option<(bool, bool)>| {
        let pod = catalog.pod(pod);
        let holds = |share| {
            let alignment = catalog.class(pod.class).alignment.as_deref();
            alignment.is_some_and(|alignment| holds_alone(&alignment.ask, share, &is_device))
        };
        stage(pod) && share.is_none_or(holds)
    };
    for share in shares.iter().copied() {
        let mut last = None;
        for stage in STAGES {
            let own = || catalog.pods_on(node).iter().filter(|pod| is_in(**pod, stage, share));
            // Each stage is a part of the one before.
            let count = Some(own().count());
            if std::mem::replace(&mut last, count) == count {
                continue;
            }
            let keys = own().map(|pod| &catalog.pod(*pod).key);
            if fingerprint(keys.map(|key| (&*key.namespace, &*key.name))) == pods.sum {
                return Some(move |pod| is_in(pod, stage, share));
            }
        }
    }
    None
}

fn is_bound(pod: &Pod) -> bool {
    matches!(pod.state, PodState::Bound(_))
}

/// Whether its kubelet has taken a pod in, and given it what it gets.
fn runs(pod: &Pod) -> bool {
    pod.rest.started.is_some()
}

/// Whether a pod has CPUs, memory or devices for itself once it runs.
fn holds_alone(
    ask: &PodAsk,
    (cpus, memory): (bool, bool),
    is_device: &impl Fn(ResourceId) -> bool,
) -> bool {
    let holds = |of: &ContainerAsk| {
        let has_cpus = cpus && of.cpu_milli > 0 && of.cpu_milli.is_multiple_of(1_000);
        let has_memory = memory && of.memory.iter().any(|(_, bytes)| *bytes > 0);
        let has_device = |(resource, count): &(ResourceId, u32)| *count > 0 && is_device(*resource);
        (ask.is_exclusive && (has_cpus || has_memory)) || of.devices.iter().any(has_device)
    };
    ask.containers.iter().filter(|of| of.role != ContainerRole::Init).any(holds)
}

/// Zones of which something is taken that one pod has alone.
fn busy(machine: &Machine, object: &NodeResourceTopologyFacts) -> ZoneMask {
    let is_taken = |amount: &&ZoneAmount| amount.available < amount.allocatable;
    let is_own = |name: &str| match name {
        "cpu" => machine.gives_cpus(),
        _ => is_extended_resource(name),
    };
    let zones = object
        .zones
        .iter()
        .filter(|zone| zone.amounts.iter().filter(is_taken).any(|amount| is_own(&amount.resource)));
    let places = zones.filter_map(|zone| machine.zone_place(zone.id));
    places.fold(ZoneMask::EMPTY, |zones, place| zones.union(ZoneMask::of(place)))
}

/// What is taken by what an object tells. Which CPUs and devices of a zone these are is not told:
/// the lowest ones.
fn base(catalog: &Catalog, machine: &Machine, object: &NodeResourceTopologyFacts) -> State {
    let mut state = State::new(machine);
    for zone in &object.zones {
        let Some(place) = machine.zone_place(zone.id) else { continue };
        for amount in &zone.amounts {
            if amount.available < amount.allocatable {
                take(&mut state, (catalog, machine), place, amount);
            }
        }
    }
    state
}

fn take(
    state: &mut State,
    (catalog, machine): (&Catalog, &Machine),
    zone: usize,
    amount: &ZoneAmount,
) {
    let taken = amount.allocatable - amount.available;
    let resource = catalog.find_resource(&amount.resource);
    if resource == Some(ResourceId::CPU) {
        let taken = u32::try_from(taken).unwrap_or(u32::MAX);
        if machine.gives_cpus() {
            state.assume_cpus(machine, zone, taken);
        }
    } else if let Some(kind) = machine.memory_kinds().iter().position(|it| Some(*it) == resource) {
        if let Some((free, serves)) = state.memory(kind, zone) {
            let serves =
                ZoneMemory { assignments: serves.assignments + 1, group: ZoneMask::of(zone) };
            state.set_memory(kind, zone, free.saturating_sub(taken), serves);
        }
    } else if let Some(at) = machine.device_resources().position(|it| Some(it) == resource) {
        let mut free = state.free_devices(machine, at) & machine.devices_of(at, zone);
        let mut devices = state.taken_devices(at);
        for _ in 0..taken.min(u64::from(u128::BITS)) {
            let lowest = free & free.wrapping_neg();
            (devices, free) = (devices | lowest, free & !lowest);
        }
        state.set_devices(at, devices);
    }
}
