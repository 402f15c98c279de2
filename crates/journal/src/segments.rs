//! The files of a journal: `NUMBER-TIME.jsonl.gz`, in the order of their numbers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const SUFFIX: &str = ".jsonl.gz";

/// A file of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentFile {
    /// Its place in the order.
    pub number: u64,
    /// Where it is.
    pub path: PathBuf,
    /// How large it is.
    pub bytes: u64,
}

/// The segments of a folder, in order. Other files are left alone.
///
/// # Errors
/// When the folder cannot be read.
pub fn list(folder: &Path) -> io::Result<Vec<SegmentFile>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if let Some(number) = name.to_str().and_then(number) {
            let bytes = entry.metadata()?.len();
            found.push(SegmentFile { number, path: entry.path(), bytes });
        }
    }
    found.sort_by_key(|segment| segment.number);
    Ok(found)
}

/// The name of a segment that is begun at a time.
pub(crate) fn name(number: u64, at: jiff::Timestamp) -> String {
    format!("{number:09}-{}{SUFFIX}", at.strftime("%Y-%m-%dT%H-%M-%SZ"))
}

fn number(name: &str) -> Option<u64> {
    let (number, time) = name.strip_suffix(SUFFIX)?.split_once('-')?;
    let is_time = time.len() == "2026-11-16T03-28-39Z".len();
    number.parse().ok().filter(|_| number.len() >= 9 && is_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_order_and_time() {
        let at = jiff::Timestamp::from_second(1_794_800_000).unwrap();
        assert_eq!(name(7, at), "000000007-2026-11-16T03-33-20Z.jsonl.gz");
        assert_eq!(number(&name(7, at)), Some(7));
        assert_eq!(number(&name(12_345_678_901, at)), Some(12_345_678_901));
        for other in ["notes.txt", "1.jsonl.gz", "000000007-x.jsonl.gz", "lock", ""] {
            assert_eq!(number(other), None, "{other}");
        }
    }
}
