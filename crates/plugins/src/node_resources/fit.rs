//! Keeps pods off nodes without room for them, and scores how full nodes are.
//!
//! Cost per call: a handful of comparisons per node; nothing is allocated while narrowing.

use framework::{
    Feasible, FitArgs, Narrow, Plugin, Rank, Reach, Rows, Scores, Strategy, UNFIT, View,
};
use model::{
    AMOUNT_MAX, Amounts, Catalog, Class, Load, NodeId, Offer, Reason, ResourceId,
    is_extended_resource,
};

use super::fullness::Fullness;
use super::scored_resources;
use super::vector::{self, Kernel};

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
        Some(Box::new(Prepared { request, charge: class.requests.charge.amounts.clone() }))
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
    /// What a pod takes once it is on a node.
    charge: Amounts<ResourceId>,
}

impl Narrow for Prepared {
    fn reach(&self) -> Reach {
        Reach::Load
    }

    fn narrow(&self, view: View<'_>, nodes: &mut Vec<NodeId>) {
        nodes.retain(|node| fits(&self.request, view.catalog.offer(*node), view.usage.load(*node)));
    }

    fn sweep(&self, view: View<'_>, rows: Rows<'_>, totals: &mut [i32]) {
        vector::run(Sweep { least: Least::of(&self.request), rows, totals: &mut *totals });
        if self.request.scalars.is_empty() {
            return;
        }
        for (at, total) in totals.iter_mut().enumerate().filter(|(_, total)| **total != UNFIT) {
            let node = rows.node(at);
            let (offer, load) = (&view.catalog.offer(node).amounts, view.usage.load(node));
            if is_short_of_scalar(&self.request, offer, load) {
                *total = UNFIT;
            }
        }
    }

    fn why_not(&self, view: View<'_>, node: NodeId) -> Vec<Reason> {
        shortages(&self.request, view.catalog.offer(node), view.usage.load(node)).collect()
    }

    fn room(&self, view: View<'_>, node: NodeId) -> u32 {
        room(&self.request, &self.charge, view.catalog.offer(node), view.usage.load(node))
    }

    fn is_short(&self, view: View<'_>, node: NodeId, is_it: &dyn Fn(&Reason) -> bool) -> bool {
        let (offer, load) = (view.catalog.offer(node), view.usage.load(node));
        shortages(&self.request, offer, load).any(|reason| is_it(&reason))
    }
}

/// Marks rows with too little free.
struct Sweep<'a> {
    least: Least,
    rows: Rows<'a>,
    totals: &'a mut [i32],
}

impl Kernel for Sweep<'_> {
    // Hot: once per pod of a shape that was not seen before, and once per touched node.
    #[inline(always)]
    fn run<const IS_FUSED: bool>(self) {
        let Self { least, rows, totals } = self;
        let (columns, count) = (rows.columns, totals.len());
        let (cpu, memory) = (&columns.cpu.free, &columns.memory.free);
        let (cpu, memory) = (rows.of(cpu, count), rows.of(memory, count));
        let ephemeral = rows.of(&columns.ephemeral_free, count);
        let pods = rows.of(&columns.pods_free, count);
        let rows = cpu.iter().zip(memory).zip(ephemeral.iter().zip(pods));
        for (total, ((cpu, memory), (ephemeral, pods))) in totals.iter_mut().zip(rows) {
            let fits = least.fits(*cpu, *memory, *ephemeral, *pods);
            *total = if fits { *total } else { UNFIT };
        }
    }
}

/// What must be free at least, as columns have it.
struct Least {
    cpu: f64,
    memory: f64,
    ephemeral: f64,
}

impl Least {
    #[expect(clippy::cast_precision_loss, reason = "more than columns hold is more than is free")]
    fn of(request: &Amounts<ResourceId>) -> Self {
        // What is not asked for may even be overdrawn.
        let least = |asked: i64| if asked > 0 { asked as f64 } else { f64::NEG_INFINITY };
        Self {
            cpu: least(request.cpu),
            memory: least(request.memory),
            ephemeral: least(request.ephemeral),
        }
    }

    // Hot: once per node. Without branches, so that it becomes vector code.
    #[inline(always)]
    fn fits(&self, cpu: f64, memory: f64, ephemeral: f64, pods: f64) -> bool {
        (pods > 0.0) & (cpu >= self.cpu) & (memory >= self.memory) & (ephemeral >= self.ephemeral)
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
    load.pods < pods_max
        && !is_short(request.cpu, offer.cpu, load.cpu)
        && !is_short(request.memory, offer.memory, load.memory)
        && !is_short(request.ephemeral, offer.ephemeral, load.ephemeral)
        && !is_short_of_scalar(request, offer, load)
}

/// How many pods fit one after the other, each of which asks for `request` and takes `charge`.
// Hot: once per touched node while gangs wait.
fn room(
    request: &Amounts<ResourceId>,
    charge: &Amounts<ResourceId>,
    offer: &Offer,
    load: &Load,
) -> u32 {
    let fixed = [
        (request.cpu, charge.cpu, offer.amounts.cpu, load.cpu),
        (request.memory, charge.memory, offer.amounts.memory, load.memory),
        (request.ephemeral, charge.ephemeral, offer.amounts.ephemeral, load.ephemeral),
    ];
    let scalar = |&(resource, asked): &(ResourceId, i64)| {
        let offered = offer.amounts.scalar(&resource).unwrap_or(0);
        (asked, charge.scalar(&resource).unwrap_or(0), offered, load.scalar(resource))
    };
    let mut room = offer.pods_max.saturating_sub(load.pods).max(0);
    for (asked, taken, offered, load) in fixed.into_iter().chain(request.scalars.iter().map(scalar))
    {
        if is_short(asked, offered, load) {
            return 0;
        }
        // What a pod takes counts up to a limit, beyond which nothing is said.
        if asked > 0 && (1..AMOUNT_MAX).contains(&taken) {
            let left = offered.wrapping_sub(load).saturating_sub(asked);
            room = room.min(left / taken + 1);
        }
    }
    u32::try_from(room).unwrap_or(u32::MAX)
}

fn is_short_of_scalar(
    request: &Amounts<ResourceId>,
    offer: &Amounts<ResourceId>,
    load: &Load,
) -> bool {
    request.scalars.iter().any(|&(resource, amount)| {
        is_short(amount, offer.scalar(&resource).unwrap_or(0), load.scalar(resource))
    })
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
