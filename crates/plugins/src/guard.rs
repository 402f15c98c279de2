//! Stands in for a plugin that is not built yet: refuses the pods that need it.
//!
//! Ignoring what a pod asks for would place it wrongly. A profile that disables the plugin has no
//! guard either: whoever disables it says that pods may be placed as if they had not asked.

use framework::{Feasible, Narrow, Parts, Plugin, Reach, Verdict, View};
use model::{Catalog, Class, Need, NodeId, Reason};

pub(crate) struct Guard {
    name: &'static str,
    need: Need,
}

impl Guard {
    /// The guard for a plugin that pods can need, if it is one.
    pub(crate) fn of(name: &'static str) -> Option<Self> {
        let need = match name {
            "DynamicResources" => Need::ResourceClaims,
            _ => return None,
        };
        Some(Self { name, need })
    }
}

impl Plugin for Guard {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl Feasible for Guard {
    fn reads(&self) -> Parts {
        Parts::NEEDS
    }

    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Narrow>> {
        let is_needed = class.spec.needs.contains(&self.need);
        is_needed.then(|| Box::new(Refusal { need: self.need }) as _)
    }
}

struct Refusal {
    need: Need,
}

impl Narrow for Refusal {
    fn reach(&self) -> Reach {
        Reach::Facts
    }

    fn before(&self, _: View<'_>) -> Verdict {
        Verdict::Refused(Reason::NotSupported(self.need))
    }

    fn why_not(&self, _: View<'_>, _: NodeId) -> Vec<Reason> {
        vec![Reason::NotSupported(self.need)]
    }
}
