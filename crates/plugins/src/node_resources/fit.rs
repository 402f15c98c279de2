//! Keeps pods off nodes without room for them, and scores how full nodes are.
//!
//! Cost per call: a handful of comparisons per node; nothing is allocated while narrowing.

use framework::{Feasible, FitArgs, Narrow, Plugin, Rank, Reach, Scores, Strategy, View};
use model::{
    Amounts, Catalog, Class, Load, NodeId, Offer, Reason, ResourceId, is_extended_resource,
};

use super::fullness::Fullness;
use super::scored_resources;

pub(crate) struct NodeResourcesFit {
    args: FitArgs,
    scored: Vec<(ResourceId, i64)>,
}

impl NodeResourcesFit {
    pub(crate) fn new(args: FitArgs, catalog: &mut Catalog) -> Self {
        let resource =
            |spec: &framework::ResourceWeight| (catalog.resource(&spec.name), spec.weight);
        Self { scored: args.resources.iter().map(resource).collect(), args }
    }

    /// Whether requests for a resource are not checked.
    fn is_ignored(&self, name: &str) -> bool {
        let group = name.split('/').next().unwrap_or_default();
        is_extended_resource(name)
            && (self.args.ignored_resources.iter().any(|ignored| ignored == name)
                || self.args.ignored_groups.iter().any(|ignored| ignored == group))
    }
}

impl Plugin for NodeResourcesFit {
    fn name(&self) -> &'static str {
        "NodeResourcesFit"
    }
}

impl Feasible for NodeResourcesFit {
    fn prepare(&self, catalog: &Catalog, class: &Class) -> Option<Box<dyn Narrow>> {
        let mut request = class.requests.fit.clone();
        let is_checked = |&(resource, amount): &(ResourceId, i64)| {
            amount > 0 && !self.is_ignored(catalog.resource_name(resource))
        };
        request.scalars = request.scalars.iter().copied().filter(is_checked).collect();
        Some(Box::new(Prepared { request }))
    }
}

impl Rank for NodeResourcesFit {
    fn prepare(&self, catalog: &Catalog, class: &Class) -> Option<Box<dyn Scores>> {
        let resources = scored_resources(&self.scored, &class.requests.fullness, catalog);
        Some(match &self.args.strategy {
            Strategy::LeastAllocated => Box::new(Fullness::least(resources)),
            Strategy::MostAllocated => Box::new(Fullness::most(resources)),
            Strategy::RequestedToCapacityRatio(shape) => {
                Box::new(Fullness::ratio(resources, shape))
            }
        })
    }
}

struct Prepared {
    request: Amounts<ResourceId>,
}

impl Narrow for Prepared {
    fn reach(&self) -> Reach {
        Reach::Load
    }

    fn narrow(&self, view: View<'_>, nodes: &mut Vec<NodeId>) {
        nodes.retain(|node| fits(&self.request, view.catalog.offer(*node), view.usage.load(*node)));
    }

    fn why_not(&self, view: View<'_>, node: NodeId) -> Vec<Reason> {
        shortages(&self.request, view.catalog.offer(node), view.usage.load(node)).collect()
    }

    fn is_short(&self, view: View<'_>, node: NodeId, is_it: &dyn Fn(&Reason) -> bool) -> bool {
        let (offer, load) = (view.catalog.offer(node), view.usage.load(node));
        shortages(&self.request, offer, load).any(|reason| is_it(&reason))
    }
}

/// Whether a request of something exceeds what is left of it.
fn is_short(request: i64, offered: i64, taken: i64) -> bool {
    request > 0 && request > offered.wrapping_sub(taken)
}

// Hot: once per touched node.
fn fits(request: &Amounts<ResourceId>, offer: &Offer, load: &Load) -> bool {
    let pods_max = offer.pods_max;
    let offer = &offer.amounts;
    let is_short_scalar = |&(resource, amount): &(ResourceId, i64)| {
        is_short(amount, offer.scalar(&resource).unwrap_or(0), load.scalar(resource))
    };
    load.pods < pods_max
        && !is_short(request.cpu, offer.cpu, load.cpu)
        && !is_short(request.memory, offer.memory, load.memory)
        && !is_short(request.ephemeral, offer.ephemeral, load.ephemeral)
        && !request.scalars.iter().any(is_short_scalar)
}

/// Everything a node has too little of, in the order users know.
fn shortages(
    request: &Amounts<ResourceId>,
    offer: &Offer,
    load: &Load,
) -> impl Iterator<Item = Reason> {
    let pods_max = offer.pods_max;
    let offer = &offer.amounts;
    let fixed = [
        (ResourceId::CPU, request.cpu, offer.cpu, load.cpu),
        (ResourceId::MEMORY, request.memory, offer.memory, load.memory),
        (ResourceId::EPHEMERAL, request.ephemeral, offer.ephemeral, load.ephemeral),
    ];
    let scalar = move |&(resource, amount): &(ResourceId, i64)| {
        (resource, amount, offer.scalar(&resource).unwrap_or(0), load.scalar(resource))
    };
    let short = |(resource, request, offered, taken)| {
        is_short(request, offered, taken)
            .then_some(Reason::Insufficient { resource, is_beyond_node: request > offered })
    };
    let is_full = (load.pods >= pods_max).then_some(Reason::TooManyPods);
    let resources = fixed.into_iter().chain(request.scalars.iter().map(scalar));
    is_full.into_iter().chain(resources.filter_map(short))
}
