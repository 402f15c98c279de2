//! Bugs of every class, planted between the world and the engine: the right checker catches each.

mod fabric;
mod gangs;
mod gpus;
mod hardware_tiers;
mod insides;
mod order;
mod spread;
mod storage;
mod tiers;
mod trees;
mod work;

use framework::Point;
use model::{
    Effect, Event, Fact, LabelOperator, LabelSelector, Millis, NodeFacts, PodSpec, RequirementSpec,
    Taint, Time,
};

use super::{Failure, FailureKind, Saboteur, finish};
use crate::checkers::Eviction;
use crate::plan::{Budget, Fate, Faults, Gates, Job, Life, NodePlan, Plan, Stay};
use crate::quantities::{amounts, requests};
use crate::run::Run;
use crate::world::World;

/// Two nodes of two CPUs, and a job of three pods that take one CPU each.
fn plan() -> Plan {
    let node = |name: &str| {
        let allocatable = amounts(2_000, 4_096, 0);
        let facts =
            NodeFacts { name: name.to_owned(), allocatable, pods_max: 10, ..NodeFacts::default() };
        NodePlan::new("pool", facts)
    };
    let spec = PodSpec {
        scheduler: "default-scheduler".to_owned(),
        namespace: "team".to_owned(),
        requests: requests(1_000, 64, 0),
        ..PodSpec::default()
    };
    let job = Job {
        name: "job".to_owned(),
        at: Time(1_000),
        pods: 3,
        followers: 0,
        labels: Default::default(),
        spec,
        priority: 0,
        node: None,
        runs: None,
        gates: None,
        life: Life::default(),
        gang: None,
    };
    let mut settings = k8s::config::defaults(plugins::known());
    settings.profiles[0].add(Point::Permit, "Coscheduling");
    Plan {
        seed: 1,
        span: Millis::seconds(30),
        nodes: vec![node("a"), node("b")],
        jobs: vec![job],
        budgets: Vec::new(),
        pod_groups: Vec::new(),
        groupings: Vec::new(),
        namespaces: Vec::new(),
        storage: Default::default(),
        fixed: Vec::new(),
        settings,
        faults: Faults::NONE,
    }
}

fn run(plan: Plan, saboteur: impl Saboteur + 'static) -> Result<(), Failure> {
    let mut run = Run::inspected(plan);
    run.sabotage(Box::new(saboteur));
    finish(run).map(|_| ())
}

/// The failure that a planted bug leads to.
fn caught(plan: Plan, saboteur: impl Saboteur + 'static) -> (FailureKind, String) {
    let failure = run(plan, saboteur).expect_err("a planted bug is caught");
    (failure.kind, failure.text)
}

fn check(caught: &(FailureKind, String), kind: FailureKind, words: &str) {
    assert_eq!(caught.0, kind, "{}", caught.1);
    assert!(caught.1.contains(words), "{}", caught.1);
}

/// Shows the engine something else in the place of events.
struct Alters<F>(F);

impl<F: FnMut(&mut Event) -> bool> Saboteur for Alters<F> {
    fn event(&mut self, event: &Event) -> Option<Event> {
        let mut event = event.clone();
        (self.0)(&mut event).then_some(event)
    }
}

#[test]
fn nobody_is_accused_where_nothing_is_planted() {
    assert_eq!(run(plan(), Alters(|_: &mut Event| true)), Ok(()));
}

#[test]
fn an_over_commitment_is_caught() {
    let mut plan = plan();
    plan.jobs[0].pods = 5;
    let bug = Alters(|event: &mut Event| {
        if let Event::Seen(Fact::Node(facts)) = event {
            facts.allocatable.cpu *= 4;
        }
        true
    });
    check(&caught(plan, bug), FailureKind::Wrong, "which has not enough cpu left");
}

#[test]
fn a_double_binding_is_caught() {
    struct Twice;
    impl Saboteur for Twice {
        fn order(&mut self, uid: &str, _: &str, _: &World) -> Vec<(Box<str>, Box<str>)> {
            vec![(uid.into(), "a".into()), (uid.into(), "b".into())]
        }
    }
    check(&caught(plan(), Twice), FailureKind::Wrong, "but it was on its way to a node");
}

#[test]
fn a_lost_wake_up_is_caught() {
    let mut plan = plan();
    plan.nodes.truncate(1);
    plan.nodes[0].facts.is_closed = true;
    plan.nodes[0].fates = vec![(Time(5_000), Fate::Opens)];
    let bug = Alters(
        |event: &mut Event| !matches!(event, Event::Seen(Fact::Node(facts)) if !facts.is_closed),
    );
    check(&caught(plan, bug), FailureKind::Wrong, "is parked, but node a takes it");
}

#[test]
fn a_wrong_node_is_caught() {
    let mut plan = plan();
    for node in &mut plan.nodes {
        let (key, value) = ("spot".to_owned(), String::new());
        node.facts.taints = vec![Taint { key, value, effect: Effect::NoSchedule }];
    }
    let bug = Alters(|event: &mut Event| {
        if let Event::Seen(Fact::Node(facts)) = event {
            facts.taints.clear();
        }
        true
    });
    check(&caught(plan, bug), FailureKind::Wrong, "does not tolerate a taint");
}

#[test]
fn a_stuck_unit_is_caught() {
    struct NeverSent;
    impl Saboteur for NeverSent {
        fn is_sent(&mut self) -> bool {
            false
        }
    }
    check(&caught(plan(), NeverSent), FailureKind::Stuck, "and leaves it at that");
}

#[test]
fn a_pod_that_is_not_told_of_is_caught() {
    let bug = Alters(|event: &mut Event| !matches!(event, Event::Seen(Fact::Pod(_))));
    check(&caught(plan(), bug), FailureKind::Wrong, "pods is lost");
}

#[test]
fn a_gate_that_is_never_seen_to_be_lifted_is_caught() {
    let mut plan = plan();
    let lifted_after = Some(Millis(500));
    plan.jobs[0].gates = Some(Gates { names: ["quota".into()].into(), lifted_after });
    let is_lifted = |fact: &Fact| matches!(fact, Fact::Pod(facts) if facts.rest.gates.is_empty());
    let bug = Alters(move |event: &mut Event| !matches!(event, Event::Seen(it) if is_lifted(it)));
    check(&caught(plan, bug), FailureKind::Wrong, "its gates are lifted, and it is kept back");
}

#[test]
fn usage_that_is_not_given_back_is_caught() {
    let mut plan = plan();
    plan.jobs[0].life.resized = Some((Millis(2_000), 50));
    let mut seen = 0;
    let bug = Alters(move |event: &mut Event| {
        let is_bound = matches!(event, Event::Seen(Fact::Pod(facts)) if facts.node.is_some());
        seen += u32::from(is_bound);
        // The confirmations of three pods, and nothing of what becomes of them.
        !is_bound || seen <= 3
    });
    check(&caught(plan, bug), FailureKind::Wrong, "of cpu is counted on node");
}

#[test]
fn an_untrue_reason_is_caught() {
    let mut plan = plan();
    plan.jobs[0].spec.requests = requests(64_000, 64, 0);
    plan.nodes[0].facts.is_closed = true;
    let bug = Alters(|event: &mut Event| {
        if let Event::Seen(Fact::Node(facts)) = event {
            facts.is_closed = false;
        }
        true
    });
    check(&caught(plan, bug), FailureKind::Wrong, "was told of 2 nodes");
}

#[test]
fn a_place_is_not_given_away_while_a_binding_to_it_may_yet_arrive() {
    for seed in 0..40 {
        let mut plan = plan();
        plan.seed = seed;
        plan.span = Millis::seconds(90);
        plan.jobs[0].pods = 30;
        plan.jobs[0].runs = Some((Millis::seconds(5), Millis::seconds(20)));
        plan.faults = Faults {
            refused_percent: 40,
            lost_percent: 40,
            unanswered_percent: 20,
            ..Faults::NONE
        };
        assert_eq!(run(plan, Alters(|_: &mut Event| true)), Ok(()), "seed {seed}");
    }
}

/// A full node of two CPUs, and a pod that is more important than the two that fill it.
fn full() -> Plan {
    let mut plan = plan();
    plan.nodes.truncate(1);
    plan.jobs[0].pods = 2;
    let mut high = plan.jobs[0].clone();
    (high.name, high.at, high.pods, high.priority) = ("high".to_owned(), Time(5_000), 1, 10);
    plan.jobs.push(high);
    plan
}

#[test]
fn a_more_important_pod_finds_room() {
    let mut run = Run::inspected(full());
    run.sabotage(Box::new(Alters(|_: &mut Event| true)));
    let passed = finish(run).unwrap();
    assert_eq!((passed.happened.preempted, passed.happened.bound), (1, 3));
}

#[test]
fn a_victim_too_many_is_caught() {
    struct Greedy;
    impl Saboteur for Greedy {
        fn preempt(&mut self, plan: &mut Eviction, _: &World) {
            plan.victims = vec!["job.0".into(), "job.1".into()];
        }
    }
    check(&caught(full(), Greedy), FailureKind::Wrong, "could stay");
}

#[test]
fn a_victim_that_is_as_important_is_caught() {
    let mut plan = full();
    plan.jobs[0].priority = 10;
    let bug = Alters(|event: &mut Event| {
        if let Event::Seen(Fact::Pod(facts)) = event
            && facts.node.is_some()
        {
            facts.rest.priority = 0;
        }
        true
    });
    check(&caught(plan, bug), FailureKind::Wrong, "is as important");
}

#[test]
fn evictions_that_do_not_help_are_caught() {
    let mut plan = full();
    plan.jobs[1].spec.requests = requests(3_000, 64, 0);
    let bug = Alters(|event: &mut Event| {
        if let Event::Seen(Fact::Node(facts)) = event {
            facts.allocatable.cpu = 3_000;
        }
        true
    });
    check(&caught(plan, bug), FailureKind::Wrong, "it has no room there even then");
}

#[test]
fn an_eviction_for_a_plan_that_does_not_stand_any_more_is_caught() {
    struct Stubborn(bool);
    impl Saboteur for Stubborn {
        fn is_stubborn(&self) -> bool {
            self.0
        }
    }
    // It is gone before the second request about its victim can be sent.
    let mut plan = full();
    plan.jobs[1].life.deleted_after = Some((Millis(3), Millis(3)));
    assert_eq!(run(plan.clone(), Stubborn(false)), Ok(()));
    check(&caught(plan, Stubborn(true)), FailureKind::Wrong, "which does not wait for node a");
}

#[test]
fn a_proposed_node_that_a_lesser_pod_takes_is_caught() {
    let mut plan = full();
    plan.jobs[1].at = Time(0);
    plan.jobs[1].spec.requests = requests(2_000, 64, 0);
    plan.jobs[1].gates = Some(Gates { names: ["quota".into()].into(), lifted_after: None });
    plan.jobs[1].life.nominated = Some("a".to_owned());
    assert_eq!(run(plan.clone(), Alters(|_: &mut Event| true)), Ok(()));
    let bug = Alters(|event: &mut Event| {
        if let Event::Seen(Fact::Pod(facts)) = event {
            facts.nominated = None;
        }
        true
    });
    check(&caught(plan, bug), FailureKind::Wrong, "which has not enough cpu left");
}

#[test]
fn a_budget_that_is_broken_without_need_is_caught() {
    let mut plan = full();
    let label = |value: &str| [("app".into(), value.into())].into();
    plan.nodes = self::plan().nodes;
    plan.jobs[0].pods = 1;
    plan.jobs[0].spec.requests = requests(2_000, 64, 0);
    plan.jobs.insert(1, plan.jobs[0].clone());
    // The least important is protected.
    (plan.jobs[0].labels, plan.jobs[0].priority) = (label("kept"), -5);
    (plan.jobs[1].labels, plan.jobs[1].name) = (label("free"), "other".to_owned());
    let requirement = RequirementSpec {
        key: "app".to_owned(),
        operator: LabelOperator::In,
        values: vec!["kept".to_owned()],
    };
    plan.budgets = vec![Budget {
        name: "budget".to_owned(),
        namespace: "team".to_owned(),
        selector: LabelSelector { requirements: vec![requirement] },
        stay: Stay::AtLeast(1),
    }];
    assert_eq!(run(plan.clone(), Alters(|_: &mut Event| true)), Ok(()));
    let bug = Alters(|event: &mut Event| !matches!(event, Event::Seen(Fact::Budget(_))));
    check(&caught(plan, bug), FailureKind::Wrong, "the budget of job.0 would be kept");
}

#[test]
fn whoever_could_be_evicted_for_is_not_left_waiting() {
    let bug = Alters(|event: &mut Event| {
        if let Event::Seen(Fact::Pod(facts)) = event {
            facts.rest.is_preempting = false;
        }
        true
    });
    check(&caught(full(), bug), FailureKind::Stuck, "but evicting would help on a");
}
