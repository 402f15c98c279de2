//! What is given to the claims of pods that are on their way, and when such pods may be bound.

use engine::Scheduler;
use model::{Attempt, BindingMode, NodeFacts, VolumeClaimFacts, Write};

use super::super::Violation;
use super::super::ledger::{Given, Ledger, Spot, Storage};
use super::{NOBODY, claims, is_allowed, is_bound, is_near, is_short};

pub(super) fn wrong(ledger: &Ledger, uid: &str, why: String) -> Violation {
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
        let is_twice = |name| given.all().filter(|(.., volume)| *volume == Some(name)).count() > 1;
        let why = match volume.as_deref() {
            Some(name) if is_twice(name) => Some("it is given to another claim of the pod"),
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
    let is_others = storage.given().any(|given| {
        given.all().any(|(_, uid, volume)| *uid != *claim.uid && volume == Some(name))
    });
    let is_claimed = volume.claim.as_ref().is_some_and(|to| to.uid != claim.uid);
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
        let is_made =
            |(_, uid, volume): (&str, &str, Option<&str>)| *uid == *claim.uid && volume.is_none();
        *given.node != *node.name && given.all().any(is_made)
    });
    let is_chosen = claim.selected_node.as_deref().is_some_and(|name| *name != *node.name);
    let is_delayed = class.mode == Some(BindingMode::WaitForFirstConsumer);
    let faults = [
        (elsewhere, "it is to be made for another node"),
        (is_chosen, "another node is chosen"),
        (!is_delayed, "its class does not wait for pods"),
        (!is_allowed(class, node), "its class does not allow the node"),
        (is_short(storage, claim, class, node), "too little storage is left for the node"),
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

/// What a scheduler keeps as given.
pub(crate) struct Kept {
    /// Pods by uid, each with its node and what was given for it.
    pub(crate) pods: Vec<KeptPod>,
    /// For how many pods more, of which it knows nothing.
    pub(crate) strangers: usize,
}

/// What is kept as given for a pod: its uid, its node, and claims with their volumes.
pub(crate) type KeptPod = (Box<str>, Box<str>, Vec<(Box<str>, Option<Box<str>>)>);

impl Kept {
    /// Asks a scheduler.
    pub(crate) fn of(scheduler: &Scheduler) -> Self {
        let (assigned, catalog) = (scheduler.usage().assigned(), scheduler.catalog());
        if assigned.is_empty() {
            return Self { pods: Vec::new(), strangers: 0 };
        }
        let pods = catalog.pods().filter_map(|pod| {
            let (node, given) = assigned.of(pod)?;
            let given = given.iter().map(|it| (it.claim.clone(), it.volume.clone())).collect();
            Some((catalog.pod(pod).key.uid.clone(), catalog.node_name(node).into(), given))
        });
        let pods: Vec<KeptPod> = pods.collect();
        let strangers = assigned.len() - pods.len();
        Self { pods, strangers }
    }

    /// What is kept as given is what was given to pods that are on their way, and nothing else.
    pub(in crate::checkers) fn check(&self, ledger: &Ledger) -> Result<(), Violation> {
        let storage = ledger.storage();
        for (uid, node, kept) in &self.pods {
            let given = storage.given_of(uid);
            if !given.is_some_and(|given| given.node == *node && given.given == *kept) {
                let why = format!("{kept:?} is kept as given on {node}, and it was {given:?}");
                return Err(wrong(ledger, uid, why));
            }
        }
        for given in storage.given().filter(|given| !given.given.is_empty()) {
            if !self.pods.iter().any(|(uid, ..)| *uid == given.uid) {
                let why = format!("nothing is kept as given, and it was {given:?}");
                return Err(wrong(ledger, &given.uid, why));
            }
        }
        if self.strangers > 0 {
            let (pod, state) = (format!("{} pods", self.strangers), "something is given to them");
            return Err(Violation::Lost { pod, state: state.to_owned() });
        }
        Ok(())
    }
}
