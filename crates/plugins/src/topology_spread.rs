//! Spreads pods over topology domains: keeps them off domains that have too many of their like, and
//! prefers domains that have fewer.

mod logarithm;
mod score;

use framework::{Feasible, Narrow, Plugin, Rank, Reach, Scores, Verdict, View};
use model::{
    Catalog, Class, CrowdId, KeyId, NodeId, Occupant, Reason, Selector, Spread, Symbol, Toleration,
    Touch,
};

use crate::node_affinity::has_labels;
use crate::sums::Sums;
use crate::taint_toleration::has_untolerated;
use score::Preferred;

pub(crate) struct PodTopologySpread;

impl Plugin for PodTopologySpread {
    fn name(&self) -> &'static str {
        "PodTopologySpread"
    }
}

impl Feasible for PodTopologySpread {
    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Narrow>> {
        let is_broken = |spread: &Spread| spread.is_required && spread.is_broken;
        if class.company.spread.iter().any(is_broken) {
            return Some(Box::new(Broken));
        }
        let constraints = Constraints::of(class, true)?;
        Some(Box::new(Required { constraints }))
    }
}

impl Rank for PodTopologySpread {
    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Scores>> {
        let constraints = Constraints::of(class, false)?;
        Some(Box::new(Preferred { constraints }))
    }
}

/// Constraints of one sort, and which nodes count for them.
struct Constraints {
    all: Vec<(Spread, Sums)>,
    counting: Counting,
}

/// What decides whether a node counts.
struct Counting {
    keys: Box<[KeyId]>,
    labels: Box<[(Symbol, Symbol)]>,
    required: Option<Selector>,
    tolerations: Box<[Toleration<Symbol>]>,
}

impl Constraints {
    /// The constraints of a class that are required, or those that are not.
    fn of(class: &Class, is_required: bool) -> Option<Self> {
        let of_sort = |spread: &&Spread| spread.is_required == is_required;
        let with_sums = |spread: &Spread| (spread.clone(), Sums::new(spread.crowd, spread.key));
        let all: Vec<_> = class.company.spread.iter().filter(of_sort).map(with_sums).collect();
        let counting = Counting {
            keys: all.iter().map(|(spread, _)| spread.key).collect(),
            labels: class.node_selector.clone(),
            required: class.required.clone(),
            tolerations: class.tolerations.clone(),
        };
        (!all.is_empty()).then_some(Self { all, counting })
    }

    fn refresh(&mut self, view: View<'_>, touched: Option<&[Touch]>) {
        let Self { all, counting } = self;
        for (spread, sums) in all {
            sums.refresh(view, touched, |node| counting.counts(spread, view, node));
        }
    }
}

impl Counting {
    /// Whether a node counts for a constraint.
    fn counts(&self, spread: &Spread, view: View<'_>, node: NodeId) -> bool {
        if !self.has_all_keys(view, node) {
            return false;
        }
        let facts = view.catalog.node(node);
        let is_matched = || {
            let required = self.required.as_ref();
            has_labels(facts, &self.labels)
                && required.is_none_or(|terms| terms.matches(facts, view.catalog.symbols()))
        };
        (!spread.honours_affinity || is_matched())
            && (!spread.honours_taints || !has_untolerated(&facts.taints, &self.tolerations))
    }

    fn has_all_keys(&self, view: View<'_>, node: NodeId) -> bool {
        self.keys.iter().all(|key| view.catalog.domain(*key, node).is_some())
    }
}

/// Whether a pod counts itself.
fn counts_itself(spread: &Spread, view: View<'_>) -> bool {
    let is_meant =
        |crowd: CrowdId| view.catalog.tags(view.tags).meant.binary_search(&crowd).is_ok();
    spread.is_about_all || spread.crowd.is_some_and(is_meant)
}

struct Required {
    constraints: Constraints,
}

impl Required {
    /// By constraint, how many pods a domain may have so that one more may come.
    fn limits(&self, view: View<'_>) -> Vec<i64> {
        let limit = |(spread, sums): &(Spread, Sums)| {
            let (mut domains, mut lowest) = (0_i64, i64::from(i32::MAX));
            for sum in sums.present() {
                domains += 1;
                lowest = lowest.min(sum.pods.into());
            }
            if domains < i64::from(spread.min_domains) {
                lowest = 0;
            }
            i64::from(spread.max_skew) + lowest - i64::from(counts_itself(spread, view))
        };
        self.constraints.all.iter().map(limit).collect()
    }

    fn verdict(&self, view: View<'_>, limits: &[i64], node: NodeId) -> Option<Reason> {
        for ((_, sums), limit) in self.constraints.all.iter().zip(limits) {
            let Some(sum) = sums.of(view, node) else { return Some(Reason::SpreadLabel) };
            if i64::from(sum.pods) > *limit {
                return Some(Reason::SpreadSkew);
            }
        }
        None
    }
}

impl Narrow for Required {
    fn reach(&self) -> Reach {
        Reach::Around
    }

    fn refresh(&mut self, view: View<'_>, touched: Option<&[Touch]>) {
        self.constraints.refresh(view, touched);
    }

    fn is_moved_by(&self, catalog: &Catalog, occupant: Occupant) -> bool {
        let crowds = self.constraints.all.iter().filter_map(|(spread, _)| spread.crowd);
        let meant = &catalog.tags(occupant.tags).meant;
        crowds.into_iter().any(|crowd| meant.binary_search(&crowd).is_ok())
    }

    fn narrow(&self, view: View<'_>, nodes: &mut Vec<NodeId>) {
        let limits = self.limits(view);
        nodes.retain(|node| self.verdict(view, &limits, *node).is_none());
    }

    fn why_not(&self, view: View<'_>, node: NodeId) -> Vec<Reason> {
        self.verdict(view, &self.limits(view), node).into_iter().collect()
    }
}

/// Constraints that cannot be understood.
struct Broken;

impl Narrow for Broken {
    fn reach(&self) -> Reach {
        Reach::Facts
    }

    fn before(&self, _: View<'_>) -> Verdict {
        Verdict::Refused(Reason::BrokenSpread)
    }

    fn why_not(&self, _: View<'_>, _: NodeId) -> Vec<Reason> {
        vec![Reason::BrokenSpread]
    }
}
