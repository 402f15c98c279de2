//! Bugs that try a unit before its turn.

use std::sync::Arc;

use model::{Event, Fact, GangClaim, PodFacts, Time};

use super::{Alters, FailureKind, caught, check, plan, run};
use crate::plan::{Job, Membership, Plan};
use crate::quantities::requests;

/// A job of one pod that takes turns with those of other namespaces.
pub(super) fn job(name: &str, at_seconds: u64) -> Job {
    let mut job = plan().jobs.remove(0);
    job.spec.scheduler = "kubenexus-scheduler".to_owned();
    (job.name, job.at, job.pods) = (name.to_owned(), Time(at_seconds * 1000), 1);
    job
}

fn member(name: &str, at_seconds: u64) -> Job {
    let gang = Membership { gang: "g".into(), min: Some(2), ..Membership::default() };
    Job { gang: Some(gang), ..job(name, at_seconds) }
}

/// Jobs that all wait by the time there are nodes.
pub(super) fn jobs(jobs: Vec<Job>) -> Plan {
    let mut plan = plan();
    plan.jobs = jobs;
    plan.nodes.iter_mut().for_each(|node| node.joins = Time(25_000));
    plan
}

/// What the engine sees of pods.
pub(super) fn pods(
    mut change: impl FnMut(&mut PodFacts),
) -> Alters<impl FnMut(&mut Event) -> bool> {
    Alters(move |event: &mut Event| {
        if let Event::Seen(Fact::Pod(facts)) = event {
            change(facts);
        }
        true
    })
}

fn by_priority() -> Plan {
    let high = Job { priority: 10, ..job("high", 2) };
    jobs(vec![job("low", 1), high])
}

/// A gang of a pod that is more important than another one, and of one that is less.
fn by_lowest() -> Plan {
    let between = Job { priority: 5, ..job("between", 2) };
    let high = Job { priority: 10, ..member("high", 1) };
    jobs(vec![member("low", 1), high, between])
}

/// A gang of a pod that is older than another one, and of one that is younger.
fn by_oldest() -> Plan {
    jobs(vec![member("old", 1), job("between", 10), member("young", 20)])
}

/// Two namespaces, of which one has something on a node, which is there from the start.
fn by_share() -> Plan {
    let mut rich = job("rich", 5);
    let mut poor = job("poor", 6);
    rich.spec.namespace = "rich".to_owned();
    poor.spec.namespace = "poor".to_owned();
    let had = Job { name: "had".to_owned(), at: Time(0), node: Some("a".into()), ..rich.clone() };
    let mut plan = jobs(vec![had, rich, poor]);
    plan.nodes[0].joins = Time(0);
    plan.nodes[0].facts.is_closed = true;
    plan
}

/// Two jobs that fit nowhere and differ in nothing but a label, one of which has several pods.
fn in_line() -> Plan {
    let large = |name: &str, pods: u64| {
        let mut job = job(name, 1);
        (job.pods, job.spec.requests) = (pods, requests(9_000, 64, 0));
        job.labels = [("app".into(), name.into())].into();
        job
    };
    jobs(vec![large("one", 3), large("two", 1)])
}

#[test]
fn nobody_is_accused_where_nothing_is_planted() {
    for plan in [by_priority(), by_lowest(), by_oldest(), by_share(), in_line()] {
        assert_eq!(run(plan, Alters(|_: &mut Event| true)), Ok(()));
    }
}

#[test]
fn a_priority_that_is_ignored_is_caught() {
    let bug = pods(|facts| facts.rest.priority = 0);
    let words = "pod low-00000 was tried though it was the turn of pod high-00001: priority";
    check(&caught(by_priority(), bug), FailureKind::Wrong, words);
}

#[test]
fn a_gang_with_its_highest_priority_is_caught() {
    let bug = pods(|facts| {
        if facts.gang.is_some() {
            facts.rest.priority = 10;
        }
    });
    let words = "of gang g was tried though it was the turn of pod between-00002: priority";
    check(&caught(by_lowest(), bug), FailureKind::Wrong, words);
}

#[test]
fn a_gang_as_old_as_its_youngest_pod_is_caught() {
    let bug = pods(|facts| {
        if facts.gang.is_some() {
            facts.rest.created = 20;
        }
    });
    let words = "of gang g: of one tenant, it is older";
    check(&caught(by_oldest(), bug), FailureKind::Wrong, words);
}

#[test]
fn a_namespace_that_is_not_made_to_wait_for_its_turn_is_caught() {
    // What it has on nodes is not counted as its own.
    let bug = pods(|facts| {
        if facts.node.is_some() {
            (facts.key.namespace, facts.spec.namespace) = ("no".into(), "no".to_owned());
        }
    });
    let words = "pod rich-00001 was tried though it was the turn of pod poor-00002: shares 0 and";
    check(&caught(by_share(), bug), FailureKind::Wrong, words);
}

#[test]
fn a_unit_that_never_starves_is_caught() {
    let mut plan = by_share();
    plan.span = model::Millis::seconds(100);
    plan.nodes[1].joins = Time(80_000);
    plan.jobs[2].at = Time(79_000);
    assert_eq!(run(plan.clone(), Alters(|_: &mut Event| true)), Ok(()));
    let bug = pods(|facts| facts.rest.created = 79);
    check(&caught(plan, bug), FailureKind::Wrong, "it was the turn of pod rich-00001: priority");
}

#[test]
fn a_gang_that_is_tried_pod_by_pod_is_caught() {
    let bug = pods(|facts| {
        if let Some(claim) = &facts.gang {
            facts.gang = Some(Arc::new(GangClaim { min: Some(1), ..(**claim).clone() }));
        }
    });
    check(&caught(by_oldest(), bug), FailureKind::Wrong, "are one unit");
}

#[test]
fn a_pod_that_is_told_what_was_found_for_another_kind_is_caught() {
    let bug = pods(|facts| facts.labels = [].into());
    let words = "pod two-00003 was told what was found for pod one-00000: they are not alike";
    check(&caught(in_line(), bug), FailureKind::Wrong, words);
}
