//! Units on their way to nodes whose pods need something before they can be bound: volumes.
//!
//! ```text
//!           all was written            all has come about
//! Writing ──────────────────▶ Awaiting ──────────────────▶ its pods are bound
//!    │                           │
//!    └───────────────────────────┴──▶ taken back: a refusal, a pod that vanishes,
//!                                     something that is given back, or the time is over
//! ```
//!
//! Everything a unit takes is charged from the start. A write without an answer never expires: the
//! shell tells what became of it. What was accepted stays with the objects it is about; only what
//! is kept in memory is taken back. A unit that needs nothing has no commit.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    AccessModes, Assignment, Attempt, ClaimRef, Decision, GangId, NodeId, PodId, PodState,
    Preparation, Reason, StorageFacts, StorageKind, TagsId, Time, UnitId, Unprepared,
    VolumeClaimFacts, VolumeFault, Write,
};

use crate::gangs::News;
use crate::{Scheduler, profile_of};

/// Units on their way.
#[derive(Default)]
pub(crate) struct Commits {
    rows: BTreeMap<u64, Commit>,
    of_pod: BTreeMap<PodId, u64>,
    /// When the time of a commit is over.
    due: BTreeSet<(Time, u64)>,
    /// Commits that may have come further.
    changed: BTreeSet<u64>,
    next: u64,
}

/// A unit on its way.
pub(crate) struct Commit {
    pub(crate) members: Vec<Member>,
    pub(crate) tries: u32,
    pub(crate) arrived: Time,
    /// When its time is over, once all was written.
    pub(crate) until: Option<Time>,
}

/// A pod on its way.
pub(crate) struct Member {
    pub(crate) pod: PodId,
    pub(crate) node: NodeId,
    pub(crate) attempt: Attempt,
    /// For which of what is given for it something is written.
    pub(crate) writes: Box<[usize]>,
    /// The versions of what was written; nothing as long as the answer is out.
    pub(crate) written: Option<Box<[u64]>>,
}

impl Member {
    /// The version that was written for one of what is given; 0 if nothing had to be.
    fn version(&self, given: usize) -> u64 {
        let at = self.writes.iter().position(|it| *it == given);
        let version = at.zip(self.written.as_ref()).and_then(|(at, written)| written.get(at));
        version.copied().unwrap_or(0)
    }
}

/// How far a pod is.
enum Progress {
    Awaiting,
    Ready,
    Failed(Unprepared),
}

impl Commits {
    pub(crate) fn rows(&self) -> impl Iterator<Item = &Commit> {
        self.rows.values()
    }

    pub(crate) fn add(&mut self, commit: Commit) {
        let id = self.next;
        self.next += 1;
        self.of_pod.extend(commit.members.iter().map(|member| (member.pod, id)));
        self.due.extend(commit.until.map(|until| (until, id)));
        self.changed.insert(id);
        self.rows.insert(id, commit);
    }

    fn remove(&mut self, id: u64) -> Option<Commit> {
        let commit = self.rows.remove(&id)?;
        commit.members.iter().for_each(|member| _ = self.of_pod.remove(&member.pod));
        commit.until.iter().for_each(|until| _ = self.due.remove(&(*until, id)));
        self.changed.remove(&id);
        Some(commit)
    }

    /// When there is next something to do.
    pub(crate) fn next_review(&self) -> Option<Time> {
        match self.changed.is_empty() {
            true => self.due.first().map(|(at, _)| *at),
            false => Some(Time::default()),
        }
    }
}

// === Into a commit ===

impl Scheduler {
    /// Sends pods of a unit on their way, of which some need something before they can be bound.
    pub(crate) fn begin_commit(
        &mut self,
        places: &[(PodId, NodeId, Attempt)],
        (tries, arrived): (u32, Time),
        decisions: &mut Vec<Decision>,
    ) {
        let mut members = Vec::new();
        for (pod, node, attempt) in places.iter().copied() {
            let (at, writes): (Vec<usize>, Vec<Write>) = self.writes(pod, node).into_iter().unzip();
            // Whoever only waits is told so as well.
            let is_given = self.usage.assigned().of(pod).is_some();
            let written = (!is_given).then(Box::default);
            if is_given {
                decisions.push(Decision::Prepare(Preparation { pod, node, attempt, writes }));
            }
            members.push(Member { pod, node, attempt, writes: at.into(), written });
        }
        self.commits.add(Commit { members, tries, arrived, until: None });
    }

    /// What is to be written for a pod, and for which of what is given for it. What the objects say
    /// already is not written again.
    fn writes(&self, pod: PodId, node: NodeId) -> Vec<(usize, Write)> {
        let given = self.usage.assigned().of(pod).map_or(&[][..], |(_, given)| given);
        let write = |(at, it): (usize, &Assignment)| Some((at, self.write(it, node)?));
        given.iter().enumerate().filter_map(write).collect()
    }

    fn write(&self, assignment: &Assignment, node: NodeId) -> Option<Write> {
        let claim = self.catalog.volume_claim(&assignment.claim)?;
        let to = ClaimRef {
            namespace: claim.namespace.clone(),
            name: claim.name.clone(),
            uid: claim.uid.clone(),
        };
        let Some(name) = &assignment.volume else {
            let name = self.catalog.node_name(node);
            let is_said = claim.selected_node.as_deref() == Some(name);
            let version = claim.version.clone();
            let write = Write::SelectNode { claim: to, version, node: name.into() };
            return (!is_said).then_some(write);
        };
        let volume = &self.catalog.volume(name)?.facts;
        let is_said = volume.claim.as_ref() == Some(&to);
        let write = Write::BindVolume {
            volume: name.clone(),
            uid: volume.uid.clone(),
            version: volume.version.clone(),
            claim: to,
        };
        (!is_said).then_some(write)
    }
}

// === What becomes of it ===

impl Scheduler {
    /// What a pod needs was written.
    pub(crate) fn prepared(&mut self, uid: &str, attempt: Attempt, versions: &[u64], now: Time) {
        let Some((id, pod)) = self.commit_of(uid, attempt) else { return };
        let class = self.catalog.pod(pod).class;
        let timeout = profile_of(&self.profiles, &self.catalog, class).volume_timeout;
        let Some(commit) = self.commits.rows.get_mut(&id) else { return };
        let member = commit.members.iter_mut().find(|member| member.pod == pod);
        member.into_iter().for_each(|member| member.written = Some(versions.into()));
        if commit.until.is_none() && commit.members.iter().all(|it| it.written.is_some()) {
            let until = now + timeout.unwrap_or_default();
            commit.until = Some(until);
            self.commits.due.insert((until, id));
        }
        self.commits.changed.insert(id);
    }

    /// Something that a pod needs was refused.
    pub(crate) fn prepare_refused(&mut self, uid: &str, attempt: Attempt, now: Time) {
        if let Some((id, _)) = self.commit_of(uid, attempt) {
            self.take_back_commit(id, now);
        }
    }

    fn commit_of(&self, uid: &str, attempt: Attempt) -> Option<(u64, PodId)> {
        let pod = self.catalog.find_pod(uid)?;
        let is_it =
            matches!(self.catalog.pod(pod).state, PodState::Assumed(_, it) if it == attempt);
        let id = self.commits.of_pod.get(&pod).copied();
        id.filter(|_| is_it).map(|id| (id, pod))
    }

    /// A pod is on its way no more, wherever it is: the others of its unit that are not bound are
    /// taken back if it is gone.
    pub(crate) fn leave_commit(&mut self, pod: PodId, is_gone: bool, now: Time) {
        self.usage.take_back_assigned(pod);
        let Some(id) = self.commits.of_pod.remove(&pod) else { return };
        if let Some(commit) = self.commits.rows.get_mut(&id) {
            commit.members.retain(|member| member.pod != pod);
            self.commits.changed.insert(id);
        }
        if is_gone {
            self.take_back_commit(id, now);
        }
    }

    /// Takes back the pods of a unit that are on their way: the one place where that is done.
    fn take_back_commit(&mut self, id: u64, now: Time) {
        let Some(commit) = self.commits.remove(id) else { return };
        let mut gangs: BTreeSet<GangId> = BTreeSet::new();
        let pods: Vec<PodId> = commit.members.iter().map(|member| member.pod).collect();
        for Member { pod, node, .. } in commit.members {
            // Whoever waits for volumes was told so; that is over.
            self.catalog.nominate(pod, None);
            self.unplace(pod, node, now);
            gangs.extend(self.catalog.pod(pod).gang);
        }
        gangs.into_iter().for_each(|gang| self.regroup(gang, News::All, now));
        let mut tried: BTreeSet<UnitId> = BTreeSet::new();
        for pod in pods {
            if !self.is_to_stay(pod) {
                self.forget(pod, now);
            } else if self.catalog.pod(pod).gang.is_none() {
                self.retry_alone(pod, now);
            } else if let Some(unit) = self.queue.unit_of(pod).filter(|unit| tried.insert(*unit)) {
                self.queue.retry(unit, now);
            }
        }
        // Volumes that were given to its claims are for anybody.
        self.wake_volumes(now, |it| *it == VolumeFault::NoMatch);
    }

    /// Whether a pod waits for us again when it is not on its way any more.
    pub(crate) fn is_to_stay(&self, pod: PodId) -> bool {
        let known = self.catalog.pod(pod);
        let scheduler = &self.catalog.class(known.class).spec.scheduler;
        !known.rest.is_terminating && self.schedules(scheduler)
    }

    /// Notes that objects changed that somebody on his way may wait for.
    pub(crate) fn note_claim(&mut self, claim: &str) {
        let pods = self.usage.assigned().pods_of(claim);
        let ids = pods.filter_map(|pod| self.commits.of_pod.get(&pod));
        self.commits.changed.extend(ids);
    }

    /// Notes that a node is gone that somebody may be on his way to.
    pub(crate) fn note_node_gone(&mut self, node: NodeId) {
        let pods = self.catalog.pods_on(node).iter();
        let ids = pods.filter_map(|pod| self.commits.of_pod.get(pod));
        self.commits.changed.extend(ids);
    }

    /// Binds the units that have all they need, and takes back those that do not get it.
    pub(crate) fn review_commits(&mut self, now: Time, decisions: &mut Vec<Decision>) {
        let due = self.commits.due.iter().take_while(|(at, _)| *at <= now).map(|(_, id)| *id);
        let due: Vec<u64> = due.collect();
        let mut changed = std::mem::take(&mut self.commits.changed);
        changed.extend(due);
        for id in changed {
            let Some(commit) = self.commits.rows.get(&id) else { continue };
            if commit.members.iter().any(|member| member.written.is_none()) {
                continue;
            }
            self.review_commit(id, now, decisions);
        }
    }

    fn review_commit(&mut self, id: u64, now: Time, decisions: &mut Vec<Decision>) {
        let Some(commit) = self.commits.rows.get(&id) else { return };
        let is_over = commit.until.is_some_and(|until| until <= now);
        let mut is_ready = true;
        let mut failed = None;
        for member in &commit.members {
            match self.progress(member) {
                Progress::Ready => {}
                Progress::Awaiting if is_over => {
                    failed = Some((member.pod, Unprepared::TimedOut));
                    break;
                }
                Progress::Awaiting => is_ready = false,
                Progress::Failed(why) => {
                    failed = Some((member.pod, why));
                    break;
                }
            }
        }
        if let Some((pod, why)) = failed {
            // Whoever goes anyway is forgotten, and there is nobody to tell.
            let is_told = self.is_to_stay(pod);
            self.take_back_commit(id, now);
            decisions.extend(is_told.then_some(Decision::Unprepared { pod, why }));
        } else if is_ready {
            self.bind_commit(id, decisions);
        }
    }

    fn bind_commit(&mut self, id: u64, decisions: &mut Vec<Decision>) {
        let Some(commit) = self.commits.remove(id) else { return };
        let Commit { members, tries, arrived, .. } = commit;
        for Member { pod, node, attempt, .. } in members {
            self.usage.take_back_assigned(pod);
            decisions.push(Decision::Bind { pod, node, attempt, tries, arrived });
        }
    }

    /// How far the volumes of a pod are.
    fn progress(&self, member: &Member) -> Progress {
        let (catalog, node) = (&self.catalog, member.node);
        if !catalog.has_node(node) {
            return Progress::Failed(Unprepared::NodeGone(catalog.node_name(node).into()));
        }
        let given = self.usage.assigned().of(member.pod).map_or(&[][..], |(_, given)| given);
        let mut all = Progress::Ready;
        for (at, assignment) in given.iter().enumerate() {
            let Some(claim) = catalog.volume_claim(&assignment.claim) else {
                return Progress::Failed(Unprepared::ClaimGone(assignment.claim.clone()));
            };
            match self.progress_of(assignment, claim, node, member.version(at)) {
                Progress::Ready => {}
                Progress::Awaiting => all = Progress::Awaiting,
                failed @ Progress::Failed(_) => return failed,
            }
        }
        all
    }

    fn progress_of(
        &self,
        assignment: &Assignment,
        claim: &VolumeClaimFacts,
        node: NodeId,
        version: u64,
    ) -> Progress {
        let catalog = &self.catalog;
        // What is known may be older than what was written.
        let is_behind = |known: &str| known.parse().is_ok_and(|known: u64| known < version);
        let name = match &assignment.volume {
            Some(name) => {
                let Some(volume) = catalog.volume(name) else {
                    return Progress::Failed(Unprepared::VolumeGone(name.clone()));
                };
                if is_behind(&volume.facts.version) {
                    return Progress::Awaiting;
                }
                if volume.facts.claim.as_ref().is_none_or(|claim| claim.uid.is_empty()) {
                    return Progress::Failed(Unprepared::Unclaimed(name.clone()));
                }
                name
            }
            None => {
                if is_behind(&claim.version) {
                    return Progress::Awaiting;
                }
                if claim.selected_node.as_deref() != Some(catalog.node_name(node)) {
                    return Progress::Failed(Unprepared::NotMade(claim.name.clone()));
                }
                &claim.volume
            }
        };
        // Somebody else may have given it another one meanwhile, such as a leader before us.
        let name = if claim.is_bound() { &claim.volume } else { name };
        if let Some(volume) = catalog.volume(name) {
            let csi_node = catalog.csi_node(catalog.node_name(node));
            if volume.is_near_for(catalog, catalog.node(node), csi_node) != Some(true) {
                let (volume, node) = (name.clone(), catalog.node_name(node).into());
                return Progress::Failed(Unprepared::NodeConflict { volume, node });
            }
        } else {
            return Progress::Awaiting;
        }
        if claim.is_bound() { Progress::Ready } else { Progress::Awaiting }
    }
}

// === Objects of storage ===

impl Scheduler {
    /// Takes in an object of storage.
    pub(crate) fn set_storage(&mut self, facts: &StorageFacts, now: Time) {
        let is_same = self.catalog.is_same_but_version(facts);
        if self.catalog.set_storage(facts) {
            let (kind, name) = (facts.kind(), facts.name());
            let claim = self.claim_of(kind, &name);
            claim.iter().for_each(|claim| self.note_claim(claim));
            if !is_same {
                self.storage_changed(kind, &name, claim.as_deref(), now);
            }
        }
    }

    /// Forgets an object of storage.
    pub(crate) fn delete_storage(&mut self, kind: StorageKind, name: &str, now: Time) {
        let claim = self.claim_of(kind, name);
        if self.catalog.delete_storage(kind, name) {
            claim.iter().for_each(|claim| self.note_claim(claim));
            self.storage_changed(kind, name, claim.as_deref(), now);
        }
    }

    /// The claim that an object is, or that a volume is for.
    fn claim_of(&self, kind: StorageKind, name: &str) -> Option<Box<str>> {
        match kind {
            StorageKind::Claim => Some(name.into()),
            StorageKind::Volume => {
                self.catalog.volume(name)?.facts.claim.as_ref().map(ClaimRef::key)
            }
            StorageKind::Class
            | StorageKind::CsiNode
            | StorageKind::CsiDriver
            | StorageKind::Capacity
            | StorageKind::Attachment => None,
        }
    }

    /// Wakes whom a change of storage could help. `claim` is what a volume is for.
    fn storage_changed(&mut self, kind: StorageKind, name: &str, claim: Option<&str>, now: Time) {
        let is_of_claims = |fault: &VolumeFault| {
            matches!(fault, VolumeFault::Unbound | VolumeFault::NoVolumeNamed)
        };
        match kind {
            StorageKind::Claim => {
                self.wake_users(name, now);
                // The volume of a claim that is gone does not count, whoever is on a node with it.
                if self.catalog.volume_claim(name).is_none() {
                    self.wake_volumes(now, |it| *it == VolumeFault::TooMany);
                }
            }
            StorageKind::Volume => {
                claim.into_iter().for_each(|claim| self.wake_users(claim, now));
                self.queue.wake_named(&Reason::Volume(VolumeFault::NoVolume(name.into())), now);
                let is_free = claim.is_none();
                // Nor does one that is gone, wherever it is attached.
                let is_gone = self.catalog.volume(name).is_none();
                self.wake_volumes(now, |fault| {
                    *fault == VolumeFault::VolumeGone
                        || is_free && *fault == VolumeFault::NoMatch
                        || is_gone && *fault == VolumeFault::TooMany
                });
            }
            StorageKind::Class => {
                self.queue.wake_named(&Reason::Volume(VolumeFault::NoClass(name.into())), now);
                self.queue.wake_named(&Reason::Volume(VolumeFault::NoMode(name.into())), now);
                self.queue.wake_named(&Reason::Volume(VolumeFault::BrokenClass(name.into())), now);
                self.wake_volumes(now, |it| *it == VolumeFault::NoMatch || is_of_claims(it));
            }
            StorageKind::CsiNode => self.wake_volumes(now, |fault| {
                matches!(fault, VolumeFault::TooMany | VolumeFault::NodeConflict)
                    || matches!(fault, VolumeFault::NoDriver(_))
            }),
            StorageKind::CsiDriver => self.wake_volumes(now, |fault| {
                matches!(fault, VolumeFault::NoSpace | VolumeFault::NoDriver(_))
            }),
            StorageKind::Capacity => self.wake_volumes(now, |it| *it == VolumeFault::NoSpace),
            StorageKind::Attachment => self.wake_volumes(now, |it| *it == VolumeFault::TooMany),
        }
    }

    /// Wakes the units that volumes of a pod kept from nodes which it left.
    pub(crate) fn wake_unmounted(&mut self, tags: TagsId, now: Time) {
        self.wake_volumes(now, |it| matches!(it, VolumeFault::DiskInUse | VolumeFault::TooMany));
        let catalog = &self.catalog;
        let is_alone = |key: &str| {
            let claim = catalog.volume_claim(key);
            claim.is_none_or(|claim| AccessModes::ONCE_POD.are_within(claim.modes))
        };
        let alone: Vec<Box<str>> =
            catalog.tags(tags).claims.iter().filter(|key| is_alone(key)).cloned().collect();
        alone.iter().for_each(|claim| self.wake_users(claim, now));
    }

    /// Wakes the units that wait for reasons about volumes. Gangs are not listed by reason: all
    /// whose pods have volumes are tried.
    pub(crate) fn wake_volumes(&mut self, now: Time, is_cured: impl Fn(&VolumeFault) -> bool) {
        self.queue.wake(now, |it| matches!(it, Reason::Volume(it) if is_cured(it)), |_, _| true);
        let catalog = &self.catalog;
        let has_volumes = |class| catalog.class(class).has_volumes();
        self.queue.wake_gangs(now, |class| if has_volumes(class) { u64::MAX } else { 0 });
    }

    /// Wakes the units of waiting pods that name a claim.
    pub(crate) fn wake_users(&mut self, claim: &str, now: Time) {
        let users: Vec<PodId> = self.catalog.claim_users(claim).collect();
        for pod in users {
            if let Some(unit) = self.queue.unit_of(pod) {
                self.queue.wake_unit(unit, now);
            }
        }
    }
}

/// Whether a reason is that volumes of other pods are in the way.
pub(crate) fn is_mounted_by_others(reason: &Reason) -> bool {
    let Reason::Volume(fault) = reason else { return false };
    matches!(fault, VolumeFault::DiskInUse | VolumeFault::TooMany | VolumeFault::ClaimInUse)
}
