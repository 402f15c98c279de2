//! Runs a journal against an engine made from its configuration: the decisions must be those of
//! the journal. With another configuration beside it, tells what would have been decided instead.

mod instead;
#[cfg(test)]
mod tests;

use std::path::Path;

use engine::{ResumeError, Scheduler};
use framework::Profile;
use journal::{Cause, Decided, End, Header, ReadError, Record, Segment, SegmentFile, Tail, What};
use k8s::config::{ConfigError, Settings};
use k8s::document::quoted;
use k8s::render;
use model::{Catalog, Decision, Time};

pub use instead::{Instead, Placements};

use instead::Other;

/// Why a journal cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The folder cannot be read.
    #[error("reading the journal {folder}: {source}")]
    Folder {
        /// Which folder.
        folder: String,
        /// What came of it.
        source: std::io::Error,
    },
    /// There is nothing in it.
    #[error("{0} holds no segment of a journal (expected files named NUMBER-TIME.jsonl.gz)")]
    Empty(String),
    /// None of its segments says what the scheduler knew at its start.
    #[error("{folder} holds nothing that can be replayed:\n{}", .notes.join("\n"))]
    Nothing {
        /// Which folder.
        folder: String,
        /// What is wrong with each segment.
        notes: Vec<String>,
    },
    /// A segment is damaged, or of a later version.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A segment's configuration means nothing to this version.
    #[error("{segment}: its configuration: {source}")]
    Config {
        /// Which segment.
        segment: String,
        /// What is wrong.
        source: ConfigError,
    },
    /// A profile cannot be made.
    #[error("{segment}: its profiles: {text}")]
    Profiles {
        /// Which segment.
        segment: String,
        /// What is wrong.
        text: String,
    },
    /// A segment's checkpoint contradicts itself.
    #[error("{segment}: {source}")]
    Checkpoint {
        /// Which segment.
        segment: String,
        /// What is wrong.
        source: ResumeError,
    },
}

/// How far a replay is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Replay {
    /// Segments there are.
    pub segments: usize,
    /// Segments that are done, with the part of the one at hand.
    pub done: f64,
    /// Events and steps so far.
    pub records: u64,
}

/// What came of a replay.
#[derive(Clone, Debug, Default)]
pub struct Replayed {
    /// Segments that were read.
    pub segments: usize,
    /// Events and steps.
    pub records: u64,
    /// Decisions to bind.
    pub binds: u64,
    /// Decisions to wait.
    pub waits: u64,
    /// Times of the first and the last record, in milliseconds since 1970.
    pub span_unix_ms: Option<(u64, u64)>,
    /// What is worth knowing about the journal: ends that were cut, gaps.
    pub notes: Vec<String>,
    /// Where this engine first decides something else than the journal says.
    pub difference: Option<Difference>,
    /// What another configuration would have done.
    pub instead: Option<Instead>,
}

/// A decision that is not the one of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The name of the segment.
    pub segment: String,
    /// The number of the record in it.
    pub record: u64,
    /// When, in milliseconds since 1970.
    pub unix_ms: u64,
    /// Which pod.
    pub pod: String,
    /// What was decided then.
    pub then: String,
    /// What is decided by this engine.
    pub now: String,
}

/// Replays the segments of a folder, in order. Ends at the first difference, unless another
/// configuration is to be compared.
///
/// # Errors
/// When the journal cannot be read or makes no sense.
pub fn replay(
    folder: &Path,
    other: Option<&Settings>,
    mut progress: impl FnMut(Replay),
) -> Result<Replayed, ReplayError> {
    let name = folder.display().to_string();
    let failed = |source| ReplayError::Folder { folder: name.clone(), source };
    let files = journal::list(folder).map_err(failed)?;
    if files.is_empty() {
        return Err(ReplayError::Empty(name));
    }
    let mut run = Run { result: Replayed::default(), other: other.map(Other::new), last: None };
    for (at, file) in files.iter().enumerate() {
        let is_over = run.segment(file, |segment, records| {
            let done = at as f64 + segment;
            progress(Replay { segments: files.len(), done, records });
        })?;
        if is_over {
            break;
        }
    }
    if run.result.segments == 0 {
        return Err(ReplayError::Nothing { folder: name, notes: run.result.notes });
    }
    run.result.instead = run.other.map(Other::finish);
    Ok(run.result)
}

struct Run<'a> {
    result: Replayed,
    other: Option<Other<'a>>,
    last: Option<Last>,
}

/// The segment before.
#[derive(PartialEq, Eq)]
struct Last {
    /// When its scheduler started.
    started: u64,
    number: u64,
    /// Whether another goes on where it ends.
    is_rotated: bool,
}

impl Run<'_> {
    /// Replays one segment; tells whether that was all that can be compared.
    fn segment(
        &mut self,
        file: &SegmentFile,
        mut progress: impl FnMut(f64, u64),
    ) -> Result<bool, ReplayError> {
        let name = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let opened = Segment::open(&file.path)?;
        let Some((mut segment, checkpoint)) =
            opened.and_then(|mut segment| segment.checkpoint.take().map(|it| (segment, it)))
        else {
            let note = format!("{name}: no journal, or cut before its checkpoint was complete");
            self.result.notes.push(note);
            self.last = None;
            return Ok(false);
        };
        self.result.segments += 1;
        let header = segment.header.clone();
        if header.cause == Cause::Gap {
            self.result.notes.push(format!("{name}: begins after a gap"));
        }
        let started = header.started_unix_ms;
        let was_rotated = self.last.as_ref().is_some_and(|last| last.is_rotated);
        let follows = was_rotated
            && header.cause == Cause::Rotation
            && self.last
                == Some(Last { started, number: file.number.wrapping_sub(1), is_rotated: true });
        if was_rotated && !follows {
            let note = format!("{name}: what followed the segment before it is not there");
            self.result.notes.push(note);
        }
        if let Some(other) = self.other.as_mut().filter(|other| !other.is_running() || !follows) {
            other.resume(&name, &header, checkpoint.clone())?;
        }
        let settings = settings(&name, &header)?;
        self.note_missing_profiles(&settings);
        let (catalog, profiles) = parts(&name, &settings)?;
        let resumed = Scheduler::resume(catalog, profiles, header.options, checkpoint);
        let mut scheduler =
            resumed.map_err(|source| ReplayError::Checkpoint { segment: name.clone(), source })?;
        while let Some(record) = segment.next_record()? {
            self.record(&name, started, &mut scheduler, record);
            if self.result.difference.is_some() && self.other.is_none() {
                return Ok(true);
            }
            if self.result.records.is_multiple_of(10_000) {
                progress(segment.progress(), self.result.records);
            }
        }
        let is_rotated = segment.tail() == Some(Tail::Ended(End::Rotated));
        self.last = Some(Last { started, number: file.number, is_rotated });
        match segment.tail() {
            Some(Tail::Ended(End::Rotated | End::Closed)) | None => {}
            Some(Tail::Ended(End::Gap)) => {
                self.result.notes.push(format!("{name}: ends with a gap"));
            }
            Some(Tail::Cut(bytes)) => {
                let note = format!("{name}: not ended; {bytes} bytes at its end are left out");
                self.result.notes.push(note);
            }
        }
        progress(1.0, self.result.records);
        Ok(false)
    }

    /// Pods whose profile the other configuration does not have are placed by nobody there.
    fn note_missing_profiles(&mut self, settings: &Settings) {
        let Some(other) = &self.other else { return };
        let names: Vec<&str> = other.schedulers().collect();
        for profile in &settings.profiles {
            let name = &*profile.scheduler;
            if names.contains(&name) {
                continue;
            }
            let (name, names) = (quoted(name), names.iter().map(|name| quoted(name)));
            let names = names.collect::<Vec<_>>().join(", ");
            let note = format!(
                "the other configuration has no profile {name}, as the journal has; it places \
                 none of its pods (it has {names})"
            );
            if !self.result.notes.contains(&note) {
                self.result.notes.push(note);
            }
        }
    }

    fn record(&mut self, name: &str, started: u64, scheduler: &mut Scheduler, record: Record) {
        let moment = record.moment();
        let Record { number, at, what, .. } = record;
        let unix_ms = started.saturating_add(at.0);
        let (first, _) = self.result.span_unix_ms.unwrap_or((unix_ms, unix_ms));
        self.result.span_unix_ms = Some((first, unix_ms));
        self.result.records += 1;
        if let Some(other) = &mut self.other {
            other.catch_up(at, scheduler.next_wakeup());
        }
        match what {
            What::Applied(event) => {
                scheduler.apply(&event, moment);
                if let Some(other) = &mut self.other {
                    other.apply(event, moment);
                }
            }
            What::Stepped(then) => {
                for decided in &then {
                    match decided {
                        Decided::Bind { .. } => self.result.binds += 1,
                        Decided::Wait { .. } => self.result.waits += 1,
                        Decided::Preempt { .. } | Decided::Disband { .. } => {}
                    }
                }
                let now = step(scheduler, at);
                if self.result.difference.is_none()
                    && let Some((uid, then, now)) = first_difference(&then, &now)
                {
                    let (segment, pod) = (name.to_owned(), pod_name(uid, scheduler.catalog()));
                    self.result.difference =
                        Some(Difference { segment, record: number, unix_ms, pod, then, now });
                }
                if let Some(other) = &mut self.other {
                    other.step(at, &then, scheduler.catalog());
                }
            }
        }
    }
}

/// Decides about one unit.
fn step(scheduler: &mut Scheduler, at: Time) -> Vec<Decided> {
    let mut decisions = Vec::new();
    scheduler.step(at, 1, &mut decisions);
    let catalog = scheduler.catalog();
    let decided = |decision: &Decision| {
        Some(match decision {
            Decision::Bind { pod, node, attempt, .. } => {
                Decided::bind(catalog, *pod, *node, *attempt)
            }
            Decision::Preempt(preemption) => Decided::preempt(catalog, preemption),
            Decision::Disband(disband) => Decided::disband(catalog, disband),
            Decision::Wait(waiting) => {
                Decided::wait(catalog, waiting, &render::message(&waiting.diagnosis, catalog))
            }
            Decision::Report(_) | Decision::Prepare(_) | Decision::Unprepared { .. } => {
                return None;
            }
        })
    };
    decisions.iter().filter_map(decided).collect()
}

/// The pod, and what was and is decided about it.
fn first_difference<'a>(
    then: &'a [Decided],
    now: &'a [Decided],
) -> Option<(&'a str, String, String)> {
    let count = then.len().max(now.len());
    let is_same = |at: &usize| match (then.get(*at), now.get(*at)) {
        (Some(then), Some(now)) => then.is_same_as(now),
        (None, _) | (_, None) => false,
    };
    let at = (0..count).find(|at| !is_same(at))?;
    let (then, now) = (then.get(at), now.get(at));
    let uid = then.or(now).map_or("", Decided::uid);
    let text = |decided: Option<&Decided>| match decided {
        None => "nothing".to_owned(),
        Some(Decided::Bind { uid: whom, node, attempt }) => {
            let whom = if **whom == *uid { String::new() } else { format!("pod {whom} to ") };
            format!("{whom}node {node}, attempt {}", attempt.0)
        }
        Some(Decided::Preempt { uid: whom, node, victims, .. }) => {
            let whom = if **whom == *uid { String::new() } else { format!("pod {whom} ") };
            format!("{whom}evicts {} from node {node}", victims.join(", "))
        }
        Some(Decided::Disband { gang, evicted, .. }) => {
            format!("gang {gang} is taken back: {}", evicted.join(", "))
        }
        Some(Decided::Wait { uid: whom, message, .. }) => {
            let whom = if **whom == *uid { String::new() } else { format!("pod {whom} ") };
            format!("{whom}waits: {message}")
        }
    };
    Some((uid, text(then), text(now)))
}

/// Namespace, name and uid, as far as they are known.
fn pod_name(uid: &str, catalog: &Catalog) -> String {
    match catalog.find_pod(uid) {
        Some(pod) => {
            let key = &catalog.pod(pod).key;
            format!("{}/{} ({uid})", key.namespace, key.name)
        }
        None => uid.to_owned(),
    }
}

fn settings(segment: &str, header: &Header) -> Result<Settings, ReplayError> {
    let config = |source| ReplayError::Config { segment: segment.into(), source };
    k8s::config::from_json(&header.config, plugins::known()).map_err(config)
}

/// What a scheduler with these settings is made of.
fn parts(segment: &str, settings: &Settings) -> Result<(Catalog, Vec<Profile>), ReplayError> {
    let mut catalog = Catalog::default();
    let build = |profile| plugins::build(profile, &mut catalog);
    let profiles: Result<Vec<_>, _> = settings.profiles.iter().map(build).collect();
    let failed =
        |error| ReplayError::Profiles { segment: segment.into(), text: format!("{error}") };
    let profiles = profiles.map_err(failed)?;
    Ok((catalog, profiles))
}
