//! Spreads pods over topology domains: keeps them off domains that have too many of their like, and
//! prefers domains that have fewer.
//!
//! Pods that say nothing of it are spread as the profile says (`defaultConstraints`), with the pods
//! that services and their controller make alike with them; without any, over hosts and zones, and
//! softly.

mod defaults;
mod logarithm;
mod score;

use framework::{Feasible, Narrow, Parts, Plugin, Rank, Reach, Scores, SpreadArgs, Verdict, View};
use model::{
    Catalog, Class, CrowdId, KeyId, NodeId, Occupant, Reason, Selector, Spread, Symbol, Toleration,
    Touch,
};

use crate::node_affinity::has_labels;
use crate::sums::Sums;
use crate::taint_toleration::has_untolerated;
use defaults::{Defaults, system};
use score::{Preferred, is_host};

pub(crate) struct PodTopologySpread {
    /// For pods without constraints of their own.
    defaults: Box<[Spread]>,
    /// Whether nodes that lack a label of the defaults count all the same.
    is_lenient: bool,
}

impl PodTopologySpread {
    pub(crate) fn new(args: &SpreadArgs, catalog: &mut Catalog) -> Self {
        match args {
            SpreadArgs::System => {
                Self { defaults: catalog.default_spread(&system()), is_lenient: true }
            }
            SpreadArgs::List(specs) => {
                Self { defaults: catalog.default_spread(specs), is_lenient: false }
            }
        }
    }

    /// The constraints that hold for a class and are required, or those that are not.
    fn constraints(&self, class: &Class, is_required: bool) -> Option<Source> {
        let is_own = !class.spec.spread.is_empty();
        let all = if is_own { &class.company.spread } else { &self.defaults };
        let of_sort = |spread: &&Spread| spread.is_required == is_required;
        let all: Vec<Spread> = all.iter().filter(of_sort).cloned().collect();
        let is_lenient = !is_own && self.is_lenient;
        let labels = all.iter().map(|spread| spread.key);
        let counting = Counting {
            keys: labels.filter(|_| !is_lenient).collect(),
            labels: class.node_selector.clone(),
            required: class.required.clone(),
            tolerations: class.tolerations.clone(),
        };
        let source = match is_own {
            true => Source::Own(Constraints::new(all.iter().cloned(), counting)),
            false => Source::Profile(Defaults::new(&all, counting, class.namespace)),
        };
        (!all.is_empty()).then_some(source)
    }
}

impl Plugin for PodTopologySpread {
    fn name(&self) -> &'static str {
        "PodTopologySpread"
    }
}

impl Feasible for PodTopologySpread {
    fn reads(&self) -> Parts {
        Parts::SPREAD
    }

    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Narrow>> {
        let is_broken = |spread: &Spread| spread.is_required && spread.is_broken;
        if class.company.spread.iter().any(is_broken) {
            return Some(Box::new(Broken));
        }
        let source = self.constraints(class, true)?;
        Some(Box::new(Required { source }))
    }
}

impl Rank for PodTopologySpread {
    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Scores>> {
        let source = self.constraints(class, false)?;
        Some(Box::new(Preferred { source }))
    }
}

/// Where the constraints of one sort come from.
enum Source {
    /// From the pods, which share a class.
    Own(Constraints),
    /// From the profile. Whom they are about differs from pod to pod of the class.
    Profile(Defaults),
}

impl Source {
    /// The constraints on a pod, if there are any.
    fn of(&self, view: View<'_>) -> Option<&Constraints> {
        match self {
            Self::Own(constraints) => Some(constraints),
            Self::Profile(defaults) => defaults.of(view),
        }
    }

    /// Whether there are any on a pod.
    fn applies(&self, view: View<'_>) -> bool {
        match self {
            Self::Own(_) => true,
            Self::Profile(_) => defaults::crowd(view).is_some(),
        }
    }

    fn refresh(&mut self, view: View<'_>, touched: Option<&[Touch]>) {
        match self {
            Self::Own(constraints) => constraints.refresh(view, touched),
            Self::Profile(defaults) => defaults.refresh(view, touched),
        }
    }
}

/// Constraints of one sort, and which nodes count for them.
struct Constraints {
    all: Vec<(Spread, Sums)>,
    counting: Counting,
}

/// What decides whether a node counts.
#[derive(Clone)]
struct Counting {
    /// Labels it must have.
    keys: Box<[KeyId]>,
    labels: Box<[(Symbol, Symbol)]>,
    required: Option<Selector>,
    tolerations: Box<[Toleration<Symbol>]>,
}

impl Constraints {
    fn new(all: impl Iterator<Item = Spread>, counting: Counting) -> Self {
        let with_sums = |spread: Spread| {
            let sums = Sums::new(spread.crowd, spread.key);
            (spread, sums)
        };
        Self { all: all.map(with_sums).collect(), counting }
    }

    fn refresh(&mut self, view: View<'_>, touched: Option<&[Touch]>) {
        let Self { all, counting } = self;
        for (spread, sums) in all {
            let is_host = !spread.is_required && is_host(spread, view);
            sums.refresh(view, touched, |node| is_host || counting.counts(spread, view, node));
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

impl Constraints {
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
        self.all.iter().map(limit).collect()
    }

    fn verdict(&self, view: View<'_>, limits: &[i64], node: NodeId) -> Option<Reason> {
        for ((_, sums), limit) in self.all.iter().zip(limits) {
            let Some(sum) = sums.of(view, node) else { return Some(Reason::SpreadLabel) };
            if i64::from(sum.pods) > *limit {
                return Some(Reason::SpreadSkew);
            }
        }
        None
    }
}

struct Required {
    source: Source,
}

impl Narrow for Required {
    fn reach(&self) -> Reach {
        Reach::Around
    }

    fn applies(&self, view: View<'_>) -> bool {
        self.source.applies(view)
    }

    fn refresh(&mut self, view: View<'_>, touched: Option<&[Touch]>) {
        self.source.refresh(view, touched);
    }

    fn is_moved_by(&self, catalog: &Catalog, occupant: Occupant) -> bool {
        let meant = &catalog.tags(occupant.tags).meant;
        match &self.source {
            Source::Own(constraints) => {
                let mut crowds = constraints.all.iter().filter_map(|(spread, _)| spread.crowd);
                crowds.any(|crowd| meant.binary_search(&crowd).is_ok())
            }
            Source::Profile(defaults) => defaults.is_moved_by(catalog, occupant),
        }
    }

    fn narrow(&self, view: View<'_>, nodes: &mut Vec<NodeId>) {
        let Some(constraints) = self.source.of(view) else { return };
        let limits = constraints.limits(view);
        nodes.retain(|node| constraints.verdict(view, &limits, *node).is_none());
    }

    fn why_not(&self, view: View<'_>, node: NodeId) -> Vec<Reason> {
        let verdict =
            |constraints: &Constraints| constraints.verdict(view, &constraints.limits(view), node);
        self.source.of(view).and_then(verdict).into_iter().collect()
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
