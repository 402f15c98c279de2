//! Volumes of pods, and the claims that are made for them.

use model::{Millis, PodKey, PodVolume, PodVolumes, Quantity, VolumeClaimFacts, claim_key};

use super::super::World;
use super::super::records::{PodAt, PodRecord};
use super::{IN_USE, StorageHappening};
use crate::plan::Mount;

const GIB: i64 = 1 << 30;
/// How long after a pod its own claims go, at least and at most.
const CLAIMS_COLLECTED: (Millis, Millis) = (Millis(500), Millis(20_000));

impl World {
    /// The volumes of a pod.
    pub(in crate::world) fn volumes(&self, pod: PodAt) -> PodVolumes {
        let record = &self.pods[pod.0];
        let mounts = self.jobs[record.job.0].life.mounts.iter().enumerate();
        let volume = |(at, mount): (usize, &Mount)| match mount {
            Mount::Shared(name) => PodVolume::Claim(name.clone()),
            Mount::Disk(disk) => disk.clone(),
            Mount::Inline { disk, csi } => {
                PodVolume::Inline { disk: Some(disk.clone()), csi: csi.clone(), is_broken: false }
            }
            Mount::Own { is_ephemeral: false, .. } => PodVolume::Claim(self.own_name(pod, at)),
            Mount::Own { is_ephemeral: true, .. } | Mount::Ephemeral { .. } => {
                PodVolume::Ephemeral {
                    claim: self.own_name(pod, at),
                    pod: record.key.uid.clone(),
                    pod_name: record.key.name.clone(),
                }
            }
        };
        mounts.map(volume).collect()
    }

    fn own_name(&self, pod: PodAt, at: usize) -> Box<str> {
        let PodRecord { key, job, .. } = &self.pods[pod.0];
        match &self.jobs[job.0].life.mounts[at] {
            Mount::Ephemeral { volume, .. } => format!("{}-{volume}", key.name).into(),
            Mount::Shared(_) | Mount::Disk(_) | Mount::Inline { .. } | Mount::Own { .. } => {
                format!("{}-{at}", key.name).into()
            }
        }
    }

    pub(super) fn claim_keys(&self, pod: PodAt) -> Vec<Box<str>> {
        let namespace = &self.pods[pod.0].key.namespace;
        let volumes = self.volumes(pod);
        volumes.iter().filter_map(PodVolume::claim).map(|name| claim_key(namespace, name)).collect()
    }

    fn own_mounts(&self, pod: PodAt) -> Vec<(Box<str>, Mount)> {
        let mounts = &self.jobs[self.pods[pod.0].job.0].life.mounts;
        let is_own = |(_, one): &(usize, &Mount)| match one {
            Mount::Own { .. } | Mount::Ephemeral { .. } => true,
            Mount::Shared(_) | Mount::Disk(_) | Mount::Inline { .. } => false,
        };
        let own = mounts.iter().enumerate().filter(is_own);
        own.map(|(at, mount)| (self.own_name(pod, at), mount.clone())).collect()
    }

    /// A pod was made, whose own claims follow.
    pub(in crate::world) fn expect_claims(&mut self, pod: PodAt) {
        let own = self.own_mounts(pod);
        let late = own.into_iter().find_map(|(_, mount)| match mount {
            Mount::Own { late, .. } => Some(late),
            Mount::Ephemeral { .. } => Some((Millis(0), Millis(0))),
            Mount::Shared(_) | Mount::Disk(_) | Mount::Inline { .. } => None,
        });
        match late {
            Some((Millis(0), Millis(0))) => self.make_own_claims(pod),
            Some(late) => self.storage_later(late, StorageHappening::OwnClaimsMade(pod)),
            None => {}
        }
    }

    pub(super) fn make_own_claims(&mut self, pod: PodAt) {
        if self.pods[pod.0].phase.is_over() {
            return;
        }
        let key = self.pods[pod.0].key.clone();
        for (name, mount) in self.own_mounts(pod) {
            if let Mount::Ephemeral { template, owner, .. } = mount {
                self.make_ephemeral(&key, name, template.as_deref(), &owner);
                continue;
            }
            let Mount::Own { class, gib, is_ephemeral, .. } = mount else { continue };
            self.make_claim(VolumeClaimFacts {
                namespace: key.namespace.clone(),
                name,
                class,
                size: Some(Quantity::from_units(gib * GIB)),
                modes: model::AccessModes::named(["ReadWriteOnce"]),
                owner: is_ephemeral.then(|| key.uid.clone()),
                ..VolumeClaimFacts::default()
            });
        }
    }

    /// Makes the claim of an ephemeral volume. One that was made for this very pod is its own; one
    /// of somebody else stays what it is.
    fn make_ephemeral(
        &mut self,
        pod: &PodKey,
        name: Box<str>,
        template: Option<&VolumeClaimFacts>,
        owner: &str,
    ) {
        if let Some(number) = self.storage.claim_named(&claim_key(&pod.namespace, &name)) {
            let claim = self.storage.claims.get_mut(&number).expect("it was just found");
            if claim.owner.as_deref() == Some(owner) {
                claim.owner = Some(pod.uid.clone());
                self.publish_claim(number);
            }
            return;
        }
        let Some(template) = template.cloned() else { return };
        let (namespace, owner) = (pod.namespace.clone(), Some(pod.uid.clone()));
        self.make_claim(VolumeClaimFacts { namespace, name, owner, ..template });
    }

    /// A pod is over, and its own claims with it. What others delete and it used can go.
    pub(in crate::world) fn expect_claims_gone(&mut self, pod: PodAt) {
        if self.storage.plan.cluster.is_some() {
            let leaves = |key: Box<str>| {
                let claim = self.storage.claim_named(&key)?;
                self.storage.claims[&claim].is_terminating.then_some(claim)
            };
            let leaving: Vec<u64> = self.claim_keys(pod).into_iter().filter_map(leaves).collect();
            for claim in leaving {
                self.storage_later((IN_USE, IN_USE), StorageHappening::ClaimGoes(claim));
            }
        }
        if !self.own_mounts(pod).is_empty() {
            self.storage_later(CLAIMS_COLLECTED, StorageHappening::OwnClaimsGo(pod));
        }
        self.expect_detached(pod);
    }

    pub(super) fn own_claims_go(&mut self, pod: PodAt) {
        let PodKey { namespace, uid, .. } = self.pods[pod.0].key.clone();
        for (name, mount) in self.own_mounts(pod) {
            let claim = self.storage.claim_named(&claim_key(&namespace, &name));
            // Claims of others are not collected.
            let is_own = |claim: &u64| {
                let owner = self.storage.claims[claim].owner.as_ref();
                owner == Some(&uid) || !matches!(mount, Mount::Ephemeral { .. })
            };
            if let Some(claim) = claim.filter(is_own) {
                self.delete_claim(claim);
            }
        }
    }
}
