//! Another scheduler in the same cluster: it binds pods of its own, and so takes room that ours
//! counted on. It does not always look.

use model::{Millis, PodSpec};

use super::World;
use super::happenings::Happening;
use super::records::{NodeAt, PodAt};
use crate::checkers::rules::{self, Taken};

/// How many of a hundred bindings it makes without looking whether the pod fits.
const BLIND_PERCENT: u64 = 10;
/// How long it waits, at least and at most, when nothing fits.
const AGAIN: (Millis, Millis) = (Millis(2_000), Millis(10_000));

impl World {
    pub(super) fn second_scheduler_binds(&mut self, pod: PodAt) {
        if self.pods[pod.0].is_gone || self.pods[pod.0].is_terminating {
            return;
        }
        let is_blind = self.dice.percent(BLIND_PERCENT);
        let there: Vec<NodeAt> =
            (0..self.nodes.len()).map(NodeAt).filter(|at| self.nodes[at.0].is_there).collect();
        let fits = |node: &NodeAt| is_blind || self.takes(*node, pod);
        let fitting: Vec<NodeAt> = there.into_iter().filter(fits).collect();
        if fitting.is_empty() {
            let at = self.now + self.draw(AGAIN);
            self.agenda.add(at, Happening::SecondSchedulerBinds(pod));
            return;
        }
        let node = self.dice.pick(&fitting);
        self.post_binding(pod, node);
    }

    fn takes(&self, node: NodeAt, pod: PodAt) -> bool {
        let specs: Vec<PodSpec> =
            self.running_on(node).into_iter().map(|other| self.facts(other).spec).collect();
        let spec = self.facts(pod).spec;
        let taken = Taken::by(specs.iter());
        rules::objections(&spec, &self.nodes[node.0].facts, &taken).is_empty()
    }
}
