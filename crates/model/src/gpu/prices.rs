//! What free GPUs are worth to the pods that are yet to come, and what a placement costs them.
//!
//! The worth of a node is what pods of the learnt mix could use of its GPUs, with the CPU and
//! memory that are left beside them: whole GPUs, parts of shared ones, and slots, which are several
//! whole GPUs of one island. A placement costs what the node is worth less after it, and the price
//! of its model if other pods can run nowhere else. One is a GPU.

use serde::{Deserialize, Serialize};

use super::layout::{GpuLayout, GpuModel};
use super::wish::WHOLE_MILLI;
use crate::hardware::GpuLink;
use crate::usage::GpuPool;

/// What numbers are counted in.
pub(super) const UNIT: f64 = 1e6;
/// How far what single pods need beside a GPU is from what they need on average, for one GPU.
const SPREAD: f64 = 0.5;
/// A model is scarce beyond this: what is asked of it by pods that can run nowhere else, as a part
/// of what is left of it.
const SCARCE: u32 = 700_000;
/// Islands are kept from small requests while so much is expected of slots, as a part of those that
/// are there.
const PRESSING: u32 = 800_000;
/// What is different by less is the same.
const MOVED: u32 = 2_000;
const PART_MOVED: u32 = 10_000;
const QUALITY_MAX: f64 = 1.0 / 0.3;
/// A part of a GPU in which what is left of it is counted.
const PART_MILLI: u16 = WHOLE_MILLI / 100;

/// What free GPUs are worth, in millionths of a GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuPrices {
    /// What is left of a GPU, by hundredths from none to all.
    pub(super) parts: Box<[u32]>,
    /// What is needed beside GPUs; of models that some pods cannot use, the first is for all
    /// others.
    pub(super) beside: Box<[Beside]>,
    /// Slots of several GPUs.
    pub(super) slots: Box<[Slot]>,
    /// A node of which nothing is taken, for jobs of several such.
    pub(super) whole_node: u32,
    /// How scarce models are, by their numbers.
    pub(super) scarcity: Box<[u32]>,
    /// How much is expected of slots of more than two GPUs, as a part of those that are there; none
    /// as long as too little was learnt, or nobody asked for such.
    pub(super) pressure: Option<u32>,
}

/// What pods need beside GPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Beside {
    /// Models that these are about, bit 0 being the first.
    pub(super) models: u64,
    /// Shapes: which part of the demand they are in millionths, thousandths of a CPU and MiB of
    /// memory for a GPU.
    pub(super) shapes: Box<[(u32, u32, u32)]>,
    /// The means of these.
    pub(super) mean: (u32, u32),
}

/// Several whole GPUs that pods ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Slot {
    pub(super) gpus: u32,
    /// What one is worth beyond its GPUs.
    pub(super) worth: u32,
    /// Thousandths of a CPU and MiB of memory that pods of this size need.
    pub(super) cpu: u32,
    pub(super) memory: u32,
}

/// What is left of a node beside its GPUs: thousandths of a CPU, MiB of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftBeside {
    /// Thousandths of a CPU.
    pub cpu: i64,
    /// MiB of memory.
    pub memory: i64,
}

/// What of GPUs is taken by a placement: which, and how much of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taking {
    /// The GPUs, bit 0 being the first.
    pub set: u128,
    /// Of each, in thousandths.
    pub milli: u16,
}

impl Taking {
    /// Takes nothing.
    pub const NOTHING: Self = Self { set: 0, milli: 0 };
}

/// What a whole node is worth more for each size of jobs of several nodes that its super-island has
/// room for, beside one without neighbours.
const SUPER_ISLAND: f64 = 0.5;
/// There are as many sizes.
const LEVEL_MAX: u8 = 3;

/// Whether what is needed beside GPUs is another by more than a twentieth.
fn unlike(a: (u32, u32), b: (u32, u32)) -> bool {
    let far = |a: u32, b: u32| a.abs_diff(b) > a.max(b) / 20;
    far(a.0, b.0) || far(a.1, b.1)
}

/// How much slots of GPUs that reach each other so count for, beside those of which nobody tells.
fn quality(link: Option<GpuLink>) -> f64 {
    match link {
        Some(GpuLink::NvSwitch) => QUALITY_MAX,
        Some(GpuLink::NvLink) => 0.8 / 0.3,
        Some(GpuLink::Pcie) => 0.5 / 0.3,
        None => 1.0,
    }
}

impl GpuPrices {
    /// How scarce a model is: what is asked of it by pods that can run nowhere else, as a part of
    /// what is left of it, in millionths.
    #[must_use]
    pub fn scarcity(&self, model: Option<GpuModel>) -> u32 {
        let at = model.map(|model| usize::from(model.0));
        at.and_then(|at| self.scarcity.get(at)).copied().unwrap_or(0)
    }

    /// Whether a model had better be left to pods that can run nowhere else.
    #[must_use]
    pub fn is_scarce(&self, model: Option<GpuModel>) -> bool {
        self.scarcity(model) > SCARCE
    }

    /// Whether islands are kept from small requests: unless it was learnt that there are more than
    /// large requests will need.
    #[must_use]
    pub fn is_guarding(&self) -> bool {
        self.pressure.is_none_or(|pressure| pressure >= PRESSING)
    }

    /// Whether these are so different that what was worked out with the others is out of date.
    #[must_use]
    pub(crate) fn differ(&self, other: &Self) -> bool {
        let far = |a: u32, b: u32| a.abs_diff(b) > MOVED.max(a.max(b) / 20);
        let parts = self.parts.iter().zip(&other.parts).any(|(a, b)| a.abs_diff(*b) > PART_MOVED);
        let slots = self.slots.iter().zip(&other.slots).any(|(a, b)| {
            a.gpus != b.gpus
                || far(a.worth, b.worth)
                || unlike((a.cpu, a.memory), (b.cpu, b.memory))
        });
        let scarcity = self.scarcity.iter().zip(&other.scarcity).any(|(a, b)| far(*a, *b));
        let beside = self.beside.iter().zip(&other.beside).any(|(a, b)| {
            a.models != b.models
                || a.shapes.len().abs_diff(b.shapes.len()) * 20 > a.shapes.len()
                || unlike(a.mean, b.mean)
        });
        let counts =
            |it: &Self| [it.parts.len(), it.slots.len(), it.beside.len(), it.scarcity.len()];
        counts(self) != counts(other)
            || self.is_guarding() != other.is_guarding()
            || parts
            || slots
            || scarcity
            || beside
    }

    fn part(&self, milli: u16) -> f64 {
        let at = usize::from(milli / PART_MILLI);
        let known = self.parts.get(at).map(|worth| f64::from(*worth) / UNIT);
        known.unwrap_or(f64::from(milli) / f64::from(WHOLE_MILLI))
    }

    fn beside(&self, model: Option<GpuModel>) -> Option<&Beside> {
        let bit = model.map_or(0, |model| 1_u64.checked_shl(model.0.into()).unwrap_or(0));
        let own = self.beside.iter().skip(1).find(|beside| beside.models & bit != 0);
        own.or(self.beside.first())
    }

    /// What a node is worth with this taken of it, counting slots of more than so many GPUs.
    // Hot: twice per node that a pod with GPUs is looked at on.
    fn worth(&self, pool: &GpuPool, left: LeftBeside, taking: Taking, above: u32) -> f64 {
        let layout = pool.layout();
        let mut gpus = 0.0;
        for at in 0..layout.count() {
            let taken = if taking.set >> at & 1 == 1 { taking.milli } else { 0 };
            gpus += self.part(pool.left(at).saturating_sub(taken));
        }
        let free = pool.free() & !taking.set;
        self.usable(gpus, left, layout.model) + self.slots(layout, free, left, above)
    }

    /// What pods can use of GPUs with what is left beside them.
    fn usable(&self, gpus: f64, left: LeftBeside, model: Option<GpuModel>) -> f64 {
        let Some(Beside { shapes, mean, .. }) = self.beside(model) else { return gpus };
        let (cpu, memory) = (left.cpu.max(0) as f64, left.memory.max(0) as f64);
        let (mean_cpu, mean_memory) = (f64::from(mean.0), f64::from(mean.1));
        // Several pods together need what is closer to the mean.
        let spread = SPREAD / gpus.max(1.0).sqrt();
        let mut usable = 0.0;
        for (weight, needs_cpu, needs_memory) in shapes {
            let needs_cpu = (mean_cpu + (f64::from(*needs_cpu) - mean_cpu) * spread).max(1.0);
            let needs_memory =
                (mean_memory + (f64::from(*needs_memory) - mean_memory) * spread).max(1.0);
            let most = gpus.min(cpu / needs_cpu).min(memory / needs_memory);
            usable += f64::from(*weight) / UNIT * most;
        }
        usable
    }

    /// What slots of whole GPUs are worth beyond the GPUs.
    fn slots(&self, layout: &GpuLayout, free: u128, left: LeftBeside, above: u32) -> f64 {
        let quality = quality(layout.link);
        let (whole, mut worth) = (free.count_ones(), 0.0);
        for slot in self.slots.iter().filter(|slot| slot.gpus > above) {
            let of_island = |island: &u128| (free & island).count_ones() / slot.gpus;
            let near: u32 = layout.islands().iter().map(of_island).sum();
            let beside = |left: i64, needed: u32| left.max(0) / i64::from(needed.max(1));
            let most = beside(left.cpu, slot.cpu).min(beside(left.memory, slot.memory));
            let most = u32::try_from(most).unwrap_or(u32::MAX);
            let near = near.min(most);
            // What lies in several islands is less.
            let apart = (whole / slot.gpus).min(most).saturating_sub(near);
            let count = f64::from(near) + 0.5 * f64::from(apart);
            worth += f64::from(slot.worth) / UNIT * quality * count;
        }
        let is_whole = free == layout.healthy() && layout.count() > 1;
        worth + if is_whole { self.whole_node(layout) } else { 0.0 }
    }

    /// What a placement costs those that are yet to come, in GPUs. `level` is for how many sizes of
    /// jobs of several nodes the node's super-island has room, as long as the node is whole.
    #[must_use]
    pub fn cost(
        &self,
        pool: &GpuPool,
        before: LeftBeside,
        after: LeftBeside,
        taking: Taking,
        level: u8,
    ) -> f64 {
        let count = taking.set.count_ones();
        // Slots of its own size, and smaller ones, are lost wherever it goes.
        let worth = self.worth(pool, before, Taking::NOTHING, count);
        let lost = worth - self.worth(pool, after, taking, count);
        let gpus = f64::from(count) * f64::from(taking.milli);
        let scarce = self.price(pool.layout().model) * gpus / f64::from(WHOLE_MILLI);
        let beyond = SUPER_ISLAND * f64::from(level.min(LEVEL_MAX));
        lost + scarce + beyond * self.whole_node(pool.layout())
    }

    fn whole_node(&self, layout: &GpuLayout) -> f64 {
        f64::from(self.whole_node) / UNIT * quality(layout.link)
    }

    /// What a GPU of a scarce model costs beyond what it is worth.
    fn price(&self, model: Option<GpuModel>) -> f64 {
        let scarcity = (f64::from(self.scarcity(model)) / UNIT).min(1.0);
        2.0 * scarcity * scarcity
    }

    /// More than any placement of so many GPUs costs.
    #[must_use]
    pub fn cost_max(&self, gpus: u32, milli: u16) -> f64 {
        let gpus = f64::from(gpus);
        let slots = self.slots.iter().map(|slot| {
            let lost = (gpus / f64::from(slot.gpus)).ceil();
            f64::from(slot.worth) / UNIT * lost
        });
        let whole_node = 1.0 + SUPER_ISLAND * f64::from(LEVEL_MAX);
        let whole_node = f64::from(self.whole_node) / UNIT * whole_node;
        let slots = slots.fold(whole_node, |sum, lost| sum + lost);
        let parts = gpus * (1.0 + 2.0 * f64::from(milli) / f64::from(WHOLE_MILLI));
        parts + QUALITY_MAX * slots
    }

    /// What is lost, in millionths of a GPU, if a pod takes a part of one of which so much is left.
    pub(crate) fn part_lost(&self, left: u16, milli: u16) -> i64 {
        let lost = self.part(left) - self.part(left.saturating_sub(milli));
        let slots = self.slots.iter().map(|slot| i64::from(slot.worth)).sum::<i64>();
        let broken = if left == WHOLE_MILLI { slots } else { 0 };
        (lost * UNIT) as i64 + broken
    }
}
