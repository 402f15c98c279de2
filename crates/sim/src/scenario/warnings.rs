//! What is probably not meant as it is written: fields that Kubernetes does not know, and keys
//! under `kubenexus.io` that nobody reads.

use k8s::manifest::{KnownFields, Manifest};

use super::mistakes::Mistakes;
use super::script::Script;
use super::{DURATION, Origin};

/// More than anyone reads; a mistake in a template of thousands of pods is one mistake.
const FOUND_MAX: usize = 1000;

/// What was found so far.
pub(super) struct Warnings {
    known: KnownFields,
    pub(super) found: Mistakes,
}

impl Default for Warnings {
    fn default() -> Self {
        Self { known: KnownFields::new(&[DURATION]), found: Mistakes::default() }
    }
}

impl Warnings {
    /// Looks at an object of a file.
    pub(super) fn look(&mut self, file: &str, manifest: &Manifest) {
        self.look_within(file, "", manifest, "");
    }

    /// Looks at the objects that stand inside a scenario.
    pub(super) fn look_at_templates(&mut self, script: &Script) {
        for (path, kind, template) in script.templates() {
            self.look_within(&script.file, &format!("{path}.template."), template, kind);
        }
    }

    fn look_within(&mut self, file: &str, prefix: &str, manifest: &Manifest, kind: &str) {
        if self.found.all().len() >= FOUND_MAX {
            return;
        }
        for problem in self.known.unknown(manifest, kind) {
            let origin = Origin { file, line: problem.line.unwrap_or(manifest.line) };
            self.found.add(origin, &format!("{prefix}{}", problem.path), problem.message);
        }
    }
}
