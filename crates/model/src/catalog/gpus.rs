//! How the GPUs of nodes are laid out. Nodes that are alike share a layout.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Catalog;
use super::alike::Alike;
use super::gpu_demand::Learning;
use super::nodes::Offer;
use crate::gpu::{GpuLayout, GpuModel, is_gpu};
use crate::ids::{NodeId, ResourceId};
use crate::map::Map;

/// Models beyond this many have no number of their own.
const MODELS_MAX: usize = 64;

/// The layouts of all nodes that offer GPUs.
#[derive(Default)]
pub(super) struct Gpus {
    of_node: Map<NodeId, Box<[Arc<GpuLayout>]>>,
    alike: Alike<GpuLayout>,
    /// Models by number. They are kept, as there are few.
    pub(super) models: Vec<Box<str>>,
    /// Nodes by the model of their first GPUs.
    pub(super) of_model: BTreeSet<(GpuModel, NodeId)>,
    pub(super) learning: Option<Learning>,
}

impl Gpus {
    fn model(&mut self, name: &str) -> Option<GpuModel> {
        let found = self.models.iter().position(|known| **known == *name);
        let at = found.or_else(|| {
            (self.models.len() < MODELS_MAX).then(|| {
                self.models.push(name.into());
                self.models.len() - 1
            })
        })?;
        u16::try_from(at).ok().map(GpuModel)
    }

    fn set(&mut self, node: NodeId, layouts: Vec<GpuLayout>) {
        let held: Box<[_]> = layouts.into_iter().map(|layout| self.alike.hold(layout)).collect();
        let before = match held.is_empty() {
            true => self.of_node.remove(&node),
            false => self.of_node.insert(node, held),
        };
        for layout in before.iter().flatten() {
            layout.model.map(|model| self.of_model.remove(&(model, node)));
            self.alike.release(layout);
        }
        for layout in self.of_node.get(&node).into_iter().flatten() {
            layout.model.map(|model| self.of_model.insert((model, node)));
        }
    }
}

impl Catalog {
    /// The GPUs that a node offers, resource by resource, as far as they can be told apart.
    #[must_use]
    pub fn gpu_layouts(&self, node: NodeId) -> &[Arc<GpuLayout>] {
        self.gpus.of_node.get(&node).map_or(&[], |layouts| layouts)
    }

    /// Whether a node offers GPUs, parts of them, or accelerators that are used like them.
    #[must_use]
    pub fn has_accelerators(&self, node: NodeId) -> bool {
        self.is_with_accelerators(self.nodes.offer(node))
    }

    /// Whether some are offered.
    pub(super) fn is_with_accelerators(&self, offer: &Offer) -> bool {
        let is_one = |(id, amount): &(ResourceId, i64)| {
            *amount > 0 && self.resources.name(*id).is_some_and(is_gpu)
        };
        offer.amounts.scalars.iter().any(is_one)
    }

    /// Whether any node offers GPUs.
    #[must_use]
    pub fn has_gpus(&self) -> bool {
        !self.gpus.of_node.is_empty()
    }

    /// The name of a model of GPUs.
    #[must_use]
    pub fn gpu_model(&self, model: GpuModel) -> &str {
        self.gpus.models.get(usize::from(model.0)).map_or("", |name| name)
    }

    /// Works out anew how the GPUs of a node are laid out.
    pub(super) fn lay_out_gpus(&mut self, node: NodeId) {
        let scalars = &self.nodes.offer(node).amounts.scalars;
        let is_of_gpus = |id| self.resources.name(id).is_some_and(is_gpu);
        let offered: Vec<_> = scalars.iter().copied().filter(|(id, _)| is_of_gpus(*id)).collect();
        let devices = self.devices.get(node);
        let mut layouts = Vec::with_capacity(offered.len());
        for (resource, amount) in offered {
            let told = devices.and_then(|devices| devices.get(resource));
            layouts.extend(match told {
                Some(told) => {
                    let first = told.devices.first().and_then(|device| device.model.as_deref());
                    let model = first.and_then(|name| self.gpus.model(name));
                    let others = devices.map_or(&[][..], |devices| &devices.resources);
                    GpuLayout::new(told, model, others)
                }
                None => {
                    let count = usize::try_from(amount).unwrap_or(0);
                    GpuLayout::unknown(resource, count)
                }
            });
        }
        self.gpus.set(node, layouts);
    }
}
