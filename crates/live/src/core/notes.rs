//! What is remembered of waiting pods beside the engine: when they were read, what their owners
//! were told, and which bindings no watch has shown yet.

use std::collections::BTreeSet;
use std::sync::Arc;
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
        message: &Arc<str>,
    ) -> (Option<StatusChange>, bool) {
        let Some(note) = self.waiting.get_mut(&hash_of(uid)) else { return (None, false) };
        note.read_at = None;
        let words = words(reason, message);
        let status = (note.told != Some(words) || note.is_nominated).then(|| StatusChange {
            generation: note.generation,
            is_transition: note.told.is_none(),
            clears_nomination: note.is_nominated,
        });
        (note.told, note.is_nominated) = (Some(words), false);
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
