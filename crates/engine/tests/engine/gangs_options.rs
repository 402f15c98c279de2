//! What the configuration and the pods say of gangs that are not whole, and what that changes.

use kubenexus_engine::Options;
use model::{Millis, OnPartialFailure};
use testkit::{check, default_profile};

#[test]
fn a_gang_that_cannot_be_completed_stays_where_the_configuration_says_so() {
    let options = Options { on_partial_failure: OnPartialFailure::Requeue, ..Options::default() };
    let mut run = testkit::Script::new(&[default_profile()], options);
    let lines = ["node a cpu=1", "pod g1 cpu=1 gang=g/2 on=a remade", "pod g2 cpu=1 gang=g/2"];
    lines.iter().for_each(|line| _ = run.command(line));
    run.command("step");
    run.command("after 10s");
    let told = run.command("step");
    assert!(told.contains(&"gang g disbands: evicts [], leaves [g1]".to_owned()), "{told:?}");
}

/// How often a pod whose binding is refused again and again is tried elsewhere at once.
fn retries_at_once(bind_retries: u32) -> usize {
    let options = Options { bind_retries, ..Options::default() };
    let mut run = testkit::Script::new(&[default_profile()], options);
    for node in 0..8 {
        run.command(&format!("node n{node} cpu=1"));
    }
    ["pod g1 cpu=1 gang=g/2", "pod g2 cpu=1 gang=g/2", "step"]
        .iter()
        .for_each(|line| _ = run.command(line));
    let is_tried = |run: &mut testkit::Script| {
        run.command("refuse g2");
        run.command("step").iter().any(|line| line.starts_with("g2 -> "))
    };
    let count = (0..9).take_while(|_| is_tried(&mut run)).count();
    run.command("after 10s");
    let later = run.command("step");
    assert!(
        later.iter().any(|line| line.starts_with("g2 -> ")),
        "{bind_retries}, {count}: {later:?}"
    );
    count
}

#[test]
fn a_refused_binding_is_tried_at_once_as_often_as_the_configuration_says() {
    assert_eq!([0, 1, 3, 5].map(retries_at_once), [0, 1, 3, 5]);
}

/// After how many seconds a gang is taken back that stays incomplete.
fn taken_back_after(permit_seconds: u64, timeouts: [&str; 2]) -> (u64, Vec<String>) {
    let permit_timeout = Millis::seconds(permit_seconds);
    let options = Options { permit_timeout, ..Options::default() };
    let mut run = testkit::Script::new(&[default_profile()], options);
    let [first, second] = timeouts;
    for line in [
        "node a cpu=1".into(),
        format!("pod g1 cpu=1 gang=g/3 on=a remade {first}"),
        format!("pod g2 cpu=1 gang=g/3 {second}"),
        format!("pod g3 cpu=1 gang=g/3 {second}"),
    ] {
        run.command(&line);
    }
    let mut told = Vec::new();
    for seconds in 0..100 {
        let lines = run.command("step");
        if lines.contains(&"gang g disbands: evicts [g1], leaves []".to_owned()) {
            return (seconds, told);
        }
        told.extend(lines.into_iter().filter(|line| line.contains("timeouts")));
        run.command("after 1s");
    }
    panic!("it is never taken back")
}

#[test]
fn of_different_timeouts_the_largest_counts_and_that_is_told_once() {
    let (none, unsaid) = (Vec::<String>::new(), ["", ""]);
    assert_eq!(taken_back_after(10, unsaid), (10, none.clone()));
    assert_eq!(taken_back_after(25, unsaid), (25, none.clone()), "the configuration says so");
    assert_eq!(taken_back_after(10, ["timeout=20", "timeout=20"]), (20, none.clone()));
    assert_eq!(taken_back_after(10, ["timeout=20", ""]), (20, none), "one says nothing");
    let told = vec!["gang g has timeouts from 20 to 40".to_owned()];
    assert_eq!(taken_back_after(10, ["timeout=20", "timeout=40"]), (40, told.clone()));
    assert_eq!(taken_back_after(10, ["timeout=40", "timeout=20"]), (40, told));
}

/// Then what the pods say does not matter.
#[test]
fn the_timeout_of_an_object_counts_more_than_those_of_pods() {
    check(
        "
        node a cpu=1
        podgroup coscheduling/g min=2 timeout=5
        pod g1 cpu=1 group=coscheduling/g timeout=20 on=a remade
        pod g2 cpu=1 group=coscheduling/g timeout=40
        step
        > g2 waits: gang g: room for 1 of at least 2; g2: 0/1 nodes are available: 1 Insufficient
        >+ cpu. It can never fit this cluster.
        > gang g waits: gang g: room for 1 of at least 2; g2: 0/1 nodes are available: 1
        >+ Insufficient cpu. It can never fit this cluster.
        after 5s
        step
        > gang g disbands: evicts [g1], leaves []
        ",
    );
}
