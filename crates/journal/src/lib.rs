//! What went into an engine and what it decided, on disk.
//!
//! The engine is deterministic: from a checkpoint and everything that was applied since, with the
//! times of its steps, its decisions follow. A journal is a folder of segments. Each begins with
//! the configuration and a checkpoint, so that it can be replayed without those before it, which
//! are deleted when the folder grows beyond its bound.
//!
//! ```text
//! 000000007-2026-11-16T03-28-39Z.jsonl.gz
//!   header      format, version, configuration, options
//!   checkpoint  in parts
//!   begin
//!   spec        of pods, once for all pods that share it
//!   applied     an event          ┐
//!   stepped     what was decided  ┘ in their order, until the end
//!   end         rotated, closed, or a gap; a crash leaves none
//! ```
//!
//! A segment is JSON lines in gzip members of its own kind (see `frame`), so `zcat` reads it. A
//! writer that dies leaves a member cut short at the end, which is recognised and left out.

mod frame;
mod line;
mod reader;
mod segments;
#[cfg(test)]
mod tests;
mod writer;

pub use line::{Cause, Decided, End, FORMAT, Header};
pub use reader::{Place, ReadError, Record, Segment, Tail, What};
pub use segments::{SegmentFile, list};
pub use writer::{Closer, Journal, OpenError, Options, Totals};
