//! What is taken of every node. Changes only inside a [`crate::Txn`].
//!
//! Every change is written to a short log of touched nodes, so that whoever keeps results per node
//! can bring them up to date by looking at those nodes alone.

mod columns;
mod crowds;
mod gpus;
mod holds;
mod insides;
mod log;
mod mounts;
mod ways;

use crate::amounts::Charge;
use crate::catalog::{Catalog, Class, Occupant};
use crate::gpu::GpuAsk;
use crate::ids::{CrowdId, NodeId, PodId, ResourceId, TagsId};
use crate::spec::HostPort;
use crate::symbol::Symbol;
use crate::topology::State;
use columns::Odd;
pub use columns::{AMOUNT_MAX, Columns, Levels};
use crowds::Gatherings;
use gpus::Gpus;
pub use gpus::{GpuGuest, GpuPool};
pub use holds::{Hold, HoldOwner, Holds};
use insides::Insides;
pub use insides::{Account, Guest, Inside};
use log::Log;
pub use log::{Touch, Touched};
pub use mounts::Assigned;
use mounts::Mounts;
pub use ways::Ways;

/// What the pods on one node take. It fills one cache line: every placement looks at it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[repr(align(64))]
pub struct Load {
    /// Thousandths of a CPU.
    pub cpu: i64,
    /// Bytes of memory.
    pub memory: i64,
    /// Bytes of local storage.
    pub ephemeral: i64,
    /// CPU as scores count it.
    pub scored_cpu: i64,
    /// Memory as scores count it.
    pub scored_memory: i64,
    /// How many pods.
    pub pods: i64,
    rare: Option<Box<Rare>>,
}

/// What most pods do not take. Sorted, so that what the same pods take compares as equal whatever
/// the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rare {
    scalars: Vec<(ResourceId, i64)>,
    ports: Vec<(HostPort<Symbol>, u32)>,
}

impl Load {
    /// How much of a resource is taken.
    #[must_use]
    pub fn of(&self, resource: ResourceId) -> i64 {
        match resource {
            ResourceId::CPU => self.cpu,
            ResourceId::MEMORY => self.memory,
            ResourceId::EPHEMERAL => self.ephemeral,
            other => self.scalar(other),
        }
    }

    /// How much of a counted resource is taken.
    #[must_use]
    pub fn scalar(&self, resource: ResourceId) -> i64 {
        let scalars = self.rare.as_ref().map_or(&[][..], |rare| &rare.scalars);
        scalars.iter().find(|(id, _)| *id == resource).map_or(0, |(_, amount)| *amount)
    }

    /// Whether a port of `wanted` is taken.
    #[must_use]
    pub fn has_port_conflict(&self, wanted: &[HostPort<Symbol>]) -> bool {
        let ports = self.rare.as_ref().map_or(&[][..], |rare| &rare.ports);
        ports.iter().any(|(taken, _)| wanted.iter().any(|port| port.conflicts(taken)))
    }

    fn add(&mut self, charge: &Charge<ResourceId>, sign: i64) {
        let amounts = &charge.amounts;
        let add = |total: &mut i64, amount: i64| add_capped(total, amount, sign);
        add(&mut self.cpu, amounts.cpu);
        add(&mut self.memory, amounts.memory);
        add(&mut self.ephemeral, amounts.ephemeral);
        add(&mut self.scored_cpu, charge.scored_cpu);
        add(&mut self.scored_memory, charge.scored_memory);
        self.pods += sign;
    }

    /// Adds what most pods do not take.
    fn add_rare(&mut self, class: &Class, sign: i64) {
        let scalars = &class.requests.charge.amounts.scalars;
        if scalars.is_empty() && class.ports.is_empty() {
            return;
        }
        let rare = self.rare.get_or_insert_default();
        for (resource, amount) in scalars {
            let at = rare.scalars.binary_search_by_key(resource, |(id, _)| *id);
            let at = at.unwrap_or_else(|at| {
                rare.scalars.insert(at, (*resource, 0));
                at
            });
            add_capped(&mut rare.scalars[at].1, *amount, sign);
        }
        rare.scalars.retain(|(_, amount)| *amount != 0);
        for port in &class.ports {
            rare.add_port(port, sign);
        }
        // An empty load has one shape, so that loads can be compared.
        if *rare.as_ref() == Rare::default() {
            self.rare = None;
        }
    }
}

impl Rare {
    fn add_port(&mut self, port: &HostPort<Symbol>, sign: i64) {
        match (self.ports.binary_search_by(|(taken, _)| taken.cmp(port)), sign > 0) {
            (Ok(at), true) => self.ports[at].1 += 1,
            (Err(at), true) => self.ports.insert(at, (port.clone(), 1)),
            (at, false) => {
                let at = at.expect("a port that a pod gives up was taken");
                self.ports[at].1 -= 1;
                if self.ports[at].1 == 0 {
                    self.ports.remove(at);
                }
            }
        }
    }
}

/// What one pod counts with at most, of anything: a petabyte, or a billion CPUs. Thousands of
/// pods that ask for more than exists must not overflow a sum and make a full node look empty.
const CHARGE_MAX: i64 = 1 << 50;

fn add_capped(total: &mut i64, amount: i64, sign: i64) {
    *total = total.wrapping_add(sign * amount.clamp(0, CHARGE_MAX));
}

/// What is taken, node by node.
#[derive(Default)]
pub struct Usage {
    loads: Vec<Load>,
    columns: Columns,
    odd: Odd,
    log: Log,
    /// Nodes whose facts changed: a log of their own, as that is rare.
    facts: Vec<NodeId>,
    facts_before: u64,
    gatherings: Gatherings,
    holds: Holds,
    mounts: Mounts,
    insides: Insides,
    gpus: Gpus,
    assigned: Assigned,
    /// Scratch of transactions, kept so that a placement allocates nothing.
    pub(crate) undo: Vec<crate::txn::Step>,
}

impl Usage {
    /// What is taken of a node.
    #[must_use]
    pub fn load(&self, node: NodeId) -> &Load {
        &self.loads[node.index()]
    }

    /// How many pods of a crowd are on a node.
    #[must_use]
    pub fn in_crowd(&self, crowd: CrowdId, node: NodeId) -> u32 {
        self.gatherings.on_node(crowd, node)
    }

    /// Whether no pod of a crowd is on any node.
    #[must_use]
    pub fn is_crowd_empty(&self, crowd: CrowdId) -> bool {
        self.gatherings.is_empty(crowd)
    }

    /// Tags of the pods with volumes on a node, in order.
    pub fn mounted(&self, node: NodeId) -> impl Iterator<Item = TagsId> {
        self.mounts.on_node(node)
    }

    /// Whether a pod on a node that is there names a claim.
    #[must_use]
    pub fn has_claim_user(&self, catalog: &Catalog, claim: &str) -> bool {
        self.mounts.has_user(catalog, claim)
    }

    /// What was given to claims for pods on their way.
    #[must_use]
    pub fn assigned(&self) -> &Assigned {
        &self.assigned
    }

    /// Takes back what was given to claims of a pod, if anything was.
    pub fn take_back_assigned(&mut self, pod: PodId) {
        self.assigned.take_back(pod);
    }

    pub(crate) fn assigned_mut(&mut self) -> &mut Assigned {
        &mut self.assigned
    }

    /// Counts the crowds that were made, or whose members are others, since the last time. To be
    /// called after whatever brings a class, or changes a namespace.
    pub fn count_crowds(&mut self, catalog: &mut Catalog) {
        for (crowd, members) in catalog.take_uncounted_crowds() {
            for node in self.gatherings.count(catalog, crowd, &members) {
                self.touch(Touch { node, is_facts: false });
            }
        }
        let shifted = catalog.take_shifted_tags();
        if !shifted.is_empty() {
            for node in self.gatherings.shift(catalog, &shifted) {
                self.touch(Touch { node, is_facts: false });
            }
        }
    }

    /// What is left of all nodes.
    #[must_use]
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Nodes whose rows in columns mean nothing, in order.
    #[must_use]
    pub fn odd(&self) -> &[NodeId] {
        self.odd.nodes()
    }

    /// Whether the row of a node means nothing.
    #[must_use]
    pub fn is_odd(&self, node: NodeId) -> bool {
        self.odd.contains(node)
    }

    /// Makes room for the places of nodes that the catalog has.
    pub fn grow(&mut self, catalog: &Catalog) {
        let (before, places) = (self.loads.len(), catalog.node_places());
        if before < places {
            self.loads.resize(places, Load::default());
            self.columns.resize(places);
            self.odd.resize(places);
            (before..places).map(NodeId::at).for_each(|node| self.set_columns(catalog, node));
        }
    }

    fn set_columns(&mut self, catalog: &Catalog, node: NodeId) {
        let (offer, load) = (catalog.offer(node), &self.loads[node.index()]);
        let has_gpus = !catalog.gpu_layouts(node).is_empty();
        self.columns.set(node, offer, load, has_gpus);
        self.odd.set(node, offer, load);
    }

    /// What is taken inside a node, if it is known what is inside.
    #[must_use]
    pub fn inside(&self, node: NodeId) -> Option<&Inside> {
        self.insides.get(node)
    }

    /// The GPUs of a node by resource, and what is taken of them.
    #[must_use]
    pub fn gpus(&self, node: NodeId) -> &[GpuPool] {
        self.gpus.pools(node)
    }

    /// Whether a node has GPUs, all of them are free, and it is open to new pods.
    #[must_use]
    pub fn is_whole(&self, catalog: &Catalog, node: NodeId) -> bool {
        let pools = self.gpus(node);
        let is_free = |pool: &GpuPool| pool.free() == pool.layout().healthy();
        !pools.is_empty() && !catalog.node(node).is_closed && pools.iter().all(is_free)
    }

    /// The GPUs of a node that pods of a class take from.
    #[must_use]
    pub fn gpus_for(&self, ask: &GpuAsk, node: NodeId) -> Option<&GpuPool> {
        self.gpus.pools(node).iter().find(|pool| pool.layout().resource == ask.resource)
    }

    /// Puts back what was taken of GPUs of a node. No, if others are there or the GPUs are others.
    #[must_use]
    pub fn restore_gpus(
        &mut self,
        node: NodeId,
        resource: ResourceId,
        guests: &[GpuGuest],
    ) -> bool {
        self.gpus.restore(node, resource, guests)
    }

    /// Puts back what was taken inside a node. No, if others are there or it is another machine.
    #[must_use]
    pub fn restore_inside(
        &mut self,
        catalog: &Catalog,
        node: NodeId,
        (state, guests): (State, Vec<Guest>),
        is_contradicted: bool,
    ) -> bool {
        self.insides.restore(catalog, node, state, guests, is_contradicted)
    }

    /// Takes in that other pods are on a node, or that they run: what was told of the node before
    /// may name or account for them. Tells whether it does, and so more is free.
    pub fn recount_inside(&mut self, catalog: &Catalog, node: NodeId) -> bool {
        let is_news = catalog.has_node(node) && self.insides.recount(catalog, node);
        if is_news {
            self.touch(Touch { node, is_facts: false });
        }
        is_news
    }

    /// Takes in what the kubelet of a node told of pods before they were seen. Tells whether there
    /// was anything.
    pub fn catch_up_inside(&mut self, catalog: &Catalog, node: NodeId) -> bool {
        let is_there = catalog.has_node(node);
        let is_news = is_there && self.insides.catch_up(catalog, node);
        let is_moved = is_there && self.gpus.are_given_twice(node) && {
            let guests = self.guests(catalog, node);
            self.gpus.catch_up(catalog, node, self.insides.get(node), &guests)
        };
        let is_news = is_news || is_moved;
        if is_news {
            self.touch(Touch { node, is_facts: false });
        }
        is_news
    }

    /// Puts a pod where it takes something inside a node.
    pub(crate) fn come_inside(&mut self, catalog: &Catalog, occupant: Occupant, node: NodeId) {
        if self.insides.is_guest(catalog, occupant.class, node) {
            self.insides.come(catalog, occupant, node);
        }
        self.gpus.come(catalog, occupant, node, self.insides.get(node));
    }

    pub(crate) fn leave_inside(&mut self, catalog: &Catalog, occupant: Occupant, node: NodeId) {
        if self.insides.is_guest(catalog, occupant.class, node) {
            self.insides.leave(catalog, occupant, node);
        }
        self.gpus.leave(catalog, occupant, node);
    }

    pub(crate) fn undo_inside(&mut self, catalog: &Catalog, occupant: Occupant, node: NodeId) {
        self.gpus.undo(catalog, occupant, node);
        if self.insides.is_guest(catalog, occupant.class, node) {
            self.insides.undo(catalog);
        }
    }

    /// Brings in line what is taken inside a node with its facts.
    pub fn renew_inside(&mut self, catalog: &Catalog, node: NodeId) {
        let has_machine = catalog.machine(node).is_some() || self.insides.get(node).is_some();
        let has_gpus = !catalog.gpu_layouts(node).is_empty() || !self.gpus.pools(node).is_empty();
        if !has_machine && !has_gpus {
            return;
        }
        let guests = self.guests(catalog, node);
        if has_machine {
            self.insides.renew(catalog, node, guests.iter().copied());
        }
        if has_gpus {
            self.gpus.renew(catalog, node, self.insides.get(node), &guests);
        }
    }

    /// Who is on a node, the oldest first, and those that room is kept for.
    fn guests(&self, catalog: &Catalog, node: NodeId) -> Vec<Occupant> {
        let mut pods: Vec<PodId> = catalog.pods_on(node).to_vec();
        pods.sort_unstable_by_key(|pod| {
            let pod = catalog.pod(*pod);
            (pod.rest.created, &pod.key.uid)
        });
        let pods = pods.into_iter().map(|pod| catalog.pod(pod).occupant(pod));
        let holds = self.holds.charged_on(node).iter().map(|hold| hold.occupant);
        pods.chain(holds).collect()
    }

    /// Notes that the facts of a node changed.
    pub fn touch_facts(&mut self, catalog: &Catalog, node: NodeId) {
        self.renew_inside(catalog, node);
        self.set_columns(catalog, node);
        self.touch(Touch { node, is_facts: true });
        let keep = self.loads.len().max(1024);
        if self.facts.len() >= 2 * keep {
            let dropped = self.facts.len() - keep;
            self.facts.drain(..dropped);
            self.facts_before += dropped as u64;
        }
        self.facts.push(node);
    }

    /// The mark of the end of the log of facts, to be given to [`Usage::facts_since`] later.
    #[must_use]
    pub fn facts_mark(&self) -> u64 {
        self.facts_before + self.facts.len() as u64
    }

    /// Nodes whose facts changed since a mark, or nothing if the log does not reach back that far.
    #[must_use]
    pub fn facts_since(&self, mark: u64) -> Option<&[NodeId]> {
        let dropped = mark.checked_sub(self.facts_before)?;
        usize::try_from(dropped).ok().and_then(|at| self.facts.get(at..))
    }

    /// Notes that a node is not what it was, though its facts and loads are the same.
    pub fn touch_guests(&mut self, node: NodeId) {
        self.touch(Touch { node, is_facts: false });
    }

    /// Forgets what was touched since a mark. Nobody may have a later mark.
    pub(crate) fn forget_touched_since(&mut self, mark: u64) {
        self.log.truncate(mark);
    }

    fn touch(&mut self, touch: Touch) {
        self.log.push(touch, &self.columns, self.loads.len());
    }

    /// The mark of the log's end, to be given to [`Usage::touched_since`] later.
    #[must_use]
    pub fn mark(&self) -> u64 {
        self.log.mark()
    }

    /// Nodes touched since a mark, or nothing if the log does not reach back that far.
    #[must_use]
    pub fn touched_since(&self, mark: u64) -> Option<&[Touch]> {
        self.log.since(mark)
    }

    /// The same with what is left of each, or nothing if that is not known of all.
    #[must_use]
    pub fn rows_since(&self, mark: u64) -> Option<Touched<'_>> {
        self.log.rows_since(mark)
    }

    pub(crate) fn place(&mut self, catalog: &Catalog, occupant: Occupant, node: NodeId) {
        let class = catalog.class(occupant.class);
        let load = &mut self.loads[node.index()];
        load.add(&class.requests.charge, 1);
        load.add_rare(class, 1);
        self.columns.set_load(node, catalog.offer(node), load);
        self.odd.set(node, catalog.offer(node), load);
        self.gatherings.enter(catalog, occupant, node);
        if class.has_volumes() {
            self.mounts.change(catalog, occupant, node, true);
        }
        self.touch(Touch { node, is_facts: false });
    }

    pub(crate) fn evict(&mut self, catalog: &Catalog, occupant: Occupant, node: NodeId) {
        let class = catalog.class(occupant.class);
        let load = &mut self.loads[node.index()];
        load.add(&class.requests.charge, -1);
        assert!(load.pods >= 0, "a pod that leaves a node was on it");
        load.add_rare(class, -1);
        self.columns.set_load(node, catalog.offer(node), load);
        self.odd.set(node, catalog.offer(node), load);
        self.gatherings.leave(catalog, occupant, node);
        if class.has_volumes() {
            self.mounts.change(catalog, occupant, node, false);
        }
        self.touch(Touch { node, is_facts: false });
    }

    pub(crate) fn commit_insides(&mut self) {
        self.insides.commit();
        self.gpus.commit();
    }

    pub(crate) fn hold(&mut self, catalog: &Catalog, hold: Hold) {
        self.place(catalog, hold.occupant, hold.node);
        self.holds.charge(hold);
    }

    pub(crate) fn release(&mut self, catalog: &Catalog, hold: Hold) {
        self.evict(catalog, hold.occupant, hold.node);
        self.holds.discharge(hold);
    }
}
