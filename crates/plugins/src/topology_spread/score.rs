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

    // Hot: all nodes that fit, for every pod that is spread softly.
    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        let Some(constraints) = self.source.of(view) else { return out.fill(0) };
        // Nodes without a label that they must have stay out of it.
        let mut totals = vec![0.0; nodes.len()];
        for (spread, sums) in &constraints.all {
            constraints.crowd(spread, sums, view, nodes, &mut totals);
        }
        let raws = || totals.iter().filter(|total| !total.is_nan()).map(|total| rounded(*total));
        let lowest = raws().min().unwrap_or(0);
        let highest = raws().max().unwrap_or(0);
        let score = |raw: i64| {
            if highest == 0 {
                return MAX_SCORE;
            }
            let share = i64::from(MAX_SCORE) * (highest + lowest - raw) / highest;
            i32::try_from(share).expect("a share is at most twice the best score")
        };
        // Many nodes are equally crowded: divide once for all of them.
        let places = usize::try_from(highest - lowest).unwrap_or(usize::MAX);
        let known: Vec<i32> =
            if places < nodes.len() { (lowest..=highest).map(score).collect() } else { Vec::new() };
        for (total, out) in totals.into_iter().zip(out) {
            let raw = rounded(total);
            let at = usize::try_from(raw - lowest).unwrap_or(usize::MAX);
            *out = match total.is_nan() {
                true => 0,
                false => known.get(at).copied().unwrap_or_else(|| score(raw)),
            };
        }
    }
}

/// A sum of products of small numbers, none below 0, rounded half up.
fn rounded(total: f64) -> i64 {
    let whole = total as i64;
    if total - whole as f64 >= 0.5 { whole + 1 } else { whole }
}

impl Constraints {
    /// Whether nodes that lack a label are scored by the others.
    fn is_lenient(&self) -> bool {
        self.counting.keys.is_empty()
    }

    /// Adds how crowded a constraint finds nodes; of a node that lacks the label and must have it,
    /// nothing is known.
    fn crowd(
        &self,
        spread: &Spread,
        sums: &Sums,
        view: View<'_>,
        nodes: &[NodeId],
        totals: &mut [f64],
    ) {
        let domains = view.catalog.domains(spread.key);
        let domain = |node: NodeId| domains.get(node.index()).copied().flatten();
        let lacking = if self.is_lenient() { 0.0 } else { f64::NAN };
        let counts = |node: &&NodeId| self.counting.has_all_keys(view, **node);
        let counting = nodes.iter().filter(counts);
        // More domains have fewer pods each, which must not count for less.
        let factor = |domains: usize| natural((domains + 2) as f64);
        // The more skew there may be, the less it matters how crowded domains are.
        let crowded =
            |pods: u32, factor: f64| f64::from(pods) * factor + f64::from(spread.max_skew - 1);
        if is_host(spread, view) {
            let factor = factor(counting.count());
            for (node, total) in nodes.iter().zip(totals) {
                let is_there = domain(*node).is_some();
                *total += if is_there { crowded(sums.on_node(*node), factor) } else { lacking };
            }
            return;
        }
        // Nodes that lack the label and count all the same are as if theirs was empty.
        let unnamed = view.catalog.unnamed_domain(spread.key).filter(|_| self.is_lenient());
        let factor = factor(count(counting.map(|node| domain(*node).or(unnamed))));
        let in_domain = |at: usize| {
            let others = unnamed.filter(|unnamed| unnamed.index() == at);
            let others = others.map_or(0, |_| self.pods_without_label(spread, view));
            crowded(sums.in_domain(DomainId::at(at)).pods + others, factor)
        };
        let of_domain: Vec<f64> =
            (0..view.catalog.domain_places(spread.key)).map(in_domain).collect();
        for (node, total) in nodes.iter().zip(totals) {
            *total += domain(*node).map_or(lacking, |domain| of_domain[domain.index()]);
        }
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
}

/// Whether the domains of a constraint are the nodes themselves: pods are counted on each then,
/// whatever else is asked of nodes that count.
pub(super) fn is_host(spread: &Spread, view: View<'_>) -> bool {
    view.catalog.symbols().text(view.catalog.key_label(spread.key)) == HOSTNAME
}

/// How many domains nodes are in. Those that are in none share one more.
fn count(domains: impl Iterator<Item = Option<DomainId>>) -> usize {
    let (mut is_seen, mut seen, mut is_lacking) = (Vec::new(), 0, false);
    for domain in domains {
        let Some(domain) = domain else {
            is_lacking = true;
            continue;
        };
        if is_seen.len() <= domain.index() {
            is_seen.resize(domain.index() + 1, false);
        }
        seen += usize::from(!std::mem::replace(&mut is_seen[domain.index()], true));
    }
    seen + usize::from(is_lacking)
}
