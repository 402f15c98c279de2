//! Reads segments back.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use engine::Checkpoint;
use model::{Event, Fact, Key, Kind, Moment, PodSpec, Time};
use serde::Deserialize;

use crate::frame::{Frame, has_frame, unpack};
use crate::line::{Again, Decided, End, FORMAT, Header, Line};

/// Why a segment cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {place}: {problem}", .path.display())]
pub struct ReadError {
    path: PathBuf,
    place: Place,
    problem: Problem,
}

/// A place in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A byte of the file.
    Byte(u64),
    /// A line of its text.
    Line(u64),
}

#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error("{0}")]
    Text(String),
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

impl std::fmt::Display for Place {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File => out.write_str("the file"),
            Self::Byte(at) => write!(out, "byte {at}"),
            Self::Line(at) => write!(out, "line {at}"),
        }
    }
}

/// Something that went in or came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its place among the records of its segment, from 1.
    pub number: u64,
    /// The engine's time.
    pub at: Time,
    /// What the clock on the wall said, in milliseconds since 1970.
    pub wall_ms: u64,
    /// What it is.
    pub what: What,
}

impl Record {
    /// When it was.
    #[must_use]
    pub fn moment(&self) -> Moment {
        Moment { at: self.at, wall_ms: self.wall_ms }
    }
}

/// What a record is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// An event was applied.
    Applied(Event),
    /// The engine decided about the unit whose turn it was.
    Stepped(Vec<Decided>),
}

/// How a segment ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// In good order.
    Ended(End),
    /// Nobody ended it; so many bytes at its end are of a block that is not complete.
    Cut(u64),
}

/// A segment that is being read.
#[derive(Debug)]
pub struct Segment {
    /// What it begins with.
    pub header: Header,
    /// What the engine knew then; nothing if the segment was cut before all of it was written, and
    /// then there are no records either.
    pub checkpoint: Option<Checkpoint>,
    lines: Lines,
    records: u64,
    specs: BTreeMap<u32, PodSpec>,
    last: BTreeMap<Again, Event>,
    tail: Option<Tail>,
}

impl Segment {
    /// Reads the start of a segment; nothing if it was cut before its first line.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, or was written by a later version.
    pub fn open(path: &Path) -> Result<Option<Self>, ReadError> {
        let error = |problem| ReadError { path: path.into(), place: Place::File, problem };
        let bytes = fs::read(path).map_err(|source| error(source.into()))?;
        Self::read(path, bytes)
    }

    pub(crate) fn read(path: &Path, bytes: Vec<u8>) -> Result<Option<Self>, ReadError> {
        let mut lines = Lines::new(path, bytes);
        let Some(first) = lines.next()? else { return Ok(None) };
        let Line::Header(header) = lines.parse_first(&first)? else {
            return Err(lines.fault("expected a header"));
        };
        let mut segment = Self {
            header: *header,
            checkpoint: None,
            lines,
            records: 0,
            specs: BTreeMap::new(),
            last: BTreeMap::new(),
            tail: None,
        };
        segment.checkpoint = segment.read_checkpoint()?;
        Ok(Some(segment))
    }

    fn read_checkpoint(&mut self) -> Result<Option<Checkpoint>, ReadError> {
        let mut checkpoint = Checkpoint::default();
        while let Some(line) = self.lines.next()? {
            match self.lines.parse(&line)? {
                Line::Checkpoint(part) => checkpoint.extend(*part),
                Line::Begin => return Ok(Some(checkpoint)),
                Line::Header(_)
                | Line::Spec(..)
                | Line::Applied { .. }
                | Line::Again { .. }
                | Line::Stepped { .. }
                | Line::End(_) => return Err(self.lines.fault("expected a checkpoint")),
            }
        }
        self.tail = Some(Tail::Cut(self.lines.rest()));
        Ok(None)
    }

    /// The next record; nothing at the end.
    ///
    /// # Errors
    /// When the segment is damaged, or was written by a later version.
    pub fn next_record(&mut self) -> Result<Option<Record>, ReadError> {
        while self.tail.is_none() {
            let Some(line) = self.lines.next()? else {
                self.tail = Some(Tail::Cut(self.lines.rest()));
                return Ok(None);
            };
            let (at, wall, what) = match self.lines.parse(&line)? {
                Line::Spec(number, spec) => {
                    self.specs.insert(number, *spec);
                    continue;
                }
                Line::Applied { at, wall, spec, event } => {
                    (at, wall, What::Applied(self.whole(spec, event)?))
                }
                Line::Again { at, wall, of } => {
                    let Some(event) = self.last.get(&of) else {
                        return Err(self.lines.fault("refers to an event that is not there"));
                    };
                    (at, wall, What::Applied(event.clone()))
                }
                Line::Stepped { at, decisions } => (at, None, What::Stepped(decisions)),
                Line::End(end) => {
                    self.tail = Some(Tail::Ended(end));
                    return Ok(None);
                }
                Line::Header(_) | Line::Checkpoint(_) | Line::Begin => {
                    return Err(self.lines.fault("expected a record"));
                }
            };
            self.records += 1;
            // Journals of before do not say: then the clock did not jump.
            let wall_ms = wall.unwrap_or(self.header.started_unix_ms.saturating_add(at.0));
            return Ok(Some(Record { number: self.records, at, wall_ms, what }));
        }
        Ok(None)
    }

    /// How the segment ends; known when there are no more records.
    #[must_use]
    pub fn tail(&self) -> Option<Tail> {
        self.tail
    }

    /// How much of the file was read, from 0 to 1.
    #[must_use]
    pub fn progress(&self) -> f64 {
        self.lines.offset as f64 / self.lines.bytes.len().max(1) as f64
    }

    /// An event with the spec it refers to; it is what a later line may refer to.
    fn whole(&mut self, spec: Option<u32>, mut event: Event) -> Result<Event, ReadError> {
        match (&mut event, spec) {
            (Event::Seen(Fact::Pod(facts)), Some(number)) => {
                let Some(spec) = self.specs.get(&number) else {
                    return Err(self.lines.fault("refers to a spec that is not there"));
                };
                facts.spec.clone_from(spec);
                self.last.insert(Again::Pod(facts.key.uid.clone()), event.clone());
            }
            (Event::Seen(Fact::Pod(_)), None) => {
                return Err(self.lines.fault("a pod without a spec"));
            }
            (_, Some(_)) => return Err(self.lines.fault("a spec without a pod")),
            (Event::Seen(Fact::Node(facts)), None) => {
                self.last.insert(Again::Node(facts.name.as_str().into()), event.clone());
            }
            (Event::Gone(Key { kind: Kind::Pod, name: uid }), None) => {
                self.last.remove(&Again::Pod(uid.clone()));
            }
            (Event::Gone(Key { kind: Kind::Node, name }), None) => {
                self.last.remove(&Again::Node(name.clone()));
            }
            (Event::Listed(Kind::Pod, present), None) => {
                let uids = present.names();
                let is_there = |of: &Again| match of {
                    Again::Pod(uid) => uids.contains(uid),
                    Again::Node(_) => true,
                };
                self.last.retain(|of, _| is_there(of));
            }
            (Event::Seen(_) | Event::Gone(_) | Event::Listed(..) | Event::Outcome(_), None) => {}
        }
        Ok(event)
    }
}

/// The lines of a file, block by block.
#[derive(Debug)]
struct Lines {
    path: PathBuf,
    bytes: Vec<u8>,
    /// Where the next block begins.
    offset: usize,
    block: Vec<u8>,
    /// Where the next line begins in the block.
    at: usize,
    number: u64,
}

impl Lines {
    fn new(path: &Path, bytes: Vec<u8>) -> Self {
        Self { path: path.into(), bytes, offset: 0, block: Vec::new(), at: 0, number: 0 }
    }

    /// The next line; nothing where the file ends or is cut.
    fn next(&mut self) -> Result<Option<Vec<u8>>, ReadError> {
        while self.at == self.block.len() {
            let rest = &self.bytes[self.offset..];
            if rest.is_empty() {
                return Ok(None);
            }
            match unpack(rest) {
                Frame::Whole(block, length) => {
                    (self.block, self.at) = (block, 0);
                    self.offset += length;
                }
                // What a crash leaves: part of a block, or nothing that makes sense, at the end.
                Frame::Cut => return Ok(None),
                Frame::Damaged(_) if !has_frame(&rest[1..]) => return Ok(None),
                Frame::Damaged(problem) => {
                    let place = Place::Byte(self.offset as u64);
                    return Err(self.error(place, Problem::Text(problem.into())));
                }
            }
        }
        self.number += 1;
        let rest = &self.block[self.at..];
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            return Err(self.fault("the line has no end"));
        };
        let line = rest[..end].to_vec();
        self.at += end + 1;
        Ok(Some(line))
    }

    /// How many bytes at the end could not be read.
    fn rest(&self) -> u64 {
        (self.bytes.len() - self.offset) as u64
    }

    /// Reads the header. A later format is told as such, whatever else is in it.
    fn parse_first(&self, line: &[u8]) -> Result<Line, ReadError> {
        #[derive(Deserialize)]
        struct First {
            header: Format,
        }
        #[derive(Deserialize)]
        struct Format {
            format: u32,
            version: String,
        }
        match serde_json::from_slice(line) {
            Ok(First { header: Format { format, version } }) if format > FORMAT => {
                Err(self.fault(&format!(
                    "format {format}, written by version {version}; this version reads up to \
                     format {FORMAT}"
                )))
            }
            Ok(_) | Err(_) => self.parse(line),
        }
    }

    fn parse(&self, line: &[u8]) -> Result<Line, ReadError> {
        let place = Place::Line(self.number);
        serde_json::from_slice(line).map_err(|error| self.error(place, error.into()))
    }

    fn fault(&self, text: &str) -> ReadError {
        self.error(Place::Line(self.number), Problem::Text(text.into()))
    }

    fn error(&self, place: Place, problem: Problem) -> ReadError {
        ReadError { path: self.path.clone(), place, problem }
    }
}
