//! How well a node keeps pods apart that had better be.

use framework::{MAX_SCORE, Reach, Scores, View};
use model::{DomainId, NodeId, Spread, Touch};

use super::logarithm::natural;
use super::{Constraints, Source};
use crate::sums::Sums;

/// The label that every node has a value of its own for.
const HOSTNAME: &str = "kubernetes.io/hostname";

pub(super) struct Preferred {
    pub(super) source: Source,
}

impl Scores for Preferred {
    fn reach(&self) -> Reach {
        Reach::Around
    }

    fn applies(&self, view: View<'_>) -> bool {
        self.source.applies(view)
    }

    fn is_broken(&self) -> bool {
        match &self.source {
            Source::Own(constraints) => constraints.all.iter().any(|(spread, _)| spread.is_broken),
            Source::Profile(_) => false,
        }
    }

    fn refresh(&mut self, view: View<'_>, touched: Option<&[Touch]>) {
        self.source.refresh(view, touched);
    }

    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        let Some(constraints) = self.source.of(view) else { return out.fill(0) };
        let weigh = |(spread, sums): &(Spread, Sums)| constraints.weigh(spread, sums, view, nodes);
        let weights: Vec<Weight> = constraints.all.iter().map(weigh).collect();
        let raws: Vec<Option<i64>> =
            nodes.iter().map(|node| constraints.raw(view, &weights, *node)).collect();
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

/// How a constraint counts, for all nodes.
struct Weight {
    is_host: bool,
    /// More domains have fewer pods each, which must not count for less.
    factor: f64,
    /// The domain of nodes whose label is empty. Nodes that lack the label and count all the same
    /// are taken to be in it; so many pods are on those.
    unnamed: Option<(DomainId, u32)>,
}

impl Constraints {
    /// Whether nodes that lack a label are scored by the others.
    fn is_lenient(&self) -> bool {
        self.counting.keys.is_empty()
    }

    fn weigh(&self, spread: &Spread, sums: &Sums, view: View<'_>, nodes: &[NodeId]) -> Weight {
        let catalog = view.catalog;
        let is_host = catalog.symbols().text(catalog.key_label(spread.key)) == HOSTNAME;
        let unnamed = catalog.unnamed_domain(spread.key).filter(|_| self.is_lenient());
        let counts = |node: &&NodeId| self.counting.has_all_keys(view, **node);
        let counting = nodes.iter().filter(counts);
        let domains = match is_host {
            true => counting.count(),
            false => domains(sums, view, counting, unnamed),
        };
        let unnamed = unnamed.map(|domain| (domain, self.pods_without_label(spread, view)));
        Weight { is_host, factor: natural((domains + 2) as f64), unnamed }
    }

    /// How many pods are on nodes that lack the label of a constraint and count all the same.
    fn pods_without_label(&self, spread: &Spread, view: View<'_>) -> u32 {
        let lacks = |node: &&NodeId| {
            view.catalog.domain(spread.key, **node).is_none()
                && self.counting.counts(spread, view, **node)
        };
        let pods = |node: &NodeId| spread.crowd.map_or(0, |it| view.usage.in_crowd(it, *node));
        view.catalog.nodes().iter().filter(lacks).map(pods).sum()
    }

    /// How crowded a node is; nothing if it lacks a label that it must have.
    fn raw(&self, view: View<'_>, weights: &[Weight], node: NodeId) -> Option<i64> {
        let mut total = 0.0;
        for ((spread, sums), weight) in self.all.iter().zip(weights) {
            let Some(domain) = view.catalog.domain(spread.key, node) else {
                if self.is_lenient() {
                    continue;
                }
                return None;
            };
            let pods = if weight.is_host {
                spread.crowd.map_or(0, |crowd| view.usage.in_crowd(crowd, node))
            } else {
                let unnamed = weight.unnamed.filter(|(unnamed, _)| *unnamed == domain);
                sums.in_domain(domain).pods + unnamed.map_or(0, |(_, pods)| pods)
            };
            total += f64::from(pods) * weight.factor + f64::from(spread.max_skew - 1);
        }
        // A sum of products of small numbers.
        Some(total.round() as i64)
    }
}

/// How many domains the nodes are in. Those that lack the label are in the unnamed one.
fn domains<'a>(
    sums: &Sums,
    view: View<'_>,
    nodes: impl Iterator<Item = &'a NodeId>,
    unnamed: Option<DomainId>,
) -> usize {
    let mut is_seen = vec![false; view.catalog.domain_places(sums.key())];
    let mut is_lacking = false;
    for node in nodes {
        match view.catalog.domain(sums.key(), *node).or(unnamed) {
            Some(domain) => is_seen[domain.index()] = true,
            None => is_lacking = true,
        }
    }
    is_seen.into_iter().filter(|is_seen| *is_seen).count() + usize::from(is_lacking)
}
