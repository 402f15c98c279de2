//! The life of a pod: it starts, may change its size, ends, or is sent away.

use model::{
    Amounts, Eligible, Key, Kind, Millis, Operator, PodFacts, PodRest, PodSpec, Requests, Time,
    Toleration,
};

use super::World;
use super::happenings::Happening;
use super::records::{NodeAt, Phase, PodAt, PodRecord};
use crate::checkers::rules::{self, Taken};
use crate::plan::{Job, Keeper};
use crate::quantities::{add, columns};

/// How long a node takes to look at a pod that was bound to it, at least and at most.
pub(super) const REACHES_NODE: (Millis, Millis) = (Millis(5), Millis(500));

impl World {
    /// The API object of a pod that is there.
    pub(super) fn facts(&self, pod: PodAt) -> PodFacts {
        let record = &self.pods[pod.0];
        let job = self.job(record.job);
        let node = record.bound.map(|node| self.nodes[node.0].facts.name.clone());
        PodFacts {
            volumes: self.volumes(pod),
            key: record.key.clone(),
            spec: self.spec(pod),
            labels: job.labels.clone(),
            owner: match &job.life.keeper {
                Keeper::Controller(owner) => owner.clone(),
                Keeper::DaemonSet | Keeper::Kubelet | Keeper::Nobody => None,
            },
            nominated: record.proposed.clone().filter(|_| node.is_none()),
            node,
            is_finished: record.phase.is_over(),
            gang: self.claims[record.job.0].clone(),
            rest: PodRest {
                priority: job.priority,
                gates: self.gates(pod).cloned().unwrap_or_default(),
                is_preempting: !job.life.is_modest,
                is_terminating: record.is_terminating,
                is_preempted: record.is_terminating && record.is_disrupted,
                started: record.started,
                generation: 0,
                created: seconds(record.created),
                // Nobody writes down when the gates of simulated pods were removed.
                eligible: if job.gates.is_some() { Eligible::Ungated } else { Eligible::Created },
                is_remade: !self.is_bare(record.job),
                placed: 0,
                gpus: 0,
            },
        }
    }

    fn spec(&self, pod: PodAt) -> PodSpec {
        let record = &self.pods[pod.0];
        let mut spec = self.job(record.job).spec.clone();
        if record.size_percent != 100 {
            spec.requests = scaled(&spec.requests, record.size_percent);
        }
        if let Some((_, tier)) = self.job(record.job).life.wishes.as_ref()
            && record.is_wishing
        {
            let hints = spec.hints.get_or_insert_default();
            hints.tier = Some(tier.clone());
        }
        if record.is_tolerant {
            let (key, value, effect) = (None, String::new(), None);
            spec.tolerations.push(Toleration { key, value, operator: Operator::Exists, effect });
        }
        spec
    }

    /// What a pod takes of its node.
    pub(super) fn charge(&self, pod: PodAt) -> Amounts<String> {
        let record = &self.pods[pod.0];
        let amounts = &self.jobs[record.job.0].spec.requests.charge.amounts;
        if record.size_percent == 100 {
            amounts.clone()
        } else {
            part(amounts, record.size_percent)
        }
    }

    pub(super) fn publish_pod(&mut self, pod: PodAt) {
        let facts = self.facts(pod);
        self.publish(facts);
    }

    /// Moves a pod to its next phase, and everything that counts pods with it.
    pub(super) fn set_phase(&mut self, pod: PodAt, phase: Phase) {
        let before = self.pods[pod.0].phase;
        self.waiting -= u64::from(before == Phase::Waiting);
        self.waiting += u64::from(phase == Phase::Waiting);
        self.meter_pod(pod, -1);
        self.count_healthy(pod, -1);
        if let Some(node) = before.place() {
            self.nodes[node.0].pods.remove(&pod);
        }
        if let Phase::Running(node) = before
            && phase != before
        {
            self.leave_kubelet(pod, node);
        }
        self.pods[pod.0].phase = phase;
        if phase.is_over() && !before.is_over() {
            self.maker_ended(pod);
            self.expect_claims_gone(pod);
        }
        if let Some(node) = phase.place() {
            self.nodes[node.0].pods.insert(pod);
        }
        self.meter_pod(pod, 1);
        self.count_healthy(pod, 1);
    }

    fn meter_pod(&mut self, pod: PodAt, sign: i64) {
        let Phase::Running(node) = self.pods[pod.0].phase else { return };
        let requested = columns(&self.charge(pod));
        let node = &mut self.nodes[node.0];
        add(&mut node.taken, requested, sign);
        if node.is_there {
            self.meter.request(node.pool, requested, sign);
        }
    }

    /// Lets a pod run on a node from now on.
    pub(super) fn start(&mut self, pod: PodAt, node: NodeAt) {
        assert!(self.pods[pod.0].bound.is_none(), "the API binds a pod once");
        self.set_phase(pod, Phase::Running(node));
        if self.is_room_ours && !self.has_room(node, pod) {
            self.overfull.get_or_insert((pod, node));
        }
        let is_looked_at = self.can_overflow || self.is_aligned(pod, node);
        let record = &mut self.pods[pod.0];
        record.bound = Some(node);
        record.placed = Some(self.now);
        record.condition = None;
        // Where nodes look at pods, it takes until then.
        record.started = (!is_looked_at).then_some(seconds(self.now));
        self.placed += 1;
        let Job { runs, life, .. } = &self.jobs[record.job.0];
        let (runs, resized) = (*runs, life.resized);
        if let Some(range) = runs.filter(|_| !self.is_calm) {
            let at = self.now + self.draw(range);
            self.agenda.add(at, Happening::PodEnds(pod));
        }
        self.expect_workers(pod);
        if let Some((after, _)) = resized.filter(|_| !self.is_calm) {
            self.agenda.add(self.now + after, Happening::PodResizes(pod));
        }
        if self.can_overflow {
            let at = self.now + self.draw(REACHES_NODE);
            self.agenda.add(at, Happening::PodReachesNode(pod));
        } else if is_looked_at {
            self.reach_node(pod);
        }
        if !self.nodes[node.0].is_there {
            self.collect_later(pod);
        }
        self.publish_pod(pod);
        self.attach(pod);
    }

    /// A node that has no room for a pod turns it away, whoever bound it.
    pub(super) fn pod_reaches_node(&mut self, pod: PodAt) {
        let Phase::Running(node) = self.pods[pod.0].phase else { return };
        if !self.node(node).is_there || self.pods[pod.0].is_terminating {
            return;
        }
        if self.can_overflow && !self.has_room(node, pod) {
            self.happened.rejected += 1;
            return self.fail(pod);
        }
        if !self.admit(pod, node) {
            return self.fail_admission(pod);
        }
        if self.can_overflow || self.pods[pod.0].started.is_none() {
            self.pods[pod.0].started = Some(seconds(self.now));
            self.publish_pod(pod);
        }
    }

    fn has_room(&self, node: NodeAt, pod: PodAt) -> bool {
        let others = self.running_on(node).into_iter().filter(|other| *other != pod);
        let specs: Vec<PodSpec> = others.map(|other| self.spec(other)).collect();
        let facts = &self.node(node).facts;
        rules::lacks(&self.spec(pod), facts, &Taken::by(specs.iter())).is_empty()
    }

    /// A pod ends on its node without success. Its owner makes another one, if it is ours: the
    /// second scheduler would not know better the next time.
    fn fail(&mut self, pod: PodAt) {
        self.set_phase(pod, Phase::Evicted);
        self.publish_pod(pod);
        if self.is_ours(self.pods[pod.0].job) {
            self.replace(pod);
        }
    }

    pub(super) fn pod_resizes(&mut self, pod: PodAt) {
        let Some((_, percent)) = self.jobs[self.pods[pod.0].job.0].life.resized else { return };
        if !matches!(self.pods[pod.0].phase, Phase::Running(_)) {
            return;
        }
        self.meter_pod(pod, -1);
        self.pods[pod.0].size_percent = percent;
        self.meter_pod(pod, 1);
        self.happened.resized += 1;
        self.publish_pod(pod);
    }

    pub(super) fn pod_tolerates(&mut self, pod: PodAt) {
        if !self.pods[pod.0].phase.is_over() {
            self.pods[pod.0].is_tolerant = true;
            self.publish_pod(pod);
        }
    }

    pub(super) fn pod_wishes(&mut self, pod: PodAt) {
        if !self.pods[pod.0].phase.is_over() {
            self.pods[pod.0].is_wishing = true;
            self.publish_pod(pod);
        }
    }

    pub(super) fn pod_ends(&mut self, pod: PodAt) {
        // An evicted pod does not run to its end.
        if !matches!(self.pods[pod.0].phase, Phase::Running(_)) {
            return;
        }
        let failed_percent = self.jobs[self.pods[pod.0].job.0].life.failed_percent;
        if failed_percent > 0 && self.dice.percent(failed_percent) {
            return self.fail(pod);
        }
        self.set_phase(pod, Phase::Finished);
        self.publish_pod(pod);
        self.publish_success(pod);
        let job = self.pods[pod.0].job;
        self.count_success(job);
        if self.jobs[job.0].followers > 0 {
            self.jobs[job.0].followers -= 1;
            self.replace(pod);
        }
    }

    pub(super) fn owner_deletes(&mut self, pod: PodAt) {
        let record = &self.pods[pod.0];
        if !record.is_gone && !record.is_terminating {
            self.happened.deleted += 1;
            self.terminate(pod);
        }
    }

    /// Begins to delete a pod; it is gone when its grace is over.
    pub(super) fn terminate(&mut self, pod: PodAt) {
        let grace = self.jobs[self.pods[pod.0].job.0].life.grace;
        let grace = self.draw(grace);
        if grace == Millis(0) {
            return self.remove(pod);
        }
        self.count_healthy(pod, -1);
        self.pods[pod.0].is_terminating = true;
        self.publish_pod(pod);
        self.agenda.add(self.now + grace, Happening::PodGone(pod));
    }

    /// Removes a pod from the API.
    pub(super) fn remove(&mut self, pod: PodAt) {
        if self.pods[pod.0].is_gone {
            return;
        }
        let phase = match self.pods[pod.0].phase {
            Phase::Waiting | Phase::Ordered(_) => Phase::Deleted,
            Phase::Running(_) => Phase::Evicted,
            over @ (Phase::Finished | Phase::Evicted | Phase::Deleted) => over,
        };
        self.set_phase(pod, phase);
        self.pods[pod.0].is_gone = true;
        let uid = self.pods[pod.0].key.uid.to_string();
        self.publish_gone(Key::new(Kind::Pod, uid.clone()));
        if phase == Phase::Finished && self.claims[self.pods[pod.0].job.0].is_some() {
            self.publish_gone(Key::new(Kind::Succeeded, uid));
        }
    }

    /// Whether a pod belongs to its node: it is neither evicted from it nor made again elsewhere.
    pub(super) fn is_of_node(&self, pod: PodAt) -> bool {
        match self.jobs[self.pods[pod.0].job.0].life.keeper {
            Keeper::DaemonSet | Keeper::Kubelet => true,
            Keeper::Controller(_) | Keeper::Nobody => false,
        }
    }

    /// The owner of a pod makes another one in its place, if it has an owner. A static pod stays
    /// where it is, whatever the API server is told.
    pub(super) fn replace(&mut self, pod: PodAt) {
        let PodRecord { job, maker, .. } = self.pods[pod.0];
        let is_orphan = maker.is_some_and(|maker| self.pods[maker.0].phase.is_over());
        let is_static = self.jobs[job.0].life.keeper == Keeper::Kubelet;
        if is_orphan || is_static || self.is_bare(job) {
            return;
        }
        let another = self.create(job, false);
        self.pods[another.0].maker = maker;
        self.pods[another.0].refused = self.pods[pod.0].refused;
        self.welcome(another);
    }
}

pub(super) fn seconds(time: Time) -> i64 {
    i64::try_from(time.0 / 1000).expect("a run is not that long")
}

/// A part of a hundred of all requests.
fn scaled(requests: &Requests<String>, percent: i64) -> Requests<String> {
    let mut scaled = requests.clone();
    scaled.fit = part(&requests.fit, percent);
    scaled.fullness = part(&requests.fullness, percent);
    scaled.charge.amounts = part(&requests.charge.amounts, percent);
    scaled.charge.scored_cpu = requests.charge.scored_cpu * percent / 100;
    scaled.charge.scored_memory = requests.charge.scored_memory * percent / 100;
    scaled
}

/// A part of a hundred of cpu and memory; nothing else can be resized in place.
fn part(amounts: &Amounts<String>, percent: i64) -> Amounts<String> {
    Amounts {
        cpu: amounts.cpu * percent / 100,
        memory: amounts.memory * percent / 100,
        ..amounts.clone()
    }
}
