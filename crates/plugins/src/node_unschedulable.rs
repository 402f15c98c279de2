//! Keeps pods off nodes that are closed to new pods, unless they tolerate the taint that says so.

use framework::{Feasible, Narrow, Parts, Plugin, Reach, View};
use model::{Catalog, Class, Effect, NodeId, Reason, Taint, Toleration};

const KEY: &str = "node.kubernetes.io/unschedulable";

pub(crate) struct NodeUnschedulable;

impl Plugin for NodeUnschedulable {
    fn name(&self) -> &'static str {
        "NodeUnschedulable"
    }
}

impl Feasible for NodeUnschedulable {
    fn reads(&self) -> Parts {
        Parts::TOLERATIONS
    }

    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Narrow>> {
        (!tolerates_closed(&class.spec.tolerations)).then(|| Box::new(Prepared) as _)
    }
}

fn tolerates_closed(tolerations: &[Toleration<String>]) -> bool {
    let taint = Taint { key: KEY.into(), value: String::new(), effect: Effect::NoSchedule };
    tolerations.iter().any(|toleration| toleration.tolerates(&taint))
}

struct Prepared;

impl Narrow for Prepared {
    fn reach(&self) -> Reach {
        Reach::Facts
    }

    fn narrow(&self, view: View<'_>, nodes: &mut Vec<NodeId>) {
        nodes.retain(|node| !view.catalog.node(*node).is_closed);
    }

    fn why_not(&self, view: View<'_>, node: NodeId) -> Vec<Reason> {
        if view.catalog.node(node).is_closed { vec![Reason::Closed] } else { vec![] }
    }
}
