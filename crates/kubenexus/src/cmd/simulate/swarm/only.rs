//! A part of what a seed draws, as words on the command line.

use std::collections::BTreeSet;

use anyhow::{Context, anyhow};
use sim::swarm::{Fault, Only};

/// Which part of a seed takes place. Lists are separated by commas; `none` is an empty one.
#[derive(clap::Args)]
pub(super) struct OnlyArgs {
    /// Only these nodes of the seed, by number
    #[arg(long, value_name = "LIST", requires = "seed")]
    only_nodes: Option<String>,
    /// Only these jobs of the seed, by number
    #[arg(long, value_name = "LIST", requires = "seed")]
    only_jobs: Option<String>,
    /// Only this of what becomes of nodes: NODE:FATE, by number
    #[arg(long, value_name = "LIST", requires = "seed")]
    only_fates: Option<String>,
    /// Only these faults: slow, lag, refused, lost, unanswered, cut, leader, second
    #[arg(long, value_name = "LIST", requires = "seed")]
    only_faults: Option<String>,
    /// At most so many pods per job
    #[arg(long, value_name = "N", requires = "seed")]
    pods_per_job: Option<u64>,
    /// At most so many seconds before faults are switched off
    #[arg(long, value_name = "N", requires = "seed")]
    seconds: Option<u64>,
    /// Make the failing seed smaller, each attempt in a process of its own
    #[arg(long, requires = "seed")]
    shrink: bool,
}

impl OnlyArgs {
    pub(super) fn is_shrunk(&self) -> bool {
        self.shrink
    }

    pub(super) fn parse(&self) -> anyhow::Result<Only> {
        Ok(Only {
            nodes: list("--only-nodes", self.only_nodes.as_deref(), number)?,
            jobs: list("--only-jobs", self.only_jobs.as_deref(), number)?,
            fates: list("--only-fates", self.only_fates.as_deref(), fate)?,
            faults: list("--only-faults", self.only_faults.as_deref(), fault)?,
            pods: self.pods_per_job,
            seconds: self.seconds,
        })
    }
}

fn list<T: Ord>(
    name: &str,
    text: Option<&str>,
    parse: fn(&str) -> anyhow::Result<T>,
) -> anyhow::Result<Option<BTreeSet<T>>> {
    let Some(text) = text else { return Ok(None) };
    if text == "none" {
        return Ok(Some(BTreeSet::new()));
    }
    let words: anyhow::Result<_> = text.split(',').map(parse).collect();
    words.map(Some).with_context(|| format!("{name} {text}"))
}

fn number(word: &str) -> anyhow::Result<usize> {
    word.trim().parse().map_err(|_| anyhow!("{word:?} is not a number"))
}

fn fate(word: &str) -> anyhow::Result<(usize, usize)> {
    let parts = word
        .trim()
        .split_once(':')
        .and_then(|(node, fate)| Some((node.parse().ok()?, fate.parse().ok()?)));
    parts.ok_or_else(|| anyhow!("{word:?} is not NODE:FATE, two numbers"))
}

fn fault(word: &str) -> anyhow::Result<Fault> {
    let found = Fault::WORDS.iter().find(|(name, _)| *name == word.trim());
    let names = Fault::WORDS.map(|(name, _)| name).join(", ");
    found.map(|(_, fault)| *fault).ok_or_else(|| anyhow!("{word:?} is none of {names}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_by_table() {
        assert_eq!(list("--x", None, number).unwrap(), None);
        assert_eq!(list("--x", Some("none"), number).unwrap(), Some(BTreeSet::new()));
        assert_eq!(list("--x", Some("3,1"), number).unwrap(), Some(BTreeSet::from([1, 3])));
        assert_eq!(list("--x", Some("3:1"), fate).unwrap(), Some(BTreeSet::from([(3, 1)])));
        assert_eq!(list("--x", Some("cut"), fault).unwrap(), Some(BTreeSet::from([Fault::Cut])));
        let said = |error: anyhow::Error| format!("{error:#}");
        let error = list("--only-nodes", Some("1,b"), number).unwrap_err();
        assert_eq!(said(error), "--only-nodes 1,b: \"b\" is not a number");
        let error = list("--only-fates", Some("1"), fate).unwrap_err();
        assert_eq!(said(error), "--only-fates 1: \"1\" is not NODE:FATE, two numbers");
        let error = list("--only-faults", Some("rain"), fault).unwrap_err();
        assert!(said(error).contains("\"rain\" is none of slow, lag,"));
    }
}
