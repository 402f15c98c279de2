//! How well a node keeps pods apart that had better be.

use framework::{MAX_SCORE, Reach, Scores, View};
use model::{DomainId, NodeId, Spread, Touch};

use super::Constraints;
use super::logarithm::natural;
use crate::sums::Sums;

/// The label that every node has a value of its own for.
const HOSTNAME: &str = "kubernetes.io/hostname";

pub(super) struct Preferred {
    pub(super) constraints: Constraints,
}

impl Scores for Preferred {
    fn reach(&self) -> Reach {
        Reach::Around
    }

    fn is_broken(&self) -> bool {
        self.constraints.all.iter().any(|(spread, _)| spread.is_broken)
    }

    fn refresh(&mut self, view: View<'_>, touched: Option<&[Touch]>) {
        self.constraints.refresh(view, touched);
    }

    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        let counts = |node: &&NodeId| self.constraints.counting.has_all_keys(view, **node);
        let counting = nodes.iter().filter(counts).count();
        let weigh = |(spread, sums): &(Spread, Sums)| {
            let is_host =
                view.catalog.symbols().text(view.catalog.key_label(spread.key)) == HOSTNAME;
            let domains = if is_host { counting } else { self.domains(sums, view, nodes) };
            // More domains have fewer pods each, which must not count for less.
            (is_host, natural((domains + 2) as f64))
        };
        let weights: Vec<(bool, f64)> = self.constraints.all.iter().map(weigh).collect();
        let raws: Vec<Option<i64>> =
            nodes.iter().map(|node| self.raw(view, &weights, *node)).collect();
        let lowest = raws.iter().flatten().copied().min().unwrap_or(0);
        let highest = raws.iter().flatten().copied().max().unwrap_or(0).max(0);
        for (raw, score) in raws.into_iter().zip(out) {
            *score = match raw {
                None => 0,
                Some(_) if highest == 0 => MAX_SCORE,
                Some(raw) => {
                    let share = i64::from(MAX_SCORE) * (highest + lowest - raw) / highest;
                    i32::try_from(share).expect("a share is at most twice the best score")
                }
            };
        }
    }
}

impl Preferred {
    /// How many domains the nodes are in that have all labels.
    fn domains(&self, sums: &Sums, view: View<'_>, nodes: &[NodeId]) -> usize {
        let mut is_seen = vec![false; view.catalog.domain_places(sums.key())];
        let counts = |node: &&NodeId| self.constraints.counting.has_all_keys(view, **node);
        let domain = |node: &NodeId| view.catalog.domain(sums.key(), *node);
        let domains = nodes.iter().filter(counts).filter_map(domain);
        domains.for_each(|domain: DomainId| is_seen[domain.index()] = true);
        is_seen.into_iter().filter(|is_seen| *is_seen).count()
    }

    /// How crowded a node is; nothing if it lacks a label.
    fn raw(&self, view: View<'_>, weights: &[(bool, f64)], node: NodeId) -> Option<i64> {
        let mut total = 0.0;
        for ((spread, sums), (is_host, weight)) in self.constraints.all.iter().zip(weights) {
            let sum = sums.of(view, node)?;
            let pods = if *is_host {
                spread.crowd.map_or(0, |crowd| view.usage.in_crowd(crowd, node))
            } else {
                sum.pods
            };
            total += f64::from(pods) * weight + f64::from(spread.max_skew - 1);
        }
        // A sum of products of small numbers.
        Some(total.round() as i64)
    }
}
