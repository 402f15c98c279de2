//! What pods ask of GPUs, learnt from those that came: shapes and how often each was asked for,
//! the latest counting most.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ask::GpuAsk;
use super::wish::{GpuShare, WHOLE_MILLI};
use crate::catalog::Class;
use crate::time::{Millis, Time};

/// How many shapes are kept.
const SHAPES_MAX: usize = 2048;
/// What one pod that comes counts for.
const ONE: u64 = 1 << 20;
/// Shapes that count for less are forgotten.
const LEAST: u64 = ONE >> 6;
/// Bytes in which memory is told apart.
const MEMORY_UNIT: i64 = 1 << 20;
/// Pods that could go to GPUs of any model.
pub const ANY_MODEL: u64 = u64::MAX;

/// What a pod asks for, as far as it matters to those who share GPUs with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GpuShape {
    /// How many GPUs.
    pub count: u32,
    /// How much of each, in thousandths.
    pub milli: u16,
    /// Thousandths of a CPU.
    pub cpu: i64,
    /// MiB of memory.
    pub memory: i64,
    /// Models that would do, bit 0 being the first; all bits if it does not matter.
    pub models: u64,
}

impl GpuShape {
    /// What pods of a class ask for; `models` are those that would do.
    pub(crate) fn new(class: &Class, ask: &GpuAsk, models: u64) -> Self {
        let charge = &class.requests.charge.amounts;
        Self {
            count: ask.count,
            milli: match ask.share {
                Some(GpuShare::Milli(milli)) => milli,
                // How much of a GPU that is depends on the GPU.
                Some(GpuShare::Memory(_)) | None => WHOLE_MILLI,
            },
            cpu: charge.cpu.max(0),
            memory: charge.memory.max(0) / MEMORY_UNIT,
            models,
        }
    }

    /// Thousandths of GPUs that it takes together.
    #[must_use]
    pub fn gpu_milli(&self) -> u64 {
        u64::from(self.count) * u64::from(self.milli)
    }

    /// Whether it takes a part of a GPU.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.milli < WHOLE_MILLI
    }
}

/// What was asked of GPUs so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GpuDemand {
    #[serde(with = "pairs")]
    weights: BTreeMap<GpuShape, u64>,
    /// When weights were last made smaller.
    aged: Option<Time>,
    /// Whether somebody came since this was last asked.
    has_news: bool,
    /// Whether it was foretold, and nothing is to be learnt.
    is_foretold: bool,
}

impl GpuDemand {
    /// Takes in that a pod came.
    pub(crate) fn note(&mut self, shape: GpuShape) {
        // What is free may be another, even where nothing is left to learn.
        self.has_news = true;
        if self.is_foretold {
            return;
        }
        if let Some(weight) = self.weights.get_mut(&shape) {
            *weight = weight.saturating_add(ONE);
            return;
        }
        if self.weights.len() >= SHAPES_MAX {
            // What was asked for least gives way, and what it counted for goes with it.
            let rarest = self.weights.iter().map(|(shape, weight)| (*weight, *shape)).min();
            rarest.map(|(_, shape)| self.weights.remove(&shape));
        }
        self.weights.insert(shape, ONE);
    }

    /// Says what will be asked for, once and for all.
    pub(crate) fn foretell(&mut self, shapes: impl Iterator<Item = (GpuShape, u64)>) {
        let mut all: Vec<(GpuShape, u64)> = shapes.collect();
        all.sort_unstable_by_key(|(shape, count)| (std::cmp::Reverse(*count), *shape));
        all.truncate(SHAPES_MAX);
        self.weights = all.into_iter().map(|(shape, count)| (shape, count * ONE)).collect();
        (self.is_foretold, self.has_news) = (true, true);
    }

    /// Lets time pass: what was asked for a window ago counts for less than half.
    pub(crate) fn age(&mut self, now: Time, window: Millis) {
        let aged = *self.aged.get_or_insert(now);
        let passed = now.0.saturating_sub(aged.0);
        if passed == 0 || self.is_foretold {
            return;
        }
        self.aged = Some(now);
        let window = u128::from(window.0.max(1));
        let passed = u128::from(passed).min(window);
        self.weights.retain(|_, weight| {
            let lost = u128::from(*weight) * passed / window;
            *weight -= u64::try_from(lost).unwrap_or(*weight);
            *weight >= LEAST
        });
    }

    /// Whether somebody came since this was last asked.
    pub(crate) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }

    /// How many pods are remembered, those of some time ago in part.
    #[must_use]
    pub fn pods(&self) -> u64 {
        self.weights.values().fold(0_u64, |sum, weight| sum.saturating_add(*weight)) / ONE
    }

    /// Shapes with what they count for, in order.
    #[must_use]
    pub fn shapes(&self) -> Vec<(GpuShape, u64)> {
        self.weights.iter().map(|(shape, weight)| (*shape, *weight)).collect()
    }
}

/// Maps whose keys are no strings are written as pairs.
mod pairs {
    use super::{BTreeMap, Deserialize, GpuShape, Serialize};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        map: &BTreeMap<GpuShape, u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        map.iter().collect::<Vec<_>>().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<GpuShape, u64>, D::Error> {
        let pairs: Vec<(GpuShape, u64)> = Vec::deserialize(deserializer)?;
        Ok(pairs.into_iter().collect())
    }
}
