//! The table of nodes, and how images are spread over them.

use crate::amounts::Amounts;
use crate::event::{NodeAspects, NodeFacts};
use crate::hardware::{HardwareFacts, HeldFacts};
use crate::ids::{NodeId, ResourceId};
use crate::map::Map;
use crate::need::Features;
use crate::resources::Resources;
use crate::symbol::{Symbol, Symbols};
use crate::taint::Taint;

/// The facts of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: Symbol,
    /// Sorted by key.
    labels: Box<[(Symbol, Symbol)]>,
    /// In the order of the spec.
    pub taints: Box<[Taint<Symbol>]>,
    /// Whether it is closed to new pods.
    pub is_closed: bool,
    /// Images it has with their sizes, sorted by name, each name once.
    images: Box<[(Symbol, i64)]>,
    /// Features it declares.
    pub features: Features,
    /// What it tells of its inside.
    pub hardware: Option<Box<HardwareFacts>>,
    /// Who holds what of it.
    pub held: Option<Box<HeldFacts>>,
}

/// What a node offers. Kept apart from its other facts and in a cache line of its own, because
/// every placement looks at it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[repr(align(64))]
pub struct Offer {
    /// Resources.
    pub amounts: Amounts<ResourceId>,
    /// How many pods it may hold.
    pub pods_max: i64,
}

impl Offer {
    pub(super) fn new(facts: &NodeFacts, resources: &mut Resources) -> Self {
        let amounts = facts.allocatable.renamed(|name| resources.hold(name));
        Self { amounts, pods_max: facts.pods_max }
    }

    fn is_more_than(&self, before: &Self) -> bool {
        let (own, old) = (&self.amounts, &before.amounts);
        let has_more =
            |(resource, amount): &(ResourceId, i64)| *amount > old.scalar(resource).unwrap_or(0);
        self.pods_max > before.pods_max
            || own.cpu > old.cpu
            || own.memory > old.memory
            || own.ephemeral > old.ephemeral
            || own.scalars.iter().any(has_more)
    }
}

/// What became of a node by taking it in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeChange {
    /// It was not there before.
    Added,
    /// Nothing that scheduling reads: a sign of life.
    Same,
    /// It is different; what about that can help waiting pods.
    Changed(NodeAspects),
}

/// How far an image has spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageSpread {
    /// How many nodes have it.
    pub nodes: u32,
    /// Grows whenever a node gains, loses or resizes it.
    pub revision: u64,
    /// Its size, if it had the same on all nodes since the first has it.
    pub size: Option<i64>,
}

impl Node {
    pub(super) fn new(name: Symbol, facts: &NodeFacts, symbols: &mut Symbols) -> Self {
        let mut hold_pair = |key: &str, value: &str| (symbols.hold(key), symbols.hold(value));
        let mut labels: Vec<_> =
            facts.labels.iter().map(|(key, value)| hold_pair(key, value)).collect();
        labels.sort_unstable();
        let taint = |taint: &Taint<String>| {
            let (key, value) = hold_pair(&taint.key, &taint.value);
            Taint { key, value, effect: taint.effect }
        };
        let taints = facts.taints.iter().map(taint).collect();
        // Of several sizes for one name the last counts.
        let mut images: Vec<_> =
            facts.images.iter().rev().map(|(name, size)| (symbols.hold(name), *size)).collect();
        images.sort_by_key(|(name, _)| *name);
        images.dedup_by(|(name, _), (kept, _)| {
            let is_named_twice = name == kept;
            if is_named_twice {
                symbols.release(*name);
            }
            is_named_twice
        });
        Self {
            name,
            labels: labels.into(),
            taints,
            is_closed: facts.is_closed,
            images: images.into(),
            features: facts.features,
            hardware: facts.hardware.clone(),
            held: facts.held.clone(),
        }
    }

    /// The facts this was made of, in an order of its own where the order says nothing.
    pub(super) fn facts(
        &self,
        symbols: &Symbols,
        resource: impl FnMut(&ResourceId) -> String,
        offer: &Offer,
    ) -> NodeFacts {
        let Self { name, labels, taints, is_closed, images, features, hardware, held } = self;
        let text = |symbol: Symbol| symbols.text(symbol).to_owned();
        let taint = |taint: &Taint<Symbol>| Taint {
            key: text(taint.key),
            value: text(taint.value),
            effect: taint.effect,
        };
        NodeFacts {
            name: text(*name),
            labels: labels.iter().map(|(key, value)| (text(*key), text(*value))).collect(),
            taints: taints.iter().map(taint).collect(),
            is_closed: *is_closed,
            allocatable: offer.amounts.renamed(resource),
            pods_max: offer.pods_max,
            images: images.iter().map(|(name, size)| (text(*name), *size)).collect(),
            features: *features,
            hardware: hardware.clone(),
            held: held.clone(),
        }
    }

    /// Every string that is held for it, as often as it is; its place holds its name.
    pub(super) fn held(&self) -> impl Iterator<Item = Symbol> {
        let labels = self.labels.iter().flat_map(|(key, value)| [*key, *value]);
        let taints = self.taints.iter().flat_map(|taint| [taint.key, taint.value]);
        labels.chain(taints).chain(self.images.iter().map(|(name, _)| *name))
    }

    /// The keys of its labels.
    pub(super) fn label_keys(&self) -> impl Iterator<Item = Symbol> {
        self.labels.iter().map(|(key, _)| *key)
    }

    /// Its labels, by key.
    pub(super) fn labels(&self) -> impl Iterator<Item = (Symbol, Symbol)> {
        self.labels.iter().copied()
    }

    /// The value of a label.
    #[must_use]
    pub fn label(&self, key: Symbol) -> Option<Symbol> {
        let found = self.labels.binary_search_by_key(&key, |(key, _)| *key);
        found.ok().map(|at| self.labels[at].1)
    }

    /// The size of an image, if the node has it.
    #[must_use]
    pub fn image_size(&self, image: Symbol) -> Option<i64> {
        let found = self.images.binary_search_by_key(&image, |(name, _)| *name);
        found.ok().map(|at| self.images[at].1)
    }

    /// What became better or merely other since `before`.
    fn aspects_since(&self, before: &Self, offers_more: bool) -> NodeAspects {
        NodeAspects {
            allocatable: offers_more,
            labels: self.labels != before.labels,
            taints: self.taints != before.taints,
            opened: before.is_closed && !self.is_closed,
            features: self.features != before.features,
            hardware: self.hardware != before.hardware || self.held != before.held,
        }
    }
}

/// What is left over when a node is taken in, or goes.
pub(super) struct Replaced {
    pub(super) node: Option<Box<Node>>,
    pub(super) offer: Offer,
}

/// A place in the table: a node that is there, or one that pods name and that is not.
struct Place {
    name: Symbol,
    node: Option<Box<Node>>,
}

/// All nodes. Places are used again, lowest first, so ids stay small and replays agree.
#[derive(Default)]
pub(super) struct Nodes {
    places: Vec<Option<Place>>,
    /// By place; empty for nodes that are not there.
    offers: Vec<Offer>,
    free: std::collections::BTreeSet<NodeId>,
    by_name: Map<Symbol, NodeId>,
    present: Vec<NodeId>,
    /// Images that nodes have.
    images: Map<Symbol, ImageSpread>,
    /// How many nodes have a label.
    labels: Map<Symbol, u32>,
    image_revision: u64,
    revision: u64,
}

impl Nodes {
    pub(super) fn present(&self) -> &[NodeId] {
        &self.present
    }

    pub(super) fn places(&self) -> usize {
        self.places.len()
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn has_label(&self, label: Symbol) -> bool {
        self.labels.contains_key(&label)
    }

    pub(super) fn image(&self, image: Symbol) -> ImageSpread {
        self.images.get(&image).copied().unwrap_or_default()
    }

    pub(super) fn get(&self, id: NodeId) -> Option<&Node> {
        self.places[id.index()].as_ref()?.node.as_deref()
    }

    pub(super) fn name(&self, id: NodeId) -> Symbol {
        self.places[id.index()].as_ref().expect("a place in use has a name").name
    }

    /// The name of a place, if it is in use.
    pub(super) fn name_of(&self, id: NodeId) -> Option<Symbol> {
        self.places[id.index()].as_ref().map(|place| place.name)
    }

    pub(super) fn find(&self, name: Symbol) -> Option<NodeId> {
        self.by_name.get(&name).copied()
    }

    pub(super) fn place(&mut self, name: Symbol) -> NodeId {
        if let Some(id) = self.find(name) {
            return id;
        }
        let id = self.free.pop_first().unwrap_or_else(|| {
            self.places.push(None);
            self.offers.push(Offer::default());
            NodeId::at(self.places.len() - 1)
        });
        self.places[id.index()] = Some(Place { name, node: None });
        self.by_name.insert(name, id);
        id
    }

    pub(super) fn offer(&self, id: NodeId) -> &Offer {
        &self.offers[id.index()]
    }

    /// Puts a node into its place; tells what is different, and what is not needed any more.
    pub(super) fn apply(&mut self, id: NodeId, node: Node, offer: Offer) -> (NodeChange, Replaced) {
        if self.get(id) == Some(&node) && self.offers[id.index()] == offer {
            return (NodeChange::Same, Replaced { node: Some(Box::new(node)), offer });
        }
        let offers_more = offer.is_more_than(&self.offers[id.index()]);
        let offer = std::mem::replace(&mut self.offers[id.index()], offer);
        let place = self.places[id.index()].as_mut().expect("a place in use");
        let before = place.node.replace(Box::new(node));
        let node = place.node.as_deref().expect("the node was just put there");
        let change = before.as_ref().map_or(NodeChange::Added, |before| {
            NodeChange::Changed(node.aspects_since(before, offers_more))
        });
        let old_labels = before.as_ref().map_or(&[][..], |before| &before.labels);
        if old_labels != &*node.labels {
            relabel(&mut self.labels, old_labels, &node.labels);
        }
        let old_images = before.as_ref().map_or(&[][..], |before| &before.images);
        if old_images != &*node.images {
            self.image_revision += 1;
            respread(&mut self.images, old_images, &node.images, self.image_revision);
        }
        if before.is_none() {
            self.revision += 1;
            let at = self.present.partition_point(|other| *other < id);
            self.present.insert(at, id);
        }
        (change, Replaced { node: before, offer })
    }

    pub(super) fn delete(&mut self, id: NodeId) -> Replaced {
        let place = self.places[id.index()].as_mut().expect("a place in use");
        let node = place.node.take().expect("only nodes that are there are deleted");
        let offer = std::mem::take(&mut self.offers[id.index()]);
        self.revision += 1;
        self.image_revision += 1;
        relabel(&mut self.labels, &node.labels, &[]);
        respread(&mut self.images, &node.images, &[], self.image_revision);
        let at = self.present.binary_search(&id).expect("a node that is there is listed");
        self.present.remove(at);
        Replaced { node: Some(node), offer }
    }

    /// Gives up a place; tells its name.
    pub(super) fn release(&mut self, id: NodeId) -> Symbol {
        let place = self.places[id.index()].take().expect("a place in use");
        assert!(place.node.is_none(), "the place of a node that is there is not given up");
        self.by_name.remove(&place.name);
        self.free.insert(id);
        place.name
    }

    /// How many images are counted.
    pub(super) fn images(&self) -> usize {
        self.images.len()
    }
}

/// Counts a node's images anew.
fn respread(
    images: &mut Map<Symbol, ImageSpread>,
    before: &[(Symbol, i64)],
    after: &[(Symbol, i64)],
    revision: u64,
) {
    let mut is_gone = false;
    for (name, _) in before.iter().filter(|image| !after.contains(image)) {
        let spread = images.get_mut(name).expect("an image of a node is counted");
        *spread = ImageSpread { nodes: spread.nodes - 1, revision, ..*spread };
        is_gone |= spread.nodes == 0;
    }
    for (name, size) in after.iter().filter(|image| !before.contains(image)) {
        let spread = images.entry(*name).or_default();
        let size = Some(*size).filter(|size| spread.nodes == 0 || spread.size == Some(*size));
        *spread = ImageSpread { nodes: spread.nodes + 1, revision, size };
    }
    // Only the node that had it last scored by it, and that one is looked at anew.
    if is_gone {
        for (name, _) in before {
            if images.get(name).is_some_and(|spread| spread.nodes == 0) {
                images.remove(name);
            }
        }
    }
}

/// Counts a node's labels anew.
fn relabel(labels: &mut Map<Symbol, u32>, before: &[(Symbol, Symbol)], after: &[(Symbol, Symbol)]) {
    after.iter().for_each(|(key, _)| *labels.entry(*key).or_default() += 1);
    for (key, _) in before {
        let nodes = labels.get_mut(key).expect("a label of a node is counted");
        *nodes -= 1;
        if *nodes == 0 {
            labels.remove(key);
        }
    }
}
