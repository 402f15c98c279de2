//! What pods take inside nodes whose kubelets align them.

use testkit::check;

#[test]
fn a_pod_takes_what_its_kubelet_would_give_it_and_gives_it_back() {
    check(
        "
        node a cpu=9 zones=2x4 gpus=0,0,1,1 nvidia.com/gpu=4 policy=restricted
        pod p cpu=2 memory=1Gi nvidia.com/gpu=1 exclusive
        pod q cpu=4 memory=1Gi exclusive
        pod r cpu=2 memory=1Gi nvidia.com/gpu=1 exclusive
        pod plain cpu=100m
        step
        > p -> a
        > q -> a
        > r -> a
        > plain -> a
        inside a
        > p: cpus 0-1, nvidia.com/gpu 0
        > q: cpus 4-7
        > r: cpus 2-3, nvidia.com/gpu 1
        gone pod q
        inside a
        > p: cpus 0-1, nvidia.com/gpu 0
        > r: cpus 2-3, nvidia.com/gpu 1
        confirm r
        refuse p
        inside a
        > r: cpus 2-3, nvidia.com/gpu 1
        ",
    );
}

#[test]
fn what_else_changes_about_a_pod_does_not_move_it_inside_its_node() {
    check(
        "
        node a cpu=8 zones=2x4 policy=single-numa-node
        pod p on=a cpu=3 memory=1Gi exclusive
        pod q on=a cpu=3 memory=1Gi exclusive
        inside a
        > p: cpus 0-2
        > q: cpus 4-6
        gone pod p
        pod q on=a cpu=3 memory=1Gi exclusive label=app:web
        inside a
        > q: cpus 4-6
        pod q on=a cpu=3 memory=1Gi exclusive terminating
        inside a
        > q: cpus 4-6
        pod q on=a cpu=2 memory=1Gi exclusive
        inside a
        > q: cpus 0-1
        ",
    );
}

#[test]
fn what_a_kubelet_tells_replaces_what_was_foreseen() {
    check(
        "
        node a cpu=8 zones=2x4 gpus=0,0,1,1 nvidia.com/gpu=4 policy=best-effort
        pod p on=a cpu=2 memory=1Gi nvidia.com/gpu=1 exclusive
        pod q on=a cpu=2 memory=1Gi nvidia.com/gpu=1 exclusive
        inside a
        > p: cpus 0-1, nvidia.com/gpu 0
        > q: cpus 2-3, nvidia.com/gpu 1
        node a cpu=8 zones=2x4 gpus=0,0,1,1 nvidia.com/gpu=4 policy=best-effort held=q:4-5:3
        inside a
        > q: cpus 4-5, nvidia.com/gpu 3 (told)
        > p: cpus 0-1, nvidia.com/gpu 0
        node a cpu=8 zones=2x4 gpus=0,0,1,1 nvidia.com/gpu=4 policy=best-effort held=q:4-5:x
        inside a
        > q: cpus 4-5, nvidia.com/gpu 0 (told)
        > p: cpus 0-1, nvidia.com/gpu 1
        pod r cpu=2 memory=1Gi nvidia.com/gpu=1 exclusive
        step
        > r -> a
        inside a
        > q: cpus 4-5, nvidia.com/gpu 0 (told)
        > p: cpus 0-1, nvidia.com/gpu 1
        > r: cpus 6-7, nvidia.com/gpu 2
        ",
    );
}

#[test]
fn what_was_told_before_a_pod_is_seen_holds_for_it() {
    check(
        "
        node a cpu=8 zones=2x4 policy=best-effort held=q:0-1:
        pod p on=a cpu=2 memory=1Gi exclusive
        inside a
        > p: cpus 0-1
        pod q on=a cpu=2 memory=1Gi exclusive
        inside a
        > q: cpus 0-1 (told)
        > p: cpus 2-3
        ",
    );
}

#[test]
fn what_a_report_says_twice_or_of_another_machine_is_not_free_by_mistake() {
    // CPUs 8 and 9 are not there any more, and CPU 1 is told of two pods.
    check(
        "
        node a cpu=8 zones=2x4 policy=best-effort held=p:1,8-9: held=q:0-1:
        pod p on=a cpu=1 memory=1Gi exclusive
        pod q on=a cpu=2 memory=1Gi exclusive
        inside a
        > p: cpus 1 (told)
        > q: cpus 0-1 (told)
        gone pod p
        pod r on=a cpu=2 memory=1Gi exclusive
        inside a
        > q: cpus 0-1 (told)
        > r: cpus 2-3
        gone pod r
        pod s on=a cpu=6 memory=1Gi exclusive
        inside a
        > q: cpus 0-1 (told)
        > s: cpus 2-7
        ",
    );
}

#[test]
fn a_node_that_tells_too_little_has_no_inside() {
    let known = "node a cpu=8 zones=2x4 gpus=0,1 nvidia.com/gpu=2 policy=restricted";
    for told in ["node a cpu=8", "node a cpu=8 policy=restricted"] {
        check(&format!(
            "
            {told}
            pod p on=a cpu=2 memory=1Gi exclusive
            inside a
            > unknown
            {known}
            inside a
            > p: cpus 0-1
            {told}
            inside a
            > unknown
            gone pod p
            {known}
            inside a
            "
        ));
    }
}

#[test]
fn devices_count_only_where_the_node_offers_as_many_as_are_told() {
    check(
        "
        node a cpu=8 zones=2x4 gpus=0,1 nvidia.com/gpu=1 policy=restricted
        pod p on=a cpu=2 memory=1Gi nvidia.com/gpu=1 exclusive
        inside a
        > p: cpus 0-1
        node a cpu=8 zones=2x4 gpus=0,1 nvidia.com/gpu=2 policy=restricted
        inside a
        > p: cpus 0-1, nvidia.com/gpu 0
        ",
    );
}
