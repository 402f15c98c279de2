//! Takes in what happened, and wakes whom it could help.

mod answers;
mod devices;
mod inside;

use std::borrow::Cow;
use std::sync::Arc;

use framework::is_about_others;
use model::{
    Change, Event, Fact, GangId, GroupingKey, Key, Kind, LabelSelector, NodeChange, NodeFacts,
    NodeId, Occupant, Outcome, Pod, PodFacts, PodGroupKey, PodId, PodState, Present, Reason, Time,
    Txn, UnitId, VolumeFault,
};

use crate::Scheduler;
use crate::commits::is_mounted_by_others;
use crate::gangs::News;
use crate::queue::Start;
use crate::wake::is_spread;

impl Scheduler {
    pub(crate) fn take_in(&mut self, event: &Event, now: Time) {
        match event {
            Event::Seen(fact) => self.seen(fact, now),
            Event::Gone(key) => self.gone(key, now),
            Event::Listed(kind, present) => self.listed(*kind, present, now),
            Event::Outcome(Outcome::Prepared { uid, attempt, versions }) => {
                self.prepared(uid, *attempt, versions, now);
            }
            Event::Outcome(Outcome::PrepareRefused { uid, attempt }) => {
                self.prepare_refused(uid, *attempt, now);
            }
            Event::Outcome(Outcome::BindRefused { uid, attempt }) => {
                self.refused(uid, *attempt, now);
            }
            Event::Outcome(Outcome::EvictionFailed(uid)) => self.eviction_failed(uid, now),
        }
        self.settle_gangs(now);
    }

    fn seen(&mut self, fact: &Fact, now: Time) {
        match fact {
            Fact::Node(facts) => self.apply_node(facts, now),
            Fact::Pod(facts) => self.apply_pod(&self.as_read(facts), now),
            Fact::Namespace(facts) => self.set_namespace(&facts.name, Some(&facts.labels), now),
            Fact::Budget(facts) => self.catalog.set_budget(facts),
            Fact::Grouping(facts) => self.set_grouping(&facts.key, Some(&facts.selector), now),
            Fact::PodGroup(facts) => {
                let gangs = self.catalog.set_pod_group(facts);
                self.regroup_all(gangs, now);
            }
            Fact::Succeeded(facts) => {
                self.catalog.set_succeeded(facts);
                self.wake_after(&facts.namespace, &facts.gang, now);
            }
            Fact::LocalQueue(facts) => {
                if self.catalog.set_local_queue(facts) {
                    self.reclassify(&facts.namespace, now);
                }
            }
            Fact::ClusterQueue(facts) => {
                let namespaces = self.catalog.set_cluster_queue(facts);
                namespaces.iter().for_each(|namespace| self.reclassify(namespace, now));
            }
            Fact::Storage(facts) => self.set_storage(facts, now),
            Fact::ResourceSlice(facts) => self.set_resource_slice(facts, now),
            Fact::ResourceClaim(facts) => self.set_resource_claim(facts, now),
            Fact::Job(facts) => {
                for (namespace, gang) in self.catalog.set_job(facts) {
                    self.wake_after(&namespace, &gang, now);
                }
            }
            Fact::NodeResourceTopology(facts) => {
                let node = self.catalog.set_node_resource_topology(facts);
                self.told_of_inside(node, now);
            }
        }
    }

    fn gone(&mut self, Key { kind, name }: &Key, now: Time) {
        match kind {
            Kind::Node => self.delete_node(name, now),
            Kind::Pod => {
                if let Some(pod) = self.catalog.find_pod(name) {
                    self.forget(pod, now);
                }
            }
            Kind::Namespace => self.set_namespace(name, None, now),
            Kind::Budget => self.catalog.delete_budget(name),
            Kind::Grouping(sort) => self.set_grouping(&GroupingKey::of(*sort, name), None, now),
            Kind::PodGroup(sort) => {
                let gangs = self.catalog.delete_pod_group(&PodGroupKey::of(*sort, name));
                self.regroup_all(gangs, now);
            }
            Kind::Succeeded => {
                // A failure that is not there any more does not count.
                let pod = self.catalog.delete_succeeded(name).filter(|facts| facts.is_failed);
                if let Some(facts) = pod {
                    self.wake_after(&facts.namespace, &facts.gang, now);
                }
            }
            Kind::LocalQueue => {
                if let Some(namespace) = self.catalog.delete_local_queue(name) {
                    self.reclassify(namespace, now);
                }
            }
            Kind::ClusterQueue => {
                let namespaces = self.catalog.delete_cluster_queue(name);
                namespaces.iter().for_each(|namespace| self.reclassify(namespace, now));
            }
            Kind::Storage(sort) => self.delete_storage(*sort, name, now),
            Kind::ResourceSlice => self.delete_resource_slice(name, now),
            Kind::ResourceClaim => self.delete_resource_claim(name, now),
            Kind::Job => self.catalog.delete_job(name),
            Kind::NodeResourceTopology => {
                let node = self.catalog.delete_node_resource_topology(name);
                self.told_of_inside(node, now);
            }
        }
    }

    /// Forgets what is not in a list of all there is. An assumed pod that the API does not know is
    /// gone as well.
    fn listed(&mut self, kind: Kind, present: &Present, now: Time) {
        let gone = self.catalog.not_among(kind, &present.names());
        if let Kind::PodGroup(sort) = kind {
            let mut gangs = self.catalog.set_pod_groups_served(sort);
            for name in gone {
                gangs.extend(self.catalog.delete_pod_group(&PodGroupKey::of(sort, &name)));
            }
            return self.regroup_all(gangs, now);
        }
        gone.into_iter().for_each(|name| self.gone(&Key { kind, name }, now));
        if kind == Kind::Pod {
            self.recount_insides(now);
        }
        if let Present::Facts(facts) = present {
            facts.iter().for_each(|fact| self.seen(fact, now));
        }
    }

    fn apply_node(&mut self, facts: &NodeFacts, now: Time) {
        let (node, change) = self.catalog.apply_node(facts);
        let change = match change {
            NodeChange::Same => return,
            NodeChange::Added => Some(Change::Added),
            NodeChange::Changed(aspects) if aspects.is_empty() => None,
            NodeChange::Changed(aspects) => Some(Change::Changed(aspects)),
        };
        self.usage.grow(&self.catalog);
        self.usage.touch_facts(&self.catalog, node);
        match change {
            Some(change) => self.wake(change, node, now),
            None => self.wake_proposed(node, now),
        }
    }

    fn delete_node(&mut self, name: &str, now: Time) {
        if let Some(node) = self.catalog.delete_node(name) {
            self.usage.touch_facts(&self.catalog, node);
            self.note_node_gone(node);
            // Pods that were there hold no claim any more.
            self.wake_volumes(now, |fault| *fault == VolumeFault::ClaimInUse);
            self.wake(Change::Removed, node, now);
            self.release_if_empty(node);
        }
    }

    /// Takes in the selector of a service or a controller: pods may be alike with others now, or
    /// with nobody, so that nothing is asked of their nodes.
    fn set_grouping(&mut self, key: &GroupingKey, selector: Option<&LabelSelector>, now: Time) {
        if self.catalog.set_grouping(key, selector) {
            self.count_crowds();
            let is_about_spread =
                |reason: &Reason| matches!(reason, Reason::SpreadSkew | Reason::SpreadLabel);
            self.queue.wake(now, is_about_spread, |_, _| true);
            self.queue.wake_gangs(now, |_| u64::MAX);
        }
    }

    /// What counts of a pod in its profile, which may leave gangs to the fields of the API.
    pub(crate) fn as_read<'a>(&self, facts: &'a PodFacts) -> Cow<'a, PodFacts> {
        let profile = self.profiles.iter().find(|each| each.scheduler == facts.spec.scheduler);
        let is_whole = profile.is_none_or(|profile| profile.gang_reader.is_some());
        match facts.gang.as_ref().filter(|_| !is_whole) {
            Some(claim) => {
                let gang = claim.native().map(Arc::new);
                Cow::Owned(PodFacts { gang, ..facts.clone() })
            }
            None => Cow::Borrowed(facts),
        }
    }

    fn apply_pod(&mut self, facts: &PodFacts, now: Time) {
        let known = self.catalog.find_pod(&facts.key.uid);
        match (known, facts.is_finished) {
            (None, true) => {}
            (Some(pod), true) => self.forget(pod, now),
            (None, false) => self.add_pod(facts, now),
            (Some(pod), false) => self.update_pod(pod, facts, now),
        }
    }

    fn add_pod(&mut self, facts: &PodFacts, now: Time) {
        if let Some(name) = &facts.node {
            let pod = self.catalog.add_pod(facts);
            self.catalog.note_gpu_demand(self.catalog.pod(pod).class);
            self.count_crowds();
            self.bind(pod, name, now);
            if let Some(gang) = self.catalog.pod(pod).gang {
                // A part may stand for itself later.
                self.note_found(gang);
                self.note_found(self.catalog.root_of(gang));
            }
            self.regroup_of(pod, None, now);
        } else if self.schedules(&facts.spec.scheduler) && !facts.rest.is_terminating {
            let pod = self.catalog.add_pod(facts);
            self.catalog.note_gpu_demand(self.catalog.pod(pod).class);
            self.count_crowds();
            self.enqueue(pod, now);
        }
    }

    /// Takes in a pod that waits.
    fn enqueue(&mut self, pod: PodId, now: Time) {
        match self.catalog.pod(pod).gang {
            Some(gang) => self.regroup(gang, News::Arrived(pod), now),
            None => {
                let (standing, is_gated) = self.standing(pod);
                self.queue.add(vec![pod], None, standing, now, &Start::of(is_gated));
            }
        }
    }

    /// Brings the units of a pod's gang in line, and of the gang it was in before.
    fn regroup_of(&mut self, pod: PodId, before: Option<GangId>, now: Time) {
        let Pod { gang: after, state, .. } = self.catalog.pod(pod);
        let (after, is_waiting) = (*after, *state == PodState::Waiting);
        if let Some(before) = before.filter(|_| before != after) {
            if is_waiting {
                self.queue.take_out(pod);
            }
            self.regroup(before, News::Left, now);
        }
        if let Some(after) = after {
            self.regroup(after, News::Pod(pod), now);
        } else if is_waiting && self.queue.unit_of(pod).is_none() {
            self.enqueue(pod, now);
        }
    }

    fn regroup_all(&mut self, gangs: Vec<GangId>, now: Time) {
        for gang in gangs {
            self.regroup(gang, News::All, now);
        }
    }

    fn update_pod(&mut self, pod: PodId, facts: &PodFacts, now: Time) {
        let part =
            |pod: &Pod| (pod.gang, pod.state, pod.rest.started, pod.rest.priority, pod.class);
        let before = part(self.catalog.pod(pod));
        let is_other = self.release_if_others(pod, facts, now);
        self.move_pod(pod, facts, now);
        // It is forgotten if it is being deleted before it had a node. Most changes of pods on
        // nodes are nothing to their gangs.
        if self.catalog.find_pod(&facts.key.uid).is_none() {
            return;
        }
        let is_waiting = before.1 == PodState::Waiting;
        if is_other || is_waiting || part(self.catalog.pod(pod)) != before {
            self.regroup_of(pod, before.0, now);
        }
    }

    /// Gives up the room that is kept for pods to come, if they are others after a change of a pod
    /// of their gang, or more of them; tells whether they are.
    fn release_if_others(&mut self, pod: PodId, facts: &PodFacts, now: Time) -> bool {
        let known = self.catalog.pod(pod);
        let is_same = !facts.rest.is_terminating && known.claim == facts.gang;
        if let Some(gang) = known.gang.filter(|_| !is_same) {
            self.release_holds(gang, now);
        }
        !is_same
    }

    fn move_pod(&mut self, pod: PodId, facts: &PodFacts, now: Time) {
        match (self.catalog.pod(pod).state, &facts.node) {
            (PodState::Waiting, None)
                if facts.rest.is_terminating || !self.schedules(&facts.spec.scheduler) =>
            {
                self.forget(pod, now);
            }
            (PodState::Waiting, None) => self.update_waiting(pod, facts, now),
            (PodState::Waiting, Some(name)) => {
                let proposed = self.catalog.nominated_node(pod);
                self.queue.take_out(pod);
                self.update(pod, facts);
                self.bind(pod, name, now);
                self.unpropose(proposed, now);
            }
            // Not confirmed yet: the pod keeps the place we gave it.
            (PodState::Assumed(node, _), None) => self.recharge(pod, facts, node, now),
            (PodState::Assumed(node, _) | PodState::Bound(node), Some(name)) => {
                self.leave_commit(pod, false, now);
                if self.catalog.node_name(node) == name {
                    let standing = |pod: &Pod| (pod.state, pod.rest.started);
                    let stood = standing(self.catalog.pod(pod));
                    self.recharge(pod, facts, node, now);
                    self.catalog.set_pod_state(pod, PodState::Bound(node));
                    if standing(self.catalog.pod(pod)) != stood {
                        self.recount_inside(node, now);
                    }
                    self.gangs.refused.remove(&pod);
                    self.queue.take_out(pod);
                } else {
                    self.catalog.nominate(pod, None);
                    self.unplace(pod, node, now);
                    self.queue.take_out(pod);
                    self.update(pod, facts);
                    self.bind(pod, name, now);
                }
            }
            // The API never takes a binding back; keep what is known to be taken.
            (PodState::Bound(_), None) => {}
        }
    }

    fn update_waiting(&mut self, pod: PodId, facts: &PodFacts, now: Time) {
        let before = self.catalog.pod(pod);
        let (occupant, priority) = (before.occupant(pod), before.rest.priority);
        let (gates, claim) = (before.rest.gates.clone(), before.claim.clone());
        let proposed = self.catalog.nominated_node(pod);
        self.update(pod, facts);
        let after = self.catalog.pod(pod);
        let is_same = (after.occupant(pod), after.rest.priority) == (occupant, priority)
            && (&after.rest.gates, &after.claim) == (&gates, &claim);
        let unit = self.queue.unit_of(pod);
        let is_alone = |unit: &UnitId| self.queue.gang(*unit).is_none();
        match unit.filter(|_| !is_same) {
            Some(unit) if is_alone(&unit) => {
                let (standing, is_gated) = self.standing(pod);
                self.queue.renew(unit, standing, now, &Start::of(is_gated));
            }
            Some(unit) => self.queue.hurry(unit, now),
            None => {}
        }
        // Only once nothing is listed under what the pod was.
        match is_same {
            true => self.reproposed(pod, proposed, now),
            false => self.unpropose(proposed, now),
        }
    }

    /// Takes in what changed about a pod on a node, and what it takes there now.
    fn recharge(&mut self, pod: PodId, facts: &PodFacts, node: NodeId, now: Time) {
        let standing = |pod: &Pod| (pod.rest.priority, pod.rest.started);
        let stood = standing(self.catalog.pod(pod));
        let before = self.catalog.pod(pod).occupant(pod);
        // Held until the old charge is given back.
        let class = self.catalog.class_of(&facts.spec);
        let tags = self.catalog.tags_of(facts);
        self.count_crowds();
        let after = Occupant { class, tags, is_leaving: facts.rest.is_terminating, ..before };
        // A pod that begins to leave takes as much as before, and is counted no more by those who
        // are spread.
        let begins_to_leave = after == Occupant { is_leaving: true, ..before };
        if after != before {
            self.change(|txn| {
                txn.evict(before, node);
                txn.place(after, node);
            });
            let is_about = if begins_to_leave { is_spread } else { is_about_others };
            self.wake_about(before, is_about, now);
        }
        self.catalog.update_pod(pod, facts);
        if standing(self.catalog.pod(pod)) != stood {
            self.usage.touch_guests(node);
        }
        let is_lesser = self.catalog.pod(pod).rest.priority < stood.0;
        self.catalog.release_class(class);
        self.catalog.release_tags(tags);
        let is_other = after != before && !begins_to_leave;
        if is_other || is_lesser {
            self.wake(Change::Freed, node, now);
        }
        if is_other {
            self.wake_around(after, now);
        }
    }

    /// Counts who is where for rules about other pods, if there are new ones.
    pub(crate) fn count_crowds(&mut self) {
        self.usage.count_crowds(&mut self.catalog);
    }

    fn update(&mut self, pod: PodId, facts: &PodFacts) {
        self.catalog.update_pod(pod, facts);
        self.count_crowds();
    }

    /// Proposes a node for a waiting pod, or none.
    pub(crate) fn nominate(&mut self, pod: PodId, node: Option<NodeId>, now: Time) {
        let before = self.catalog.nominated_node(pod);
        self.catalog.nominate(pod, node);
        self.reproposed(pod, before, now);
    }

    /// Takes in that another node than before is proposed for a pod.
    fn reproposed(&mut self, pod: PodId, before: Option<NodeId>, now: Time) {
        if before != self.catalog.nominated_node(pod) {
            self.unpropose(before, now);
        }
    }

    /// A node is not proposed for somebody any more: there may be room for others.
    pub(crate) fn unpropose(&mut self, node: Option<NodeId>, now: Time) {
        if let Some(node) = node {
            self.wake(Change::Freed, node, now);
            let is_about =
                |reason: &Reason| is_about_others(reason) || is_mounted_by_others(reason);
            self.queue.wake(now, is_about, |_, _| true);
            self.queue.wake_gangs(now, |_| u64::MAX);
        }
    }

    pub(crate) fn forget(&mut self, pod: PodId, now: Time) {
        let gang = self.catalog.pod(pod).gang;
        if let Some(gang) = gang.filter(|_| self.catalog.pod(pod).makes_others()) {
            self.release_holds(gang, now);
        }
        self.gangs.refused.remove(&pod);
        self.leave_commit(pod, true, now);
        self.queue.take_out(pod);
        let proposed = self.catalog.nominated_node(pod);
        let proposed = proposed.filter(|_| self.catalog.pod(pod).state == PodState::Waiting);
        // Nothing is kept for it when it is off its node.
        self.catalog.nominate(pod, None);
        if let Some(node) = self.catalog.pod(pod).state.node() {
            self.unplace(pod, node, now);
        }
        self.catalog.remove_pod(pod);
        self.unpropose(proposed, now);
        if let Some(gang) = gang {
            self.regroup(gang, News::Left, now);
        }
    }

    /// Puts a pod where the API says it is.
    fn bind(&mut self, pod: PodId, name: &str, now: Time) {
        let node = self.catalog.node_place(name);
        self.usage.grow(&self.catalog);
        let occupant = self.catalog.pod(pod).occupant(pod);
        self.change(|txn| txn.place(occupant, node));
        self.catalog.set_pod_state(pod, PodState::Bound(node));
        self.gangs.refused.remove(&pod);
        self.catch_up_inside(node, now);
        self.wake_around(occupant, now);
    }

    /// Takes a pod off its node.
    pub(crate) fn unplace(&mut self, pod: PodId, node: NodeId, now: Time) {
        let occupant = self.catalog.pod(pod).occupant(pod);
        self.usage.take_back_assigned(pod);
        self.change(|txn| txn.evict(occupant, node));
        self.catalog.set_pod_state(pod, PodState::Waiting);
        if self.catalog.class(occupant.class).has_volumes() {
            self.wake_unmounted(occupant.tags, now);
        }
        self.recount_inside(node, now);
        self.wake_left(node, pod, now);
        self.wake_around(occupant, now);
        self.release_if_empty(node);
    }

    fn change(&mut self, change: impl FnOnce(&mut Txn<'_>)) {
        let mut txn = Txn::begin(&self.catalog, &mut self.usage);
        change(&mut txn);
        txn.commit();
    }

    /// Gives up the place of a node that is gone once no pod names it.
    pub(crate) fn release_if_empty(&mut self, node: NodeId) {
        if !self.catalog.has_node(node) && self.usage.load(node).pods == 0 {
            self.gangs.forget_node(node);
            self.catalog.release_node_place(node);
        }
    }
}
