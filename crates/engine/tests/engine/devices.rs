//! Devices that drivers tell of, and those that are allocated to claims.

use kubenexus_engine::Options;
use testkit::{Script, check, check_with, default_profile, own_profile};

#[test]
fn slices_say_in_which_zones_devices_are_and_claims_take_some() {
    check(
        "
        node a cpu=9 zones=2x4 nvidia.com/gpu=4 policy=restricted
        slice s on=a devices=0,0,1,1
        claim default/c a/gpu-0
        inside a
        > claims: nvidia.com/gpu 0
        pod p cpu=2 memory=1Gi nvidia.com/gpu=1 exclusive
        step
        > p -> a
        inside a
        > p: cpus 0-1, nvidia.com/gpu 1
        > claims: nvidia.com/gpu 0
        claim default/d a/gpu-1 a/gpu-3
        inside a
        > p: cpus 0-1, nvidia.com/gpu 1
        > claims: nvidia.com/gpu 0-1,3
        gone pod p
        inside a
        > claims: nvidia.com/gpu 0-1,3
        pod q cpu=2 memory=1Gi nvidia.com/gpu=1 exclusive
        step
        > q -> a
        inside a
        > q: cpus 4-5, nvidia.com/gpu 2
        > claims: nvidia.com/gpu 0-1,3
        gone claim default/d
        claim default/c
        inside a
        > q: cpus 4-5, nvidia.com/gpu 2
        ",
    );
}

#[test]
fn a_report_leaves_to_claims_what_is_theirs() {
    check(
        "
        node a cpu=9 zones=2x4 nvidia.com/gpu=4 policy=restricted
        slice s on=a devices=0,0,1,1
        claim default/c a/gpu-0
        pod p on=a cpu=2 memory=1Gi nvidia.com/gpu=1 exclusive
        pod q on=a cpu=2 memory=1Gi nvidia.com/gpu=1 exclusive
        node a cpu=9 zones=2x4 nvidia.com/gpu=4 policy=restricted held=p:0-1:2
        inside a
        > p: cpus 0-1, nvidia.com/gpu 2 (told)
        > q: cpus 2-3, nvidia.com/gpu 1
        > claims: nvidia.com/gpu 0
        ",
    );
}

#[test]
fn without_slices_that_fit_nothing_is_foreseen_of_devices() {
    check(
        "
        node a cpu=9 zones=2x4 nvidia.com/gpu=4 policy=restricted
        pod p on=a cpu=2 memory=1Gi nvidia.com/gpu=1 exclusive
        inside a
        > p: cpus 0-1
        slice s on=a generation=1 slices=2 devices=1,1
        inside a
        > p: cpus 0-1
        slice t on=a generation=1 slices=2 first=2 devices=0,0
        inside a
        > p: cpus 0-1, nvidia.com/gpu 2
        slice t on=a generation=1 slices=2 first=2 devices=0,0x
        inside a
        > p: cpus 0-1
        node a cpu=9 zones=2x4 nvidia.com/gpu=3 policy=restricted
        inside a
        > p: cpus 0-1, nvidia.com/gpu 2
        gone slice s
        inside a
        > p: cpus 0-1
        slice s on=a generation=1 slices=2 devices=1,?
        inside a
        > p: cpus 0-1
        ",
    );
}

#[test]
fn a_node_is_touched_when_its_slices_or_claims_change_and_only_then() {
    let mut run = Script::new(&[default_profile()], Options::default());
    for name in ["a", "b"] {
        run.command(&format!("node {name} cpu=9 zones=2x4 nvidia.com/gpu=2 policy=restricted"));
    }
    let mut touched = |command: &str| {
        let mark = run.scheduler.usage().facts_mark();
        run.command(command);
        let catalog = run.scheduler.catalog();
        let nodes = run.scheduler.usage().facts_since(mark).expect("few nodes");
        nodes.iter().map(|node| catalog.node_name(*node).to_owned()).collect::<Vec<_>>()
    };
    let table = [
        ("slice s on=a devices=0,1", "a"),
        ("slice s on=a devices=0,1", ""),
        ("slice s on=a devices=1,1", "a"),
        ("claim default/c a/gpu-1", "a"),
        ("claim default/c a/gpu-1", ""),
        ("claim default/d a/gpu-1", ""),
        ("claim default/e b/gpu-1", ""),
        ("slice t on=b devices=0,1", "b"),
        ("gone claim default/c", ""),
        ("gone claim default/d", "a"),
        ("claim default/e", "b"),
        ("slice u on=b driver=other devices=0,1", ""),
        ("slice v on=nowhere devices=0,1", ""),
        ("gone slice u", ""),
        ("gone slice t", "b"),
    ];
    for (command, expected) in table {
        assert_eq!(touched(command).join(" "), expected, "{command}");
    }
}

#[test]
fn a_pod_that_waits_for_devices_is_woken_by_slices_and_claims() {
    // Two of four GPUs are free, one in each zone.
    let start = "
        node a cpu=9 zones=2x4 nvidia.com/gpu=4 policy=single-numa-node
        slice s on=a devices=0,0,1,1
        claim default/c a/gpu-0 a/gpu-2
        pod p cpu=2 memory=1Gi nvidia.com/gpu=2 exclusive
        step
        > p waits: 0/1 nodes are available: 1 node(s) had a kubelet that would reject the pod \
        with TopologyAffinityError.
        queue
        > 1 parked
        claim default/other b/gpu-1
        queue
        > 1 parked
        ";
    let end = "
        queue
        > 1 backoff
        after 10s
        step
        > p -> a
        ";
    for cure in [
        "gone claim default/c",
        "claim default/c a/gpu-0",
        "slice s on=a generation=2 devices=1,0,1,0",
        "gone slice s",
    ] {
        check_with(&[own_profile()], &format!("{start}{cure}{end}"));
    }
}

#[test]
fn a_checkpoint_has_slices_and_claims_and_what_is_taken_goes_on() {
    let profiles = [default_profile()];
    let mut run = Script::new(&profiles, Options::default());
    for command in [
        "node a cpu=9 zones=2x4 nvidia.com/gpu=4 policy=restricted",
        "slice s on=a devices=0,0,1,1",
        "claim default/c a/gpu-0 a/gpu-2",
        "pod p on=a cpu=2 memory=1Gi nvidia.com/gpu=1 exclusive",
    ] {
        run.command(command);
    }
    let expected = ["p: cpus 0-1, nvidia.com/gpu 1", "claims: nvidia.com/gpu 0,2"];
    assert_eq!(run.command("inside a"), expected);
    let checkpoint = run.scheduler.checkpoint();
    let text = serde_json::to_string(&checkpoint).expect("it can be written");
    let read = serde_json::from_str(&text).expect("it can be read");
    assert_eq!(checkpoint, read);
    let mut again = run.resumed(read, &profiles, Options::default()).expect("ours");
    assert_eq!(again.command("inside a"), expected);
    assert_eq!(again.scheduler.checkpoint(), checkpoint);
    again.command("gone claim default/c");
    assert_eq!(again.command("inside a"), expected[..1]);
}
