//! Owners of pods are told when a tier is the lowest because something is not known or means
//! nothing, and when what a pod says of itself means nothing and is ignored: once for every cause
//! in a namespace, about the first pod that is decided on.

use std::collections::{BTreeMap, BTreeSet};

use k8s::render;
use model::{Ignored, PodId, Source};
use tracing::warn;

use super::Core;
use crate::order::{Doubt, Order, Subject, Warn};

/// Pods can say any word: of a namespace this many causes are told.
const CAUSES_MAX: usize = 16;
/// Namespaces that are remembered; of more than these, some are told again.
const NAMESPACES_MAX: usize = 10_000;

/// What was told, by namespace.
#[derive(Default)]
pub(super) struct Tiers(pub(super) BTreeMap<Box<str>, Vec<Cause>>);

/// What is in doubt, and why.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Cause {
    Tier(Source),
    Hint(Ignored),
}

impl Tiers {
    /// The namespace has other labels, or is gone.
    pub(super) fn forget(&mut self, namespace: &str) {
        self.0.remove(namespace);
    }

    /// Forgets the namespaces that are not among `present`.
    pub(super) fn reset(&mut self, present: &BTreeSet<Box<str>>) {
        self.0.retain(|namespace, _| present.contains(namespace));
    }

    /// Whether a cause has to be told.
    fn note(&mut self, namespace: &str, cause: &Cause) -> bool {
        if let Some(told) = self.0.get_mut(namespace) {
            let is_due = told.len() < CAUSES_MAX && !told.contains(cause);
            if is_due {
                told.push(cause.clone());
            }
            return is_due;
        }
        if self.0.len() >= NAMESPACES_MAX {
            self.0.pop_first();
        }
        self.0.insert(namespace.into(), vec![cause.clone()]);
        true
    }
}

impl Core {
    /// Tells the owner of a pod that is decided on if anything about it is in doubt.
    pub(super) fn tell_tier(&mut self, pod: PodId) {
        let Some(profile) = self.scheduler.profile(pod) else { return };
        let mut causes = Vec::new();
        if let Some(note) = render::tier_note(&profile.tier) {
            causes.push((Doubt::Tier, Cause::Tier(profile.tier.source.clone()), note));
        }
        for ignored in profile.ignored.iter().filter(|ignored| is_malformed(ignored)) {
            let note = render::ignored_text(ignored) + "; it is ignored";
            causes.push((Doubt::Hint, Cause::Hint(ignored.clone()), note));
        }
        for (doubt, cause, note) in causes {
            let key = &self.scheduler.catalog().pod(pod).key;
            if !self.state.tiers.note(&key.namespace, &cause) {
                continue;
            }
            warn!(namespace = %key.namespace, pod = %key.name, note, "a word is not understood");
            let (about, scheduler) = (Subject::Pod(self.reference(pod)), self.scheduler_of(pod));
            self.send(Order::Warn(Warn { about, scheduler, doubt, note: note.into() }));
        }
    }
}

/// Whether a word means nothing, unlike one that the pod is not in a position to say.
fn is_malformed(ignored: &Ignored) -> bool {
    match ignored {
        Ignored::Workload(_) | Ignored::Spread(_) | Ignored::Preemptible(_) | Ignored::Numa(_) => {
            true
        }
        Ignored::Tier(_) | Ignored::NotPreemptible => false,
    }
}
