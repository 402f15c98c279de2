//! Rules that every placement must keep, checked over the world's own records.
//!
//! They share nothing with the plugins: each rule is written down a second time, in the plainest
//! way there is. A broken rule ends the demo.

mod bind_once;
mod capacity;
mod taints;

use std::fmt;

use crate::world::{NodeAt, PodAt, World};

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A decision names something that does not exist.
    Unknown {
        /// What it names.
        name: String,
    },
    /// A pod was given a node though it had one, was gone, or was kept back by a gate.
    NotWaiting {
        /// The pod.
        pod: String,
        /// The node it was given.
        node: String,
        /// What it was instead of waiting.
        state: &'static str,
    },
    /// A node was given more than it has.
    OverCapacity {
        /// The node.
        node: String,
        /// What it lacks.
        resource: &'static str,
        /// What its pods ask for together.
        requested: i64,
        /// What it offers.
        allocatable: i64,
    },
    /// A pod was given a node with a taint that it does not tolerate.
    Untolerated {
        /// The pod.
        pod: String,
        /// The node.
        node: String,
        /// The taint's key.
        taint: String,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name } => write!(out, "{name} does not exist"),
            Self::NotWaiting { pod, node, state } => {
                write!(out, "pod {pod} was given node {node}, but it was {state}")
            }
            Self::OverCapacity { node, resource, requested, allocatable } => {
                write!(out, "node {node} has {allocatable} of {resource}, but {requested} is taken")
            }
            Self::Untolerated { pod, node, taint } => {
                write!(out, "pod {pod} does not tolerate taint {taint} of node {node}")
            }
        }
    }
}

impl std::error::Error for Violation {}

/// Checks a placement that was decided, before the world carries it out.
pub(crate) fn check(world: &World, pod: PodAt, node: NodeAt) -> Result<(), Violation> {
    bind_once::check(world, pod, node)?;
    taints::check(world, pod, node)?;
    capacity::check(world, pod, node)
}

#[cfg(test)]
mod tests {
    use model::{Attempt, Effect, Event, Millis, Taint, Time, Toleration};

    use super::*;
    use crate::plan::{Faults, Gates, Job, NodePlan};
    use crate::quantities::{amounts, requests};
    use crate::workload;

    /// A node of two CPUs and two pods of one and a half each, ready to be placed wrongly.
    fn world(change: impl FnOnce(&mut NodePlan, &mut Job)) -> (World, NodeAt, [PodAt; 2]) {
        let facts = model::NodeFacts {
            name: "node".to_owned(),
            allocatable: amounts(2000, 1024, 0),
            pods_max: 110,
            ..model::NodeFacts::default()
        };
        let mut plan = NodePlan::new("general", facts);
        let mut job = workload::plan(1, &[], Millis::seconds(60)).remove(0);
        job.at = Time(0);
        job.pods = 2;
        job.spec.requests = requests(1500, 256, 0);
        change(&mut plan, &mut job);
        let mut world = World::new(1, vec![plan], vec![job], Faults::NONE);
        let mut events = Vec::new();
        world.advance(Time(0), &mut events);
        let uid = |event: &Event| match event {
            Event::PodApplied(facts) => world.find_pod(&facts.key.uid),
            Event::NodeApplied(_)
            | Event::NodeDeleted(_)
            | Event::PodDeleted(_)
            | Event::NamespaceApplied(_)
            | Event::NamespaceDeleted(_)
            | Event::Reset(_)
            | Event::BindRefused { .. } => None,
        };
        let pods: Vec<PodAt> = events.iter().filter_map(uid).collect();
        let node = world.find_node("node").unwrap();
        (world, node, pods.try_into().unwrap())
    }

    #[test]
    fn a_node_given_too_much_is_caught() {
        let (mut world, node, [first, second]) = world(|_, _| {});
        assert_eq!(check(&world, first, node), Ok(()));
        world.bind(first, node, Attempt(1));
        let caught = check(&world, second, node).unwrap_err();
        let text = "node node has 2000 of cpu, but 3000 is taken";
        assert_eq!(caught.to_string(), text);
    }

    #[test]
    fn a_node_with_too_many_pods_is_caught() {
        let (mut world, node, [first, second]) = world(|plan, job| {
            plan.facts.pods_max = 1;
            job.spec.requests = requests(100, 1, 0);
        });
        world.bind(first, node, Attempt(1));
        let caught = check(&world, second, node).unwrap_err();
        assert_eq!(caught.to_string(), "node node has 1 of pods, but 2 is taken");
    }

    #[test]
    fn a_pod_placed_twice_is_caught() {
        let (mut world, node, [pod, _]) = world(|_, _| {});
        world.bind(pod, node, Attempt(1));
        let caught = check(&world, pod, node).unwrap_err();
        assert!(caught.to_string().ends_with("but it was on its way to a node"), "{caught}");
        world.advance(Time(1000), &mut Vec::new());
        let caught = check(&world, pod, node).unwrap_err();
        assert!(caught.to_string().ends_with("but it was running"), "{caught}");
    }

    #[test]
    fn a_gated_pod_that_is_placed_is_caught() {
        let (world, node, [pod, _]) = world(|_, job| {
            job.gates = Some(Gates { names: ["quota".into()].into(), lifted_after: None });
        });
        let caught = check(&world, pod, node).unwrap_err();
        assert!(caught.to_string().ends_with("but it was kept back by a gate"), "{caught}");
    }

    #[test]
    fn taints_and_closed_nodes_count_by_table() {
        let taint = |effect| Taint { key: "gpu".to_owned(), value: "yes".to_owned(), effect };
        let exists = |key: Option<&str>, effect| Toleration {
            key: key.map(str::to_owned),
            value: String::new(),
            operator: model::Operator::Exists,
            effect,
        };
        let equal = |value: &str| Toleration {
            key: Some("gpu".to_owned()),
            value: value.to_owned(),
            operator: model::Operator::Equal,
            effect: None,
        };
        let tainted = || vec![taint(Effect::NoSchedule)];
        // (taints, closed, tolerations, allowed)
        let table = [
            (vec![], false, vec![], true),
            (tainted(), false, vec![], false),
            (tainted(), false, vec![exists(Some("gpu"), Some(Effect::NoSchedule))], true),
            (tainted(), false, vec![exists(Some("gpu"), Some(Effect::NoExecute))], false),
            (tainted(), false, vec![exists(Some("spot"), None)], false),
            (tainted(), false, vec![equal("yes")], true),
            (tainted(), false, vec![equal("no")], false),
            (vec![taint(Effect::PreferNoSchedule)], false, vec![], true),
            (vec![], true, vec![], false),
            (vec![], true, vec![exists(None, None)], true),
        ];
        for (taints, is_closed, tolerations, expected) in table {
            let text = format!("{taints:?} {is_closed} {tolerations:?}");
            let (world, node, [pod, _]) = world(|plan, job| {
                plan.facts.taints = taints;
                plan.facts.is_closed = is_closed;
                job.spec.node_selector.clear();
                job.spec.tolerations = tolerations;
            });
            assert_eq!(check(&world, pod, node).is_ok(), expected, "{text}");
        }
    }
}
