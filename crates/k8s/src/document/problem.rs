//! What is wrong with a document, and where.

use std::fmt;

/// How many problems are told at once. Nobody reads more, and a list that is written a thousand
/// times has a thousand.
const SHOWN_MAX: usize = 20;

/// Everything that is wrong with a document, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentError {
    /// Never empty: without a problem there is no error.
    problems: Vec<Problem>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field, such as `profiles[0].schedulerName`; empty when it is the file as a whole.
    pub path: String,
    /// The line, counted from 1; none when the document did not come from a text.
    pub line: Option<usize>,
    /// The value found and what was expected.
    pub message: String,
}

impl DocumentError {
    /// The problems; at least one.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl From<Problem> for DocumentError {
    fn from(problem: Problem) -> Self {
        Self { problems: vec![problem] }
    }
}

impl std::error::Error for DocumentError {}

impl fmt::Display for DocumentError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.problems.iter().take(SHOWN_MAX).enumerate() {
            let separator = if at == 0 { "" } else { "\n" };
            write!(out, "{separator}{problem}")?;
        }
        match self.problems.len().saturating_sub(SHOWN_MAX) {
            0 => Ok(()),
            more => write!(out, "\nand {more} more"),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(out, "line {line}: ")?;
        }
        if !self.path.is_empty() {
            write!(out, "{}: ", self.path)?;
        }
        out.write_str(&self.message)
    }
}

/// Where a value stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The field; empty for the document as a whole.
    pub path: String,
    /// The line, if there are lines.
    pub line: Option<usize>,
}

impl Place {
    /// The file as a whole.
    #[must_use]
    pub fn file() -> Self {
        Self { path: String::new(), line: None }
    }

    /// Something that is wrong here.
    #[must_use]
    pub fn problem(self, message: String) -> Problem {
        Problem { path: self.path, line: self.line, message }
    }
}

/// Problems found so far. Reading goes on after each, so that one run names them all.
#[derive(Default)]
pub struct Problems {
    found: Vec<Problem>,
    notes: Notes,
}

/// What is worth saying about a document that is valid, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// What may not mean what its author thinks.
    pub warnings: Vec<Problem>,
    /// What is accepted and changes nothing; the message says why.
    pub without_effect: Vec<Problem>,
}

impl Problems {
    /// Notes that something is wrong at a place.
    pub fn report(&mut self, place: &Place, message: impl Into<String>) {
        self.found.push(place.clone().problem(message.into()));
    }

    /// Notes that something may not mean what its author thinks.
    pub fn warn(&mut self, place: &Place, message: impl Into<String>) {
        self.notes.warnings.push(place.clone().problem(message.into()));
    }

    /// Notes that something is accepted and changes nothing.
    pub fn note_without_effect(&mut self, place: &Place, why: impl Into<String>) {
        self.notes.without_effect.push(place.clone().problem(why.into()));
    }

    /// Takes over what is wrong with a part that was read by itself.
    pub fn take(&mut self, error: DocumentError) {
        self.found.extend(error.problems);
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.found.len()
    }

    /// `value` when nothing was wrong.
    ///
    /// # Errors
    /// When anything was reported.
    pub fn or_value<T>(self, value: T) -> Result<T, DocumentError> {
        self.or_noted(value).map(|(value, _)| value)
    }

    /// `value` with the notes about it, when nothing was wrong.
    ///
    /// # Errors
    /// When anything was reported.
    pub fn or_noted<T>(self, value: T) -> Result<(T, Notes), DocumentError> {
        let (mut problems, mut notes) = (self.found, self.notes);
        // Checks that compare fields run after those that read them; readers think in lines.
        for list in [&mut problems, &mut notes.warnings, &mut notes.without_effect] {
            list.sort_by_key(|problem| problem.line);
        }
        if problems.is_empty() { Ok((value, notes)) } else { Err(DocumentError { problems }) }
    }
}

/// `; did you mean "X"?` with the nearest of the known words, or nothing when none is near.
pub fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(word, known) {
        Some(near) => format!("; did you mean {near:?}?"),
        None => String::new(),
    }
}

/// Words longer than any name of ours are not typing errors.
const WORD_MAX: usize = 64;

fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > WORD_MAX {
        return None;
    }
    let word: Vec<char> = word.to_lowercase().chars().collect();
    let far = (word.len() / 3).max(2);
    let distances = known.into_iter().map(|other| (distance(&word, &other.to_lowercase()), other));
    // A word that must be rewritten from end to end was not meant.
    let near = distances.filter(|&(edits, _)| edits <= far && edits < word.len());
    near.min_by_key(|&(edits, _)| edits).map(|(_, other)| other)
}

/// How many letters must be added, removed or replaced.
pub(crate) fn distance(from: &[char], to: &str) -> usize {
    let mut row: Vec<usize> = (0..=from.len()).collect();
    for (at, letter) in to.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for column in 0..from.len() {
            let replaced = diagonal + usize::from(from[column] != letter);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[from.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_suggested_by_table() {
        let known = ["filter", "preFilter", "score", "preScore", "bind"];
        // (word, suggestion)
        let table = [
            ("filters", Some("filter")),
            ("Score", Some("score")),
            ("prefliter", Some("preFilter")),
            ("sore", Some("score")),
            ("bnd", Some("bind")),
            ("x", None),
            ("", None),
            ("something else", None),
        ];
        for (word, expected) in table {
            assert_eq!(nearest(word, known), expected, "{word:?}");
        }
        assert_eq!(nearest(&"filter".repeat(20), known), None);
    }

    #[test]
    fn many_problems_are_counted_and_not_all_told() {
        let problem = |at: usize| Place::file().problem(format!("problem {at}"));
        let error = DocumentError { problems: (1..=25).map(problem).collect() };
        let text = error.to_string();
        assert!(
            text.starts_with("problem 1\n") && text.ends_with("problem 20\nand 5 more"),
            "{text}"
        );
        let error = DocumentError { problems: (1..=20).map(problem).collect() };
        assert!(error.to_string().ends_with("problem 20"));
    }

    #[test]
    fn distances_by_table() {
        let table = [("kitten", "sitting", 3), ("", "abc", 3), ("abc", "", 3), ("same", "same", 0)];
        for (from, to, expected) in table {
            let from: Vec<char> = from.chars().collect();
            assert_eq!(distance(&from, to), expected, "{from:?} {to}");
        }
    }

    #[test]
    fn problems_are_shown_one_per_line_in_file_order() {
        let mut problems = Problems::default();
        let at = |path: &str, line| Place { path: path.into(), line };
        problems.report(&at("b", Some(7)), "second");
        problems.report(&at("a", Some(3)), "first");
        let error = problems.or_value(()).expect_err("two problems");
        assert_eq!(error.to_string(), "line 3: a: first\nline 7: b: second");
        let error = DocumentError::from(Place::file().problem("the file is empty".into()));
        assert_eq!(error.to_string(), "the file is empty");
    }
}
