//! What users may write about gangs, and what becomes of ids of gangs that are gone.

use kubenexus_engine::Options;
use model::{Event, Kind, PodId, Present};
use testkit::{Script, check, default_profile};

fn script() -> Script {
    Script::new(&[default_profile()], Options::default())
}

/// What is noted of the composite must not outlive it.
#[test]
fn a_composite_ends_with_the_last_pod_of_its_last_part() {
    check(
        "
        podgroup composite/c min=2
        podgroup native/g min=2 parent=c
        node a
        pod g1 group=native/g on=a
        next
        > 10000ms
        gone pod g1
        next
        > never
        step
        after 11s
        step
        pod h1 gang=h/2
        pod h2 gang=h/2
        step
        > h1 -> a
        > h2 -> a
        ",
    );
}

/// A group that loses its last pod is one part less for those above it.
#[test]
fn a_composite_is_not_started_with_fewer_parts_than_it_needs() {
    check(
        "
        podgroup composite/c min=2
        podgroup native/g min=1 parent=c
        podgroup native/h min=1 parent=c
        node a
        pod g1 group=native/g
        pod h1 group=native/h
        gone pod g1
        step
        queue
        > 1 gated
        after 1s
        step
        > h1 waits: waiting for the gang: 1 of at least 2 are there
        > gang c waits: waiting for the gang: 1 of at least 2 are there
        pod g2 group=native/g
        step
        > g2 -> a
        > h1 -> a
        ",
    );
}

/// Nobody looked at the part while it could not be told what it is tried with.
#[test]
fn a_part_is_taken_back_that_is_incomplete_when_its_composite_comes() {
    check(
        "
        podgroup native/g min=2 parent=c
        node a
        pod g1 group=native/g on=a remade
        after 20s
        step
        podgroup composite/c min=0
        after 10s
        step
        > gang g disbands: evicts [g1], leaves []
        ",
    );
}

/// A composite that needed nothing has started with the first part of it that did.
#[test]
fn a_composite_whose_part_has_started_is_not_taken_back_when_it_needs_more() {
    let mut run = script();
    let mut said = Vec::new();
    for line in [
        "podgroup composite/c min=0",
        "podgroup native/g min=2 parent=c",
        "podgroup native/h min=1 parent=c",
        "node a",
        "pod g1 group=native/g remade",
        "pod g2 group=native/g remade",
        "pod h1 group=native/h remade",
        "step",
        "confirm g1",
        "confirm g2",
        "confirm h1",
        "step",
        "gone pod g2",
        "podgroup composite/c min=2",
        "pod g3 group=native/g remade cpu=9",
        "step",
        "after 60s",
        "step",
        "after 60s",
        "step",
    ] {
        said.extend(run.command(line));
    }
    assert!(!said.iter().any(|line| line.contains("disbands")), "{said:#?}");
    assert!(said.contains(&"gang c degraded".into()), "{said:#?}");
}

#[test]
fn a_tree_of_gangs_has_at_most_eight_levels() {
    let mut run = script();
    run.command("node a");
    run.command("podgroup native/g min=1 parent=c1");
    for at in 1..=3000 {
        run.command(&format!("podgroup composite/c{at} min=1 parent=c{}", at + 1));
    }
    run.command("pod g1 group=native/g");
    run.command("after 1s");
    let said = run.command("step");
    let expected = "g1 waits: gang: spec.parentCompositePodGroupName of \"c7\" is \"c8\", which \
                    makes 9 levels of groups: expected at most 8";
    assert_eq!(said.first().map(String::as_str), Some(expected));
    // The last that is allowed: seven composites and the group of the pod.
    run.command("podgroup composite/c7 min=1");
    run.command("after 5s");
    assert_eq!(run.command("step"), ["g1 -> a"]);
}

/// It may be further up, or below, that a level goes, or a link of a circle.
#[test]
fn groups_become_parts_once_nothing_is_in_the_way() {
    let mut run = script();
    run.command("node a");
    for at in 1..8 {
        run.command(&format!("podgroup composite/c{at} min=1 parent=c{}", at + 1));
    }
    run.command("podgroup composite/c8 min=1");
    run.command("podgroup native/g min=1 parent=c2");
    run.command("podgroup native/h min=1 parent=c1");
    run.command("pod g1 group=native/g");
    run.command("pod h1 group=native/h");
    run.command("after 1s");
    let said = run.command("step");
    assert_eq!(said[0], "g1 -> a");
    assert!(said[1].contains("\"c1\" is \"c2\", which makes 9 levels"), "{said:?}");
    run.command("podgroup composite/c5 min=1");
    run.command("after 5s");
    assert_eq!(run.command("step"), ["h1 -> a"]);

    check(
        "
        node a
        podgroup native/g min=1 parent=c1
        podgroup native/h min=1 parent=c3
        podgroup composite/c1 min=1 parent=c2
        podgroup composite/c2 min=1 parent=c3
        podgroup composite/c3 min=1 parent=c1
        pod g1 group=native/g
        pod h1 group=native/h
        after 1s
        step 1
        > g1 waits: gang: its groups are parts of each other
        > h1 waits: gang: its groups are parts of each other
        > gang c3 waits: gang: its groups are parts of each other
        podgroup composite/c1 min=1
        after 5s
        step
        > g1 -> a
        > h1 -> a
        ",
    );
}

/// Also of groups whose pods go one by one: one of each has to find a place.
#[test]
fn a_composite_does_not_start_with_one_of_two_groups() {
    let mut run = script();
    for line in [
        "node a cpu=1",
        "podgroup composite/c min=2",
        "podgroup native/g min=1 parent=c",
        "podgroup native/h min=1 parent=c",
        "pod g1 cpu=1 group=native/g",
        "pod h1 cpu=1 group=native/h",
    ] {
        run.command(line);
    }
    let said = run.command("step");
    let is_short =
        |said: &String| said.contains("waits: gang h: room for 0 of at least 1; h1: 0/1");
    assert!(said.len() == 3 && said.iter().all(is_short), "{said:?}");
    run.command("node b cpu=1");
    run.command("after 5s");
    let said = run.command("step");
    assert!(said.len() == 2 && said.iter().all(|said| said.contains(" -> ")), "{said:?}");
}

/// It waits for the others, and is not tried again and again meanwhile.
#[test]
fn a_group_that_came_to_a_composite_which_runs_waits_for_all_its_pods() {
    check(
        "
        node a
        podgroup composite/c min=1
        podgroup native/g min=1 parent=c
        podgroup native/h min=2 parent=c
        pod g1 group=native/g
        step
        > g1 -> a
        confirm g1
        pod h1 group=native/h
        gone pod g1
        after 1s
        step
        > gang c started
        > gang c degraded
        > h1 waits: waiting for the gang: 0 of at least 1 are there
        > gang c waits: waiting for the gang: 0 of at least 1 are there
        pod h2 group=native/h
        step
        > h1 -> a
        > h2 -> a
        ",
    );
}

/// Its pods were all on nodes, but were taken back because there were too few other groups.
#[test]
fn a_group_has_not_started_that_was_taken_back_with_its_composite() {
    check(
        "
        node a
        podgroup composite/c min=2
        podgroup native/g min=2 parent=c
        podgroup native/h min=1 parent=c
        pod g1 group=native/g remade
        pod g2 group=native/g remade
        pod h1 group=native/h remade
        step
        > g1 -> a
        > g2 -> a
        > h1 -> a
        confirm g1
        confirm g2
        gone pod h1
        gone pod g2
        after 10s
        step
        > gang c disbands: evicts [g1], leaves []
        gone pod g1
        pod g3 group=native/g remade
        podgroup composite/c min=0
        after 1s
        step
        > g3 waits: waiting for the gang: 1 of at least 2 are there
        > gang g waits: waiting for the gang: 1 of at least 2 are there
        pod g4 group=native/g remade
        step
        > g3 -> a
        > g4 -> a
        ",
    );
}

/// A composite that has too few parts is left out as a group is that has too few pods.
#[test]
fn a_part_that_has_too_few_parts_is_left_out() {
    check(
        "
        node a
        podgroup composite/c min=1
        podgroup composite/d min=2 parent=c
        podgroup native/g min=2 parent=d
        podgroup native/h min=2 parent=c
        pod g1 group=native/g
        pod g2 group=native/g
        pod h1 group=native/h
        pod h2 group=native/h
        step
        > h1 -> a
        > h2 -> a
        ",
    );
}

/// The one that it moves to was there for the sake of the one that it leaves.
#[test]
fn a_group_moves_to_a_composite_further_up() {
    check(
        "
        node a
        podgroup composite/c1 min=1
        podgroup composite/c2 min=1 parent=c1
        podgroup native/g min=2 parent=c2
        pod g1 group=native/g
        pod g2 group=native/g
        podgroup native/g min=2 parent=c1
        step
        > g1 -> a
        > g2 -> a
        ",
    );
}

/// A kind that is found late gives a gang another parent, which ends the one it had.
#[test]
fn a_kind_that_is_served_late_may_end_a_composite() {
    let mut run = script();
    for line in [
        "node a",
        "podgroup composite/c min=1",
        "podgroup native/g min=1 parent=c",
        "podgroup volcano/g min=1",
        "pod g1 group=native/g",
        "pod g2 gang=g group=volcano/g",
    ] {
        run.command(line);
    }
    let kind = model::PodGroupKind::Volcano;
    let names = [Box::from("default/g")].into();
    run.scheduler.apply(&Event::Listed(Kind::PodGroup(kind), Present::Names(names)), run.now);
    run.command("after 1s");
    assert_eq!(run.command("step"), ["g1 -> a", "g2 -> a"]);
}

#[test]
fn a_chain_of_many_gangs_is_followed_for_a_while() {
    let mut run = script();
    run.command("node a pods=1000000");
    let count = 20_000;
    for at in 0..count {
        run.command(&format!("pod p{at} gang=g{at}/1 after=g{}", at + 1));
    }
    let said = run.command("step 40000");
    assert_eq!(said.len(), count);
    assert_eq!(said[0], "p0 waits: waiting for gang \"g1\" to succeed");
}

#[test]
fn of_a_long_cycle_some_are_named() {
    let mut run = script();
    run.command("node a");
    for at in 0..500 {
        run.command(&format!("pod p{at} gang=g{at}/1 after=g{}", (at + 1) % 500));
    }
    let said = run.command("step 1000");
    let expected = "p0 waits: gangs wait for each other: g0 -> g1 -> g2 -> g3 -> g4 -> g5 -> \
                    (492 more) -> g498 -> g499 -> g0";
    assert_eq!(said[0], expected);
    assert!(said.iter().all(|said| said.len() < 200), "{said:?}");
}

/// The place of a node may be another node's by then.
#[test]
fn a_node_that_refused_a_pod_and_is_gone_is_forgotten() {
    let mut run = script();
    for line in ["node a cpu=1", "node b cpu=1", "pod g1 cpu=1 gang=g/2", "pod g2 cpu=1 gang=g/2"] {
        run.command(line);
    }
    let said = run.command("step");
    let node = said[0].strip_prefix("g1 -> ").expect("a place").to_owned();
    run.command("confirm g2");
    run.command("refuse g1");
    run.command(&format!("gone node {node}"));
    let checkpoint = run.scheduler.checkpoint();
    let resumed = run.resumed(checkpoint.clone(), &[default_profile()], Options::default());
    let resumed = resumed.expect("a checkpoint that makes sense");
    assert_eq!(resumed.scheduler.checkpoint().nodes, checkpoint.nodes);
    // Another node gets the place, and is asked.
    run.command("node c cpu=1");
    run.command("after 1s");
    assert!(run.command("step").contains(&"g1 -> c".to_owned()));
}

/// A unit that is on its way to nodes may be of a composite that is gone.
#[test]
fn a_checkpoint_of_pods_on_their_way_whose_composite_is_gone() {
    let mut run = script();
    for line in [
        "podgroup composite/c min=1",
        "podgroup native/g min=2 parent=c",
        "node a cpu=1",
        "node b cpu=1",
        "pod g1 group=native/g",
        "pod g2 group=native/g",
        "step",
        "podgroup native/g min=2",
    ] {
        run.command(line);
    }
    let resumed = run.resumed(run.scheduler.checkpoint(), &[default_profile()], Options::default());
    let mut resumed = resumed.expect("a checkpoint that makes sense");
    for run in [&mut run, &mut resumed] {
        run.command("confirm g1");
        run.command("refuse g2");
        run.command("after 1s");
        let said = run.command("step");
        assert!(said.len() == 1 && said[0].starts_with("g2 -> "), "{said:?}");
    }
}

/// What is kept for pods that are to come may be all that is on a node which is gone.
#[test]
fn room_on_nodes_that_are_gone_is_given_up_with_their_places() {
    let mut run = script();
    for line in ["node a cpu=1", "node b cpu=2", "pod d cpu=1 gang=g/3 workers=2@1", "step"] {
        run.command(line);
    }
    let places = |run: &Script| run.scheduler.checkpoint().nodes.iter().flatten().count();
    assert_eq!(run.scheduler.kept_room().count(), 2);
    run.command("gone node a");
    run.command("gone node b");
    assert!(places(&run) > 0);
    run.command("gone pod d");
    assert_eq!((run.scheduler.kept_room().count(), places(&run)), (0, 0));
    assert_eq!(run.scheduler.catalog().pods().collect::<Vec<PodId>>(), []);
}
