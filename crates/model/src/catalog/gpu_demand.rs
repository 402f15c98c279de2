//! What pods ask of GPUs and what free GPUs are worth to those that are yet to come, learnt from
//! those that came.

use serde::{Deserialize, Serialize};

use super::{Catalog, Class};
use crate::gpu::{
    ANY_MODEL, FreeNode, GpuAsk, GpuDemand, GpuModel, GpuPrices, GpuShape, SuperIslands, derive,
};
use crate::ids::{ClassId, NodeId};
use crate::map::Map;
use crate::spec::PodSpec;
use crate::time::{Millis, Time};
use crate::usage::Usage;

/// What is worked out of the demand stays for so long at least.
const KEPT: Millis = Millis::seconds(60);
/// So many pods have to have come before it counts what they did not ask for.
const LEARNT_PODS: u64 = 200;
/// How many nodes of a model are asked whether a pod could go there.
const ASKED: usize = 4;
/// How many classes it is remembered for which models would do for them.
const CLASSES_MAX: usize = 1024;
const MEMORY_UNIT: i64 = 1 << 20;

/// What was learnt, as long as a plugin wants to know.
pub(super) struct Learning {
    window: Millis,
    learnt: Learnt,
    /// As of the prices.
    super_islands: SuperIslands,
    /// Grows with the prices.
    revision: u64,
    /// Models that would do for a class, as of a number of nodes.
    accepted: Map<ClassId, (u32, u64, u64)>,
}

/// What was learnt of the demand for GPUs, as it is written down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Learnt {
    /// What pods asked for.
    pub demand: GpuDemand,
    /// What was made of it.
    pub prices: GpuPrices,
    /// When.
    pub at: Option<Time>,
    /// Models of GPUs by the numbers that these have for them; only where it is written down.
    pub models: Vec<Box<str>>,
    /// Super-islands by label and value, and for how many sizes of jobs each has room; only where
    /// it is written down.
    pub super_islands: Vec<(Box<str>, Box<str>, u8)>,
}

impl Catalog {
    /// Begins to learn what pods ask of GPUs, over some time.
    pub fn learn_gpu_demand(&mut self, window: Millis) {
        let learning = self.gpus.learning.get_or_insert_with(|| Learning {
            window,
            learnt: Learnt::default(),
            super_islands: SuperIslands::default(),
            revision: 0,
            accepted: Map::default(),
        });
        learning.window = window;
    }

    /// What free GPUs are worth, and a number that grows when that changes; nothing if nobody wants
    /// to know.
    #[must_use]
    pub fn gpu_prices(&self) -> Option<(&GpuPrices, u64)> {
        self.gpus.learning.as_ref().map(|it| (&it.learnt.prices, it.revision))
    }

    /// For how many sizes of jobs of several whole nodes the super-island of a node has room, as of
    /// the prices.
    #[must_use]
    pub fn super_island_level(&self, node: NodeId) -> u8 {
        let learning = self.gpus.learning.as_ref();
        learning.map_or(0, |it| it.super_islands.level(self.node(node), &self.symbols))
    }

    /// What was learnt, to go on from later.
    #[must_use]
    pub fn gpu_demand(&self) -> Option<Learnt> {
        self.gpus.learning.as_ref().map(|learning| Learnt {
            models: self.gpus.models.clone(),
            super_islands: learning.super_islands.written(&self.symbols),
            ..learning.learnt.clone()
        })
    }

    /// Goes on from what was learnt before. To be called before any node is taken in, because nodes
    /// give numbers to models.
    pub fn restore_gpu_demand(&mut self, mut learnt: Learnt) {
        self.gpus.models = std::mem::take(&mut learnt.models);
        let super_islands = std::mem::take(&mut learnt.super_islands);
        if let Some(learning) = &mut self.gpus.learning {
            learning.super_islands = SuperIslands::read(&super_islands, &mut self.symbols);
            learning.learnt = learnt;
            learning.revision += 1;
        }
    }

    /// Takes in that a pod of a class came.
    pub fn note_gpu_demand(&mut self, class: ClassId) {
        if self.gpus.learning.is_none() || self.class(class).gpus.is_none() {
            return;
        }
        let shape = self.gpu_shape(class);
        if let (Some(shape), Some(learning)) = (shape, &mut self.gpus.learning) {
            learning.learnt.demand.note(shape);
        }
    }

    /// Says what pods will ask for, with how many of each, once and for all.
    pub fn foretell_gpu_demand(&mut self, specs: &[(PodSpec, u64)]) {
        let mut shapes = Vec::with_capacity(specs.len());
        for (spec, count) in specs {
            let class = self.class_of(spec);
            shapes.extend(self.gpu_shape(class).map(|shape| (shape, *count)));
            self.release_class(class);
        }
        if let Some(learning) = &mut self.gpus.learning {
            learning.learnt.demand.foretell(shapes.into_iter());
        }
    }

    fn gpu_shape(&mut self, class: ClassId) -> Option<GpuShape> {
        let found = self.class(class);
        let ask = found.gpus.clone()?;
        let is_choosy = !found.node_selector.is_empty()
            || found.required.is_some()
            || found.target.is_some()
            || ask.memory > 0;
        let models = if is_choosy { self.accepted_models(class, &ask) } else { ANY_MODEL };
        Some(GpuShape::new(self.class(class), &ask, models))
    }

    /// Models of GPUs that would do for pods of a class, by some nodes that have them.
    fn accepted_models(&mut self, id: ClassId, ask: &GpuAsk) -> u64 {
        let class = self.class(id);
        let (generation, nodes) = (class.generation(), self.node_revision());
        let known = self.gpus.learning.as_ref().and_then(|learning| learning.accepted.get(&id));
        if let Some((_, _, models)) = known.filter(|it| (it.0, it.1) == (generation, nodes)) {
            return *models;
        }
        let (mut models, mut all) = (0_u64, 0_u64);
        for at in 0..self.gpus.models.len() {
            let model = GpuModel(u16::try_from(at).unwrap_or(u16::MAX));
            let nodes = self.gpus.of_model.range((model, NodeId::at(0))..);
            let nodes = nodes.take_while(|(other, _)| *other == model).take(ASKED);
            let mut nodes = nodes.map(|(_, node)| *node).peekable();
            all |= u64::from(nodes.peek().is_some()) << at;
            models |= u64::from(nodes.any(|node| self.takes(class, ask, node))) << at;
        }
        // Whoever could go anywhere is no longer choosy.
        let models = if models == all { ANY_MODEL } else { models };
        if let Some(learning) = &mut self.gpus.learning {
            if learning.accepted.len() >= CLASSES_MAX {
                learning.accepted.clear();
            }
            learning.accepted.insert(id, (generation, nodes, models));
        }
        models
    }

    /// Whether pods of a class could go to a node for the sake of its GPUs and labels.
    fn takes(&self, class: &Class, ask: &GpuAsk, node: NodeId) -> bool {
        let facts = self.node(node);
        let mut layouts = self.gpu_layouts(node).iter();
        let has_gpus = layouts.any(|layout| {
            let suited = layout.with_memory(ask.memory);
            layout.resource == ask.resource && suited.count_ones() >= ask.count.min(1)
        });
        let has_labels =
            class.node_selector.iter().all(|(key, value)| facts.label(*key) == Some(*value));
        let is_target = class.target.is_none_or(|name| facts.name == name);
        let is_required =
            class.required.as_ref().is_none_or(|terms| terms.matches(facts, &self.symbols));
        has_gpus && has_labels && is_target && is_required
    }

    /// Works out anew what free GPUs are worth, if it is time and somebody came. What is hardly
    /// different stays as it is, because everything that was worked out with it would not.
    pub fn renew_gpu_prices(&mut self, usage: &Usage, now: Time) {
        let Some(learning) = &mut self.gpus.learning else { return };
        let is_due = learning.learnt.at.is_none_or(|at| now >= at + KEPT);
        if !is_due || !learning.learnt.demand.take_news() {
            return;
        }
        let window = learning.window;
        learning.learnt.demand.age(now, window);
        learning.learnt.at = Some(now);
        let demand = &learning.learnt.demand;
        let (shapes, is_learnt) = (demand.shapes(), demand.pods() >= LEARNT_PODS);
        let nodes: Vec<FreeNode<'_>> = self
            .nodes()
            .iter()
            .flat_map(|node| {
                let (offer, load) = (self.offer(*node), usage.load(*node));
                usage.gpus(*node).iter().map(move |pool| FreeNode {
                    pool,
                    cpu: offer.amounts.cpu.saturating_sub(load.cpu),
                    memory: offer.amounts.memory.saturating_sub(load.memory) / MEMORY_UNIT,
                })
            })
            .collect();
        let prices = derive(&shapes, is_learnt, &nodes, self.gpus.models.len());
        let is_whole = |node: &&NodeId| usage.is_whole(self, **node);
        let whole = self.nodes().iter().filter(is_whole).map(|node| self.node(*node));
        let super_islands = SuperIslands::new(whole, &self.symbols);
        let Some(learning) = &mut self.gpus.learning else { return };
        if prices.differ(&learning.learnt.prices) || super_islands.differ(&learning.super_islands) {
            super_islands.hold(&mut self.symbols);
            std::mem::replace(&mut learning.super_islands, super_islands)
                .release(&mut self.symbols);
            learning.learnt.prices = prices;
            learning.revision += 1;
        }
    }
}
