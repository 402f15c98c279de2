//! Bugs about services: pods that are not counted, and zones that are not seen.

use model::{
    Event, Fact, GroupingFacts, GroupingKey, GroupingKind, LabelOperator, LabelSelector,
    RequirementSpec,
};

use super::{Alters, FailureKind, caught, check, run};
use crate::plan::Plan;

const ZONE: &str = "topology.kubernetes.io/zone";

/// Two zones of one node each, of which one is fuller, and six pods of a service.
fn plan() -> Plan {
    let mut plan = super::plan();
    for (node, zone) in plan.nodes.iter_mut().zip(["x", "y"]) {
        node.facts.labels.push((ZONE.to_owned(), zone.to_owned()));
        node.facts.allocatable.cpu = 16_000;
    }
    plan.jobs[0].spec.scheduler = "kubenexus-scheduler".to_owned();
    let mut load = plan.jobs[0].clone();
    (load.name, load.node, load.pods) = ("load".to_owned(), Some("a".to_owned()), 4);
    let job = &mut plan.jobs[0];
    job.pods = 6;
    job.labels = [("app".into(), "web".into())].into();
    plan.jobs.push(load);
    let requirement = RequirementSpec {
        key: "app".to_owned(),
        operator: LabelOperator::In,
        values: vec!["web".to_owned()],
    };
    plan.groupings = vec![GroupingFacts {
        key: GroupingKey {
            kind: GroupingKind::Service,
            namespace: "team".into(),
            name: "web".into(),
        },
        selector: LabelSelector { requirements: vec![requirement] },
    }];
    plan
}

#[test]
fn services_are_spread_where_nothing_is_planted() {
    assert_eq!(run(plan(), Alters(|_: &mut Event| true)), Ok(()));
}

#[test]
fn pods_that_are_not_counted_are_caught() {
    let bug = Alters(|event: &mut Event| {
        if let Event::Seen(Fact::Pod(facts)) = event
            && facts.node.is_some()
        {
            facts.labels = [].into();
        }
        true
    });
    // One more comes after the others were seen on their nodes.
    let mut plan = plan();
    plan.jobs[0].pods = 1;
    let mut late = plan.jobs[0].clone();
    (late.name, late.at) = ("late".to_owned(), model::Time(9_000));
    plan.jobs.push(late);
    check(&caught(plan, bug), FailureKind::Wrong, "of its like");
}

#[test]
fn a_zone_that_is_not_seen_is_caught() {
    let mut plan = plan();
    // A third node in the first zone is as good as the one in the second, if zones are not seen.
    let mut third = plan.nodes[0].clone();
    third.facts.name = "c".to_owned();
    plan.nodes.push(third);
    let bug = Alters(|event: &mut Event| {
        if let Event::Seen(Fact::Node(facts)) = event {
            facts.labels.clear();
        }
        true
    });
    check(&caught(plan, bug), FailureKind::Wrong, "of its like");
}

/// Whoever packs instead of spreading, because its pods say so.
#[test]
fn a_word_of_pods_that_is_not_theirs_is_caught() {
    let bug = Alters(|event: &mut Event| {
        if let Event::Seen(Fact::Pod(facts)) = event {
            facts.spec.hints.get_or_insert_default().spread = Some(model::Said::Known(false));
        }
        true
    });
    check(&caught(plan(), bug), FailureKind::Wrong, "of its like");
}
