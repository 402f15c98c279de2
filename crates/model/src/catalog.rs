//! Facts: which nodes and pods there are, and the classes their specs fall into.
//!
//! Changes only while an event is applied, or when the engine moves a pod from one state to the
//! next. Plugins read it and never change it.

mod alike;
mod budgets;
mod classes;
mod company;
mod crowds;
mod devices;
mod domains;
mod fabrics;
mod gangs;
mod gpu_demand;
mod gpus;
mod groupings;
mod known;
mod machines;
mod membership;
mod nodes;
mod pods;
mod queues;
mod sizes;
mod slices;
mod storage;
mod tenants;
mod topologies;

pub use classes::{Class, Company, Spread};
pub(crate) use crowds::Shifted;
pub use crowds::{Crowd, Held, Memberships, Rule, Tags, Wish};
pub use gangs::{Chain, Found, Gang, GangTerms, Kept, Progress, Stage};
pub use gpu_demand::Learnt;
pub use nodes::{ImageSpread, Node, NodeChange, Offer};
pub use pods::{Occupant, Pod, PodState};
pub use sizes::Sizes;
pub use storage::{StorageCapacity, StorageClass, Volume};
pub use tenants::{Moved, Tenant};

use crate::event::{NodeFacts, PodFacts};
use crate::ids::{ClassId, NodeId, PodId, ResourceId, TagsId};
use crate::looks::Looks;
use crate::resources::Resources;
use crate::selector::{Selector, Term, WeightedTerm};
use crate::spec::{NodeTerm, PodSpec, Preference};
use crate::symbol::{Holder, Symbol, Symbols};
use crate::usage::{Hold, HoldOwner};
use budgets::Budgets;
use classes::Classes;
use crowds::Crowds;
use devices::Devices;
use domains::Domains;
use fabrics::Fabrics;
pub use fabrics::{Fabric, FabricDomain};
use gangs::Gangs;
use gpus::Gpus;
use machines::Machines;
use nodes::{Nodes, Replaced};
use pods::Pods;
use queues::{ClusterQueues, LocalQueues};
use slices::Slices;
use storage::Storage;
use tenants::Tenants;
use topologies::Topologies;

/// All facts.
#[derive(Default)]
pub struct Catalog {
    symbols: Symbols,
    resources: Resources,
    nodes: Nodes,
    pods: Pods,
    classes: Classes,
    domains: Domains,
    fabrics: Fabrics,
    crowds: Crowds,
    budgets: Budgets,
    gangs: Gangs,
    local_queues: LocalQueues,
    cluster_queues: ClusterQueues,
    storage: Storage,
    slices: Slices,
    devices: Devices,
    gpus: Gpus,
    machines: Machines,
    topologies: Topologies,
    tenants: Tenants,
    looks: Looks,
}

// === Nodes ===

impl Catalog {
    /// The nodes that are there, in the order of their ids.
    #[must_use]
    pub fn nodes(&self) -> &[NodeId] {
        self.nodes.present()
    }

    /// How many places for nodes there are; every id is below it.
    #[must_use]
    pub fn node_places(&self) -> usize {
        self.nodes.places()
    }

    /// Whether a node is there.
    #[must_use]
    pub fn has_node(&self, node: NodeId) -> bool {
        self.nodes.get(node).is_some()
    }

    /// The facts of a node that is there.
    ///
    /// # Panics
    /// When the node is not there: ids of absent nodes must not be asked about.
    #[must_use]
    pub fn node(&self, node: NodeId) -> &Node {
        self.nodes.get(node).expect("only nodes that are there are asked about")
    }

    /// What a node offers; nothing if it is not there.
    #[must_use]
    pub fn offer(&self, node: NodeId) -> &Offer {
        self.nodes.offer(node)
    }

    /// A node that is there, by name.
    #[must_use]
    pub fn find_node(&self, name: &str) -> Option<NodeId> {
        self.find_named(self.symbols.find(name)?)
    }

    fn find_named(&self, name: Symbol) -> Option<NodeId> {
        let id = self.nodes.find(name)?;
        self.nodes.get(id).map(|_| id)
    }

    /// The name of a node, there or not.
    #[must_use]
    pub fn node_name(&self, node: NodeId) -> &str {
        self.symbols.text(self.nodes.name(node))
    }

    /// The name of a place and the facts of its node, if it is there; nothing if the place is free.
    #[must_use]
    pub fn node_facts(&self, node: NodeId) -> Option<(&str, Option<NodeFacts>)> {
        let symbols = &self.symbols;
        let name = symbols.text(self.nodes.name_of(node)?);
        let facts = |node_facts: &Node| {
            let offer = self.nodes.offer(node);
            node_facts.facts(symbols, |resource| self.resource_name(*resource).into(), offer)
        };
        Some((name, self.nodes.get(node).map(facts)))
    }

    /// How many nodes have an image, and what it was last changed at.
    #[must_use]
    pub fn image(&self, image: Symbol) -> ImageSpread {
        self.nodes.image(image)
    }

    /// Grows whenever a node appears or disappears.
    #[must_use]
    pub fn node_revision(&self) -> u64 {
        self.nodes.revision()
    }

    /// Takes in a node; tells what is different now.
    pub fn apply_node(&mut self, facts: &NodeFacts) -> (NodeId, NodeChange) {
        let id = self.node_place(&facts.name);
        let node = Node::new(self.nodes.name(id), facts, &mut self.symbols);
        let offer = Offer::new(facts, &mut self.resources);
        let (mut change, replaced) = self.nodes.apply(id, node, offer);
        if change != NodeChange::Same {
            let has_other_devices = self.node_replaced(id, &replaced);
            if let NodeChange::Changed(aspects) = &mut change {
                aspects.hardware |= has_other_devices;
            }
        }
        self.release_node(&replaced);
        (id, change)
    }

    /// Forgets the facts of a node. Its place stays while pods are on it.
    pub fn delete_node(&mut self, name: &str) -> Option<NodeId> {
        let id = self.find_node(name)?;
        let replaced = self.nodes.delete(id);
        self.node_replaced(id, &replaced);
        self.release_node(&replaced);
        Some(id)
    }

    /// Brings in line what is counted of all nodes; tells whether the node has other devices now.
    fn node_replaced(&mut self, id: NodeId, replaced: &Replaced) -> bool {
        let after = self.nodes.offer(id);
        if replaced.offer != *after {
            self.tenants.offer(&replaced.offer, false);
            self.tenants.offer(after, true);
        }
        if replaced.node.is_some() != self.nodes.get(id).is_some() {
            self.pods.note_node(self.nodes.name(id));
        }
        let mut has_other_devices = self.renew_machine(id, replaced);
        if has_other_devices || replaced.offer != *self.nodes.offer(id) {
            self.lay_out_gpus(id);
            let had_some = self.is_with_accelerators(&replaced.offer);
            has_other_devices |= had_some != self.has_accelerators(id);
        }
        let nodes = replaced.node.as_deref().into_iter().chain(self.nodes.get(id));
        self.domains.put(id, nodes.flat_map(Node::label_keys), &self.nodes);
        self.fabrics.put(id, &self.nodes);
        has_other_devices
    }

    fn release_node(&mut self, Replaced { node, offer }: &Replaced) {
        self.symbols.release_all(node.iter().flat_map(|node| node.held()));
        self.resources.release_all(&offer.amounts);
    }

    /// The place of a node that a pod names, made if nobody knows the node yet.
    pub fn node_place(&mut self, name: &str) -> NodeId {
        if let Some(id) = self.symbols.find(name).and_then(|name| self.nodes.find(name)) {
            return id;
        }
        let name = self.symbols.hold(name);
        self.nodes.place(name)
    }

    /// Gives up the place of a node that is not there and that no pod is on.
    pub fn release_node_place(&mut self, node: NodeId) {
        let name = self.nodes.release(node);
        self.symbols.release(name);
    }
}

// === Pods ===

impl Catalog {
    /// The pod with this uid.
    #[must_use]
    pub fn find_pod(&self, uid: &str) -> Option<PodId> {
        self.pods.find(uid)
    }

    /// A pod that is there.
    #[must_use]
    pub fn pod(&self, pod: PodId) -> &Pod {
        self.pods.get(pod)
    }

    /// How many pods are known.
    #[must_use]
    pub fn pod_count(&self) -> usize {
        self.pods.count()
    }

    /// All pods that are known, in the order of their ids.
    pub fn pods(&self) -> impl Iterator<Item = PodId> {
        self.pods.all()
    }

    /// The lowest priority among the pods on nodes.
    #[must_use]
    pub fn lowest_placed_priority(&self) -> Option<i32> {
        self.pods.lowest_placed()
    }

    /// Takes in a pod that was not known.
    pub fn add_pod(&mut self, facts: &PodFacts) -> PodId {
        let class = self.class_of(&facts.spec);
        let tags = self.crowds.hold_tags(facts);
        // By the API, and by us.
        let nominated = facts.nominated.as_ref().map(|name| self.symbols.hold(name));
        nominated.iter().for_each(|name| _ = self.symbols.hold_again(*name));
        let pod = self.pods.add(facts, class, tags, nominated);
        self.list_claims(pod, tags, true);
        self.set_claim(pod, facts, class);
        pod
    }

    /// Takes in what is different about a known pod; its state stays as it is.
    pub fn update_pod(&mut self, pod: PodId, facts: &PodFacts) {
        let class = self.class_of(&facts.spec);
        let tags = self.crowds.hold_tags(facts);
        let nominated = facts.nominated.as_ref().map(|name| self.symbols.hold(name));
        let nominated_before = self.pods.set_nominated_by_api(pod, nominated);
        if nominated_before != nominated {
            let node = nominated.map(|name| self.symbols.hold_again(name));
            self.nominate_named(pod, node);
        }
        self.symbols.release_all(nominated_before);
        let is_placed = self.pods.get(pod).state.node().is_some();
        if is_placed {
            self.crowds.count_placed(tags, true);
            self.charge_tenant(pod, false);
        }
        let (class, tags_before) = self.pods.update(pod, facts, (class, tags));
        if tags_before != tags {
            self.list_claims(pod, tags_before, false);
            self.list_claims(pod, tags, true);
        }
        let tags = tags_before;
        self.set_claim(pod, facts, class);
        if is_placed {
            self.crowds.count_placed(tags, false);
            self.charge_tenant(pod, true);
        }
        self.release_class(class);
        self.crowds.release_tags(tags);
    }

    /// Moves a pod to its next state.
    pub fn set_pod_state(&mut self, pod: PodId, state: PodState) {
        let known = self.pods.get(pod);
        let Pod { state: before, tags, gang, .. } = known;
        if let Some(gang) = gang {
            self.gangs.move_on(*gang, (pod, known.makes_others()), (*before, state));
        }
        let is_placed = state.node().is_some();
        if before.node().is_some() != is_placed {
            self.crowds.count_placed(*tags, is_placed);
            self.charge_tenant(pod, is_placed);
        }
        self.pods.set_state(pod, state);
    }

    /// The pods on a node, in no order.
    #[must_use]
    pub fn pods_on(&self, node: NodeId) -> &[PodId] {
        self.pods.on_node(node)
    }

    /// The pods on nodes with these tags, in no order.
    pub(crate) fn pods_like(&self, tags: TagsId) -> &[PodId] {
        self.pods.like(tags)
    }

    /// Waiting pods for which a node is proposed.
    #[must_use]
    pub fn nominated_to(&self, node: NodeId) -> &[PodId] {
        self.pods.nominated_to(self.nodes.name(node))
    }

    /// Pods for which another node may be proposed since the last time this was asked.
    pub(crate) fn take_reproposed(&mut self) -> Vec<PodId> {
        self.pods.take_reproposed()
    }

    /// The room that is kept for a waiting pod, if the node that is proposed for it is there.
    pub(crate) fn hold_of(&self, id: PodId) -> Option<Hold> {
        let node = self.find_named(self.pods.awaited(id)?)?;
        let pod = self.pods.get(id);
        let owner = HoldOwner::Pod(id);
        Some(Hold { owner, occupant: pod.occupant(id), node, priority: pod.rest.priority })
    }

    /// The node that is proposed for a pod, if it is there.
    #[must_use]
    pub fn nominated_node(&self, pod: PodId) -> Option<NodeId> {
        self.find_named(self.pods.get(pod).nominated?)
    }

    /// Proposes another node for a pod, or none.
    pub fn nominate(&mut self, pod: PodId, node: Option<NodeId>) {
        let node = node.map(|node| self.symbols.hold_again(self.nodes.name(node)));
        self.nominate_named(pod, node);
    }

    /// Proposes a node for a pod that is as the API said before.
    pub fn restore_nomination(&mut self, pod: PodId, node: Option<&str>) {
        let node = node.map(|name| self.symbols.hold(name));
        self.nominate_named(pod, node);
    }

    /// Proposes a node by a name that is held for it.
    fn nominate_named(&mut self, pod: PodId, node: Option<Symbol>) {
        let before = self.pods.nominate(pod, node);
        self.symbols.release_all(before);
    }

    /// Notes how often others were to be evicted for a pod.
    pub fn set_plans(&mut self, pod: PodId, plans: u32) {
        self.pods.set_plans(pod, plans);
    }

    /// How often others were to be evicted for a pod.
    #[must_use]
    pub fn plans(&self, pod: PodId) -> u32 {
        self.pods.plans(pod)
    }

    /// Waiting pods for which others were evicted in vain, with the nodes that are proposed for
    /// them. Whoever is less important stays where he would not keep them from there.
    pub fn insisting(&self) -> impl Iterator<Item = (PodId, NodeId)> {
        self.pods.insisting().filter_map(|pod| Some((pod, self.nominated_node(pod)?)))
    }

    /// Notes that we want a pod to go, or that it is not to go after all.
    pub fn set_evicted(&mut self, pod: PodId, is_evicted: bool) {
        self.pods.set_evicted(pod, is_evicted);
    }

    /// Forgets a pod, which must not be on a node any more.
    pub fn remove_pod(&mut self, pod: PodId) {
        self.leave_gang(pod);
        let Pod { class, tags, nominated, nominated_by_api, .. } = self.pods.remove(pod);
        self.list_claims(pod, tags, false);
        self.symbols.release_all(nominated.into_iter().chain(nominated_by_api));
        self.release_class(class);
        self.crowds.release_tags(tags);
    }
}

// === Classes, names ===

impl Catalog {
    /// A class that has pods, or is held.
    #[must_use]
    pub fn class(&self, class: ClassId) -> &Class {
        self.classes.get(class)
    }

    /// The class of a spec, worked out if it is new; held until [`Catalog::release_class`].
    pub fn class_of(&mut self, spec: &PodSpec) -> ClassId {
        let (class, is_made) = self.classes.hold(spec, &mut self.symbols, &mut self.resources);
        if is_made {
            let company = self.company_of(spec);
            self.classes.set_company(class, company);
        }
        class
    }

    /// Gives up one hold of a class.
    pub fn release_class(&mut self, class: ClassId) {
        if let Some(class) = self.classes.release(class) {
            class.company.crowds().for_each(|crowd| self.crowds.release(crowd));
            class.company.keys().for_each(|key| self.release_key(key));
            class.release(&mut self.symbols, &mut self.resources);
        }
    }

    /// All interned strings.
    #[must_use]
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// The name of a resource. One that no pod and no node named at an event has none.
    #[must_use]
    pub fn resource_name(&self, resource: ResourceId) -> &str {
        self.resources.name(resource).unwrap_or("a resource that is gone")
    }

    /// The number of a resource name, if it is in use.
    #[must_use]
    pub fn find_resource(&self, name: &str) -> Option<ResourceId> {
        self.resources.find(name)
    }

    /// The number of a resource name; held until [`Catalog::release_resource`].
    pub fn resource(&mut self, name: &str) -> ResourceId {
        self.resources.hold(name)
    }

    /// Gives up one hold of a resource name.
    pub fn release_resource(&mut self, resource: ResourceId) {
        self.resources.release(resource);
    }

    /// Forgets the resource names that nobody holds. To be called when nobody reads decisions that
    /// were made before.
    pub fn forget_unheld_resources(&mut self) {
        self.resources.forget_unheld();
    }

    /// Compiles a selector that comes from a configuration instead of a pod. It is kept for ever.
    pub fn selector(&mut self, terms: &[NodeTerm]) -> Selector {
        Selector::compile(terms, &mut Holder::new(&mut self.symbols))
    }

    /// Compiles preferences that come from a configuration instead of a pod. They are kept for
    /// ever.
    pub fn preferences(&mut self, terms: &[Preference]) -> Box<[WeightedTerm]> {
        compile_preferences(terms, &mut Holder::new(&mut self.symbols))
    }
}

/// Terms of weight 0 and empty terms say nothing and are left out.
fn compile_preferences(terms: &[Preference], symbols: &mut Holder<'_>) -> Box<[WeightedTerm]> {
    let says_something = |preference: &&Preference| {
        let term = &preference.term;
        preference.weight != 0 && !(term.expressions.is_empty() && term.fields.is_empty())
    };
    let compile = |preference: &Preference| WeightedTerm {
        weight: i64::from(preference.weight),
        term: Term::compile(&preference.term, symbols),
    };
    terms.iter().filter(says_something).map(compile).collect()
}
