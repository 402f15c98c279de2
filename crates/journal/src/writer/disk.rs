//! The writer's thread: blocks of lines into files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use engine::Checkpoint;
use model::{Moment, Time};

use super::lines::Said;
use super::{Entry, OpenError, Options, Shared};
use crate::frame::pack;
use crate::line::{Cause, End, FORMAT, Header, Line};
use crate::segments::{self, SegmentFile};

/// Text of this size is compressed and written.
const BLOCK: usize = 256 << 10;
/// What is in no file yet is written after this long.
const FLUSH: Duration = Duration::from_secs(1);
/// After a fault of the disk it is left alone for this long.
const PAUSE: Duration = Duration::from_secs(10);
/// Items of a checkpoint per line.
const PART: usize = 256;

/// Writes segments until told to end.
#[derive(Debug)]
pub(super) struct Disk {
    options: Options,
    shared: Arc<Shared>,
    /// Segments that are complete, oldest first.
    complete: Vec<SegmentFile>,
    next_number: u64,
    open: Option<Open>,
    /// When to try again after a fault.
    try_again: Option<Instant>,
    /// Whether a fault lost records since the last segment.
    has_gap: bool,
}

/// The segment that is being written.
#[derive(Debug)]
struct Open {
    number: u64,
    path: PathBuf,
    file: File,
    bytes: u64,
    /// How many of the bytes are the checkpoint's.
    checkpoint_bytes: u64,
    said: Said,
    block: Vec<u8>,
    /// Records in the block.
    records: u64,
    /// Since when the block waits to be written.
    since: Instant,
}

impl Disk {
    pub(super) fn new(options: Options, shared: Arc<Shared>) -> Result<Self, OpenError> {
        let complete = segments::list(&options.folder).map_err(|source| {
            let (what, path) = ("listing", options.folder.clone());
            OpenError::Io { what, path, source }
        })?;
        let next_number = complete.last().map_or(1, |last| last.number + 1);
        Ok(Self {
            options,
            shared,
            complete,
            next_number,
            open: None,
            try_again: None,
            has_gap: false,
        })
    }

    pub(super) fn run(mut self, entries: &Receiver<Entry>) {
        loop {
            match entries.recv_timeout(self.patience()) {
                Ok(Entry::Close) => break,
                Ok(entry) => {
                    self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
                    self.take(entry);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.attend();
        }
        self.end(End::Closed);
    }

    /// How long nothing is due.
    fn patience(&self) -> Duration {
        let flush = self.open.as_ref().filter(|open| !open.block.is_empty());
        let flush = flush.map(|open| FLUSH.saturating_sub(open.since.elapsed()));
        flush.unwrap_or(FLUSH)
    }

    fn take(&mut self, entry: Entry) {
        let Some(open) = &mut self.open else {
            if let Entry::Begin(at, cause, checkpoint) = entry {
                self.begin(at, cause, *checkpoint);
            }
            return;
        };
        if open.block.is_empty() {
            open.since = Instant::now();
        }
        match entry {
            Entry::Begin(at, cause, checkpoint) => {
                self.end(if cause == Cause::Gap { End::Gap } else { End::Rotated });
                self.begin(at, cause, *checkpoint);
                return;
            }
            Entry::Applied(Moment { at, wall_ms }, event) => {
                let expected = self.options.started_unix_ms.saturating_add(at.0);
                let wall = Some(wall_ms).filter(|wall| *wall != expected);
                open.said.write((at, wall), event, &mut open.block);
            }
            Entry::Stepped(at, decisions) => {
                Line::Stepped { at, decisions }.write(&mut open.block);
            }
            Entry::Close => return,
        }
        open.records += 1;
    }

    /// Writes what is due, and asks for a checkpoint when one is.
    fn attend(&mut self) {
        if let Some(open) = &self.open {
            let is_due = !open.block.is_empty() && open.since.elapsed() >= FLUSH;
            if is_due || open.block.len() >= BLOCK {
                self.flush();
                self.ask_for_the_next();
            }
        }
        let is_over = |time: &Instant| *time <= Instant::now();
        if self.try_again.as_ref().is_some_and(is_over) {
            self.try_again = None;
            self.shared.wants_checkpoint.store(true, Ordering::Relaxed);
        }
    }

    /// Asks for a checkpoint if the segment is large enough. One that is mostly a checkpoint would
    /// not be worth beginning another.
    fn ask_for_the_next(&self) {
        let Some(open) = &self.open else { return };
        let own = open.bytes - open.checkpoint_bytes;
        if open.bytes >= self.options.segment_bytes && own >= open.checkpoint_bytes {
            self.shared.wants_checkpoint.store(true, Ordering::Relaxed);
        }
    }

    /// Writes the block.
    fn flush(&mut self) {
        let Some(open) = &mut self.open else { return };
        match open.flush() {
            Ok(bytes) => {
                self.shared.bytes.fetch_add(bytes, Ordering::Relaxed);
                self.shared.records.fetch_add(std::mem::take(&mut open.records), Ordering::Relaxed);
            }
            Err(error) => self.fail(&error),
        }
    }

    fn begin(&mut self, at: Time, cause: Cause, checkpoint: Checkpoint) {
        let cause = if self.has_gap { Cause::Gap } else { cause };
        let path =
            self.options.folder.join(segments::name(self.next_number, jiff::Timestamp::now()));
        match self.try_begin(&path, at, cause, checkpoint) {
            Ok(open) => {
                self.shared.bytes.fetch_add(open.bytes, Ordering::Relaxed);
                (self.open, self.has_gap) = (Some(open), false);
                self.next_number += 1;
            }
            Err(error) => {
                // What is there of it is of no use, if anything is.
                let _ = fs::remove_file(&path);
                self.fail(&error);
            }
        }
    }

    fn try_begin(
        &mut self,
        path: &Path,
        at: Time,
        cause: Cause,
        checkpoint: Checkpoint,
    ) -> io::Result<Open> {
        self.make_room();
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let header = Header {
            format: FORMAT,
            version: self.options.version.clone(),
            started_unix_ms: self.options.started_unix_ms,
            at,
            cause,
            options: self.options.engine,
            config: self.options.config.clone(),
        };
        let mut open = Open {
            number: self.next_number,
            path: path.into(),
            file,
            bytes: 0,
            checkpoint_bytes: 0,
            said: Said::default(),
            block: Vec::with_capacity(BLOCK + (BLOCK >> 2)),
            records: 0,
            since: Instant::now(),
        };
        Line::Header(Box::new(header)).write(&mut open.block);
        for part in checkpoint.parts(PART) {
            Line::Checkpoint(Box::new(part)).write(&mut open.block);
            if open.block.len() >= BLOCK {
                open.flush()?;
            }
        }
        Line::Begin.write(&mut open.block);
        open.flush()?;
        open.checkpoint_bytes = open.bytes;
        Ok(open)
    }

    /// Ends the segment with a mark.
    fn end(&mut self, mark: End) {
        if let Some(open) = &mut self.open {
            Line::End(mark).write(&mut open.block);
            self.flush();
        }
        if let Some(open) = self.open.take() {
            let Open { number, path, bytes, .. } = open;
            self.complete.push(SegmentFile { number, path, bytes });
        }
    }

    /// Deletes the oldest segments until another fits below the bound.
    fn make_room(&mut self) {
        let mut total: u64 = self.complete.iter().map(|segment| segment.bytes).sum();
        let room = self.options.bytes_max - self.options.segment_bytes;
        let mut deleted = 0;
        while total > room && deleted < self.complete.len() {
            let oldest = &self.complete[deleted];
            match fs::remove_file(&oldest.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    let path = oldest.path.display();
                    tracing::warn!(%path, %error, "an old segment of the journal stays");
                }
                Ok(()) | Err(_) => {}
            }
            total -= oldest.bytes;
            deleted += 1;
        }
        self.complete.drain(..deleted);
    }

    /// Gives the segment up. Scheduling goes on, and so does the journal, later.
    fn fail(&mut self, error: &io::Error) {
        let folder = self.options.folder.display();
        tracing::error!(%folder, %error, "the journal cannot be written: records are lost");
        self.shared.gaps.fetch_add(1, Ordering::Relaxed);
        if let Some(open) = self.open.take() {
            // Part of a block may be there; readers leave it out if it cannot be taken back.
            let _ = open.file.set_len(open.bytes);
            let Open { number, path, bytes, .. } = open;
            self.complete.push(SegmentFile { number, path, bytes });
        }
        self.try_again = Some(Instant::now() + PAUSE);
        self.has_gap = true;
    }
}

impl Open {
    /// Writes the block; tells how many bytes that took.
    fn flush(&mut self) -> io::Result<u64> {
        let packed = pack(&self.block);
        self.block.clear();
        self.file.write_all(&packed)?;
        self.bytes += packed.len() as u64;
        Ok(packed.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use model::{Event, Kind};

    use super::*;
    use crate::{Segment, Tail, list};

    #[test]
    fn after_a_fault_of_the_disk_the_journal_goes_on_with_a_gap() {
        let folder = std::env::temp_dir().join(format!("journal-{}-fault", std::process::id()));
        let options = Options {
            folder: folder.clone(),
            bytes_max: 1 << 30,
            segment_bytes: 1 << 20,
            version: "test".into(),
            started_unix_ms: 0,
            engine: engine::Options::default(),
            config: serde_json::Value::Null,
        };
        fs::create_dir_all(&folder).unwrap();
        let shared = Arc::new(Shared::default());
        let mut disk = Disk::new(options, shared.clone()).unwrap();
        let begin = |cause| Entry::Begin(Time(1), cause, Box::default());
        let gone = |name: &str| Entry::Applied(Time(2).into(), Event::gone(Kind::Node, name));
        let wants = || shared.wants_checkpoint.swap(false, Ordering::Relaxed);
        fs::remove_dir(&folder).unwrap();
        disk.take(begin(Cause::Start));
        disk.take(gone("lost"));
        disk.attend();
        assert_eq!((shared.gaps.load(Ordering::Relaxed), wants()), (1, false));
        // The pause is over, and the disk is there again.
        disk.try_again = Some(Instant::now());
        disk.attend();
        assert!(wants(), "a checkpoint is asked for");
        fs::create_dir(&folder).unwrap();
        disk.take(begin(Cause::Rotation));
        disk.take(gone("kept"));
        disk.end(End::Closed);
        let files = list(&folder).unwrap();
        assert_eq!(files.len(), 1);
        let mut segment = Segment::open(&files[0].path).unwrap().unwrap();
        assert_eq!(segment.header.cause, Cause::Gap);
        assert!(segment.next_record().unwrap().is_some());
        assert_eq!(segment.next_record().unwrap(), None);
        assert_eq!(segment.tail(), Some(Tail::Ended(End::Closed)));
        fs::remove_dir_all(&folder).unwrap();
    }
}
