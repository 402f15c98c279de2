//! Keeps pods near others and far from others, as they require, and as pods that are already there
//! require; and prefers nodes by what either prefers.

mod score;

use framework::{Feasible, Narrow, Plugin, PodAffinityArgs, Rank, Reach, Scores, Verdict, View};
use model::{Catalog, Class, CrowdId, Held, NodeId, Occupant, Reason, Rule, Touch, Wish};

use crate::sums::{ByNode, Sums};
use score::Preferences;

pub(crate) struct InterPodAffinity {
    args: PodAffinityArgs,
}

impl InterPodAffinity {
    pub(crate) fn new(args: PodAffinityArgs) -> Self {
        Self { args }
    }
}

impl Plugin for InterPodAffinity {
    fn name(&self) -> &'static str {
        "InterPodAffinity"
    }
}

impl Feasible for InterPodAffinity {
    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Narrow>> {
        let company = &class.company;
        let near = company.near.as_ref().map(|(crowd, keys)| {
            let sums = keys.iter().map(|key| Sums::new(Some(*crowd), *key)).collect();
            (*crowd, sums)
        });
        let far = company.far.iter().map(|(crowd, key)| (*crowd, Sums::new(Some(*crowd), *key)));
        let is_broken = company.is_term_broken;
        Some(Box::new(Required { near, far: far.collect(), others: Others::default(), is_broken }))
    }
}

impl Rank for InterPodAffinity {
    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Scores>> {
        let own = &class.company.prefers;
        if own.is_empty() && self.args.ignores_preferences_of_others {
            return None;
        }
        let own = own.iter().map(|(weight, crowd, key)| (*weight, Sums::new(Some(*crowd), *key)));
        let near_weight = self.args.near_weight;
        Some(Box::new(Preferences { own: own.collect(), others: Others::default(), near_weight }))
    }
}

/// Where pods are that hold a rule about some pod. Which rules those are follows from the pod's
/// tags, so the sums of every rule that was ever asked about are kept.
#[derive(Default)]
struct Others {
    sums: Vec<(CrowdId, u32, Sums)>,
}

impl Others {
    /// Rules about the pod that somebody on a node holds.
    fn rules<'a>(view: View<'a>) -> impl Iterator<Item = (CrowdId, &'a Held)> {
        let held = view.catalog.tags(view.tags).held.iter().copied();
        let held = held.filter(move |crowd| !view.usage.is_crowd_empty(*crowd));
        held.filter_map(move |crowd| match &view.catalog.crowd(crowd).rule {
            Rule::Holds(held) => Some((crowd, held)),
            Rule::Meant { .. } => None,
        })
    }

    /// Takes in that nodes are not what they were, and rules that were not asked about before.
    fn refresh(
        &mut self,
        view: View<'_>,
        touched: Option<&[Touch]>,
        matters: impl Fn(Wish) -> bool,
    ) {
        let is_it = |crowd: CrowdId, generation: u32| {
            view.catalog.find_crowd(crowd).is_some_and(|crowd| crowd.generation == generation)
        };
        self.sums.retain(|(crowd, generation, _)| is_it(*crowd, *generation));
        self.sums.iter_mut().for_each(|(_, _, sums)| sums.refresh(view, touched, |_| true));
        for (crowd, held) in Self::rules(view) {
            let is_kept = self.sums.iter().any(|(kept, _, _)| *kept == crowd);
            if is_kept || !matters(held.wish) {
                continue;
            }
            let mut sums = Sums::new(Some(crowd), held.key);
            sums.refresh(view, None, |_| true);
            self.sums.push((crowd, view.catalog.crowd(crowd).generation, sums));
        }
    }

    /// Sums of a rule.
    fn of(&self, crowd: CrowdId) -> Option<&Sums> {
        self.sums.iter().find(|(kept, _, _)| *kept == crowd).map(|(_, _, sums)| sums)
    }
}

struct Required {
    near: Option<(CrowdId, Vec<Sums>)>,
    far: Vec<(CrowdId, Sums)>,
    others: Others,
    is_broken: bool,
}

/// What holds for all nodes.
struct Circumstances<'a> {
    /// Whether nobody is where a pod that must be near could be, and the pod itself is one.
    is_first: bool,
    near: Vec<ByNode<'a>>,
    far: Vec<ByNode<'a>>,
    /// Pods that want this one to be far.
    unwelcoming: Vec<ByNode<'a>>,
}

impl Required {
    fn circumstances<'a>(&'a self, view: View<'a>) -> Circumstances<'a> {
        let is_first = self.near.as_ref().is_some_and(|(crowd, sums)| {
            let is_nobody_there = sums.iter().all(|sums| sums.present().all(|sum| sum.pods == 0));
            is_nobody_there && view.catalog.tags(view.tags).meant.binary_search(crowd).is_ok()
        });
        let far = Others::rules(view).filter(|(_, held)| held.wish == Wish::Far);
        let unwelcoming = far.filter_map(|(crowd, _)| self.others.of(crowd));
        let near = self.near.iter().flat_map(|(_, sums)| sums);
        Circumstances {
            is_first,
            near: near.map(|sums| sums.by_node(view)).collect(),
            far: self.far.iter().map(|(_, sums)| sums.by_node(view)).collect(),
            unwelcoming: unwelcoming.map(|sums| sums.by_node(view)).collect(),
        }
    }
}

impl Circumstances<'_> {
    fn verdict(&self, node: NodeId) -> Option<Reason> {
        let mut is_near = true;
        for sums in &self.near {
            // The label must be there also for the first of its kind.
            let Some(sum) = sums.of(node) else { return Some(Reason::NotNear) };
            is_near &= sum.pods > 0;
        }
        if !is_near && !self.is_first {
            return Some(Reason::NotNear);
        }
        let has_some = |sums: &ByNode<'_>| sums.of(node).is_some_and(|sum| sum.pods > 0);
        if self.far.iter().any(has_some) {
            return Some(Reason::NotFar);
        }
        self.unwelcoming.iter().any(has_some).then_some(Reason::Unwelcome)
    }
}

impl Narrow for Required {
    fn reach(&self) -> Reach {
        Reach::Around
    }

    fn applies(&self, view: View<'_>) -> bool {
        let is_unwelcome = || Others::rules(view).any(|(_, held)| held.wish == Wish::Far);
        self.near.is_some() || !self.far.is_empty() || is_unwelcome()
    }

    fn before(&self, _: View<'_>) -> Verdict {
        if self.is_broken { Verdict::Refused(Reason::BrokenTerm) } else { Verdict::Open }
    }

    fn refresh(&mut self, view: View<'_>, touched: Option<&[Touch]>) {
        let near = self.near.iter_mut().flat_map(|(_, sums)| sums);
        let own = near.chain(self.far.iter_mut().map(|(_, sums)| sums));
        own.for_each(|sums| sums.refresh(view, touched, |_| true));
        self.others.refresh(view, touched, |wish| wish == Wish::Far);
    }

    fn is_moved_by(&self, catalog: &Catalog, occupant: Occupant) -> bool {
        let meant = &catalog.tags(occupant.tags).meant;
        let near = self.near.iter().map(|(crowd, _)| *crowd);
        let mut own = near.chain(self.far.iter().map(|(crowd, _)| *crowd));
        let holds_far = |crowd: &CrowdId| match &catalog.crowd(*crowd).rule {
            Rule::Holds(held) => held.wish == Wish::Far,
            Rule::Meant { .. } => false,
        };
        own.any(|crowd| meant.binary_search(&crowd).is_ok())
            || catalog.class(occupant.class).company.holds.iter().any(holds_far)
    }

    fn narrow(&self, view: View<'_>, nodes: &mut Vec<NodeId>) {
        let now = self.circumstances(view);
        nodes.retain(|node| now.verdict(*node).is_none());
    }

    fn why_not(&self, view: View<'_>, node: NodeId) -> Vec<Reason> {
        self.circumstances(view).verdict(node).into_iter().collect()
    }
}
