//! Stands in for a plugin that is not built yet: refuses the pods that need it.
//!
//! Ignoring what a pod asks for would place it wrongly. A profile that disables the plugin has no
//! guard either: whoever disables it says that pods may be placed as if they had not asked.

use framework::{Feasible, Narrow, Plugin, Reach, Verdict, View};
use model::{Catalog, Class, Need, NodeId, Reason, Symbol};

pub(crate) struct Guard {
    name: &'static str,
    need: Need,
}

impl Guard {
    /// The guard for a plugin that pods can need, if it is one.
    pub(crate) fn of(name: &'static str) -> Option<Self> {
        let need = match name {
            "VolumeRestrictions" | "NodeVolumeLimits" | "VolumeBinding" | "VolumeZone" => {
                Need::Volumes
            }
            "DynamicResources" => Need::ResourceClaims,
            "InterPodAffinity" => Need::PodAffinity,
            "PodTopologySpread" => Need::TopologySpread,
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
    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Narrow>> {
        if class.spec.needs.contains(&self.need) {
            return Some(Box::new(Refusal { need: self.need }));
        }
        // Anti-affinity works both ways: a pod without any can still be unwelcome.
        let is_repelled = self.need == Need::PodAffinity;
        is_repelled.then(|| Box::new(Repelled { namespace: class.namespace }) as _)
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

struct Repelled {
    namespace: Symbol,
}

impl Narrow for Repelled {
    fn reach(&self) -> Reach {
        Reach::Facts
    }

    fn before(&self, view: View<'_>) -> Verdict {
        if view.usage.may_be_repelled(self.namespace) {
            Verdict::Refused(Reason::Repelled)
        } else {
            Verdict::Open
        }
    }

    fn narrow(&self, _: View<'_>, _: &mut Vec<NodeId>) {}

    /// Whether the pod is repelled is asked before every attempt, never of a node.
    fn why_not(&self, _: View<'_>, _: NodeId) -> Vec<Reason> {
        vec![]
    }
}
