//! Room that is held for pods which wait: what is kept of it equals asking all nodes anew, and
//! nobody pays for holds that are nothing to him.

use kubenexus_engine::{Options, Place};
use model::Millis;
use proptest::collection::vec;
use proptest::prelude::*;
use testkit::{Script, default_profile};

use crate::cold_path::{
    act, check_none_oversleeps, check_usage, config, judged, patient, step_judged, waiting,
};

/// A line about few shapes and priorities, so that many pods share what is kept.
fn line(nodes: usize, dice: u64) -> String {
    let pick = |words: &[&str], at: u32| {
        words[usize::try_from(dice >> at).expect("64 bits") % words.len()].to_string()
    };
    let (pod, node) = (dice % 25, (dice >> 8) % (nodes as u64 + 1));
    match (dice >> 16) % 16 {
        0..=7 => {
            let shape = pick(&["cpu=1", "cpu=2", "cpu=3", "cpu=1 port=80"], 24);
            let priority = pick(&["", "priority=5", "priority=5", "priority=9"], 32);
            let place = match (dice >> 40) % 5 {
                0 | 1 => format!("on=n{node}"),
                2 => format!("nominated=n{node}"),
                _ => String::new(),
            };
            // Now and then a rule that others are about, or that is about others.
            let rule = match (dice >> 48) % 12 {
                0 => "label=app:web",
                1 => "far=host,app:web",
                _ => "",
            };
            format!("pod p{pod} {shape} {priority} {place} {rule}")
        }
        8 | 9 => format!("gone pod p{pod}"),
        10 => format!("confirm p{pod}"),
        11 => format!("refuse p{pod}"),
        12 => format!("keep p{pod}"),
        13 => format!("gone node n{node}"),
        _ => format!("node n{node} host=n{node} {}", pick(&["cpu=2", "cpu=4", "cpu=6"], 24)),
    }
}

/// Nobody may be parked while evicting others makes room; whoever has such a node waits for it.
fn check_none_could_evict(run: &mut Script) {
    for pod in waiting(run) {
        let is_parked = matches!(run.scheduler.place_of(pod), Some(Place::Parked(_)));
        let is_promised = run.scheduler.catalog().nominated_node(pod).is_some();
        let evicts = is_parked && !is_promised && judged(run, pod).preemption.is_some();
        let uid = &run.scheduler.catalog().pod(pod).key.uid;
        assert!(!evicts, "{uid} sleeps although evicting would help");
    }
}

fn check(nodes: usize, dice: &[u64]) {
    let mut run = patient(&default_profile());
    (0..nodes).for_each(|at| _ = run.command(&format!("node n{at} cpu=4 host=n{at}")));
    for (at, dice) in dice.iter().enumerate() {
        act(&mut run, &line(nodes, *dice));
        run.now = run.now + Millis(if at % 4 == 3 { 11_000 } else { 300 });
        step_judged(&mut run);
        check_usage(&run);
        if at % 4 == 3 {
            check_none_oversleeps(&mut run);
            check_none_could_evict(&mut run);
        }
    }
}

proptest! {
    #![proptest_config(config(192))]

    #[test]
    fn held_nodes_are_kept_as_asking_anew_would_find_them(
        (nodes, dice) in (1usize..30).prop_flat_map(|nodes| (Just(nodes), vec(any::<u64>(), 100)))
    ) {
        check(nodes, &dice);
    }
}

/// Nodes that are full of less important pods, and pods for which some of them are proposed.
fn contested(nodes: usize, outstanding: usize) -> Script {
    let mut run = Script::new(&[default_profile()], Options::default());
    for at in 0..nodes {
        run.command(&format!("node n{at} cpu=4 memory=64Gi"));
        run.command(&format!("pod low{at} cpu=4 on=n{at}"));
    }
    (0..outstanding).for_each(|at| _ = run.command(&format!("pod p{at} cpu=3 priority=5")));
    assert_eq!(run.command("step").len(), 2 * outstanding);
    run
}

/// What it costs to decide about a pod.
fn cost(run: &mut Script, pod: &str) -> u64 {
    run.command(pod);
    let before = run.scheduler.looks();
    assert!(!run.command("step").is_empty());
    run.scheduler.looks() - before
}

#[test]
fn one_more_preemptor_costs_the_same_however_many_there_are() {
    let costs = [10, 390].map(|outstanding| {
        let mut run = contested(400, outstanding);
        cost(&mut run, "pod more cpu=3 priority=5");
        cost(&mut run, "pod another cpu=3 priority=5")
    });
    assert_eq!(costs[0], costs[1]);
}

#[test]
fn more_important_pods_pay_for_no_hold() {
    let costs = [0, 390].map(|outstanding| {
        let mut run = contested(400, outstanding);
        cost(&mut run, "pod first memory=1Gi priority=6");
        cost(&mut run, "pod second memory=1Gi priority=6")
    });
    assert_eq!(costs[0], costs[1]);
}

#[test]
fn pods_that_must_respect_holds_ask_where_something_changed() {
    let costs = [40, 390].map(|outstanding| {
        let mut run = contested(400, outstanding);
        cost(&mut run, "pod first memory=1Gi");
        cost(&mut run, "pod second memory=1Gi")
    });
    assert!(costs[0].max(costs[1]) < 40, "{costs:?}");
}

#[test]
fn what_holds_of_pods_with_rules_say_is_not_kept() {
    let story = "
        node a host=a cpu=4
        namespace front team:a
        pod rival gate=later priority=20 far=host,app:web,team:a nominated=a
        pod one namespace=front label=app:web cpu=1
        pod two namespace=front label=app:web cpu=1
        step
        > one WAITS
        > two WAITS
        namespace front team:b
        after 10s
        step
        > one -> a
        > two -> a
        ";
    let waits = "waits: 0/1 nodes are available: 1 node(s) didn't satisfy existing pods \
                 anti-affinity rules.";
    testkit::check(&story.replace("WAITS", waits));
}
