//! The ways to take a node with volumes: which volumes the claims of a pod would get there.

use serde::{Deserialize, Serialize};

use super::facts::{BindingMode, PodVolume, VolumeClaimFacts};
use super::fault::VolumeFault;
use crate::catalog::{Catalog, StorageCapacity, Volume};
use crate::ids::{NodeId, TagsId};
use crate::quantity::Quantity;
use crate::reason::Code;
use crate::usage::Usage;

/// The provisioner of classes whose volumes nobody makes.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// What is given to a claim for the sake of a pod that goes to a node: a volume, or the node as the
/// place where one is to be made.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assignment {
    /// The claim, by namespace and name.
    pub claim: Box<str>,
    /// The volume, by name; none where one is to be made.
    pub volume: Option<Box<str>>,
}

/// The claims of a pod, by what there is to do about them.
#[derive(Default)]
pub struct PodClaims<'a> {
    bound: Vec<&'a VolumeClaimFacts>,
    /// Those that get a volume when the pod is placed.
    delayed: Vec<&'a VolumeClaimFacts>,
}

/// What the claims of a pod get on a node.
#[derive(Default)]
pub struct Way<'a> {
    /// Claims that get a volume which is there.
    pub bound: Vec<(&'a VolumeClaimFacts, &'a Volume)>,
    /// Claims for which a volume is to be made, and the storage that was found to have room.
    pub made: Vec<(&'a VolumeClaimFacts, Option<&'a StorageCapacity>)>,
}

impl Way<'_> {
    /// What is given to whom.
    pub fn assignments(&self) -> impl Iterator<Item = Assignment> {
        let bound = self.bound.iter().map(|(claim, volume)| Assignment {
            claim: claim.key(),
            volume: Some(volume.facts.name.clone()),
        });
        let made = self.made.iter();
        bound.chain(made.map(|(claim, _)| Assignment { claim: claim.key(), volume: None }))
    }
}

impl<'a> PodClaims<'a> {
    /// The claims of pods with these tags.
    ///
    /// # Errors
    /// The first fault that keeps such pods from all nodes.
    pub fn of(catalog: &'a Catalog, tags: TagsId) -> Result<Self, VolumeFault> {
        let tags = catalog.tags(tags);
        let mut claims = Self::default();
        let claimed = tags.mounts().filter_map(|(volume, key)| Some((volume, key?)));
        let found: Result<Vec<_>, _> =
            claimed.map(|(volume, key)| usable(catalog, volume, key)).collect();
        let mut is_unbound = false;
        for claim in found? {
            match claim.is_bound() {
                true => claims.bound.push(claim),
                false if is_delayed(catalog, claim)? && claim.volume.is_empty() => {
                    claims.delayed.push(claim);
                }
                false => is_unbound = true,
            }
        }
        if is_unbound { Err(VolumeFault::Unbound) } else { Ok(claims) }
    }

    /// Whether all claims have their volumes.
    #[must_use]
    pub fn are_bound(&self) -> bool {
        self.delayed.is_empty()
    }

    /// Whether what there is of storage can tell nodes apart: volumes of a class that claims ask
    /// for, or a driver that says how much is left.
    #[must_use]
    pub fn have_sizes(&self, catalog: &Catalog) -> bool {
        self.delayed.iter().any(|claim| {
            let class = catalog.storage_class(&claim.class);
            let driver = class.and_then(|class| catalog.csi_driver(&class.facts.provisioner));
            driver.is_some_and(|driver| driver.tells_capacity)
                || catalog.has_free_volumes(&claim.class)
                || catalog.volumes_for(claim).next().is_some()
        })
    }

    /// What the claims would get on a node.
    ///
    /// # Errors
    /// All faults of the node.
    pub fn way(
        &self,
        catalog: &'a Catalog,
        usage: &Usage,
        node: NodeId,
    ) -> Result<Way<'a>, Vec<VolumeFault>> {
        let mut faults = self.bound_faults(catalog, node);
        let mut way = Way::default();
        if let Err(fault) = self.assign(catalog, usage, node, &mut way) {
            if fault.code() == Code::Error {
                return Err(vec![fault]);
            }
            // In the order in which kube-scheduler says them.
            let at = usize::from(faults.first() == Some(&VolumeFault::NodeConflict));
            faults.insert(at, fault);
        }
        if faults.is_empty() { Ok(way) } else { Err(faults) }
    }

    /// Why a node cannot use the volumes that claims have.
    fn bound_faults(&self, catalog: &Catalog, node: NodeId) -> Vec<VolumeFault> {
        let csi_node = catalog.csi_node(catalog.node_name(node));
        for claim in &self.bound {
            let Some(volume) = catalog.volume(&claim.volume) else {
                return vec![VolumeFault::VolumeGone];
            };
            match volume.is_near_for(catalog, catalog.node(node), csi_node) {
                Some(true) => {}
                Some(false) => return vec![VolumeFault::NodeConflict],
                None => return vec![VolumeFault::Untranslatable(volume.facts.name.clone())],
            }
        }
        Vec::new()
    }

    /// Finds something for every claim that has no volume.
    fn assign(
        &self,
        catalog: &'a Catalog,
        usage: &Usage,
        node: NodeId,
        way: &mut Way<'a>,
    ) -> Result<(), VolumeFault> {
        let (mut open, mut to_make) = (Vec::new(), Vec::new());
        for claim in self.delayed.iter().copied() {
            let given = usage.assigned().node_of(&claim.key()).map(|node| catalog.node_name(node));
            match given.or(claim.selected_node.as_deref()) {
                Some(name) if name != catalog.node_name(node) => return Err(VolumeFault::NoMatch),
                Some(_) => to_make.push(claim),
                None => open.push(claim),
            }
        }
        open.sort_by_key(|claim| claim.size.unwrap_or_default());
        for claim in open {
            match matching(catalog, usage, claim, node, &way.bound)? {
                Some(volume) => way.bound.push((claim, volume)),
                None => to_make.push(claim),
            }
        }
        for claim in to_make {
            let capacity = provision(catalog, claim, node)?;
            way.made.push((claim, capacity));
        }
        Ok(())
    }
}

/// The claim behind a volume of a pod, if the pod can use it.
fn usable<'a>(
    catalog: &'a Catalog,
    volume: &PodVolume,
    key: &str,
) -> Result<&'a VolumeClaimFacts, VolumeFault> {
    let name = || volume.claim().unwrap_or_default().into();
    let is_ephemeral = matches!(volume, PodVolume::Ephemeral { .. });
    let claim = catalog.volume_claim(key).ok_or_else(|| match is_ephemeral {
        true => VolumeFault::NotMade(name()),
        false => VolumeFault::NoClaim(name()),
    })?;
    if claim.is_lost {
        return Err(VolumeFault::Lost { claim: name(), volume: claim.volume.clone() });
    }
    if claim.is_terminating {
        return Err(VolumeFault::Deleted(name()));
    }
    claim.check_owner(volume)?;
    Ok(claim)
}

impl VolumeClaimFacts {
    /// Sees to it that the claim of an ephemeral volume is the pod's own.
    ///
    /// # Errors
    /// When it is not.
    pub fn check_owner(&self, volume: &PodVolume) -> Result<(), VolumeFault> {
        match volume {
            PodVolume::Ephemeral { pod, pod_name, .. } if self.owner.as_ref() != Some(pod) => {
                let pod = format!("{}/{pod_name}", self.namespace).into();
                Err(VolumeFault::NotOwned { claim: self.key(), pod })
            }
            PodVolume::Ephemeral { .. } | PodVolume::Claim(_) | PodVolume::Inline { .. } => Ok(()),
        }
    }
}

/// Whether a claim gets its volume when a pod that uses it is placed.
fn is_delayed(catalog: &Catalog, claim: &VolumeClaimFacts) -> Result<bool, VolumeFault> {
    let Some(class) = catalog.storage_class(&claim.class) else { return Ok(false) };
    match class.facts.mode {
        Some(mode) => Ok(mode == BindingMode::WaitForFirstConsumer),
        None => Err(VolumeFault::BrokenClass(claim.class.clone())),
    }
}

/// The volume a claim would get on a node: one that is for it, or the smallest that will do.
fn matching<'a>(
    catalog: &'a Catalog,
    usage: &Usage,
    claim: &VolumeClaimFacts,
    node: NodeId,
    chosen: &[(&VolumeClaimFacts, &Volume)],
) -> Result<Option<&'a Volume>, VolumeFault> {
    let key = claim.key();
    let selector = claim.selector.as_ref();
    if selector.is_some_and(|selector| !selector.is_sound()) {
        return Err(VolumeFault::BrokenSelector(key));
    }
    let size = claim.size.unwrap_or_default();
    let (assigned, at) = (usage.assigned(), catalog.node(node));
    let is_chosen =
        |volume: &Volume| chosen.iter().any(|(_, chosen)| chosen.facts.name == volume.facts.name);
    let could = |volume: &&Volume| {
        !is_chosen(volume) && volume.facts.class == claim.class && is_alike(volume, claim, size)
    };
    // What was given to a claim of that name before is not for this one.
    let is_open = |volume: &&Volume| volume.facts.claim.is_none() || volume.is_for(claim);
    let own = assigned.volumes_of(&key).filter_map(|name| catalog.volume(name)).filter(is_open);
    let own = own.chain(catalog.volumes_for(claim).filter(|volume| volume.is_for(claim)));
    if let Some(volume) = own.filter(could).min_by_key(|volume| &volume.facts.name) {
        return Ok(Some(volume).filter(|volume| volume.is_near(catalog, at)));
    }
    Ok(catalog.smallest_volume(&claim.class, size, at, |volume| {
        let facts = &volume.facts;
        could(&volume)
            && !assigned.has_volume(&facts.name)
            && selector.is_none_or(|selector| selector.matches(&facts.labels))
            && claim.modes.are_within(facts.modes)
            && volume.is_near(catalog, at)
    }))
}

/// Whether a volume is of the kind and size that a claim asks for.
fn is_alike(volume: &Volume, claim: &VolumeClaimFacts, size: Quantity) -> bool {
    let facts = &volume.facts;
    facts.capacity >= size
        && facts.is_block == claim.is_block
        && facts.attributes_class == claim.attributes_class
        && !facts.is_terminating
}

/// Whether a volume can be made for a claim on a node, and where there is room for it.
fn provision<'a>(
    catalog: &'a Catalog,
    claim: &VolumeClaimFacts,
    node: NodeId,
) -> Result<Option<&'a StorageCapacity>, VolumeFault> {
    let Some(class) = catalog.storage_class(&claim.class) else {
        return Err(VolumeFault::NoClass(claim.class.clone()));
    };
    let provisioner = &*class.facts.provisioner;
    let at = catalog.node(node);
    if provisioner.is_empty() || provisioner == NO_PROVISIONER || !class.allows(catalog, at) {
        return Err(VolumeFault::NoMatch);
    }
    let Some(size) = claim.size else { return Ok(None) };
    if catalog.csi_driver(provisioner).is_none_or(|driver| !driver.tells_capacity) {
        return Ok(None);
    }
    let mut capacities = catalog.storage_capacities(&claim.class);
    let found = capacities.find(|capacity| capacity.serves(catalog, size.units(), at));
    found.map(Some).ok_or(VolumeFault::NoSpace)
}
