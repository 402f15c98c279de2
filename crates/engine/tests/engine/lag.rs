//! NodeResourceTopologies: what they tell of the inside of nodes, and pods that they do not account
//! for yet.

use kubenexus_engine::Options;
use testkit::{Script, check, check_with, own_profile};

#[test]
fn zones_come_with_the_object_whenever_it_comes_and_go_with_it() {
    check(
        "
        nrt a update=1 zones=2x4 gpus=1,1 policy=restricted
        node a cpu=8 nvidia.com/gpu=2
        free a
        > zone 0: 4 cpus, 1 nvidia.com/gpu
        > zone 1: 4 cpus, 1 nvidia.com/gpu
        pod p cpu=3 memory=1Gi nvidia.com/gpu=1 exclusive
        step
        > p -> a
        inside a
        > p: cpus 0-2, nvidia.com/gpu 0
        nrt a update=2 zones=1x8 gpus=2 policy=restricted
        free a
        > zone 0: 5 cpus, 1 nvidia.com/gpu
        gone nrt a
        inside a
        > unknown
        nrt a update=3 zones=2x4 gpus=1,1 policy=restricted
        free a
        > zone 0: 1 cpus, 0 nvidia.com/gpu
        > zone 1: 4 cpus, 1 nvidia.com/gpu
        ",
    );
}

#[test]
fn a_pod_is_taken_on_top_until_the_second_update_after_it_runs() {
    check(
        "
        nrt a update=1 zones=2x4 policy=restricted
        node a cpu=8
        pod p on=a cpu=3 memory=1Gi exclusive
        free a
        > zone 0: 1 cpus
        > zone 1: 4 cpus
        # It may have been looked at before the pod was there.
        nrt a update=2 zones=2x4 policy=restricted
        pod p on=a cpu=3 memory=1Gi exclusive started=5
        free a
        > zone 0: 1 cpus
        > zone 1: 4 cpus
        # The kubelet gave it the other zone.
        nrt a update=3 zones=2x4 free=4,1 policy=restricted
        free a
        > zone 0: 1 cpus
        > zone 1: 1 cpus
        # The same update once more.
        nrt a update=3 zones=2x4 free=4,1 policy=restricted
        free a
        > zone 0: 1 cpus
        > zone 1: 1 cpus
        nrt a update=4 zones=2x4 free=4,1 policy=restricted
        inside a
        > p: cpus 0-2 (counted)
        free a
        > zone 0: 4 cpus
        > zone 1: 1 cpus
        # What is counted frees nothing until the object says so.
        gone pod p
        free a
        > zone 0: 4 cpus
        > zone 1: 1 cpus
        nrt a update=5 zones=2x4 policy=restricted
        free a
        > zone 0: 4 cpus
        > zone 1: 4 cpus
        ",
    );
}

#[test]
fn a_pod_that_is_not_counted_frees_what_was_foreseen() {
    check(
        "
        nrt a update=1 zones=2x4 free=2,4 policy=restricted pods=other
        node a cpu=8
        pod p on=a cpu=3 memory=1Gi exclusive
        free a
        > zone 0: 2 cpus
        > zone 1: 1 cpus
        gone pod p
        free a
        > zone 0: 2 cpus
        > zone 1: 4 cpus
        ",
    );
}

#[test]
fn a_fingerprint_says_who_is_accounted_for() {
    check(
        "
        nrt a update=1 zones=2x4 policy=restricted pods=
        node a cpu=8
        pod p on=a cpu=2 memory=1Gi exclusive started=5
        pod plain on=a cpu=100m started=5
        # At once, and not at the second update.
        nrt a update=2 zones=2x4 free=4,2 policy=restricted pods=plain,p
        inside a
        > p: cpus 0-1 (counted)
        # Another one that is on its way is in no fingerprint yet.
        pod q cpu=2 memory=1Gi exclusive
        step
        > q -> a
        free a
        > zone 0: 2 cpus
        > zone 1: 2 cpus
        nrt a update=3 zones=2x4 free=4,2 policy=restricted pods=p,plain
        free a
        > zone 0: 2 cpus
        > zone 1: 2 cpus
        confirm q
        nrt a update=4 zones=2x4 free=2,2 policy=restricted pods=p,plain,q,gone
        inside a
        > p: cpus 0-1 (counted)
        > q: cpus 2-3
        free a
        > zone 0: 0 cpus
        > zone 1: 2 cpus
        nrt a update=5 zones=2x4 free=2,2 policy=restricted pods=q,p,plain
        free a
        > zone 0: 2 cpus
        > zone 1: 2 cpus
        ",
    );
}

#[test]
fn a_fingerprint_that_was_ahead_of_the_pods_is_compared_again() {
    check(
        "
        nrt a update=1 zones=2x4 free=2,2 policy=restricted pods=p,q
        node a cpu=8
        pod p on=a cpu=2 memory=1Gi exclusive started=5
        pod old on=a cpu=2 memory=1Gi exclusive
        pod q on=a cpu=2 memory=1Gi exclusive
        inside a
        > p: cpus 2-3
        > old: cpus 6-7
        > q: nothing
        pod q on=a cpu=2 memory=1Gi exclusive started=6
        inside a
        > p: cpus 2-3 (counted)
        > q: nothing (counted)
        > old: cpus 2-3
        gone pod old
        free a
        > zone 0: 2 cpus
        > zone 1: 2 cpus
        ",
    );
}

#[test]
fn fingerprints_may_be_about_pods_with_something_of_their_own() {
    check(
        "
        nrt a update=1 zones=2x4 free=2,4 policy=restricted pods=p exclusive
        node a cpu=8
        pod plain on=a cpu=100m started=5
        pod shared on=a cpu=1500m memory=1Gi exclusive started=5
        pod p on=a cpu=2 memory=1Gi exclusive started=5
        inside a
        > shared: nothing
        > p: cpus 2-3
        # By what the kubelet gives; requests of memory count where others decide.
        nrt a update=2 zones=2x4 free=2,4 policy=restricted pods=p exclusive
        inside a
        > p: cpus 2-3 (counted)
        > shared: nothing
        nrt a update=3 zones=2x4 free=2,4 policy=restricted pods=p,shared exclusive
        inside a
        > p: cpus 2-3 (counted)
        > shared: nothing (counted)
        ",
    );
}

#[test]
fn a_list_of_pods_says_that_all_are_known() {
    check(
        "
        nrt a update=1 zones=2x4 free=2,4 policy=restricted pods=p
        node a cpu=8
        pod p on=a cpu=2 memory=1Gi exclusive started=5
        inside a
        > p: cpus 2-3
        relist pods p
        inside a
        > p: cpus 2-3 (counted)
        free a
        > zone 0: 2 cpus
        > zone 1: 4 cpus
        ",
    );
}

#[test]
fn exact_facts_of_the_agent_win() {
    check(
        "
        nrt a update=1 zones=2x4 free=0,0 policy=restricted
        node a cpu=8
        pod p on=a cpu=2 memory=1Gi exclusive started=5
        free a
        > zone 0: 0 cpus
        > zone 1: 0 cpus
        node a cpu=8 held=p:4-5
        free a
        > zone 0: 4 cpus
        > zone 1: 2 cpus
        inside a
        > p: cpus 4-5 (told)
        node a cpu=8
        free a
        > zone 0: 0 cpus
        > zone 1: 0 cpus
        ",
    );
}

#[test]
fn who_is_counted_stays_so_when_the_machine_changes() {
    check(
        "
        nrt a update=1 zones=2x4 free=1,4 policy=restricted pods=p
        node a cpu=8
        pod p on=a cpu=3 memory=1Gi exclusive started=5
        nrt a update=2 zones=2x4 free=1,4 policy=restricted pods=p
        free a
        > zone 0: 1 cpus
        > zone 1: 4 cpus
        nrt a update=3 zones=2x4 free=1,4 policy=single-numa-node pods=p,others
        free a
        > zone 0: 1 cpus
        > zone 1: 4 cpus
        ",
    );
}

#[test]
fn who_waits_for_zones_is_woken_by_what_an_object_tells() {
    let waits = "p waits: 0/1 nodes are available: 1 node(s) had a kubelet that would reject the \
                 pod with TopologyAffinityError (estimated).";
    let check = |script: &str| check_with(&[own_profile()], &script.replace("WAITS", waits));
    // By an update that tells of more.
    check(
        "
        nrt a update=1 zones=2x4 free=1,1 policy=single-numa-node
        node a cpu=8
        pod p cpu=2 memory=1Gi exclusive
        step
        > WAITS
        queue
        > 1 parked
        nrt a update=2 zones=2x4 free=1,3 policy=single-numa-node
        after 2s
        step
        > p -> a
        ",
    );
    // By a pod that turns out to be counted.
    check(
        "
        nrt a update=1 zones=2x4 free=1,3 policy=single-numa-node pods=q
        node a cpu=8
        pod q on=a cpu=3 memory=1Gi exclusive
        pod p cpu=2 memory=1Gi exclusive
        step
        > WAITS
        queue
        > 1 parked
        pod q on=a cpu=3 memory=1Gi exclusive started=5
        after 2s
        step
        > p -> a
        ",
    );
    // By the end of the object, after which nothing is known.
    check(
        "
        nrt a update=1 zones=2x4 free=1,1 policy=single-numa-node
        node a cpu=8
        pod p cpu=2 memory=1Gi exclusive
        step
        > WAITS
        gone nrt a
        after 2s
        step
        > p -> a
        ",
    );
}

#[test]
fn a_checkpoint_has_who_is_counted() {
    let profiles = [own_profile()];
    let mut first = Script::new(&profiles, Options::default());
    for line in [
        "nrt a update=1 zones=2x4 policy=restricted",
        "node a cpu=8",
        "pod p on=a cpu=3 memory=1Gi exclusive started=5",
        "pod q on=a cpu=2 memory=1Gi exclusive",
        "nrt a update=2 zones=2x4 policy=restricted",
        "nrt a update=3 zones=2x4 free=4,1 policy=restricted",
        "pod q on=a cpu=2 memory=1Gi exclusive started=6",
        "nrt a update=4 zones=2x4 free=4,1 policy=restricted",
    ] {
        assert_eq!(first.command(line), [""; 0]);
    }
    let expected = ["p: cpus 0-2 (counted)", "q: cpus 0-1"];
    let text = serde_json::to_string(&first.scheduler.checkpoint()).expect("plain data");
    let checkpoint = serde_json::from_str(&text).expect("what was written");
    let mut second = first.resumed(checkpoint, &profiles, Options::default()).expect("ours");
    // The same update again is none; the next is the second since q runs; what is counted frees
    // nothing.
    let story: [(&str, &[&str]); 5] = [
        ("inside a", &expected),
        ("nrt a update=4 zones=2x4 free=4,1 policy=restricted", &[]),
        ("inside a", &expected),
        ("gone pod p", &[]),
        ("free a", &["zone 0: 2 cpus", "zone 1: 1 cpus"]),
    ];
    for (line, expected) in story {
        assert_eq!((first.command(line), second.command(line)), (said(expected), said(expected)));
    }
    let update = "nrt a update=5 zones=2x4 free=4,2 policy=restricted";
    for run in [&mut first, &mut second] {
        run.command(update);
        assert_eq!(run.command("inside a"), ["q: cpus 0-1 (counted)"]);
        assert_eq!(run.command("free a"), ["zone 0: 4 cpus", "zone 1: 2 cpus"]);
    }
}

fn said(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}
