//! Valid files, damaged at random: whatever comes out, it is an answer and never a crash.

use proptest::prelude::*;

use super::known;
use crate::config::load;

const FILES: [&str; 4] = [
    include_str!("../../../../../config/config.yaml"),
    include_str!("../../../../../examples/config/binpack.yaml"),
    include_str!("../../../../../examples/config/two-profiles.yaml"),
    include_str!("../../../../../examples/config/gangs.yaml"),
];

/// Scalars and fragments that tend to break readers.
const FRAGMENTS: [&str; 28] = [
    "",
    "~",
    "null",
    "-1",
    "0",
    "1e999",
    "9223372036854775808",
    "0x10",
    "007",
    ".nan",
    "true",
    "\"*\"",
    "[]",
    "{}",
    "[[[[",
    "}",
    "&a b",
    "*a",
    "!!int 3",
    "- ",
    "? a",
    ": b",
    "|",
    ">-",
    "15s",
    "NodeName",
    "\u{fffd}\u{0}",
    "\"\\uD800\"",
];

/// One way to damage a text: which line, what is done there, and with what.
#[derive(Clone, Debug)]
enum Damage {
    Delete(usize),
    Duplicate(usize),
    Move(usize, usize),
    Indent(usize, usize),
    Value(usize, String),
    Insert(usize, String),
    Nest(usize, usize),
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(&FRAGMENTS[..]).prop_map(str::to_owned),
        any::<i64>().prop_map(|number| number.to_string()),
        "[a-zA-Z0-9.:/ -]{0,12}",
        any::<String>(),
    ]
}

fn damage() -> impl Strategy<Value = Damage> {
    let line = 0..200_usize;
    prop_oneof![
        line.clone().prop_map(Damage::Delete),
        line.clone().prop_map(Damage::Duplicate),
        (line.clone(), line.clone()).prop_map(|(from, to)| Damage::Move(from, to)),
        (line.clone(), 0..12_usize).prop_map(|(at, by)| Damage::Indent(at, by)),
        (line.clone(), text()).prop_map(|(at, text)| Damage::Value(at, text)),
        (line.clone(), text()).prop_map(|(at, text)| Damage::Insert(at, text)),
        (line, 0..300_usize).prop_map(|(at, depth)| Damage::Nest(at, depth)),
    ]
}

fn apply(lines: &mut Vec<String>, damage: Damage) {
    if lines.is_empty() {
        return;
    }
    let count = lines.len();
    match damage {
        Damage::Delete(at) => drop(lines.remove(at % count)),
        Damage::Duplicate(at) => lines.insert(at % count, lines[at % count].clone()),
        Damage::Move(from, to) => {
            let line = lines.remove(from % count);
            lines.insert(to % count, line);
        }
        Damage::Indent(at, by) => {
            let line = format!("{}{}", " ".repeat(by), lines[at % count].trim_start());
            lines[at % count] = line;
        }
        Damage::Value(at, text) => {
            let line = &lines[at % count];
            let key = line.split_once(": ").map_or(&**line, |(key, _)| key).to_owned();
            lines[at % count] = format!("{key}: {text}");
        }
        Damage::Insert(at, text) => lines.insert(at % count, text),
        Damage::Nest(at, depth) => {
            let line = &lines[at % count];
            let key = line.split_once(':').map_or(&**line, |(key, _)| key).to_owned();
            lines[at % count] = format!("{key}: {}1{}", "[".repeat(depth), "]".repeat(depth));
        }
    }
}

/// Every problem of a text says something and where.
fn check(text: &str) {
    let Err(error) = load(text, &known()) else { return };
    assert!(!error.problems().is_empty());
    for problem in error.problems() {
        assert!(!problem.message.is_empty());
        let is_whole_file = problem.message.contains("empty") || problem.message.contains("bytes");
        let is_placed = !problem.path.is_empty() || problem.line.is_some_and(|line| line > 0);
        assert!(is_placed || is_whole_file, "{problem}");
    }
}

/// Failures are minimised and printed; a seed file beside the sources would only be forgotten.
fn config() -> ProptestConfig {
    ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn damaged_files_are_answered(
        file in prop::sample::select(&FILES[..]),
        damages in prop::collection::vec(damage(), 1..6),
    ) {
        let mut lines: Vec<String> = file.lines().map(str::to_owned).collect();
        damages.into_iter().for_each(|damage| apply(&mut lines, damage));
        check(&(lines.join("\n") + "\n"));
    }

    #[test]
    fn random_text_is_answered(parts in prop::collection::vec(text(), 0..30)) {
        check(&parts.join("\n"));
        check(&parts.concat());
    }
}
