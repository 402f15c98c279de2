//! What random worlds found about gangs, each as small as it gets.

use testkit::check;

/// Where no other node takes a pod, the node that refused it is asked again after a while.
#[test]
fn a_node_that_refused_is_asked_again_where_there_is_no_other() {
    check(
        "
        node a cpu=2
        pod g1 cpu=1 gang=g/2 remade
        pod g2 cpu=1 gang=g/2 remade
        step
        > g1 -> a
        > g2 -> a
        confirm g1
        refuse g2
        step
        > gang g was refused
        queue
        > 1 backoff
        after 1s
        step
        > g2 -> a
        ",
    );
}

/// A gang is not taken back later because its last pod was on its way for a while.
#[test]
fn time_counts_from_the_first_pod_on_a_node() {
    check(
        "
        node a cpu=2
        pod g1 cpu=1 gang=g/2 remade
        pod g2 cpu=1 gang=g/2 remade
        step
        > g1 -> a
        > g2 -> a
        confirm g1
        after 9s
        refuse g2
        gone pod g2
        after 1s
        step
        > gang g disbands: evicts [g1], leaves []
        ",
    );
}

/// Whoever sees every pod of a gang knows that it never had enough, though one of them is newer
/// than another one's start.
#[test]
fn a_pod_that_comes_while_others_are_on_their_way_does_not_complete_a_gang() {
    check(
        "
        node a cpu=2
        pod g1 cpu=1 gang=g/2 remade created=10
        pod g2 cpu=1 gang=g/2 remade created=10
        step
        > g1 -> a
        > g2 -> a
        confirm g1
        pod g1 cpu=1 gang=g/2 remade created=10 on=a started=11
        gone pod g2
        pod other cpu=1 on=a
        pod g3 cpu=1 gang=g/2 remade created=20
        step
        > g3 waits: gang g: room for 1 of at least 2; g3: 0/1 nodes are available: 1 Insufficient
        >+ cpu. It fits when 1 more node is free.
        > gang g waits: gang g: room for 1 of at least 2; g3: 0/1 nodes are available: 1
        >+ Insufficient cpu. It fits when 1 more node is free.
        after 10s
        step
        > gang g disbands: evicts [g1], leaves []
        ",
    );
}

/// What takes the place of a lost pod does not wait for what takes the place of another.
#[test]
fn a_gang_that_started_is_mended_pod_by_pod() {
    check(
        "
        node a cpu=4
        pod g1 cpu=1 gang=g/3 on=a started=100 created=90
        pod g2 cpu=1 gang=g/3 on=a started=100 created=90
        pod g3 cpu=1 gang=g/3 on=a started=100 created=90
        step
        gone pod g2
        gone pod g3
        pod g4 cpu=1 gang=g/3 created=120
        step
        > gang g degraded
        > g4 -> a
        ",
    );
}

/// A gang that lost all its pods waits for room for those that are there, not for its minimum.
#[test]
fn a_gang_that_lost_all_its_pods_is_woken_by_room_for_the_one_that_waits() {
    check(
        "
        node a cpu=3
        pod g1 cpu=1 gang=g/3 on=a started=100 created=90
        pod g2 cpu=1 gang=g/3 on=a started=100 created=90
        pod g3 cpu=1 gang=g/3 on=a started=100 created=90
        pod g4 cpu=1 gang=g/3 created=120
        step
        > g4 waits: 0/1 nodes are available: 1 Insufficient cpu.
        gone pod g1
        pod x1 cpu=1 on=a
        gone pod g2
        pod x2 cpu=1 on=a
        gone pod g3
        pod x3 cpu=1 on=a
        after 10s
        step
        > gang g degraded
        > g4 waits: gang g: room for 0 of at least 3; g4: 0/1 nodes are available: 1 Insufficient
        >+ cpu. It fits when 1 more node is free.
        > gang g waits: gang g: room for 0 of at least 3; g4: 0/1 nodes are available: 1
        >+ Insufficient cpu. It fits when 1 more node is free.
        gone pod x1
        after 10s
        step
        > g4 -> a
        ",
    );
}

/// A gate that is lifted is noticed also where something else keeps the gang back.
#[test]
fn a_gang_whose_gates_are_lifted_says_what_else_it_waits_for() {
    check(
        "
        node a cpu=4
        pod g1 cpu=1 gate=quota group=native/g
        step
        pod g1 cpu=1 group=native/g
        after 1s
        step
        > g1 waits: waiting for PodGroup \"g\", which is not there
        > gang g waits: waiting for PodGroup \"g\", which is not there
        ",
    );
}

/// A node that is gone takes along what a gang had to be far from.
#[test]
fn a_gang_is_woken_when_a_node_is_gone() {
    check(
        "
        node a cpu=8 label=zone:a
        node b cpu=8 label=zone:a
        pod db cpu=8 label=app:db on=b
        pod g1 cpu=1 gang=g/2 far=zone,app:db
        pod g2 cpu=1 gang=g/2 far=zone,app:db
        step
        > g1 waits: gang g: room for 0 of at least 2; g1: 0/2 nodes are available: 1 Insufficient
        >+ cpu, 1 node(s) didn't match pod anti-affinity rules. It fits when 1 more node is free.
        > g2 waits: gang g: room for 0 of at least 2; g1: 0/2 nodes are available: 1 Insufficient
        >+ cpu, 1 node(s) didn't match pod anti-affinity rules. It fits when 1 more node is free.
        > gang g waits: gang g: room for 0 of at least 2; g1: 0/2 nodes are available: 1
        >+ Insufficient cpu, 1 node(s) didn't match pod anti-affinity rules. It fits when 1 more
        >+ node is free.
        gone node b
        after 1s
        step
        > g1 -> a
        > g2 -> a
        ",
    );
}

/// Only room for pods to come is needed, and the one that is there finds none.
#[test]
fn a_gang_may_need_nothing_but_room_for_pods_to_come() {
    check(
        "
        node a cpu=3
        pod d cpu=1 gang=s/2 workers=3@1 on=a
        pod e1 cpu=9 gang=s/2
        step
        > gang s has room kept for 2
        > e1 waits: 0/1 nodes are available: 1 Insufficient cpu.
        ",
    );
}

/// A pod that goes elsewhere leaves the room that was kept for it to others.
#[test]
fn room_that_was_kept_and_is_not_taken_wakes_others() {
    check(
        "
        node a cpu=2 label=disk:ssd
        pod d cpu=1 gang=s/2 workers=1@1
        step
        > d -> a
        confirm d
        step
        > gang s has room kept for 1
        > gang s started
        pod thief cpu=1 select=disk:ssd
        step
        > thief waits: 0/1 nodes are available: 1 Insufficient cpu.
        node b cpu=1 label=disk:hdd
        after 1s
        step
        > thief waits: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's
        >+ node affinity/selector.
        pod e cpu=1 gang=s/2 select=disk:hdd
        step
        > e -> b
        after 2s
        step
        > thief -> a
        ",
    );
}

/// Nothing is kept for a pod that was sent back.
#[test]
fn room_is_not_kept_without_the_pod_that_makes_others() {
    check(
        "
        node a cpu=2
        pod d cpu=1 gang=s/2 workers=1@1
        step
        > d -> a
        refuse d
        load a
        > 0 pods, 0m cpu, 0 memory
        ",
    );
}

/// Room is needed for as many as start together, not for all that a pod makes.
#[test]
fn a_driver_needs_room_for_as_many_as_start_together() {
    check(
        "
        node a cpu=3
        pod d cpu=1 gang=s/2 workers=4@1
        step
        > d -> a
        load a
        > 3 pods, 3000m cpu, 0 memory
        ",
    );
}

/// Room for pods to come is of no use where the one that makes them finds none.
#[test]
fn a_driver_is_not_left_out() {
    check(
        "
        node a cpu=3
        pod d cpu=4 gang=s/2 workers=3@1
        step
        > d waits: gang s: room for 0 of at least 2; d: 0/1 nodes are available: 1 Insufficient
        >+ cpu. It can never fit this cluster.
        > gang s waits: gang s: room for 0 of at least 2; d: 0/1 nodes are available: 1
        >+ Insufficient cpu. It can never fit this cluster.
        load a
        > 0 pods, 0m cpu, 0 memory
        ",
    );
}

/// A gang that waits for room for all its pods is tried again when one of them is gone.
#[test]
fn a_gang_that_lost_a_waiting_pod_is_tried_again() {
    check(
        "
        node a cpu=4
        pod g1 cpu=3 gang=g/2
        pod g2 cpu=3 gang=g/2
        pod g3 cpu=9 gang=g/2
        step
        > g1 waits: gang g: room for 1 of at least 2; g2: 0/1 nodes are available: 1 Insufficient
        >+ cpu. It can never fit this cluster.
        > g2 waits: gang g: room for 1 of at least 2; g2: 0/1 nodes are available: 1 Insufficient
        >+ cpu. It can never fit this cluster.
        > g3 waits: gang g: room for 1 of at least 2; g2: 0/1 nodes are available: 1 Insufficient
        >+ cpu. It can never fit this cluster.
        > gang g waits: gang g: room for 1 of at least 2; g2: 0/1 nodes are available: 1
        >+ Insufficient cpu. It can never fit this cluster.
        gone pod g3
        queue
        > 1 active
        node b cpu=3
        ",
    );
}

/// The last pod that decided where the others have to be is gone.
#[test]
fn a_domain_that_nobody_is_in_any_more_wakes_those_who_had_to_be_there() {
    check(
        "
        podgroup coscheduling/g min=1 topology=rack
        node a cpu=1 rack=x
        node b cpu=1 rack=y
        pod g1 cpu=1 group=coscheduling/g on=a
        pod g2 cpu=1 group=coscheduling/g
        pod other cpu=1 on=a
        step
        > g2 waits: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were outside the topology
        >+ domain of the gang.
        gone pod g1
        after 1s
        step
        > g2 -> b
        ",
    );
}

/// After a restart, a pod that was made when another one ran already tells that its gang had
/// started, also if it comes to others that wait.
#[test]
fn a_gang_that_is_found_in_part_is_mended_if_a_pod_is_newer_than_what_runs() {
    check(
        "
        node a cpu=3
        pod g1 cpu=1 gang=g/4 remade on=a started=100 created=90
        pod g2 cpu=1 gang=g/4 remade created=90
        pod g3 cpu=1 gang=g/4 remade created=110
        step
        > gang g degraded
        > g2 -> a
        > g3 -> a
        after 10s
        step
        ",
    );
}

/// A pod that must be near others has its turn after them, wherever they may go. The best node for
/// the first one leads nowhere: it is in no zone, and the pod that is in one is on a node that
/// takes nobody else.
#[test]
fn whoever_must_be_near_others_goes_last_on_every_node_there_is() {
    check(
        "
        node best cpu=4
        node full cpu=1 zone=x
        pod there cpu=1 on=full label=app:db
        node last cpu=4 zone=y taint=old:PreferNoSchedule
        pod a cpu=1 gang=g/3 label=app:db near=zone,app:db
        pod b cpu=1 gang=g/3 label=app:db near=zone,app:db
        pod c cpu=1 gang=g/3 label=app:db
        step
        > c -> last
        > a -> last
        > b -> last
        ",
    );
}

/// Swarm seed 1356: what is gone says nothing of whether the gang ever had enough.
#[test]
fn pods_of_a_gang_that_are_gone_do_not_tell_that_it_started() {
    check(
        "
        node a cpu=9
        pod g1 cpu=1 gang=g/3 on=a started=100 created=90
        pod g2 cpu=1 gang=g/3 created=90
        gone pod g1
        pod g4 cpu=1 gang=g/3 created=120
        step
        pod g5 cpu=1 gang=g/3 created=120
        step
        > g2 -> a
        > g4 -> a
        > g5 -> a
        ",
    );
}

/// Swarm seed 50816: pods on nodes that were found while their gang was a part of another one tell
/// that it started, also once it stands for itself.
#[test]
fn a_part_that_was_found_on_nodes_is_mended_when_it_stands_for_itself() {
    check(
        "
        node a cpu=9
        podgroup native/g min=3 parent=top
        pod g1 cpu=1 group=native/g on=a started=100 created=90
        pod g2 cpu=1 group=native/g created=120
        step
        podgroup native/g min=3
        step
        > gang g degraded
        > g2 -> a
        ",
    );
}
