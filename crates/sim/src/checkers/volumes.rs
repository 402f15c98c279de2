//! Volumes, held against the plain rules: what keeps pods with claims from nodes, what may be given
//! to whom, and when a pod may be bound.
//!
//! Written down a second time: every claim and every volume is looked at for every question.

mod ends;
mod given;
mod limits;

use model::{
    AccessModes, BindingMode, CsiStorageCapacityFacts, LabelSelector, NodeFacts,
    PersistentVolumeFacts, PodFacts, PodVolume, StorageClassFacts, VolumeClaimFacts, claim_key,
};

use super::ledger::{Ledger, Storage};
use super::rules::{self, Objection};
pub(crate) use ends::Ends;
#[cfg(test)]
pub(crate) use given::KeptPod;
pub(crate) use given::{Kept, check_commits, check_given, check_prepared};

/// The provisioner of classes whose volumes nobody makes.
const NOBODY: &str = "kubernetes.io/no-provisioner";

/// Claims by namespace and name, each with the volume it would get, if that is there already.
pub(super) type Gifts = Vec<(Box<str>, Option<Box<str>>)>;

/// The claims of a pod by namespace and name, with whether the pod names them itself.
fn claims(pod: &PodFacts) -> impl Iterator<Item = (&PodVolume, Box<str>)> {
    let named = pod.volumes.iter().filter_map(|volume| Some((volume, volume.claim()?)));
    named.map(|(volume, name)| (volume, claim_key(&pod.key.namespace, name)))
}

fn is_named(volume: &PodVolume) -> bool {
    match volume {
        PodVolume::Claim(_) => true,
        PodVolume::Ephemeral { .. } | PodVolume::Inline { .. } => false,
    }
}

/// Why a pod is not looked at on any node, in the word for it.
pub(crate) fn refusal(ledger: &Ledger, pod: &PodFacts) -> Option<&'static str> {
    let storage = ledger.storage();
    if claims(pod).any(|(volume, key)| is_named(volume) && storage.claim(&key).is_none()) {
        return Some("VolumeClaimMissing");
    }
    for (volume, key) in claims(pod) {
        let Some(claim) = storage.claim(&key) else { return Some("VolumeClaimMissing") };
        if claim.is_lost {
            return Some("VolumeClaimLost");
        }
        if claim.is_terminating {
            return Some("VolumeClaimTerminating");
        }
        if !is_named(volume) && claim.owner.as_ref() != Some(&pod.key.uid) {
            return Some("VolumeClaimNotOwned");
        }
    }
    let all = || claims(pod).filter_map(|(volume, key)| Some((volume, storage.claim(&key)?)));
    if all().any(|(_, claim)| !is_bound(claim) && !is_delayed(storage, claim)) {
        return Some("VolumeClaimUnbound");
    }
    let is_homeless = |claim: &VolumeClaimFacts| {
        !claim.volume.is_empty() && storage.volume(&claim.volume).is_none()
    };
    let mut named = all().filter(|(volume, _)| is_named(volume));
    named.any(|(_, claim)| is_homeless(claim)).then_some("VolumeMissing")
}

fn is_bound(claim: &VolumeClaimFacts) -> bool {
    !claim.volume.is_empty() && claim.is_bind_completed
}

/// Whether a claim without a volume gets one when a pod is placed.
fn is_delayed(storage: &Storage, claim: &VolumeClaimFacts) -> bool {
    let mode = storage.class(&claim.class).and_then(|class| class.mode);
    claim.volume.is_empty() && mode == Some(BindingMode::WaitForFirstConsumer)
}

/// Who is where, as far as volumes are concerned.
pub(super) struct Mounted<'a> {
    pub(super) ledger: &'a Ledger,
    /// All pods on nodes.
    pub(super) users: Vec<&'a PodFacts>,
    /// Those on the node that is asked about.
    pub(super) here: Vec<&'a PodFacts>,
    /// What is given to claims beyond the ledger, with the node.
    pub(super) gifts: &'a [(Box<str>, Gifts)],
}

/// What a node has against the volumes of a pod, or what its claims would get there.
pub(super) fn objections(
    mounted: &Mounted<'_>,
    pod: &PodFacts,
    node: &NodeFacts,
) -> Result<Gifts, Vec<Objection>> {
    let no = |word| Err(vec![Objection::Volume(word)]);
    if let Some(word) = refusal(mounted.ledger, pod) {
        return no(word);
    }
    if limits::has_conflict(&mounted.here, pod) {
        return no("VolumeDiskConflict");
    }
    if is_in_use(mounted, pod) {
        return no("VolumeClaimInUse");
    }
    if let Some(word) = limits::excess(mounted, pod, node) {
        return no(word);
    }
    let storage = mounted.ledger.storage();
    let all: Vec<&VolumeClaimFacts> =
        claims(pod).filter_map(|(_, key)| storage.claim(&key)).collect();
    let mut words = Vec::new();
    for claim in all.iter().filter(|claim| is_bound(claim)) {
        let word = match storage.volume(&claim.volume) {
            None => "VolumeMissing",
            Some(volume) if !is_near(volume, node) => "VolumeNodeAffinityConflict",
            Some(_) => continue,
        };
        words.push(word);
        break;
    }
    let open: Vec<&VolumeClaimFacts> = all.into_iter().filter(|claim| !is_bound(claim)).collect();
    let gifts = gifts(mounted, &open, node).map_err(|word| words.push(word));
    match gifts.ok().filter(|_| words.is_empty()) {
        Some(gifts) => Ok(gifts),
        None => Err(words.into_iter().map(Objection::Volume).collect()),
    }
}

/// Whether a claim of the pod is for one pod alone, and another one has it.
fn is_in_use(mounted: &Mounted<'_>, pod: &PodFacts) -> bool {
    claims(pod).filter(|(volume, _)| is_named(volume)).any(|(_, key)| {
        let claim = mounted.ledger.storage().claim(&key);
        let is_alone = claim.is_some_and(|it| AccessModes::ONCE_POD.are_within(it.modes));
        let has = |other: &&PodFacts| claims(other).any(|(it, other)| is_named(it) && other == key);
        is_alone && mounted.users.iter().any(has)
    })
}

/// Whether a claim of a pod is kept on a node for another pod, for which the node is proposed.
pub(super) fn is_kept_for_others(ledger: &Ledger, pod: &PodFacts, node: &str) -> bool {
    let shares =
        |other: &PodFacts| claims(pod).any(|(_, key)| claims(other).any(|(_, it)| it == key));
    claims(pod).next().is_some() && ledger.rivals(node, pod).any(shares)
}

/// Whether a node can use a volume.
fn is_near(volume: &PersistentVolumeFacts, node: &NodeFacts) -> bool {
    let terms = volume.affinity.as_ref();
    terms.is_none_or(|terms| terms.iter().any(|term| rules::matches(term, node)))
}

/// What claims without volumes would get on a node, or why one of them gets nothing.
fn gifts(
    mounted: &Mounted<'_>,
    open: &[&VolumeClaimFacts],
    node: &NodeFacts,
) -> Result<Gifts, &'static str> {
    const NONE: &str = "VolumeBindingConflict";
    let storage = mounted.ledger.storage();
    let mut gifts = Gifts::new();
    let mut to_make = Vec::new();
    let mut to_find = Vec::new();
    for claim in open {
        let chosen = chosen_node(mounted, claim);
        match chosen.as_deref().or(claim.selected_node.as_deref()) {
            Some(chosen) if *chosen != *node.name => return Err(NONE),
            Some(_) => to_make.push(*claim),
            None => to_find.push(*claim),
        }
    }
    to_find.sort_by_key(|claim| claim.size);
    for claim in to_find {
        match find_volume(mounted, claim, node, &gifts) {
            Some(volume) => gifts.push((claim.key(), Some(volume.name.clone()))),
            None => to_make.push(claim),
        }
    }
    for claim in to_make {
        let class = storage.class(&claim.class).ok_or(NONE)?;
        if *class.provisioner == *NOBODY || !is_allowed(class, node) {
            return Err(NONE);
        }
        if is_short(storage, claim, class, node) {
            return Err("StorageCapacityShort");
        }
        gifts.push((claim.key(), None));
    }
    Ok(gifts)
}

/// Whether volumes of a class may be made for a node.
fn is_allowed(class: &StorageClassFacts, node: &NodeFacts) -> bool {
    let terms = class.topologies.as_ref();
    terms.is_none_or(|terms| terms.iter().any(|term| rules::matches(term, node)))
}

/// Whether too little storage is left for a volume of a claim that a node can use, of a driver that
/// tells how much is left.
fn is_short(
    storage: &Storage,
    claim: &VolumeClaimFacts,
    class: &StorageClassFacts,
    node: &NodeFacts,
) -> bool {
    let tells = storage.csi_driver(&class.provisioner).is_some_and(|driver| driver.tells_capacity);
    let Some(size) = claim.size.filter(|_| tells) else { return false };
    let is_within = |selector: &LabelSelector| {
        // Worlds have only requirements that a value is among some.
        selector.requirements.iter().all(|requirement| {
            let label = node.labels.iter().find(|(key, _)| *key == requirement.key);
            label.is_some_and(|(_, value)| requirement.values.contains(value))
        })
    };
    let serves = |capacity: &CsiStorageCapacityFacts| {
        capacity.class == class.name
            && capacity.volume_max.or(capacity.capacity).is_some_and(|most| most >= size.units())
            && capacity.topology.as_ref().is_some_and(is_within)
    };
    !storage.capacities().any(serves)
}

/// Something that is given to a claim: the node, the claim's uid, and the volume.
type Gift<'a> = (&'a str, &'a str, Option<&'a str>);

/// Everything that is given to claims.
fn all_gifts<'a>(mounted: &'a Mounted<'_>) -> impl Iterator<Item = Gift<'a>> {
    let storage = mounted.ledger.storage();
    let known = storage
        .given()
        .flat_map(|given| given.all().map(|(_, uid, volume)| (&*given.node, uid, volume)));
    let uid = |key: &str| storage.claim(key).map_or("", |claim| &*claim.uid);
    let more = mounted.gifts.iter().flat_map(move |(node, gifts)| {
        gifts.iter().map(move |(claim, volume)| (&**node, uid(claim), volume.as_deref()))
    });
    known.chain(more)
}

/// The node for which a volume is to be made for a claim by others who are on their way.
fn chosen_node(mounted: &Mounted<'_>, claim: &VolumeClaimFacts) -> Option<Box<str>> {
    let mut gifts = all_gifts(mounted);
    let found = gifts.find(|(_, uid, volume)| **uid == *claim.uid && volume.is_none());
    found.map(|(node, ..)| node.into())
}

/// The volume a claim would get: one that is for it, or the smallest that will do.
fn find_volume<'a>(
    mounted: &'a Mounted<'_>,
    claim: &VolumeClaimFacts,
    node: &NodeFacts,
    taken: &Gifts,
) -> Option<&'a PersistentVolumeFacts> {
    let storage = mounted.ledger.storage();
    let is_taken = |name: &str| taken.iter().any(|(_, volume)| volume.as_deref() == Some(name));
    let suits = |volume: &&PersistentVolumeFacts| {
        volume.class == claim.class
            && volume.capacity >= claim.size.unwrap_or_default()
            && !volume.is_terminating
            && !is_taken(&volume.name)
    };
    let is_given = |name: &str, to: Option<&str>| {
        all_gifts(mounted)
            .any(|(_, uid, volume)| volume == Some(name) && to.is_none_or(|to| *uid == *to))
    };
    let is_own = |volume: &&PersistentVolumeFacts| {
        let says = volume.claim.as_ref().is_some_and(|it| it.uid == claim.uid);
        says || volume.claim.is_none() && is_given(&volume.name, Some(&claim.uid))
    };
    // Volumes are listed by name.
    if let Some(own) = storage.volumes().filter(suits).find(is_own) {
        return Some(own).filter(|volume| is_near(volume, node));
    }
    let is_free = |volume: &&PersistentVolumeFacts| {
        volume.claim.is_none()
            && volume.is_available
            && !is_given(&volume.name, None)
            && claim.modes.are_within(volume.modes)
            && is_near(volume, node)
    };
    let free = storage.volumes().filter(suits).filter(is_free);
    free.min_by(|one, other| (one.capacity, &one.name).cmp(&(other.capacity, &other.name)))
}
