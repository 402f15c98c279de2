//! A pod tolerates every taint of its node that keeps pods away. A closed node counts as tainted.

use model::{Effect, Operator, Toleration};

use super::Violation;
use crate::world::{NodeAt, PodAt, World};

/// The taint that a closed node has by definition.
const CLOSED: &str = "node.kubernetes.io/unschedulable";

pub(super) fn check(world: &World, pod: PodAt, node: NodeAt) -> Result<(), Violation> {
    let (pod, facts) = (world.pod(pod), &world.node(node).facts);
    let tolerations = &world.job(pod.job).spec.tolerations;
    let closed = facts.is_closed.then_some((CLOSED, "", Effect::NoSchedule));
    let marks = facts.taints.iter().map(|mark| (&*mark.key, &*mark.value, mark.effect));
    for (key, value, effect) in marks.chain(closed) {
        let keeps_away = matches!(effect, Effect::NoSchedule | Effect::NoExecute);
        let is_covered = tolerations.iter().any(|toleration| {
            covers(toleration, key, value)
                && toleration.effect.is_none_or(|covered| covered == effect)
        });
        if keeps_away && !is_covered {
            let (pod, node) = (pod.key.name.to_string(), facts.name.clone());
            return Err(Violation::Untolerated { pod, node, taint: key.to_owned() });
        }
    }
    Ok(())
}

fn covers(toleration: &Toleration<String>, key: &str, value: &str) -> bool {
    let is_key = toleration.key.as_ref().is_none_or(|covered| covered == key);
    let is_value = match toleration.operator {
        Operator::Exists => true,
        Operator::Equal => toleration.value == value,
        Operator::Never => false,
    };
    is_key && is_value
}
