//! Segments that are cut or damaged.

use super::*;
use crate::frame::pack;
use crate::line::End;

/// Records and tail; nothing if the segment was cut before them.
type Found = Option<(Vec<Record>, Option<Tail>)>;

/// What reading comes to.
fn outcome(bytes: &[u8]) -> Result<Found, String> {
    let text = |error: crate::ReadError| error.to_string();
    let segment = Segment::read(Path::new("segment"), bytes.into());
    let Some(mut segment) = segment.map_err(text)? else { return Ok(None) };
    let mut records = Vec::new();
    while let Some(record) = segment.next_record().map_err(text)? {
        records.push(record);
    }
    Ok(Some((records, segment.tail())))
}

/// A segment of three blocks: header and checkpoint, records, the last record and the end.
fn blocks() -> Vec<Vec<u8>> {
    let folder = Folder::new("blocks");
    let (mut journal, closer) = folder.open();
    write(&mut journal);
    close(closer);
    let bytes = fs::read(only_segment(&folder)).unwrap();
    let mut text = String::new();
    let mut decoder = flate2::read::MultiGzDecoder::new(&bytes[..]);
    std::io::Read::read_to_string(&mut decoder, &mut text).unwrap();
    let lines: Vec<_> = text.lines().collect();
    let (begin, last) = (lines.iter().position(|l| l.contains("begin")).unwrap(), lines.len() - 2);
    let parts = [&lines[..=begin], &lines[begin + 1..last], &lines[last..]];
    parts.map(|part| pack((part.join("\n") + "\n").as_bytes())).into()
}

#[test]
fn a_segment_that_is_cut_anywhere_gives_the_records_of_whole_blocks() {
    let blocks = blocks();
    let (bytes, all) = (blocks.concat(), records());
    let (first, second) = (blocks[0].len(), blocks[0].len() + blocks[1].len());
    for end in 0..=bytes.len() {
        let found = outcome(&bytes[..end]).unwrap();
        let cut = |start: usize| Some(Tail::Cut((end - start) as u64));
        let expected = match end {
            _ if end < first => None,
            _ if end < second => Some((vec![], cut(first))),
            _ if end < bytes.len() => Some((all[..all.len() - 1].to_vec(), cut(second))),
            _ => Some((all.clone(), Some(Tail::Ended(End::Closed)))),
        };
        assert_eq!(found, expected, "cut at {end}");
    }
}

#[test]
fn a_flipped_bit_gives_no_record_that_was_not_written() {
    let blocks = blocks();
    let (bytes, all) = (blocks.concat(), records());
    let second = blocks[0].len() + blocks[1].len();
    for at in 0..bytes.len() {
        let mut spoiled = bytes.clone();
        spoiled[at] ^= 1 << (at % 8);
        match outcome(&spoiled) {
            // A byte that says nothing, or a last block that is taken for one that was cut.
            Ok(Some((found, _))) if at >= second => assert!(all.starts_with(&found), "byte {at}"),
            Ok(Some((found, _))) => assert_eq!(found, all, "byte {at}"),
            Ok(None) => panic!("byte {at} is taken for a cut"),
            Err(error) => {
                let start = if at < blocks[0].len() { 0 } else { blocks[0].len() };
                assert!(error.contains(&format!("byte {start}: ")), "byte {at}: {error}");
            }
        }
    }
}

#[test]
fn zeros_at_the_end_are_what_a_crash_leaves() {
    let blocks = blocks();
    let bytes = [&blocks[0][..], &blocks[1], &[0; 4096]].concat();
    let (found, tail) = outcome(&bytes).unwrap().unwrap();
    assert_eq!((found.len(), tail), (records().len() - 1, Some(Tail::Cut(4096))));
}

#[test]
fn lines_that_make_no_sense_are_named() {
    let head = blocks().remove(0);
    let table = [
        (r#"{"applied":{"at":1,"event":{"PodApplied":{}}}}"#, "missing field `key`"),
        (r#"{"applied":{"at":1,"event":{"NodeDeleted":"a"},"more":1}}"#, "unknown field `more`"),
        (r#"{"applied":{"at":1,"event":{"Eclipse":1}}}"#, "unknown variant `Eclipse`"),
        (r#"{"applied":{"at":1,"spec":7,"event":{"NodeDeleted":"a"}}}"#, "a spec without a pod"),
        (r#"{"again":{"at":1,"of":{"pod":"x"}}}"#, "an event that is not there"),
        (r#"{"header":{}}"#, "missing field `format`"),
        (r#""begin""#, "expected a record"),
        ("{", "EOF while parsing"),
    ];
    for (line, expected) in table {
        let bytes = [&head[..], &pack(format!("{line}\n").as_bytes())].concat();
        let error = outcome(&bytes).unwrap_err();
        assert!(error.contains(expected) && error.contains("segment: line "), "{line}: {error}");
    }
    let first = r#"{"header":{"format":3,"version":"9.0.0","colour":"red"}}"#;
    let error = outcome(&pack(format!("{first}\n").as_bytes())).unwrap_err();
    assert!(error.contains("format 3, written by version 9.0.0; this version reads"), "{error}");
}
