//! What pods of the trace ask for.

use super::WHOLE_GPU;

/// What a pod asks for. Many pods ask for the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shape {
    pub(super) ask: Ask,
    pub(super) memory_mib: u64,
}

/// What FGD looks at: everything but memory. The order is that of the published implementation,
/// in which it decides which of two equally popular pods counts as typical.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ask {
    pub(super) cpu_milli: u64,
    /// Of every GPU; 0 if it asks for none.
    pub(super) gpu_milli: u64,
    pub(super) gpus: usize,
    pub(super) models: Models,
}

/// GPU models a pod accepts, separated by bars: any if it names none.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Models(pub(super) Box<str>);

impl Models {
    /// Whether a GPU of a model will do.
    pub(super) fn accept(&self, model: &str) -> bool {
        self.0.is_empty() || self.0.split('|').any(|accepted| accepted == model)
    }
}

/// A shape, by its place in the trace's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShapeAt(pub(super) usize);

impl Shape {
    /// What it asks for of all GPUs together.
    pub(super) fn demand_milli(&self) -> u64 {
        self.ask.gpu_milli * self.ask.gpus as u64
    }

    /// Whether it asks for a part of one GPU.
    pub(super) fn is_shared(&self) -> bool {
        self.ask.gpus == 1 && self.ask.gpu_milli < WHOLE_GPU
    }
}
