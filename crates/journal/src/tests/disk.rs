//! Folders: bounds, rotation, gaps, rights.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::line::{Cause, End};
use crate::{OpenError, Totals};

#[test]
fn what_was_written_comes_back() {
    let folder = Folder::new("comes-back");
    let (mut journal, closer) = folder.open();
    assert!(journal.wants_checkpoint());
    write(&mut journal);
    close(closer);
    let path = only_segment(&folder);
    assert_eq!(read(&path), (records(), Some(Tail::Ended(End::Closed))));
    let header = Segment::open(&path).unwrap().unwrap().header;
    assert_eq!((header.cause, header.version.as_str()), (Cause::Start, "1.2.3"));
    let Totals { bytes, records: count, gaps } = journal.totals();
    let expected = (fs::metadata(&path).unwrap().len(), records().len() as u64, 0);
    assert_eq!((bytes, count, gaps), expected);
}

#[test]
fn others_may_not_read_it() {
    let folder = Folder::new("rights");
    let (mut journal, closer) = folder.open();
    write(&mut journal);
    close(closer);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.0), 0o700);
    assert_eq!(mode(&only_segment(&folder)), 0o600);
}

#[test]
fn one_writer_at_a_time() {
    let folder = Folder::new("locked");
    let (_journal, closer) = folder.open();
    let error = Journal::open(folder.options(1 << 20, 1 << 30)).unwrap_err();
    assert!(matches!(error, OpenError::InUse(_)), "{error}");
    close(closer);
    close(folder.open().1);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = Folder::new("file");
    fs::write(&folder.0, "not a folder").unwrap();
    let error = Journal::open(folder.options(1 << 20, 1 << 30)).unwrap_err().to_string();
    fs::remove_file(&folder.0).unwrap();
    assert!(error.starts_with("making the journal's folder /"), "{error}");
    let error = Journal::open(folder.options(1 << 20, 1 << 20)).unwrap_err().to_string();
    assert!(error.contains("at most a quarter"), "{error}");
}

/// Writes until so many segments were begun.
fn rotate(journal: &mut Journal, segments: usize) {
    journal.begin(Time(0), Checkpoint::default());
    let mut begun = 1;
    for number in 0..u64::MAX {
        // Names that do not compress.
        let name = format!("{:x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17));
        journal.applied(Time(number), Event::gone(Kind::Node, name));
        if journal.wants_checkpoint() {
            begun += 1;
            if begun > segments {
                return;
            }
            journal.begin(Time(number), Checkpoint::default());
        }
        // What the writer cannot keep up with would be lost.
        while journal.waiting() > 100 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn the_oldest_segments_are_deleted() {
    let folder = Folder::new("bounded");
    let bound = 200_000;
    let (mut journal, closer) = Journal::open(folder.options(50_000, bound)).unwrap();
    rotate(&mut journal, 8);
    close(closer);
    let files = list(&folder.0).unwrap();
    let total: u64 = files.iter().map(|file| file.bytes).sum();
    assert!(total <= bound + 50_000, "{total} bytes");
    assert!(files.len() >= 2 && files[0].number > 3, "{files:?}");
    assert_eq!(files.last().unwrap().number, 8);
    for (at, file) in files.iter().enumerate() {
        let (records, tail) = read(&file.path);
        let end = if at + 1 == files.len() { End::Closed } else { End::Rotated };
        assert_eq!(tail, Some(Tail::Ended(end)));
        assert!(!records.is_empty());
    }
    // The next scheduler goes on counting.
    let (mut journal, closer) = Journal::open(folder.options(50_000, bound)).unwrap();
    write(&mut journal);
    close(closer);
    assert_eq!(list(&folder.0).unwrap().last().unwrap().number, 9);
}

#[test]
fn what_the_writer_cannot_keep_up_with_is_a_gap() {
    let folder = Folder::new("gap");
    let (mut journal, closer) = folder.open();
    journal.begin(Time(0), Checkpoint::default());
    let present = Present::Names((0..100).map(|at| format!("node-{at}").into()).collect());
    let mut sent = 0;
    while journal.totals().gaps == 0 {
        journal.applied(Time(sent), Event::Listed(Kind::Node, present.clone()));
        sent += 1;
    }
    journal.applied(Time(sent), Event::gone(Kind::Node, "lost"));
    while !journal.wants_checkpoint() {
        std::thread::sleep(Duration::from_millis(5));
    }
    journal.begin(Time(sent), Checkpoint::default());
    journal.applied(Time(sent), Event::gone(Kind::Node, "kept"));
    close(closer);
    let files = list(&folder.0).unwrap();
    assert_eq!(files.len(), 2);
    let (records, tail) = read(&files[0].path);
    assert_eq!((records.len() as u64, tail), (sent - 1, Some(Tail::Ended(End::Gap))));
    assert_eq!(Segment::open(&files[1].path).unwrap().unwrap().header.cause, Cause::Gap);
    let kept = What::Applied(Event::gone(Kind::Node, "kept"));
    assert_eq!(
        read(&files[1].path).0,
        [Record { number: 1, at: Time(sent), wall_ms: sent, what: kept }]
    );
}
