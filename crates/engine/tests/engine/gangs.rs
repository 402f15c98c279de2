//! Gangs: planned whole, bound whole, and what becomes of those that are not whole.

use testkit::check;

#[test]
fn a_gang_that_does_not_fit_whole_binds_nothing_and_all_once_there_is_room() {
    check(
        "
        node a cpu=4
        node b cpu=3
        pod g1 cpu=1 gang=g/8
        pod g2 cpu=1 gang=g/8
        pod g3 cpu=1 gang=g/8
        pod g4 cpu=1 gang=g/8
        pod g5 cpu=1 gang=g/8
        pod g6 cpu=1 gang=g/8
        pod g7 cpu=1 gang=g/8
        step
        queue
        > 1 gated
        pod g8 cpu=1 gang=g/8
        step 1
        > g1 waits: gang g: room for 7 of at least 8; g8: 0/2 nodes are available: 2 Insufficient cpu. It can never fit this cluster.
        > g2 waits: gang g: room for 7 of at least 8; g8: 0/2 nodes are available: 2 Insufficient cpu. It can never fit this cluster.
        > g3 waits: gang g: room for 7 of at least 8; g8: 0/2 nodes are available: 2 Insufficient cpu. It can never fit this cluster.
        > g4 waits: gang g: room for 7 of at least 8; g8: 0/2 nodes are available: 2 Insufficient cpu. It can never fit this cluster.
        > g5 waits: gang g: room for 7 of at least 8; g8: 0/2 nodes are available: 2 Insufficient cpu. It can never fit this cluster.
        > g6 waits: gang g: room for 7 of at least 8; g8: 0/2 nodes are available: 2 Insufficient cpu. It can never fit this cluster.
        > g7 waits: gang g: room for 7 of at least 8; g8: 0/2 nodes are available: 2 Insufficient cpu. It can never fit this cluster.
        > g8 waits: gang g: room for 7 of at least 8; g8: 0/2 nodes are available: 2 Insufficient cpu. It can never fit this cluster.
        > gang g waits: gang g: room for 7 of at least 8; g8: 0/2 nodes are available: 2 Insufficient cpu. It can never fit this cluster.
        load a
        > 0 pods, 0m cpu, 0 memory
        node b cpu=4
        after 1s
        step
        > g1 -> a
        > g2 -> b
        > g3 -> a
        > g4 -> b
        > g5 -> a
        > g6 -> b
        > g7 -> a
        > g8 -> b
        ",
    );
}
