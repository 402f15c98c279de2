//! A scheduler that goes on from a checkpoint.

use std::collections::BTreeSet;
use std::sync::Arc;

use framework::Profile;
use model::{
    Attempt, Catalog, ClassId, Diagnosis, GangId, Guest, Hold, Kept, Occupant, PodFacts, PodId,
    PodSpec, PodState, ResourceId, Stage, Time, Txn,
};

use super::{
    Checkpoint, CommitEntry, GangEntry, GangName, GuestEntry, InsideEntry, MemberEntry, NodePlace,
    PodEntry, UnitEntry, UnitPlace,
};
use crate::commits::{Commit, Member};
use crate::lanes::Urgency;
use crate::lines::alike;
use crate::queue::{Clock, Crew, Place, Standing, Unit};
use crate::{Options, Scheduler};

/// A checkpoint that no scheduler can have written.
#[derive(Debug, thiserror::Error)]
#[error("the checkpoint makes no sense: {0}")]
pub struct ResumeError(String);

pub(super) fn fault<T>(text: impl Into<String>) -> Result<T, ResumeError> {
    Err(ResumeError(text.into()))
}

impl Scheduler {
    /// A scheduler that goes on from a checkpoint. `catalog` is the one the profiles were made
    /// with, and knows nothing else. With profiles of the same names the decisions are the ones the
    /// checkpoint's scheduler goes on to make; pods that wait for a profile that is not there are
    /// left alone.
    ///
    /// # Errors
    /// When parts of the checkpoint contradict each other.
    pub fn resume(
        catalog: Catalog,
        profiles: Vec<Profile>,
        options: Options,
        checkpoint: Checkpoint,
    ) -> Result<Self, ResumeError> {
        let mut scheduler = Self::new(catalog, profiles, options);
        let Checkpoint {
            attempt,
            arrivals,
            clock,
            resources,
            facts,
            pod_group_kinds,
            nodes,
            specs,
            pods,
            diagnoses,
            gangs,
            units,
            commits,
            evictions,
            insides,
            gpus,
            gpu_demand,
        } = checkpoint;
        scheduler.attempt = attempt;
        scheduler.queue.restore_arrivals(arrivals);
        scheduler.queue.clock = Clock(clock);
        // Held until pods and nodes name them.
        let resources: Vec<_> =
            resources.iter().map(|name| scheduler.catalog.resource(name)).collect();
        for kind in pod_group_kinds {
            scheduler.catalog.set_pod_groups_served(kind);
        }
        for fact in &facts {
            if !scheduler.catalog.restore(fact) {
                return fault(format!("{:?} is not listed where it belongs", fact.key()));
            }
        }
        if let Some(learnt) = gpu_demand {
            scheduler.catalog.restore_gpu_demand(*learnt);
        }
        scheduler.resume_nodes(nodes)?;
        // Held until all pods are there.
        let classes: Vec<_> = specs.iter().map(|spec| scheduler.catalog.class_of(spec)).collect();
        scheduler.count_crowds();
        let mut resumed = Vec::with_capacity(pods.len());
        for entry in pods {
            resumed.push(scheduler.resume_pod(entry, &specs)?);
        }
        let diagnoses = renumbered(diagnoses, &resources)?;
        for entry in gangs {
            scheduler.resume_gang(entry, &resumed)?;
        }
        for entry in units {
            scheduler.resume_unit(entry, &resumed, &classes, &diagnoses)?;
        }
        scheduler.resume_taken(insides, gpus, &resumed)?;
        for (victim, purpose) in evictions {
            scheduler.evictions.begin(victim, Arc::new(purpose));
        }
        for entry in commits {
            scheduler.resume_commit(entry, &resumed)?;
        }
        classes.into_iter().for_each(|class| scheduler.catalog.release_class(class));
        resources.into_iter().for_each(|id| scheduler.catalog.release_resource(id));
        scheduler.settle_all();
        Ok(scheduler)
    }

    /// Puts a unit back on its way.
    fn resume_commit(
        &mut self,
        entry: CommitEntry,
        pods: &[Option<PodId>],
    ) -> Result<(), ResumeError> {
        let CommitEntry { members: entries, tries, arrived, until } = entry;
        let mut members = Vec::with_capacity(entries.len());
        for MemberEntry { pod, given, writes, written } in entries {
            let Some(pod) = pods.get(pod).copied().flatten() else {
                return fault("a pod on its way is not listed");
            };
            let PodState::Assumed(node, attempt) = self.catalog.pod(pod).state else {
                return fault(format!("pod {} is on no way", self.catalog.pod(pod).key.uid));
            };
            if self.usage.assigned().of(pod).is_some() {
                return fault(format!("pod {} is on two ways", self.catalog.pod(pod).key.uid));
            }
            let mut txn = Txn::begin(&self.catalog, &mut self.usage);
            txn.give(pod, node, given);
            txn.commit();
            members.push(Member { pod, node, attempt, writes, written });
        }
        self.commits.add(Commit { members, tries, arrived, until });
        Ok(())
    }

    /// Works out what follows from pods, nodes and gangs once all are there.
    fn settle_all(&mut self) {
        let gangs: Vec<GangId> = self.catalog.gangs().collect();
        gangs.into_iter().for_each(|gang| self.watch(gang));
        self.usage.settle_holds(&mut self.catalog);
    }

    fn resume_nodes(&mut self, nodes: Vec<Option<NodePlace>>) -> Result<(), ResumeError> {
        let mut free = Vec::new();
        for (at, place) in nodes.into_iter().enumerate() {
            // No node's name has a slash, so these stand for free places until all are taken.
            let name = place.as_ref().map_or_else(|| format!("/{at}"), |place| place.name.clone());
            let id = self.catalog.node_place(&name);
            if id.index() != at {
                return fault(format!("node {name:?} has two places"));
            }
            match place {
                None => free.push(id),
                Some(NodePlace { facts: None, .. }) => {}
                Some(NodePlace { facts: Some(facts), name }) => {
                    if facts.name != name {
                        return fault(format!("the place of {name:?} holds {:?}", facts.name));
                    }
                    self.catalog.apply_node(&facts);
                }
            }
        }
        self.usage.grow(&self.catalog);
        for node in self.catalog.nodes() {
            self.usage.renew_inside(&self.catalog, *node);
        }
        free.into_iter().for_each(|id| self.catalog.release_node_place(id));
        Ok(())
    }

    /// Puts a pod where it was; nothing if nobody schedules it. Crowds are counted again, because
    /// its owner may make it alike with pods that nobody asked about before.
    fn resume_pod(
        &mut self,
        entry: PodEntry,
        specs: &[PodSpec],
    ) -> Result<Option<PodId>, ResumeError> {
        let PodEntry {
            key,
            spec,
            labels,
            owner,
            volumes,
            nominated,
            nominated_by_api,
            is_evicted,
            plans,
            gang,
            node,
            attempt,
            rest,
        } = entry;
        let uid = &key.uid;
        let Some(spec) = specs.get(spec) else {
            return fault(format!("pod {uid} has a spec that is not listed"));
        };
        if self.catalog.find_pod(uid).is_some() {
            return fault(format!("pod {uid} is there twice"));
        }
        match (&node, attempt) {
            (None, Some(_)) => return fault(format!("pod {uid} was sent nowhere")),
            (None, None) if !self.schedules(&spec.scheduler) => return Ok(None),
            (None, None) | (Some(_), _) => {}
        }
        let pod = self.catalog.add_pod(&PodFacts {
            key,
            spec: spec.clone(),
            labels,
            owner,
            volumes,
            node: None,
            nominated: nominated_by_api.map(Into::into),
            is_finished: false,
            gang,
            rest,
        });
        self.catalog.restore_nomination(pod, nominated.as_deref());
        self.catalog.set_evicted(pod, is_evicted);
        self.catalog.set_plans(pod, plans);
        self.count_crowds();
        node.iter().for_each(|name| self.settle(pod, name, attempt));
        Ok(Some(pod))
    }

    /// Charges a pod to the node it is on, or was sent to.
    fn settle(&mut self, pod: PodId, name: &str, attempt: Option<Attempt>) {
        let node = self.catalog.node_place(name);
        self.usage.grow(&self.catalog);
        let mut txn = Txn::begin(&self.catalog, &mut self.usage);
        txn.place(self.catalog.pod(pod).occupant(pod), node);
        txn.commit();
        let state = attempt.map_or(PodState::Bound(node), |of| PodState::Assumed(node, of));
        self.catalog.set_pod_state(pod, state);
    }

    fn resume_unit(
        &mut self,
        entry: UnitEntry,
        pods: &[Option<PodId>],
        classes: &[ClassId],
        diagnoses: &[Arc<Diagnosis>],
    ) -> Result<(), ResumeError> {
        let UnitEntry { pods: own, gang, refusal, outlook, lacks_room, short, is_starving, .. } =
            entry;
        let UnitEntry { rank, arrival, arrived, since, failures, last_failure, place, .. } = entry;
        let own: Option<Vec<_>> = own.iter().map(|at| pods.get(*at).copied()).collect();
        let Some(own) = own else { return fault("a unit has a pod that is not listed") };
        let Some(own) = own.into_iter().collect::<Option<Vec<_>>>() else { return Ok(()) };
        if !self.is_sound(&own, &place, arrived)? {
            return Ok(());
        }
        let is_own = |class: &&ClassId| own.iter().any(|p| self.catalog.pod(*p).class == **class);
        let (place, parked) = match place {
            UnitPlace::Active => (Place::Active, None),
            UnitPlace::Backoff => (Place::Backoff, None),
            UnitPlace::Gated => (Place::Gated, None),
            UnitPlace::Gathering(until) => (Place::Gathering(until), None),
            UnitPlace::Tried => (Place::Tried, None),
            UnitPlace::Parked { since, diagnosis, spec } => {
                let class = classes.get(spec).filter(is_own);
                let Some((why, class)) = diagnoses.get(diagnosis).zip(class) else {
                    return fault("a unit waits for what is not listed");
                };
                (Place::Parked(since), Some((why.clone(), *class)))
            }
        };
        let known = gang.as_ref().map(|name| self.find_gang(name));
        let Some(gang) = known.map_or(Some(None), |gang| gang.map(Some)) else {
            return fault("a unit is of a gang that is not there");
        };
        let (standing, urgency) = self.resumed_standing(&own, gang, rank, is_starving);
        let classes: BTreeSet<ClassId> =
            own.iter().filter(|_| lacks_room).map(|pod| self.catalog.pod(*pod).class).collect();
        let unit = Unit {
            pods: own,
            gang,
            refusal,
            crew: None,
            outlook,
            classes: classes.into_iter().collect(),
            is_expecting: gang.is_some_and(|gang| self.catalog.gang(gang).missing() > 0),
            short,
            standing,
            urgency,
            arrival,
            arrived,
            since,
            failures,
            last_failure,
            place,
            parked,
        };
        let is_waiting = unit.place != Place::Tried && unit.gang.is_some();
        let owns = unit.pods.iter().filter(|_| is_waiting).map(|pod| (*pod, self.own(*pod)));
        let mut crew = Crew::default();
        owns.for_each(|(pod, own)| crew.set(pod, own));
        let crew = is_waiting.then(|| Box::new(crew));
        self.queue.restore(Unit { crew, ..unit });
        Ok(())
    }
}

impl Scheduler {
    /// Whether a unit is to be put back: not if its pods are of a profile that is not there.
    fn is_sound(
        &self,
        own: &[PodId],
        place: &UnitPlace,
        arrived: Option<Time>,
    ) -> Result<bool, ResumeError> {
        // Nobody would try the pods of a profile that is not there again.
        let is_ours = |pod: &PodId| {
            let class = self.catalog.class(self.catalog.pod(*pod).class);
            self.schedules(&class.spec.scheduler)
        };
        if !own.iter().all(is_ours) {
            return Ok(false);
        }
        let distinct: BTreeSet<&PodId> = own.iter().collect();
        let is_known = own.iter().any(|pod| self.queue.unit_of(*pod).is_some());
        if own.is_empty() || is_known || distinct.len() < own.len() {
            return fault("a pod is in two units or twice in one, or a unit has none");
        }
        let is_sent = |pod: &PodId| matches!(self.catalog.pod(*pod).state, PodState::Assumed(..));
        let is_placed = |pod: &PodId| self.catalog.pod(*pod).state.node().is_some();
        let is_right = match place {
            UnitPlace::Tried => own.iter().all(is_sent),
            UnitPlace::Active
            | UnitPlace::Backoff
            | UnitPlace::Parked { .. }
            | UnitPlace::Gathering(_)
            | UnitPlace::Gated => !own.iter().any(is_placed),
        };
        let is_out = matches!(place, UnitPlace::Gated | UnitPlace::Gathering(_));
        if !is_right || (arrived.is_none() && !is_out) {
            return fault("a unit is where its pods cannot be");
        }
        Ok(true)
    }

    /// Where a unit stands among the others.
    fn resumed_standing(
        &self,
        own: &[PodId],
        gang: Option<GangId>,
        rank: i64,
        is_starving: bool,
    ) -> (Standing, Urgency) {
        let mut crew = Crew::default();
        own.iter().for_each(|pod| crew.set(*pod, self.own(*pod)));
        let mut standing = crew.standing().expect("a unit has pods");
        standing.rank = rank;
        let alone = own.first().filter(|_| gang.is_none());
        standing.alike = alone.and_then(|pod| alike(self.catalog.pod(*pod)));
        standing.is_mending = gang.is_some_and(|gang| self.catalog.gang(gang).is_started());
        let urgency = match (standing.is_mending, is_starving) {
            (true, _) => Urgency::Mends,
            (false, true) => Urgency::Starves,
            (false, false) => Urgency::Waits,
        };
        (standing, urgency)
    }

    fn find_gang(&self, (namespace, name, is_composite): &GangName) -> Option<GangId> {
        if *is_composite {
            self.catalog.find_composite(namespace, name)
        } else {
            self.catalog.find_gang(namespace, name)
        }
    }

    /// Puts back what was known of a gang. One whose pods are left alone is not there.
    fn resume_gang(&mut self, entry: GangEntry, pods: &[Option<PodId>]) -> Result<(), ResumeError> {
        let GangEntry {
            name,
            is_started,
            is_found,
            is_sent,
            is_timeout_told,
            is_degraded,
            deadline,
            refused,
            kept_until,
            holds,
        } = entry;
        let Some(gang) = self.find_gang(&name) else { return Ok(()) };
        if is_found {
            self.note_found(gang);
        }
        let patience = self.patience(gang);
        let progress = self.catalog.progress_mut(gang);
        progress.patience = patience;
        (progress.is_sent, progress.is_timeout_told) = (is_sent, is_timeout_told);
        progress.stage = match (is_started || progress.stage.is_started(), deadline) {
            (true, _) if is_degraded => Stage::Degraded,
            (true, _) => Stage::Started,
            (false, Some(until)) => Stage::Partial { until, is_told: is_degraded },
            (false, None) => Stage::Waiting,
        };
        for (pod, nodes) in refused {
            let Some(pod) = pods.get(pod) else { return fault("a gang has a pod not listed") };
            let nodes = nodes.iter().map(|name| self.catalog.node_place(name)).collect();
            self.gangs.refused.extend(pod.map(|pod| (pod, nodes)));
        }
        let Some(until) = kept_until else { return Ok(()) };
        let mut kept = Kept { until, ..Kept::default() };
        for (maker, spec, node) in holds {
            let Some(maker) = pods.get(maker) else { return fault("a gang has a pod not listed") };
            let Some(maker) = maker else { continue };
            let (class, node) = (self.catalog.class_of(&spec), self.catalog.node_place(&node));
            let tags = self.catalog.pod(*maker).tags;
            let occupant = Occupant { pod: None, class, tags, is_leaving: false, is_hold: true };
            kept.holds.push(Hold::of_gang(gang, occupant, node));
            kept.classes.push(class);
        }
        self.count_crowds();
        self.usage.grow(&self.catalog);
        let mut txn = Txn::begin(&self.catalog, &mut self.usage);
        kept.holds.iter().for_each(|hold| txn.hold(*hold));
        txn.commit();
        self.catalog.progress_mut(gang).kept = Some(kept);
        Ok(())
    }
}

impl Scheduler {
    /// Puts back what pods take inside a node. What nobody schedules any more is not there.
    pub(super) fn resume_inside(
        &mut self,
        entry: InsideEntry,
        pods: &[Option<PodId>],
    ) -> Result<(), ResumeError> {
        let InsideEntry { node, state, guests, is_contradicted } = entry;
        let Some(node) = self.catalog.find_node(&node) else {
            return fault("something is taken inside a node that is not there");
        };
        let mut known = Vec::with_capacity(guests.len());
        for GuestEntry { pod, spec, taken, zones, is_reported, account } in guests {
            let (pod, class) = match (pod, spec) {
                (Some(pod), None) => {
                    let Some(pod) = pods.get(pod) else {
                        return fault("a pod is inside a node and not listed");
                    };
                    let Some(pod) = pod else { return Ok(()) };
                    (Some(*pod), self.catalog.pod(*pod).class)
                }
                (None, Some(spec)) => {
                    let class = self.catalog.class_of(&spec);
                    self.catalog.release_class(class);
                    (None, class)
                }
                (None, None) | (Some(_), Some(_)) => {
                    return fault("a guest of a node is a pod, or has a spec");
                }
            };
            known.push(Guest { pod, class, taken, zones, is_reported, account });
        }
        match self.usage.restore_inside(&self.catalog, node, (state, known), is_contradicted) {
            true => Ok(()),
            false => fault("other pods are inside a node than those that are told"),
        }
    }
}

/// Diagnoses with the numbers that resources have here.
fn renumbered(
    diagnoses: Vec<Diagnosis>,
    resources: &[ResourceId],
) -> Result<Vec<Arc<Diagnosis>>, ResumeError> {
    let mut number = |id: ResourceId| resources.get(id.index()).copied();
    let diagnoses = diagnoses.into_iter().map(|each| each.renumbered(&mut number));
    let diagnoses: Option<Vec<_>> = diagnoses.map(|each| Some(Arc::new(each?))).collect();
    diagnoses.map_or_else(|| fault("a reason is about a resource that is not listed"), Ok)
}
