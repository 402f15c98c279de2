//! What is left of a node.

use super::WHOLE_GPU;
use super::shapes::Shape;

/// What is left of a node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) name: Box<str>,
    pub(super) cpu_milli: u64,
    pub(super) memory_mib: u64,
    /// Of each GPU, in thousandths.
    pub(super) gpus: Box<[u64]>,
    /// The place of its GPU model in a list without repetitions.
    pub(super) model: usize,
    pub(super) model_name: Box<str>,
}

/// Where a pod goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) node: usize,
    /// The GPU it shares; whole GPUs are alike, so none is chosen.
    pub(super) gpu: Option<usize>,
}

impl Node {
    pub(super) fn fits(&self, shape: &Shape) -> bool {
        self.memory_mib >= shape.memory_mib && self.fits_without_memory(shape)
    }

    pub(super) fn fits_without_memory(&self, shape: &Shape) -> bool {
        let ask = &shape.ask;
        self.cpu_milli >= ask.cpu_milli
            && (ask.gpus == 0
                || self.gpus_for(shape).count() >= ask.gpus && ask.models.accept(&self.model_name))
    }

    /// The GPUs that have enough left for it.
    pub(super) fn gpus_for(&self, shape: &Shape) -> impl Iterator<Item = usize> {
        let milli = shape.ask.gpu_milli;
        self.gpus.iter().enumerate().filter(move |(_, left)| **left >= milli).map(|(at, _)| at)
    }

    pub(super) fn gpu_milli(&self) -> u64 {
        self.gpus.iter().sum()
    }

    /// Takes away what a pod that fits asks for. Gives back which GPUs these are: the chosen one,
    /// or the first of which nothing is taken.
    pub(super) fn place(&mut self, shape: &Shape, gpu: Option<usize>) -> Box<[usize]> {
        let gpus: Box<[usize]> = match gpu {
            Some(gpu) => [gpu].into(),
            None => whole(&self.gpus, shape.ask.gpus).collect(),
        };
        self.take(shape, &gpus);
        gpus
    }

    /// Takes away what a pod that fits asks for, of these GPUs.
    pub(super) fn take(&mut self, shape: &Shape, gpus: &[usize]) {
        self.cpu_milli -= shape.ask.cpu_milli;
        self.memory_mib -= shape.memory_mib;
        gpus.iter().for_each(|gpu| self.gpus[*gpu] -= shape.ask.gpu_milli);
    }

    /// Gives back what a pod took of it.
    pub(super) fn release(&mut self, shape: &Shape, gpus: &[usize]) {
        self.cpu_milli += shape.ask.cpu_milli;
        self.memory_mib += shape.memory_mib;
        gpus.iter().for_each(|gpu| self.gpus[*gpu] += shape.ask.gpu_milli);
    }
}

/// Takes the first GPUs of which nothing is taken.
pub(super) fn take_whole(gpus: &mut [u64], count: usize) {
    let free = gpus.iter_mut().filter(|left| **left == WHOLE_GPU).take(count);
    free.for_each(|left| *left = 0);
}

/// The first GPUs of which nothing is taken.
fn whole(gpus: &[u64], count: usize) -> impl Iterator<Item = usize> {
    let free = gpus.iter().enumerate().filter(|(_, left)| **left == WHOLE_GPU);
    free.map(|(at, _)| at).take(count)
}
