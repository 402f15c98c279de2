//! What has to be listed before anything is decided.

use model::Kind;
use tracing::warn;

use super::{Core, State};

impl State {
    /// A kind was listed.
    pub(super) fn listed(&mut self, kind: Kind) {
        self.awaited.retain(|awaited| awaited.kind != kind);
        if let Some(awaited) = &mut self.awaited_kinds {
            awaited.retain(|awaited| *awaited != kind);
        }
    }

    /// What decisions need and was not listed yet.
    pub(super) fn missing(&self) -> String {
        let kinds = [
            (self.has_nodes, "nodes"),
            (self.has_pods, "pods"),
            (self.has_namespaces, "namespaces"),
            (self.has_budgets, "poddisruptionbudgets"),
            (self.awaited_kinds.is_some(), "what not every cluster has"),
        ];
        let kinds = kinds.into_iter().filter(|(is_listed, _)| !is_listed);
        let others = self.awaited.iter().map(|watched| watched.word.to_owned());
        let optional = self.awaited_kinds.iter().flatten().map(|kind| format!("{kind:?}"));
        let words = kinds.map(|(_, word)| word.to_owned()).chain(others).chain(optional);
        words.collect::<Vec<_>>().join(", ")
    }

    /// Whether all that decisions need was listed.
    pub(super) fn is_synced(&self) -> bool {
        let has_all = self.has_nodes && self.has_pods && self.has_namespaces && self.has_budgets;
        let has_kinds = self.awaited_kinds.as_ref().is_some_and(Vec::is_empty);
        has_all && has_kinds && self.awaited.is_empty()
    }
}

impl Core {
    /// Readiness knows what is missing, or that nothing is.
    pub(super) fn tell_health(&self, was_synced: bool) {
        if was_synced {
            return;
        }
        if self.state.is_synced() {
            self.health.set_synced();
        } else {
            self.health.set_missing(self.state.missing());
        }
    }

    /// Takes in which kinds there are to be listed that not every cluster has.
    pub(super) fn wait_for(&mut self, kinds: Vec<Kind>) {
        let was_synced = self.state.is_synced();
        if self.state.awaited_kinds.as_ref().is_some_and(|awaited| !awaited.is_empty()) {
            warn!(missing = ?self.state.awaited_kinds, "kinds that are served cannot be listed");
        }
        self.state.awaited_kinds = Some(kinds);
        self.tell_health(was_synced);
    }
}
