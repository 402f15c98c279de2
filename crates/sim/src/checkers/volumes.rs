//! Volumes, held against the plain rules: what keeps pods with claims from nodes, what may be given
//! to whom, and when a pod may be bound.
//!
//! Written down a second time: every claim and every volume is looked at for every question.

use std::collections::BTreeSet;

use engine::Scheduler;
use model::{
    AccessModes, Attempt, BindingMode, NodeFacts, PersistentVolumeFacts, PodFacts, PodVolume,
    VolumeClaimFacts, VolumeSource, Write, claim_key,
};

use super::Violation;
use super::ledger::{Given, Ledger, Spot, Storage};
use super::rules::{self, Objection};

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
    if is_in_use(mounted, pod) {
        return no("VolumeClaimInUse");
    }
    if is_too_many(mounted, pod, node) {
        return no("VolumeLimitExceeded");
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
    let gifts = gifts(mounted, &open, node);
    if gifts.is_none() {
        words.push("VolumeBindingConflict");
    }
    match gifts.filter(|_| words.is_empty()) {
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

/// Whether a node would have more volumes of a driver than it can.
fn is_too_many(mounted: &Mounted<'_>, pod: &PodFacts, node: &NodeFacts) -> bool {
    let storage = mounted.ledger.storage();
    let Some(csi_node) = storage.csi_node(&node.name) else { return false };
    let counted = |pod: &PodFacts| -> BTreeSet<(Box<str>, Box<str>)> {
        claims(pod).filter_map(|(_, key)| counts_as(storage, &key)).collect()
    };
    let there: BTreeSet<_> = mounted.here.iter().flat_map(|pod| counted(pod)).collect();
    let more: Vec<_> = counted(pod).into_iter().filter(|one| !there.contains(one)).collect();
    csi_node.drivers.iter().any(|(driver, limit)| {
        let of = |one: &&(Box<str>, Box<str>)| one.0 == *driver;
        let (there, more) = (there.iter().filter(of).count(), more.iter().filter(of).count());
        let limit = limit.map(|limit| usize::try_from(limit).unwrap_or(0));
        more > 0 && limit.is_some_and(|limit| there + more > limit)
    })
}

/// The driver that counts the volume of a claim, and what it knows the volume by.
fn counts_as(storage: &Storage, key: &str) -> Option<(Box<str>, Box<str>)> {
    let claim = storage.claim(key)?;
    if let Some(volume) = storage.volume(&claim.volume) {
        return match &volume.source {
            VolumeSource::Csi(csi) => Some((csi.driver.clone(), csi.handle.clone())),
            VolumeSource::Other | VolumeSource::InTree(_) => None,
        };
    }
    let class = storage.class(&claim.class)?;
    Some((class.provisioner.clone(), format!("for {key}").into()))
}

/// Whether a node can use a volume.
fn is_near(volume: &PersistentVolumeFacts, node: &NodeFacts) -> bool {
    let terms = volume.affinity.as_ref();
    terms.is_none_or(|terms| terms.iter().any(|term| rules::matches(term, node)))
}

/// What claims without volumes would get on a node, if all get something.
fn gifts(mounted: &Mounted<'_>, open: &[&VolumeClaimFacts], node: &NodeFacts) -> Option<Gifts> {
    let storage = mounted.ledger.storage();
    let mut gifts = Gifts::new();
    let mut to_make = Vec::new();
    let mut to_find = Vec::new();
    for claim in open {
        let chosen = chosen_node(mounted, &claim.key());
        match chosen.as_deref().or(claim.selected_node.as_deref()) {
            Some(chosen) if *chosen != *node.name => return None,
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
        let class = storage.class(&claim.class)?;
        if *class.provisioner == *NOBODY {
            return None;
        }
        gifts.push((claim.key(), None));
    }
    Some(gifts)
}

/// Everything that is given to claims, with the node.
fn all_gifts<'a>(
    mounted: &'a Mounted<'_>,
) -> impl Iterator<Item = (&'a str, &'a Box<str>, &'a Option<Box<str>>)> {
    let known =
        mounted.ledger.storage().given().flat_map(|given| {
            given.given.iter().map(|(claim, volume)| (&*given.node, claim, volume))
        });
    let more = mounted
        .gifts
        .iter()
        .flat_map(|(node, gifts)| gifts.iter().map(|(claim, volume)| (&**node, claim, volume)));
    known.chain(more)
}

/// The node for which a volume is to be made for a claim by others who are on their way.
fn chosen_node(mounted: &Mounted<'_>, key: &str) -> Option<Box<str>> {
    let mut gifts = all_gifts(mounted);
    let found = gifts.find(|(_, claim, volume)| ***claim == *key && volume.is_none());
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
    let key = claim.key();
    let is_taken = |name: &str| taken.iter().any(|(_, volume)| volume.as_deref() == Some(name));
    let suits = |volume: &&PersistentVolumeFacts| {
        volume.class == claim.class
            && volume.capacity >= claim.size.unwrap_or_default()
            && !volume.is_terminating
            && !is_taken(&volume.name)
    };
    let is_given = |name: &str, to: Option<&str>| {
        all_gifts(mounted).any(|(_, claim, volume)| {
            volume.as_deref() == Some(name) && to.is_none_or(|to| **claim == *to)
        })
    };
    let is_own = |volume: &&PersistentVolumeFacts| {
        let says = volume.claim.as_ref().is_some_and(|it| it.uid == claim.uid);
        says || is_given(&volume.name, Some(&key))
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

// === What is given ===

fn wrong(ledger: &Ledger, uid: &str, why: String) -> Violation {
    let name = ledger.pod(uid).map_or(uid, |known| &known.facts().key.name);
    Violation::Volume { pod: name.to_owned(), why }
}

/// Checks what is given to the claims of a pod that is sent on its way, before anything is written.
pub(crate) fn check_given(ledger: &Ledger, given: &Given) -> Result<(), Violation> {
    let wrong = |why: String| Err(wrong(ledger, &given.uid, why));
    let known = ledger.pod(&given.uid);
    let known = known.ok_or_else(|| Violation::Unknown { name: format!("pod {}", given.uid) })?;
    let found = ledger.node(&given.node);
    let unknown = || Violation::Unknown { name: format!("node {}", given.node) };
    let (node, _) = found.ok_or_else(unknown)?;
    let storage = ledger.storage();
    for (_, key) in claims(known.facts()) {
        let Some(claim) = storage.claim(&key) else {
            return wrong(format!("claim {key} is not there"));
        };
        let is_given = given.given.iter().any(|(claim, _)| *claim == key);
        if is_given == is_bound(claim) {
            return wrong(format!("claim {key} is bound: {}, given: {is_given}", is_bound(claim)));
        }
    }
    for (key, volume) in &given.given {
        let Some(claim) = storage.claim(key) else {
            return wrong(format!("claim {key} is not there"));
        };
        let why = match volume {
            Some(name) => not_to_give(ledger, claim, name, node),
            None => not_to_make(ledger, claim, node),
        };
        if let Some(why) = why {
            return wrong(format!("claim {key} is given {volume:?} on {}: {why}", node.name));
        }
        let write = given.writes.iter().find(|write| is_about(write, claim, volume.as_deref()));
        if let Some(why) = write_fault(storage, claim, volume.as_deref(), write, node) {
            return wrong(format!("claim {key}, volume {volume:?}: {why}"));
        }
    }
    if given.writes.len() > given.given.len() {
        return wrong("more is written than was given".to_owned());
    }
    Ok(())
}

fn is_about(write: &Write, claim: &VolumeClaimFacts, name: Option<&str>) -> bool {
    match write {
        Write::BindVolume { volume, claim: to, .. } => {
            Some(&**volume) == name && to.uid == claim.uid
        }
        Write::SelectNode { claim: to, .. } => name.is_none() && to.uid == claim.uid,
    }
}

/// What is wrong with a write, or with that there is none.
fn write_fault(
    storage: &Storage,
    claim: &VolumeClaimFacts,
    volume: Option<&str>,
    write: Option<&Write>,
    node: &NodeFacts,
) -> Option<&'static str> {
    let is_said = match volume {
        Some(name) => {
            let to = storage.volume(name).and_then(|volume| volume.claim.as_ref());
            to.is_some_and(|to| to.uid == claim.uid)
        }
        None => claim.selected_node.as_deref() == Some(&*node.name),
    };
    match write {
        None => (!is_said).then_some("nothing is written, and the object does not say so"),
        Some(_) if is_said => Some("the object says so already"),
        Some(Write::BindVolume { volume, uid, version, .. }) => {
            let known = storage.volume(volume);
            let is_right = known.is_some_and(|it| it.uid == *uid && it.version == *version);
            (!is_right).then_some("the write is about another state of the volume")
        }
        Some(Write::SelectNode { version, node: name, .. }) => {
            let is_right = claim.version == *version && **name == *node.name;
            (!is_right).then_some("the write is about another state of the claim, or another node")
        }
    }
}

/// Why a volume must not be given to a claim.
fn not_to_give(
    ledger: &Ledger,
    claim: &VolumeClaimFacts,
    name: &str,
    node: &NodeFacts,
) -> Option<&'static str> {
    let storage = ledger.storage();
    let Some(volume) = storage.volume(name) else { return Some("it is not there") };
    let key = claim.key();
    let is_others = storage.given().any(|given| {
        let mut all = given.given.iter();
        all.any(|(other, volume)| *other != key && volume.as_deref() == Some(name))
    });
    // A claim of the same name that is gone should count as another one, but does not: what is
    // given is kept by the names of claims.
    let is_claimed = volume.claim.as_ref().is_some_and(|to| to.key() != key);
    let faults = [
        // What the API server says counts: the other one is refused.
        (is_others && volume.claim.is_none(), "it is given to another claim"),
        (is_claimed, "it is for another claim"),
        (volume.class != claim.class, "it is of another class"),
        (volume.capacity < claim.size.unwrap_or_default(), "it is too small"),
        (!claim.modes.are_within(volume.modes), "it cannot be mounted so"),
        (!is_near(volume, node), "the node cannot use it"),
        (volume.claim.is_none() && !volume.is_available, "it is not available"),
    ];
    faults.into_iter().find(|(is_so, _)| *is_so).map(|(_, why)| why)
}

/// Why no volume may be made for a claim on a node.
fn not_to_make(
    ledger: &Ledger,
    claim: &VolumeClaimFacts,
    node: &NodeFacts,
) -> Option<&'static str> {
    let storage = ledger.storage();
    let class = storage.class(&claim.class);
    let Some(class) = class.filter(|class| *class.provisioner != *NOBODY) else {
        return Some("nobody makes volumes of its class");
    };
    let elsewhere = storage.given().any(|given| {
        let mut all = given.given.iter();
        *given.node != *node.name
            && all.any(|(other, volume)| *other == claim.key() && volume.is_none())
    });
    let is_chosen = claim.selected_node.as_deref().is_some_and(|name| *name != *node.name);
    let is_delayed = class.mode == Some(BindingMode::WaitForFirstConsumer);
    let faults = [
        (elsewhere, "it is to be made for another node"),
        (is_chosen, "another node is chosen"),
        (!is_delayed, "its class does not wait for pods"),
    ];
    faults.into_iter().find(|(is_so, _)| *is_so).map(|(_, why)| why)
}

/// Checks that pods which went together are bound together.
pub(crate) fn check_commits(ledger: &Ledger, bound: &[Box<str>]) -> Result<(), Violation> {
    for uid in bound {
        let mut together = ledger.storage().together(uid);
        if let Some(other) = together.find(|other| !bound.iter().any(|uid| **uid == **other)) {
            return Err(wrong(ledger, uid, format!("it is bound without {other}")));
        }
    }
    Ok(())
}

/// Checks that a pod which was on its way has all it needs when it is bound.
pub(crate) fn check_prepared(
    ledger: &Ledger,
    uid: &str,
    name: &str,
    attempt: Attempt,
) -> Result<(), Violation> {
    let wrong = |why: String| Err(wrong(ledger, uid, why));
    let storage = ledger.storage();
    let given = storage.given_of(uid);
    let Some(given) = given else { return wrong("it was not on its way".to_owned()) };
    let spot = ledger.pod(uid).map(|known| &known.spot);
    if *given.node != *name || spot != Some(&Spot::Assumed(name.into(), attempt)) {
        return wrong(format!("it is bound to {name}, and was on its way to {}", given.node));
    }
    if !given.is_written {
        return wrong("it is bound before what it needs was written".to_owned());
    }
    let Some((node, _)) = ledger.node(name) else {
        return wrong(format!("node {name} is gone"));
    };
    for (key, _) in &given.given {
        let Some(claim) = storage.claim(key) else {
            return wrong(format!("claim {key} is gone"));
        };
        if !is_bound(claim) {
            return wrong(format!("claim {key} has no volume yet"));
        }
        let volume = storage.volume(&claim.volume);
        if !volume.is_some_and(|volume| is_near(volume, node)) {
            return wrong(format!("node {name} cannot use {} of claim {key}", claim.volume));
        }
    }
    Ok(())
}

/// What the scheduler keeps as given is what was given to pods that are on their way.
pub(super) fn check_assigned(ledger: &Ledger, scheduler: &Scheduler) -> Result<(), Violation> {
    let assigned = scheduler.usage().assigned();
    let storage = ledger.storage();
    if assigned.is_empty() && storage.given().next().is_none() {
        return Ok(());
    }
    let catalog = scheduler.catalog();
    for pod in catalog.pods() {
        let uid = &catalog.pod(pod).key.uid;
        let given = storage.given_of(uid);
        let kept = assigned.of(pod).map(|(node, given)| (catalog.node_name(node), given));
        let is_same = match (given.filter(|it| !it.given.is_empty()), kept) {
            (None, None) => true,
            (Some(given), Some((node, kept))) => {
                let mut both = given.given.iter().zip(kept);
                *given.node == *node
                    && given.given.len() == kept.len()
                    && both.all(|((claim, volume), it)| it.claim == *claim && it.volume == *volume)
            }
            (Some(_), None) | (None, Some(_)) => false,
        };
        if !is_same {
            let why = format!("{kept:?} is kept as given, and it was {given:?}");
            return Err(wrong(ledger, uid, why));
        }
    }
    Ok(())
}
