//! From a decision to the API's answer, and pods that others place.

use framework::ProfileSettings;
use kubenexus_engine::Options;
use testkit::{Script, check, check_with, default_profile, own_profile};

#[test]
fn what_was_sent_is_taken_until_the_answer_comes() {
    check(
        "
        node a cpu=1
        pod p cpu=1
        pod q cpu=1
        step
        > p -> a
        > q waits: 0/1 nodes are available: 1 Insufficient cpu.
        confirm p
        load a
        > 1 pods, 1000m cpu, 0 memory
        refuse p 1
        load a
        > 1 pods, 1000m cpu, 0 memory
        ",
    );
}

#[test]
fn late_answers_of_older_attempts_are_ignored() {
    check(
        "
        node a
        pod p cpu=1
        step
        > p -> a
        refuse p 1
        after 1s
        step
        > p -> a
        refuse p 1
        load a
        > 1 pods, 1000m cpu, 0 memory
        queue
        > empty
        refuse p 2
        load a
        > 0 pods, 0m cpu, 0 memory
        refuse p 2
        refuse unknown 2
        queue
        > 1 backoff
        ",
    );
}

#[test]
fn a_binding_confirmed_on_another_node_moves_the_pod() {
    check(
        "
        node a cpu=1
        pod p cpu=1
        step
        > p -> a
        pod q cpu=1
        step
        > q waits: 0/1 nodes are available: 1 Insufficient cpu.
        confirm p b
        load a
        > 0 pods, 0m cpu, 0 memory
        after 1s
        step
        > q -> a
        node b cpu=1
        load b
        > 1 pods, 1000m cpu, 0 memory
        ",
    );
}

#[test]
fn a_waiting_pod_that_somebody_else_places_is_left_alone() {
    check(
        "
        node a cpu=1
        pod p cpu=2
        pod q cpu=1
        step
        > p waits: 0/1 nodes are available: 1 Insufficient cpu.
        > q -> a
        pod r cpu=1
        pod p cpu=2 on=a
        pod r cpu=1 on=a
        queue
        > empty
        load a
        > 3 pods, 4000m cpu, 0 memory
        after 20s
        step
        ",
    );
}

#[test]
fn pods_of_other_schedulers_count_but_are_never_placed() {
    check(
        "
        node a cpu=1
        pod other scheduler=somebody cpu=1
        step
        queue
        > empty
        pod other scheduler=somebody cpu=1 on=a
        pod p cpu=1
        step
        > p waits: 0/1 nodes are available: 1 Insufficient cpu.
        gone pod other
        after 1s
        step
        > p -> a
        judge p scheduler=somebody
        > no profile
        ",
    );
}

#[test]
fn two_profiles_share_one_cluster() {
    let second = ProfileSettings { scheduler: "second".into(), ..testkit::only("NodeName") };
    check_with(
        &[default_profile(), second],
        "
        node a cpu=1
        pod p cpu=1
        step
        > p -> a
        pod q cpu=1
        pod r cpu=1 scheduler=second
        step
        > q waits: 0/1 nodes are available: 1 Insufficient cpu.
        > r -> a
        load a
        > 2 pods, 2000m cpu, 0 memory
        ",
    );
}

#[test]
fn terminating_pods_keep_their_place_but_get_none() {
    check(
        "
        node a cpu=1
        pod new cpu=1 terminating
        queue
        > empty
        pod p cpu=1
        pod p cpu=1 terminating
        queue
        > empty
        pod q cpu=1
        step
        > q -> a
        # Its binding may still succeed.
        pod q cpu=1 terminating
        load a
        > 1 pods, 1000m cpu, 0 memory
        confirm q
        load a
        > 1 pods, 1000m cpu, 0 memory
        pod q cpu=1 on=a finished
        load a
        > 0 pods, 0m cpu, 0 memory
        ",
    );
}

#[test]
fn a_terminating_pod_whose_binding_is_refused_is_forgotten() {
    check(
        "
        node a cpu=1
        pod p cpu=1
        step
        > p -> a
        pod p cpu=1 terminating
        refuse p
        load a
        > 0 pods, 0m cpu, 0 memory
        after 20s
        step
        queue
        > empty
        ",
    );
}

/// Who is placed on any node, in order, by a step after these lines.
fn placed(lines: &str) -> Vec<String> {
    let mut run = Script::new(&[own_profile()], Options::default());
    lines.lines().map(str::trim).filter(|line| !line.is_empty()).for_each(|line| {
        run.command(line);
    });
    let said = run.command("step");
    said.iter().filter_map(|line| Some(line.split_once(" -> ")?.0.to_owned())).collect()
}

#[test]
fn a_pod_that_changed_while_it_was_sent_stands_where_it_belongs_once_refused() {
    // Alone, one by one in a gang that others started, and as a gang.
    for gang in ["", "gang=train/1", "gang=other/1"] {
        let lines = "
            node n cpu=8
            node m cpu=8
            namespace g tenant.kubenexus.io/tier:gold
            pod first cpu=1 namespace=g gang=train/1 on=n
            pod sent cpu=1 namespace=g created=1 GANG
            step
            pod sent cpu=1 namespace=g created=1 GANG tier=bronze
            refuse sent
            pod later cpu=1 namespace=g created=2
            after 1s
        ";
        assert_eq!(placed(&lines.replace("GANG", gang)), ["later", "sent"], "{gang:?}");
    }
    // An API server takes no new gates; whoever stands in for one may.
    check(
        "
        node n
        pod p
        step
        > p -> n
        pod p gate=quota
        refuse p
        queue
        > 1 gated
        ",
    );
}

#[test]
fn a_pod_that_left_its_gang_while_it_was_sent_is_tried_again_alone_once_refused() {
    // By itself or in another gang, without and with the pod that was sent with it.
    for gang in ["", "gang=other/1"] {
        for both in ["", "pod b cpu=1 GANG"] {
            let lines = "
                node n cpu=8
                node m cpu=8
                pod a cpu=1 gang=train/2
                pod b cpu=1 gang=train/2
                step
                pod a cpu=1 GANG
                BOTH
                refuse a
                after 1s
            ";
            let lines = lines.replace("BOTH", both).replace("GANG", gang);
            assert_eq!(placed(&lines), ["a"], "{lines}");
        }
    }
}

#[test]
fn a_resize_counts_while_assumed_and_while_bound() {
    check(
        "
        node a cpu=4
        pod p cpu=1
        step
        > p -> a
        pod p cpu=2
        load a
        > 1 pods, 2000m cpu, 0 memory
        confirm p
        pod p cpu=3 on=a
        load a
        > 1 pods, 3000m cpu, 0 memory
        # A watch that lags behind takes nothing back.
        pod p cpu=1
        load a
        > 1 pods, 3000m cpu, 0 memory
        gone pod p
        load a
        > 0 pods, 0m cpu, 0 memory
        ",
    );
}

#[test]
fn a_pod_that_comes_again_with_another_uid_is_another_pod() {
    check(
        "
        node a cpu=1
        pod web uid=u1 cpu=1
        step
        > u1 -> a
        pod web uid=u2 cpu=1
        step
        > u2 waits: 0/1 nodes are available: 1 Insufficient cpu.
        gone pod u1
        after 1s
        step
        > u2 -> a
        ",
    );
}

#[test]
fn a_pod_that_another_scheduler_gets_waits_no_more() {
    check(
        "
        pod waits cpu=1
        pod member cpu=1 gang=train/1
        step
        > waits waits: no nodes available to schedule pods
        > member waits: no nodes available to schedule pods
        pod waits cpu=1 scheduler=other
        pod member cpu=1 gang=train/1 scheduler=other
        node a cpu=4
        after 1000s
        step
        queue
        > empty
        pod bound cpu=1
        step
        > bound -> a
        pod bound cpu=1 scheduler=other
        refuse bound
        after 1000s
        step
        queue
        > empty
        ",
    );
}
