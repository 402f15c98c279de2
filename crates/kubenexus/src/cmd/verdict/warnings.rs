//! Fields of cases that Kubernetes does not know, and keys that nobody reads, on standard error:
//! answers are a format that others write as well.

use k8s::document::Problem;
use k8s::manifest::KnownFields;
use serde_json::Value;

use crate::cmd::out;

/// The most that is told of all cases together.
const TOLD_MAX: u64 = 20;

/// What was found so far.
pub(super) struct Warnings {
    known: KnownFields,
    file: String,
    /// The line of the case at hand.
    pub(super) line: usize,
    count: u64,
}

impl Warnings {
    pub(super) fn new(file: String) -> Self {
        Self { known: KnownFields::new(&[sim::scenario::DURATION]), file, line: 0, count: 0 }
    }

    /// Looks at the objects of a case.
    pub(super) fn look(&mut self, pod: &Value, objects: &[Value]) {
        let pod = self.known.unknown_in(pod, "Pod");
        self.tell("pod", &pod);
        for (at, object) in objects.iter().enumerate() {
            let problems = self.known.unknown_in(object, "");
            self.tell(&format!("objects[{at}]"), &problems);
        }
    }

    fn tell(&mut self, within: &str, problems: &[Problem]) {
        for Problem { path, message, .. } in problems {
            self.count += 1;
            if self.count <= TOLD_MAX {
                let (file, line) = (&self.file, self.line);
                out::remark(format_args!("warning: {file}:{line}: {within}.{path}: {message}"));
            }
        }
    }

    /// Says how much was left out.
    pub(super) fn finish(&self) {
        if self.count > TOLD_MAX {
            out::remark(format_args!("warning: and {} more", self.count - TOLD_MAX));
        }
    }
}
