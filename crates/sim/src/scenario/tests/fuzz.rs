//! Sound files with every value deleted, doubled and replaced: never a crash, always a place.

use super::{Source, read};
use crate::dice::{Dice, Stream};

/// Files that are read together.
const SETS: [&[&str]; 3] = [
    &[include_str!("../../../../../examples/simulate/day.yaml")],
    &[include_str!("../../../../../examples/simulate/machines.yaml")],
    &[
        include_str!("../../../../../examples/simulate/cluster.yaml"),
        include_str!("../../../../../examples/simulate/training-job.yaml"),
    ],
];

/// What stands in place of a value.
const VALUES: [&str; 16] = [
    "",
    "~",
    "-1",
    "0",
    "9223372036854775807",
    "1e999",
    "\"\"",
    "text",
    "15s",
    "5h..1h",
    "~2562047h",
    "[]",
    "{}",
    "[[1]]",
    "{unknown: 1}",
    "\"\\0<b>\"",
];

/// Every file, among those it is read with.
fn all_files() -> Vec<(Vec<String>, usize)> {
    let set =
        |set: &&[&str]| -> Vec<String> { set.iter().map(|text| (*text).to_owned()).collect() };
    SETS.iter().flat_map(|files| (0..files.len()).map(move |at| (set(files), at))).collect()
}

/// Reads damaged files and runs nothing: what is refused says where.
fn check(files: &[String]) {
    let sources: Vec<Source> = (1..)
        .zip(files)
        .map(|(at, text)| Source { name: format!("f{at}.yaml"), text: text.clone() })
        .collect();
    let Err(mistakes) = read(&sources).and_then(|scenario| scenario.plan(None)) else { return };
    assert!(!mistakes.all().is_empty());
    for mistake in mistakes.all() {
        let is_placed = mistake.line > 0 && mistake.file.starts_with('f');
        let is_of_all = mistake.message.starts_with("no nodes");
        assert!(is_placed || is_of_all, "{mistake}");
        let lines = files.iter().map(|text| text.lines().count()).max().unwrap_or(0);
        assert!(mistake.line <= lines + 1, "{mistake}");
        assert!(!mistake.message.is_empty() && mistake.message.len() < 500, "{mistake}");
    }
}

/// The places in a line at which a value starts and ends: after `: `, and inside of braces.
fn values(line: &str) -> Vec<(usize, usize)> {
    let starts = line.match_indices(": ").map(|(at, _)| at + 2);
    let end =
        |start: usize| line[start..].find([',', '}', ']']).map_or(line.len(), |at| start + at);
    starts.map(|start| (start, end(start))).collect()
}

#[test]
fn every_value_is_deleted_doubled_and_replaced() {
    let mut count = 0;
    for (files, at) in all_files() {
        check(&files);
        let lines: Vec<&str> = files[at].lines().collect();
        let mut with = |line: usize, text: Option<String>, times: usize| {
            let mut changed: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            let new = text.map_or_else(Vec::new, |text| vec![text; times]);
            changed.splice(line..=line, new);
            let mut spoiled = files.clone();
            spoiled[at] = changed.join("\n") + "\n";
            check(&spoiled);
            count += 1;
        };
        for (number, line) in lines.iter().enumerate().filter(|(_, line)| !line.starts_with('#')) {
            with(number, None, 0);
            with(number, Some((*line).to_owned()), 2);
            for (start, end) in values(line) {
                // A few of the values in each place, all of them in some place.
                for turn in 0..2 {
                    let value = VALUES[(number * 3 + start + turn * 5) % VALUES.len()];
                    let text = format!("{}{value}{}", &line[..start], &line[end..]);
                    with(number, Some(text), 1);
                }
            }
        }
    }
    assert!(count > 600, "{count}");
}

#[test]
fn broken_text_is_answered() {
    let mut dice = Dice::new(11, Stream::World);
    for round in 0..300 {
        let (mut files, at) = all_files().swap_remove(round % 3);
        let mut bytes = files[at].as_bytes().to_vec();
        for _ in 0..dice.between(1, 4) {
            let place = dice.between(0, bytes.len() as u64 - 1) as usize;
            bytes[place] = dice.pick(b"{}[]:,-#\"'\n \t0x~&*!|>%@`?");
        }
        files[at] = String::from_utf8_lossy(&bytes).into_owned();
        check(&files);
    }
}

#[test]
fn files_that_are_nearly_right_are_answered() {
    let files: Vec<String> = SETS.iter().map(|files| files.join("---\n")).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    testkit::fuzz::text(1_500, &files, |text| {
        check(&[String::from_utf8_lossy(text).into_owned()]);
    });
}
