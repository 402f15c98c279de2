//! Volumes of pods on nodes, and what was given to claims for pods that are on their way.

use std::collections::{BTreeMap, BTreeSet};

use crate::catalog::{Catalog, Occupant};
use crate::ids::{NodeId, PodId, TagsId};
use crate::map::Map;
use crate::volume::{Assignment, PodVolume};

/// Where pods with volumes are.
#[derive(Default)]
pub(super) struct Mounts {
    /// Tags of pods with volumes on a node, and how many pods have them, in order.
    on_node: Map<NodeId, BTreeMap<TagsId, u32>>,
    /// How many pods on which nodes name a claim themselves.
    users: Map<Box<str>, BTreeMap<NodeId, u32>>,
}

impl Mounts {
    /// Tags of the pods with volumes on a node.
    pub(super) fn on_node(&self, node: NodeId) -> impl Iterator<Item = TagsId> {
        self.on_node.get(&node).into_iter().flat_map(|tags| tags.keys().copied())
    }

    pub(super) fn has_user(&self, catalog: &Catalog, claim: &str) -> bool {
        let nodes = self.users.get(claim);
        nodes.is_some_and(|nodes| nodes.keys().any(|node| catalog.has_node(*node)))
    }

    /// Counts a pod that came to a node, or left it.
    pub(super) fn change(
        &mut self,
        catalog: &Catalog,
        occupant: Occupant,
        node: NodeId,
        is_there: bool,
    ) {
        let tags = catalog.tags(occupant.tags);
        let count = self.on_node.entry(node).or_default().entry(occupant.tags).or_default();
        count_one(count, is_there);
        if *count == 0 {
            let on_node = self.on_node.get_mut(&node).expect("a node that was just looked up");
            on_node.remove(&occupant.tags);
            if on_node.is_empty() {
                self.on_node.remove(&node);
            }
        }
        for (volume, key) in tags.mounts() {
            if let (PodVolume::Claim(_), Some(key)) = (volume, key) {
                let nodes = self.users.entry(key.into()).or_default();
                let count = nodes.entry(node).or_default();
                count_one(count, is_there);
                if *count == 0 {
                    nodes.remove(&node);
                }
                if nodes.is_empty() {
                    self.users.remove(key);
                }
            }
        }
    }
}

fn count_one(count: &mut u32, is_there: bool) {
    *count = match is_there {
        true => *count + 1,
        false => count.checked_sub(1).expect("a pod that leaves a node was counted"),
    };
}

/// What was given to claims for pods that are on their way to nodes.
#[derive(Default)]
pub struct Assigned {
    pods: Map<PodId, (NodeId, Vec<Assignment>)>,
    /// Pods by the claims to which something was given for them.
    claims: Map<Box<str>, BTreeSet<PodId>>,
    /// How often a volume was given to claims.
    volumes: Map<Box<str>, u32>,
    /// For which pods something was given in the transaction so far.
    pub(crate) undo: Vec<PodId>,
}

impl Assigned {
    /// Whether nothing is given to anybody.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }

    /// For how many pods something is given.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pods.len()
    }

    /// The node that a pod is on its way to, and what was given for it.
    #[must_use]
    pub fn of(&self, pod: PodId) -> Option<(NodeId, &[Assignment])> {
        self.pods.get(&pod).map(|(node, given)| (*node, &**given))
    }

    /// The pods for which something was given to a claim.
    pub fn pods_of(&self, claim: &str) -> impl Iterator<Item = PodId> {
        self.claims.get(claim).into_iter().flatten().copied()
    }

    /// The node on which a volume is to be made for a claim.
    #[must_use]
    pub fn node_of(&self, claim: &str) -> Option<NodeId> {
        let mut given = self.given_to(claim);
        given.find(|(_, it)| it.volume.is_none()).map(|(node, _)| node)
    }

    /// Volumes that were given to a claim.
    pub fn volumes_of(&self, claim: &str) -> impl Iterator<Item = &str> {
        self.given_to(claim).filter_map(|(_, it)| it.volume.as_deref())
    }

    /// Whether a volume was given to a claim.
    #[must_use]
    pub fn has_volume(&self, volume: &str) -> bool {
        self.volumes.contains_key(volume)
    }

    fn given_to(&self, claim: &str) -> impl Iterator<Item = (NodeId, &Assignment)> {
        let pods = self.pods_of(claim).filter_map(|pod| self.of(pod));
        pods.flat_map(move |(node, given)| {
            let own = given.iter().filter(move |it| *it.claim == *claim);
            own.map(move |it| (node, it))
        })
    }

    pub(crate) fn give(&mut self, pod: PodId, node: NodeId, given: Vec<Assignment>) {
        for Assignment { claim, volume } in &given {
            self.claims.entry(claim.clone()).or_default().insert(pod);
            if let Some(volume) = volume {
                *self.volumes.entry(volume.clone()).or_default() += 1;
            }
        }
        let before = self.pods.insert(pod, (node, given));
        assert!(before.is_none(), "a pod is on its way to one node");
    }

    /// Takes back what was given for a pod; nothing if that is nothing.
    pub(crate) fn take_back(&mut self, pod: PodId) {
        let Some((_, given)) = self.pods.remove(&pod) else { return };
        for Assignment { claim, volume } in given {
            if let Some(pods) = self.claims.get_mut(&claim) {
                pods.remove(&pod);
                if pods.is_empty() {
                    self.claims.remove(&claim);
                }
            }
            let Some(volume) = volume else { continue };
            let count = self.volumes.get_mut(&volume).expect("what is taken back was given");
            *count -= 1;
            if *count == 0 {
                self.volumes.remove(&volume);
            }
        }
    }
}
