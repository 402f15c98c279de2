//! Places pods where the NUMA zones of a node suit them.
//!
//! A node is ruled out if its kubelet would not admit the pod, where it is known how the kubelet
//! is configured; if the pod asks by annotation for zones in a way that the node cannot give; and
//! if the zones it would get are kept for a pod that must be alone there. A pod that asks for
//! nothing is never refused because too little is known of a node. Nodes are ranked by the best
//! set of zones that the pod could get: how full they are with it, the bandwidth of their memory,
//! how far they are from each other, and where the rest of its gang is. Batch and training are
//! ranked so even if they ask for nothing.
//!
//! Arguments: [`NumaArgs`]. Cost: pods without whole CPUs, devices or annotations are not looked
//! at. For others, a prediction of what the kubelet does for every node that was touched; all
//! nodes for every pod of a class that says how its gang is spread over zones.

use std::sync::Arc;

use framework::{Feasible, Narrow, NumaArgs, Plugin, Rank, Reach, Scores, Verdict, View};
use model::topology::Predictor;
use model::{Alignment, Catalog, Class, NodeId, NumaFault, NumaPolicy, Reason, Workload};

use crate::profile_classifier::workload_of;

/// What a node is worth of which no set of zones is known that takes the pod.
const NO_WAY: i32 = 10;

pub(crate) struct NumaTopology {
    args: NumaArgs,
}

impl NumaTopology {
    pub(crate) fn new(args: NumaArgs, catalog: &mut Catalog) -> Self {
        // The table was checked where the configuration was read.
        catalog.set_device_drivers(args.drivers.clone());
        Self { args }
    }
}

impl Plugin for NumaTopology {
    fn name(&self) -> &'static str {
        "NUMATopology"
    }
}

impl Feasible for NumaTopology {
    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Narrow>> {
        let fault = class.spec.numa.as_ref().and_then(|wish| wish.fault.clone());
        if let Some(fault) = fault {
            return Some(Box::new(Broken { fault }));
        }
        let alignment = class.alignment.clone()?;
        let asked = alignment.wish.asked().unwrap_or(NumaPolicy::None);
        let allows_unknown = self.args.allows_unknown;
        Some(Box::new(Aligned { alignment, asked, allows_unknown }))
    }
}

impl Rank for NumaTopology {
    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Scores>> {
        let alignment = class.alignment.clone()?;
        let asked = match alignment.wish.asked() {
            Some(NumaPolicy::None) => return None,
            Some(asked) => asked,
            None if is_batch(class) => NumaPolicy::BestEffort,
            None => return None,
        };
        Some(Box::new(Ranked { alignment, asked }))
    }
}

/// Whether pods of a class run to their end, which is worth being aligned for.
fn is_batch(class: &Class) -> bool {
    match workload_of(class) {
        Workload::Training | Workload::Batch => true,
        Workload::Inference | Workload::Service | Workload::Interactive => false,
    }
}

/// A class that asks for something that makes no sense.
struct Broken {
    fault: Box<str>,
}

impl Narrow for Broken {
    fn reach(&self) -> Reach {
        Reach::Load
    }

    fn before(&self, _: View<'_>) -> Verdict {
        Verdict::Refused(Reason::Numa(NumaFault::Invalid(self.fault.clone())))
    }

    fn why_not(&self, _: View<'_>, _: NodeId) -> Vec<Reason> {
        vec![Reason::Numa(NumaFault::Invalid(self.fault.clone()))]
    }
}

/// A class that kubelets align, or that asks to be aligned.
struct Aligned {
    alignment: Arc<Alignment>,
    asked: NumaPolicy,
    allows_unknown: bool,
}

impl Aligned {
    fn fault(&self, view: View<'_>, node: NodeId, predictor: &mut Predictor) -> Option<NumaFault> {
        let Some(inside) = view.usage.inside(node) else {
            let is_refused = self.asked.is_strict() && !self.allows_unknown;
            return is_refused.then_some(NumaFault::Unknown(self.asked));
        };
        inside.ways(&self.alignment, self.asked, predictor).err()
    }
}

impl Narrow for Aligned {
    fn reach(&self) -> Reach {
        Reach::Load
    }

    fn narrow(&self, view: View<'_>, nodes: &mut Vec<NodeId>) {
        let mut predictor = Predictor::default();
        nodes.retain(|node| self.fault(view, *node, &mut predictor).is_none());
    }

    fn why_not(&self, view: View<'_>, node: NodeId) -> Vec<Reason> {
        let fault = self.fault(view, node, &mut Predictor::default());
        fault.map(Reason::Numa).into_iter().collect()
    }
}

/// A class for which the zones of nodes are ranked.
struct Ranked {
    alignment: Arc<Alignment>,
    asked: NumaPolicy,
}

impl Scores for Ranked {
    fn reach(&self) -> Reach {
        // It matters where the pods of the gang are.
        if self.alignment.wish.spread.is_some() { Reach::Around } else { Reach::Load }
    }

    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        let mut predictor = Predictor::default();
        for (node, score) in nodes.iter().zip(out) {
            let inside = view.usage.inside(*node);
            let ways =
                inside.and_then(|it| it.ways(&self.alignment, self.asked, &mut predictor).ok());
            let best = ways.and_then(|ways| ways.best(view.catalog, view.gang));
            *score = best.map_or(NO_WAY, |(worth, _)| worth);
        }
    }
}
