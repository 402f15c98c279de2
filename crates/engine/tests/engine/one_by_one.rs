//! Pods of gangs that go one by one: they evict others as plain pods do.

use testkit::check;

/// A group with a name only, a PodGroup with policy basic, and a minimum of 1.
#[test]
fn pods_of_a_gang_without_a_minimum_evict_less_important_pods() {
    let claims = ["gang=g", "gang=g/1", "group=native/g"];
    for claim in claims {
        let object = if claim.starts_with("group") { "podgroup native/g min=1" } else { "" };
        let report = if claim.starts_with("group") {
            "> gang g waits: 0/1 nodes are available: 1 Insufficient cpu. preemption: found a \
             potential placement for pod on node a, preempting 1 victims"
        } else {
            ""
        };
        check(&format!(
            "
            {object}
            node a cpu=2
            pod low on=a cpu=2 priority=1
            pod g1 cpu=2 priority=9 {claim}
            step
            > g1 on a: evicts low
            > g1 waits: 0/1 nodes are available: 1 Insufficient cpu.
            {report}
            gone pod low
            # It does not wait for its backoff.
            step
            > g1 -> a
            "
        ));
    }
}

#[test]
fn a_pod_that_joins_a_gang_which_runs_evicts_less_important_pods() {
    check(
        "
        node a cpu=2
        node b cpu=2
        pod g1 on=a cpu=2 gang=g/2 priority=5
        pod g2 on=b cpu=1 gang=g/2 priority=5
        pod low on=b cpu=1 priority=1
        pod g3 cpu=1 gang=g/2 priority=5
        pod polite cpu=1 gang=g/2 priority=5 polite
        step in full
        > g3 on b: evicts low
        > g3 waits: 0/2 nodes are available: 2 Insufficient cpu. preemption: found a potential \
        placement for pod on node b, preempting 1 victims
        > polite waits: 0/2 nodes are available: 2 Insufficient cpu. preemption: not eligible due \
        to preemptionPolicy=Never.
        gone pod low
        step
        > g3 -> b
        ",
    );
}

/// Nobody is evicted from a node that is outside the domain of the gang, though that would do less
/// harm there.
#[test]
fn others_are_evicted_in_the_topology_domain_of_the_gang_only() {
    check(
        "
        podgroup native/g min=1 topology=rack
        node a cpu=2 rack=1
        node b cpu=2 rack=2
        pod g1 on=a cpu=1 group=native/g priority=5
        pod low on=a cpu=1 priority=3
        pod lowest on=b cpu=2 priority=1
        step
        > gang g started
        pod g2 cpu=1 group=native/g priority=5
        step in full
        > g2 on a: evicts low
        > g2 waits: 0/2 nodes are available: 2 Insufficient cpu. preemption: found a potential \
        placement for pod on node a, preempting 1 victims
        pod g3 cpu=2 group=native/g priority=5
        step in full
        > g3 waits: 0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are \
        available: 1 Insufficient cpu, 1 Preemption is not helpful for scheduling.
        ",
    );
}

/// Label changes, not only pods that come and go, end that a node is outside.
#[test]
fn a_pod_outside_the_domain_of_its_gang_is_tried_when_a_node_comes_into_it() {
    check(
        "
        podgroup native/g min=1 topology=rack
        node a cpu=1 rack=1
        node b cpu=2 rack=2
        pod g1 on=a cpu=1 group=native/g
        pod g2 cpu=1 group=native/g
        step
        > gang g started
        > g2 waits: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were outside the
        >+ topology domain of the gang.
        node b cpu=2 rack=1
        after 1s
        step
        > g2 -> b
        ",
    );
}

/// Groups of the API say in their status that they have started, whatever they ask for.
#[test]
fn a_pod_group_with_policy_basic_starts_with_its_first_pod() {
    check(
        "
        podgroup native/g min=1
        node a cpu=1
        pod g1 cpu=1 group=native/g
        pod g2 cpu=1 group=native/g
        step
        > g1 -> a
        > g2 waits: 0/1 nodes are available: 1 Insufficient cpu.
        confirm g1
        step
        > gang g started
        # That stays so, and is said once.
        gone pod g1
        node a cpu=500m
        after 5s
        step
        > g2 waits: 0/1 nodes are available: 1 Insufficient cpu.
        ",
    );
}

/// A part of a gang of gangs that was not needed comes up later.
#[test]
fn a_part_of_a_gang_of_gangs_starts_later_than_the_others() {
    check(
        "
        podgroup composite/c min=1
        podgroup native/p min=1 parent=c
        podgroup native/q min=1 parent=c
        node a cpu=1
        pod p1 cpu=1 group=native/p
        step
        > p1 -> a
        confirm p1
        step
        > gang c started
        > gang p started
        node b cpu=1
        pod q1 cpu=1 group=native/q
        step
        > q1 -> b
        confirm q1
        step
        > gang q started
        ",
    );
}

/// The gang would have too few pods then, and the one that comes would have to wait for it again.
#[test]
fn a_pod_that_joins_a_gang_which_runs_evicts_nobody_of_it() {
    check(
        "
        node a cpu=3
        pod g1 on=a cpu=1 gang=g/2 priority=1
        pod g2 on=a cpu=2 gang=g/2 priority=5
        pod g3 cpu=1 gang=g/2 priority=9
        step
        > g3 waits: 0/1 nodes are available: 1 Insufficient cpu.
        # Others of its class may.
        pod plain cpu=1 priority=9
        step
        > plain on a: evicts g1
        > plain waits: 0/1 nodes are available: 1 Insufficient cpu.
        ",
    );
}

/// Whoever waits for its PodGroup keeps no node from others.
#[test]
fn a_pod_whose_group_goes_away_gives_up_the_node_it_had_others_evicted_from() {
    check(
        "
        podgroup native/g min=1
        node a cpu=2
        pod low on=a cpu=2 priority=1
        pod g1 cpu=2 priority=9 group=native/g
        step
        > g1 on a: evicts low
        > g1 waits: 0/1 nodes are available: 1 Insufficient cpu.
        > gang g waits: 0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential \
        placement for pod on node a, preempting 1 victims
        gone podgroup native/g
        after 2s
        step
        > g1 waits: waiting for PodGroup \"g\", which is not there
        > gang g waits: waiting for PodGroup \"g\", which is not there
        gone pod low
        pod other cpu=2
        step
        > other -> a
        ",
    );
}

/// Swarm seed 16490: nothing says any more where the others have to be.
#[test]
fn a_pod_outside_the_domain_of_its_gang_is_tried_when_the_nodes_of_the_gang_are_gone() {
    check(
        "
        podgroup native/g min=2 topology=zone
        node a cpu=2 label=zone:x
        node b cpu=2 label=zone:y
        pod g1 on=a cpu=1 group=native/g
        pod g2 on=a cpu=1 group=native/g
        pod g3 cpu=1 group=native/g
        step
        > gang g started
        > g3 waits: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were outside the
        >+ topology domain of the gang.
        gone node a
        after 11s
        step
        > g3 -> b
        ",
    );
}
