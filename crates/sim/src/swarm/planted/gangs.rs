//! Bugs about gangs.

use model::{Amounts, Event, Fact, Millis, PodGroupFacts, PodGroupKey, PodGroupKind, Time};

use super::{Alters, FailureKind, Saboteur, World, caught, check, plan, requests, run};
use crate::plan::{BatchJob, Job, Membership, Plan, PodGroupPlan};

fn member(gang: &str, min: u32) -> Option<Membership> {
    Some(Membership { gang: gang.into(), min: Some(min), ..Membership::default() })
}

/// A gang of three, for which there is room.
fn gang() -> Plan {
    let mut plan = plan();
    plan.jobs[0].gang = member("g", 3);
    plan
}

/// One pod of a gang is on a node, and there is no room for the other.
fn torn() -> Plan {
    let mut plan = plan();
    plan.jobs[0].pods = 1;
    plan.jobs[0].gang = member("g", 2);
    let mut large = plan.jobs[0].clone();
    plan.jobs[0].node = Some("a".to_owned());
    large.name = "large".to_owned();
    large.spec.requests = requests(9_000, 64, 0);
    plan.jobs.push(large);
    plan
}

/// A pod that makes two others.
fn driver() -> Plan {
    let mut plan = plan();
    plan.jobs[0].pods = 1;
    plan.jobs[0].gang = member("g", 3);
    let made_by = Some(("job".to_owned(), (Millis(2_000), Millis(2_000))));
    let gang = Membership { made_by, ..member("g", 3).unwrap() };
    let name = "worker".to_owned();
    plan.jobs.push(Job { name, pods: 2, gang: Some(gang), ..plan.jobs[0].clone() });
    plan
}

#[test]
fn nobody_is_accused_where_nothing_is_planted() {
    for plan in [gang(), torn(), driver()] {
        assert_eq!(run(plan, Alters(|_: &mut Event| true)), Ok(()));
    }
}

/// Sends all but one of the pods that are placed.
struct Forgets {
    placed: usize,
    forgotten: usize,
}

impl Forgets {
    fn nth(forgotten: usize) -> Self {
        Self { placed: 0, forgotten }
    }
}

impl Saboteur for Forgets {
    fn order(&mut self, uid: &str, node: &str, _: &World) -> Vec<(Box<str>, Box<str>)> {
        self.placed += 1;
        if self.placed == self.forgotten { Vec::new() } else { vec![(uid.into(), node.into())] }
    }
}

#[test]
fn a_gang_that_is_bound_partially_is_caught() {
    let words = "2 of Some(3) would be on nodes";
    check(&caught(gang(), Forgets::nth(3)), FailureKind::Wrong, words);
}

#[test]
fn a_gang_that_is_never_taken_back_is_caught() {
    struct Lenient;
    impl Saboteur for Lenient {
        fn is_disbanded(&mut self) -> bool {
            false
        }
    }
    check(&caught(torn(), Lenient), FailureKind::Wrong, "1 of Some(2) were on nodes for");
}

#[test]
fn room_that_is_kept_for_nobody_is_caught() {
    let bug = Alters(|event: &mut Event| {
        if let Event::Seen(Fact::Pod(facts)) = event
            && facts.key.name.starts_with("worker")
        {
            facts.gang = None;
        }
        true
    });
    check(&caught(driver(), bug), FailureKind::Wrong, "room is kept for 2 pods, and");
}

#[test]
fn a_gang_that_sleeps_beside_its_room_is_caught() {
    let mut plan = gang();
    plan.nodes[1].joins = model::Time(5_000);
    let bug = Alters(
        |event: &mut Event| !matches!(event, Event::Seen(Fact::Node(facts)) if facts.name == "b"),
    );
    check(&caught(plan, bug), FailureKind::Wrong, "nodes is lost");
}

/// An object about gangs.
pub(super) fn object(
    kind: PodGroupKind,
    name: &str,
    min: u32,
    parent: Option<&str>,
) -> PodGroupPlan {
    let facts = PodGroupFacts {
        key: PodGroupKey { kind, namespace: "team".into(), name: name.into() },
        mins: [("".into(), min)].into(),
        timeout: None,
        priority: None,
        topology: Box::default(),
        is_evicted_whole: false,
        parent: parent.map(Into::into),
        is_started: false,
        min_resources: Amounts::default(),
    };
    PodGroupPlan { facts, at: Time(0), deleted: None, later: Vec::new() }
}

/// Two groups of one pod each, of which both have to start.
fn tree() -> Plan {
    let mut plan = plan();
    plan.jobs[0].pods = 1;
    plan.jobs.push(Job { name: "other".to_owned(), ..plan.jobs[0].clone() });
    for (job, name) in plan.jobs.iter_mut().zip(["g", "h"]) {
        let object = Some(PodGroupKind::Native);
        job.gang = Some(Membership { gang: name.into(), object, ..Membership::default() });
        plan.pod_groups.push(object_of(name));
    }
    plan.pod_groups.push(object(PodGroupKind::Composite, "c", 2, None));
    plan
}

fn object_of(name: &str) -> PodGroupPlan {
    object(PodGroupKind::Native, name, 1, Some("c"))
}

/// A group below eight composites.
fn deep() -> Plan {
    let mut plan = tree();
    plan.pod_groups.truncate(2);
    plan.pod_groups.push(object(PodGroupKind::Composite, "c", 1, Some("c1")));
    for at in 1..8 {
        let (name, parent) = (format!("c{at}"), format!("c{}", at + 1));
        let parent = (at < 7).then_some(&*parent);
        plan.pod_groups.push(object(PodGroupKind::Composite, &name, 1, parent));
    }
    plan
}

#[test]
fn nobody_is_accused_whose_gangs_are_parts_of_others() {
    for plan in [tree(), deep()] {
        assert_eq!(run(plan, Alters(|_: &mut Event| true)), Ok(()));
    }
}

#[test]
fn one_of_two_groups_that_is_bound_alone_is_caught() {
    let words = "not enough parts of c";
    check(&caught(tree(), Forgets::nth(2)), FailureKind::Wrong, words);
}

#[test]
fn a_tree_with_too_many_levels_that_is_placed_is_caught() {
    let bug = Alters(|event: &mut Event| {
        if let Event::Seen(Fact::PodGroup(facts)) = event
            && *facts.key.name == *"c3"
        {
            facts.parent = None;
        }
        true
    });
    check(&caught(deep(), bug), FailureKind::Wrong, "pods are sent to nodes, but [Depth]");
}

#[test]
fn a_pod_that_does_not_wait_for_others_is_caught() {
    let mut plan = plan();
    plan.jobs[0].gang =
        Some(Membership { after: ["never".into()].into(), ..member("g", 3).unwrap() });
    let bug = Alters(|event: &mut Event| {
        if let Event::Seen(Fact::Pod(facts)) = event {
            facts.gang = facts
                .gang
                .take()
                .map(|claim| model::GangClaim { after: Box::default(), ..(*claim).clone() }.into());
        }
        true
    });
    check(&caught(plan, bug), FailureKind::Wrong, "gang never has not succeeded");
}

/// A pod that waits for a gang of three, which a Job makes: complete ten seconds after the last of
/// them succeeded.
fn after_job() -> Plan {
    let mut plan = gang();
    let job = &mut plan.jobs[0];
    job.runs = Some((Millis(500), Millis(1_500)));
    let completes = (Millis(10_000), Millis(10_000));
    let batch = Some(BatchJob { completes, deleted: None });
    job.gang = Some(Membership { batch, ..member("g", 3).unwrap() });
    let gang = Membership { after: ["g".into()].into(), ..member("h", 1).unwrap() };
    let follower = Job { name: "follower".to_owned(), pods: 1, gang: Some(gang), ..job.clone() };
    plan.jobs.push(follower);
    plan
}

#[test]
fn nobody_is_accused_who_waits_for_a_job() {
    assert_eq!(run(after_job(), Alters(|_: &mut Event| true)), Ok(()));
}

#[test]
fn a_pod_that_does_not_wait_until_a_job_is_complete_is_caught() {
    let bug = Alters(|event: &mut Event| {
        if let Event::Seen(Fact::Succeeded(facts)) = event {
            facts.job = "".into();
        }
        true
    });
    check(&caught(after_job(), bug), FailureKind::Wrong, "gang g has not succeeded");
}

#[test]
fn a_pod_that_is_not_told_of_a_job_that_is_complete_is_caught() {
    let bug = Alters(|event: &mut Event| !matches!(event, Event::Seen(Fact::Job(_))));
    let (kind, text) = caught(after_job(), bug);
    assert!(text.contains("follower"), "{kind:?}: {text}");
}
