//! What would help a gang for which there is no room.

use testkit::check;

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
