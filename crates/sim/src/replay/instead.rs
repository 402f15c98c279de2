//! What another configuration would have decided.
//!
//! Nodes, pods and the decisions of others are those of the journal. A pod that the journal's
//! scheduler bound is, here, where the other configuration puts it, from when it does so; it ends
//! when it ended. A binding that was refused is refused here too, wherever it goes. Pods that are
//! evicted here alone go at once; those that the journal's scheduler evicted end
//! when they ended.

use std::collections::{BTreeMap, BTreeSet};

use engine::{Backoff, Checkpoint, Options, Scheduler};
use journal::{Decided, Header};
use k8s::config::Settings;
use model::{
    Attempt, Catalog, Event, Fact, Key, Kind, Moment, Outcome, PodFacts, PodState, Present, Time,
};

use super::{ReplayError, parts, step};

/// Where a pod went: then, and with the other configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placements {
    /// Namespace and name.
    pub pod: String,
    /// When and where it was bound, by the journal; times in milliseconds since 1970.
    pub then: Option<(u64, Box<str>)>,
    /// When and where it would have been.
    pub now: Option<(u64, Box<str>)>,
}

/// What would have been decided instead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instead {
    /// Pods that are placed in both, on the same node at the same time.
    pub same: u64,
    /// Pods that are placed on another node.
    pub elsewhere: u64,
    /// Pods that are placed earlier, be it elsewhere or not.
    pub earlier: u64,
    /// Pods that are placed later, be it elsewhere or not.
    pub later: u64,
    /// Pods that are not placed.
    pub only_then: u64,
    /// Pods that were not placed.
    pub only_now: u64,
    /// All pods whose pod differs, in the order of time.
    pub differing: Vec<Placements>,
}

/// A scheduler with another configuration.
pub(super) struct Other<'a> {
    settings: &'a Settings,
    scheduler: Option<Scheduler>,
    started: u64,
    /// The last time at which anything happened.
    last: Time,
    /// Where the journal's scheduler sent pods that are there, by uid.
    sent: BTreeMap<Box<str>, (Box<str>, Attempt)>,
    /// Pods that the journal's scheduler or this one bound, by uid.
    pods: BTreeMap<Box<str>, Placements>,
    /// Pods that were evicted here alone, by uid, and those that the journal's scheduler evicted.
    evicted: BTreeSet<Box<str>>,
    evicted_then: BTreeSet<Box<str>>,
}

impl<'a> Other<'a> {
    pub(super) fn new(settings: &'a Settings) -> Self {
        let last = Time::default();
        let (sent, pods) = (BTreeMap::new(), BTreeMap::new());
        let (evicted, evicted_then) = (BTreeSet::new(), BTreeSet::new());
        Self { settings, scheduler: None, started: 0, last, sent, pods, evicted, evicted_then }
    }

    /// The names of its profiles.
    pub(super) fn schedulers(&self) -> impl Iterator<Item = &str> {
        self.settings.profiles.iter().map(|profile| &*profile.scheduler)
    }

    pub(super) fn is_running(&self) -> bool {
        self.scheduler.is_some()
    }

    /// Begins anew with what the journal's scheduler knew.
    pub(super) fn resume(
        &mut self,
        segment: &str,
        header: &Header,
        checkpoint: Checkpoint,
    ) -> Result<(), ReplayError> {
        let (catalog, profiles) = parts(segment, self.settings)?;
        let on_their_way = checkpoint.pods.iter().filter(|pod| pod.attempt.is_some());
        let sent = on_their_way
            .filter_map(|pod| Some((pod.key.uid.clone(), (pod.node.clone()?, pod.attempt?))));
        self.sent = sent.collect();
        self.evicted.clear();
        let backoff = Backoff {
            initial: self.settings.initial_backoff,
            max: self.settings.max_backoff,
            flush: header.options.backoff.flush,
        };
        let options = Options { backoff, ..header.options };
        let options = options.with_gangs(&self.settings.gang_args());
        let resumed = Scheduler::resume(catalog, profiles, options, checkpoint);
        let failed = |source| ReplayError::Checkpoint { segment: segment.into(), source };
        self.scheduler = Some(resumed.map_err(failed)?);
        (self.started, self.last) = (header.started_unix_ms, header.at);
        Ok(())
    }

    /// Decides what is due up to a time, as long as the journal's scheduler has nothing to do,
    /// which is until `busy`.
    pub(super) fn catch_up(&mut self, until: Time, busy: Option<Time>) {
        let is_free = |time: &Time| *time <= until && busy.is_none_or(|busy| *time < busy);
        while let Some(scheduler) = &mut self.scheduler {
            let Some(due) = scheduler.next_wakeup().filter(is_free) else { break };
            let at = due.max(self.last);
            if !is_free(&at) {
                break;
            }
            let decided = step(scheduler, at);
            let is_stuck = decided.is_empty() && scheduler.next_wakeup() == Some(due);
            self.note(&decided, at);
            if is_stuck {
                break;
            }
        }
        self.last = until;
    }

    /// Takes in an event as it would have been.
    pub(super) fn apply(&mut self, mut event: Event, moment: Moment) {
        let Some(scheduler) = &mut self.scheduler else { return };
        let catalog = scheduler.catalog();
        match &mut event {
            Event::Seen(Fact::Pod(facts)) if self.evicted.contains(&facts.key.uid) => return,
            Event::Seen(Fact::Pod(facts)) => {
                let sent = self.sent.get(&facts.key.uid).map(|(node, _)| &**node);
                let is_ours = facts.node.is_none() || facts.node.as_deref() == sent;
                if facts.is_finished || !is_ours {
                    // From here on it is where others put it.
                    self.sent.remove(&facts.key.uid);
                } else if facts.node.is_some() {
                    redirect(facts, catalog);
                }
            }
            Event::Outcome(Outcome::BindRefused { uid, attempt }) => {
                // An answer to an older attempt was ignored.
                if self.sent.get(uid).is_none_or(|(_, last)| last != attempt) {
                    return;
                }
                self.sent.remove(uid);
                let pod = self.pods.get_mut(uid);
                let own = match state(catalog, uid) {
                    Some(PodState::Assumed(_, own)) => Some(own),
                    Some(PodState::Waiting | PodState::Bound(_)) | None => None,
                };
                if let Some(pod) = pod {
                    pod.then = None;
                    pod.now = pod.now.take().filter(|_| own.is_none());
                }
                let Some(own) = own else { return };
                *attempt = own;
            }
            Event::Gone(Key { kind: Kind::Pod, name: uid }) => _ = self.sent.remove(uid),
            Event::Listed(Kind::Pod, Present::Names(uids)) => {
                self.sent.retain(|uid, _| uids.contains(uid));
            }
            Event::Seen(_) | Event::Gone(_) | Event::Listed(..) | Event::Outcome(_) => {}
        }
        scheduler.apply(&event, moment);
    }

    /// Decides when the journal's scheduler did, which came to `then`.
    pub(super) fn step(&mut self, at: Time, then: &[Decided], names: &Catalog) {
        let unix_ms = self.started.saturating_add(at.0);
        for decided in then {
            match decided {
                Decided::Bind { uid, node, attempt } => {
                    let pod = self.pods.entry(uid.clone()).or_insert_with(|| unnamed(uid, names));
                    pod.then = Some((unix_ms, node.clone()));
                    self.sent.insert(uid.clone(), (node.clone(), *attempt));
                }
                Decided::Preempt { victims, .. } => {
                    self.evicted_then.extend(victims.iter().cloned());
                }
                Decided::Disband { evicted, .. } => {
                    self.evicted_then.extend(evicted.iter().cloned());
                }
                Decided::Wait { .. } => {}
            }
        }
        let Some(scheduler) = &mut self.scheduler else { return };
        let decided = step(scheduler, at);
        self.note(&decided, at);
    }

    fn note(&mut self, decided: &[Decided], at: Time) {
        let unix_ms = self.started.saturating_add(at.0);
        let Some(scheduler) = &mut self.scheduler else { return };
        for decided in decided {
            match decided {
                Decided::Bind { uid, node, .. } => {
                    let catalog = scheduler.catalog();
                    let pod = self.pods.entry(uid.clone()).or_insert_with(|| unnamed(uid, catalog));
                    pod.now = Some((unix_ms, node.clone()));
                }
                Decided::Preempt { victims, .. } | Decided::Disband { evicted: victims, .. } => {
                    for victim in victims.iter().filter(|one| !self.evicted_then.contains(*one)) {
                        let wall_ms = self.started.saturating_add(at.0);
                        let moment = Moment { at, wall_ms };
                        scheduler.apply(&Event::gone(Kind::Pod, victim.to_string()), moment);
                        self.evicted.insert(victim.clone());
                    }
                }
                Decided::Wait { .. } => {}
            }
        }
    }

    pub(super) fn finish(self) -> Instead {
        let mut instead = Instead::default();
        for pod in self.pods.into_values() {
            match (&pod.then, &pod.now) {
                (None, None) => continue,
                (Some(then), Some(now)) if then == now => {
                    instead.same += 1;
                    continue;
                }
                (Some((then, node)), Some((now, other))) => {
                    instead.elsewhere += u64::from(node != other);
                    instead.earlier += u64::from(now < then);
                    instead.later += u64::from(now > then);
                }
                (Some(_), None) => instead.only_then += 1,
                (None, Some(_)) => instead.only_now += 1,
            }
            instead.differing.push(pod);
        }
        let time = |pod: &Placements| pod.then.as_ref().or(pod.now.as_ref()).map(|(time, _)| *time);
        instead.differing.sort_by(|a, b| (time(a), &a.pod).cmp(&(time(b), &b.pod)));
        instead
    }
}

/// Where a pod is that the journal's scheduler bound: here it is where we put it, or nowhere yet.
/// Where nobody decided about it here, it is where it was.
fn redirect(facts: &mut PodFacts, catalog: &Catalog) {
    match state(catalog, &facts.key.uid) {
        None => {}
        Some(PodState::Waiting) => facts.node = None,
        Some(PodState::Assumed(node, _) | PodState::Bound(node)) => {
            facts.node = Some(catalog.node_name(node).into());
        }
    }
}

fn state(catalog: &Catalog, uid: &str) -> Option<PodState> {
    catalog.find_pod(uid).map(|pod| catalog.pod(pod).state)
}

fn unnamed(uid: &str, catalog: &Catalog) -> Placements {
    let key = catalog.find_pod(uid).map(|pod| &catalog.pod(pod).key);
    let pod = key.map_or(uid.to_owned(), |key| format!("{}/{}", key.namespace, key.name));
    Placements { pod, then: None, now: None }
}
