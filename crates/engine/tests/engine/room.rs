//! How many pods of a kind there is room for: what is kept must equal what is counted afresh.

use kubenexus_engine::Options;
use model::Millis;
use proptest::collection::vec;
use proptest::prelude::*;
use testkit::{Script, default_profile, draw};

use crate::cold_path::{act, config, forgetful, patient, profiles, waiting};

fn room(run: &mut Script, uid: &str) -> u64 {
    let pod = run.scheduler.catalog().find_pod(uid).expect("a pod that was applied");
    run.scheduler.room(pod)
}

#[test]
fn room_is_what_nodes_take_one_after_the_other() {
    let mut run = Script::new(&[default_profile()], Options::default());
    run.command("node a cpu=4 memory=8Gi pods=10");
    run.command("node b cpu=4 memory=2Gi pods=10 label=disk:ssd");
    run.command("node c cpu=8 memory=8Gi pods=3");
    run.command("node d cpu=8 closed");
    for (words, expected) in [
        ("cpu=1", 4 + 4 + 3),
        ("cpu=3", 1 + 1 + 2),
        ("cpu=1 memory=1Gi", 4 + 2 + 3),
        ("cpu=5", 1),
        ("cpu=9", 0),
        ("cpu=1 select=disk:ssd", 4),
        ("cpu=1 port=80", 3),
    ] {
        run.command(&format!("pod p {words}"));
        assert_eq!(room(&mut run, "p"), expected, "{words}");
        run.command("gone pod p");
    }
}

#[test]
fn room_follows_pods_and_nodes() {
    let mut run = Script::new(&[default_profile()], Options::default());
    (0..30).for_each(|at| _ = run.command(&format!("node n{at} cpu=4 pods=10")));
    run.command("pod p cpu=2");
    assert_eq!(room(&mut run, "p"), 60);
    run.command("pod q cpu=3 on=n5");
    assert_eq!(room(&mut run, "p"), 58);
    run.command("node n6 cpu=6 pods=10");
    run.command("node n7 cpu=4 pods=10 closed");
    run.command("gone node n8");
    assert_eq!(room(&mut run, "p"), 55);
    run.command("gone pod q");
    run.command("node n40 cpu=20 pods=3");
    assert_eq!(room(&mut run, "p"), 60);
    run.command("step");
    run.command("pod r cpu=2");
    assert_eq!(room(&mut run, "r"), 59);
}

/// Three nodes that are full, and a gang that needs room on each.
fn waiting_gang() -> Script {
    let mut run = Script::new(&[default_profile()], Options::default());
    for node in ["a", "b", "c"] {
        run.command(&format!("node {node} cpu=4"));
        run.command(&format!("pod {node}1 cpu=2 on={node}"));
        run.command(&format!("pod {node}2 cpu=2 on={node}"));
    }
    (0..3).for_each(|at| _ = run.command(&format!("pod g{at} cpu=2 gang=g/3")));
    run.command("step");
    run.command("after 10s");
    run
}

#[test]
fn a_gang_is_woken_once_there_is_room_for_all_of_it() {
    let mut run = waiting_gang();
    run.command("gone pod a1");
    run.command("gone pod b1");
    assert_eq!(run.command("queue"), ["1 parked"]);
    run.command("gone pod c1");
    assert_eq!(run.command("queue"), ["1 active"]);
    assert_eq!(run.command("step").len(), 3);
}

#[test]
fn room_that_is_taken_again_is_no_reason_to_sleep() {
    let mut run = waiting_gang();
    run.command("gone pod a1");
    run.command("pod a3 cpu=2 on=a");
    run.command("gone pod a2");
    run.command("gone pod a3");
    assert_eq!(run.command("queue"), ["1 active"], "it counts what nodes may have, not less");
    assert!(run.command("step")[0].contains("room for 2 of at least 3"));
    run.command("after 10s");
    run.command("gone pod b1");
    assert_eq!(run.command("queue"), ["1 active"], "one was missing");
    assert_eq!(run.command("step").len(), 3);
}

#[test]
fn a_gang_that_needs_fewer_pods_is_woken_by_less_room() {
    let mut run = Script::new(&[default_profile()], Options::default());
    run.command("podgroup native/g min=3");
    run.command("node a cpu=2");
    run.command("node b cpu=2");
    run.command("pod a1 cpu=2 on=a");
    run.command("pod b1 cpu=2 on=b");
    (0..3).for_each(|at| _ = run.command(&format!("pod g{at} cpu=2 group=native/g")));
    run.command("step");
    run.command("after 10s");
    run.command("podgroup native/g min=1");
    run.command("step");
    run.command("after 10s");
    run.command("gone pod a1");
    let said = run.command("step");
    assert!(said[0].contains("g0") && said[0].contains(" a"), "{said:?}");
}

/// A run that goes on from a checkpoint has nothing kept, and counts afresh.
fn check(lines: &[String], profile: usize, mut run: Script) {
    let profile = &profiles()[profile];
    for (at, line) in lines.iter().enumerate() {
        act(&mut run, line);
        run.now = run.now + Millis(700);
        if at % 2 == 1 {
            run.command("step 3");
        }
        let kept: Vec<u64> = waiting(&run).into_iter().map(|pod| run.scheduler.room(pod)).collect();
        if at % 7 == 6 {
            let checkpoint = run.scheduler.checkpoint();
            let profiles = std::slice::from_ref(profile);
            let fresh = run.resumed(checkpoint, profiles, Options::default());
            let mut fresh = fresh.expect("a checkpoint of a run");
            let afresh: Vec<u64> =
                waiting(&fresh).into_iter().map(|pod| fresh.scheduler.room(pod)).collect();
            assert_eq!(kept, afresh, "after {line}");
        }
    }
}

fn story() -> impl Strategy<Value = (usize, Vec<String>)> {
    (0usize..5, 1usize..40).prop_flat_map(|(profile, count)| {
        let nodes = vec(any::<u64>(), count).prop_map(|dice| {
            let node = |(at, dice): (usize, &u64)| draw::node(at, *dice);
            dice.iter().enumerate().map(node).collect::<Vec<_>>()
        });
        let events = vec(any::<u64>().prop_map(move |dice| draw::event(count, 30, dice)), 40..60);
        (nodes, events).prop_map(move |(nodes, events)| (profile, [nodes, events].concat()))
    })
}

proptest! {
    #![proptest_config(config(96))]

    #[test]
    fn kept_room_is_what_is_counted_afresh((profile, lines) in story()) {
        check(&lines, profile, patient(&profiles()[profile]));
    }

    #[test]
    fn room_that_was_given_up_is_counted_anew((profile, lines) in story()) {
        check(&lines, profile, forgetful(&profiles()[profile]));
    }
}
