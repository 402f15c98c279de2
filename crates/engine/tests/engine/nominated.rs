//! Nodes that are proposed for a pod.

use testkit::check;

#[test]
fn a_proposed_node_that_takes_the_pod_is_not_compared_with_others() {
    check(
        "
        node a cpu=1
        node b cpu=64
        pod p cpu=1 nominated=a
        pod q cpu=1
        step
        > p -> a
        > q -> b
        ",
    );
}

#[test]
fn a_proposed_node_that_does_not_take_the_pod_is_one_of_many() {
    check(
        "
        node a cpu=1
        node b cpu=2
        pod p cpu=2 nominated=a
        pod q nominated=gone
        pod r cpu=9 nominated=a
        step
        > p -> b
        > q -> a
        > r waits: 0/2 nodes are available: 2 Insufficient cpu.
        ",
    );
}

#[test]
fn a_pod_whose_own_terms_exclude_each_other_has_no_use_for_a_proposal() {
    check(
        "
        node a
        pod p nominated=a require=@metadata.name:in:a&@metadata.name:in:b
        step
        > p waits: 0/1 nodes are available: pod affinity terms conflict.
        pod q nominated=a require=@metadata.name:in:b
        step
        > q waits: 0/1 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity].
        ",
    );
}

#[test]
fn a_proposal_is_no_reason_to_try_a_pod_again() {
    check(
        "
        node a cpu=1
        pod p cpu=2 priority=-1
        pod low priority=-1
        step
        > p waits: 0/1 nodes are available: 1 Insufficient cpu.
        > low -> a
        pod p cpu=2 priority=-1 nominated=a
        queue
        > 1 parked
        pod q1 cpu=1
        pod q2 cpu=1
        # Neither does it change whose turn it is, but the node is left to it.
        pod q2 cpu=1 nominated=a
        step
        > q1 waits: 0/1 nodes are available: 1 Insufficient cpu.
        > q2 -> a
        ",
    );
}

#[test]
fn a_proposal_that_is_taken_back_does_not_count() {
    check(
        "
        node a cpu=1
        node b cpu=64
        pod p nominated=a
        pod p
        step
        > p -> b
        ",
    );
}
