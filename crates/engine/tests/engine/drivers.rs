//! Pods that make others of their gang when they run.

use kubenexus_engine::Options;
use model::Millis;
use testkit::{Script, check, default_profile};

/// After how many seconds another pod gets room that was kept for pods which never came.
fn given_up_after(seconds: u64) -> u64 {
    let options = Options { room_kept: Millis::seconds(seconds), ..Options::default() };
    let mut run = Script::new(&[default_profile()], options);
    let lines = ["node a cpu=4", "pod d cpu=1 gang=s/4 workers=3@1", "step", "confirm d"];
    lines.iter().for_each(|line| _ = run.command(line));
    run.command("pod thief cpu=1");
    for seconds in 0..1000 {
        if run.command("step").contains(&"thief -> a".to_owned()) {
            return seconds;
        }
        run.command("after 1s");
    }
    panic!("the room is never given up")
}

#[test]
fn room_is_kept_for_as_long_as_the_configuration_says() {
    let default = Options::default().room_kept.0 / 1000;
    assert_eq!(default, 300);
    for seconds in [1, 20, 60, default] {
        let given_up = given_up_after(seconds);
        assert!((seconds..=seconds + 1).contains(&given_up), "{seconds}: {given_up}");
    }
}

#[test]
fn a_driver_has_room_kept_for_the_pods_it_makes() {
    check(
        "
        node a cpu=4
        pod d cpu=1 gang=s/4 workers=3@1
        step
        > d -> a
        load a
        > 4 pods, 4000m cpu, 0 memory
        confirm d
        step
        > gang s has room kept for 3
        > gang s started
        pod thief cpu=1
        step
        > thief waits: 0/1 nodes are available: 1 Insufficient cpu.
        pod e1 cpu=1 gang=s/4
        pod e2 cpu=1 gang=s/4
        step
        > e1 -> a
        > e2 -> a
        load a
        > 4 pods, 4000m cpu, 0 memory
        pod e3 cpu=1 gang=s/4
        step
        > e3 -> a
        load a
        > 4 pods, 4000m cpu, 0 memory
        ",
    );
}

#[test]
fn two_drivers_near_capacity_do_not_hold_each_other_up() {
    check(
        "
        node a cpu=6
        pod d1 cpu=1 gang=s/4 workers=3@1
        pod d2 cpu=1 gang=t/4 workers=3@1
        step
        > d1 -> a
        > d2 waits: gang t: room for 2 of at least 4; a pod of d2: 0/1 nodes are available: 1
        >+ Insufficient cpu. It fits when 1 more node is free.
        > gang t waits: gang t: room for 2 of at least 4; a pod of d2: 0/1 nodes are available: 1
        >+ Insufficient cpu. It fits when 1 more node is free.
        ",
    );
}

#[test]
fn room_is_kept_as_it_is_when_labels_change() {
    check(
        "
        node a cpu=4
        pod d cpu=1 gang=s/3 workers=2@1
        step
        > d -> a
        confirm d
        step
        > gang s has room kept for 2
        > gang s started
        pod e1 cpu=1 gang=s/3
        step
        > e1 -> a
        confirm e1
        step
        pod e1 cpu=1 gang=s/3 label=ready:yes on=a
        step
        pod d cpu=1 label=ready:yes gang=s/3 workers=2@1 on=a
        step
        load a
        > 3 pods, 3000m cpu, 0 memory
        ",
    );
}

/// Room is kept for it in another zone than that of the pod which makes it.
#[test]
fn nobody_is_near_or_far_from_a_pod_that_does_not_exist() {
    check(
        "
        node a cpu=1 gpu=1 label=zone:a
        node b cpu=2 label=zone:b
        pod d cpu=1 gpu=1 label=app:db gang=s/2 workers=1@1
        step
        > d -> a
        load b
        > 1 pods, 1000m cpu, 0 memory
        pod near cpu=1 near=zone,app:db
        step
        > gang s has room kept for 1
        > near waits: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod
        >+ affinity rules.
        pod far cpu=1 far=zone,app:db
        step
        > far -> b
        ",
    );
}

/// The driver could not go to the node where there is room for the pods it makes.
#[test]
fn a_driver_is_tried_again_when_there_is_room_for_the_pods_it_makes() {
    check(
        "
        node a cpu=1 gpu=1
        node b cpu=2
        pod old cpu=2 on=b
        pod d cpu=1 gpu=1 gang=s/3 workers=2@1
        step
        > d waits: gang s: room for 1 of at least 3; a pod of d: 0/2 nodes are available: 2
        >+ Insufficient cpu. It fits when 1 more node is free.
        > gang s waits: gang s: room for 1 of at least 3; a pod of d: 0/2 nodes are available: 2
        >+ Insufficient cpu. It fits when 1 more node is free.
        gone pod old
        after 1s
        step
        > d -> a
        ",
    );
}

/// Whoever led before placed the driver. With the room that is kept now the gang has enough.
#[test]
fn pods_go_one_by_one_once_room_is_kept_for_the_others() {
    check(
        "
        node a cpu=4
        pod d cpu=1 gang=s/2 workers=3@1 on=a
        pod e1 cpu=1 gang=s/2
        pod e2 cpu=1 gang=s/2
        queue
        > 1 active
        step 1
        > gang s has room kept for 3
        > e1 -> a
        queue
        > 1 active
        step 1
        > e2 -> a
        load a
        > 4 pods, 4000m cpu, 0 memory
        ",
    );
}
