//! Segments of every format that was ever written can be read, by every later version.
//!
//! The files stay as they are. One that cannot be read any more means that a field was renamed, or
//! added without a default, or that a variant is gone: keep the old name as an alias, give the
//! field a default, keep the variant.

use super::*;
use crate::frame::pack;
use crate::line::{End, FORMAT};

/// A segment with everything that can be in one.
const FIRST: &str = include_str!("format/1.jsonl");

#[test]
fn the_first_format_is_read() {
    let bytes = pack(FIRST.as_bytes());
    let mut segment = Segment::read(Path::new("first"), bytes).unwrap().unwrap();
    assert_eq!((segment.header.format, FORMAT), (1, 1));
    // What was a number of totals is one of bytes now, which changes no decision.
    let options = engine::Options { board_bytes_max: 4 << 20, ..engine::Options::default() };
    assert_eq!(segment.header.options, options);
    let run = testkit::Script::new(&[], engine::Options::default());
    let checkpoint = segment.checkpoint.clone().unwrap();
    let profiles = [testkit::default_profile()];
    let mut run = run.resumed(checkpoint, &profiles, segment.header.options).unwrap();
    assert_eq!(run.command("queue"), ["1 active, 1 backoff, 2 parked, 1 gated"]);
    assert_eq!(run.command("load a"), ["1 pods, 1000m cpu, 0 memory"]);
    assert_eq!(run.assumed("again").unwrap().0, "a");
    for expected in records() {
        assert_eq!(segment.next_record().unwrap(), Some(expected));
    }
    assert_eq!(segment.next_record().unwrap(), None);
    assert_eq!(segment.tail(), Some(Tail::Ended(End::Closed)));
}
