//! What owners of gangs are told: in the status of the objects about them, and by events.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s::ingest::GroupStanding;
use k8s::render::{self, GroupCondition};
use model::{
    Catalog, Decision, GangId, GangReport, GangState, PodGroupKey, PodGroupKind, PodId, hash_of,
};
use tracing::debug;

use super::{Core, State};
use crate::metrics::{GangPlan, GangResult};
use crate::order::{GroupRef, Happened, Order, Report, Subject};
use crate::watch::Watched;

/// How many gangs are noted before those that are gone are looked for.
const ARRIVALS_SOME: usize = 64;

/// How often the gangs that wait are counted: that looks at all gangs.
const COUNT_PERIOD: Duration = Duration::from_secs(5);

/// Objects about gangs, and what stands in their status.
#[derive(Default)]
pub(super) struct Groups(BTreeMap<PodGroupKey, Group>);

struct Group {
    api: &'static Watched,
    uid: Box<str>,
    version: Box<str>,
    generation: i64,
    /// Whether the condition says that the gang was on nodes, and all it says as a hash; nothing if
    /// there is no such condition.
    told: Option<(bool, u64)>,
}

impl Groups {
    pub(super) fn applied(
        &mut self,
        key: &PodGroupKey,
        api: &'static Watched,
        standing: &GroupStanding,
    ) {
        let GroupStanding { uid, version, generation, condition } = standing;
        let told = condition.as_ref().map(|(status, reason, message)| {
            let is_true = status == "True";
            (is_true, words(is_true, reason, message))
        });
        let (uid, version) = (uid.clone(), version.clone());
        let group = Group { api, uid, version, generation: *generation, told };
        self.0.insert(key.clone(), group);
    }

    pub(super) fn deleted(&mut self, key: &PodGroupKey) {
        self.0.remove(key);
    }

    /// Forgets the objects of a kind that are not among `present`.
    pub(super) fn reset(&mut self, kind: PodGroupKind, present: &BTreeSet<Box<str>>) {
        self.0.retain(|key, _| key.kind != kind || present.contains(&key.listed_by()));
    }

    /// The status could not be written.
    pub(super) fn forget_told(&mut self, uid: &str) {
        let found = self.0.values_mut().find(|group| &*group.uid == uid);
        found.into_iter().for_each(|group| group.told = None);
    }

    fn reference(&self, key: &PodGroupKey) -> Option<GroupRef> {
        let group = self.0.get(key)?;
        let (uid, version) = (group.uid.clone(), group.version.clone());
        Some(GroupRef { api: group.api, key: key.clone(), uid, version })
    }

    /// What has to be written so that the status says so; nothing if it does, or is not ours.
    fn tell(
        &mut self,
        key: &PodGroupKey,
        is_scheduled: bool,
        (reason, message): (&'static str, &str),
    ) -> Option<(GroupRef, GroupCondition)> {
        let group = self.0.get_mut(key)?;
        let r#type = group.api.condition()?;
        let said = (is_scheduled, words(is_scheduled, reason, message));
        // Once a gang was on nodes its condition stays as it is.
        if group.told.is_some_and(|told| told.0 || told == said) {
            return None;
        }
        let is_transition =
            group.told.is_none_or(|(was_scheduled, _)| was_scheduled != is_scheduled);
        group.told = Some(said);
        let (message, generation) = (message.into(), group.generation);
        let condition =
            GroupCondition { r#type, is_scheduled, reason, message, generation, is_transition };
        Some((self.reference(key)?, condition))
    }
}

fn words(is_scheduled: bool, reason: &str, message: &str) -> u64 {
    hash_of(&(is_scheduled, reason, message))
}

impl State {
    /// Notes when the first pod of a gang that we place came into the queue.
    pub(super) fn arrived(&mut self, catalog: &Catalog, pod: PodId, at: Instant) {
        let mut next = catalog.pod(pod).gang;
        while let Some(gang) = next {
            let first = self.arrivals.entry(gang).or_insert(at);
            *first = at.min(*first);
            next = catalog.gang(gang).parent;
        }
        // Not every gang is told to have started before it is gone.
        if self.arrivals.len() > self.arrivals_max {
            self.arrivals.retain(|gang, _| catalog.has_gang(*gang));
            self.arrivals_max = ARRIVALS_SOME.max(2 * self.arrivals.len());
        }
    }
}

impl Core {
    /// Tells the owner of a gang how it is.
    pub(super) fn report(&mut self, report: &GangReport) {
        let gang = report.gang;
        let scheduler = self.scheduler_of_gang(gang);
        let row = self.scheduler.catalog().gang(gang);
        let mut note = note(self.scheduler.catalog(), gang);
        let object = row.terms.as_ref().ok().and_then(|terms| terms.object.clone());
        let namespace = row.namespace.clone();
        let (mut condition, mut event) = (None, None);
        match &report.state {
            GangState::Started => {
                if let Some(key) = &object {
                    condition = self.state.groups.tell(key, true, ("Scheduled", &note));
                }
                // If we placed none of it, it ran before us, and whoever led then said so. Pods
                // that go one by one have nothing to wait for.
                let is_awaited = row.is_composite() || row.min() > 1;
                let arrived = self.state.arrivals.remove(&gang).filter(|_| is_awaited);
                if let Some(arrived) = arrived {
                    self.metrics.gang(&namespace, GangResult::Scheduled);
                    self.metrics.gang_wait(arrived.elapsed().as_secs_f64());
                    event = Some(Happened::Scheduled);
                }
            }
            GangState::Degraded => {
                self.metrics.gang(&namespace, GangResult::Degraded);
                event = Some(Happened::Degraded);
            }
            GangState::Waiting(diagnosis) => {
                let said = render::condition(diagnosis, self.scheduler.catalog());
                // A group that was not tried yet has no condition, as with kube-scheduler.
                if said.reason == render::HELD {
                    return;
                }
                self.metrics.gang_plan(&namespace, GangPlan::Failed, self.state.step_seconds);
                debug!(%namespace, %note, message = said.message, "a gang finds no room");
                let told = (said.reason, said.message.as_str());
                if let Some(key) = &object {
                    condition = self.state.groups.tell(key, false, told);
                }
                // What keeps a gang of gangs waiting keeps its parts waiting.
                for key in objects_of_parts(self.scheduler.catalog(), gang) {
                    let condition = self.state.groups.tell(&key, false, told);
                    if condition.is_some() {
                        let scheduler = scheduler.clone();
                        self.send(Order::Report(Report { scheduler, condition, event: None }));
                    }
                }
            }
            GangState::TimeoutsDiffer(least, most) => {
                note = render::timeouts_note(&row.name, *least, *most).into();
                event = Some(Happened::TimeoutsDiffer);
            }
            GangState::Refused => debug!(%note, "no other node for a pod that was refused"),
            GangState::Room(pods) => debug!(%note, pods, "room is kept for pods of a gang"),
        }
        let event =
            event.and_then(|happened| Some((self.subject(gang, object.as_ref())?, happened, note)));
        if condition.is_some() || event.is_some() {
            self.send(Order::Report(Report { scheduler, condition, event }));
        }
    }

    /// Counts the gangs that a step has placed: those that had fewer pods on nodes, or sent there,
    /// than they need.
    pub(super) fn count_placed(&self, decisions: &[Decision]) {
        let catalog = self.scheduler.catalog();
        let mut sent: BTreeMap<GangId, u32> = BTreeMap::new();
        for decision in decisions {
            let Decision::Bind { pod, .. } = decision else { continue };
            if let Some(gang) = catalog.pod(*pod).gang {
                *sent.entry(gang).or_default() += 1;
            }
        }
        let mut placed = BTreeSet::new();
        for (gang, sent) in sent {
            let row = catalog.gang(gang);
            if row.min() > 1 && row.placed - sent.min(row.placed) < row.min() {
                placed.insert(root(catalog, gang));
            }
        }
        for gang in placed {
            let (row, seconds) = (catalog.gang(gang), self.state.step_seconds);
            self.metrics.gang_plan(&row.namespace, GangPlan::Placed, seconds);
            debug!(namespace = %row.namespace, gang = %row.name, seconds, "a gang is placed");
        }
    }

    /// Counts the gangs that wait, now and then.
    pub(super) fn count_waiting_gangs(&mut self) {
        if self.state.gangs_counted.is_some_and(|at| at.elapsed() < COUNT_PERIOD) {
            return;
        }
        self.state.gangs_counted = Some(Instant::now());
        self.count_gpu_room();
        let catalog = self.scheduler.catalog();
        let waits = |gang: &GangId| {
            let row = catalog.gang(*gang);
            let is_whole = row.parent.is_none() && (row.is_composite() || row.min() > 1);
            let up = || if row.is_composite() { up(catalog, *gang) } else { row.bound };
            is_whole && up() < row.min()
        };
        self.metrics.gangs_waiting(catalog.gangs().filter(waits).count());
    }

    /// Whom events about a gang are about: its object, or its first pod.
    fn subject(&self, gang: GangId, object: Option<&PodGroupKey>) -> Option<Subject> {
        let group = object.and_then(|key| self.state.groups.reference(key));
        let catalog = self.scheduler.catalog();
        let first = || members(catalog, gang).first().map(|pod| self.reference(*pod));
        group.map(Subject::Group).or_else(|| first().map(Subject::Pod))
    }

    /// Who speaks for a gang: the profile of its first pod that has one of ours.
    pub(super) fn scheduler_of_gang(&self, gang: GangId) -> Arc<str> {
        let catalog = self.scheduler.catalog();
        let profile = |pod: &PodId| {
            let name = &*catalog.class(catalog.pod(*pod).class).spec.scheduler;
            self.profiles.iter().find(|profile| &***profile == name)
        };
        let found = members(catalog, gang).iter().find_map(profile);
        found.or(self.profiles.first()).expect("there is a profile").clone()
    }
}

/// The gang that is placed as a whole with this one in it.
fn root(catalog: &Catalog, mut gang: GangId) -> GangId {
    while let Some(parent) = catalog.gang(gang).parent {
        gang = parent;
    }
    gang
}

/// How many of a gang are on nodes, as its owner is told.
pub(super) fn note(catalog: &Catalog, gang: GangId) -> Arc<str> {
    let row = catalog.gang(gang);
    let up = if row.is_composite() { up(catalog, gang) } else { row.bound };
    render::gang_note(&row.name, up, row.min(), row.is_composite()).into()
}

/// How many parts of a gang have enough pods on nodes.
fn up(catalog: &Catalog, gang: GangId) -> u32 {
    let is_up = |part: &&GangId| {
        let row = catalog.gang(**part);
        let up = if row.is_composite() { up(catalog, **part) } else { row.bound };
        up >= row.min().max(1)
    };
    let count = catalog.gang(gang).parts.iter().filter(is_up).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The objects of the parts of a gang, and of their parts.
fn objects_of_parts(catalog: &Catalog, gang: GangId) -> Vec<PodGroupKey> {
    let mut objects = Vec::new();
    for part in &catalog.gang(gang).parts {
        let terms = catalog.gang(*part).terms.as_ref().ok();
        objects.extend(terms.and_then(|terms| terms.object.clone()));
        objects.extend(objects_of_parts(catalog, *part));
    }
    objects
}

/// The pods of a gang and of all its parts.
fn members(catalog: &Catalog, gang: GangId) -> Vec<PodId> {
    let row = catalog.gang(gang);
    let parts = row.parts.iter().flat_map(|part| members(catalog, *part));
    row.members.iter().copied().chain(parts).collect()
}
