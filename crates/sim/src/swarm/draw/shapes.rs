//! Shapes that few worlds have: deep trees of gangs, long chains, many of everything.
//!
//! They are drawn from a stream of their own and stand behind everything else, so a seed keeps the
//! nodes and jobs it had without them. One seed in four has some of them in a small size, one in a
//! hundred has one in a large size.

mod chains;
mod classes;
mod crowds;
mod names;
mod namespaces;
mod trees;

use model::{Amounts, Millis, PodSpec, Time};

use super::OURS;
use crate::dice::{Dice, Stream};
use crate::plan::{Job, Life, Plan};
use crate::quantities::requests_of;

/// What the names of namespaces of these shapes begin with.
pub(in crate::swarm) const NAMESPACE: &str = "ns-";

/// One of these shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Shape {
    /// Composites of composites, which are deleted and come back.
    Trees,
    /// Gangs with many pods.
    Crowds,
    /// Pods that fit nowhere, each in its own way.
    Classes,
    /// Gangs that wait for each other.
    Chains,
    /// Names that are used once.
    Names,
    /// Many namespaces beside rules that select them.
    Namespaces,
}

impl Shape {
    const ALL: [Self; 6] =
        [Self::Trees, Self::Crowds, Self::Classes, Self::Chains, Self::Names, Self::Namespaces];
    /// Those that can be large.
    const LARGE: [Self; 6] =
        [Self::Crowds, Self::Crowds, Self::Classes, Self::Chains, Self::Names, Self::Namespaces];
}

/// Which of them a seed has, and whether they are large.
fn chosen(dice: &mut Dice) -> (Vec<Shape>, bool) {
    if dice.percent(1) {
        return (vec![dice.pick(&Shape::LARGE)], true);
    }
    if !dice.percent(25) {
        return (Vec::new(), false);
    }
    let mut shapes = vec![dice.pick(&Shape::ALL)];
    if dice.percent(30) {
        shapes.push(dice.pick(&Shape::ALL));
    }
    shapes.sort_unstable();
    shapes.dedup();
    (shapes, false)
}

/// Adds to a plan what its seed has of them.
pub(super) fn add(plan: &mut Plan) {
    let mut dice = Dice::new(plan.seed, Stream::Shapes);
    let (shapes, is_large) = chosen(&mut dice);
    for shape in shapes {
        match shape {
            Shape::Trees => trees::draw(&mut dice, plan),
            Shape::Crowds => crowds::draw(&mut dice, plan, is_large),
            Shape::Classes => classes::draw(&mut dice, plan, is_large),
            Shape::Chains => chains::draw(&mut dice, plan, is_large),
            Shape::Names => names::draw(&mut dice, plan, is_large),
            Shape::Namespaces => namespaces::draw(&mut dice, plan, is_large),
        }
    }
}

/// A job whose pods take little, come some time and stay.
pub(super) fn job(dice: &mut Dice, name: String, span: Millis) -> Job {
    let amounts = Amounts { cpu: dice.pick(&[0, 10, 100, 500]), ..Amounts::default() };
    let spec = PodSpec {
        scheduler: dice.pick(&OURS).to_owned(),
        namespace: dice.pick(&["red", "blue"]).to_owned(),
        requests: requests_of(amounts),
        ..PodSpec::default()
    };
    Job {
        name,
        at: some_time(dice, span),
        pods: 1,
        followers: 0,
        spec,
        labels: Default::default(),
        priority: 0,
        node: None,
        runs: None,
        gates: None,
        life: Life::default(),
        gang: None,
    }
}

/// Half of all things are there from the start.
pub(super) fn some_time(dice: &mut Dice, span: Millis) -> Time {
    Time(if dice.percent(50) { 0 } else { dice.between(0, span.0 * 8 / 10) })
}

pub(super) fn range(dice: &mut Dice, most: u64) -> (Millis, Millis) {
    let low = dice.between(1, most);
    (Millis(low), Millis(dice.between(low, most)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::{plain, spread};
    use super::*;
    use crate::plan::{AgentPlan, Fate};

    /// How many of the first seeds have which shape.
    fn counted(seeds: u64, large: bool) -> BTreeMap<Shape, usize> {
        let mut counts = BTreeMap::new();
        for seed in 1..=seeds {
            let (shapes, is_large) = chosen(&mut Dice::new(seed, Stream::Shapes));
            let shapes = shapes.into_iter().filter(|_| is_large == large);
            shapes.for_each(|shape| *counts.entry(shape).or_default() += 1);
        }
        counts
    }

    #[test]
    fn every_shape_is_drawn_often_enough() {
        let small = counted(500, false);
        assert_eq!(small.len(), Shape::ALL.len());
        assert!(small.values().all(|count| *count >= 15), "{small:?}");
        let large = counted(3_000, true);
        assert_eq!(large.len(), Shape::ALL.len() - 1, "trees are never large: {large:?}");
        let all: usize = large.values().sum();
        assert!((15..=60).contains(&all), "{large:?}");
    }

    #[test]
    fn a_seed_keeps_what_it_had_without_them() {
        // Services change the nodes and jobs that are there.
        let is_kept = |seed: &u64| !spread::is_drawn(&mut Dice::new(*seed, Stream::Spread));
        for seed in (1..=400).filter(is_kept) {
            let (without, mut with) = (plain(seed), super::super::plan(seed));
            // What is inside nodes, what becomes of that, who tells it, and what is asked for there
            // is all that is added to them.
            let is_outside =
                |fate: &Fate| !matches!(fate, Fate::Hardware(_) | Fate::AgentVanishes { .. });
            for node in &mut with.nodes {
                (node.facts.hardware, node.agent) = (None, Some(AgentPlan::default()));
                node.fates.retain(|(_, fate)| is_outside(fate));
            }
            with.jobs.iter_mut().for_each(|job| job.spec.ask = None);
            let text = |plan: &Plan, counts: [usize; 4]| {
                let [nodes, jobs, groups, namespaces] = counts;
                let (nodes, jobs) = (&plan.nodes[..nodes], &plan.jobs[..jobs]);
                let objects = (&plan.pod_groups[..groups], &plan.namespaces[..namespaces]);
                format!("{:?} {nodes:?} {jobs:?} {objects:?} {:?}", plan.span, plan.faults)
            };
            let Plan { nodes, jobs, pod_groups, namespaces, .. } = &without;
            let counts = [nodes.len(), jobs.len(), pod_groups.len(), namespaces.len()];
            assert_eq!(text(&without, counts), text(&with, counts), "seed {seed}");
        }
    }

    /// What the shapes are drawn for is in them.
    #[test]
    fn what_users_can_write_beyond_limits_is_drawn() {
        let plans: Vec<Plan> = (1..=2_000).map(super::super::plan).collect();
        let count = |is_there: &dyn Fn(&Plan) -> bool| plans.iter().filter(|p| is_there(p)).count();
        let deep = |plan: &Plan| plan.pod_groups.iter().any(|one| &*one.facts.key.name == "c0-8");
        let back = |plan: &Plan| {
            let is_gone = |state: &(Time, Option<_>)| state.1.is_none();
            plan.pod_groups.iter().any(|one| one.later.iter().any(is_gone))
        };
        let claims = |plan: &Plan| {
            let claims = plan.jobs.iter().filter_map(|job| job.gang.as_ref()?.claim.clone());
            claims.collect::<Vec<_>>()
        };
        let fault = |plan: &Plan| claims(plan).iter().any(|claim| claim.fault.is_some());
        let long = |plan: &Plan| claims(plan).iter().any(|claim| claim.after.len() == 64);
        let crowd = |plan: &Plan| plan.jobs.iter().any(|job| job.pods >= 1_000);
        let chain = |plan: &Plan| plan.jobs.iter().any(|job| job.name == "link1000");
        let namespaces = |plan: &Plan| plan.namespaces.len() >= 1_000;
        let classes = |plan: &Plan| plan.jobs.iter().any(|job| job.name == "odd199");
        assert!(count(&deep) > 0 && count(&back) > 0, "trees");
        assert!(count(&fault) > 0 && count(&long) > 0 && count(&chain) > 0, "chains");
        assert!(count(&crowd) > 0 && count(&namespaces) > 0 && count(&classes) > 0, "many");
    }
}
