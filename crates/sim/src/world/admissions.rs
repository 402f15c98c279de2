//! What becomes of pods and nodes by what kubelets do: pods are looked at, refused, made again, and
//! what they hold is reported.

use model::Millis;

use super::World;
use super::happenings::Happening;
use super::kubelets::Kubelet;
use super::records::{NodeAt, Phase, PodAt};

/// How long the owner of a pod waits before it makes another one in the place of the first that a
/// kubelet refuses; twice as long after each further one, as the controller of Jobs does.
const AGAIN: Millis = Millis::seconds(10);
/// After how many refusals in a row it gives up, as a Job does that says nothing about it.
const REFUSED_MAX: u32 = 6;

impl World {
    /// The kubelet of a node, if it is told what is inside the node.
    pub(crate) fn kubelet(&self, node: NodeAt) -> Option<&Kubelet> {
        self.kubelets.get(node)
    }

    /// How many pods kubelets refused, by reason.
    pub(crate) fn refused_by_kubelets(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.kubelets.refused().iter().map(|(reason, pods)| (*reason, *pods))
    }

    /// Pods that kubelets refused since this was last asked, and where.
    pub(crate) fn take_refusals(&mut self) -> Vec<(PodAt, NodeAt)> {
        std::mem::take(&mut self.refusals)
    }

    /// Takes in what a node tells of its inside.
    pub(super) fn renew_kubelet(&mut self, node: NodeAt) {
        let record = &self.nodes[node.0];
        if record.facts.hardware.is_none() && self.kubelets.get(node).is_none() {
            return;
        }
        self.kubelets.renew(node, &record.facts);
        // Whoever was not looked at before, because the node was not there or told nothing.
        let kubelet = self.kubelets.get(node);
        let held = kubelet.map_or(&[][..], Kubelet::pods);
        let is_new = |pod: &PodAt| !held.iter().any(|(other, _)| other == pod);
        let new: Vec<PodAt> = self.running_on(node).into_iter().filter(is_new).collect();
        for pod in new {
            if self.is_aligned(pod, node) {
                self.reach_node(pod);
            }
        }
        self.expect_report(node);
    }

    /// Whether the kubelet of a node has to align a pod.
    pub(super) fn is_aligned(&self, pod: PodAt, node: NodeAt) -> bool {
        self.kubelets.is_about(node, &self.jobs[self.pods[pod.0].job.0])
    }

    /// Lets the kubelet of a pod's node look at the pod soon.
    pub(super) fn reach_node(&mut self, pod: PodAt) {
        let at = self.now + self.kubelets.draw(super::pods::REACHES_NODE);
        self.agenda.add(at, Happening::PodReachesNode(pod));
    }

    /// Lets the kubelet of a node admit a pod. Returns whether it does.
    pub(super) fn admit(&mut self, pod: PodAt, node: NodeAt) -> bool {
        if !self.is_aligned(pod, node) {
            return true;
        }
        let job = self.pods[pod.0].job;
        let admitted = self.kubelets.admit(node, pod, (job, &self.jobs[job.0]));
        let record = &mut self.pods[pod.0];
        // What runs already is not refused, whatever it holds.
        if record.is_given || record.started.is_some() {
            self.expect_report(node);
            return true;
        }
        self.happened.aligned += 1;
        match admitted {
            Ok(()) => {
                record.refused = 0;
                self.expect_report(node);
            }
            Err(rejection) => {
                let cause = rejection.cause;
                record.failure = Some(cause.reason());
                record.refused += 1;
                self.happened.unaligned += 1;
                self.kubelets.count_refused(cause);
                // Where chance decided, nobody could have known.
                if !rejection.is_guess {
                    self.refusals.push((pod, node));
                }
            }
        }
        admitted.is_ok()
    }

    /// A pod that its kubelet refused fails. Its owner makes another one later, if it is ours, and
    /// gives up after some.
    pub(super) fn fail_admission(&mut self, pod: PodAt) {
        self.set_phase(pod, Phase::Evicted);
        self.publish_pod(pod);
        let record = &self.pods[pod.0];
        if self.is_ours(record.job) && record.refused <= REFUSED_MAX {
            let at = self.now + Millis(AGAIN.0 << (record.refused - 1));
            self.agenda.add(at, Happening::RefusedReplaced(pod));
        }
    }

    /// A pod does not run on a node any more.
    pub(super) fn leave_kubelet(&mut self, pod: PodAt, node: NodeAt) {
        if self.kubelets.leave(node, pod) {
            self.expect_report(node);
        }
    }

    /// Lets the agent of a node report soon, if there is one.
    pub(super) fn expect_report(&mut self, node: NodeAt) {
        let Some(agent) = &self.nodes[node.0].agent else { return };
        if let Some(at) = self.kubelets.next_report(node, agent, self.now) {
            self.agenda.add(at, Happening::AgentReports(node));
        }
    }

    /// The agent of a node reports, if that is news.
    pub(super) fn agent_reports(&mut self, node: NodeAt) {
        let record = &self.nodes[node.0];
        let Some(agent) = record.agent.clone() else { return };
        let pods = &self.pods;
        let held = self.kubelets.report(node, &agent, self.now, |pod| &pods[pod.0].key.uid);
        let Some(held) = held.filter(|_| record.is_there) else { return };
        if record.facts.held.as_deref() != Some(&held) {
            self.nodes[node.0].facts.held = Some(Box::new(held));
            self.happened.reports += 1;
            self.publish_node(node);
        }
    }

    /// The agent of a node is gone for good, and what it reported with it if it is taken away in
    /// order.
    pub(super) fn agent_vanishes(&mut self, node: NodeAt, is_cleaned: bool) {
        self.nodes[node.0].agent = None;
        if is_cleaned {
            self.change_node(node, |facts| facts.held = None);
        }
    }
}
