//! What is known of storage, and what was given to claims for pods that are on their way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{
    Attempt, CsiDriverFacts, CsiNodeFacts, CsiStorageCapacityFacts, Event, Fact, Key, Kind, Millis,
    PersistentVolumeFacts, Present, StorageClassFacts, StorageFacts, StorageKind,
    VolumeAttachmentFacts, VolumeClaimFacts, Write,
};

use super::{Ledger, Spot};

/// A pod on its way to a node that needs something first, and what its claims were given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    pub(crate) uid: Box<str>,
    pub(crate) node: Box<str>,
    pub(crate) attempt: Attempt,
    /// Claims by namespace and name, each with the volume it gets, if that is there already.
    pub(crate) given: Vec<(Box<str>, Option<Box<str>>)>,
    /// The uid of each of these claims: one that comes back is another one.
    pub(crate) uids: Vec<Box<str>>,
    /// What is to be written.
    pub(crate) writes: Vec<Write>,
    /// Whether that is written.
    pub(crate) is_written: bool,
    /// The versions of what was written, each in the place of its write.
    pub(crate) versions: Box<[u64]>,
}

impl Given {
    /// Claims by namespace and name and by uid, each with its volume.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str, Option<&str>)> {
        let given = self.given.iter().zip(&self.uids);
        given.map(|((claim, volume), uid)| (&**claim, &**uid, volume.as_deref()))
    }
}

/// Objects of storage as they were last delivered.
#[derive(Default)]
pub(crate) struct Storage {
    objects: BTreeMap<StorageKind, BTreeMap<Box<str>, Arc<Event>>>,
    /// How long pods of which scheduler wait for volumes.
    timeouts: Vec<(String, Millis)>,
    /// By uid, with the number of their unit.
    given: BTreeMap<Box<str>, (u64, Given)>,
    /// Pods that went together.
    commits: BTreeMap<u64, BTreeSet<Box<str>>>,
    begun: u64,
    /// Pods whose volumes did not come in time, and which were not tried since.
    timed_out: BTreeSet<Box<str>>,
}

fn facts_of(event: &Event) -> Option<&StorageFacts> {
    if let Event::Seen(Fact::Storage(facts)) = event { Some(facts) } else { None }
}

impl Storage {
    fn of(&self, sort: StorageKind) -> impl Iterator<Item = &StorageFacts> {
        let all = self.objects.get(&sort).into_iter().flat_map(BTreeMap::values);
        all.filter_map(|event| facts_of(event))
    }

    fn named(&self, sort: StorageKind, name: &str) -> Option<&StorageFacts> {
        facts_of(self.objects.get(&sort)?.get(name)?)
    }

    pub(super) fn apply(&mut self, event: &Arc<Event>) {
        match &**event {
            Event::Seen(Fact::Storage(facts)) => {
                let all = self.objects.entry(facts.kind()).or_default();
                all.insert(facts.name(), event.clone());
            }
            Event::Gone(Key { kind: Kind::Storage(sort), name }) => {
                self.objects.entry(*sort).or_default().remove(name);
            }
            Event::Listed(Kind::Storage(sort), Present::Names(names)) => {
                let all = self.objects.entry(*sort).or_default();
                all.retain(|name, _| names.contains(name));
            }
            Event::Seen(_) | Event::Gone(_) | Event::Listed(..) | Event::Outcome(_) => {}
        }
    }

    pub(crate) fn volume(&self, name: &str) -> Option<&PersistentVolumeFacts> {
        let found = self.named(StorageKind::Volume, name)?;
        if let StorageFacts::Volume(facts) = found { Some(facts) } else { None }
    }

    /// By name.
    pub(crate) fn volumes(&self) -> impl Iterator<Item = &PersistentVolumeFacts> {
        self.of(StorageKind::Volume).filter_map(|found| {
            if let StorageFacts::Volume(facts) = found { Some(facts) } else { None }
        })
    }

    pub(crate) fn claim(&self, key: &str) -> Option<&VolumeClaimFacts> {
        let found = self.named(StorageKind::Claim, key)?;
        if let StorageFacts::Claim(facts) = found { Some(facts) } else { None }
    }

    pub(crate) fn class(&self, name: &str) -> Option<&StorageClassFacts> {
        let found = self.named(StorageKind::Class, name)?;
        if let StorageFacts::Class(facts) = found { Some(facts) } else { None }
    }

    pub(crate) fn csi_node(&self, name: &str) -> Option<&CsiNodeFacts> {
        let found = self.named(StorageKind::CsiNode, name)?;
        if let StorageFacts::CsiNode(facts) = found { Some(facts) } else { None }
    }

    pub(crate) fn csi_driver(&self, name: &str) -> Option<&CsiDriverFacts> {
        let found = self.named(StorageKind::CsiDriver, name)?;
        if let StorageFacts::CsiDriver(facts) = found { Some(facts) } else { None }
    }

    pub(crate) fn capacities(&self) -> impl Iterator<Item = &CsiStorageCapacityFacts> {
        self.of(StorageKind::Capacity).filter_map(|found| {
            if let StorageFacts::Capacity(facts) = found { Some(facts) } else { None }
        })
    }

    pub(crate) fn attachments(&self) -> impl Iterator<Item = &VolumeAttachmentFacts> {
        self.of(StorageKind::Attachment).filter_map(|found| {
            if let StorageFacts::Attachment(facts) = found { Some(facts) } else { None }
        })
    }

    /// How long pods of a scheduler wait for volumes.
    pub(crate) fn timeout(&self, scheduler: &str) -> Option<Millis> {
        let found = self.timeouts.iter().find(|(name, _)| name == scheduler);
        found.map(|(_, timeout)| *timeout)
    }

    /// Units on their way: their numbers and their pods.
    pub(crate) fn commits(&self) -> impl Iterator<Item = (u64, Vec<&Given>)> {
        self.commits.iter().map(|(number, uids)| {
            (*number, uids.iter().filter_map(|uid| self.given_of(uid)).collect())
        })
    }

    /// Pods whose volumes did not come in time, and which were not tried since.
    pub(crate) fn timed_out(&self) -> impl Iterator<Item = &str> {
        self.timed_out.iter().map(|uid| &**uid)
    }

    /// Pods on their way.
    pub(crate) fn given(&self) -> impl Iterator<Item = &Given> {
        self.given.values().map(|(_, given)| given)
    }

    /// A pod on its way.
    pub(crate) fn given_of(&self, uid: &str) -> Option<&Given> {
        self.given.get(uid).map(|(_, given)| given)
    }

    /// The pods that a pod went with, itself included.
    pub(crate) fn together(&self, uid: &str) -> impl Iterator<Item = &str> {
        let commit = self.given.get(uid).and_then(|(commit, _)| self.commits.get(commit));
        commit.into_iter().flatten().map(|uid| &**uid)
    }
}

impl Ledger {
    pub(crate) fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Whether a pod is on its way and needs something first.
    pub(crate) fn is_given(&self, uid: &str) -> bool {
        self.storage.given.contains_key(uid)
    }

    /// Takes in what is given for a pod that is on its way.
    pub(crate) fn give(&mut self, given: &Given) {
        let commit = self.storage.begun;
        self.storage.given.insert(given.uid.clone(), (commit, given.clone()));
        self.tried(&given.uid);
    }

    /// Sets how long pods of which scheduler wait for volumes.
    pub(crate) fn expect_timeouts(&mut self, timeouts: Vec<(String, Millis)>) {
        self.storage.timeouts = timeouts;
    }

    /// Takes in that the volumes of a pod did not come in time.
    pub(crate) fn timed_out(&mut self, uid: &str) {
        self.storage.timed_out.insert(uid.into());
    }

    /// Takes in that a pod was tried, or is gone.
    pub(super) fn tried(&mut self, uid: &str) {
        self.storage.timed_out.remove(uid);
    }

    /// Takes in that these are all pods that go together.
    pub(crate) fn begin_commit(&mut self, uids: &[Box<str>]) {
        let commit = self.storage.begun;
        self.storage.commits.insert(commit, uids.iter().cloned().collect());
        self.storage.begun += 1;
    }

    /// Takes in that a pod needs nothing any more: it is on a node, or bound to one.
    pub(crate) fn ungive(&mut self, uid: &str) {
        let Some((commit, _)) = self.storage.given.remove(uid) else { return };
        if let Some(pods) = self.storage.commits.get_mut(&commit) {
            pods.remove(uid);
            if pods.is_empty() {
                self.storage.commits.remove(&commit);
            }
        }
    }

    /// Takes in that a pod, and whoever went with it, is not on its way any more.
    pub(crate) fn take_back(&mut self, uid: &str) {
        let Some((commit, _)) = self.storage.given.get(uid) else { return };
        let pods = self.storage.commits.remove(commit).unwrap_or_default();
        for uid in pods {
            let Some((_, given)) = self.storage.given.remove(&uid) else { continue };
            self.refused(&uid, given.attempt);
            self.propose(&uid, None);
        }
    }

    /// Takes back pods of which one is being deleted, as far as they are not on their way any more.
    pub(crate) fn drop_leaving(&mut self, is_on_its_way: impl Fn(&str) -> bool) {
        let leaves =
            |uid: &str| self.pods.get(uid).is_some_and(|one| one.facts().rest.is_terminating);
        let given = self.storage.given.keys().filter(|uid| !is_on_its_way(uid));
        let dropped = given.filter(|uid| self.storage.together(uid).any(leaves));
        let dropped: Vec<Box<str>> = dropped.cloned().collect();
        dropped.iter().for_each(|uid| self.take_back(uid));
    }

    /// A pod is gone: those who went with it do not go without it.
    pub(super) fn leave_commit(&mut self, uid: &str) {
        let others: Vec<Box<str>> = self.storage.together(uid).map(Into::into).collect();
        self.ungive(uid);
        let other = others.into_iter().find(|other| **other != *uid);
        other.into_iter().for_each(|other| self.take_back(&other));
    }

    /// What a pod needs is written.
    pub(super) fn prepared(&mut self, uid: &str, attempt: Attempt, versions: &[u64]) {
        let given = self.storage.given.get_mut(uid).map(|(_, given)| given);
        if let Some(given) = given.filter(|given| given.attempt == attempt) {
            (given.is_written, given.versions) = (true, versions.into());
        }
    }

    pub(super) fn prepare_refused(&mut self, uid: &str, attempt: Attempt) {
        let is_it =
            |known: &super::Known| matches!(&known.spot, Spot::Assumed(_, it) if *it == attempt);
        if self.pods.get(uid).is_some_and(is_it) {
            self.take_back(uid);
        }
    }
}
