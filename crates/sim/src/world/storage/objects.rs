//! What drivers, administrators and the attach-detach controller make of storage: classes, drivers,
//! what is left of storage, and which volumes are attached to which nodes.

use model::{Fact, Millis, StorageFacts, StorageKind, VolumeAttachmentFacts, VolumeSource};

use super::super::World;
use super::super::records::{Phase, PodAt};
use super::StorageHappening;
use crate::plan::StorageChange;

/// How long after the last pod that used it a volume is detached, at least and at most.
const DETACHED: (Millis, Millis) = (Millis(200), Millis(20_000));

impl World {
    /// An object of the plan comes, changes or goes.
    pub(super) fn object_changes(&mut self, at: usize) {
        let change = self.storage.plan.objects[at].1.clone();
        let facts = match change {
            StorageChange::Is(facts) => *facts,
            StorageChange::Gone(sort, name) => {
                self.happened.drivers_changed += 1;
                let is_there = match sort {
                    StorageKind::Class => self.storage.classes.remove(&name).is_some(),
                    StorageKind::CsiNode => self.storage.csi_nodes.remove(&name).is_some(),
                    StorageKind::CsiDriver | StorageKind::Capacity | StorageKind::Attachment => {
                        self.storage.objects.remove(&(sort, name.clone())).is_some()
                    }
                    StorageKind::Volume | StorageKind::Claim => false,
                };
                if is_there {
                    self.publish_storage_gone(sort, name);
                }
                return;
            }
        };
        match facts {
            StorageFacts::Class(facts) => {
                let name = facts.name.clone();
                self.storage.classes.insert(name.clone(), facts.clone());
                self.publish(StorageFacts::Class(facts));
                self.review_waiting(&name);
            }
            StorageFacts::Volume(facts) => {
                let class = facts.class.clone();
                self.make_volume(facts);
                self.review_waiting(&class);
            }
            StorageFacts::CsiNode(facts) => {
                self.happened.drivers_changed += 1;
                self.storage.csi_nodes.insert(facts.name.clone(), facts.clone());
                self.publish(StorageFacts::CsiNode(facts));
            }
            StorageFacts::CsiDriver(_)
            | StorageFacts::Capacity(_)
            | StorageFacts::Attachment(_) => {
                self.happened.drivers_changed += 1;
                self.storage.objects.insert((facts.kind(), facts.name()), facts.clone());
                self.publish(facts);
            }
            // Claims have a list of their own.
            StorageFacts::Claim(_) => {}
        }
    }

    /// Drivers, what is left of storage, and attachments.
    pub(super) fn list_objects(&self, sort: StorageKind) -> Vec<Fact> {
        let all = self.storage.objects.iter().filter(|((kind, _), _)| *kind == sort);
        all.map(|(_, facts)| facts.clone().into()).collect()
    }
}

// === Attachments ===

impl World {
    /// The CSI volumes of a pod's claims, each with its driver.
    fn csi_volumes(&self, pod: PodAt) -> Vec<(Box<str>, Box<str>)> {
        let storage = &self.storage;
        let keys = self.claim_keys(pod);
        let claims = keys.iter().filter_map(|key| storage.claims.get(&storage.claim_named(key)?));
        let volumes = claims.filter_map(|claim| {
            let volume = storage.volumes.get(&storage.volume_named(&claim.volume)?)?;
            let VolumeSource::Csi(csi) = &volume.source else { return None };
            Some((volume.name.clone(), csi.driver.clone()))
        });
        volumes.collect()
    }

    /// A pod is bound to its node: its volumes are attached there.
    pub(in crate::world) fn attach(&mut self, pod: PodAt) {
        if self.storage.plan.objects.is_empty() {
            return;
        }
        let Some(node) = self.pods[pod.0].bound else { return };
        let node: Box<str> = self.nodes[node.0].facts.name.as_str().into();
        for (volume, attacher) in self.csi_volumes(pod) {
            let name = attachment_name(&volume, &node);
            let key = (StorageKind::Attachment, name.clone());
            if self.storage.objects.contains_key(&key) {
                continue;
            }
            let (node, volume) = (node.clone(), Some(volume));
            let facts = VolumeAttachmentFacts { name, node, attacher, volume };
            let facts = StorageFacts::Attachment(facts);
            self.storage.objects.insert(key, facts.clone());
            self.publish(facts);
        }
    }

    /// A pod is over: its volumes are detached some time later.
    pub(super) fn expect_detached(&mut self, pod: PodAt) {
        if !self.storage.plan.objects.is_empty() && self.pods[pod.0].bound.is_some() {
            self.storage_later(DETACHED, StorageHappening::Detached(pod));
        }
    }

    /// Detaches what was attached for a pod that is over, unless another one uses it there.
    pub(super) fn detach(&mut self, pod: PodAt) {
        let Some(at) = self.pods[pod.0].bound else { return };
        let node = self.nodes[at.0].facts.name.clone();
        let is_user =
            |other: usize| matches!(self.pods[other].phase, Phase::Running(on) if on == at);
        let users = (0..self.pods.len()).filter(|other| is_user(*other));
        let used: Vec<_> = users.flat_map(|other| self.csi_volumes(PodAt(other))).collect();
        let is_unused = |facts: &StorageFacts| match facts {
            StorageFacts::Attachment(it) => {
                // Those of the plan come and go by themselves.
                let is_own = it.volume.as_ref().is_some_and(|volume| {
                    *it.name == *attachment_name(volume, &node)
                        && !used.iter().any(|(name, _)| name == volume)
                });
                *it.node == *node && is_own
            }
            StorageFacts::Volume(_)
            | StorageFacts::Claim(_)
            | StorageFacts::Class(_)
            | StorageFacts::CsiNode(_)
            | StorageFacts::CsiDriver(_)
            | StorageFacts::Capacity(_) => false,
        };
        let gone = self.storage.objects.extract_if(.., |_, facts| is_unused(facts));
        let gone: Vec<Box<str>> = gone.map(|((_, name), _)| name).collect();
        for name in gone {
            self.publish_storage_gone(StorageKind::Attachment, name);
        }
    }

    /// Whether a volume is attached to a node.
    pub(super) fn is_attached(&self, volume: &str) -> bool {
        self.storage.objects.values().any(|facts| match facts {
            StorageFacts::Attachment(it) => it.volume.as_deref() == Some(volume),
            StorageFacts::Volume(_)
            | StorageFacts::Claim(_)
            | StorageFacts::Class(_)
            | StorageFacts::CsiNode(_)
            | StorageFacts::CsiDriver(_)
            | StorageFacts::Capacity(_) => false,
        })
    }
}

fn attachment_name(volume: &str, node: &str) -> Box<str> {
    format!("{volume}.{node}").into()
}
