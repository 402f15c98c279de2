//! Bugs that try a gang of gangs before its turn, too late, or in parts.

use model::{Event, Fact, PodGroupFacts, PodGroupKind};

use super::gangs::object;
use super::order::{job, jobs, pods};
use super::{Alters, FailureKind, caught, check, run};
use crate::plan::{Job, Membership, Plan};

/// A job of one pod, which is a group of its own.
fn part(name: &str, at_seconds: u64) -> Job {
    let object = Some(PodGroupKind::Native);
    let gang = Membership { gang: name.into(), object, ..Membership::default() };
    Job { gang: Some(gang), ..job(name, at_seconds) }
}

/// Two groups, both of which have to start, and a pod that is not in a gang.
fn tree(parts: [Job; 2], other: Job) -> Plan {
    let groups = parts.each_ref().map(|part| {
        let parent = Some("c");
        object(PodGroupKind::Native, &part.name, 1, parent)
    });
    let mut plan = jobs(parts.into_iter().chain([other]).collect());
    plan.pod_groups = groups.into();
    plan.pod_groups.push(object(PodGroupKind::Composite, "c", 2, None));
    plan
}

fn composite(plan: &mut Plan) -> &mut PodGroupFacts {
    &mut plan.pod_groups.last_mut().expect("the composite is the last").facts
}

/// One part is more important than another pod, and one is less.
fn by_lowest() -> Plan {
    let high = Job { priority: 10, ..part("high", 1) };
    tree([part("low", 1), high], Job { priority: 5, ..job("between", 2) })
}

/// One part is older than another pod, and one is younger.
fn by_oldest() -> Plan {
    tree([part("old", 1), part("young", 20)], job("between", 10))
}

/// The composite says how important it is.
fn by_object() -> Plan {
    let mut plan = tree([part("one", 2), part("two", 2)], Job { priority: 5, ..job("other", 1) });
    composite(&mut plan).priority = Some(10);
    plan
}

/// The composite says that it has started.
fn by_start() -> Plan {
    let mut plan = tree([part("one", 2), part("two", 2)], job("other", 1));
    composite(&mut plan).is_started = true;
    plan
}

/// Two namespaces, of which that of the composite has something on a node.
fn by_share() -> Plan {
    let mut poor = job("poor", 6);
    poor.spec.namespace = "poor".to_owned();
    let mut plan = tree([part("one", 5), part("two", 5)], poor);
    let (at, node) = (model::Time(0), Some("a".into()));
    plan.jobs.push(Job { at, node, ..job("had", 0) });
    plan.nodes[0].joins = model::Time(0);
    plan.nodes[0].facts.is_closed = true;
    plan
}

/// What the engine sees of composites.
fn composites(change: fn(&mut PodGroupFacts)) -> Alters<impl FnMut(&mut Event) -> bool> {
    Alters(move |event: &mut Event| {
        if let Event::Seen(Fact::PodGroup(facts)) = event
            && facts.key.kind == PodGroupKind::Composite
        {
            change(facts);
        }
        true
    })
}

#[test]
fn nobody_is_accused_where_nothing_is_planted() {
    for plan in [by_lowest(), by_oldest(), by_object(), by_start(), by_share()] {
        assert_eq!(run(plan, Alters(|_: &mut Event| true)), Ok(()));
    }
}

#[test]
fn a_tree_that_is_tried_part_by_part_is_caught() {
    let bug = composites(|facts| facts.mins = [("".into(), 0)].into());
    check(&caught(by_oldest(), bug), FailureKind::Wrong, "gang team/c: ");
    let bug = composites(|facts| facts.mins = [("".into(), 0)].into());
    check(&caught(by_oldest(), bug), FailureKind::Wrong, "are one unit");
}

#[test]
fn a_tree_with_its_highest_priority_is_caught() {
    let bug = pods(|facts| {
        if facts.gang.is_some() {
            facts.rest.priority = 10;
        }
    });
    let words = "was tried though it was the turn of pod between-00002: priority";
    check(&caught(by_lowest(), bug), FailureKind::Wrong, words);
}

#[test]
fn a_tree_as_old_as_its_youngest_pod_is_caught() {
    let bug = pods(|facts| {
        if facts.gang.is_some() {
            facts.rest.created = 20;
        }
    });
    check(&caught(by_oldest(), bug), FailureKind::Wrong, "of one tenant, it is older");
}

#[test]
fn the_priority_of_a_composite_that_is_ignored_is_caught() {
    let bug = composites(|facts| facts.priority = None);
    check(&caught(by_object(), bug), FailureKind::Wrong, "of gang one: priority");
}

#[test]
fn a_tree_that_started_and_has_to_wait_is_caught() {
    let bug = composites(|facts| facts.is_started = false);
    check(&caught(by_start(), bug), FailureKind::Wrong, "of gang one: priority, urgency");
}

#[test]
fn a_tree_that_does_not_wait_for_its_turn_is_caught() {
    // What its namespace has on nodes is not counted as its own.
    let bug = pods(|facts| {
        if facts.node.is_some() {
            (facts.key.namespace, facts.spec.namespace) = ("no".into(), "no".to_owned());
        }
    });
    let words = "was tried though it was the turn of pod poor-00003: shares 0 and";
    check(&caught(by_share(), bug), FailureKind::Wrong, words);
}
