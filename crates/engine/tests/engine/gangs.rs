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
        > g1 waits: gang g: room for 7 of at least 8; g8: 0/2 nodes are available: 2 Insufficient
        >+ cpu. It can never fit this cluster.
        > g2 waits: gang g: room for 7 of at least 8; g8: 0/2 nodes are available: 2 Insufficient
        >+ cpu. It can never fit this cluster.
        > g3 waits: gang g: room for 7 of at least 8; g8: 0/2 nodes are available: 2 Insufficient
        >+ cpu. It can never fit this cluster.
        > g4 waits: gang g: room for 7 of at least 8; g8: 0/2 nodes are available: 2 Insufficient
        >+ cpu. It can never fit this cluster.
        > g5 waits: gang g: room for 7 of at least 8; g8: 0/2 nodes are available: 2 Insufficient
        >+ cpu. It can never fit this cluster.
        > g6 waits: gang g: room for 7 of at least 8; g8: 0/2 nodes are available: 2 Insufficient
        >+ cpu. It can never fit this cluster.
        > g7 waits: gang g: room for 7 of at least 8; g8: 0/2 nodes are available: 2 Insufficient
        >+ cpu. It can never fit this cluster.
        > g8 waits: gang g: room for 7 of at least 8; g8: 0/2 nodes are available: 2 Insufficient
        >+ cpu. It can never fit this cluster.
        > gang g waits: gang g: room for 7 of at least 8; g8: 0/2 nodes are available: 2
        >+ Insufficient cpu. It can never fit this cluster.
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

/// One gang is complete and the other is untouched; when the first leaves, the second has room.
#[test]
fn two_gangs_and_room_for_one_and_a_half() {
    check(
        "
        node a cpu=6
        pod a1 cpu=2 gang=a/2
        pod b1 cpu=2 gang=b/2
        pod a2 cpu=2 gang=a/2
        pod b2 cpu=2 gang=b/2
        step
        > a1 -> a
        > a2 -> a
        > b1 waits: gang b: room for 1 of at least 2; b2: 0/1 nodes are available: 1 Insufficient
        >+ cpu. It fits when 1 more node is free.
        > b2 waits: gang b: room for 1 of at least 2; b2: 0/1 nodes are available: 1 Insufficient
        >+ cpu. It fits when 1 more node is free.
        > gang b waits: gang b: room for 1 of at least 2; b2: 0/1 nodes are available: 1
        >+ Insufficient cpu. It fits when 1 more node is free.
        load a
        > 2 pods, 4000m cpu, 0 memory
        confirm a1
        confirm a2
        step
        > gang a started
        pod a1 cpu=2 gang=a/2 on=a finished
        after 1s
        step
        > b1 -> a
        > b2 -> a
        ",
    );
}

#[test]
fn pods_beyond_the_minimum_take_what_is_left() {
    check(
        "
        node a cpu=3
        pod g1 cpu=1 gang=g/2
        pod g2 cpu=1 gang=g/2
        pod g3 cpu=1 gang=g/2
        pod g4 cpu=1 gang=g/2
        step
        > g1 -> a
        > g2 -> a
        > g3 -> a
        > g4 waits: 0/1 nodes are available: 1 Insufficient cpu.
        confirm g1
        confirm g2
        confirm g3
        pod g5 cpu=1 gang=g/2
        step
        > gang g started
        > g5 waits: 0/1 nodes are available: 1 Insufficient cpu.
        node b cpu=1
        after 1s
        step
        > g4 -> b
        > g5 waits: 0/2 nodes are available: 2 Insufficient cpu.
        ",
    );
}

/// The largest goes first onto the only node that takes the small one, unless whoever found no
/// place goes first; and the third case needs places to be taken back.
#[test]
fn unlike_members_are_tried_in_more_than_one_order() {
    check(
        "
        node big cpu=8 disk=fast
        node small cpu=4
        pod large cpu=4 gang=g/2
        pod picky cpu=3 select=disk:fast gang=g/2
        pod other cpu=4 priority=9
        step 1
        > other -> big
        step
        > picky -> big
        > large -> small
        ",
    );
    check(
        "
        node a cpu=10
        node b cpu=10
        node c cpu=10
        pod g1 cpu=5 gang=g/8
        pod g2 cpu=5 gang=g/8
        pod g3 cpu=4 gang=g/8
        pod g4 cpu=4 gang=g/8
        pod g5 cpu=3 gang=g/8
        pod g6 cpu=3 gang=g/8
        pod g7 cpu=3 gang=g/8
        pod g8 cpu=3 gang=g/8
        step
        > g1 -> a
        > g2 -> a
        > g3 -> b
        > g4 -> c
        > g5 -> b
        > g6 -> b
        > g7 -> c
        > g8 -> c
        ",
    );
}

#[test]
fn a_gang_waits_for_its_pods_and_says_so_after_a_second() {
    check(
        "
        node a
        pod g1 gang=g/3
        pod g2 gang=g/3
        step
        next
        > 1000ms
        after 1s
        step
        > g1 waits: waiting for the gang: 2 of at least 3 are there
        > g2 waits: waiting for the gang: 2 of at least 3 are there
        > gang g waits: waiting for the gang: 2 of at least 3 are there
        pod g3 gang=g/3
        step
        > g1 -> a
        > g2 -> a
        > g3 -> a
        ",
    );
}

#[test]
fn objects_say_how_many_start_together() {
    check(
        "
        node a cpu=4
        pod g1 cpu=1 group=native/g
        pod g2 cpu=1 group=native/g
        after 1s
        step
        > g1 waits: waiting for PodGroup \"g\", which is not there
        > g2 waits: waiting for PodGroup \"g\", which is not there
        > gang g waits: waiting for PodGroup \"g\", which is not there
        podgroup native/g min=2
        step
        > g1 -> a
        > g2 -> a
        podgroup coscheduling/h min=2
        pod h1 cpu=1 group=coscheduling/h
        step
        pod h2 cpu=1 group=coscheduling/h
        step
        > h1 -> a
        > h2 -> a
        # Nobody serves Volcano's kind here, so its name only keeps pods together.
        pod v1 group=volcano/v
        step
        > v1 -> a
        ",
    );
}

#[test]
fn a_refused_binding_is_tried_elsewhere_at_once() {
    check(
        "
        node a cpu=1
        node b cpu=1
        node c cpu=1
        pod g1 cpu=1 gang=g/2
        pod g2 cpu=1 gang=g/2
        step
        > g1 -> a
        > g2 -> c
        refuse g2
        step
        > g2 -> b
        confirm g1
        confirm g2
        step
        > gang g started
        ",
    );
}

/// Pods that a controller makes again are taken back; others are left where they are.
#[test]
fn a_gang_that_cannot_be_completed_is_taken_back() {
    check(
        "
        node a cpu=2
        pod g1 cpu=1 gang=g/2 remade on=a
        pod g2 cpu=1 gang=g/2 remade
        pod other cpu=1 on=a
        step in full
        > g2 waits: gang g: room for 1 of at least 2; g2: 0/1 nodes are available: 1 Insufficient
        >+ cpu. It fits when 1 more node is free.
        > gang g waits: gang g: room for 1 of at least 2; g2: 0/1 nodes are available: 1
        >+ Insufficient cpu. It fits when 1 more node is free.
        next
        > 10000ms
        after 10s
        step
        > gang g disbands: evicts [g1], leaves []
        pod h1 cpu=1 gang=h/2 on=a
        pod h2 cpu=1 gang=h/2
        step
        > h2 waits: gang h: room for 1 of at least 2; h2: 0/1 nodes are available: 1 Insufficient
        >+ cpu. It fits when 1 more node is free.
        > gang h waits: gang h: room for 1 of at least 2; h2: 0/1 nodes are available: 1
        >+ Insufficient cpu. It fits when 1 more node is free.
        after 10s
        step
        > gang h disbands: evicts [], leaves [h1]
        after 10s
        step
        ",
    );
}

#[test]
fn a_pod_that_takes_the_place_of_another_goes_first() {
    check(
        "
        node a cpu=2
        pod g1 cpu=1 gang=g/2 on=a started=100 created=90
        pod g2 cpu=1 gang=g/2 on=a started=100 created=90
        step
        gone pod g2
        step
        pod older cpu=1 created=80
        pod g3 cpu=1 gang=g/2 created=120
        step
        > gang g degraded
        > g3 -> a
        > older waits: 0/1 nodes are available: 1 Insufficient cpu.
        ",
    );
}

#[test]
fn a_gang_is_in_one_domain_and_the_smallest_that_holds_it() {
    check(
        "
        node a1 cpu=2 rack=a
        node a2 cpu=2 rack=a
        node a3 cpu=2 rack=a
        node b1 cpu=2 rack=b
        node b2 cpu=2 rack=b
        node c1 cpu=2 rack=c
        node x cpu=99
        podgroup native/g min=4 topology=rack
        pod g1 cpu=1 group=native/g
        pod g2 cpu=1 group=native/g
        pod g3 cpu=1 group=native/g
        pod g4 cpu=1 group=native/g
        step
        > g1 -> b1
        > g2 -> b2
        > g3 -> b2
        > g4 -> b1
        pod g5 cpu=1 group=native/g
        step
        > g5 waits: 0/7 nodes are available: 2 Insufficient cpu, 5 node(s) were outside the
        >+ topology domain of the gang.
        ",
    );
}

#[test]
fn groups_of_a_composite_start_together() {
    check(
        "
        node a cpu=3
        podgroup composite/top min=2
        podgroup native/g min=2 parent=top
        podgroup native/h min=2 parent=top
        pod g1 cpu=1 group=native/g
        pod g2 cpu=1 group=native/g
        step
        pod h1 cpu=1 group=native/h
        pod h2 cpu=1 group=native/h
        step in full
        > g1 waits: gang h: room for 1 of at least 2; h2: 0/1 nodes are available: 1 Insufficient
        >+ cpu. It can never fit this cluster.
        > g2 waits: gang h: room for 1 of at least 2; h2: 0/1 nodes are available: 1 Insufficient
        >+ cpu. It can never fit this cluster.
        > h1 waits: gang h: room for 1 of at least 2; h2: 0/1 nodes are available: 1 Insufficient
        >+ cpu. It can never fit this cluster.
        > h2 waits: gang h: room for 1 of at least 2; h2: 0/1 nodes are available: 1 Insufficient
        >+ cpu. It can never fit this cluster.
        > gang top waits: gang h: room for 1 of at least 2; h2: 0/1 nodes are available: 1
        >+ Insufficient cpu. It can never fit this cluster.
        node b cpu=1
        after 1s
        step
        > g1 -> a
        > g2 -> a
        > h1 -> a
        > h2 -> b
        ",
    );
}

#[test]
fn gangs_wait_for_others_to_succeed() {
    check(
        "
        node a
        pod p1 gang=prepare/1
        pod t1 gang=train/1 after=prepare
        step
        > p1 -> a
        > t1 waits: waiting for gang \"prepare\" to succeed
        confirm p1
        step
        pod p1 gang=prepare/1 on=a finished
        after 1s
        step
        > t1 waits: waiting for gang \"prepare\" to succeed
        succeeded p1 prepare
        after 2s
        step
        > t1 -> a
        pod c1 gang=c/1 after=d
        pod d1 gang=d/1 after=c
        step
        > c1 waits: gangs wait for each other: c -> d -> c
        > d1 waits: gangs wait for each other: d -> c -> d
        ",
    );
}

#[test]
fn a_gang_would_fit_after_preemption() {
    check(
        "
        node a cpu=2
        pod low cpu=1 on=a
        pod g1 cpu=1 gang=g/2 priority=5
        pod g2 cpu=1 gang=g/2 priority=5
        step
        > g1 waits: gang g: room for 1 of at least 2; g2: 0/1 nodes are available: 1 Insufficient
        >+ cpu. It would fit after preemption.
        > g2 waits: gang g: room for 1 of at least 2; g2: 0/1 nodes are available: 1 Insufficient
        >+ cpu. It would fit after preemption.
        > gang g waits: gang g: room for 1 of at least 2; g2: 0/1 nodes are available: 1
        >+ Insufficient cpu. It would fit after preemption.
        ",
    );
}

#[test]
fn a_gang_that_is_evicted_whole_goes_from_all_its_nodes() {
    check(
        "
        node a cpu=1
        node b cpu=1
        node c cpu=2
        podgroup native/g min=2 whole
        pod g1 cpu=1 group=native/g on=a
        pod g2 cpu=1 group=native/g on=b
        pod low cpu=2 on=c
        pod urgent cpu=1 priority=5
        step in full
        > gang g started
        > urgent on c: evicts low
        > urgent waits: 0/3 nodes are available: 3 Insufficient cpu. preemption: found a
        >+ potential placement for pod on node c, preempting 1 victims
        gone pod urgent
        gone pod low
        pod other cpu=2 on=c priority=9
        pod urgent2 cpu=1 priority=5
        step
        > urgent2 on b: evicts g1, g2
        > urgent2 waits: 0/3 nodes are available: 3 Insufficient cpu.
        ",
    );
}

#[test]
fn whoever_must_be_near_others_goes_last() {
    check(
        "
        node a cpu=4 zone=x
        node b cpu=1 zone=y
        pod large cpu=3 near=zone,app:db gang=g/2
        pod small cpu=1 label=app:db gang=g/2
        step
        > small -> a
        > large -> a
        ",
    );
}
