//! The tables of storage: volumes, claims, classes, and what CSI drivers say.

use std::collections::{BTreeMap, BTreeSet};

use super::{Catalog, Node};
use crate::ids::{PodId, TagsId};
use crate::quantity::Quantity;
use crate::selector::{Selector, Term};
use crate::spec::{FieldOperator, LabelOperator, NodeTerm, RequirementSpec};
use crate::symbol::{Holder, Symbol};
use crate::volume::{
    CsiDriverFacts, CsiNodeFacts, CsiStorageCapacityFacts, CsiVolume, PersistentVolumeFacts,
    StorageClassFacts, StorageFacts, StorageKind, VolumeAttachmentFacts, VolumeClaimFacts,
    VolumeSource,
};

/// All of storage.
#[derive(Default)]
pub(super) struct Storage {
    volumes: BTreeMap<Box<str>, Volume>,
    /// Volumes that anybody may claim, by class and by where they can be used.
    free: BTreeMap<Box<str>, Free>,
    /// Volumes by the claim they say they are for.
    by_claim: BTreeMap<Box<str>, BTreeSet<Box<str>>>,
    claims: BTreeMap<Box<str>, VolumeClaimFacts>,
    classes: BTreeMap<Box<str>, StorageClass>,
    csi_nodes: BTreeMap<Box<str>, CsiNodeFacts>,
    csi_drivers: BTreeMap<Box<str>, CsiDriverFacts>,
    capacities: BTreeMap<Box<str>, StorageCapacity>,
    /// Names of capacities by class.
    capacities_of: BTreeMap<Box<str>, BTreeSet<Box<str>>>,
    attachments: BTreeMap<Box<str>, VolumeAttachmentFacts>,
    /// Names of attachments by node.
    attached: BTreeMap<Box<str>, BTreeSet<Box<str>>>,
    /// Pods by the claims they name.
    users: BTreeMap<Box<str>, BTreeSet<PodId>>,
}

/// A label of nodes with a value.
type Label = (Symbol, Symbol);

/// Volumes of a class that anybody may claim, the smallest first, by a label that nodes must have.
type Free = BTreeMap<Option<Label>, BTreeSet<(Quantity, Box<str>)>>;

/// A PersistentVolume that is there.
pub struct Volume {
    /// What the API says of it.
    pub facts: PersistentVolumeFacts,
    affinity: Option<Selector>,
    migrated: Option<Selector>,
    /// A label that every node must have which can use it, if there is one.
    place: Option<Label>,
    held: Box<[Symbol]>,
}

/// A StorageClass that is there.
pub struct StorageClass {
    /// What the API says of it.
    pub facts: StorageClassFacts,
    topologies: Option<Selector>,
    held: Box<[Symbol]>,
}

/// A CSIStorageCapacity that is there.
pub struct StorageCapacity {
    /// What the API says of it.
    pub facts: CsiStorageCapacityFacts,
    topology: Option<Term>,
    held: Box<[Symbol]>,
}

impl Volume {
    /// Whether it says that it is for a claim, by its name at least.
    #[must_use]
    pub fn is_for(&self, claim: &VolumeClaimFacts) -> bool {
        self.facts.claim.as_ref().is_some_and(|it| {
            (&it.namespace, &it.name) == (&claim.namespace, &claim.name)
                && (it.uid.is_empty() || it.uid == claim.uid)
        })
    }

    /// Whether a node can use it as it is.
    #[must_use]
    pub fn is_near(&self, catalog: &Catalog, node: &Node) -> bool {
        self.affinity.as_ref().is_none_or(|affinity| affinity.matches(node, &catalog.symbols))
    }

    /// Whether a node can use it as the CSI driver there sees it; nothing if its in-tree source
    /// makes no sense to the driver.
    #[must_use]
    pub fn is_near_for(
        &self,
        catalog: &Catalog,
        node: &Node,
        csi_node: Option<&CsiNodeFacts>,
    ) -> Option<bool> {
        let VolumeSource::InTree(source) = &self.facts.source else {
            return Some(self.is_near(catalog, node));
        };
        let is_migrated = csi_node.is_some_and(|it| it.migrated.contains(&source.plugin));
        if !is_migrated {
            return Some(self.is_near(catalog, node));
        }
        source.volume.as_ref()?;
        let affinity = self.migrated.as_ref();
        Some(affinity.is_none_or(|affinity| affinity.matches(node, &catalog.symbols)))
    }

    /// Whether anybody may claim it.
    fn is_free(&self) -> bool {
        let facts = &self.facts;
        facts.claim.is_none() && facts.is_available && !facts.is_terminating
    }

    /// What it counts as on a node, if a CSI driver counts it.
    #[must_use]
    pub fn csi(&self, csi_node: Option<&CsiNodeFacts>) -> Option<&CsiVolume> {
        match &self.facts.source {
            VolumeSource::Csi(volume) => Some(volume),
            VolumeSource::InTree(source) => csi_node.and(source.volume.as_ref()),
            VolumeSource::Other => None,
        }
    }
}

impl StorageClass {
    /// Whether volumes can be made for a node.
    #[must_use]
    pub fn allows(&self, catalog: &Catalog, node: &Node) -> bool {
        self.topologies.as_ref().is_none_or(|terms| terms.matches(node, &catalog.symbols))
    }
}

impl StorageCapacity {
    /// Whether it has room for so much that a node can use.
    #[must_use]
    pub fn serves(&self, catalog: &Catalog, size: i64, node: &Node) -> bool {
        let CsiStorageCapacityFacts { capacity, volume_max, .. } = &self.facts;
        let is_near =
            || self.topology.as_ref().is_some_and(|it| it.matches(node, &catalog.symbols));
        volume_max.or(*capacity).is_some_and(|limit| limit >= size) && is_near()
    }
}

// === What is there ===

impl Catalog {
    /// A PersistentVolume, by name.
    #[must_use]
    pub fn volume(&self, name: &str) -> Option<&Volume> {
        self.storage.volumes.get(name)
    }

    /// The smallest volume of a class that anybody may claim, holds at least so much and will do,
    /// of those that a node may be able to use.
    pub fn smallest_volume(
        &self,
        class: &str,
        size: Quantity,
        node: &Node,
        will_do: impl Fn(&Volume) -> bool,
    ) -> Option<&Volume> {
        let free = self.storage.free.get(class)?;
        let smallest = |place: Option<Label>| {
            let mut all = free.get(&place)?.range((size, Box::default())..);
            all.find(|(_, name)| will_do(&self.storage.volumes[name]))
        };
        let places = node.labels().map(Some).chain([None]);
        let found = places.filter_map(smallest).min()?;
        self.storage.volumes.get(&found.1)
    }

    /// Whether there are volumes of a class that anybody may claim.
    #[must_use]
    pub fn has_free_volumes(&self, class: &str) -> bool {
        self.storage.free.contains_key(class)
    }

    /// Volumes that say they are for a claim, by its name at least.
    pub fn volumes_for(&self, claim: &VolumeClaimFacts) -> impl Iterator<Item = &Volume> {
        let names = self.storage.by_claim.get(&claim.key()).into_iter().flatten();
        names.map(|name| &self.storage.volumes[name])
    }

    /// A PersistentVolumeClaim, by namespace and name with a slash between them.
    #[must_use]
    pub fn volume_claim(&self, key: &str) -> Option<&VolumeClaimFacts> {
        self.storage.claims.get(key)
    }

    /// A StorageClass, by name.
    #[must_use]
    pub fn storage_class(&self, name: &str) -> Option<&StorageClass> {
        self.storage.classes.get(name)
    }

    /// The CSINode of a node.
    #[must_use]
    pub fn csi_node(&self, node: &str) -> Option<&CsiNodeFacts> {
        self.storage.csi_nodes.get(node)
    }

    /// A CSIDriver, by name.
    #[must_use]
    pub fn csi_driver(&self, name: &str) -> Option<&CsiDriverFacts> {
        self.storage.csi_drivers.get(name)
    }

    /// What is left of the storage of a class, by namespace and name.
    pub fn storage_capacities(&self, class: &str) -> impl Iterator<Item = &StorageCapacity> {
        let names = self.storage.capacities_of.get(class).into_iter().flatten();
        names.map(|name| &self.storage.capacities[name])
    }

    /// What is attached to a node, by name of the attachment.
    pub fn attachments(&self, node: &str) -> impl Iterator<Item = &VolumeAttachmentFacts> {
        let names = self.storage.attached.get(node).into_iter().flatten();
        names.map(|name| &self.storage.attachments[name])
    }

    /// The pods that name a claim.
    pub fn claim_users(&self, key: &str) -> impl Iterator<Item = PodId> {
        self.storage.users.get(key).into_iter().flatten().copied()
    }
}

// === Changes ===

impl Catalog {
    /// Takes in an object of storage; tells whether anything is different now.
    pub fn set_storage(&mut self, facts: &StorageFacts) -> bool {
        if self.storage.has(facts) {
            return false;
        }
        self.delete_storage(StorageKind::of_facts(facts), &facts.name());
        let Self { storage, symbols, .. } = self;
        storage.set(facts.clone(), &mut Holder::new(symbols));
        true
    }

    /// Whether an object is known, and nothing about it is different but its version.
    #[must_use]
    pub fn is_same_but_version(&self, facts: &StorageFacts) -> bool {
        match facts {
            StorageFacts::Volume(it) => self.volume(&it.name).is_some_and(|known| {
                let version = it.version.clone();
                PersistentVolumeFacts { version, ..known.facts.clone() } == *it
            }),
            StorageFacts::Claim(it) => self.volume_claim(&it.key()).is_some_and(|known| {
                VolumeClaimFacts { version: it.version.clone(), ..known.clone() } == *it
            }),
            StorageFacts::Class(_)
            | StorageFacts::CsiNode(_)
            | StorageFacts::CsiDriver(_)
            | StorageFacts::Capacity(_)
            | StorageFacts::Attachment(_) => false,
        }
    }

    /// Forgets an object of storage; tells whether it was known.
    pub fn delete_storage(&mut self, kind: StorageKind, name: &str) -> bool {
        let Some(held) = self.storage.remove(kind, name) else { return false };
        self.symbols.release_all(held);
        true
    }

    /// Lists a pod with the claims it names, or does not any more.
    pub(super) fn list_claims(&mut self, pod: PodId, tags: TagsId, is_there: bool) {
        for key in &self.crowds.tags(tags).claims {
            let users = self.storage.users.entry(key.clone()).or_default();
            match is_there {
                true => _ = users.insert(pod),
                false => _ = users.remove(&pod),
            }
            if users.is_empty() {
                self.storage.users.remove(key);
            }
        }
    }
}

impl Storage {
    /// Whether an object is known to be just so.
    pub(super) fn has(&self, facts: &StorageFacts) -> bool {
        match facts {
            StorageFacts::Volume(it) => {
                self.volumes.get(&it.name).is_some_and(|known| known.facts == *it)
            }
            StorageFacts::Claim(it) => self.claims.get(&it.key()) == Some(it),
            StorageFacts::Class(it) => {
                self.classes.get(&it.name).is_some_and(|known| known.facts == *it)
            }
            StorageFacts::CsiNode(it) => self.csi_nodes.get(&it.name) == Some(it),
            StorageFacts::CsiDriver(it) => self.csi_drivers.get(&it.name) == Some(it),
            StorageFacts::Capacity(it) => {
                self.capacities.get(&it.key()).is_some_and(|known| known.facts == *it)
            }
            StorageFacts::Attachment(it) => self.attachments.get(&it.name) == Some(it),
        }
    }

    /// All objects.
    pub(super) fn facts(&self) -> impl Iterator<Item = StorageFacts> {
        let volumes = self.volumes.values().map(|it| StorageFacts::Volume(it.facts.clone()));
        let classes = self.classes.values().map(|it| StorageFacts::Class(it.facts.clone()));
        let capacities = self.capacities.values().map(|it| it.facts.clone());
        volumes
            .chain(self.claims.values().cloned().map(StorageFacts::Claim))
            .chain(classes)
            .chain(self.csi_nodes.values().cloned().map(StorageFacts::CsiNode))
            .chain(self.csi_drivers.values().cloned().map(StorageFacts::CsiDriver))
            .chain(capacities.map(StorageFacts::Capacity))
            .chain(self.attachments.values().cloned().map(StorageFacts::Attachment))
    }

    /// The names of all objects of a kind.
    pub(super) fn names(&self, kind: StorageKind) -> Vec<Box<str>> {
        match kind {
            StorageKind::Volume => self.volumes.keys().cloned().collect(),
            StorageKind::Claim => self.claims.keys().cloned().collect(),
            StorageKind::Class => self.classes.keys().cloned().collect(),
            StorageKind::CsiNode => self.csi_nodes.keys().cloned().collect(),
            StorageKind::CsiDriver => self.csi_drivers.keys().cloned().collect(),
            StorageKind::Capacity => self.capacities.keys().cloned().collect(),
            StorageKind::Attachment => self.attachments.keys().cloned().collect(),
        }
    }

    /// Takes in an object that is not there.
    fn set(&mut self, facts: StorageFacts, holder: &mut Holder<'_>) {
        match facts {
            StorageFacts::Volume(it) => self.set_volume(it, holder),
            StorageFacts::Claim(it) => _ = self.claims.insert(it.key(), it),
            StorageFacts::Class(facts) => {
                let topologies = compile(facts.topologies.as_deref(), holder);
                let class = StorageClass { topologies, held: holder.take(), facts };
                self.classes.insert(class.facts.name.clone(), class);
            }
            StorageFacts::CsiNode(it) => _ = self.csi_nodes.insert(it.name.clone(), it),
            StorageFacts::CsiDriver(it) => _ = self.csi_drivers.insert(it.name.clone(), it),
            StorageFacts::Capacity(facts) => {
                let topology = facts.topology.as_ref().map(|it| {
                    let expressions = it.requirements.clone();
                    Term::compile(&NodeTerm { expressions, fields: Vec::new() }, holder)
                });
                let key = facts.key();
                let of_class = self.capacities_of.entry(facts.class.clone()).or_default();
                of_class.insert(key.clone());
                let capacity = StorageCapacity { topology, held: holder.take(), facts };
                self.capacities.insert(key, capacity);
            }
            StorageFacts::Attachment(it) => {
                self.attached.entry(it.node.clone()).or_default().insert(it.name.clone());
                self.attachments.insert(it.name.clone(), it);
            }
        }
    }

    fn set_volume(&mut self, facts: PersistentVolumeFacts, holder: &mut Holder<'_>) {
        if let Some(claim) = &facts.claim {
            self.by_claim.entry(claim.key()).or_default().insert(facts.name.clone());
        }
        let affinity = compile(nameless(facts.affinity.as_deref()).as_deref(), holder);
        let migrated = match &facts.source {
            VolumeSource::InTree(source) => {
                compile(nameless(source.affinity.as_deref()).as_deref(), holder)
            }
            VolumeSource::Csi(_) | VolumeSource::Other => None,
        };
        let place = place(facts.affinity.as_deref(), holder);
        let volume = Volume { affinity, migrated, place, held: holder.take(), facts };
        let name = volume.facts.name.clone();
        if volume.is_free() {
            let of_class = self.free.entry(volume.facts.class.clone()).or_default();
            of_class.entry(place).or_default().insert((volume.facts.capacity, name.clone()));
        }
        self.volumes.insert(name, volume);
    }

    /// Forgets an object; tells which strings it held, if it was known.
    fn remove(&mut self, kind: StorageKind, name: &str) -> Option<Box<[Symbol]>> {
        match kind {
            StorageKind::Volume => {
                let Volume { facts, held, place, .. } = self.volumes.remove(name)?;
                if let Some(free) = self.free.get_mut(&facts.class) {
                    unlist(free, &place, &(facts.capacity, name.into()));
                    if free.is_empty() {
                        self.free.remove(&facts.class);
                    }
                }
                if let Some(claim) = &facts.claim {
                    unlist(&mut self.by_claim, &claim.key(), &name.into());
                }
                Some(held)
            }
            StorageKind::Claim => self.claims.remove(name).map(|_| Box::default()),
            StorageKind::Class => self.classes.remove(name).map(|class| class.held),
            StorageKind::CsiNode => self.csi_nodes.remove(name).map(|_| Box::default()),
            StorageKind::CsiDriver => self.csi_drivers.remove(name).map(|_| Box::default()),
            StorageKind::Capacity => {
                let StorageCapacity { facts, held, .. } = self.capacities.remove(name)?;
                unlist(&mut self.capacities_of, &facts.class, &name.into());
                Some(held)
            }
            StorageKind::Attachment => {
                let facts = self.attachments.remove(name)?;
                unlist(&mut self.attached, &facts.node, &name.into());
                Some(Box::default())
            }
        }
    }
}

/// Terms as Kubernetes reads them for volumes: fields of nodes must make sense, and are not
/// compared. None if one of the terms holds for all nodes.
fn nameless(terms: Option<&[NodeTerm]>) -> Option<Vec<NodeTerm>> {
    let makes_sense = |field: &RequirementSpec<FieldOperator>| {
        field.operator != FieldOperator::Unknown && field.values.len() == 1
    };
    let terms = terms?;
    let mut read = terms.to_vec();
    for term in &mut read {
        let had_fields = !term.fields.is_empty();
        term.fields.retain(|field| !makes_sense(field));
        if had_fields && term.fields.is_empty() && term.expressions.is_empty() {
            return None;
        }
    }
    Some(read)
}

/// A label that all nodes have which match the terms, if that is easily seen: where a volume is
/// local, there is one term which names the host.
fn place(terms: Option<&[NodeTerm]>, holder: &mut Holder<'_>) -> Option<Label> {
    let [term] = terms? else { return None };
    let is_one = |it: &&RequirementSpec<LabelOperator>| {
        it.operator == LabelOperator::In && it.values.len() == 1
    };
    let it = term.expressions.iter().find(is_one)?;
    Some((holder.hold(&it.key), holder.hold(&it.values[0])))
}

fn compile(terms: Option<&[NodeTerm]>, holder: &mut Holder<'_>) -> Option<Selector> {
    terms.map(|terms| Selector::compile(terms, holder))
}

/// Takes something out of a list, and the list if nothing is left in it.
fn unlist<K: Ord, T: Ord>(lists: &mut BTreeMap<K, BTreeSet<T>>, at: &K, it: &T) {
    let Some(list) = lists.get_mut(at) else { return };
    list.remove(it);
    if list.is_empty() {
        lists.remove(at);
    }
}
