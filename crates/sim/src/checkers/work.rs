//! What an event may cost a scheduler, in looks (`Scheduler::looks`) and not in time: it depends on
//! what the event is about and on whom it helps, never on how large the cluster is.
//!
//! ```text
//!  BASE + EACH x (helped + changing)    for an event about one node or one pod
//!       + EACH x (pods + nodes) x rules if its pod brings rules about others, or labels, that
//!                                       nobody else has, or takes the last of them away
//!       + EACH x pods x rules           for an event about a namespace, a PodGroup, a service: the
//!                                       pods that it is about
//!       + EACH x groups x levels        if it is about a gang of gangs, or a pod in one
//!       + claims                        what pods of its gang say of it that differs
//!       x (1 + all that is known)       for a list
//! ```
//!
//! `helped` are classes of waiting pods for which a node that changed has enough free, or that do
//! not wait for a change any more; for each of the nodes that changed. Classes that a node has not
//! enough for cost nothing, whether or not something is kept for them. What changes about a node
//! itself, such as its labels, can end any reason: all classes count then. `changing` are waiting
//! pods of the gang that is concerned, if they go elsewhere in the queue, all of its pods if they
//! are tried together from now on, or not any more, or were found on nodes at the start, those that
//! were sent to nodes together, as they leave their unit one by one or at once; and units that were
//! woken.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::{Place, QueueCounts, Scheduler};
use model::{Event, Fact, GroupingKey, Key, Kind, Outcome, PodFacts, PodGroupKey, PodSpec};

use super::Violation;
use super::ledger::Ledger;
use super::roster::{Gang, GangKey, gang_of};
use super::rules;

/// What any event may cost.
const BASE: u64 = 64;
/// What it may cost more for each of those whom it is about.
const EACH: u64 = 8;
/// How many levels a gang of gangs may have: each is asked about what is below it.
const LEVELS: usize = 8;
/// How many different things pods may say of a gang: beyond that nothing is read.
const CLAIMS_MAX: usize = 64;
/// How many characters name an event that costs too much.
const WORDS_MAX: usize = 120;

/// How things were before an event.
pub(crate) struct Before {
    looks: u64,
    version: u64,
    counts: QueueCounts,
    /// All that was known.
    known: usize,
    /// The pod that the event is about, as it was.
    pod: Option<Arc<Event>>,
    gangs: Vec<(GangKey, GangState)>,
}

/// What the waiting pods of a gang have in common.
#[derive(PartialEq, Eq)]
struct GangState {
    is_told: bool,
    is_whole: bool,
    place: Option<Place>,
}

impl Before {
    pub(crate) fn of(ledger: &Ledger, scheduler: &Scheduler, event: &Event) -> Self {
        let pod = uid_of(event).and_then(|uid| ledger.pod(uid));
        let after = pod_of(event).and_then(gang_of);
        let before = pod.and_then(|known| gang_of(known.facts()));
        let mut keys: BTreeSet<GangKey> = before.into_iter().chain(after).collect();
        // Groups of one tree are tried together.
        let roster = ledger.roster();
        let spaces: BTreeSet<_> = keys.iter().map(|(namespace, _)| namespace.clone()).collect();
        let trees = spaces.iter().filter(|namespace| roster.groups_in_trees(namespace) > 0);
        for namespace in trees {
            keys.extend(roster.keys().filter(|(other, _)| other == namespace).cloned());
        }
        let state = |key: GangKey| {
            let state = GangState::of(ledger, scheduler, &key);
            (key, state)
        };
        Self {
            looks: scheduler.looks(),
            version: ledger.version(),
            counts: scheduler.waiting(),
            known: ledger.pod_count() + ledger.nodes().count(),
            pod: pod.map(|known| known.object()),
            gangs: keys.into_iter().map(state).collect(),
        }
    }

    /// Holds what an event cost against what it may cost. `more` is added to what the scheduler
    /// looked at.
    pub(crate) fn check(
        &self,
        ledger: &Ledger,
        scheduler: &Scheduler,
        event: &Event,
        more: u64,
    ) -> Result<(), Violation> {
        let looks = scheduler.looks() - self.looks + more;
        // Most events cost so little that nothing has to be worked out.
        if looks <= BASE {
            return Ok(());
        }
        let most = self.most(ledger, scheduler, event);
        if looks <= most {
            return Ok(());
        }
        Err(Violation::Overworked { event: name(event), looks, most })
    }

    fn most(&self, ledger: &Ledger, scheduler: &Scheduler, event: &Event) -> u64 {
        // What changes about a node itself can end any reason.
        let is_node =
            matches!(event, Event::Seen(Fact::Node(_)) | Event::Gone(Key { kind: Kind::Node, .. }));
        let helped = self.helped(ledger, scheduler, is_node) + self.changing(ledger, scheduler);
        let pods = |is_meant: &dyn Fn(&PodFacts) -> bool| {
            let pods = ledger.pods().filter(|facts| is_meant(facts)).count();
            (1 + rules_of(ledger)) * pods
        };
        // Pods of gangs in the namespace, and groups of trees there.
        let in_gangs = |key: &PodGroupKey| {
            pods(&|pod| pod.gang.is_some() && *pod.key.namespace == *key.namespace)
                + LEVELS * ledger.roster().groups_in_trees(&key.namespace)
        };
        let meant = match event {
            Event::Seen(Fact::Pod(_)) | Event::Gone(Key { kind: Kind::Pod, .. }) => {
                let known = ledger.pod_count() + ledger.nodes().count();
                self.news(ledger, event) * known + self.groups(ledger)
            }
            Event::Seen(Fact::Namespace(facts)) => pods(&|pod| pod.key.namespace == facts.name),
            Event::Gone(Key { kind: Kind::Namespace, name }) => {
                pods(&|pod| *pod.key.namespace == **name)
            }
            Event::Seen(Fact::Grouping(facts)) => {
                pods(&|pod| pod.key.namespace == facts.key.namespace)
            }
            Event::Gone(Key { kind: Kind::Grouping(sort), name }) => {
                pods(&|pod| pod.key.namespace == GroupingKey::of(*sort, name).namespace)
            }
            Event::Seen(Fact::PodGroup(facts)) => in_gangs(&facts.key),
            Event::Gone(Key { kind: Kind::PodGroup(sort), name }) => {
                in_gangs(&PodGroupKey::of(*sort, name))
            }
            Event::Seen(_) | Event::Gone(_) | Event::Outcome(Outcome::EvictionFailed(_)) => 0,
            Event::Outcome(
                Outcome::BindRefused { .. }
                | Outcome::Prepared { .. }
                | Outcome::PrepareRefused { .. },
            ) => self.groups(ledger),
            Event::Listed(..) => {
                let each = BASE + EACH * (helped + 1) as u64;
                return each * (1 + self.known + ledger.pod_count()) as u64;
            }
        };
        BASE + EACH * (helped + meant) as u64 + self.claims(ledger) as u64
    }

    /// Classes that nodes which changed may help, for each of these nodes.
    fn helped(&self, ledger: &Ledger, scheduler: &Scheduler, is_node: bool) -> usize {
        let touched = ledger.nodes().filter(|(_, place)| place.version > self.version);
        let touched: Vec<_> = touched.map(|(node, place)| (node, place.taken())).collect();
        let mut classes: Vec<(&PodSpec, bool)> = Vec::new();
        for (uid, facts) in ledger.waiting() {
            let class = (&facts.spec, facts.gang.is_some());
            let is_covered = || {
                let mut nodes = touched.iter();
                nodes.any(|(node, taken)| rules::lacks(&facts.spec, node, taken).is_empty())
            };
            let is_parked = || {
                let pod = scheduler.catalog().find_pod(uid);
                let place = pod.and_then(|pod| scheduler.place_of(pod));
                matches!(place, Some(Place::Parked(_)))
            };
            let is_new = !classes.contains(&class);
            if is_new && (is_node || !is_parked() || is_covered()) {
                classes.push(class);
            }
        }
        // No more than there were parked.
        classes.len().min(self.counts.parked) * touched.len().max(1)
    }

    /// Waiting pods that have another place in the queue now.
    fn changing(&self, ledger: &Ledger, scheduler: &Scheduler) -> usize {
        let changing = |(key, before): &(GangKey, GangState)| {
            let (gang, after) = (Gang::of(ledger, key), GangState::of(ledger, scheduler, key));
            let is_gathering = |state: &GangState| matches!(state.place, Some(Place::Gathering(_)));
            let is_found = ledger.roster().found.contains(key);
            let is_made_anew =
                after.is_whole != before.is_whole || is_gathering(&after) != is_gathering(before);
            if is_found || is_made_anew {
                return gang.members.count();
            }
            let (sent, waiting) = (gang.members.sent.len(), gang.members.waiting.len());
            sent + if after == *before { 0 } else { waiting }
        };
        let pods: usize = self.gangs.iter().map(changing).sum();
        let woken = self.counts.parked.saturating_sub(scheduler.waiting().parked);
        pods + woken
    }

    /// Groups of the trees of gangs that the event is about.
    fn groups(&self, ledger: &Ledger) -> usize {
        let spaces: BTreeSet<_> = self.gangs.iter().map(|((namespace, _), _)| namespace).collect();
        let groups = spaces.into_iter().map(|space| ledger.roster().groups_in_trees(space));
        LEVELS * groups.sum::<usize>()
    }

    /// How many different things the pods of gangs say of them that the event is about.
    fn claims(&self, ledger: &Ledger) -> usize {
        let claims = |(key, _): &(GangKey, GangState)| {
            Gang::of(ledger, key).members.claims().len().min(1 + CLAIMS_MAX)
        };
        self.gangs.iter().map(claims).sum()
    }

    /// How many rules come with a pod or go with it: its own if nobody else has its spec, and one
    /// by which it is alike with others if nobody else has its labels. Volumes are kept with
    /// labels: a pod with claims of its own has labels that nobody else has.
    fn news(&self, ledger: &Ledger, event: &Event) -> usize {
        let before = self.pod.as_deref().and_then(pod_of);
        let after = pod_of(event);
        let mut news = 0;
        for facts in before.into_iter().chain(after) {
            let others = || ledger.pods().filter(|other| other.key.uid != facts.key.uid);
            if !others().any(|other| other.spec == facts.spec) {
                let PodSpec { near, far, prefers, spread, .. } = &facts.spec;
                // What is meant, and what is held.
                news += 2 * (near.len() + far.len() + prefers.len() + spread.len());
            }
            let is_alike = |other: &PodFacts| {
                (&other.key.namespace, &other.labels, &other.owner, &other.volumes)
                    == (&facts.key.namespace, &facts.labels, &facts.owner, &facts.volumes)
            };
            news += usize::from(!others().any(is_alike));
        }
        news
    }
}

impl GangState {
    fn of(ledger: &Ledger, scheduler: &Scheduler, key: &GangKey) -> Self {
        let gang = Gang::of(ledger, key);
        let first = gang.waiting().next().map(|known| known.facts());
        let first = first.and_then(|facts| scheduler.catalog().find_pod(&facts.key.uid));
        Self {
            is_told: gang.terms.is_ok(),
            is_whole: gang.is_whole(),
            place: first.and_then(|pod| scheduler.place_of(pod)),
        }
    }
}

/// How many rules about others there are.
fn rules_of(ledger: &Ledger) -> usize {
    let of_pod = |facts: &PodFacts| {
        let PodSpec { near, far, prefers, spread, .. } = &facts.spec;
        2 * (near.len() + far.len() + prefers.len() + spread.len())
    };
    ledger.pods().map(of_pod).sum()
}

fn pod_of(event: &Event) -> Option<&PodFacts> {
    if let Event::Seen(Fact::Pod(facts)) = event { Some(facts) } else { None }
}

/// The pod that an event is about.
fn uid_of(event: &Event) -> Option<&str> {
    if let Event::Gone(Key { kind: Kind::Pod, name: uid })
    | Event::Outcome(Outcome::EvictionFailed(uid))
    | Event::Outcome(Outcome::BindRefused { uid, .. }) = event
    {
        return Some(uid);
    }
    pod_of(event).map(|facts| &*facts.key.uid)
}

/// An event in a few words.
fn name(event: &Event) -> String {
    format!("{event:?}").chars().take(WORDS_MAX).collect()
}
