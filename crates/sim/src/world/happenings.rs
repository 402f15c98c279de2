//! What the world does when the time of something has come, and the events that tell of it.

use model::{Attempt, Event, Millis};

use super::World;
use super::agenda::Happening;
use super::records::{JobAt, NodeAt, Phase, PodAt};
use crate::plan::{Fate, Job};
use crate::quantities::{add, columns};

impl World {
    pub(super) fn happen(&mut self, happening: Happening, events: &mut Vec<Event>) {
        match happening {
            Happening::NodeJoins(node) => self.node_joins(node, events),
            Happening::NodeMeets(node, fate) => self.node_meets(node, fate, events),
            Happening::JobArrives(job) => self.job_arrives(job, events),
            Happening::GateLifted(pod) => self.lift_gate(pod, events),
            Happening::BindingAnswered { pod, node, attempt, is_refused } => {
                if is_refused || !self.nodes[node.0].is_there {
                    self.refuse(pod, node, attempt, events);
                } else {
                    self.accept(pod, node, events);
                }
            }
            Happening::PodEnds(pod) => self.pod_ends(pod, events),
        }
    }

    fn node_joins(&mut self, node: NodeAt, events: &mut Vec<Event>) {
        let record = &mut self.nodes[node.0];
        record.is_there = true;
        self.meter.offer(record.pool, columns(&record.facts.allocatable), 1);
        events.push(Event::NodeApplied(Box::new(record.facts.clone())));
    }

    fn node_meets(&mut self, node: NodeAt, fate: usize, events: &mut Vec<Event>) {
        match &self.nodes[node.0].fates[fate] {
            Fate::Closes => self.set_closed(node, true, events),
            Fate::Opens => self.set_closed(node, false, events),
            Fate::Drains => self.drain(node, events),
            Fate::Leaves => self.node_goes(node, events),
        }
    }

    fn set_closed(&mut self, node: NodeAt, is_closed: bool, events: &mut Vec<Event>) {
        let record = &mut self.nodes[node.0];
        record.facts.is_closed = is_closed;
        events.push(Event::NodeApplied(Box::new(record.facts.clone())));
    }

    /// Evicts what runs on a node. The owner of every pod makes another one in its place.
    fn drain(&mut self, node: NodeAt, events: &mut Vec<Event>) {
        let running = |pod: &&PodAt| self.pods[pod.0].phase == Phase::Running(node);
        let evicted: Vec<PodAt> = self.nodes[node.0].pods.iter().filter(running).copied().collect();
        for pod in evicted {
            self.leave(pod, node, Phase::Evicted);
            events.push(Event::PodDeleted(self.pods[pod.0].key.uid.to_string()));
            let another = self.create(self.pods[pod.0].job, false);
            events.push(Event::PodApplied(self.facts(another, false)));
        }
    }

    fn node_goes(&mut self, node: NodeAt, events: &mut Vec<Event>) {
        self.drain(node, events);
        let record = &mut self.nodes[node.0];
        record.is_there = false;
        self.meter.offer(record.pool, columns(&record.facts.allocatable), -1);
        events.push(Event::NodeDeleted(record.facts.name.clone()));
    }

    fn job_arrives(&mut self, job: JobAt, events: &mut Vec<Event>) {
        let Job { pods, node, gates, .. } = self.jobs[job.0].clone();
        let node = node.map(|name| self.node_by_name[&name]);
        let lifted_after = gates.as_ref().and_then(|gates| gates.lifted_after);
        for _ in 0..pods {
            let pod = self.create(job, gates.is_some());
            if let Some(node) = node {
                self.waiting -= 1;
                self.nodes[node.0].pods.insert(pod);
                self.start(pod, node);
            }
            events.push(Event::PodApplied(self.facts(pod, false)));
            if let Some(span) = lifted_after {
                self.agenda.add(self.now + span, Happening::GateLifted(pod));
            }
        }
    }

    fn lift_gate(&mut self, pod: PodAt, events: &mut Vec<Event>) {
        self.pods[pod.0].is_gated = false;
        self.pods[pod.0].since = self.now;
        events.push(Event::PodApplied(self.facts(pod, false)));
    }

    fn refuse(&mut self, pod: PodAt, node: NodeAt, attempt: Attempt, events: &mut Vec<Event>) {
        self.nodes[node.0].pods.remove(&pod);
        let record = &mut self.pods[pod.0];
        record.phase = Phase::Waiting;
        record.refusals += 1;
        self.refusals += 1;
        self.waiting += 1;
        events.push(Event::BindRefused { uid: record.key.uid.to_string(), attempt });
    }

    fn accept(&mut self, pod: PodAt, node: NodeAt, events: &mut Vec<Event>) {
        self.start(pod, node);
        events.push(Event::PodApplied(self.facts(pod, false)));
    }

    /// Lets a pod run on a node from now on.
    fn start(&mut self, pod: PodAt, node: NodeAt) {
        let record = &mut self.pods[pod.0];
        record.phase = Phase::Running(node);
        record.placed = Some(self.now);
        record.condition = None;
        self.placed += 1;
        let job = &self.jobs[record.job.0];
        let amounts = columns(&job.spec.requests.charge.amounts);
        self.meter.request(self.nodes[node.0].pool, amounts, 1);
        add(&mut self.nodes[node.0].taken, amounts, 1);
        if let Some((low, high)) = job.runs {
            let span = Millis(self.dice.between(low.0, high.0));
            self.agenda.add(self.now + span, Happening::PodEnds(pod));
        }
    }

    fn pod_ends(&mut self, pod: PodAt, events: &mut Vec<Event>) {
        // An evicted pod does not run to its end.
        let Phase::Running(node) = self.pods[pod.0].phase else { return };
        events.push(Event::PodApplied(self.facts(pod, true)));
        self.leave(pod, node, Phase::Finished);
        let job = self.pods[pod.0].job;
        if self.jobs[job.0].followers > 0 {
            self.jobs[job.0].followers -= 1;
            let next = self.create(job, false);
            events.push(Event::PodApplied(self.facts(next, false)));
        }
    }

    fn leave(&mut self, pod: PodAt, node: NodeAt, phase: Phase) {
        self.nodes[node.0].pods.remove(&pod);
        self.pods[pod.0].phase = phase;
        let job = &self.jobs[self.pods[pod.0].job.0];
        let amounts = columns(&job.spec.requests.charge.amounts);
        self.meter.request(self.nodes[node.0].pool, amounts, -1);
        add(&mut self.nodes[node.0].taken, amounts, -1);
    }
}
