//! How costly a node is, and for whom it is reserved. Only labels say so: whoever may annotate a
//! node need not be whoever decides on this.

use model::hardware::HardwareFacts;
use model::{HardwareTier, ReservedFor, Tier, TierLabels};

use super::{Reader, number};

const TIER: &str = "hardware.kubenexus.io/tier";
const COST: &str = "hardware.kubenexus.io/cost";
const RESERVED: &str = "tenant.kubenexus.io/reserved-tier";
/// All that are read.
pub(super) const LABELS: [&str; 3] = [TIER, COST, RESERVED];

/// The word for pods of the system.
const SYSTEM: &str = "system";
/// A node costs less.
const COST_MAX: u64 = 1_000_000_000;

pub(super) fn read(reader: &mut Reader<'_>, facts: &mut HardwareFacts) {
    let labels = reader.labels;
    let said = |key: &'static str| labels.get(key).map(|value| (key, value.as_str()));
    facts.tiers = TierLabels {
        tier: said(TIER).map(|said| tier(reader, said)),
        cost_milli: said(COST).and_then(|said| cost(reader, said)),
        reserved: said(RESERVED).map(|said| reserved(reader, said)),
    };
}

/// What means nothing is taken for the costliest, which the fewest may use.
fn tier(reader: &mut Reader<'_>, said: (&str, &str)) -> HardwareTier {
    let found = word(said.1, &HardwareTier::WORDS);
    let expected = "premium, standard or economy; it counts as premium";
    reader.check(said, found, expected).unwrap_or(HardwareTier::Premium)
}

/// What means nothing keeps everybody out.
fn reserved(reader: &mut Reader<'_>, said: (&str, &str)) -> ReservedFor {
    if said.1.eq_ignore_ascii_case(SYSTEM) {
        return ReservedFor::System;
    }
    let found = word(said.1, &Tier::WORDS);
    let expected = "gold, silver, bronze or system; it counts as system";
    reader.check(said, found, expected).map_or(ReservedFor::System, ReservedFor::Tenants)
}

fn cost(reader: &mut Reader<'_>, said: (&str, &str)) -> Option<u64> {
    let expected = "a number from 0 to 1000000000 with at most three digits after the point";
    reader.check(said, milli(said.1), expected)
}

fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Option<T> {
    words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)).map(|(_, value)| *value)
}

/// Thousandths of a number with digits alone, before a point and after it.
fn milli(text: &str) -> Option<u64> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    let part = match rest.len() {
        1 => number(rest)? * 100,
        2 => number(rest)? * 10,
        3 => number(rest)?,
        _ => return None,
    };
    let milli = number(whole).filter(|whole| *whole <= COST_MAX)? * 1000 + part;
    (milli <= COST_MAX * 1000).then_some(milli)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::{NodeAnnotations, hardware};
    use super::*;

    fn told(labels: &[(&str, &str)]) -> (TierLabels, Vec<String>) {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let labels: BTreeMap<String, String> = labels.iter().map(owned).collect();
        let (facts, _) = hardware(&labels, &NodeAnnotations::default());
        let facts = facts.unwrap_or_default();
        let unread = facts.unread.iter().map(|it| format!("{}={}", it.key, it.value));
        (facts.tiers, unread.collect())
    }

    #[test]
    fn every_label_is_in_the_documentation() {
        let page = include_str!("../../../../../docs/tenants.md");
        for label in LABELS {
            assert!(page.contains(&format!("| `{label}` | node |")), "{label}");
        }
        assert!(page.contains(&format!("| `{}` | namespace |", model::TENANT_TIER_LABEL)));
    }

    #[test]
    fn labels_of_tiers_by_table() {
        use HardwareTier::{Economy, Premium, Standard};
        let table = [
            ("premium", Premium, true),
            ("Standard", Standard, true),
            ("ECONOMY", Economy, true),
            ("cheap", Premium, false),
            ("", Premium, false),
            (" premium", Premium, false),
        ];
        for (value, tier, is_known) in table {
            let (tiers, unread) = told(&[(TIER, value)]);
            assert_eq!(tiers, TierLabels { tier: Some(tier), ..TierLabels::default() });
            let expected = (!is_known).then(|| format!("{TIER}={value}"));
            assert_eq!(unread, Vec::from_iter(expected), "{value:?}");
        }
        assert_eq!(told(&[]), (TierLabels::default(), Vec::new()));
    }

    #[test]
    fn labels_of_reserved_nodes_by_table() {
        let table = [
            ("gold", ReservedFor::Tenants(Tier::Gold), true),
            ("Silver", ReservedFor::Tenants(Tier::Silver), true),
            ("bronze", ReservedFor::Tenants(Tier::Bronze), true),
            ("system", ReservedFor::System, true),
            ("platinum", ReservedFor::System, false),
        ];
        for (value, reserved, is_known) in table {
            let (tiers, unread) = told(&[(RESERVED, value)]);
            assert_eq!(tiers, TierLabels { reserved: Some(reserved), ..TierLabels::default() });
            let expected = (!is_known).then(|| format!("{RESERVED}={value}"));
            assert_eq!(unread, Vec::from_iter(expected), "{value:?}");
        }
    }

    #[test]
    fn labels_of_costs_by_table() {
        let table = [
            ("0", Some(0)),
            ("3", Some(3_000)),
            ("2.5", Some(2_500)),
            ("2.05", Some(2_050)),
            ("0.123", Some(123)),
            ("1000000000", Some(1_000_000_000_000)),
            ("1000000000.001", None),
            ("99999999999999999999", None),
            ("2.1234", None),
            ("2.", None),
            (".5", None),
            ("-1", None),
            ("1e3", None),
            ("", None),
        ];
        for (value, expected) in table {
            let (tiers, unread) = told(&[(COST, value)]);
            assert_eq!(tiers.cost_milli, expected, "{value:?}");
            assert_eq!(unread.is_empty(), expected.is_some(), "{value:?}");
        }
    }
}
