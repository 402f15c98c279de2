//! Whose turn it is: order, gates, backoff and flush.

use kubenexus_engine::{Backoff, Options, Place};
use model::{Decision, Millis, Time};
use testkit::{Script, check, default_profile};

#[test]
fn higher_priority_goes_first_and_earlier_within_a_priority() {
    check(
        "
        node a
        pod low priority=-5
        pod first
        pod high priority=9
        pod second
        after 1s
        pod third
        pod highest priority=10
        step 2
        > highest -> a
        > high -> a
        step
        > first -> a
        > second -> a
        > third -> a
        > low -> a
        queue
        > empty
        ",
    );
}

#[test]
fn a_changed_priority_moves_a_unit() {
    check(
        "
        node a
        pod x priority=1
        pod y priority=2
        pod x priority=3
        step
        > x -> a
        > y -> a
        ",
    );
}

#[test]
fn a_pod_enters_when_its_last_gate_is_removed() {
    check(
        "
        node a
        pod p gate=quota gate=image
        step
        queue
        > 1 gated
        next
        > never
        pod p gate=image
        step
        queue
        > 1 gated
        pod p
        queue
        > 1 active
        step
        > p -> a
        ",
    );
}

#[test]
fn a_gated_pod_that_is_deleted_leaves_nothing() {
    check(
        "
        pod p gate=quota
        gone pod p
        queue
        > empty
        ",
    );
}

#[test]
fn backoff_doubles_up_to_ten_seconds() {
    let mut run = Script::new(&[default_profile()], Options::default());
    run.command("node a cpu=1");
    run.command("pod p cpu=2");
    for (round, seconds) in [1, 2, 4, 8, 10, 10, 10].into_iter().enumerate() {
        assert_eq!(run.command("step").len(), 1, "round {round}: it is tried");
        // A cure at once, which lasts too short to help.
        run.command("node a cpu=2");
        run.command("node a cpu=1");
        assert_eq!(run.command("queue"), ["1 backoff"], "round {round}");
        let end = run.now + Millis::seconds(seconds);
        assert_eq!(run.scheduler.next_wakeup(), Some(end), "round {round}");
        run.now.0 = end.0 - 1;
        assert_eq!(run.command("step").len(), 0, "round {round}: not before its time");
        run.now = end;
    }
}

#[test]
fn a_unit_woken_after_its_backoff_is_tried_at_once() {
    check(
        "
        node a cpu=1
        pod p cpu=2
        step
        > p waits: 0/1 nodes are available: 1 Insufficient cpu.
        after 1s
        node a cpu=2
        queue
        > 1 active
        step
        > p -> a
        ",
    );
}

#[test]
fn a_parked_unit_is_tried_again_after_five_minutes() {
    check(
        "
        node a cpu=1
        pod p cpu=2
        step
        > p waits: 0/1 nodes are available: 1 Insufficient cpu.
        next
        > 300000ms
        after 299999ms
        step
        queue
        > 1 parked
        after 1ms
        step
        > p waits: 0/1 nodes are available: 1 Insufficient cpu.
        next
        > 600000ms
        ",
    );
}

#[test]
fn backoff_and_flush_are_as_configured() {
    let backoff = Backoff { initial: Millis(50), max: Millis(120), flush: Millis::seconds(7) };
    let mut run = Script::new(&[default_profile()], Options { backoff, ..Options::default() });
    run.command("pod p");
    for millis in [50, 100, 120, 120] {
        run.command("step");
        assert_eq!(run.scheduler.next_wakeup(), Some(run.now + Millis::seconds(7)));
        run.command("node a");
        run.command("gone node a");
        assert_eq!(run.scheduler.next_wakeup(), Some(run.now + Millis(millis)));
        run.now = run.now + Millis(millis);
    }
}

#[test]
fn refused_bindings_back_off_and_the_wait_doubles() {
    check(
        "
        node a
        pod p
        step
        > p -> a
        queue
        > empty
        refuse p
        load a
        > 0 pods, 0m cpu, 0 memory
        queue
        > 1 backoff
        after 999ms
        step
        after 1ms
        step
        > p -> a
        refuse p
        after 1999ms
        step
        after 1ms
        step
        > p -> a
        confirm p
        queue
        > empty
        ",
    );
}

#[test]
fn pods_deleted_wherever_they_wait_leave_nothing() {
    check(
        "
        node a cpu=2
        # active
        pod p cpu=1
        gone pod p
        queue
        > empty
        # parked
        pod p cpu=3
        step
        > p waits: 0/1 nodes are available: 1 Insufficient cpu.
        gone pod p
        queue
        > empty
        node a cpu=4
        # backoff
        pod p cpu=1
        step
        > p -> a
        refuse p
        queue
        > 1 backoff
        gone pod p
        queue
        > empty
        # assumed
        pod p cpu=1
        step
        > p -> a
        load a
        > 1 pods, 1000m cpu, 0 memory
        gone pod p
        load a
        > 0 pods, 0m cpu, 0 memory
        after 20s
        step
        queue
        > empty
        ",
    );
}

#[test]
fn a_budget_is_a_number_of_units() {
    check(
        "
        node a
        pod p1
        pod p2
        pod p3
        step 0
        step 2
        > p1 -> a
        > p2 -> a
        next
        > 0ms
        step 9
        > p3 -> a
        next
        > never
        ",
    );
}

#[test]
fn a_changed_spec_is_tried_at_once_but_failures_are_remembered() {
    check(
        "
        node a cpu=1
        pod p cpu=3
        step
        > p waits: 0/1 nodes are available: 1 Insufficient cpu.
        pod p cpu=2
        step
        > p waits: 0/1 nodes are available: 1 Insufficient cpu.
        node a cpu=2
        next
        > 2000ms
        ",
    );
}

/// What a binding says of the tries before it.
fn history(run: &mut Script) -> (u32, Time) {
    let mut decisions = Vec::new();
    run.scheduler.step(run.now, usize::MAX, &mut decisions);
    let Some(Decision::Bind { tries, arrived, .. }) = decisions.pop() else {
        panic!("nothing was bound");
    };
    (tries, arrived)
}

#[test]
fn a_binding_tells_how_often_its_pod_was_tried_and_since_when() {
    let mut run = Script::new(&[default_profile()], Options::default());
    let act = |run: &mut Script, lines: &[&str]| {
        lines.iter().for_each(|line| _ = run.command(line));
    };
    act(&mut run, &["node a cpu=1", "after 3s", "pod p cpu=2", "step", "after 2s"]);
    act(&mut run, &["node a cpu=2", "refuse p 9", "after 10s"]);
    assert_eq!(history(&mut run), (2, Time(3000)));
    act(&mut run, &["refuse p", "after 10s"]);
    assert_eq!(history(&mut run), (3, Time(3000)));
    // A gate keeps a pod from being tried, so the wait begins when it is gone.
    act(&mut run, &["gone pod p", "pod q gate=quota", "after 5s", "pod q", "after 1s"]);
    assert_eq!(history(&mut run), (1, Time(30_000)));
}

#[test]
fn where_a_pod_stands_can_be_asked() {
    let mut script = Script::new(&[default_profile()], Options::default());
    let mut place = |line: &str| {
        line.split(';').for_each(|command| drop(script.command(command)));
        let pod = script.scheduler.catalog().find_pod("p");
        pod.and_then(|pod| script.scheduler.place_of(pod))
    };
    assert_eq!(place("pod p cpu=1 gate=quota"), Some(Place::Gated));
    assert_eq!(place("pod p cpu=1"), Some(Place::Active));
    assert_eq!(place("step"), Some(Place::Parked(Time(0))));
    assert_eq!(place("node a"), Some(Place::Backoff));
    assert_eq!(place("after 1s;step"), Some(Place::Tried));
    assert_eq!(place("confirm p"), None, "it is on a node");
}
