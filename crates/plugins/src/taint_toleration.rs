//! Keeps pods off nodes whose taints they do not tolerate, and prefers nodes with fewer taints
//! that merely ask to be avoided.

use framework::{Feasible, Narrow, Normalize, Parts, Plugin, Rank, Reach, Scores, View};
use model::{Catalog, Class, Effect, NodeId, Reason, Symbol, Taint, Toleration};

pub(crate) struct TaintToleration;

impl Plugin for TaintToleration {
    fn name(&self) -> &'static str {
        "TaintToleration"
    }
}

impl Feasible for TaintToleration {
    fn reads(&self) -> Parts {
        Parts::TOLERATIONS
    }

    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Narrow>> {
        Some(Box::new(Tolerated { tolerations: class.tolerations.clone() }))
    }
}

impl Rank for TaintToleration {
    fn reads(&self) -> Parts {
        Parts::TOLERATIONS
    }

    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Scores>> {
        let is_about_preference = |toleration: &&Toleration<Symbol>| {
            toleration.effect.is_none_or(|effect| effect == Effect::PreferNoSchedule)
        };
        let tolerations = class.tolerations.iter().filter(is_about_preference).cloned().collect();
        Some(Box::new(Avoided { tolerations }))
    }
}

/// Whether a taint with an effect that keeps pods away is not tolerated.
pub(crate) fn has_untolerated(
    taints: &[Taint<Symbol>],
    tolerations: &[Toleration<Symbol>],
) -> bool {
    let keeps_away =
        |taint: &&Taint<Symbol>| matches!(taint.effect, Effect::NoSchedule | Effect::NoExecute);
    let is_tolerated = |taint: &Taint<Symbol>| tolerations.iter().any(|t| t.tolerates(taint));
    taints.iter().filter(keeps_away).any(|taint| !is_tolerated(taint))
}

/// How many taints that ask to be avoided are not tolerated.
fn avoided(taints: &[Taint<Symbol>], tolerations: &[Toleration<Symbol>]) -> i32 {
    let asks = |taint: &&Taint<Symbol>| taint.effect == Effect::PreferNoSchedule;
    let is_tolerated = |taint: &Taint<Symbol>| tolerations.iter().any(|t| t.tolerates(taint));
    let count = taints.iter().filter(asks).filter(|taint| !is_tolerated(taint)).count();
    i32::try_from(count).expect("a node has fewer taints than that")
}

struct Tolerated {
    tolerations: Box<[Toleration<Symbol>]>,
}

impl Narrow for Tolerated {
    fn reach(&self) -> Reach {
        Reach::Facts
    }

    fn narrow(&self, view: View<'_>, nodes: &mut Vec<NodeId>) {
        let is_welcome =
            |node| !has_untolerated(&view.catalog.node(node).taints, &self.tolerations);
        nodes.retain(|node| is_welcome(*node));
    }

    fn why_not(&self, view: View<'_>, node: NodeId) -> Vec<Reason> {
        if has_untolerated(&view.catalog.node(node).taints, &self.tolerations) {
            vec![Reason::UntoleratedTaint]
        } else {
            vec![]
        }
    }
}

struct Avoided {
    tolerations: Box<[Toleration<Symbol>]>,
}

impl Scores for Avoided {
    fn reach(&self) -> Reach {
        Reach::Facts
    }

    fn normalize(&self) -> Normalize {
        Normalize::HighestIsWorst
    }

    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        for (node, score) in nodes.iter().zip(out) {
            *score = avoided(&view.catalog.node(*node).taints, &self.tolerations);
        }
    }
}
