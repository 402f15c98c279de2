//! Nodes that come, go and change while pods are on them.

use kubenexus_engine::Options;
use testkit::{Script, check, default_profile};

#[test]
fn pods_of_a_deleted_node_count_again_when_it_comes_back() {
    check(
        "
        node a cpu=2
        pod p cpu=1 on=a
        pod q cpu=1
        step
        > q -> a
        gone node a
        pod r cpu=1
        step
        > r waits: no nodes available to schedule pods
        node a cpu=2
        load a
        > 2 pods, 2000m cpu, 0 memory
        after 1s
        step
        > r waits: 0/1 nodes are available: 1 Insufficient cpu.
        gone pod p
        after 2s
        step
        > r -> a
        ",
    );
}

#[test]
fn pods_that_name_a_node_before_it_is_known_count_when_it_comes() {
    check(
        "
        node b cpu=1
        pod p cpu=1 on=a
        node a cpu=1
        load a
        > 1 pods, 1000m cpu, 0 memory
        pod q cpu=1
        step
        > q -> b
        ",
    );
}

#[test]
fn a_binding_refused_after_its_node_went_is_undone() {
    check(
        "
        node a cpu=1
        pod p cpu=1
        step
        > p -> a
        gone node a
        refuse p
        node b cpu=1
        load b
        > 0 pods, 0m cpu, 0 memory
        node a cpu=1
        load a
        > 0 pods, 0m cpu, 0 memory
        ",
    );
}

#[test]
fn the_place_of_a_node_that_is_gone_is_used_again_only_when_empty() {
    check(
        "
        node a cpu=1
        pod p cpu=1 on=a
        gone node a
        node b cpu=1
        load b
        > 0 pods, 0m cpu, 0 memory
        gone pod p
        node c cpu=1
        load c
        > 0 pods, 0m cpu, 0 memory
        node a cpu=1
        load a
        > 0 pods, 0m cpu, 0 memory
        ",
    );
}

#[test]
fn changed_facts_count_for_the_next_pod() {
    check(
        "
        node a taint=spot:PreferNoSchedule
        node b
        pod p1
        step
        > p1 -> b
        node a
        node b closed
        pod p2
        step
        > p2 -> a
        node a taint=spot:NoSchedule
        node b taint=spot:PreferNoSchedule
        pod p3
        step
        > p3 -> b
        ",
    );
}

#[test]
fn preferences_count_among_the_nodes_that_fit() {
    check(
        "
        node a cpu=1 zone=x
        node b cpu=16 zone=y
        node c cpu=16
        pod p1 cpu=1 prefer=100:zone:in:x prefer=1:zone:in:y
        step
        > p1 -> a
        # The best is full now: what was hardly preferred is the most preferred.
        pod p2 cpu=1 prefer=100:zone:in:x prefer=1:zone:in:y
        step
        > p2 -> b
        gone pod p1
        pod p3 cpu=1 prefer=100:zone:in:x prefer=1:zone:in:y
        step
        > p3 -> a
        ",
    );
}

#[test]
fn a_node_that_says_the_same_again_is_not_touched() {
    let mut run = Script::new(&[default_profile()], Options::default());
    let node = "node a cpu=2 zone=x disk=ssd gpu=1 image=web@9Mi image=db@1Mi taint=spot:NoExecute";
    run.command(node);
    run.command("pod p gpu=1");
    run.command("step");
    let mark = run.scheduler.usage().mark();
    run.command(node);
    // The order in which facts stand means nothing, but for taints.
    run.command(
        "node a disk=ssd image=db@1Mi zone=x image=web@9Mi gpu=1 cpu=2 taint=spot:NoExecute",
    );
    assert_eq!(run.scheduler.usage().mark(), mark);
    for (at, other) in ["cpu=1", "zone=y", "image=db@2Mi", "closed", "gpu=2"].iter().enumerate() {
        run.command(&format!("{node} {other}"));
        assert_eq!(run.scheduler.usage().mark(), mark + 2 * at as u64 + 1, "{other}");
        run.command(node);
    }
}
