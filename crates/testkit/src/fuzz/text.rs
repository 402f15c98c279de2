//! Ways to spoil texts that are read line by line, such as YAML.

use super::dice::{Dice, WORDS};

/// A text with one to four mistakes.
pub(super) fn spoiled(documents: &[&str], dice: &mut Dice<'_>) -> Vec<u8> {
    let mut lines: Vec<String> = dice.pick(documents).lines().map(str::to_owned).collect();
    for _ in 0..=dice.below(4) {
        if lines.is_empty() {
            break;
        }
        let at = dice.below(lines.len());
        spoil(&mut lines, at, documents, dice);
    }
    let mut text = (lines.join("\n") + "\n").into_bytes();
    if dice.below(8) == 7 {
        dice.garble(&mut text);
    }
    text
}

fn spoil(lines: &mut Vec<String>, at: usize, documents: &[&str], dice: &mut Dice<'_>) {
    match dice.below(9) {
        0 => {
            lines.remove(at);
        }
        1 => {
            let times = *dice.pick(&[1, 2, 300]);
            lines.splice(at..at, std::iter::repeat_n(lines[at].clone(), times));
        }
        2 => {
            let other: Vec<_> = dice.pick(documents).lines().collect();
            let line = (*dice.pick(&other)).to_owned();
            lines.insert(at, line);
        }
        3 => lines[at] = replaced(&lines[at], dice.word(WORDS)),
        4 => lines[at].insert_str(0, "  "),
        5 => lines[at] = lines[at].strip_prefix("  ").unwrap_or("- ").into(),
        6 => {
            let with = dice.below(lines.len());
            lines.swap(at, with);
        }
        7 => {
            // What YAML has and configurations do not need.
            const RARE: [&str; 12] = [
                " &a",
                " *a",
                " !!binary",
                " |",
                " >-",
                " {",
                " [",
                " ---",
                " #",
                " <<: *a",
                "\t",
                " ? ",
            ];
            lines[at].push_str(dice.word(&RARE));
        }
        _ => {
            let times = *dice.pick(&[10, 100, 1_000]);
            let line = &mut lines[at];
            *line = line.trim_end().to_owned() + &"[".repeat(times);
        }
    }
}

/// The line with another value behind its colon, or behind its dash.
fn replaced(line: &str, word: &str) -> String {
    match (line.split_once(": "), line.split_once("- ")) {
        (Some((key, _)), _) => format!("{key}: {word}"),
        (None, Some((dash, _))) => format!("{dash}- {word}"),
        (None, None) => word.into(),
    }
}
