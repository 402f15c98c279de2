//! Units that wait though others could be evicted for them, from event to event.

use testkit::check;

#[test]
fn a_change_that_is_not_enough_by_itself_is_enough_with_evictions() {
    let story = |start: &str, change: &str| {
        check(&format!(
            "
            {start}
            pod low on=a cpu=3
            pod p cpu=4 priority=10
            step
            > p waits: 0/1 nodes are available: 1 Insufficient cpu.
            {change}
            after 1s
            step
            > p on a: evicts low
            > p waits: 0/1 nodes are available: 1 Insufficient cpu.
            "
        ));
    };
    story("node a cpu=5\npod high on=a cpu=2 priority=20", "gone pod high");
    story("node a cpu=3", "node a cpu=5");
    let start = "node a cpu=5\npod high on=a cpu=2 priority=20";
    story(start, "pod high on=a cpu=1 priority=20");
}

#[test]
fn what_evicting_does_not_help_against_can_end() {
    check(
        "
        node a cpu=1 zone=x
        node c cpu=0 zone=x
        pod low on=a cpu=1
        pod twin on=c label=app:web priority=20
        pod p cpu=1 label=app:web far=zone,app:web priority=10
        step
        > p waits: 0/2 nodes are available: 2 Insufficient cpu.
        gone pod twin
        after 1s
        step
        > p on a: evicts low
        > p waits: 0/2 nodes are available: 2 Insufficient cpu.
        ",
    );
}

#[test]
fn a_rule_of_a_pod_that_does_not_come_after_all_ends() {
    check(
        "
        node a zone=x
        pod rival gate=later priority=20 far=zone,app:web nominated=a
        pod p label=app:web
        step
        > p waits: 0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity \
        rules.
        gone pod rival
        after 1s
        step
        > p -> a
        ",
    );
}

#[test]
fn a_node_that_is_of_no_use_any_more_is_not_kept_for_a_pod() {
    check(
        "
        node a cpu=1
        node b cpu=0 closed
        pod low on=a cpu=1
        pod p cpu=1 priority=10
        step
        > p on a: evicts low
        > p waits: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.
        pod bold cpu=1 tolerate=*
        step
        > bold waits: 0/2 nodes are available: 2 Insufficient cpu.
        node a cpu=1 closed
        gone pod low
        after 1s
        step
        > p waits: 0/2 nodes are available: 2 node(s) were unschedulable.
        > bold -> a
        ",
    );
}

#[test]
fn a_node_that_lacks_the_labels_wakes_nobody_who_could_evict_others() {
    check(
        "
        node a cpu=2
        pod low on=a cpu=2
        pod tape cpu=1 select=disk:tape priority=10
        step
        > tape waits: 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.
        node a cpu=3 disk=ssd
        queue
        > 1 parked
        node a cpu=2 disk=tape
        queue
        > 1 backoff
        after 1s
        step
        > tape on a: evicts low
        > tape waits: 0/1 nodes are available: 1 Insufficient cpu.
        ",
    );
}

#[test]
fn the_node_of_a_pod_that_is_gone_is_not_kept_for_it() {
    check(
        "
        node a cpu=3
        pod low on=a cpu=3
        pod first cpu=2 priority=10
        step
        > first on a: evicts low
        > first waits: 0/1 nodes are available: 1 Insufficient cpu.
        gone pod low
        step
        > first -> a
        pod other on=a cpu=1
        pod second cpu=3 priority=10
        step
        > second waits: 0/1 nodes are available: 1 Insufficient cpu.
        gone pod first
        after 1s
        step
        > second on a: evicts other
        > second waits: 0/1 nodes are available: 1 Insufficient cpu.
        ",
    );
}

#[test]
fn who_was_to_go_for_a_pod_that_needs_no_room_there_is_spared() {
    check(
        "
        node a cpu=2
        pod low on=a cpu=1
        pod meek on=a cpu=1
        pod p cpu=2 priority=10
        step
        > p on a: evicts low, meek
        > p waits: 0/1 nodes are available: 1 Insufficient cpu.
        spared
        >
        gone pod low
        spared
        > low
        node b cpu=2
        after 1s
        step
        > p -> b
        spared
        > meek
        spared
        >
        ",
    );
}

#[test]
fn who_was_to_go_for_a_pod_that_is_gone_is_spared_unless_that_failed_before() {
    check(
        "
        node a cpu=2
        pod low on=a cpu=1
        pod meek on=a cpu=1
        pod p cpu=2 priority=10
        step
        > p on a: evicts low, meek
        > p waits: 0/1 nodes are available: 1 Insufficient cpu.
        keep low
        gone pod p
        spared
        > meek
        ",
    );
}
