//! The way from the engine's thread to the disk.
//!
//! The engine's thread hands records over and never waits. A thread of its own writes them down. If
//! it cannot keep up, or the disk fails, the records in between are lost: the segment ends with a
//! mark that says so, and the next begins with a checkpoint as soon as that is possible.

mod disk;
mod lines;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::time::{Duration, Instant};

use engine::Checkpoint;
use model::{Event, Moment, Time};

use crate::line::{Cause, Decided};
use disk::Disk;

/// Records that may wait for the disk. Beyond it they are lost.
const WAITING_MAX: usize = if cfg!(test) { 512 } else { 16_384 };
/// After a loss, writing begins again when so few wait.
const WAITING_FEW: usize = WAITING_MAX / 4;

/// How a journal is kept.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder; it is made if it is not there.
    pub folder: PathBuf,
    /// How large all segments together may be, in bytes.
    pub bytes_max: u64,
    /// How large a segment may be before the next is begun, in bytes.
    pub segment_bytes: u64,
    /// The version of this program.
    pub version: String,
    /// When the engine's time was zero, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// The engine's choices.
    pub engine: engine::Options,
    /// The configuration, a KubeSchedulerConfiguration.
    pub config: serde_json::Value,
}

/// Why a journal cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder or a file in it.
    #[error("{what} {}", .path.display())]
    Io {
        /// What was attempted.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// What came of it.
        source: io::Error,
    },
    /// Somebody else writes there.
    #[error("{} is in use by another scheduler", .0.display())]
    InUse(PathBuf),
    /// The bounds leave no room to rotate.
    #[error("a journal of {bytes_max} bytes needs segments of at most a quarter, not {segment}")]
    Bounds {
        /// The bound of all.
        bytes_max: u64,
        /// The bound of one.
        segment: u64,
    },
}

/// What was written so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes in files.
    pub bytes: u64,
    /// Events and steps.
    pub records: u64,
    /// How often records were lost.
    pub gaps: u64,
}

/// What both threads see.
#[derive(Debug, Default)]
struct Shared {
    bytes: AtomicU64,
    records: AtomicU64,
    gaps: AtomicU64,
    /// Entries that wait.
    waiting: AtomicUsize,
    /// The writer wants a checkpoint, to begin a segment with.
    wants_checkpoint: AtomicBool,
}

/// What goes over to the writer.
#[derive(Debug)]
enum Entry {
    Begin(Time, Cause, Box<Checkpoint>),
    Applied(Moment, Event),
    Stepped(Time, Vec<Decided>),
    Close,
}

/// The engine's end.
#[derive(Debug)]
pub struct Journal {
    entries: SyncSender<Entry>,
    shared: Arc<Shared>,
    /// Whether records were lost since the last checkpoint.
    has_gap: bool,
    is_begun: bool,
}

/// Ends a journal in good order.
#[derive(Debug)]
pub struct Closer {
    entries: SyncSender<Entry>,
    ended: Receiver<()>,
    /// Kept for as long as the folder is ours.
    _lock: File,
}

impl Journal {
    /// Makes the folder ready and starts the writer. Nothing is written before
    /// [`Journal::begin`].
    ///
    /// # Errors
    /// When the folder cannot be used.
    pub fn open(options: Options) -> Result<(Self, Closer), OpenError> {
        let Options { bytes_max, segment_bytes: segment, .. } = options;
        if segment == 0 || segment.saturating_mul(4) > bytes_max {
            return Err(OpenError::Bounds { bytes_max, segment });
        }
        let lock = lock(&options)?;
        let folder = options.folder.clone();
        let shared = Arc::new(Shared::default());
        let disk = Disk::new(options, shared.clone())?;
        let (entries, waiting) = sync_channel(WAITING_MAX);
        let (alive, ended) = channel();
        let thread = std::thread::Builder::new().name("journal".into());
        let spawned = thread.spawn(move || {
            // Dropped when the thread ends, however it does.
            let _alive: std::sync::mpsc::Sender<()> = alive;
            disk.run(&waiting);
        });
        let what = "starting a thread for";
        let failed = |source| OpenError::Io { what, path: folder, source };
        spawned.map_err(failed)?;
        let closer = Closer { entries: entries.clone(), ended, _lock: lock };
        Ok((Self { entries, shared, has_gap: false, is_begun: false }, closer))
    }

    /// An event was applied. What came before counts as lost until a checkpoint is given.
    pub fn applied(&mut self, at: impl Into<Moment>, event: Event) {
        self.hand_over(Entry::Applied(at.into(), event));
    }

    /// The engine decided.
    pub fn stepped(&mut self, at: Time, decisions: Vec<Decided>) {
        self.hand_over(Entry::Stepped(at, decisions));
    }

    /// Whether a checkpoint is due, of the engine as it is after the last record.
    #[must_use]
    pub fn wants_checkpoint(&self) -> bool {
        let is_quiet = || self.shared.waiting.load(Ordering::Relaxed) < WAITING_FEW;
        !self.is_begun
            || self.shared.wants_checkpoint.load(Ordering::Relaxed)
            || (self.has_gap && is_quiet())
    }

    /// Begins a segment.
    pub fn begin(&mut self, at: Time, checkpoint: Checkpoint) {
        let cause = match (self.is_begun, self.has_gap) {
            (false, _) => Cause::Start,
            (true, true) => Cause::Gap,
            (true, false) => Cause::Rotation,
        };
        self.shared.wants_checkpoint.store(false, Ordering::Relaxed);
        self.is_begun = true;
        self.has_gap = false;
        self.hand_over(Entry::Begin(at, cause, Box::new(checkpoint)));
    }

    /// What was written so far.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let Shared { bytes, records, gaps, .. } = &*self.shared;
        let [bytes, records, gaps] = [bytes, records, gaps].map(|it| it.load(Ordering::Relaxed));
        Totals { bytes, records, gaps }
    }

    /// How many records wait to be written.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.shared.waiting.load(Ordering::Relaxed)
    }

    fn hand_over(&mut self, entry: Entry) {
        if self.has_gap {
            return;
        }
        self.shared.waiting.fetch_add(1, Ordering::Relaxed);
        match self.entries.try_send(entry) {
            // A writer that has ended was told to.
            Ok(()) | Err(TrySendError::Disconnected(_)) => {}
            Err(TrySendError::Full(_)) => {
                self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
                self.has_gap = true;
                self.shared.gaps.fetch_add(1, Ordering::Relaxed);
                tracing::warn!("the journal cannot keep up: records are lost");
            }
        }
    }
}

impl Closer {
    /// Writes what waits and ends the journal; false if that took too long.
    #[must_use]
    pub fn close(self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut entry = Entry::Close;
        while let Err(TrySendError::Full(back)) = self.entries.try_send(entry) {
            if Instant::now() > deadline {
                return false;
            }
            entry = back;
            std::thread::sleep(Duration::from_millis(1));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        // The writer says nothing; its end of the channel goes with it.
        self.ended.recv_timeout(left) == Err(std::sync::mpsc::RecvTimeoutError::Disconnected)
    }
}

/// Makes the folder, and keeps others from writing there.
fn lock(options: &Options) -> Result<File, OpenError> {
    let folder = &options.folder;
    let io = |what, path: PathBuf| move |source| OpenError::Io { what, path, source };
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(io("making the journal's folder", folder.clone()))?;
    let path = folder.join("lock");
    let mut open = OpenOptions::new();
    let opened = open.write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = opened.map_err(io("writing into the journal's folder:", path.clone()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(OpenError::InUse(folder.clone())),
        Err(std::fs::TryLockError::Error(source)) => Err(io("locking", path)(source)),
    }
}
