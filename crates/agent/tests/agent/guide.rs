//! The guide names what the agent has, and nothing that it has not.

use std::collections::BTreeSet;

use clap::CommandFactory as _;
use kubenexus_agent::options::Options;

const GUIDE: &str = include_str!("../../../../docs/NODE_SETUP_GUIDE.md");
const KEYS: &str = include_str!("../../src/keys.rs");
const MANIFEST: &str = include_str!("../../../../deploy/kubenexus-agent.yaml");

/// Keys between quotes or backticks, up to the part that differs from node to node.
fn keys(text: &str, quote: char) -> BTreeSet<String> {
    let words = text.split(quote).filter(|word| !word.contains([' ', '\n']));
    let keys = words.filter(|word| {
        let domain = word.split_once(".kubenexus.io/").map(|(domain, _)| domain);
        domain.is_some_and(|domain| ["numa", "gpu", "network", "device"].contains(&domain))
    });
    let is_fixed = |key: &str| key.split(['<', '{']).next().unwrap_or_default().to_owned();
    keys.map(is_fixed).collect()
}

#[test]
fn every_key_is_in_the_guide() {
    assert!(keys(KEYS, '"').len() > 10);
    assert_eq!(keys(KEYS, '"'), keys(GUIDE, '`'));
    for fact in ["cpus", "memory", "bandwidth", "distance-<j>", "socket"] {
        let row = format!("| `numa.kubenexus.io/node-<i>-{fact}` |");
        assert!(GUIDE.contains(&row), "{row}");
    }
}

#[test]
fn flags_that_are_named_exist() {
    let command = Options::command();
    let known: BTreeSet<&str> = command.get_arguments().filter_map(|it| it.get_long()).collect();
    for text in [GUIDE, MANIFEST] {
        let words = text.split(|c: char| !c.is_ascii_lowercase() && c != '-');
        let flags = words.filter_map(|word| word.strip_prefix("--"));
        let flags: BTreeSet<&str> =
            flags.filter(|flag| flag.starts_with(char::is_alphabetic)).collect();
        // Flags of other programs.
        let others = ["apply", "server-side", "field-manager", "hardware", "help"];
        for flag in flags.iter().filter(|flag| !others.contains(flag)) {
            assert!(known.contains(flag), "--{flag}");
        }
    }
}
