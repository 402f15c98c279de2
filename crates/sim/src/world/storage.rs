//! Storage as an API server has it: every object has a version, and a write is about one of them.
//!
//! What becomes of claims is the business of two controllers (`controllers`), which take their
//! time. Chance has dice of its own here, so that a world without storage is what it was.

mod cluster;
mod controllers;
mod mounts;
mod objects;

use std::collections::{BTreeMap, BTreeSet};

use model::{
    ClaimRef, CsiNodeFacts, Fact, Key, Kind, Millis, PersistentVolumeFacts, StorageClassFacts,
    StorageFacts, StorageKind, VolumeClaimFacts, Write,
};

use super::World;
use super::happenings::Happening;
use super::records::{Phase, PodAt};
use crate::dice::{Dice, Stream};
use crate::plan::{ClaimPlan, StoragePlan};

/// How long until it is looked again whether a claim is still in use.
const IN_USE: Millis = Millis(2_000);

/// Something about storage that happens by itself.
#[derive(Clone, Copy, Debug)]
pub(super) enum StorageHappening {
    /// A class of the plan is made.
    ClassMade(usize),
    /// A volume of the plan is made.
    VolumeMade(usize),
    /// What drivers say of a node is made.
    CsiNodeMade(usize),
    /// Another object of the plan comes, changes or goes.
    ObjectChanges(usize),
    /// A claim of the plan comes, or goes.
    ClaimChanges(usize, bool),
    /// The claims of a pod's own are made.
    OwnClaimsMade(PodAt),
    /// The claims of a pod's own are deleted.
    OwnClaimsGo(PodAt),
    /// A claim that is being deleted is gone, unless somebody uses it.
    ClaimGoes(u64),
    /// The controller looks at a claim.
    Reviewed(u64),
    /// Whoever makes volumes looks at a claim.
    Provisioned(u64),
    /// A volume whose claim is gone is for anybody, or is gone as well.
    Reclaimed(u64),
    /// The volumes of a pod that is over are detached.
    Detached(PodAt),
}

impl StorageHappening {
    /// Whether it goes on when the world has calmed down.
    pub(super) fn goes_on(self) -> bool {
        match self {
            Self::OwnClaimsMade(_)
            | Self::OwnClaimsGo(_)
            | Self::ClaimGoes(_)
            | Self::Reviewed(_)
            | Self::Provisioned(_)
            | Self::Reclaimed(_)
            | Self::Detached(_) => true,
            Self::ClassMade(_)
            | Self::VolumeMade(_)
            | Self::CsiNodeMade(_)
            | Self::ObjectChanges(_)
            | Self::ClaimChanges(..) => false,
        }
    }
}

/// What the API server says to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// It is written, and this is the version.
    Done(u64),
    /// 409: the object is in another state, or is another one.
    Conflict,
    /// 404: there is no such object.
    NotFound,
}

/// What a read finds of something that was to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// The object says so, in this version.
    So(u64),
    Otherwise,
    Gone,
}

/// All objects. Volumes and claims also have numbers, by which happenings know them.
pub(super) struct Storage {
    dice: Dice,
    plan: StoragePlan,
    versions: u64,
    volumes: BTreeMap<u64, PersistentVolumeFacts>,
    claims: BTreeMap<u64, VolumeClaimFacts>,
    classes: BTreeMap<Box<str>, StorageClassFacts>,
    csi_nodes: BTreeMap<Box<str>, CsiNodeFacts>,
    /// Drivers, what is left of storage, and attachments, by name.
    objects: BTreeMap<(StorageKind, Box<str>), StorageFacts>,
    /// Claims that nobody looks at for long, whatever happens.
    stubborn: BTreeSet<u64>,
    numbers: u64,
}

impl Storage {
    pub(super) fn new(seed: u64, plan: StoragePlan) -> Self {
        Self {
            dice: Dice::new(seed, Stream::Storage),
            plan,
            versions: 0,
            volumes: BTreeMap::new(),
            claims: BTreeMap::new(),
            classes: BTreeMap::new(),
            csi_nodes: BTreeMap::new(),
            objects: BTreeMap::new(),
            stubborn: BTreeSet::new(),
            numbers: 0,
        }
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn draw(&mut self, (low, high): (Millis, Millis)) -> Millis {
        Millis(self.dice.between(low.0, high.0))
    }

    fn volume_named(&self, name: &str) -> Option<u64> {
        self.volumes.iter().find(|(_, volume)| *volume.name == *name).map(|(number, _)| *number)
    }

    fn claim_named(&self, key: &str) -> Option<u64> {
        let (namespace, name) = key.split_once('/')?;
        let is_it =
            |claim: &VolumeClaimFacts| *claim.name == *name && *claim.namespace == *namespace;
        self.claims.iter().find(|(_, claim)| is_it(claim)).map(|(number, _)| *number)
    }

    fn claim_with(&self, uid: &str) -> Option<u64> {
        self.claims.iter().find(|(_, claim)| *claim.uid == *uid).map(|(number, _)| *number)
    }
}

// === Objects ===

impl World {
    pub(super) fn expect_storage(&mut self) {
        let plan = &self.storage.plan;
        let classes = plan.classes.iter().enumerate();
        let mut all: Vec<_> =
            classes.map(|(at, (time, _))| (*time, StorageHappening::ClassMade(at))).collect();
        let volumes = plan.volumes.iter().enumerate();
        all.extend(volumes.map(|(at, (time, _))| (*time, StorageHappening::VolumeMade(at))));
        let csi_nodes = plan.csi_nodes.iter().enumerate();
        all.extend(csi_nodes.map(|(at, (time, _))| (*time, StorageHappening::CsiNodeMade(at))));
        let objects = plan.objects.iter().enumerate();
        all.extend(objects.map(|(at, (time, _))| (*time, StorageHappening::ObjectChanges(at))));
        for (at, ClaimPlan { times, .. }) in plan.claims.iter().enumerate() {
            let times = times.iter().enumerate();
            all.extend(times.map(|(turn, time)| {
                (*time, StorageHappening::ClaimChanges(at, turn.is_multiple_of(2)))
            }));
        }
        for (time, happening) in all {
            self.agenda.add(time, Happening::Storage(happening));
        }
    }

    pub(super) fn storage_happens(&mut self, happening: StorageHappening) {
        match happening {
            StorageHappening::ClassMade(at) => {
                let facts = self.storage.plan.classes[at].1.clone();
                self.storage.classes.insert(facts.name.clone(), facts.clone());
                self.publish(StorageFacts::Class(facts));
            }
            StorageHappening::VolumeMade(at) => {
                let facts = self.storage.plan.volumes[at].1.clone();
                self.make_volume(facts);
            }
            StorageHappening::CsiNodeMade(at) => {
                let facts = self.storage.plan.csi_nodes[at].1.clone();
                self.storage.csi_nodes.insert(facts.name.clone(), facts.clone());
                self.publish(StorageFacts::CsiNode(facts));
            }
            StorageHappening::ObjectChanges(at) => self.object_changes(at),
            StorageHappening::ClaimChanges(at, is_there) => self.claim_changes(at, is_there),
            StorageHappening::OwnClaimsMade(pod) => self.make_own_claims(pod),
            StorageHappening::OwnClaimsGo(pod) => self.own_claims_go(pod),
            StorageHappening::ClaimGoes(claim) => self.claim_goes(claim),
            StorageHappening::Reviewed(claim) => self.review_claim(claim),
            StorageHappening::Provisioned(claim) => self.provision(claim),
            StorageHappening::Reclaimed(volume) => self.reclaim(volume),
            StorageHappening::Detached(pod) => self.detach(pod),
        }
    }

    fn storage_later(&mut self, span: (Millis, Millis), happening: StorageHappening) {
        let at = self.now + self.storage.draw(span);
        self.agenda.add(at, Happening::Storage(happening));
    }

    fn make_volume(&mut self, facts: PersistentVolumeFacts) -> u64 {
        let number = self.storage.number();
        let uid = own_uid(&facts.uid, || format!("volume-{number}"));
        self.storage.volumes.insert(number, PersistentVolumeFacts { uid, ..facts });
        self.publish_volume(number);
        number
    }

    fn make_claim(&mut self, facts: VolumeClaimFacts) {
        let number = self.storage.number();
        let uid = own_uid(&facts.uid, || format!("claim-{number}"));
        self.storage.claims.insert(number, VolumeClaimFacts { uid, ..facts });
        self.publish_claim(number);
        if self.storage.plan.cluster.is_some() {
            self.begin_claim(number);
        } else if self.storage.is_immediate(number) {
            let span = self.storage.plan.controller;
            self.storage_later(span, StorageHappening::Reviewed(number));
        }
    }

    fn claim_changes(&mut self, at: usize, is_there: bool) {
        let facts = self.storage.plan.claims[at].facts.clone();
        match (is_there, self.storage.claim_named(&facts.key())) {
            (true, None) => self.make_claim(facts),
            (false, Some(claim)) => self.delete_claim(claim),
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// Begins to delete a claim: it is gone once no pod on a node uses it.
    fn delete_claim(&mut self, claim: u64) {
        if let Some(facts) = self.storage.claims.get_mut(&claim) {
            facts.is_terminating = true;
            self.publish_claim(claim);
            self.claim_goes(claim);
        }
    }

    fn claim_goes(&mut self, claim: u64) {
        let Some(facts) = self.storage.claims.get(&claim) else { return };
        let key = facts.key();
        let is_user = |pod: usize| {
            matches!(self.pods[pod].phase, Phase::Running(_))
                && !self.jobs[self.pods[pod].job.0].life.mounts.is_empty()
                && self.claim_keys(PodAt(pod)).contains(&key)
        };
        if (0..self.pods.len()).any(is_user) {
            // In a cluster of files it is looked again when a pod that uses it ends.
            if !self.is_calm && self.storage.plan.cluster.is_none() {
                self.storage_later((IN_USE, IN_USE), StorageHappening::ClaimGoes(claim));
            }
            return;
        }
        let Some(facts) = self.storage.claims.remove(&claim) else { return };
        self.publish_storage_gone(StorageKind::Claim, key);
        self.release_volumes(&facts.uid);
    }

    fn publish_storage_gone(&mut self, sort: StorageKind, name: Box<str>) {
        self.publish_gone(Key::new(Kind::Storage(sort), name));
    }

    fn publish_volume(&mut self, number: u64) {
        self.storage.versions += 1;
        let version = self.storage.versions.to_string().into();
        if let Some(facts) = self.storage.volumes.get_mut(&number) {
            facts.version = version;
            let facts = facts.clone();
            self.publish(StorageFacts::Volume(facts));
        }
    }

    fn publish_claim(&mut self, number: u64) {
        self.storage.versions += 1;
        let version = self.storage.versions.to_string().into();
        if let Some(facts) = self.storage.claims.get_mut(&number) {
            facts.version = version;
            let facts = facts.clone();
            self.publish(StorageFacts::Claim(facts));
        }
    }

    pub(super) fn list_storage(&self, sort: StorageKind) -> Vec<Fact> {
        let storage = &self.storage;
        let facts: Vec<StorageFacts> = match sort {
            StorageKind::Volume => {
                storage.volumes.values().cloned().map(StorageFacts::Volume).collect()
            }
            StorageKind::Claim => {
                storage.claims.values().cloned().map(StorageFacts::Claim).collect()
            }
            StorageKind::Class => {
                storage.classes.values().cloned().map(StorageFacts::Class).collect()
            }
            StorageKind::CsiNode => {
                storage.csi_nodes.values().cloned().map(StorageFacts::CsiNode).collect()
            }
            StorageKind::CsiDriver | StorageKind::Capacity | StorageKind::Attachment => {
                return self.list_objects(sort);
            }
        };
        facts.into_iter().map(Fact::from).collect()
    }
}

/// The uid that an object has, or another one.
fn own_uid(uid: &str, other: impl Fn() -> String) -> Box<str> {
    if uid.is_empty() { other().into() } else { uid.into() }
}

// === Requests ===

impl World {
    /// Writes what a scheduler wants to be written, if the object is in the state that is meant.
    pub(crate) fn post_write(&mut self, write: &Write) -> Written {
        match write {
            Write::BindVolume { volume, uid, version, claim } => {
                let Some(number) = self.storage.volume_named(volume) else {
                    return Written::NotFound;
                };
                let facts = self.storage.volumes.get_mut(&number).expect("it was just found");
                if facts.uid != *uid || facts.version != *version {
                    return Written::Conflict;
                }
                facts.claim = Some(claim.clone());
                self.happened.volumes_bound += 1;
                self.publish_volume(number);
                self.volume_claimed(number, claim);
                Written::Done(self.storage.versions)
            }
            Write::SelectNode { claim, version, node } => {
                let Some(number) = self.storage.claim_named(&claim.key()) else {
                    return Written::NotFound;
                };
                let facts = self.storage.claims.get_mut(&number).expect("it was just found");
                if facts.uid != claim.uid || facts.version != *version {
                    return Written::Conflict;
                }
                facts.selected_node = Some(node.clone());
                self.happened.nodes_selected += 1;
                self.publish_claim(number);
                let version = self.storage.versions;
                self.expect_provision(number);
                Written::Done(version)
            }
        }
    }

    /// Reads whether something is written.
    pub(crate) fn read_write(&self, write: &Write) -> Said {
        let version = |version: &str| version.parse().expect("versions are numbers");
        match write {
            Write::BindVolume { volume, uid, claim, .. } => {
                let Some(number) = self.storage.volume_named(volume) else { return Said::Gone };
                let facts = &self.storage.volumes[&number];
                let said = facts.claim.as_ref().map(|claim: &ClaimRef| &claim.uid);
                let is_so = facts.uid == *uid && said == Some(&claim.uid);
                if is_so { Said::So(version(&facts.version)) } else { Said::Otherwise }
            }
            Write::SelectNode { claim, node, .. } => {
                let Some(number) = self.storage.claim_named(&claim.key()) else {
                    return Said::Gone;
                };
                let facts = &self.storage.claims[&number];
                let is_so = facts.uid == claim.uid && facts.selected_node.as_ref() == Some(node);
                if is_so { Said::So(version(&facts.version)) } else { Said::Otherwise }
            }
        }
    }
}
