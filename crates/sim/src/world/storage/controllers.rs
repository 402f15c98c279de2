//! The controllers of storage, in virtual time: one brings claims and volumes together, the other
//! makes volumes for claims whose node was chosen.

use model::{
    BindingMode, ClaimRef, CsiVolume, LabelOperator, Millis, NodeTerm, PersistentVolumeFacts,
    RequirementSpec, StorageKind, VolumeSource,
};

use super::super::World;
use super::super::records::NodeAt;
use super::{Storage, StorageHappening};

/// What the names of volumes begin with that were made for claims.
pub(super) const MADE: &str = "made-";
/// The provisioner of classes whose volumes nobody makes.
pub(super) const NOBODY: &str = "kubernetes.io/no-provisioner";
/// How long it takes until a volume whose claim is gone is for anybody, at least and at most.
const RECLAIMED: (Millis, Millis) = (Millis(200), Millis(15_000));
/// How many of a hundred claims name their volume some time before that is for good.
const TWO_STEPS_PERCENT: u64 = 20;

impl World {
    /// A volume says for whom it is.
    pub(super) fn volume_claimed(&mut self, volume: u64, to: &ClaimRef) {
        match self.storage.claim_with(&to.uid) {
            Some(claim) => {
                let span = self.storage.plan.controller;
                self.storage_later(span, StorageHappening::Reviewed(claim));
            }
            None => self.storage_later(RECLAIMED, StorageHappening::Reclaimed(volume)),
        }
    }

    /// The controller looks at a claim: if a volume is for it, it is bound.
    pub(super) fn review_claim(&mut self, claim: u64) {
        let Some(facts) = self.storage.claims.get(&claim).filter(|one| !one.is_bound()) else {
            return;
        };
        let (uid, named) = (facts.uid.clone(), facts.volume.clone());
        let is_for = |volume: &PersistentVolumeFacts| {
            volume.claim.as_ref().is_some_and(|claim| claim.uid == uid)
                && (named.is_empty() || volume.name == named)
        };
        let found = self.storage.volumes.iter().find(|(_, volume)| is_for(volume));
        let found = found.map(|(number, _)| *number);
        if found.is_none() && self.storage.plan.cluster.is_some() {
            return self.seek_volume(claim);
        }
        let Some(volume) = found.or_else(|| self.find_immediate(claim)) else { return };
        let name = self.storage.volumes[&volume].name.clone();
        if self.storage.volumes[&volume].is_available {
            self.storage.volumes.get_mut(&volume).expect("it was just found").is_available = false;
            self.publish_volume(volume);
        }
        let is_plain = !named.is_empty() || self.storage.plan.cluster.is_some();
        let is_done = is_plain || !self.storage.dice.percent(TWO_STEPS_PERCENT);
        let facts = self.storage.claims.get_mut(&claim).expect("it was just found");
        (facts.volume, facts.is_bind_completed) = (name, is_done);
        self.publish_claim(claim);
        if is_done {
            self.happened.claims_bound += 1;
            self.release_others(&uid, volume);
        } else {
            let span = self.storage.plan.controller;
            self.storage_later(span, StorageHappening::Reviewed(claim));
        }
    }

    /// Volumes that were for a claim which has got another one are for anybody.
    fn release_others(&mut self, uid: &str, kept: u64) {
        let is_other = |volume: &PersistentVolumeFacts| {
            volume.claim.as_ref().is_some_and(|claim| *claim.uid == *uid)
        };
        let others = self.storage.volumes.iter();
        let others = others.filter(|(number, volume)| **number != kept && is_other(volume));
        let others: Vec<u64> = others.map(|(number, _)| *number).collect();
        for volume in others {
            self.storage_later(RECLAIMED, StorageHappening::Reclaimed(volume));
        }
    }

    /// The volumes of a claim that is gone.
    pub(super) fn release_volumes(&mut self, uid: &str) {
        self.release_others(uid, 0);
    }

    /// A volume that is for a claim which is gone, or has another one, is for anybody, or is gone
    /// if it was made for that claim.
    pub(super) fn reclaim(&mut self, volume: u64) {
        let Some(facts) = self.storage.volumes.get(&volume) else { return };
        let (name, to) = (facts.name.clone(), facts.claim.clone());
        let claim = to.as_ref().and_then(|to| self.storage.claim_with(&to.uid));
        let is_wanted = claim.is_some_and(|claim| {
            let claim = &self.storage.claims[&claim];
            claim.volume.is_empty() || claim.volume == name
        });
        if is_wanted || to.is_none() {
            return;
        }
        let goes = match &self.storage.plan.cluster {
            None => name.starts_with(MADE),
            Some(cluster) if cluster.deletes(&name, &facts.class) => true,
            // It stays, and stays the claim's that is gone.
            Some(_) => return,
        };
        if goes {
            if self.is_attached(&name) {
                return self.storage_later(RECLAIMED, StorageHappening::Reclaimed(volume));
            }
            self.storage.volumes.remove(&volume);
            return self.publish_storage_gone(StorageKind::Volume, name);
        }
        let facts = self.storage.volumes.get_mut(&volume).expect("it was just found");
        (facts.claim, facts.is_available) = (None, true);
        let class = facts.class.clone();
        self.publish_volume(volume);
        self.review_waiting(&class);
    }

    /// A claim has a node, or needs none: somebody looks at it some time later.
    pub(super) fn expect_provision(&mut self, claim: u64) {
        let provisioner = self.storage.plan.provisioner;
        let percent = if self.is_calm { 0 } else { provisioner.stubborn_percent };
        if percent > 0 && self.storage.dice.percent(percent) {
            self.happened.provisions_silent += 1;
            self.storage.stubborn.insert(claim);
            return self.storage_later(provisioner.stubborn, StorageHappening::Provisioned(claim));
        }
        if !self.is_calm && self.storage.dice.percent(provisioner.silent_percent) {
            self.happened.provisions_silent += 1;
            return;
        }
        self.storage_later(provisioner.takes, StorageHappening::Provisioned(claim));
    }

    /// Whoever did not answer does so now.
    pub(in crate::world) fn calm_storage(&mut self) {
        let storage = &self.storage;
        let is_open = |(number, claim): &(&u64, &model::VolumeClaimFacts)| {
            let is_wanted = claim.selected_node.is_some() || storage.is_immediate(**number);
            claim.volume.is_empty() && is_wanted && !storage.stubborn.contains(*number)
        };
        let open: Vec<u64> = storage.claims.iter().filter(is_open).map(|(at, _)| *at).collect();
        for claim in open {
            let span = self.storage.plan.provisioner.takes;
            self.storage_later(span, StorageHappening::Provisioned(claim));
        }
    }

    /// Makes a volume for a claim on its node, or gives the node back.
    pub(super) fn provision(&mut self, claim: u64) {
        self.storage.stubborn.remove(&claim);
        let Some(facts) = self.storage.claims.get(&claim) else { return };
        if !facts.volume.is_empty() {
            return;
        }
        let Some(node) = facts.selected_node.clone() else {
            // In a cluster the controller sees to claims that wait for no pod.
            if self.storage.plan.cluster.is_none() {
                self.make_anywhere(claim);
            }
            return;
        };
        let uid = facts.uid.clone();
        let is_for = |volume: &PersistentVolumeFacts| {
            volume.claim.as_ref().is_some_and(|claim| claim.uid == uid)
        };
        if self.storage.volumes.values().any(is_for) {
            return;
        }
        let driver = self.storage.driver_of(claim);
        let at = self.find_node(&node).filter(|at| self.nodes[at.0].is_there);
        let failed_percent = if self.is_calm { 0 } else { self.provisioner_fails() };
        let fails = self.storage.dice.percent(failed_percent);
        let (Some(at), Some(driver), false) = (at, driver, fails) else {
            self.happened.provisions_failed += 1;
            let facts = self.storage.claims.get_mut(&claim).expect("it was just found");
            facts.selected_node = None;
            return self.publish_claim(claim);
        };
        if self.storage.plan.cluster.is_some() {
            let affinity = self.reach_of(at, &driver, claim);
            return self.volume_is_made(claim, driver, affinity);
        }
        self.make_for(claim, Some(at), driver);
    }

    /// Makes a volume for a claim, which a node can use.
    fn make_for(&mut self, claim: u64, at: Option<NodeAt>, driver: Box<str>) {
        let near_percent = self.storage.plan.provisioner.near_percent;
        let is_near = self.storage.dice.percent(near_percent);
        let labels = at.map(|at| &self.nodes[at.0].facts.labels);
        let zone = labels.into_iter().flatten().find(|(key, _)| key == "zone");
        let affinity = zone.filter(|_| is_near).map(|(_, zone)| vec![in_zone(zone)]);
        self.volume_is_made(claim, driver, affinity);
    }

    /// A volume is made for a claim, which the controller sees some time later.
    pub(super) fn volume_is_made(
        &mut self,
        claim: u64,
        driver: Box<str>,
        affinity: Option<Vec<NodeTerm>>,
    ) {
        let facts = &self.storage.claims[&claim];
        let name: Box<str> = format!("{MADE}{claim}").into();
        let handle = name.clone();
        let volume = PersistentVolumeFacts {
            name,
            class: facts.class.clone(),
            capacity: facts.size.unwrap_or_default(),
            modes: facts.modes,
            is_block: facts.is_block,
            claim: Some(self.storage.reference(claim)),
            affinity,
            source: VolumeSource::Csi(CsiVolume { driver, handle }),
            ..PersistentVolumeFacts::default()
        };
        self.happened.provisioned += 1;
        self.make_volume(volume);
        let span = self.storage.plan.controller;
        self.storage_later(span, StorageHappening::Reviewed(claim));
    }

    fn provisioner_fails(&self) -> u64 {
        self.storage.plan.provisioner.failed_percent
    }
}

// === Claims that wait for no pod ===

impl Storage {
    /// Whether a claim gets its volume before any pod is placed.
    pub(super) fn is_immediate(&self, claim: u64) -> bool {
        let class = self.claims.get(&claim).and_then(|claim| self.classes.get(&claim.class));
        class.is_some_and(|class| class.mode == Some(BindingMode::Immediate))
    }
}

impl World {
    /// The controller looks again at claims of a class that wait for no pod.
    pub(super) fn review_waiting(&mut self, class: &str) {
        let storage = &self.storage;
        let is_waiting = |(number, claim): &(&u64, &model::VolumeClaimFacts)| {
            *claim.class == *class && claim.volume.is_empty() && storage.is_immediate(**number)
        };
        let waiting = storage.claims.iter().filter(is_waiting);
        let waiting: Vec<u64> = waiting.map(|(number, _)| *number).collect();
        for claim in waiting {
            let span = self.storage.plan.controller;
            self.storage_later(span, StorageHappening::Reviewed(claim));
        }
    }

    /// The volume that a claim which waits for no pod gets: the smallest that will do. If there is
    /// none, one is made.
    fn find_immediate(&mut self, claim: u64) -> Option<u64> {
        let facts = &self.storage.claims[&claim];
        if !self.storage.is_immediate(claim) || !facts.volume.is_empty() || facts.is_terminating {
            return None;
        }
        let suits = |volume: &PersistentVolumeFacts| {
            let size = facts.size.unwrap_or_default();
            volume.class == facts.class
                && volume.claim.is_none()
                && volume.is_available
                && volume.capacity >= size
                && facts.modes.are_within(volume.modes)
        };
        let suiting = self.storage.volumes.iter().filter(|(_, volume)| suits(volume));
        let found = suiting.min_by_key(|(number, volume)| (volume.capacity, **number));
        let Some(number) = found.map(|(number, _)| *number) else {
            if self.storage.driver_of(claim).is_some() {
                self.expect_provision(claim);
            }
            return None;
        };
        let to = self.storage.reference(claim);
        let volume = self.storage.volumes.get_mut(&number).expect("it was just found");
        volume.claim = Some(to);
        Some(number)
    }

    /// Makes a volume for a claim that waits for no pod, or tries again later.
    fn make_anywhere(&mut self, claim: u64) {
        let driver = self.storage.driver_of(claim).filter(|_| self.storage.is_immediate(claim));
        let Some(driver) = driver else { return };
        let uid = &self.storage.claims[&claim].uid;
        let is_for = |volume: &PersistentVolumeFacts| {
            volume.claim.as_ref().is_some_and(|claim| claim.uid == *uid)
        };
        if self.storage.volumes.values().any(is_for) {
            return;
        }
        let failed_percent = if self.is_calm { 0 } else { self.provisioner_fails() };
        if self.storage.dice.percent(failed_percent) {
            self.happened.provisions_failed += 1;
            let span = self.storage.plan.provisioner.takes;
            return self.storage_later(span, StorageHappening::Provisioned(claim));
        }
        let there: Vec<usize> =
            (0..self.nodes.len()).filter(|at| self.nodes[*at].is_there).collect();
        let at = (!there.is_empty()).then(|| NodeAt(self.storage.dice.pick(&there)));
        self.make_for(claim, at, driver);
    }
}

impl Storage {
    /// Who makes the volume of a claim, if somebody does.
    fn driver_of(&self, claim: u64) -> Option<Box<str>> {
        let class = self.classes.get(&self.claims.get(&claim)?.class)?;
        Some(class.provisioner.clone()).filter(|driver| **driver != *NOBODY)
    }

    pub(super) fn reference(&self, claim: u64) -> ClaimRef {
        let facts = &self.claims[&claim];
        ClaimRef {
            namespace: facts.namespace.clone(),
            name: facts.name.clone(),
            uid: facts.uid.clone(),
        }
    }
}

/// Nodes with a value of the label `zone`.
fn in_zone(zone: &str) -> NodeTerm {
    let (key, values) = ("zone".to_owned(), vec![zone.to_owned()]);
    let expressions = vec![RequirementSpec { key, operator: LabelOperator::In, values }];
    NodeTerm { expressions, ..NodeTerm::default() }
}
