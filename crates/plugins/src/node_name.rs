//! Confines a pod that names a node to that node.

use std::collections::BTreeSet;

use framework::{Feasible, Narrow, Parts, Plugin, Reach, Verdict, View};
use model::{Catalog, Class, NodeId, Reason, Symbol};

pub(crate) struct NodeName;

impl Plugin for NodeName {
    fn name(&self) -> &'static str {
        "NodeName"
    }
}

impl Feasible for NodeName {
    fn reads(&self) -> Parts {
        Parts::TARGET
    }

    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Narrow>> {
        class.target.map(|target| Box::new(Prepared { target }) as _)
    }
}

struct Prepared {
    target: Symbol,
}

impl Narrow for Prepared {
    fn reach(&self) -> Reach {
        Reach::Facts
    }

    fn before(&self, view: View<'_>) -> Verdict {
        Verdict::Only(BTreeSet::from([view.catalog.symbols().text(self.target).to_owned()]))
    }

    fn why_not(&self, view: View<'_>, node: NodeId) -> Vec<Reason> {
        if view.catalog.node(node).name == self.target { vec![] } else { vec![Reason::OtherNode] }
    }
}
