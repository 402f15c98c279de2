//! Comma-separated values under a header line: fields may be quoted, and a fault names its file,
//! line and column.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;

/// A file of a trace that does not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    file: String,
    line: Option<usize>,
    column: Option<String>,
    message: String,
}

impl TraceError {
    /// About a file as a whole, or one of its lines.
    pub(super) fn new(file: &str, line: Option<usize>, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, column: None, message: message.into() }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(out, ":{line}")?;
        }
        if let Some(column) = &self.column {
            write!(out, ": {column}")?;
        }
        write!(out, ": {}", self.message)
    }
}

impl std::error::Error for TraceError {}

/// A column that the header names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column(usize);

/// A file, read.
#[derive(Debug)]
pub(super) struct Table<'a> {
    file: &'a str,
    header: Vec<Cow<'a, str>>,
    rows: Vec<(usize, Vec<Cow<'a, str>>)>,
}

impl<'a> Table<'a> {
    /// Reads a text. Every line has as many fields as the header; empty lines are skipped.
    pub(super) fn read(file: &'a str, text: &'a str) -> Result<Self, TraceError> {
        let mut lines = Lines { rest: text.strip_prefix('\u{feff}').unwrap_or(text), line: 1 };
        let fail = |line, message: String| TraceError::new(file, Some(line), message);
        let (mut header, mut rows) = (None, Vec::new());
        while let Some((line, fields)) = lines.next_row() {
            let fields = fields.map_err(|message| fail(line, message.to_owned()))?;
            let Some(header) = &header else {
                header = Some(fields);
                continue;
            };
            let (expected, found) = (header.len(), fields.len());
            if expected != found {
                let message = format!("expected {expected} fields as in the header, found {found}");
                return Err(fail(line, message));
            }
            rows.push((line, fields));
        }
        let message = "the file is empty, expected a line with the names of columns";
        let header = header.ok_or_else(|| TraceError::new(file, None, message))?;
        for (at, name) in header.iter().enumerate() {
            if header[..at].contains(name) {
                return Err(TraceError::new(file, Some(1), format!("two columns named {name:?}")));
            }
        }
        Ok(Self { file, header, rows })
    }

    /// A column that must be there.
    pub(super) fn column(&self, name: &str) -> Result<Column, TraceError> {
        self.optional(name).ok_or_else(|| {
            let found = self.header.join(", ");
            let message = format!("expected a column {name:?}, found {found}");
            TraceError::new(self.file, Some(1), message)
        })
    }

    /// A column that may be there.
    pub(super) fn optional(&self, name: &str) -> Option<Column> {
        self.header.iter().position(|column| column == name).map(Column)
    }

    /// Its rows, in order. A file without any is refused.
    pub(super) fn rows(&self) -> Result<impl Iterator<Item = Row<'_>>, TraceError> {
        if self.rows.is_empty() {
            let message = "there is nothing below the header";
            return Err(TraceError::new(self.file, None, message));
        }
        Ok(self.rows.iter().map(|(line, fields)| Row { table: self, line: *line, fields }))
    }
}

/// A line of a file below its header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    table: &'a Table<'a>,
    line: usize,
    fields: &'a [Cow<'a, str>],
}

impl<'a> Row<'a> {
    pub(super) fn text(self, column: Column) -> &'a str {
        &self.fields[column.0]
    }

    /// A text that is not empty.
    pub(super) fn name(self, column: Column) -> Result<&'a str, TraceError> {
        let text = self.text(column);
        if text.is_empty() { Err(self.fault(column, "a name")) } else { Ok(text) }
    }

    /// A whole number within bounds.
    pub(super) fn number(
        self,
        column: Column,
        range: RangeInclusive<u64>,
    ) -> Result<u64, TraceError> {
        let number = self.text(column).parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            let (low, high) = range.into_inner();
            let expected = format!("a whole number from {low} to {high}");
            self.fault(column, &if low == high { low.to_string() } else { expected })
        })
    }

    /// What to say of a value that is not as expected.
    pub(super) fn fault(self, column: Column, expected: &str) -> TraceError {
        TraceError {
            file: self.table.file.to_owned(),
            line: Some(self.line),
            column: Some(self.table.header[column.0].clone().into_owned()),
            message: format!("expected {expected}, found {:?}", self.text(column)),
        }
    }
}

/// The part of a text that is not read yet, and the number of its first line.
struct Lines<'a> {
    rest: &'a str,
    line: usize,
}

type Fields<'a> = Vec<Cow<'a, str>>;

impl<'a> Lines<'a> {
    /// The next row that is not empty, with its line.
    fn next_row(&mut self) -> Option<(usize, Result<Fields<'a>, &'static str>)> {
        while let Some(rest) = self.rest.strip_prefix('\n').or(self.rest.strip_prefix("\r\n")) {
            (self.rest, self.line) = (rest, self.line + 1);
        }
        if self.rest.is_empty() {
            return None;
        }
        let (line, start) = (self.line, self.rest);
        let fields = self.fields();
        let read = &start[..start.len() - self.rest.len()];
        self.line += read.matches('\n').count();
        Some((line, fields))
    }

    fn fields(&mut self) -> Result<Fields<'a>, &'static str> {
        let mut fields = Vec::new();
        loop {
            let field = match self.rest.strip_prefix('"') {
                Some(quoted) => self.quoted(quoted)?,
                None => self.plain()?,
            };
            fields.push(field);
            if let Some(rest) = self.rest.strip_prefix(',') {
                self.rest = rest;
                continue;
            }
            let end = self.rest.strip_prefix('\n').or(self.rest.strip_prefix("\r\n"));
            self.rest = end.unwrap_or(self.rest);
            return match end.is_some() || self.rest.is_empty() {
                true => Ok(fields),
                false => Err("expected a comma or the end of the line behind a closing quote"),
            };
        }
    }

    fn plain(&mut self) -> Result<Cow<'a, str>, &'static str> {
        let end = self.rest.find([',', '\n']).unwrap_or(self.rest.len());
        let (field, rest) = self.rest.split_at(end);
        let field = field.strip_suffix('\r').filter(|_| rest.starts_with('\n')).unwrap_or(field);
        self.rest = &self.rest[field.len()..];
        if field.contains('"') {
            return Err("a quote inside a field that does not begin with one");
        }
        Ok(Cow::Borrowed(field))
    }

    /// The rest of a field behind its opening quote; two quotes stand for one.
    fn quoted(&mut self, text: &'a str) -> Result<Cow<'a, str>, &'static str> {
        let mut from = 0;
        loop {
            let quote = text[from..].find('"').ok_or("a quoted field that does not end");
            let quote = from + quote.inspect_err(|_| self.rest = "")?;
            if !text[quote + 1..].starts_with('"') {
                self.rest = &text[quote + 1..];
                let field = &text[..quote];
                let is_plain = !field.contains('"');
                let plain = || Cow::Owned(field.replace("\"\"", "\""));
                return Ok(if is_plain { Cow::Borrowed(field) } else { plain() });
            }
            from = quote + 2;
        }
    }
}
