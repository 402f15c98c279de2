//! What is remembered of waiting pods beside the engine: when they were read, what their owners
//! were told, and which bindings no watch has shown yet.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use k8s::ingest::Standing;
use k8s::render::{HELD, QUEUED, StatusChange};
use model::{Eligible, Map, PodFacts, Time, hash_of};

use crate::feed::Seen;

/// The same event is written again when the last one is this old: events do not live for ever.
const REPEAT: Duration = Duration::from_secs(290);

/// Waiting pods by the hash of their uid.
#[derive(Default)]
pub(super) struct Notes {
    waiting: Map<u64, Note>,
    /// Uids of pods whose gates are gone, and whose status does not say yet since when.
    unsaid: BTreeSet<Box<str>>,
    /// Bindings that no watch has shown yet.
    unconfirmed: BTreeSet<u64>,
}

#[derive(Default)]
struct Note {
    /// When it was read; taken by the first decision.
    read_at: Option<Instant>,
    /// What the status says, as a hash; nothing if there is no such condition.
    told: Option<u64>,
    /// Whether it says that the pod is not to be placed yet.
    is_held: bool,
    /// Whether the pod had gates, and its status does not say since when it has none.
    is_unsaid: bool,
    /// Since when the pod can be placed, if it was told that.
    eligible: Option<Time>,
    /// The node that is proposed for it, by the hash of its name.
    nominated: Option<u64>,
    generation: i64,
    /// What the last event said, and when it was written.
    event: Option<(u64, Instant)>,
}

impl Notes {
    pub(super) fn pod_applied(&mut self, facts: &PodFacts, is_ours: bool, seen: &Seen) {
        let uid = hash_of(&*facts.key.uid);
        if facts.node.is_some() || facts.is_finished || facts.rest.is_terminating || !is_ours {
            self.waiting.remove(&uid);
            self.unsaid.remove(&facts.key.uid);
            if facts.node.is_some() || facts.is_finished {
                self.unconfirmed.remove(&uid);
            }
            return;
        }
        let is_known = self.waiting.contains_key(&uid);
        let note = self.waiting.entry(uid).or_default();
        if !is_known && !self.unconfirmed.contains(&uid) {
            note.read_at = Some(seen.read_at);
        }
        note.nominated = facts.nominated.as_deref().map(hash_of);
        note.is_unsaid = is_unsaid(facts);
        if !note.is_unsaid {
            self.unsaid.remove(&facts.key.uid);
        } else if !self.unsaid.contains(&facts.key.uid) {
            self.unsaid.insert(facts.key.uid.clone());
        }
        if let Some(Standing { generation, condition }) = &seen.standing {
            note.generation = *generation;
            note.told = condition.as_ref().map(|(reason, message)| words(reason, message));
            note.is_held = condition.as_ref().is_some_and(|(reason, _)| reason == HELD);
        }
    }

    pub(super) fn pod_deleted(&mut self, uid: &str) {
        self.waiting.remove(&hash_of(uid));
        self.unsaid.remove(uid);
        self.unconfirmed.remove(&hash_of(uid));
    }

    /// Forgets the pods that are not among `present`.
    pub(super) fn reset(&mut self, present: &BTreeSet<Box<str>>) {
        self.unsaid.retain(|uid| present.contains(uid));
        let present: BTreeSet<u64> = present.iter().map(|uid| hash_of(&**uid)).collect();
        self.waiting.retain(|uid, _| present.contains(uid));
        self.unconfirmed.retain(|uid| present.contains(uid));
    }

    /// A pod goes to a node. Tells when it was read, if this is the first decision about it.
    pub(super) fn placed(&mut self, uid: &str) -> Option<Instant> {
        let uid = hash_of(uid);
        self.unconfirmed.insert(uid);
        self.waiting.get_mut(&uid)?.read_at.take()
    }

    /// A binding was refused.
    pub(super) fn unplaced(&mut self, uid: &str) {
        self.unconfirmed.remove(&hash_of(uid));
    }

    /// Uids of pods that had gates, and whose status does not say since when they have none.
    pub(super) fn unsaid(&self) -> &BTreeSet<Box<str>> {
        &self.unsaid
    }

    /// What has to be written so that the status of a pod says that it can be placed since then.
    pub(super) fn tell_queued(&mut self, uid: &str, since: Time) -> Option<(StatusChange, Time)> {
        self.unsaid.remove(uid);
        let note = self.waiting.get_mut(&hash_of(uid))?;
        let words = words(QUEUED.0, QUEUED.1);
        if note.told == Some(words) {
            return None;
        }
        (note.is_held, note.told) = (false, Some(words));
        let since = *note.eligible.get_or_insert(since);
        let generation = note.generation;
        Some((StatusChange { generation, is_transition: true, nomination: None }, since))
    }

    /// Since when a pod that had gates can be placed, if its status is to say so for the first time
    /// though it waits for another reason by now. It could be tried since `turn`.
    pub(super) fn eligible(&mut self, uid: &str, reason: &str, turn: Option<Time>) -> Option<Time> {
        let note = self.waiting.get_mut(&hash_of(uid))?;
        if !note.is_unsaid || reason == HELD {
            return None;
        }
        note.eligible = note.eligible.or(turn);
        note.eligible
    }

    /// What has to be written so that the owner of a pod knows: the status, and whether an event.
    pub(super) fn tell(
        &mut self,
        uid: &str,
        reason: &str,
        message: &str,
        nominated: Option<&str>,
    ) -> (Option<StatusChange>, bool) {
        let Some(note) = self.waiting.get_mut(&hash_of(uid)) else { return (None, false) };
        note.read_at = None;
        let is_eligible = reason != HELD;
        if is_eligible {
            self.unsaid.remove(uid);
        }
        let words = words(reason, message);
        let nomination =
            (note.nominated != nominated.map(hash_of)).then(|| nominated.map(Into::into));
        let status = (note.told != Some(words) || nomination.is_some()).then(|| StatusChange {
            generation: note.generation,
            // Since when a pod without gates waits is written down for whoever leads next.
            is_transition: note.told.is_none() || is_eligible && (note.is_held || note.is_unsaid),
            nomination,
        });
        note.is_held = reason == HELD;
        note.told = Some(words);
        note.nominated = nominated.map(hash_of);
        let is_repeated =
            note.event.is_some_and(|(last, at)| last == words && at.elapsed() < REPEAT);
        if !is_repeated {
            note.event = Some((words, Instant::now()));
        }
        (status, !is_repeated)
    }

    /// A node is proposed for a pod; tells whether its status has to say so.
    pub(super) fn proposed(&mut self, uid: &str, node: &str) -> bool {
        let Some(note) = self.waiting.get_mut(&hash_of(uid)) else { return false };
        note.nominated.replace(hash_of(node)) != Some(hash_of(node))
    }

    /// The same for none.
    pub(super) fn unproposed(&mut self, uid: &str) -> bool {
        let note = self.waiting.get_mut(&hash_of(uid));
        note.is_some_and(|note| note.nominated.take().is_some())
    }

    /// The status could not be written.
    pub(super) fn forget_told(&mut self, uid: &str) {
        if let Some(note) = self.waiting.get_mut(&hash_of(uid)) {
            note.told = None;
        }
    }

    pub(super) fn has_unconfirmed(&self) -> bool {
        !self.unconfirmed.is_empty()
    }

    pub(super) fn unconfirmed(&self) -> usize {
        self.unconfirmed.len()
    }
}

/// Whether a pod had gates and has none, and its object does not say since when. A spec that never
/// changed never had gates.
fn is_unsaid(facts: &PodFacts) -> bool {
    facts.rest.eligible == Eligible::Ungated
        && facts.rest.gates.is_empty()
        && facts.rest.generation != 1
}

fn words(reason: &str, message: &str) -> u64 {
    hash_of(reason).rotate_left(1) ^ hash_of(message)
}

#[cfg(test)]
mod tests {
    use model::{Event, PodKey, PodRest, PodSpec};

    use super::*;

    fn applied(standing: Standing) -> (PodFacts, Seen) {
        let facts = PodFacts {
            volumes: [].into(),
            labels: Default::default(),
            owner: None,
            key: PodKey { uid: "u".into(), ..PodKey::default() },
            spec: PodSpec::default(),
            node: None,
            nominated: None,
            is_finished: false,
            gang: None,
            rest: PodRest::default(),
        };
        let event = Event::seen(facts.clone());
        (facts, Seen { standing: Some(standing), ..Seen::plain(event) })
    }

    fn notes(standing: Standing) -> Notes {
        let mut notes = Notes::default();
        let (facts, seen) = applied(standing);
        notes.pod_applied(&facts, true, &seen);
        notes
    }

    #[test]
    fn the_same_is_told_once() {
        let mut notes = notes(Standing { generation: 3, ..Standing::default() });
        let (status, has_event) = notes.tell("u", "Unschedulable", "why", None);
        let expected = StatusChange { generation: 3, is_transition: true, nomination: None };
        assert_eq!((status, has_event), (Some(expected), true));
        assert_eq!(notes.tell("u", "Unschedulable", "why", None), (None, false));
        let (status, has_event) = notes.tell("u", "Unschedulable", "another", None);
        assert!(!status.unwrap().is_transition && has_event);
        notes.forget_told("u");
        assert!(notes.tell("u", "Unschedulable", "another", None).0.is_some());
    }

    #[test]
    fn what_stands_in_the_status_is_not_written_again() {
        let condition = Some(("Unschedulable".into(), "why".into()));
        let mut notes = notes(Standing { condition, ..Standing::default() });
        assert_eq!(notes.tell("u", "Unschedulable", "why", None), (None, true));
    }

    #[test]
    fn since_when_a_pod_waits_that_had_gates_is_written_once() {
        let condition = Some((HELD.into(), "has gates".into()));
        let mut notes = notes(Standing { condition, ..Standing::default() });
        let is_transition = |told: Option<StatusChange>| told.unwrap().is_transition;
        assert!(!is_transition(notes.tell("u", HELD, "has other gates", None).0));
        assert!(is_transition(notes.tell("u", "Unschedulable", "why", None).0));
        assert!(!is_transition(notes.tell("u", "Unschedulable", "another", None).0));
    }

    /// As long as its object does not say since when it can be placed, whatever was tried before.
    #[test]
    fn a_pod_that_had_gates_is_told_since_when_it_can_be_placed() {
        let mut notes = Notes::default();
        let condition = Some((HELD.into(), "has gates".into()));
        let (mut facts, seen) = applied(Standing { generation: 2, condition });
        let no_condition = Standing { generation: 2, condition: None };
        let mut see = |notes: &mut Notes, gates: &[&str], generation, eligible| {
            facts.rest.gates = gates.iter().map(|gate| (*gate).into()).collect();
            (facts.rest.generation, facts.rest.eligible) = (generation, eligible);
            notes.pod_applied(&facts, true, &seen);
            notes.unsaid().len()
        };
        assert_eq!(see(&mut notes, &["quota"], 2, Eligible::Ungated), 0, "it has gates");
        assert_eq!(see(&mut notes, &[], 1, Eligible::Ungated), 0, "it never had gates");
        assert_eq!(see(&mut notes, &[], 2, Eligible::Ungated), 1);
        let (status, since) = notes.tell_queued("u", Time(5_000)).expect("it is told");
        assert_eq!((status.is_transition, status.generation, since), (true, 2, Time(5_000)));
        assert!(notes.unsaid().is_empty());
        assert_eq!(notes.tell_queued("u", Time(6_000)), None, "once");
        // That was not written: the pod was about to be bound. Then a try failed.
        notes.forget_told("u");
        assert_eq!(notes.eligible("u", HELD, Some(Time(9_000))), None, "it is not eligible");
        let since = notes.eligible("u", "Unschedulable", Some(Time(9_000)));
        assert_eq!(since, Some(Time(5_000)), "since then, not since the last turn");
        assert!(notes.tell("u", "Unschedulable", "why", None).0.expect("a status").is_transition);
        assert_eq!(see(&mut notes, &[], 2, Eligible::Since(7)), 0, "its object says so");
        assert_eq!(notes.eligible("u", "Unschedulable", Some(Time(9_000))), None);
        let (facts, seen) = applied(no_condition);
        notes.pod_applied(&facts, true, &seen);
        assert!(notes.tell("u", "Unschedulable", "why", None).0.expect("a status").is_transition);
        assert!(
            !notes.tell("u", "Unschedulable", "other", None).0.expect("a status").is_transition
        );
    }

    #[test]
    fn a_nomination_is_written_where_the_status_says_something_else() {
        let mut notes = notes(Standing::default());
        let nomination = |told: Option<StatusChange>| told.and_then(|status| status.nomination);
        assert_eq!(nomination(notes.tell("u", "r", "why", None).0), None);
        assert_eq!(nomination(notes.tell("u", "r", "why", Some("a")).0), Some(Some("a".into())));
        assert_eq!(notes.tell("u", "r", "why", Some("a")).0, None);
        assert_eq!(nomination(notes.tell("u", "r", "why", None).0), Some(None));
        assert!(!notes.unproposed("u"), "the status says so already");
        notes.tell("u", "r", "why", Some("a"));
        assert!(notes.unproposed("u"));
        assert_eq!(notes.tell("u", "r", "why", None).0, None);
    }

    #[test]
    fn bindings_are_unconfirmed_until_the_watch_shows_them() {
        let mut notes = notes(Standing::default());
        assert!(notes.placed("u").is_some(), "the first decision knows when the pod was read");
        assert!(notes.placed("u").is_none());
        assert!(notes.has_unconfirmed());
        let (mut facts, seen) = applied(Standing::default());
        notes.pod_applied(&facts, true, &seen);
        assert!(notes.has_unconfirmed(), "the pod is still on no node");
        facts.node = Some("n".into());
        notes.pod_applied(&facts, true, &seen);
        assert!(!notes.has_unconfirmed());
    }
}
