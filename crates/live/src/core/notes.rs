//! What is remembered of waiting pods beside the engine: when they were read, what their owners
//! were told, and which bindings no watch has shown yet.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use k8s::ingest::Standing;
use k8s::render::StatusChange;
use model::{Map, PodFacts, hash_of};

use crate::feed::Seen;

/// The same event is written again when the last one is this old: events do not live for ever.
const REPEAT: Duration = Duration::from_secs(290);

/// Waiting pods by the hash of their uid.
#[derive(Default)]
pub(super) struct Notes {
    waiting: Map<u64, Note>,
    /// Bindings that no watch has shown yet.
    unconfirmed: BTreeSet<u64>,
}

#[derive(Default)]
struct Note {
    /// When it was read; taken by the first decision.
    read_at: Option<Instant>,
    /// What the status says, as a hash; nothing if there is no such condition.
    told: Option<u64>,
    is_nominated: bool,
    generation: i64,
    /// What the last event said, and when it was written.
    event: Option<(u64, Instant)>,
}

impl Notes {
    pub(super) fn pod_applied(&mut self, facts: &PodFacts, is_ours: bool, seen: &Seen) {
        let uid = hash_of(&*facts.key.uid);
        if facts.node.is_some() || facts.is_finished || facts.is_terminating || !is_ours {
            self.waiting.remove(&uid);
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
        if let Some(Standing { generation, is_nominated, condition }) = &seen.standing {
            note.generation = *generation;
            note.is_nominated = *is_nominated;
            note.told = condition.as_ref().map(|(reason, message)| words(reason, message));
        }
    }

    pub(super) fn pod_deleted(&mut self, uid: &str) {
        self.waiting.remove(&hash_of(uid));
        self.unconfirmed.remove(&hash_of(uid));
    }

    /// Forgets the pods that are not among `present`.
    pub(super) fn reset(&mut self, present: &BTreeSet<Box<str>>) {
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

    /// What has to be written so that the owner of a pod knows: the status, and whether an event.
    pub(super) fn tell(
        &mut self,
        uid: &str,
        reason: &str,
        message: &str,
        ends_nomination: bool,
    ) -> (Option<StatusChange>, bool) {
        let Some(note) = self.waiting.get_mut(&hash_of(uid)) else { return (None, false) };
        note.read_at = None;
        let words = words(reason, message);
        let clears_nomination = note.is_nominated && ends_nomination;
        let status = (note.told != Some(words) || clears_nomination).then(|| StatusChange {
            generation: note.generation,
            is_transition: note.told.is_none(),
            clears_nomination,
        });
        note.told = Some(words);
        note.is_nominated &= !ends_nomination;
        let is_repeated =
            note.event.is_some_and(|(last, at)| last == words && at.elapsed() < REPEAT);
        if !is_repeated {
            note.event = Some((words, Instant::now()));
        }
        (status, !is_repeated)
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

fn words(reason: &str, message: &str) -> u64 {
    hash_of(reason).rotate_left(1) ^ hash_of(message)
}

#[cfg(test)]
mod tests {
    use model::{Event, PodKey, PodSpec};

    use super::*;

    fn applied(standing: Standing) -> (PodFacts, Seen) {
        let facts = PodFacts {
            labels: Box::default(),
            owner: None,
            key: PodKey { uid: "u".into(), ..PodKey::default() },
            spec: PodSpec::default(),
            priority: 0,
            is_preempting: true,
            gates: Box::default(),
            node: None,
            nominated: None,
            is_finished: false,
            is_terminating: false,
        };
        let event = Event::PodApplied(Box::new(facts.clone()));
        (facts, Seen { event, standing: Some(standing), read_at: Instant::now() })
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
        let (status, has_event) = notes.tell("u", "Unschedulable", "why", true);
        let expected =
            StatusChange { generation: 3, is_transition: true, clears_nomination: false };
        assert_eq!((status, has_event), (Some(expected), true));
        assert_eq!(notes.tell("u", "Unschedulable", "why", true), (None, false));
        let (status, has_event) = notes.tell("u", "Unschedulable", "another", true);
        assert!(!status.unwrap().is_transition && has_event);
        notes.forget_told("u");
        assert!(notes.tell("u", "Unschedulable", "another", true).0.is_some());
    }

    #[test]
    fn what_stands_in_the_status_is_not_written_again() {
        let condition = Some(("Unschedulable".into(), "why".into()));
        let mut notes = notes(Standing { condition, ..Standing::default() });
        assert_eq!(notes.tell("u", "Unschedulable", "why", true), (None, true));
    }

    #[test]
    fn a_nomination_is_taken_back_only_where_it_ends() {
        let standing = Standing { is_nominated: true, ..Standing::default() };
        let mut notes = notes(standing);
        assert!(!notes.tell("u", "r", "why", false).0.unwrap().clears_nomination);
        assert!(notes.tell("u", "r", "why", true).0.unwrap().clears_nomination);
        assert_eq!(notes.tell("u", "r", "why", true).0, None);
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
