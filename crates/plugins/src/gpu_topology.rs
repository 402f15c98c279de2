//! Prefers nodes where the GPUs of a pod are near each other: all in one NVLink domain, else
//! connected by NVLink, else below one PCIe switch or root, else at one NUMA zone.
//!
//! Where it is not told which GPUs are near each other, labels of the node say how GPUs reach each
//! other at best. A pod that asks for another device too, whose place is told, prefers GPUs at the
//! same PCIe root. Among nodes that are alike in this, more free GPUs are better by a trifle:
//! keeping islands whole is another plugin's business and counts for more.
//!
//! Cost: pods with less than two GPUs are not looked at; for others the best set of GPUs for every
//! node that was touched, looked up for machines of up to eight GPUs and searched for beyond.

use std::sync::Arc;

use framework::{FINE, Plugin, Rank, Reach, Scores, View};
use model::hardware::GpuLink;
use model::{Catalog, Class, GpuAsk, GpuPool, NodeId, WHOLE_MILLI};

/// What it counts for in percent, beside how well memory fits.
const PART: i32 = 40;
/// What is missed by a set where another device of the pod is at other PCIe roots.
const ASTRAY: i32 = 10;

pub(crate) struct GpuTopology;

impl Plugin for GpuTopology {
    fn name(&self) -> &'static str {
        "GPUTopology"
    }
}

impl Rank for GpuTopology {
    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Scores>> {
        let ask = class.gpus.clone().filter(|ask| ask.count > 1 || !ask.others.is_empty())?;
        Some(Box::new(Ranked { ask }))
    }
}

/// A class that asks for several GPUs, or for another device beside.
struct Ranked {
    ask: Arc<GpuAsk>,
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
            *score = pool.map_or(0, |pool| {
                let free = i32::try_from(pool.free().count_ones()).unwrap_or(0);
                points(pool, &self.ask) * FINE * PART / 100 + free.min(FINE - 1)
            });
        }
    }
}

/// How near the GPUs that a pod would get are to each other, of a hundred.
fn points(pool: &GpuPool, ask: &GpuAsk) -> i32 {
    let layout = pool.layout();
    let part = pool.part(ask).unwrap_or(WHOLE_MILLI);
    let favoured = layout.favoured(ask);
    let Some(set) = pool.chosen(ask, part, None) else { return 0 };
    let nearness = match layout.is_told() || ask.count < 2 {
        true => layout.nearness(set).points(),
        false => by_label(layout.link),
    };
    let is_astray = favoured != 0 && set & !favoured != 0;
    (nearness - if is_astray { ASTRAY } else { 0 }).clamp(0, 99)
}

/// What the kind of links is worth where it is not told which GPUs have them.
fn by_label(link: Option<GpuLink>) -> i32 {
    match link {
        None => 50,
        Some(GpuLink::Pcie) => 60,
        Some(GpuLink::NvLink) => 90,
        Some(GpuLink::NvSwitch) => 99,
    }
}
