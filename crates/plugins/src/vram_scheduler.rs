//! Places pods where GPUs are left that have what they ask for: whole ones, with enough memory and
//! all of one model, or parts of GPUs that several pods may share.
//!
//! A part is given only where something lets pods share a GPU: time-slicing or MPS replicas that
//! the node advertises. A GPU is whole or shared, and never both. Nodes are ranked by how much of
//! their GPUs' memory a pod asks for, so that small requests leave large cards alone.
//!
//! Arguments: [`VramArgs`]. Cost: pods without GPUs are not looked at; for others a few comparisons
//! for every node that was touched.

use std::sync::Arc;

use framework::{FINE, Feasible, Narrow, Plugin, Rank, Reach, Scores, Verdict, View, VramArgs};
use model::{Catalog, Class, GpuAsk, GpuFault, GpuPool, NodeId, Reason, WHOLE_MILLI};

/// What the memory counts for, of a hundred; the rest is for how near GPUs are to each other.
const FIT_POINTS: u64 = 60;

pub(crate) struct VramScheduler {
    args: VramArgs,
}

impl VramScheduler {
    pub(crate) fn new(args: VramArgs) -> Self {
        Self { args }
    }
}

impl Plugin for VramScheduler {
    fn name(&self) -> &'static str {
        "VRAMScheduler"
    }
}

impl Feasible for VramScheduler {
    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Narrow>> {
        let fault = class.spec.gpu.as_ref().and_then(|wish| wish.fault.clone());
        if let Some(fault) = fault {
            return Some(Box::new(Broken { fault }));
        }
        let ask = class.gpus.clone()?;
        Some(Box::new(Asked { needed: needed(&ask, self.args), ask, args: self.args }))
    }
}

impl Rank for VramScheduler {
    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Scores>> {
        let ask = class.gpus.clone().filter(|ask| ask.memory > 0)?;
        Some(Box::new(Ranked { needed: needed(&ask, self.args), ask }))
    }
}

/// The memory that a GPU must have for a pod, with what is kept free of it.
fn needed(ask: &GpuAsk, args: VramArgs) -> u64 {
    let left = 1000 - u128::from(args.headroom_milli.min(999));
    let needed = (u128::from(ask.memory) * 1000).div_ceil(left);
    u64::try_from(needed).unwrap_or(u64::MAX)
}

/// A class that asks for something that makes no sense.
struct Broken {
    fault: GpuFault,
}

impl Narrow for Broken {
    fn reach(&self) -> Reach {
        Reach::Load
    }

    fn before(&self, _: View<'_>) -> Verdict {
        Verdict::Refused(Reason::Gpu(self.fault.clone()))
    }

    fn why_not(&self, _: View<'_>, _: NodeId) -> Vec<Reason> {
        vec![Reason::Gpu(self.fault.clone())]
    }
}

/// A class that asks for GPUs.
struct Asked {
    ask: Arc<GpuAsk>,
    needed: u64,
    args: VramArgs,
}

impl Asked {
    fn fault(&self, view: View<'_>, node: NodeId) -> Option<GpuFault> {
        let Some(pool) = view.usage.gpus_for(&self.ask, node) else {
            // Whether there are enough of them is another plugin's to say; more is not known.
            return match self.ask.is_shared() {
                true => Some(GpuFault::NoSharing),
                false => (self.needed > 0).then_some(GpuFault::MemoryUnknown),
            };
        };
        let part = match pool.part(&self.ask) {
            Ok(part) => part,
            Err(fault) => return Some(fault),
        };
        let layout = pool.layout();
        if self.needed > 0 && layout.is_memory_unknown() {
            return Some(GpuFault::MemoryUnknown);
        }
        let suited = if self.needed > 0 { layout.with_memory(self.needed) } else { layout.all() };
        let has_enough = |set: u128| {
            let most = |models: &u128| (set & models).count_ones();
            let found = match self.args.allows_mixed {
                true => set.count_ones(),
                false => layout.models().iter().map(most).max().unwrap_or(0),
            };
            found >= self.ask.count
        };
        if has_enough(pool.with_left(part) & suited) {
            return None;
        }
        Some(match part {
            _ if !has_enough(layout.healthy() & suited) => self.never(pool),
            WHOLE_MILLI => GpuFault::NoneFree,
            _ => GpuFault::ShareFull,
        })
    }

    /// Why even an empty node would not do. That it offers too few of them is another plugin's to
    /// say, and what leaves it could help as far as is known here.
    fn never(&self, pool: &GpuPool) -> GpuFault {
        let is_small = self.needed > 0 || pool.layout().models().len() > 1;
        if is_small { GpuFault::MemoryTooSmall } else { GpuFault::NoneFree }
    }
}

impl Narrow for Asked {
    fn reach(&self) -> Reach {
        Reach::Load
    }

    fn narrow(&self, view: View<'_>, nodes: &mut Vec<NodeId>) {
        nodes.retain(|node| self.fault(view, *node).is_none());
    }

    fn why_not(&self, view: View<'_>, node: NodeId) -> Vec<Reason> {
        self.fault(view, node).map(Reason::Gpu).into_iter().collect()
    }
}

/// A class that asks for memory of GPUs.
struct Ranked {
    ask: Arc<GpuAsk>,
    needed: u64,
}

impl Scores for Ranked {
    fn reach(&self) -> Reach {
        Reach::Load
    }

    fn is_fine(&self) -> bool {
        true
    }

    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        for (node, score) in nodes.iter().zip(out) {
            let pool = view.usage.gpus_for(&self.ask, *node);
            *score = pool.map_or(0, |pool| fit(pool, &self.ask, self.needed));
        }
    }
}

/// How much of the memory of the GPUs that a pod would get it asks for.
fn fit(pool: &GpuPool, ask: &GpuAsk, needed: u64) -> i32 {
    let layout = pool.layout();
    let part = pool.part(ask).unwrap_or(WHOLE_MILLI);
    let open = pool.with_left(part) & layout.with_memory(needed);
    let memory = |at: usize| layout.memory(at);
    let smallest = (0..layout.count()).filter(|at| open >> at & 1 == 1).map(memory).min();
    let Some(smallest) = smallest.filter(|memory| *memory > 0) else { return 0 };
    let points = u128::from(FIT_POINTS) * FINE as u128 * u128::from(ask.memory.min(smallest));
    i32::try_from(points / u128::from(smallest)).unwrap_or(0)
}
