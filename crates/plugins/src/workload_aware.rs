//! Fills or spreads nodes by what pods do.
//!
//! How full a node would be with the pod is the mean over the resources that the pod asks for and
//! the node has, by their weights. Batch and training pack: fuller nodes are better, so that empty
//! ones stay empty. Services and inference pack a tenth as much, so that how they are spread goes
//! first and the fuller of equal nodes is taken. Interactive pods go where most is left, and not
//! beside pods that have CPUs or devices for themselves.
//!
//! Where ResourceFragmentation ranks nodes too, GPUs are its business: pods that ask for some are
//! not looked at here, and a node that has some is never better for others than one without.
//!
//! Nobody else may rank nodes by how full they are: two such votes add up to nothing, or to one
//! that nobody asked for.
//!
//! Arguments: [`WorkloadArgs`]. Cost: a few nanoseconds per node that was touched; pods that ask
//! for more than CPU and memory, and interactive ones, are asked about node by node.

use framework::{
    FINE, MAX_SCORE, Plugin, Rank, Reach, Rows, Scores, UNFIT, View, WorkloadArgs, sweep_by_node,
};
use model::{Catalog, Class, Levels, NodeId, ResourceId, Workload, is_gpu};

use crate::node_resources::vector::{self, Kernel};
use crate::node_resources::whole::{exact, floor, integer, ratio, within};
use crate::profile_classifier::workload_of;

/// The best score.
const BEST: i32 = MAX_SCORE * FINE;

pub(crate) struct WorkloadAware {
    args: WorkloadArgs,
    leaves_gpus: bool,
}

impl WorkloadAware {
    /// `leaves_gpus` if another plugin ranks nodes by their GPUs.
    pub(crate) fn new(args: WorkloadArgs, leaves_gpus: bool) -> Self {
        Self { args, leaves_gpus }
    }

    /// How much a resource counts.
    fn weight(&self, resource: &str) -> i64 {
        let listed = |name: &str| self.args.weights.iter().find(|entry| entry.name == name);
        let of_gpus = || is_gpu(resource).then(|| listed(WorkloadArgs::GPUS)).flatten();
        listed(resource).or_else(of_gpus).map_or(0, |entry| entry.weight)
    }
}

impl Plugin for WorkloadAware {
    fn name(&self) -> &'static str {
        "WorkloadAware"
    }
}

impl Rank for WorkloadAware {
    fn prepare(&self, catalog: &Catalog, class: &Class) -> Option<Box<dyn Scores>> {
        if self.leaves_gpus && class.gpus.is_some() {
            return None;
        }
        let asked = class.spec.requests.charge.amounts.named().filter(|(_, amount)| *amount > 0);
        let asked = asked.filter_map(|(name, amount)| {
            let resource = catalog.find_resource(name)?;
            let weight = i16::try_from(self.weight(name)).ok().filter(|weight| *weight > 0)?;
            Some(Asked { resource, amount, weight: f64::from(weight) })
        });
        // In the order of names, and not of numbers: the order decides how sums are rounded.
        let asked: Vec<_> = asked.collect();
        let manner = match workload_of(class) {
            Workload::Batch | Workload::Training => Manner::Pack,
            Workload::Service | Workload::Inference => Manner::PackLightly,
            Workload::Interactive => Manner::Spread,
        };
        let pair = Pair::of(&asked, manner);
        let leaves_gpus = self.leaves_gpus;
        (!asked.is_empty()).then(|| Box::new(Fill { asked, manner, pair, leaves_gpus }) as _)
    }
}

/// What becomes of fullness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    Pack,
    PackLightly,
    Spread,
}

impl Manner {
    /// The score of a full node, or for those that are spread of one that is left empty.
    fn best(self) -> i32 {
        match self {
            Self::Pack | Self::Spread => BEST,
            Self::PackLightly => BEST / 10,
        }
    }
}

/// What a pod asks of a resource, and how much that counts.
#[derive(Clone, Copy)]
struct Asked {
    resource: ResourceId,
    amount: i64,
    weight: f64,
}

struct Fill {
    asked: Vec<Asked>,
    manner: Manner,
    pair: Option<Pair>,
    leaves_gpus: bool,
}

impl Fill {
    fn score(&self, view: View<'_>, node: NodeId) -> i32 {
        if self.leaves_gpus && view.usage.columns().plain[node.index()] == 0.0 {
            return 0;
        }
        let (offer, load) = (&view.catalog.offer(node).amounts, view.usage.load(node));
        let shares = self.asked.iter().map(|asked| {
            let taken = load.of(asked.resource).saturating_add(asked.amount);
            (taken, offer.of(asked.resource), asked.weight)
        });
        // A node without any of it is no good, and above all not an empty one.
        let Some(filled) = filled(shares, self.manner.best()) else { return 0 };
        match self.manner {
            Manner::Pack | Manner::PackLightly => filled,
            Manner::Spread if view.usage.inside(node).is_some_and(|it| it.has_exclusive()) => 0,
            Manner::Spread => BEST - filled,
        }
    }
}

/// How full a node is where `best` means full: what is taken and offered of resources, and how much
/// each counts. Resources that it does not have do not count; nothing if it has none of them.
fn filled(shares: impl Iterator<Item = (i64, i64, f64)>, best: i32) -> Option<i32> {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (taken, offered, weight) in shares.filter(|(_, offered, _)| *offered > 0) {
        sum += share(taken, offered) * weight;
        weights += weight;
    }
    (weights > 0.0).then(|| integer(floor(sum * (f64::from(best) / weights))))
}

#[expect(clippy::cast_precision_loss, reason = "rows of columns, which must agree, are exact")]
fn share(taken: i64, offered: i64) -> f64 {
    taken.clamp(0, offered) as f64 / offered as f64
}

impl Scores for Fill {
    fn reach(&self) -> Reach {
        Reach::Load
    }

    fn is_fine(&self) -> bool {
        true
    }

    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        nodes.iter().zip(out).for_each(|(node, out)| *out = self.score(view, *node));
    }

    fn sweep(&self, view: View<'_>, rows: Rows<'_>, weight: i32, totals: &mut [i32]) {
        match self.pair {
            Some(pair) => {
                let with_gpus = if self.leaves_gpus { 0.0 } else { 1.0 };
                vector::run(Sweep { pair, with_gpus, rows, weight, totals });
            }
            None => sweep_by_node(self, view, rows, weight, totals),
        }
    }
}

/// What is asked of CPU and memory, each with its weight, and what a whole of both scores.
#[derive(Clone, Copy)]
struct Pair {
    cpu: (f64, f64),
    memory: (f64, f64),
    scale: f64,
}

impl Pair {
    /// For pods that are packed by CPU and memory, or one of them, and nothing else.
    fn of(asked: &[Asked], manner: Manner) -> Option<Self> {
        let is_one = |asked: &Asked| matches!(asked.resource, ResourceId::CPU | ResourceId::MEMORY);
        if manner == Manner::Spread || !asked.iter().all(is_one) {
            return None;
        }
        let part = |resource| {
            let asked = asked.iter().find(|asked| asked.resource == resource);
            asked.map_or(Some((0.0, 0.0)), |asked| Some((exact(asked.amount)?, asked.weight)))
        };
        let (cpu, memory) = (part(ResourceId::CPU)?, part(ResourceId::MEMORY)?);
        Some(Self { cpu, memory, scale: f64::from(manner.best()) / (cpu.1 + memory.1) })
    }
}

/// Adds scores of packed pods. The order of operations is that of [`filled`].
struct Sweep<'a> {
    pair: Pair,
    /// What the score of a node with GPUs counts for.
    with_gpus: f64,
    rows: Rows<'a>,
    weight: i32,
    totals: &'a mut [i32],
}

impl Kernel for Sweep<'_> {
    // Hot: once per pod of a shape that was not seen before, and once per touched node.
    #[inline(always)]
    fn run<const IS_FUSED: bool>(self) {
        let Self { pair: Pair { cpu, memory, scale }, with_gpus, rows, weight, totals } = self;
        let count = totals.len();
        let plain = rows.of(&rows.columns.plain, count);
        let [a, b, c] = columns(&rows.columns.cpu).map(|column| rows.of(column, count));
        let [d, e, f] = columns(&rows.columns.memory).map(|column| rows.of(column, count));
        let rows = a.iter().zip(b).zip(c).zip(d.iter().zip(e).zip(f)).zip(plain);
        for (total, ((((a, b), c), ((d, e), f)), plain)) in totals.iter_mut().zip(rows) {
            let of_cpu = share_with::<IS_FUSED>([*a, *b, *c], cpu.0) * cpu.1;
            let of_memory = share_with::<IS_FUSED>([*d, *e, *f], memory.0) * memory.1;
            let part = if *plain == 0.0 { with_gpus } else { 1.0 };
            let score = integer(floor((of_cpu + of_memory) * scale * part));
            let added = total.wrapping_add(weight.wrapping_mul(score));
            *total = if *total == UNFIT { UNFIT } else { added };
        }
    }
}

#[inline(always)]
fn columns(levels: &Levels) -> [&[f64]; 3] {
    [&levels.free, &levels.offered, &levels.inverse]
}

#[inline(always)]
fn share_with<const IS_FUSED: bool>([free, offered, inverse]: [f64; 3], asked: f64) -> f64 {
    ratio::<IS_FUSED>(within(offered - free + asked, 0.0, offered), offered, inverse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fullness_by_table() {
        type Share = (i64, i64, f64);
        // What is taken, offered and weighed of each resource, and how full that is.
        let nothing: [&[Share]; 2] = [&[], &[(1, 0, 6.0)]];
        assert!(nothing.iter().all(|shares| filled(shares.iter().copied(), BEST).is_none()));
        let table: [(&[Share], i32); 6] = [
            (&[(1, 4, 6.0)], 25_000),
            (&[(1, 3, 6.0)], 33_333),
            (&[(9, 4, 6.0), (-9, 4, 4.0)], 60_000),
            (&[(2, 4, 6.0), (1, 4, 4.0)], 40_000),
            // GPUs dominate; what the node has not does not count.
            (&[(4, 4, 6.0), (4, 4, 4.0), (1, 8, 80.0)], 22_222),
            (&[(2, 4, 6.0), (1, 4, 4.0), (1, 0, 80.0)], 40_000),
        ];
        for (shares, expected) in table {
            assert_eq!(filled(shares.iter().copied(), BEST), Some(expected), "{shares:?}");
        }
        assert_eq!(filled([(i64::MAX, i64::MAX, 3.0)].into_iter(), BEST), Some(BEST));
    }
}
