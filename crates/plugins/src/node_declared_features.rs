//! Keeps pods off nodes that do not declare a feature the pod needs.

use framework::{Feasible, Narrow, Parts, Plugin, Reach, View};
use model::{Catalog, Class, Features, NodeId, Reason};

pub(crate) struct NodeDeclaredFeatures;

impl Plugin for NodeDeclaredFeatures {
    fn name(&self) -> &'static str {
        "NodeDeclaredFeatures"
    }
}

impl Feasible for NodeDeclaredFeatures {
    fn reads(&self) -> Parts {
        Parts::FEATURES
    }

    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Narrow>> {
        let needed = class.spec.features;
        (!needed.is_empty()).then(|| Box::new(Prepared { needed }) as _)
    }
}

struct Prepared {
    needed: Features,
}

impl Narrow for Prepared {
    fn reach(&self) -> Reach {
        Reach::Facts
    }

    fn why_not(&self, view: View<'_>, node: NodeId) -> Vec<Reason> {
        if self.needed.is_within(view.catalog.node(node).features) {
            vec![]
        } else {
            vec![Reason::MissingFeature]
        }
    }
}
