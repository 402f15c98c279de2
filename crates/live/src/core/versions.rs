//! The newest `resourceVersion` of every pod that is known, for events about it and for writes
//! that must not arrive after another change.

use model::PodId;

/// Versions as numbers, by the row of the pod: 8 bytes each, since events may be about any of
/// them. 0 is unknown.
#[derive(Default)]
pub(super) struct Versions(Vec<u64>);

impl Versions {
    /// A pod was seen at this version. Its row may have been that of another one before.
    pub(super) fn seen(&mut self, pod: PodId, version: u64) {
        let row = pod.index();
        if row >= self.0.len() {
            self.0.resize(row + 1, 0);
        }
        self.0[row] = version;
    }

    /// As the API server writes it; empty if it is not known.
    pub(super) fn text(&self, pod: PodId) -> Box<str> {
        match self.0.get(pod.index()) {
            None | Some(0) => Box::default(),
            Some(version) => version.to_string().into(),
        }
    }
}
