//! What a rule has to say: what is wrong, where, and what to do about it.

use std::fmt;

/// One breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    file: String,
    /// Counted from 1; none if the whole file is meant.
    line: Option<usize>,
    rule: &'static str,
    text: String,
}

impl Problem {
    /// A problem on a line.
    pub(crate) fn at(rule: &'static str, file: &str, line: usize, text: String) -> Self {
        Self { file: file.into(), line: Some(line), rule, text }
    }

    /// A problem of a whole file.
    pub(crate) fn of(rule: &'static str, file: &str, text: String) -> Self {
        Self { file: file.into(), line: None, rule, text }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(out, "{}:{line}: {} [{}]", self.file, self.text, self.rule),
            None => write!(out, "{}: {} [{}]", self.file, self.text, self.rule),
        }
    }
}

/// For tests: the problems as text, one a line.
#[cfg(test)]
pub(crate) fn lines(problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}
