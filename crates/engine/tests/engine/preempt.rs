//! Pods that are evicted so that more important ones find room.

use testkit::check;

#[test]
fn the_least_important_pods_go_and_no_more_than_must() {
    check(
        "
        node a cpu=4
        pod low1 on=a cpu=1 priority=1 started=10
        pod low2 on=a cpu=1 priority=2 started=10
        pod low3 on=a cpu=2 priority=1 started=20
        pod high cpu=2 priority=9
        step
        > high on a: evicts low3
        > high waits: 0/1 nodes are available: 1 Insufficient cpu.
        # Those who have run for longer stay, and so do the more important ones.
        pod more cpu=1 priority=8
        step
        > more on a: evicts low1
        > more waits: 0/1 nodes are available: 1 Insufficient cpu.
        ",
    );
}

#[test]
fn a_pod_is_placed_when_those_who_had_to_go_are_gone() {
    check(
        "
        node a cpu=2
        pod low1 on=a cpu=1
        pod low2 on=a cpu=1
        pod high cpu=2 priority=9
        step
        > high on a: evicts low1, low2
        > high waits: 0/1 nodes are available: 1 Insufficient cpu.
        pod low1 on=a cpu=1 preempted
        step
        queue
        > 1 parked
        gone pod low1
        step in full
        > high waits: 0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to \
        a terminating pod on the nominated node.
        gone pod low2
        # It does not wait for its backoff.
        step
        > high -> a
        ",
    );
}

#[test]
fn a_pod_waits_for_those_who_are_leaving_for_it() {
    check(
        "
        node a cpu=2
        node b cpu=2
        pod low1 on=a cpu=2
        pod low2 on=b cpu=2 priority=1
        pod high cpu=2 priority=9
        step
        > high on a: evicts low1
        > high waits: 0/2 nodes are available: 2 Insufficient cpu.
        # A change of the pod makes it try again, and nobody else is evicted.
        pod high cpu=1 priority=9 nominated=a
        step in full
        > high waits: 0/2 nodes are available: 2 Insufficient cpu. preemption: not eligible due to \
        a terminating pod on the nominated node.
        pod low1 on=a cpu=2 preempted
        pod high cpu=2 priority=9 nominated=a
        step
        > high waits: 0/2 nodes are available: 2 Insufficient cpu.
        ",
    );
}

#[test]
fn the_room_that_is_made_is_kept_from_less_important_pods() {
    check(
        "
        node a cpu=2
        pod low on=a cpu=2
        pod high cpu=2 priority=9
        step
        > high on a: evicts low
        > high waits: 0/1 nodes are available: 1 Insufficient cpu.
        gone pod low
        gone pod high
        pod high cpu=2 priority=9 nominated=a gate=wait
        pod mid cpu=1 priority=5
        pod same cpu=1 priority=9
        pod higher cpu=1 priority=10
        step
        > higher -> a
        > same waits: 0/1 nodes are available: 1 Insufficient cpu.
        > mid waits: 0/1 nodes are available: 1 Insufficient cpu.
        # Nobody needs it any more.
        gone pod high
        after 1s
        step
        > same -> a
        > mid waits: 0/1 nodes are available: 1 Insufficient cpu.
        ",
    );
}

#[test]
fn a_more_important_pod_takes_over_a_proposed_node() {
    check(
        "
        node a cpu=2
        pod low on=a cpu=2
        pod high cpu=2 priority=9
        step
        > high on a: evicts low
        > high waits: 0/1 nodes are available: 1 Insufficient cpu.
        # Nobody else has to go, so nothing is taken back yet.
        pod higher cpu=2 priority=10
        step in full
        > higher waits: 0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential \
        placement for pod on node a, preempting 1 victims
        keep low
        after 2s
        step in full
        > higher on a: evicts low, before high
        > higher waits: 0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential \
        placement for pod on node a, preempting 1 victims
        > high waits: 0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are \
        available: 1 Insufficient cpu.
        gone pod low
        step
        > higher -> a
        ",
    );
}

#[test]
fn an_eviction_that_fails_is_thought_over() {
    check(
        "
        node a cpu=2
        pod low on=a cpu=2
        pod high cpu=2 priority=9
        step
        > high on a: evicts low
        > high waits: 0/1 nodes are available: 1 Insufficient cpu.
        keep low
        step
        queue
        > 1 backoff
        after 2s
        step
        > high on a: evicts low
        > high waits: 0/1 nodes are available: 1 Insufficient cpu.
        ",
    );
}

#[test]
fn budgets_are_respected_where_there_is_a_choice() {
    check(
        "
        node a cpu=2
        node b cpu=2
        pod a1 on=a cpu=2 label=app:web
        pod b1 on=b cpu=2 priority=3
        budget web label=app:web
        judge high cpu=2 priority=9
        > a NodeResourcesFit Unschedulable: Insufficient cpu
        > b NodeResourcesFit Unschedulable: Insufficient cpu
        > candidate a: a1, 1 against a budget
        > best b: b1
        budget web allows=1 label=app:web
        judge high cpu=2 priority=9
        > a NodeResourcesFit Unschedulable: Insufficient cpu
        > b NodeResourcesFit Unschedulable: Insufficient cpu
        > best a: a1
        > candidate b: b1
        budget web label=app:web disrupted=a1
        pod high cpu=2 priority=9
        step
        > high on a: evicts a1
        > high waits: 0/2 nodes are available: 2 Insufficient cpu.
        gone budget default/web
        ",
    );
}

#[test]
fn harm_is_compared_by_table() {
    // What is on nodes a and b, and where evicting does less harm.
    let table = [
        ("a1 on=a cpu=2 priority=2", "b1 on=b cpu=2 priority=1", "b"),
        ("a1 on=a cpu=2 priority=1", "b1 on=b cpu=1 priority=1\npod b2 on=b cpu=1 priority=0", "a"),
        (
            "a1 on=a cpu=1 priority=1\npod a2 on=a cpu=1 priority=0",
            "b1 on=b cpu=1 priority=1\npod b2 on=b cpu=1 priority=-5",
            "b",
        ),
        ("a1 on=a cpu=2 started=10", "b1 on=b cpu=2 started=11", "b"),
        ("a1 on=a cpu=2", "b1 on=b cpu=2 started=11", "a"),
    ];
    for (on_a, on_b, best) in table {
        let mut run = testkit::Script::new(&[testkit::default_profile()], Default::default());
        for line in format!("node a cpu=2\nnode b cpu=2\npod {on_a}\npod {on_b}").lines() {
            run.command(line);
        }
        let judged = run.command("judge high cpu=2 priority=9");
        let found = judged.iter().find_map(|line| line.strip_prefix("best "));
        assert_eq!(found.and_then(|line| line.split(':').next()), Some(best), "{judged:?}");
    }
}

#[test]
fn rules_about_other_pods_can_be_met_by_evicting() {
    check(
        "
        node a zone=x
        pod far on=a label=app:web
        pod other on=a label=app:db
        pod high priority=9 far=zone,app:web
        step in full
        > high on a: evicts far
        > high waits: 0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules. \
        preemption: found a potential placement for pod on node a, preempting 1 victims
        gone pod far
        step
        > high -> a
        ",
    );
}

#[test]
fn what_evicting_does_is_kept_up_to_date() {
    check(
        "
        node a cpu=2
        node b cpu=2
        pod a1 on=a cpu=2 priority=1
        pod b1 on=b cpu=2 priority=2
        pod high1 cpu=2 priority=9
        pod high2 cpu=2 priority=9
        pod high3 cpu=2 priority=9
        step in full
        > high1 on a: evicts a1
        > high1 waits: 0/2 nodes are available: 2 Insufficient cpu. preemption: found a potential \
        placement for pod on node a, preempting 1 victims
        > high2 on b: evicts b1
        > high2 waits: 0/2 nodes are available: 2 Insufficient cpu. preemption: found a potential \
        placement for pod on node b, preempting 1 victims
        > high3 waits: 0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are \
        available: 2 Insufficient cpu.
        pod b1 on=b cpu=1 priority=2
        pod high4 cpu=1 priority=9
        step
        > high2 waits: 0/2 nodes are available: 2 Insufficient cpu.
        > high4 waits: 0/2 nodes are available: 2 Insufficient cpu.
        ",
    );
}

#[test]
fn a_proposed_node_that_is_gone_is_not_waited_for() {
    check(
        "
        node a cpu=2
        pod low on=a cpu=2
        pod high cpu=2 priority=9
        step
        > high on a: evicts low
        > high waits: 0/1 nodes are available: 1 Insufficient cpu.
        pod low on=a cpu=2 preempted
        gone node a
        node b cpu=2
        after 1s
        step
        > high -> b
        ",
    );
}

/// Pods that make way for a more important one do not go where they keep it from its node for
/// another reason: the second time others were evicted for it in vain, they stay away.
#[test]
fn whoever_had_others_evicted_in_vain_keeps_its_domain() {
    check(
        "
        node a cpu=1 zone=x
        node b cpu=1 zone=x
        pod l1 cpu=1 label=app:db on=a remade
        pod high cpu=1 priority=9 far=zone,app:db
        step
        > high on a: evicts l1
        > high waits: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match \
         pod anti-affinity rules.
        pod l2 cpu=1 label=app:db remade
        step
        > l2 -> b
        > high waits: 0/2 nodes are available: 2 Insufficient cpu.
        confirm l2
        gone pod l1
        step
        > high on b: evicts l2
        > high waits: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match \
         pod anti-affinity rules.
        pod l3 cpu=1 label=app:db remade
        step
        > l3 waits: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy existing \
         pods anti-affinity rules.
        gone pod l2
        step
        > high -> b
        ",
    );
}

/// Its room was counted on already; that of the more important one was not.
#[test]
fn a_pod_that_leaves_is_no_news_to_those_who_could_have_evicted_it() {
    check(
        "
        node a cpu=4
        pod high cpu=2 priority=9 on=a
        pod low1 cpu=500m on=a
        pod low2 cpu=500m on=a
        pod low3 cpu=1 on=a
        pod p cpu=3 priority=5
        pod beyond cpu=5 priority=5
        step
        > p waits: 0/1 nodes are available: 1 Insufficient cpu.
        > beyond waits: 0/1 nodes are available: 1 Insufficient cpu.
        after 1s
        gone pod low1
        queue
        > 2 parked
        gone pod high
        queue
        > 1 active, 1 parked
        step
        > p on a: evicts low3
        > p waits: 0/1 nodes are available: 1 Insufficient cpu.
        ",
    );
}
