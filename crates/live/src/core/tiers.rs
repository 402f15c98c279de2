//! Owners of pods are told when a tier is the lowest because something is not known or means
//! nothing: once for every cause in a namespace, about the first pod that is decided on.

use std::collections::{BTreeMap, BTreeSet};

use k8s::render;
use model::{PodId, Source};
use tracing::warn;

use super::Core;
use crate::order::{Order, Warn};

/// Pods can say any word: of a namespace this many causes are told.
const CAUSES_MAX: usize = 16;
/// Namespaces that are remembered; of more than these, some are told again.
const NAMESPACES_MAX: usize = 10_000;

/// What was told, by namespace.
#[derive(Default)]
pub(super) struct Tiers(pub(super) BTreeMap<Box<str>, Vec<Source>>);

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
    fn note(&mut self, namespace: &str, cause: &Source) -> bool {
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
    /// Tells the owner of a pod that is decided on if its tier is in doubt.
    pub(super) fn tell_tier(&mut self, pod: PodId) {
        let Some(profile) = self.scheduler.profile(pod) else { return };
        let Some(note) = render::tier_note(&profile.tier) else { return };
        let key = &self.scheduler.catalog().pod(pod).key;
        if !self.state.tiers.note(&key.namespace, &profile.tier.source) {
            return;
        }
        warn!(namespace = %key.namespace, pod = %key.name, note, "a tier is in doubt");
        let (pod, scheduler, note) = (self.reference(pod), self.scheduler_of(pod), note.into());
        self.send(Order::Warn(Warn { pod, scheduler, note }));
    }
}
