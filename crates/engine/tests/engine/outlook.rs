//! What would help a gang for which there is no room.

use kubenexus_engine::Options;
use testkit::{Script, check, default_profile};

/// Nodes that are too small, or that the pods may not go to, are of no help however empty they are.
#[test]
fn only_nodes_that_could_take_a_pod_are_counted_in_what_would_help() {
    check(
        "
        node a cpu=4 label=disk:ssd
        node b cpu=4 label=disk:ssd
        node c cpu=4 label=disk:ssd
        node d cpu=4 label=disk:ssd
        node small cpu=2 label=disk:ssd
        node other cpu=4 label=disk:hdd
        pod on-a cpu=2 on=a
        pod on-b cpu=2 on=b
        pod on-c cpu=2 on=c
        pod on-d cpu=2 on=d
        pod on-small cpu=1 on=small
        pod on-other cpu=1 on=other
        pod g1 cpu=3 gang=g/3 select=disk:ssd
        pod g2 cpu=3 gang=g/3 select=disk:ssd
        pod g3 cpu=3 gang=g/3 select=disk:ssd
        step
        > g1 waits: gang g: room for 0 of at least 3; g1: 0/6 nodes are available: 1 node(s)
        >+ didn't match Pod's node affinity/selector, 5 Insufficient cpu. It fits when 3 more nodes
        >+ are free.
        > g2 waits: gang g: room for 0 of at least 3; g1: 0/6 nodes are available: 1 node(s)
        >+ didn't match Pod's node affinity/selector, 5 Insufficient cpu. It fits when 3 more nodes
        >+ are free.
        > g3 waits: gang g: room for 0 of at least 3; g1: 0/6 nodes are available: 1 node(s)
        >+ didn't match Pod's node affinity/selector, 5 Insufficient cpu. It fits when 3 more nodes
        >+ are free.
        > gang g waits: gang g: room for 0 of at least 3; g1: 0/6 nodes are available: 1 node(s)
        >+ didn't match Pod's node affinity/selector, 5 Insufficient cpu. It fits when 3 more nodes
        >+ are free.
        ",
    );
}

/// All nodes together would not do, though each pod has nodes that it could be on.
#[test]
fn a_gang_that_is_larger_than_all_empty_nodes_never_fits() {
    check(
        "
        node a cpu=4
        node b cpu=4
        pod on-a cpu=2 on=a
        pod on-b cpu=2 on=b
        pod g1 cpu=3 gang=g/3
        pod g2 cpu=3 gang=g/3
        pod g3 cpu=3 gang=g/3
        step
        > g1 waits: gang g: room for 0 of at least 3; g1: 0/2 nodes are available: 2 Insufficient
        >+ cpu. It can never fit this cluster.
        > g2 waits: gang g: room for 0 of at least 3; g1: 0/2 nodes are available: 2 Insufficient
        >+ cpu. It can never fit this cluster.
        > g3 waits: gang g: room for 0 of at least 3; g1: 0/2 nodes are available: 2 Insufficient
        >+ cpu. It can never fit this cluster.
        > gang g waits: gang g: room for 0 of at least 3; g1: 0/2 nodes are available: 2
        >+ Insufficient cpu. It can never fit this cluster.
        ",
    );
}

/// What the gang itself is told, last of all.
fn told(script: &str) -> String {
    let mut run = Script::new(&[default_profile()], Options::default());
    let mut answers = Vec::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        answers = run.command(line);
    }
    answers.pop().expect("a gang that waits is told so")
}

fn check_outlook(script: &str, expected: &str) {
    let told = told(script);
    assert!(told.ends_with(expected), "{told}\nexpected at its end: {expected}");
}

#[test]
fn nodes_that_are_closed_are_no_reason_to_say_never() {
    check_outlook(
        "
        node a cpu=4 closed
        node b cpu=4 taint=dedicated=db:NoSchedule
        pod g1 cpu=3 gang=g/2
        pod g2 cpu=3 gang=g/2
        step
        ",
        " It would fit if nodes a, b were open.",
    );
    check_outlook(
        "
        node a cpu=4
        node b cpu=4 taint=node.kubernetes.io/not-ready:NoExecute
        node c cpu=4 closed
        pod g1 cpu=3 gang=g/2
        pod g2 cpu=3 gang=g/2
        step
        ",
        " It would fit if node b were open.",
    );
    check_outlook(
        "
        node a cpu=4
        node b cpu=4 closed
        pod on-a cpu=2 on=a
        pod g1 cpu=3 gang=g/2
        pod g2 cpu=3 gang=g/2
        step
        ",
        " It would fit if node b were open and 1 more node were free.",
    );
    // A taint that the pods tolerate closes nothing, and an open cluster would not do either.
    check_outlook(
        "
        node a cpu=4 taint=dedicated=db:NoSchedule
        node b cpu=2 closed
        pod g1 cpu=3 gang=g/2 tolerate=dedicated=db:NoSchedule
        pod g2 cpu=3 gang=g/2 tolerate=dedicated=db:NoSchedule
        step
        ",
        " It can never fit this cluster.",
    );
}

#[test]
fn at_most_five_closed_nodes_are_named() {
    let nodes: String = (1..=7).map(|at| format!("node n{at} cpu=1 closed\n")).collect();
    let pods: String = (1..=7).map(|at| format!("pod g{at} cpu=1 gang=g/7\n")).collect();
    check_outlook(
        &format!("{nodes}{pods}step"),
        " It would fit if nodes n1, n2, n3, n4, n5 and 2 more were open.",
    );
}

/// Pods of 3 CPUs are one on each node, so one of 34 is left; nobody can tell from the sums.
#[test]
fn never_is_said_only_if_every_way_was_tried() {
    let gang = |nodes: usize, small: usize| {
        let large = nodes + 1;
        let min = large + small;
        let nodes = (0..nodes).map(|at| format!("node n{at} cpu=5\n"));
        let large = (0..large).map(|at| format!("pod l{at} cpu=3 gang=g/{min}\n"));
        let small = (0..small).map(|at| format!("pod s{at} cpu=1 gang=g/{min}\n"));
        let lines: String = nodes.chain(large).chain(small).collect();
        format!("{lines}step")
    };
    check_outlook(&gang(2, 1), " It can never fit this cluster.");
    check_outlook(&gang(33, 63), " How it could fit was not found within the search limit.");
}

/// What a pod must be near to is among the pods that are taken away in thought.
#[test]
fn a_gang_that_needs_other_pods_is_not_told_that_it_never_fits() {
    check_outlook(
        "
        node a cpu=4 zone=x
        node b cpu=4 zone=y
        pod db on=a cpu=2 label=app:db
        pod g1 cpu=2 gang=g/2 near=zone,app:db
        pod g2 cpu=2 gang=g/2 near=zone,app:db
        step
        ",
        " How it could fit was not found within the search limit.",
    );
}

#[test]
fn how_many_fit_is_counted_by_trying_all() {
    check(
        "
        node a cpu=2
        pod large cpu=4 gang=g/2
        pod small cpu=1 gang=g/2
        step
        > large waits: gang g: room for 1 of at least 2; large: 0/1 nodes are available: 1
        >+ Insufficient cpu. It can never fit this cluster.
        > small waits: gang g: room for 1 of at least 2; large: 0/1 nodes are available: 1
        >+ Insufficient cpu. It can never fit this cluster.
        > gang g waits: gang g: room for 1 of at least 2; large: 0/1 nodes are available: 1
        >+ Insufficient cpu. It can never fit this cluster.
        ",
    );
    // Of the domains the one counts that holds the most.
    let racks = told(
        "
        podgroup native/g min=4 topology=rack
        node a cpu=1 rack=x
        node b cpu=2 rack=y
        node c cpu=1 rack=y
        pod g1 cpu=1 group=native/g
        pod g2 cpu=1 group=native/g
        pod g3 cpu=1 group=native/g
        pod g4 cpu=1 group=native/g
        step
        ",
    );
    assert!(racks.contains("room for 3 of at least 4"), "{racks}");
}
