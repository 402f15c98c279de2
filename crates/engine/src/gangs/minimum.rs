//! What gangs ask of the cluster as a whole, before any node is looked at.

use model::{Catalog, GangId, NodeId, Reason, ResourceId, Time, UnitId, Usage};

use crate::Scheduler;

/// Of how many resources it is kept how much is free.
const SUMS_MAX: usize = 16;

impl Scheduler {
    /// What all nodes together have too little of for a gang that is about to start.
    pub(super) fn cluster_short(&self, gang: GangId) -> Option<Reason> {
        let (resource, asked, free) = self.short_of(gang)?;
        let offered = offered_by_all(&self.catalog, resource);
        Some(Reason::ClusterShort { resource: resource.into(), asked, free, offered })
    }

    /// The resource of which there is too little, how much of it is asked for and how much is free.
    fn short_of(&self, gang: GangId) -> Option<(&str, i64, i64)> {
        let asked = &self.catalog.gang(gang).terms.as_ref().ok()?.min_resources;
        asked.named().find_map(|(resource, asked)| {
            let free = self.gangs.free.borrow_mut().of(&self.catalog, &self.usage, resource);
            (free < asked).then_some((resource, asked, free))
        })
    }

    /// Wakes a unit for which all nodes together had too little, if its gang asks for less now, or
    /// has begun.
    pub(super) fn wake_from_all(&mut self, unit: UnitId, now: Time) {
        if !self.queue.waits_for_all(unit) {
            return;
        }
        let pods = self.queue.pods(unit);
        let is_short = || self.beginning(unit, pods).and_then(|gang| self.short_of(gang)).is_some();
        if self.refusal_by_pods(unit, pods).is_none() && !is_short() {
            self.queue.wake_unit(unit, now);
        }
    }
}

/// How much is free on all nodes together, of the resources that gangs ask for: kept up to date by
/// the nodes that were touched.
#[derive(Default)]
pub(crate) struct FreeSums(Vec<FreeSum>);

struct FreeSum {
    name: Box<str>,
    resource: ResourceId,
    /// What is free on each node.
    free: Vec<i64>,
    sum: i128,
    mark: u64,
}

impl FreeSums {
    /// How much of a resource is free, whoever may use the nodes.
    pub(crate) fn of(&mut self, catalog: &Catalog, usage: &Usage, name: &str) -> i64 {
        let Some(resource) = catalog.find_resource(name) else { return 0 };
        let is_it = |sum: &FreeSum| *sum.name == *name && sum.resource == resource;
        let at = self.0.iter().position(is_it).unwrap_or_else(|| {
            self.0.truncate(SUMS_MAX - 1);
            self.0.push(FreeSum { name: name.into(), resource, free: Vec::new(), sum: 0, mark: 0 });
            self.0.len() - 1
        });
        // Those that are asked for stay.
        self.0[..=at].rotate_right(1);
        self.0[0].catch_up(catalog, usage)
    }

    /// Takes in the nodes that were touched: soon after, so that nobody who asks has to take in
    /// what others left behind.
    pub(crate) fn catch_up(&mut self, catalog: &Catalog, usage: &Usage) {
        self.0.iter_mut().for_each(|sum| _ = sum.catch_up(catalog, usage));
    }
}

impl FreeSum {
    /// How much is free after all that was touched.
    fn catch_up(&mut self, catalog: &Catalog, usage: &Usage) -> i64 {
        let Self { free, sum, mark, resource, .. } = self;
        let touched = usage.touched_since(*mark).filter(|_| !free.is_empty());
        let touched: Vec<NodeId> = match touched {
            Some(touched) => touched.iter().map(|touch| touch.node).collect(),
            None => (0..catalog.node_places()).map(NodeId::at).collect(),
        };
        free.resize(catalog.node_places(), 0);
        catalog.look(touched.len());
        for node in touched {
            let (offer, load) = (catalog.offer(node), usage.load(node));
            // What is taken beyond what a node has is not missing elsewhere.
            let now = offer.amounts.of(*resource).saturating_sub(load.of(*resource)).max(0);
            let before = std::mem::replace(&mut free[node.index()], now);
            *sum += i128::from(now) - i128::from(before);
        }
        *mark = usage.mark();
        i64::try_from(*sum).unwrap_or(i64::MAX)
    }
}

fn offered_by_all(catalog: &Catalog, resource: &str) -> i64 {
    let Some(resource) = catalog.find_resource(resource) else { return 0 };
    catalog.look(catalog.nodes().len());
    let offered = catalog.nodes().iter().map(|node| catalog.offer(*node).amounts.of(resource));
    offered.fold(0, i64::saturating_add)
}
