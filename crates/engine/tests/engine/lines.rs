//! Pods that are alike: the first is tried for all that stand behind it.

use kubenexus_engine::Options;
use testkit::{Script, default_profile};

fn script() -> Script {
    Script::new(&[default_profile()], Options::default())
}

/// How many units a command tries.
fn tries(run: &mut Script, line: &str) -> u64 {
    let before = run.scheduler.tries();
    run.command(line);
    run.scheduler.tries() - before
}

/// Of three lines that wait, all find room for some.
#[test]
fn a_cure_costs_one_try_for_each_that_is_placed_and_one_per_line() {
    let mut run = script();
    run.command("node a cpu=4");
    run.command("pod q cpu=4 on=a");
    for at in 0..200 {
        for (name, words) in [("x", "cpu=1"), ("y", "cpu=1 memory=1Mi"), ("z", "cpu=5")] {
            run.command(&format!("pod {name}{at} {words}"));
        }
    }
    assert_eq!(tries(&mut run, "step"), 3);
    assert_eq!(run.command("queue"), ["600 parked"]);
    run.command("after 1s");
    run.command("gone pod q");
    assert_eq!(run.command("queue"), ["400 active, 200 parked"]);
    assert_eq!(tries(&mut run, "step"), 4 + 2);
    assert_eq!(run.command("queue"), ["596 parked"]);
}

/// They go on as if each had been tried: with the same words, backoffs and counts of tries.
#[test]
fn those_who_stand_behind_are_told_the_same_and_wait_as_long() {
    testkit::check(
        "
        node a cpu=1
        pod q cpu=1 on=a
        pod x cpu=1
        pod y cpu=1
        after 1s
        pod z cpu=1
        step
        > x waits: 0/1 nodes are available: 1 Insufficient cpu.
        > y waits: 0/1 nodes are available: 1 Insufficient cpu.
        > z waits: 0/1 nodes are available: 1 Insufficient cpu.
        gone pod q
        queue
        > 3 backoff
        next
        > 2000ms
        after 1s
        step
        > x -> a
        > y waits: 0/1 nodes are available: 1 Insufficient cpu.
        > z waits: 0/1 nodes are available: 1 Insufficient cpu.
        gone pod x
        next
        > 4000ms
        after 2s
        step
        > y -> a
        > z waits: 0/1 nodes are available: 1 Insufficient cpu.
        ",
    );
}

#[test]
fn pods_that_others_or_plugins_tell_apart_are_tried_one_by_one() {
    let alike = ["", "", ""];
    let unlike = [
        ["label=app:a", "label=app:b", "label=app:c"],
        ["priority=1", "priority=2", "priority=3"],
        ["polite", "", "namespace=other"],
        ["cpu=2001m", "cpu=2002m", "cpu=2003m"],
        ["nominated=a", "nominated=a", ""],
        ["gang=g/1", "gang=g/1", "gang=h/1"],
    ];
    let tried = |words: [&str; 3]| {
        let mut run = script();
        run.command("node a cpu=1");
        for (at, words) in words.iter().enumerate() {
            run.command(&format!("pod p{at} cpu=2 {words}"));
        }
        tries(&mut run, "step")
    };
    assert_eq!(tried(alike), 1);
    for words in unlike {
        assert_eq!(tried(words), 3, "{words:?}");
    }
}

/// A pod that is placed before their turn comes may help those who wait for others.
#[test]
fn those_who_wait_for_pods_are_tried_one_by_one() {
    testkit::check(
        "
        node a zone=x
        pod p1 near=zone,app:db
        pod db label=app:db
        pod p2 near=zone,app:db
        step
        > p1 waits: 0/1 nodes are available: 1 node(s) didn't match pod affinity rules.
        > db -> a
        > p2 -> a
        ",
    );
}

/// A large line does not hold everybody else up.
#[test]
fn of_a_long_line_some_are_told_at_a_time() {
    let mut run = script();
    run.command("node a cpu=1");
    for at in 0..2_500 {
        run.command(&format!("pod p{at} cpu=2"));
    }
    assert_eq!(run.command("step 1").len(), 1_025);
    assert_eq!(tries(&mut run, "step"), 2);
    assert_eq!(run.command("queue"), ["2500 parked"]);
}
