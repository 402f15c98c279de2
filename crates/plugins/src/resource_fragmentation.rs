//! Keeps GPUs usable for the pods that are yet to come.
//!
//! What pods ask for is learnt from those that came. A placement costs what is lost by it for such
//! pods: whole GPUs, parts of shared ones that fit what is asked for, slots of several GPUs of one
//! island, GPUs for which too little CPU or memory is left, and GPUs of a model that other pods
//! depend on. Pods without GPUs are ranked by the GPUs that they would leave without CPU or memory.
//!
//! An island of many GPUs that are all free is a last resort for small requests, unless it was
//! learnt that there are more of these than large requests will need. GPUs of a scarce model come
//! after islands for pods that could run elsewhere.
//!
//! Arguments: [`FragmentationArgs`]. Cost: what a node is worth before and after, for every node
//! with GPUs that was touched.

use std::sync::Arc;

use framework::{
    FINE, FragmentationArgs, LAST_RESORT, MAX_SCORE, Plugin, Rank, Reach, Rows, Scores, UNFIT, View,
};
use model::{Catalog, Class, GpuAsk, GpuPool, GpuPrices, LeftBeside, NodeId, Taking, WHOLE_MILLI};

/// What is left for GPUs that are left over, which decides where nothing else does.
const LEFTOVER: i32 = 2;
const LEFTOVER_MAX: i32 = 500;
const BEST: i32 = MAX_SCORE * FINE;
/// Losing as many GPUs as this is as bad as it gets for pods without GPUs.
const STRANDED_MAX: f64 = 8.0;
const MEMORY_UNIT: i64 = 1 << 20;

pub(crate) struct ResourceFragmentation {
    args: FragmentationArgs,
}

impl ResourceFragmentation {
    pub(crate) fn new(args: FragmentationArgs, catalog: &mut Catalog) -> Self {
        catalog.learn_gpu_demand(args.window);
        Self { args }
    }
}

impl Plugin for ResourceFragmentation {
    fn name(&self) -> &'static str {
        "ResourceFragmentation"
    }
}

impl Rank for ResourceFragmentation {
    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Scores>> {
        let charge = &class.requests.charge.amounts;
        let asks = Beside { cpu: charge.cpu, memory: charge.memory };
        Some(match class.gpus.clone() {
            Some(ask) => {
                let is_choosy = !class.node_selector.is_empty() || class.required.is_some();
                Box::new(WithGpus { ask, asks, is_choosy, args: self.args })
            }
            None => Box::new(WithoutGpus { asks }),
        })
    }
}

/// What pods of a class take beside GPUs.
#[derive(Clone, Copy)]
struct Beside {
    cpu: i64,
    memory: i64,
}

impl Beside {
    /// What is left of a node without a pod, and with it.
    fn left(self, view: View<'_>, node: NodeId) -> (LeftBeside, LeftBeside) {
        let (offer, load) = (view.catalog.offer(node), view.usage.load(node));
        let cpu = offer.amounts.cpu.saturating_sub(load.cpu);
        let memory = offer.amounts.memory.saturating_sub(load.memory);
        let before = LeftBeside { cpu, memory: memory / MEMORY_UNIT };
        let cpu = cpu.saturating_sub(self.cpu);
        let memory = memory.saturating_sub(self.memory) / MEMORY_UNIT;
        (before, LeftBeside { cpu, memory })
    }
}

fn revision(catalog: &Catalog) -> u64 {
    catalog.gpu_prices().map_or(0, |(_, revision)| revision)
}

/// A class that asks for GPUs.
struct WithGpus {
    ask: Arc<GpuAsk>,
    asks: Beside,
    /// Whether it says on which nodes it can run.
    is_choosy: bool,
    args: FragmentationArgs,
}

impl WithGpus {
    fn score(&self, view: View<'_>, prices: &GpuPrices, cost_max: f64, node: NodeId) -> i32 {
        let Some(pool) = view.usage.gpus_for(&self.ask, node) else { return BEST };
        let milli = pool.part(&self.ask).unwrap_or(WHOLE_MILLI);
        let Some(set) = pool.chosen(&self.ask, milli, Some(prices)) else { return 0 };
        let (before, after) = self.asks.left(view, node);
        let is_whole = pool.free() == pool.layout().healthy();
        let level = if is_whole { view.catalog.super_island_level(node) } else { 0 };
        let cost = prices.cost(pool, before, after, Taking { set, milli }, level);
        let left = (pool.free() & !set).count_ones();
        let left = i32::try_from(left).unwrap_or(LEFTOVER_MAX).saturating_mul(LEFTOVER);
        let last = if self.is_last(pool, prices, set) { LAST_RESORT } else { 0 };
        scored(cost, cost_max, BEST - LEFTOVER_MAX) - left.min(LEFTOVER_MAX) + LEFTOVER_MAX + last
    }

    /// Whether GPUs of a node are taken only if there are no others.
    fn is_last(&self, pool: &GpuPool, prices: &GpuPrices, set: u128) -> bool {
        if self.ask.count > self.args.small_max || !prices.is_guarding() {
            return false;
        }
        if !self.is_choosy && prices.is_scarce(pool.layout().model) {
            return true;
        }
        let mut islands = pool.layout().islands().iter();
        islands.any(|island| {
            let is_large = island.count_ones() >= self.args.pristine_min;
            is_large && island & set != 0 && island & !pool.free() == 0
        })
    }
}

/// A score from a cost, the least being the best.
fn scored(cost: f64, cost_max: f64, best: i32) -> i32 {
    let part = (1.0 - cost / cost_max).clamp(0.0, 1.0);
    (part * f64::from(best)) as i32
}

impl Scores for WithGpus {
    fn reach(&self) -> Reach {
        Reach::Load
    }

    fn is_fine(&self) -> bool {
        true
    }

    fn revision(&self, catalog: &Catalog) -> u64 {
        revision(catalog)
    }

    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        let Some((prices, _)) = view.catalog.gpu_prices() else { return out.fill(BEST) };
        let milli = match self.ask.share {
            Some(model::GpuShare::Milli(milli)) => milli,
            Some(model::GpuShare::Memory(_)) | None => WHOLE_MILLI,
        };
        let cost_max = prices.cost_max(self.ask.count, milli);
        for (node, score) in nodes.iter().zip(out) {
            *score = self.score(view, prices, cost_max, *node);
        }
    }
}

/// A class that asks for none.
struct WithoutGpus {
    asks: Beside,
}

impl WithoutGpus {
    fn score(&self, view: View<'_>, prices: &GpuPrices, node: NodeId) -> i32 {
        let mut stranded = 0.0;
        for pool in view.usage.gpus(node) {
            let (before, after) = self.asks.left(view, node);
            stranded += prices.cost(pool, before, after, Taking::NOTHING, 0);
        }
        scored(stranded, STRANDED_MAX, BEST)
    }
}

impl Scores for WithoutGpus {
    fn reach(&self) -> Reach {
        Reach::Load
    }

    fn is_fine(&self) -> bool {
        true
    }

    fn revision(&self, catalog: &Catalog) -> u64 {
        revision(catalog)
    }

    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        let prices = view.catalog.gpu_prices();
        for (node, score) in nodes.iter().zip(out) {
            let has_gpus = !view.usage.gpus(*node).is_empty();
            let prices = prices.filter(|_| has_gpus);
            *score = prices.map_or(BEST, |(prices, _)| self.score(view, prices, *node));
        }
    }

    fn sweep(&self, view: View<'_>, rows: Rows<'_>, weight: i32, totals: &mut [i32]) {
        let prices = view.catalog.gpu_prices();
        for (at, total) in totals.iter_mut().enumerate() {
            if *total == UNFIT {
                continue;
            }
            let node = rows.node(at);
            let has_gpus = !view.usage.gpus(node).is_empty();
            let score = match prices.filter(|_| has_gpus) {
                Some((prices, _)) => self.score(view, prices, node),
                None => BEST,
            };
            *total += weight * score;
        }
    }
}
