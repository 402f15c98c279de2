//! Devices of nodes: what all sources together say of them.
//!
//! Slices come first, then what NVIDIA's discovery says of all GPUs, then the lists and labels of
//! our own domain, then what is known of products by name or by PCI id. Where sources contradict
//! each other the first counts, of memory the smallest amount, and the contradiction is told.

mod merge;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Catalog;
use super::alike::Alike;
use crate::device::{NodeDevices, ResourceClaimFacts, ResourceSliceFacts};
use crate::hardware::Unread;
use crate::ids::{NodeId, ResourceId};
use crate::map::Map;
use merge::{Merged, Told};

/// The devices of all nodes of which something is told.
#[derive(Default)]
pub(super) struct Devices {
    of_node: Map<NodeId, Entry>,
    alike: Alike<NodeDevices>,
}

struct Entry {
    devices: Arc<NodeDevices>,
    own: Own,
}

/// What a node does not share with those that are alike.
#[derive(Default, PartialEq, Eq)]
struct Own {
    /// Devices that are allocated to claims.
    claimed: Box<[(ResourceId, u128)]>,
    /// What contradicts something else, or means nothing.
    unread: Box<[Unread]>,
}

impl Devices {
    pub(super) fn get(&self, node: NodeId) -> Option<&NodeDevices> {
        self.of_node.get(&node).map(|entry| &*entry.devices)
    }

    /// What contradicts something else, or means nothing.
    pub(super) fn doubts(&self, node: NodeId) -> impl Iterator<Item = &Unread> {
        self.of_node.get(&node).into_iter().flat_map(|entry| &*entry.own.unread)
    }

    /// Takes in what is told of a node; tells whether anything is different now.
    fn set(&mut self, node: NodeId, merged: Option<Merged>) -> bool {
        let entry = merged.map(|Merged { devices, claimed, unread }| Entry {
            devices: self.alike.hold(devices),
            own: Own { claimed, unread },
        });
        let is_same = |before: &Entry, entry: &Entry| {
            Arc::ptr_eq(&before.devices, &entry.devices) && before.own == entry.own
        };
        let is_other = match (self.of_node.get(&node), &entry) {
            (Some(before), Some(entry)) => !is_same(before, entry),
            (None, None) => false,
            (Some(_), None) | (None, Some(_)) => true,
        };
        let before = match entry {
            Some(entry) => self.of_node.insert(node, entry),
            None => self.of_node.remove(&node),
        };
        if let Some(before) = before {
            self.alike.release(&before.devices);
        }
        is_other
    }
}

impl Catalog {
    /// The devices of a node by resource, as all sources together tell of them; nothing if nobody
    /// tells anything.
    #[must_use]
    pub fn devices(&self, node: NodeId) -> Option<&NodeDevices> {
        self.devices.get(node)
    }

    /// Devices of a resource of a node that are allocated to ResourceClaims, bit 0 being device 0.
    #[must_use]
    pub fn claimed_devices(&self, node: NodeId, resource: ResourceId) -> u128 {
        let entry = self.devices.of_node.get(&node);
        let mut claimed = entry.into_iter().flat_map(|entry| &*entry.own.claimed);
        claimed.find(|(of, _)| *of == resource).map_or(0, |(_, devices)| *devices)
    }

    /// Which resource the ResourceSlices of a driver tell of: at most 64 drivers, each once. To be
    /// called before slices are taken in, since those of other drivers are not kept. Tells whether
    /// the table is taken.
    pub fn set_device_drivers(&mut self, drivers: Vec<(String, String)>) -> bool {
        self.slices.set_drivers(drivers)
    }

    /// The node whose devices a ResourceSlice tells of, if it is kept.
    #[must_use]
    pub fn node_of_slice(&self, slice: &str) -> Option<&str> {
        self.slices.node_of(slice)
    }

    /// Takes in a ResourceSlice; tells the nodes whose devices are others now.
    pub fn set_resource_slice(&mut self, facts: &ResourceSliceFacts) -> Vec<NodeId> {
        let touched = self.slices.set_slice(facts);
        self.renew_devices(&touched)
    }

    /// Forgets a ResourceSlice; tells the nodes whose devices are others now.
    pub fn delete_resource_slice(&mut self, name: &str) -> Vec<NodeId> {
        let touched = self.slices.delete_slice(name);
        self.renew_devices(&touched)
    }

    /// Takes in what is allocated to a ResourceClaim; tells the nodes of which more or less is.
    pub fn set_resource_claim(&mut self, facts: &ResourceClaimFacts) -> Vec<NodeId> {
        let touched = self.slices.set_claim(facts);
        self.renew_devices(&touched)
    }

    /// Forgets a ResourceClaim, by namespace and name; tells the nodes of which less is allocated.
    pub fn delete_resource_claim(&mut self, key: &str) -> Vec<NodeId> {
        let touched = self.slices.delete_claim(key);
        self.renew_devices(&touched)
    }

    fn renew_devices(&mut self, nodes: &BTreeSet<Box<str>>) -> Vec<NodeId> {
        let nodes: Vec<NodeId> = nodes.iter().filter_map(|name| self.find_node(name)).collect();
        let mut others = nodes;
        others.retain(|node| {
            let is_other = self.merge_devices(*node);
            if is_other {
                self.make_machine(*node);
                self.lay_out_gpus(*node);
            }
            is_other
        });
        others.sort_unstable();
        others
    }

    /// Puts together what is told of the devices of a node; tells whether they are others now.
    pub(super) fn merge_devices(&mut self, id: NodeId) -> bool {
        let merged = self.nodes.get(id).and_then(|node| {
            let told = Told {
                node: self.symbols.text(node.name),
                hardware: node.hardware.as_deref(),
                offer: self.nodes.offer(id),
                names: &self.resources,
                slices: &self.slices,
            };
            merge::merged(&told)
        });
        self.devices.set(id, merged)
    }
}

#[cfg(test)]
mod tests;
