//! What is known of storage, and what was given to claims for pods that are on their way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{
    Attempt, CsiNodeFacts, Event, Fact, Key, Kind, PersistentVolumeFacts, Present,
    StorageClassFacts, StorageFacts, StorageKind, VolumeClaimFacts, Write,
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
    /// What is to be written.
    pub(crate) writes: Vec<Write>,
    /// Whether that is written.
    pub(crate) is_written: bool,
}

/// Objects of storage as they were last delivered.
#[derive(Default)]
pub(crate) struct Storage {
    volumes: BTreeMap<Box<str>, Arc<Event>>,
    claims: BTreeMap<Box<str>, Arc<Event>>,
    classes: BTreeMap<Box<str>, Arc<Event>>,
    csi_nodes: BTreeMap<Box<str>, Arc<Event>>,
    /// By uid, with the number of their unit.
    given: BTreeMap<Box<str>, (u64, Given)>,
    /// Pods that went together.
    commits: BTreeMap<u64, BTreeSet<Box<str>>>,
    begun: u64,
}

fn facts_of(event: &Event) -> Option<&StorageFacts> {
    if let Event::Seen(Fact::Storage(facts)) = event { Some(facts) } else { None }
}

impl Storage {
    fn of(&mut self, sort: StorageKind) -> Option<&mut BTreeMap<Box<str>, Arc<Event>>> {
        match sort {
            StorageKind::Volume => Some(&mut self.volumes),
            StorageKind::Claim => Some(&mut self.claims),
            StorageKind::Class => Some(&mut self.classes),
            StorageKind::CsiNode => Some(&mut self.csi_nodes),
            StorageKind::CsiDriver | StorageKind::Capacity | StorageKind::Attachment => None,
        }
    }

    pub(super) fn apply(&mut self, event: &Arc<Event>) {
        match &**event {
            Event::Seen(Fact::Storage(facts)) => {
                let name = facts.name();
                let all = self.of(facts.kind());
                all.into_iter().for_each(|all| _ = all.insert(name.clone(), event.clone()));
            }
            Event::Gone(Key { kind: Kind::Storage(sort), name }) => {
                self.of(*sort).into_iter().for_each(|all| _ = all.remove(name));
            }
            Event::Listed(Kind::Storage(sort), Present::Names(names)) => {
                let all = self.of(*sort);
                all.into_iter().for_each(|all| all.retain(|name, _| names.contains(name)));
            }
            Event::Seen(_) | Event::Gone(_) | Event::Listed(..) | Event::Outcome(_) => {}
        }
    }

    pub(crate) fn volume(&self, name: &str) -> Option<&PersistentVolumeFacts> {
        let StorageFacts::Volume(facts) = facts_of(self.volumes.get(name)?)? else { return None };
        Some(facts)
    }

    pub(crate) fn volumes(&self) -> impl Iterator<Item = &PersistentVolumeFacts> {
        self.volumes.keys().filter_map(|name| self.volume(name))
    }

    pub(crate) fn claim(&self, key: &str) -> Option<&VolumeClaimFacts> {
        let StorageFacts::Claim(facts) = facts_of(self.claims.get(key)?)? else { return None };
        Some(facts)
    }

    pub(crate) fn class(&self, name: &str) -> Option<&StorageClassFacts> {
        let StorageFacts::Class(facts) = facts_of(self.classes.get(name)?)? else { return None };
        Some(facts)
    }

    pub(crate) fn csi_node(&self, name: &str) -> Option<&CsiNodeFacts> {
        let StorageFacts::CsiNode(facts) = facts_of(self.csi_nodes.get(name)?)? else {
            return None;
        };
        Some(facts)
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
    pub(super) fn prepared(&mut self, uid: &str, attempt: Attempt) {
        let given = self.storage.given.get_mut(uid).map(|(_, given)| given);
        given.filter(|it| it.attempt == attempt).into_iter().for_each(|it| it.is_written = true);
    }

    pub(super) fn prepare_refused(&mut self, uid: &str, attempt: Attempt) {
        let is_it =
            |known: &super::Known| matches!(&known.spot, Spot::Assumed(_, it) if *it == attempt);
        if self.pods.get(uid).is_some_and(is_it) {
            self.take_back(uid);
        }
    }
}
