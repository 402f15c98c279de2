//! Storage of a whole cluster, as files describe it: claims that wait for no pod get their volumes
//! at once, volumes are made for where their drivers can use them, and go by their policy.

use std::collections::BTreeSet;

use model::{
    BindingMode, LabelOperator, NodeTerm, PersistentVolumeFacts, RequirementSpec,
    StorageClassFacts, VolumeClaimFacts,
};

use super::super::World;
use super::super::records::NodeAt;
use super::StorageHappening;
use super::controllers::{MADE, NOBODY};
use crate::plan::ClusterStorage;

/// The label by which a volume is for one node alone.
const HOSTNAME: &str = "kubernetes.io/hostname";

impl ClusterStorage {
    /// Whether a volume is deleted when its claim is: one that was made here goes by its class.
    pub(super) fn deletes(&self, volume: &str, class: &str) -> bool {
        let is_made = volume.starts_with(MADE) && !self.retaining.contains(class);
        is_made || self.deleted.contains(volume)
    }
}

impl World {
    /// A claim of a cluster is there: the controllers look at it, unless it has its volume.
    pub(super) fn begin_claim(&mut self, claim: u64) {
        let facts = &self.storage.claims[&claim];
        if self.storage.plan.cluster.is_none() || facts.is_bound() || facts.is_lost {
            return;
        }
        let has_node = facts.selected_node.is_some() && facts.volume.is_empty();
        let span = self.storage.plan.controller;
        self.storage_later(span, StorageHappening::Reviewed(claim));
        if has_node {
            self.expect_provision(claim);
        }
    }

    /// No volume is for a claim: it gets the one that it names, or any that will do, or one is
    /// made, unless it waits for a pod.
    pub(super) fn seek_volume(&mut self, claim: u64) {
        let Some(facts) = self.storage.claims.get(&claim) else { return };
        if self.storage.plan.cluster.is_none() || facts.is_terminating || facts.is_lost {
            return;
        }
        let class = self.storage.classes.get(&facts.class);
        let waits =
            class.is_some_and(|class| class.mode == Some(BindingMode::WaitForFirstConsumer));
        if waits && facts.volume.is_empty() {
            return;
        }
        if let Some(volume) = self.best_volume(facts) {
            let to = self.storage.reference(claim);
            let found = self.storage.volumes.get_mut(&volume).expect("it was just found");
            found.claim = Some(to);
            self.happened.volumes_bound += 1;
            self.publish_volume(volume);
            return self.review_claim(claim);
        }
        let driver = class.map(|class| class.provisioner.clone());
        let driver = driver.filter(|driver| **driver != *NOBODY && !driver.is_empty());
        // Nobody makes a volume for a claim that says which it must be.
        let is_open = facts.volume.is_empty() && facts.selector.is_none();
        if let Some(driver) = driver.filter(|_| is_open) {
            let affinity = self.some_reach(claim, &driver);
            self.volume_is_made(claim, driver, affinity);
        }
    }

    /// The volume that a claim names, or the smallest of those that will do.
    fn best_volume(&self, claim: &VolumeClaimFacts) -> Option<u64> {
        let suits = |volume: &PersistentVolumeFacts| {
            let selector = claim.selector.as_ref();
            volume.claim.is_none()
                && !volume.is_terminating
                && volume.capacity >= claim.size.unwrap_or_default()
                && claim.modes.are_within(volume.modes)
                && volume.is_block == claim.is_block
                && (*volume.name == *claim.volume
                    || claim.volume.is_empty()
                        && volume.is_available
                        && volume.class == claim.class
                        && volume.attributes_class == claim.attributes_class
                        && selector.is_none_or(|selector| selector.matches(&volume.labels)))
        };
        let volumes = self.storage.volumes.iter().filter(|(_, volume)| suits(volume));
        let best = volumes.min_by(|(_, one), (_, other)| {
            (one.capacity, &one.name).cmp(&(other.capacity, &other.name))
        });
        best.map(|(number, _)| *number)
    }

    /// Where a volume can be used that is made for a claim on a node. Where nothing says by which
    /// labels, it is for that node alone.
    pub(super) fn reach_of(&self, at: NodeAt, driver: &str, claim: u64) -> Option<Vec<NodeTerm>> {
        let keys = self.topology_keys(driver, claim);
        let keys = keys.unwrap_or_else(|| vec![HOSTNAME.into()]);
        if keys.is_empty() {
            return None;
        }
        let near = self.near(at, &keys);
        Some(if near.is_empty() { self.near(at, &[HOSTNAME.into()]) } else { near })
            .map(|expressions| vec![NodeTerm { expressions, ..NodeTerm::default() }])
    }

    /// Where a volume can be used that is made for a claim that waits for no pod: around some node
    /// that its class allows.
    fn some_reach(&mut self, claim: u64, driver: &str) -> Option<Vec<NodeTerm>> {
        let keys = self.topology_keys(driver, claim)?;
        let class = self.class_of(claim);
        let terms = class.and_then(|class| class.topologies.clone());
        let is_allowed = |at: &NodeAt| {
            let node = &self.nodes[at.0];
            let allows = |term: &NodeTerm| {
                term.expressions.iter().all(|it| {
                    let mut labels = node.facts.labels.iter();
                    labels.any(|(key, value)| *key == it.key && it.values.contains(value))
                })
            };
            node.is_there && terms.as_ref().is_none_or(|terms| terms.iter().any(allows))
        };
        let nodes: Vec<NodeAt> = (0..self.nodes.len()).map(NodeAt).filter(is_allowed).collect();
        if keys.is_empty() || nodes.is_empty() {
            return None;
        }
        let at = self.storage.dice.pick(&nodes);
        self.reach_of(at, driver, claim)
    }

    fn class_of(&self, claim: u64) -> Option<&StorageClassFacts> {
        self.storage.classes.get(&self.storage.claims.get(&claim)?.class)
    }

    /// The labels by which a driver says where its volumes can be used: those that CSINodes name,
    /// or those that the class asks for; nothing if nobody says.
    fn topology_keys(&self, driver: &str, claim: u64) -> Option<Vec<Box<str>>> {
        let cluster = self.storage.plan.cluster.as_ref()?;
        if let Some(keys) = cluster.topology_keys.get(driver) {
            return Some(keys.clone());
        }
        let terms = self.class_of(claim)?.topologies.as_ref()?;
        let keys = terms.iter().flat_map(|term| &term.expressions).map(|it| it.key.as_str());
        let keys: BTreeSet<&str> = keys.collect();
        Some(keys.into_iter().map(Into::into).collect())
    }

    /// The requirements that nodes with the same values of labels meet.
    fn near(&self, at: NodeAt, keys: &[Box<str>]) -> Vec<RequirementSpec<LabelOperator>> {
        let labels = &self.nodes[at.0].facts.labels;
        let own = keys.iter().filter_map(|key| labels.iter().find(|(own, _)| **own == **key));
        let requirement = |(key, value): &(String, String)| RequirementSpec {
            key: key.clone(),
            operator: LabelOperator::In,
            values: vec![value.clone()],
        };
        own.map(requirement).collect()
    }
}
