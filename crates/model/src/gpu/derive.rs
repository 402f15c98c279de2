//! Works out what free GPUs are worth from what pods ask for and from what is free.

use std::collections::BTreeMap;

use super::cutting::{PARTS, Piece, prices, worths};
use super::demand::{ANY_MODEL, GpuShape};
use super::prices::{Beside, GpuPrices, Slot, UNIT};
use crate::usage::GpuPool;

/// Shapes beyond the most frequent ones count as those that they are most like.
const SHAPES_MAX: usize = 64;
/// How much a sliver counts for that some pods could use, beside what it is worth if GPUs are cut
/// in the best way.
const CHANCE: f64 = 0.1;
/// What slots are worth at least, for each of their GPUs: as long as little was learnt, and then.
/// More would keep GPUs from pods that are there, for others that are not to be expected.
const SLOT_UNKNOWN: f64 = 0.01;
const SLOT_LEAST: f64 = 0.001;
/// Slots that are always kept in mind.
const SLOT_SIZES: [u32; 3] = [2, 4, 8];
/// Jobs of more GPUs than this are large.
const SMALL: u32 = 2;
/// What slots are worth if as many are asked for as there are, for each of their GPUs.
const SLOT_SHORT: f64 = 0.05;
/// How many times more can be asked for before it does not matter any more.
const SHORT_MAX: f64 = 1.5;
/// The same for a node of which nothing is taken, for jobs of several such.
const WHOLE_NODE_UNKNOWN: f64 = 0.03;
const WHOLE_NODE_LEAST: f64 = 0.003;

/// What is free on a node.
pub(crate) struct FreeNode<'a> {
    /// Its GPUs.
    pub pool: &'a GpuPool,
    /// Thousandths of a CPU.
    pub cpu: i64,
    /// MiB of memory.
    pub memory: i64,
}

/// What free GPUs are worth if pods ask for these shapes.
pub(crate) fn derive(
    demand: &[(GpuShape, u64)],
    is_learnt: bool,
    nodes: &[FreeNode<'_>],
    models: usize,
) -> GpuPrices {
    let all: Vec<(GpuShape, f64)> =
        demand.iter().map(|(shape, weight)| (*shape, *weight as f64)).collect();
    let mix = gathered(&all);
    let pieces = pieces(&mix);
    let piece_prices = prices(&pieces);
    let parts = parts(&pieces, &worths(&pieces, &piece_prices));
    let supply = Supply::new(nodes, &parts, models);
    let needs = |shape: &GpuShape| -> f64 {
        let size = size_of(shape);
        let piece = pieces.iter().position(|piece| shape.is_shared() && piece.size == size);
        let each = piece.map_or(f64::from(shape.milli) / 1000.0, |at| piece_prices[at]);
        f64::from(shape.count) * each
    };
    let whole: f64 = all.iter().fold(0.0, |sum, (shape, weight)| sum + weight * needs(shape));
    let scale = supply.whole / whole.max(1e-9);
    let (least, whole_node) = match is_learnt {
        true => (SLOT_LEAST, WHOLE_NODE_LEAST),
        false => (SLOT_UNKNOWN, WHOLE_NODE_UNKNOWN),
    };
    let (slots, pressure) = slots(&all, nodes, scale, least);
    let has_large = all.iter().any(|(shape, _)| shape.count > SMALL && !shape.is_shared());
    GpuPrices {
        beside: beside(&mix, models),
        slots,
        pressure: Some(fixed(pressure)).filter(|_| is_learnt && has_large),
        whole_node: fixed(whole_node),
        scarcity: scarcity(&all, &supply, whole, needs),
        parts: parts.iter().map(|worth| fixed(*worth)).collect(),
    }
}

fn fixed(value: f64) -> u32 {
    (value * UNIT).round().clamp(0.0, f64::from(u32::MAX)) as u32
}

/// The size of a part of a GPU, in hundredths.
fn size_of(shape: &GpuShape) -> usize {
    usize::from(shape.milli).div_ceil(10)
}

/// The most frequent shapes, with what the others count for added to those they are most like.
fn gathered(all: &[(GpuShape, f64)]) -> Vec<(GpuShape, f64)> {
    let mut kept = all.to_vec();
    kept.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let rest = kept.split_off(kept.len().min(SHAPES_MAX));
    for (shape, weight) in rest {
        let unlike = |other: &GpuShape| {
            let gpus = u64::from(shape.count.abs_diff(other.count)) * 1_000_000;
            let models = if shape.models == other.models { 0 } else { 100_000 };
            let milli = u64::from(shape.milli.abs_diff(other.milli)) * 20;
            let beside = shape.cpu.abs_diff(other.cpu) + shape.memory.abs_diff(other.memory) / 4;
            gpus.saturating_add(models + milli).saturating_add(beside)
        };
        let nearest = kept.iter_mut().min_by_key(|(other, _)| unlike(other));
        if let Some((other, sum)) = nearest {
            *sum += weight * shape.gpu_milli() as f64 / (other.gpu_milli() as f64).max(1.0);
        }
    }
    kept
}

/// Parts of GPUs that are asked for.
fn pieces(mix: &[(GpuShape, f64)]) -> Vec<Piece> {
    let mut sizes: BTreeMap<usize, f64> = BTreeMap::new();
    for (shape, weight) in mix.iter().filter(|(shape, _)| shape.is_shared()) {
        *sizes.entry(size_of(shape).clamp(1, PARTS - 1)).or_default() +=
            weight * f64::from(shape.count);
    }
    sizes.into_iter().map(|(size, weight)| Piece { size, weight }).collect()
}

/// What is left of a GPU is worth: mostly by the best way to cut one, a little by who could use it.
fn parts(pieces: &[Piece], best: &[f64]) -> Vec<f64> {
    let amount = |piece: &Piece| piece.weight * piece.size as f64;
    let all = pieces.iter().map(amount).fold(0.0, |sum, one| sum + one).max(1e-9);
    let worth = |left: usize| {
        let fits = pieces.iter().filter(|piece| piece.size <= left);
        let used = fits.map(amount).fold(0.0, |sum, one| sum + one) / all;
        (1.0 - CHANCE) * best[left] + CHANCE * used * left as f64 / PARTS as f64
    };
    let mut parts: Vec<f64> = (0..=PARTS).map(worth).collect();
    parts[PARTS] = 1.0;
    parts
}

/// What is free, in GPUs.
struct Supply {
    /// By model.
    models: Vec<f64>,
    whole: f64,
}

impl Supply {
    fn new(nodes: &[FreeNode<'_>], parts: &[f64], models: usize) -> Self {
        let mut supply = Self { models: vec![0.0; models], whole: 0.0 };
        for node in nodes {
            let layout = node.pool.layout();
            let left = (0..layout.count()).map(|at| usize::from(node.pool.left(at) / 10));
            let worth = left.map(|left| parts[left]).fold(0.0, |sum, one| sum + one);
            supply.whole += worth;
            let model = layout.model.and_then(|it| supply.models.get_mut(usize::from(it.0)));
            model.into_iter().for_each(|sum| *sum += worth);
        }
        supply
    }
}

/// What pods need beside GPUs: of all, and of those that can use a model where some cannot.
fn beside(mix: &[(GpuShape, f64)], models: usize) -> Box<[Beside]> {
    if mix.is_empty() {
        return Box::default();
    }
    let of = |model: Option<usize>| {
        let takes = |shape: &GpuShape| model.is_none_or(|model| shape.models >> model & 1 == 1);
        let users = || mix.iter().filter(|(shape, _)| takes(shape));
        let amount = |(shape, weight): &(GpuShape, f64)| weight * shape.gpu_milli() as f64;
        let all = users().map(amount).fold(0.0, |sum, one| sum + one).max(1e-9);
        let (mut mean, mut shapes) = ((0.0, 0.0), Vec::new());
        for entry in users() {
            let (shape, part) = (&entry.0, amount(entry) / all);
            let gpus = shape.gpu_milli() as f64 / 1000.0;
            let (cpu, memory) = (shape.cpu as f64 / gpus, shape.memory as f64 / gpus);
            mean = (mean.0 + part * cpu, mean.1 + part * memory);
            let clamped = |value: f64| value.round().clamp(0.0, f64::from(u32::MAX)) as u32;
            shapes.push((fixed(part), clamped(cpu), clamped(memory)));
        }
        let models = model.map_or(0, |model| 1 << model);
        let mean = (mean.0.round() as u32, mean.1.round() as u32);
        Beside { models, shapes: shapes.into(), mean }
    };
    let differs = |model: &usize| mix.iter().any(|(shape, _)| shape.models >> model & 1 == 0);
    let own = (0..models.min(64)).filter(differs).map(|model| of(Some(model)));
    std::iter::once(of(None)).chain(own).collect()
}

/// What slots of several GPUs are worth: more, the fewer there are for those that ask for them.
/// Also how short those of more than two GPUs are at most. `scale` turns what is asked for into
/// what is to be expected until nothing is free.
fn slots(
    all: &[(GpuShape, f64)],
    nodes: &[FreeNode<'_>],
    scale: f64,
    least: f64,
) -> (Box<[Slot]>, f64) {
    let mut asked: BTreeMap<u32, [f64; 4]> = BTreeMap::new();
    for (shape, weight) in all.iter().filter(|(shape, _)| shape.count > 1 && !shape.is_shared()) {
        let sums = asked.entry(shape.count).or_default();
        let added = [1.0, f64::from(shape.count), shape.cpu as f64, shape.memory as f64];
        sums.iter_mut().zip(added).for_each(|(sum, one)| *sum += weight * one);
    }
    SLOT_SIZES.iter().for_each(|size| _ = asked.entry(*size).or_default());
    let mut pressure = 0.0_f64;
    let slot = |(gpus, [weight, _, cpu, memory]): (&u32, &[f64; 4])| {
        let each = |sum: f64| (sum / weight.max(1e-9)).clamp(0.0, f64::from(u32::MAX)) as u32;
        let (cpu, memory) = (each(*cpu), each(*memory));
        let there = nodes.iter().map(|node| {
            let beside = |left: i64, needed: u32| left.max(0) / i64::from(needed.max(1));
            let most = beside(node.cpu, cpu).min(beside(node.memory, memory));
            i64::from(node.pool.free().count_ones() / gpus).min(most) as f64
        });
        let there = there.fold(0.0, |sum, one| sum + one) * f64::from(*gpus);
        // Larger ones are cut out of the same.
        let larger = asked.range(gpus..).map(|(_, sums)| sums[1]);
        let expected = larger.fold(0.0, |sum, one| sum + one) * scale;
        let short = match there > 0.0 {
            true => (expected / there).min(SHORT_MAX),
            false if expected > 0.0 => SHORT_MAX,
            false => 0.0,
        };
        if *gpus > SMALL {
            pressure = pressure.max(short);
        }
        let cube = short * short * short;
        let worth = (SLOT_SHORT * cube * cube).max(least) * f64::from(*gpus);
        Slot { gpus: *gpus, worth: fixed(worth), cpu, memory }
    };
    (asked.iter().map(slot).collect(), pressure)
}

/// How scarce models are: what is asked for by pods that can run on few models, spread over those,
/// the pickiest first, as a part of what is left.
fn scarcity(
    all: &[(GpuShape, f64)],
    supply: &Supply,
    whole: f64,
    needs: impl Fn(&GpuShape) -> f64,
) -> Box<[u32]> {
    let mut sets: BTreeMap<(u32, u64), f64> = BTreeMap::new();
    for (shape, weight) in all.iter().filter(|(shape, _)| shape.models != ANY_MODEL) {
        *sets.entry((shape.models.count_ones(), shape.models)).or_default() +=
            weight * needs(shape);
    }
    if sets.is_empty() {
        return Box::default();
    }
    let mut load = vec![0.0; supply.models.len()];
    for ((_, models), asked) in sets {
        let asked = asked / whole.max(1e-9) * supply.whole;
        let takes = |model: usize| model < 64 && models >> model & 1 == 1;
        let room: Vec<f64> = (0..load.len())
            .map(|model| {
                let free = supply.models[model];
                if takes(model) { (free - load[model]).max(0.01 * free) } else { 0.0 }
            })
            .collect();
        let sum = room.iter().fold(0.0, |sum, one| sum + one).max(1e-9);
        load.iter_mut().zip(&room).for_each(|(load, room)| *load += asked * room / sum);
    }
    let part = |(load, free): (&f64, &f64)| if *free > 0.0 { fixed(load / free) } else { 0 };
    load.iter().zip(&supply.models).map(part).collect()
}
