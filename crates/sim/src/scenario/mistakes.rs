//! What is wrong with the files of a scenario.

use std::fmt;

use k8s::document::Problem;

use super::Origin;

/// The most that is worth reading at once.
const SHOWN_MAX: usize = 20;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The file.
    pub file: String,
    /// The line, counted from 1; 0 for the files as a whole.
    pub line: usize,
    /// The key, such as `spec.containers[0].resources.requests.cpu`; empty for a whole object.
    pub path: String,
    /// What was found and what was expected.
    pub message: String,
}

/// Everything that is wrong, in the order in which it was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mistakes(Vec<Mistake>);

impl Mistakes {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[Mistake] {
        &self.0
    }

    pub(super) fn add(&mut self, at: Origin<'_>, path: &str, message: String) {
        let (file, path) = (at.file.to_owned(), path.to_owned());
        self.0.push(Mistake { file, line: at.line, path, message });
    }

    pub(super) fn problem(&mut self, file: &str, problem: Problem) {
        let Problem { path, line, message } = problem;
        let line = line.unwrap_or(1);
        self.0.push(Mistake { file: file.to_owned(), line, path, message });
    }

    /// Whether nothing was wrong so far.
    pub(super) fn check(&self) -> Result<(), Self> {
        if self.0.is_empty() { Ok(()) } else { Err(self.clone()) }
    }
}

impl std::error::Error for Mistakes {}

impl fmt::Display for Mistakes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, mistake) in self.0.iter().take(SHOWN_MAX).enumerate() {
            let separator = if at == 0 { "" } else { "\n" };
            write!(out, "{separator}{mistake}")?;
        }
        match self.0.len().saturating_sub(SHOWN_MAX) {
            0 => Ok(()),
            more => write!(out, "\nand {more} more"),
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, path, message } = self;
        if *line > 0 {
            write!(out, "{file}:{line}: ")?;
        }
        if !path.is_empty() {
            write!(out, "{path}: ")?;
        }
        out.write_str(message)
    }
}
