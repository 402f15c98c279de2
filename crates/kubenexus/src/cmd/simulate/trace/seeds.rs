//! Seeds as they are written on the command line.

use std::collections::BTreeSet;

use anyhow::{Context, bail};

/// More seeds than anyone waits for.
const SEEDS_MAX: usize = 10_000;

/// Reads `42..51`, both ends included, `42,44,46`, or both together, in rising order.
pub(super) fn parse(text: &str) -> anyhow::Result<Vec<u64>> {
    let mut seeds = BTreeSet::new();
    for part in text.split(',') {
        let number = |text: &str| {
            let message = "--seeds: expected numbers and ranges such as 42..51,60, found";
            text.trim().parse::<u64>().with_context(|| format!("{message} {part:?}"))
        };
        let (first, last) = match part.split_once("..") {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(part)?, number(part)?),
        };
        if first > last {
            bail!("--seeds: expected a range that rises, found {part:?}");
        }
        for seed in first..=last {
            if seeds.len() >= SEEDS_MAX {
                bail!("--seeds: expected at most {SEEDS_MAX} seeds, found {text:?}");
            }
            seeds.insert(seed);
        }
    }
    Ok(seeds.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_by_table() {
        let table: [(&str, &[u64]); 6] = [
            ("42", &[42]),
            ("42..45", &[42, 43, 44, 45]),
            ("7..7", &[7]),
            ("9,1", &[1, 9]),
            ("1..3,2,10", &[1, 2, 3, 10]),
            (" 1 .. 2 , 5", &[1, 2, 5]),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_seed_is_refused() {
        let form = "--seeds: expected numbers and ranges such as 42..51,60, found";
        let table = [
            ("", format!("{form} \"\"")),
            ("a", format!("{form} \"a\"")),
            ("1,", format!("{form} \"\"")),
            ("1..", format!("{form} \"1..\"")),
            ("1..=3", format!("{form} \"1..=3\"")),
            ("-1", format!("{form} \"-1\"")),
            ("5..1", "--seeds: expected a range that rises, found \"5..1\"".to_owned()),
            (
                "0..18446744073709551615",
                "--seeds: expected at most 10000 seeds, found \"0..18446744073709551615\""
                    .to_owned(),
            ),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text).unwrap_err().to_string(), expected, "{text}");
        }
    }
}
