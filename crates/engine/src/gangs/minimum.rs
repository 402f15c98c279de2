//! What gangs ask of the cluster as a whole, before any node is looked at.

use model::{Catalog, GangId, Reason, Time, UnitId, Usage};

use crate::Scheduler;

impl Scheduler {
    /// What all nodes together have too little of for a gang that is about to start.
    pub(super) fn cluster_short(&self, gang: GangId) -> Option<Reason> {
        let asked = &self.catalog.gang(gang).terms.as_ref().ok()?.min_resources;
        asked.named().find_map(|(resource, asked)| {
            let free = free_in_all(&self.catalog, &self.usage, resource);
            (free < asked).then(|| {
                let offered = offered_by_all(&self.catalog, resource);
                Reason::ClusterShort { resource: resource.into(), asked, free, offered }
            })
        })
    }

    /// Wakes a unit for which all nodes together had too little, if its gang asks for less now, or
    /// has begun.
    pub(super) fn wake_from_all(&mut self, unit: UnitId, now: Time) {
        let is_short = self.queue.waits_for_all(unit);
        if is_short && self.refusal(unit, self.queue.pods(unit)).is_none() {
            self.queue.wake_unit(unit, now);
        }
    }
}

/// How much of a resource is free on all nodes together, whoever may use them.
pub(crate) fn free_in_all(catalog: &Catalog, usage: &Usage, resource: &str) -> i64 {
    let Some(resource) = catalog.find_resource(resource) else { return 0 };
    let free = catalog.nodes().iter().map(|node| {
        let (offer, load) = (catalog.offer(*node), usage.load(*node));
        // What is taken beyond what a node has is not missing elsewhere.
        offer.amounts.of(resource).saturating_sub(load.of(resource)).max(0)
    });
    free.fold(0, i64::saturating_add)
}

fn offered_by_all(catalog: &Catalog, resource: &str) -> i64 {
    let Some(resource) = catalog.find_resource(resource) else { return 0 };
    let offered = catalog.nodes().iter().map(|node| catalog.offer(*node).amounts.of(resource));
    offered.fold(0, i64::saturating_add)
}
