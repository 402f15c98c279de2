//! Devices that drivers tell of, and those that are allocated to claims.

use model::device::{ResourceClaimFacts, ResourceSliceFacts};
use model::{NodeId, Time};

use crate::Scheduler;

impl Scheduler {
    pub(super) fn set_resource_slice(&mut self, facts: &ResourceSliceFacts, now: Time) {
        let nodes = self.catalog.set_resource_slice(facts);
        self.touch_devices(&nodes, now);
    }

    pub(super) fn delete_resource_slice(&mut self, name: &str, now: Time) {
        let nodes = self.catalog.delete_resource_slice(name);
        self.touch_devices(&nodes, now);
    }

    pub(super) fn set_resource_claim(&mut self, facts: &ResourceClaimFacts, now: Time) {
        let nodes = self.catalog.set_resource_claim(facts);
        self.touch_devices(&nodes, now);
    }

    pub(super) fn delete_resource_claim(&mut self, key: &str, now: Time) {
        let nodes = self.catalog.delete_resource_claim(key);
        self.touch_devices(&nodes, now);
    }

    /// Takes in that nodes have other devices, or that others of them are allocated to claims.
    fn touch_devices(&mut self, nodes: &[NodeId], now: Time) {
        nodes.iter().for_each(|node| self.told_of_inside(Some(*node), now));
    }
}
