//! Keeps pods off nodes where a host port they want is taken.

use framework::{Feasible, Narrow, Plugin, Reach, View};
use model::{Catalog, Class, HostPort, NodeId, Reason, Symbol};

pub(crate) struct NodePorts;

impl Plugin for NodePorts {
    fn name(&self) -> &'static str {
        "NodePorts"
    }
}

impl Feasible for NodePorts {
    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Narrow>> {
        (!class.ports.is_empty()).then(|| Box::new(Prepared { wanted: class.ports.clone() }) as _)
    }
}

struct Prepared {
    wanted: Box<[HostPort<Symbol>]>,
}

impl Narrow for Prepared {
    fn reach(&self) -> Reach {
        Reach::Load
    }

    fn why_not(&self, view: View<'_>, node: NodeId) -> Vec<Reason> {
        if view.usage.load(node).has_port_conflict(&self.wanted) {
            vec![Reason::HostPort]
        } else {
            vec![]
        }
    }

    fn room(&self, view: View<'_>, node: NodeId) -> u32 {
        // The first takes the ports from the second.
        u32::from(!view.usage.load(node).has_port_conflict(&self.wanted))
    }
}
