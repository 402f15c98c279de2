//! Pods that ask something of GPUs, and what becomes of the GPUs of nodes.

use testkit::own_profile;

/// Runs a script with our own profile.
fn check(text: &str) {
    testkit::check_with(&[own_profile()], text);
}

#[test]
fn memory_is_asked_of_each_gpu_or_of_all_together() {
    check(
        "
        node t4 cpu=64 memory=512Gi nvidia.com/gpu=4 model=Tesla-T4
        node h100 cpu=64 memory=512Gi nvidia.com/gpu=8 model=NVIDIA-H100-80GB-HBM3
        node dark cpu=64 memory=512Gi nvidia.com/gpu=4
        pod each cpu=1 memory=1Gi nvidia.com/gpu=1 vram=20Gi
        pod total cpu=1 memory=1Gi nvidia.com/gpu=3 vram-total=120Gi
        pod most cpu=1 memory=1Gi nvidia.com/gpu=1 vram=100Gi
        step
        > each -> h100
        > total -> h100
        > most waits: 0/3 nodes are available: 1 node(s) had GPUs of unknown memory, 2 node(s) had
        >+ too few GPUs with the requested memory.
        pod small cpu=1 memory=1Gi nvidia.com/gpu=1 vram=14Gi
        step
        > small -> t4
        ",
    );
}

#[test]
fn a_part_of_a_gpu_is_given_only_where_something_shares_it() {
    check(
        "
        node whole cpu=64 memory=512Gi nvidia.com/gpu=2 model=NVIDIA-L40S
        pod a cpu=1 memory=1Gi nvidia.com/gpu=1 fraction=0.5
        step
        > a waits: 0/1 nodes are available: 1 node(s) had nothing that lets pods share a
        >+ GPU.
        node shared cpu=64 memory=512Gi nvidia.com/gpu=8 replicas=4 model=NVIDIA-L40S
        pod b cpu=1 memory=1Gi nvidia.com/gpu=1 fraction=0.5
        pod c cpu=1 memory=1Gi nvidia.com/gpu=1 fraction=0.6
        pod d cpu=1 memory=1Gi nvidia.com/gpu=1 fraction=0.6
        after 1s
        step
        > a -> shared
        > b -> shared
        > c -> shared
        > d waits: 0/2 nodes are available: 1 node(s) had nothing that lets pods share a
        >+ GPU, 1 node(s) had too little left of their shared GPUs.
        gpus shared
        > a: 500 of 0
        > b: 500 of 0
        > c: 600 of 1
        ",
    );
}

#[test]
fn a_gpu_is_whole_or_shared() {
    check(
        "
        node shared cpu=64 memory=512Gi nvidia.com/gpu=8 replicas=4 model=NVIDIA-L40S
        pod a cpu=1 memory=1Gi nvidia.com/gpu=1 fraction=0.2
        pod b cpu=1 memory=1Gi nvidia.com/gpu=1 fraction=1
        pod c cpu=1 memory=1Gi nvidia.com/gpu=1 fraction=1
        step
        > a -> shared
        > b -> shared
        > c waits: 0/1 nodes are available: 1 node(s) had too few suitable GPUs free.
        gone pod a
        after 10s
        step
        > c -> shared
        gpus shared
        > b: 1
        > c: 0
        ",
    );
}

#[test]
fn what_the_agent_tells_counts_more_than_what_was_foreseen() {
    check(
        "
        node a cpu=64 memory=512Gi gpus=0,0,1,1 nvidia.com/gpu=4 model=H nvlink=0,0,1,1
        pod p cpu=1 memory=1Gi nvidia.com/gpu=1
        step
        > p -> a
        gpus a
        > p: 0
        confirm p
        node a cpu=64 memory=512Gi gpus=0,0,1,1 nvidia.com/gpu=4 model=H nvlink=0,0,1,1 held=p::3
        gpus a
        > p: 3
        pod q cpu=1 memory=1Gi nvidia.com/gpu=1
        pod r cpu=1 memory=1Gi nvidia.com/gpu=2
        step
        > q -> a
        > r -> a
        gpus a
        > p: 3
        > q: 2
        > r: 0-1
        ",
    );
}

#[test]
fn a_pod_has_the_gpus_it_was_bound_with() {
    check(
        "
        node a cpu=64 memory=512Gi nvidia.com/gpu=8 replicas=2 model=NVIDIA-L40S
        pod p on=a cpu=1 memory=1Gi nvidia.com/gpu=1 fraction=0.7 had-gpus=2
        pod q on=a cpu=1 memory=1Gi nvidia.com/gpu=1 fraction=0.3 had-gpus=2
        pod r on=a cpu=1 memory=1Gi nvidia.com/gpu=1 fraction=0.3 had-gpus=2
        gpus a
        > p: 700 of 2
        > q: 300 of 2
        > r: 300 of 0
        ",
    );
}

#[test]
fn what_is_told_of_a_pod_before_it_is_seen_moves_whoever_was_thought_to_have_it() {
    check(
        "
        node a cpu=64 memory=512Gi gpus=0,0 nvidia.com/gpu=2 model=H held=late::0
        pod p cpu=1 memory=1Gi nvidia.com/gpu=1
        step
        > p -> a
        gpus a
        > p: 0
        pod late on=a cpu=1 memory=1Gi nvidia.com/gpu=1
        gpus a
        > late: 0
        > p: 1
        ",
    );
}
