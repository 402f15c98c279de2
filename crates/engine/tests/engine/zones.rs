//! Pods that want NUMA zones, and nodes that have them.

use kubenexus_engine::Options;
use testkit::{Script, own_profile};

/// Runs a script with our own profile.
fn check(text: &str) {
    testkit::check_with(&[own_profile()], text);
}

#[test]
fn a_pod_goes_where_one_zone_has_all_of_it() {
    // Node a has 12 CPUs free and node b has 8, but of a no zone has 8.
    check(
        "
        node a cpu=16 memory=128Gi zones=2x8 gpus=0,0,1,1 nvidia.com/gpu=4
        node b cpu=16 memory=128Gi zones=2x8 gpus=0,0,1,1 nvidia.com/gpu=4
        pod q on=a cpu=2 memory=1Gi exclusive placed=0
        pod r on=a cpu=2 memory=1Gi exclusive placed=1
        pod s on=b cpu=8 memory=1Gi exclusive placed=0
        pod p cpu=8 memory=16Gi nvidia.com/gpu=2 exclusive numa=single-numa
        step
        > p -> b
        inside b
        > s: cpus 0-7
        > p: cpus 8-15, nvidia.com/gpu 2-3
        pod t cpu=8 memory=16Gi nvidia.com/gpu=2 exclusive numa=single-numa
        step
        > t waits: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had no NUMA nodes free
        >+ that satisfy single-numa (estimated).
        ",
    );
}

#[test]
fn memory_that_no_kubelet_pins_counts_in_zones_too() {
    // Zones have 64 GiB each.
    check(
        "
        node a cpu=16 memory=128Gi zones=2x8
        pod q on=a cpu=2 memory=40Gi exclusive placed=0
        pod r on=a cpu=2 memory=40Gi exclusive placed=1
        pod p cpu=2 memory=32Gi exclusive numa=single-numa polite
        step
        > p waits: 0/1 nodes are available: 1 node(s) had no NUMA nodes free that satisfy
        >+ single-numa (estimated).
        pod p cpu=2 memory=32Gi exclusive numa=single-numa numa-resources=cpu
        step
        > p -> a
        ",
    );
}

#[test]
fn restricted_refuses_what_not_all_resources_agree_on() {
    let node = "node a cpu=16 zones=2x8 gpus=0,0,1,1 nvidia.com/gpu=4";
    for (told, why) in [
        ("", "no NUMA nodes free that satisfy restricted (estimated)"),
        (" policy=restricted", "a kubelet that would reject the pod with TopologyAffinityError"),
        (
            " policy=best-effort",
            "a kubelet whose topologyManagerPolicy does not guarantee restricted",
        ),
    ] {
        check(&format!(
            "
            {node}{told}
            pod p cpu=2 memory=1Gi nvidia.com/gpu=4 exclusive numa=restricted polite
            step
            > p waits: 0/1 nodes are available: 1 node(s) had {why}.
            "
        ));
    }
    check(&format!(
        "
        {node} policy=restricted
        pod p cpu=10 memory=1Gi nvidia.com/gpu=4 exclusive numa=restricted
        step
        > p -> a
        "
    ));
}

#[test]
fn an_isolated_pod_is_alone_in_its_zone_and_stays_so() {
    check(
        "
        node a cpu=8 zones=2x4
        pod q on=a cpu=1 memory=1Gi exclusive placed=0
        pod p cpu=2 memory=1Gi exclusive numa=isolated
        step
        > p -> a
        inside a
        > q: cpus 0
        > p: cpus 4-5
        pod r cpu=3 memory=1Gi exclusive
        step
        > r -> a
        pod s cpu=1 memory=1Gi exclusive polite
        step
        > s waits: 0/1 nodes are available: 1 node(s) had room only in NUMA nodes of isolated
        >+ pods.
        pod plain cpu=1
        step
        > plain -> a
        gone pod p
        after 10s
        step
        > s -> a
        ",
    );
}

#[test]
fn an_unknown_node_is_refused_only_to_pods_that_insist() {
    check(
        "
        node a cpu=8
        pod p cpu=1 numa=single-numa polite
        pod q cpu=1 memory=1Gi exclusive
        pod r cpu=1 numa=best-effort
        step
        > p waits: 0/1 nodes are available: 1 node(s) had unknown NUMA topology, and the pod
        >+ asks for single-numa.
        > q -> a
        > r -> a
        ",
    );
}

#[test]
fn a_pod_that_its_kubelet_would_turn_away_goes_elsewhere_unasked() {
    check(
        "
        node a cpu=8 zones=2x4 policy=single-numa-node
        node b cpu=4
        pod q on=a cpu=1 memory=1Gi exclusive
        pod r on=a cpu=4 memory=1Gi exclusive
        pod p cpu=4 memory=1Gi exclusive
        step
        > p -> b
        ",
    );
}

#[test]
fn preferred_zones_count_and_avoided_ones_are_left_alone() {
    for (words, cpus) in [
        ("numa-prefers=1", "4-5"),
        ("numa-prefers=0", "0-1"),
        ("numa-avoids=0", "4-5"),
        ("numa-prefers=7", "0-1"),
        ("numa-avoids=2,63", "0-1"),
    ] {
        check(&format!(
            "
            node a cpu=8 zones=2x4
            pod p cpu=2 memory=1Gi exclusive {words}
            step
            > p -> a
            inside a
            > p: cpus {cpus}
            "
        ));
    }
}

#[test]
fn a_gang_is_spread_over_zones_as_it_says() {
    for (spread, second, third) in
        [("packed", "2-3", "4-5"), ("balanced", "8-9", "2-3"), ("isolated", "8-9", "2-3")]
    {
        check(&format!(
            "
            node a cpu=16 zones=2x8
            pod p1 on=a cpu=2 memory=1Gi exclusive gang=g:3 numa-spread={spread} placed=0
            pod p2 cpu=2 memory=1Gi exclusive gang=g:3 numa-spread={spread}
            pod p3 cpu=2 memory=1Gi exclusive gang=g:3 numa-spread={spread}
            step
            > p2 -> a
            > p3 -> a
            inside a
            > p1: cpus 0-1
            > p2: cpus {second}
            > p3: cpus {third}
            "
        ));
    }
}

#[test]
fn a_balanced_gang_has_as_many_pods_in_every_zone() {
    // A zone that is half full fits better; that must not outweigh a pod too many in it.
    check(
        "
        node a cpu=16 memory=64Gi zones=2x8
        pod p1 cpu=2 memory=1Gi exclusive gang=g:4 numa-spread=balanced
        pod p2 cpu=2 memory=1Gi exclusive gang=g:4 numa-spread=balanced
        pod p3 cpu=2 memory=1Gi exclusive gang=g:4 numa-spread=balanced
        pod p4 cpu=2 memory=1Gi exclusive gang=g:4 numa-spread=balanced
        step
        > p1 -> a
        > p2 -> a
        > p3 -> a
        > p4 -> a
        inside a
        > p1: cpus 0-1
        > p2: cpus 8-9
        > p3: cpus 2-3
        > p4: cpus 10-11
        ",
    );
}

#[test]
fn a_packed_gang_stays_on_the_node_and_zone_of_its_first() {
    let mut run = Script::new(&[own_profile()], Options::default());
    for node in ["a", "b", "c"] {
        run.command(&format!("node {node} cpu=16 zones=2x8"));
    }
    run.command("pod p0 on=b cpu=2 memory=1Gi exclusive gang=g:1 numa-spread=packed placed=1");
    for n in 1..4 {
        let pod = "cpu=2 memory=1Gi exclusive gang=g:1 numa-spread=packed";
        run.command(&format!("pod p{n} {pod}"));
        assert_eq!(run.command("step"), [format!("p{n} -> b")]);
    }
    let cpus = ["8-9", "10-11", "12-13", "14-15"];
    let expected = (0..4).map(|n| format!("p{n}: cpus {}", cpus[n])).collect::<Vec<_>>();
    assert_eq!(run.command("inside b"), expected);
}

#[test]
fn zones_that_a_pod_was_bound_with_count_if_they_can_be_true() {
    for (placed, cpus) in [("1", "4-6"), ("5", "0-2"), ("0,1", "0-2")] {
        check(&format!(
            "
            node a cpu=8 zones=2x4
            pod p on=a cpu=3 memory=1Gi exclusive placed={placed}
            inside a
            > p: cpus {cpus}
            "
        ));
    }
    // Zone 0 never had five CPUs.
    check(
        "
        node a cpu=8 zones=2x4
        pod p on=a cpu=5 memory=1Gi exclusive placed=0
        inside a
        > p: cpus 0-4
        ",
    );
}

#[test]
fn less_important_pods_make_way_for_a_zone() {
    check(
        "
        node a cpu=12 zones=2x4 policy=single-numa-node
        pod q on=a cpu=3 memory=1Gi exclusive
        pod r on=a cpu=3 memory=1Gi exclusive
        pod p cpu=4 memory=1Gi exclusive priority=10
        step
        > p on a: evicts r
        > p waits: 0/1 nodes are available: 1 node(s) had a kubelet that would reject the pod
        >+ with TopologyAffinityError.
        ",
    );
}

#[test]
fn a_request_that_makes_no_sense_keeps_the_pod_waiting() {
    check(
        "
        node a cpu=8 zones=2x4
        pod p cpu=1 numa-broken=nonsense
        step
        > p waits: 0/1 nodes are available: NUMA request: nonsense.
        ",
    );
}
