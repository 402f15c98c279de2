//! Gangs that ask for something of the cluster as a whole before any of their pods is tried.

use testkit::check;

/// Its pods would fit; nodes that they may not use count as well, and so does what others take.
#[test]
fn a_gang_is_not_planned_while_all_nodes_together_have_less_free_than_it_asks_for() {
    check(
        "
        podgroup coscheduling/g min=2 minres=cpu:6 minres=gpu:2
        node a
        node b closed gpu=2
        pod q on=b cpu=3
        pod g1 cpu=1 group=coscheduling/g
        pod g2 cpu=1 group=coscheduling/g
        step
        > g1 waits: waiting for minResources of the gang: 6 cpu are asked for, 5 are free on all
        >+ nodes
        > g2 waits: waiting for minResources of the gang: 6 cpu are asked for, 5 are free on all
        >+ nodes
        > gang g waits: waiting for minResources of the gang: 6 cpu are asked for, 5 are free on
        >+ all nodes
        gone pod q
        after 1s
        step
        > g1 -> a
        > g2 -> a
        ",
    );
}

#[test]
fn what_all_nodes_do_not_have_together_can_never_fit() {
    check(
        "
        podgroup coscheduling/g min=1 minres=gpu:3
        node a gpu=1
        pod g1 group=coscheduling/g
        step
        > g1 waits: waiting for minResources of the gang: 3 nvidia.com/gpu are asked for, 1 are
        >+ free on all nodes, which have 1. It can never fit this cluster.
        node b gpu=2
        after 1s
        step
        > g1 -> a
        ",
    );
}

/// What it takes itself does not count against it, nor what others take later.
#[test]
fn a_gang_that_has_begun_is_not_asked_again() {
    check(
        "
        podgroup coscheduling/g min=2 minres=cpu:4
        node a
        pod g1 cpu=1 group=coscheduling/g
        pod g2 cpu=1 group=coscheduling/g
        step
        > g1 -> a
        > g2 -> a
        confirm g1
        confirm g2
        step
        > gang g started
        pod q on=a cpu=1
        gone pod g2
        pod g3 cpu=1 group=coscheduling/g
        step
        > gang g degraded
        > g3 -> a
        ",
    );
}

/// Room that is kept for pods which others are to make is not free.
#[test]
fn room_that_is_kept_is_not_free() {
    check(
        "
        podgroup coscheduling/g min=1 minres=cpu:3
        node a
        pod driver cpu=1 gang=d/3 workers=2@1
        step
        > driver -> a
        pod g1 group=coscheduling/g
        step
        > gang d has room kept for 2
        > g1 waits: waiting for minResources of the gang: 3 cpu are asked for, 1 are free on all
        >+ nodes
        ",
    );
}
