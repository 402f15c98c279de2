//! Pods with volumes: what their claims get, and what has to happen before they are bound.

use kubenexus_engine::Options;
use testkit::{Script, check, default_profile};

#[test]
fn a_volume_is_bound_before_the_pod() {
    check(
        "
        node a pods=10 host=a
        node b pods=10 host=b
        storageclass local by=kubernetes.io/no-provisioner
        pv large size=20Gi class=local on=b version=5
        pv small size=10Gi class=local on=b version=6
        pvc data size=5Gi class=local version=7
        pod db claim=data
        step
        > db -> b after small for default/data
        given db
        > small for default/data
        step
        written db 10
        step
        # The watch shows the write, then what the controller made of it.
        pv small size=10Gi class=local on=b version=10 claim=default/data/own
        step
        pvc data size=5Gi class=local version=12 volume=small bound
        step
        > db -> b
        given db
        > nothing
        confirm db
        ",
    );
}

#[test]
fn a_claim_that_got_another_volume_than_was_given_may_be_elsewhere() {
    check(
        "
        node a pods=10 host=a
        node b pods=10 host=b closed
        storageclass local by=kubernetes.io/no-provisioner
        pv mine size=5Gi class=local on=a version=1
        pv other size=5Gi class=local on=b version=1
        pvc data size=5Gi class=local version=1
        pod db claim=data
        step
        > db -> a after mine for default/data
        written db 10
        pv mine size=5Gi class=local on=a version=10 claim=default/data/own
        # What a leader before us wrote arrives.
        pv other size=5Gi class=local on=b version=11 claim=default/data/own taken
        pvc data size=5Gi class=local version=12 volume=other bound
        step
        > db not bound: running PreBind plugin \"VolumeBinding\": binding volumes: pv \"other\" node
        >+ affinity doesn't match node \"a\": no matching NodeSelectorTerms
        ",
    );
}

#[test]
fn a_volume_is_made_for_the_node_that_was_chosen() {
    check(
        "
        node a pods=10 zone=x
        node b pods=10 zone=y
        storageclass fast by=example.com/disk at=zone:y
        pvc data size=5Gi class=fast version=1
        pod db claim=data
        step
        > db -> b after b for default/data
        written db 4
        step
        pvc data size=5Gi class=fast version=4 selected=b
        step
        pvc data size=5Gi class=fast version=5 selected=b volume=made
        step
        pv made size=5Gi class=fast claim=default/data/own taken
        pvc data size=5Gi class=fast version=6 selected=b volume=made bound
        step
        > db -> b
        ",
    );
}

#[test]
fn a_node_that_is_given_back_is_left() {
    check(
        "
        node a pods=10 cpu=4
        storageclass fast by=example.com/disk
        pvc data size=5Gi class=fast version=1
        pod db claim=data
        step
        > db -> a after a for default/data
        written db 4
        pvc data size=5Gi class=fast version=4 selected=a
        step
        # Whoever makes volumes takes the annotation off.
        pvc data size=5Gi class=fast version=5
        step
        > db not bound: running PreBind plugin \"VolumeBinding\": binding volumes:
        >+ provisioning failed for PVC \"data\"
        load a
        > 0 pods, 0m cpu, 0 memory
        queue
        > 1 backoff
        after 1s
        step
        > db -> a after a for default/data
        ",
    );
}

#[test]
fn what_was_accepted_stays_and_binds_the_next_try() {
    check(
        "
        node a pods=10 cpu=4
        node b pods=10 cpu=8
        storageclass fast by=example.com/disk
        pvc data size=5Gi class=fast version=1
        pod db claim=data cpu=1
        step
        > db -> b after b for default/data
        pvc data size=5Gi class=fast version=4 selected=b
        unwritten db
        pod big cpu=8
        step
        > big -> b
        after 1s
        step
        > db waits: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't find available
        >+ persistent volumes to bind.
        gone pod big
        after 2s
        step
        > db -> b after nothing
        ",
    );
}

#[test]
fn time_runs_out_for_volumes_that_do_not_come() {
    check(
        "
        node a pods=10
        storageclass fast by=example.com/disk
        pvc data size=5Gi class=fast version=1
        pod db claim=data
        step
        > db -> a after a for default/data
        after 700s
        step
        written db 4
        pvc data size=5Gi class=fast version=4 selected=a
        step
        after 600s
        step
        > db not bound: running PreBind plugin \"VolumeBinding\": binding volumes: context deadline
        >+ exceeded
        after 1s
        step
        # The node is chosen already: nothing has to be written.
        > db -> a after nothing
        given db
        > a new one for default/data
        ",
    );
}

#[test]
fn a_node_that_is_gone_is_not_waited_for() {
    check(
        "
        node a pods=10
        storageclass fast by=example.com/disk
        pvc data size=5Gi class=fast version=1
        pod db claim=data
        step
        > db -> a after a for default/data
        written db 4
        pvc data size=5Gi class=fast version=4 selected=a
        step
        gone node a
        step
        > db not bound: running PreBind plugin \"VolumeBinding\": binding volumes: failed to get
        >+ node \"a\": node \"a\" not found
        ",
    );
}

#[test]
fn a_gang_is_not_given_one_volume_twice() {
    check(
        "
        node a pods=10 host=a
        node b pods=10 host=b
        storageclass local by=kubernetes.io/no-provisioner
        pv one size=10Gi class=local on=a version=1
        pv two size=10Gi class=local on=b version=2
        pvc data-0 size=5Gi class=local version=3
        pvc data-1 size=5Gi class=local version=4
        pod w-0 gang=w/2 claim=data-0
        pod w-1 gang=w/2 claim=data-1
        step
        > w-0 -> b after two for default/data-0
        > w-1 -> a after one for default/data-1
        written w-0 10
        pv two size=10Gi class=local on=b version=10 claim=default/data-0/own
        pvc data-0 size=5Gi class=local version=11 volume=two bound
        # Nobody is bound before all can be.
        step
        written w-1 12
        pv one size=10Gi class=local on=a version=12 claim=default/data-1/own
        pvc data-1 size=5Gi class=local version=13 volume=one bound
        step
        > w-0 -> b
        > w-1 -> a
        confirm w-0
        confirm w-1
        step
        > gang w started
        ",
    );
}

#[test]
fn a_gang_whose_claim_vanishes_is_taken_back_whole() {
    check(
        "
        node a pods=10 cpu=4
        storageclass fast by=example.com/disk
        pvc data-0 size=5Gi class=fast version=3
        pvc data-1 size=5Gi class=fast version=4
        pod w-0 gang=w/2 claim=data-0 cpu=1
        pod w-1 gang=w/2 claim=data-1 cpu=1
        step
        > w-0 -> a after a for default/data-0
        > w-1 -> a after a for default/data-1
        load a
        > 2 pods, 2000m cpu, 0 memory
        gone pod w-1
        load a
        > 0 pods, 0m cpu, 0 memory
        given w-0
        > nothing
        ",
    );
}

#[test]
fn a_claim_for_one_pod_alone_is_free_when_that_pod_goes() {
    check(
        "
        node a pods=10
        pv one size=10Gi taken claim=default/data/own
        pvc data volume=one bound mode=ReadWriteOncePod
        pod first on=a claim=data
        pod second claim=data
        step
        > second waits: 0/1 nodes are available: 1 node(s) unavailable due to PersistentVolumeClaim
        >+ with ReadWriteOncePod access mode already in-use by another pod.
        gone pod first
        after 1s
        step
        > second -> a
        ",
    );
}

#[test]
fn a_claim_is_free_when_the_node_of_its_pod_is_gone() {
    check(
        "
        node a pods=10
        node b pods=10
        pv one size=10Gi taken claim=default/data/own
        pvc data volume=one bound mode=ReadWriteOncePod
        pod first on=a claim=data
        pod second claim=data
        step
        > second waits: 0/2 nodes are available: 2 node(s) unavailable due to PersistentVolumeClaim
        >+ with ReadWriteOncePod access mode already in-use by another pod.
        gone node a
        after 1s
        step
        > second -> b
        ",
    );
}

#[test]
fn a_claim_that_was_made_anew_is_not_given_the_volume_of_the_old_one() {
    check(
        "
        node a pods=10
        storageclass local by=kubernetes.io/no-provisioner
        pv one size=10Gi class=local version=1
        pvc data size=5Gi class=local version=2
        pod first claim=data
        step
        > first -> a after one for default/data
        pv one size=10Gi class=local version=3 claim=default/data/old taken
        pod second claim=data
        step
        > second waits: 0/1 nodes are available: 1 node(s) didn't find available persistent volumes
        >+ to bind.
        ",
    );
}

#[test]
fn claims_that_appear_wake_their_pods() {
    check(
        "
        node a pods=10
        pod db claim=data
        step
        > db waits: 0/1 nodes are available: persistentvolumeclaim \"data\" not found.
        pvc other volume=one bound
        queue
        > 1 parked
        pvc data class=slow
        after 1s
        step
        > db waits: 0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.
        pv one size=10Gi taken claim=default/data/own
        pvc data volume=one bound
        after 2s
        step
        > db -> a
        ",
    );
}

#[test]
fn nodes_take_as_many_volumes_of_a_driver_as_they_can() {
    check(
        "
        node a pods=10
        csinode a driver=disk:1
        pv one driver=disk handle=h1 taken claim=default/one/own
        pv two driver=disk handle=h2 taken claim=default/two/own
        pvc one volume=one bound
        pvc two volume=two bound
        pod first on=a claim=one
        pod again claim=one
        pod second claim=two
        step
        > again -> a
        > second waits: 0/1 nodes are available: 1 node(s) exceed max volume count.
        gone pod first
        after 1s
        step
        > second waits: 0/1 nodes are available: 1 node(s) exceed max volume count.
        csinode a driver=disk:2
        after 2s
        step
        > second -> a
        ",
    );
}

#[test]
fn units_on_their_way_go_on_from_a_checkpoint() {
    let mut run = Script::new(&[default_profile()], Options::default());
    for line in [
        "node a pods=10",
        "storageclass fast by=example.com/disk",
        "pvc data size=5Gi class=fast version=1",
        "pod db claim=data",
        "step",
        "written db 4",
        "pvc data size=5Gi class=fast version=4 selected=a",
        "step",
    ] {
        run.command(line);
    }
    let checkpoint = run.scheduler.checkpoint();
    assert_eq!(checkpoint.commits.len(), 1);
    let resumed = run.resumed(checkpoint.clone(), &[default_profile()], Options::default());
    let mut run = resumed.expect("a checkpoint that was just taken");
    assert_eq!(run.scheduler.checkpoint(), checkpoint);
    run.command("pv made size=5Gi class=fast claim=default/data/own taken");
    run.command("pvc data size=5Gi class=fast version=6 selected=a volume=made bound");
    assert_eq!(run.command("step"), ["db -> a"]);
}

/// Whether volumes come is nothing that free nodes tell.
#[test]
fn a_gang_that_waits_for_volumes_is_not_told_that_it_can_never_fit() {
    check(
        "
        node a pods=10
        pvc data-0 class=late
        pvc data-1 class=late
        pod w-0 gang=w/2 claim=data-0
        pod w-1 gang=w/2 claim=data-1
        step
        > w-0 waits: gang w: room for 0 of at least 2; w-0: 0/1 nodes are available: pod has
        >+ unbound immediate PersistentVolumeClaims.
        > w-1 waits: gang w: room for 0 of at least 2; w-0: 0/1 nodes are available: pod has
        >+ unbound immediate PersistentVolumeClaims.
        > gang w waits: gang w: room for 0 of at least 2; w-0: 0/1 nodes are available: pod has
        >+ unbound immediate PersistentVolumeClaims.
        ",
    );
}

#[test]
fn a_gang_is_woken_by_what_its_claims_wait_for() {
    check(
        "
        node a pods=10 cpu=4
        pv one size=10Gi class=local version=1
        pv two size=10Gi class=local version=2
        pvc data-0 size=5Gi class=local version=3
        pvc data-1 size=5Gi class=local version=4
        pod w-0 gang=w/2 claim=data-0
        pod w-1 gang=w/2 claim=data-1
        step
        > w-0 waits: gang w: room for 0 of at least 2; w-0: 0/1 nodes are available: pod has
        >+ unbound immediate PersistentVolumeClaims.
        > w-1 waits: gang w: room for 0 of at least 2; w-0: 0/1 nodes are available: pod has
        >+ unbound immediate PersistentVolumeClaims.
        > gang w waits: gang w: room for 0 of at least 2; w-0: 0/1 nodes are available: pod has
        >+ unbound immediate PersistentVolumeClaims.
        queue
        > 1 parked
        storageclass local by=kubernetes.io/no-provisioner
        queue
        > 1 backoff
        ",
    );
}

#[test]
fn nobody_is_told_of_a_pod_that_goes_anyway() {
    check(
        "
        node a pods=10 cpu=4
        storageclass fast by=example.com/disk
        pvc data size=5Gi class=fast version=1
        pod db claim=data cpu=1
        step
        > db -> a after a for default/data
        written db 4
        pvc data size=5Gi class=fast version=4 selected=a
        step
        pod db claim=data cpu=1 terminating
        # Whoever makes volumes takes the annotation off.
        pvc data size=5Gi class=fast version=5
        step
        load a
        > 0 pods, 0m cpu, 0 memory
        ",
    );
}

/// A node that is proposed for a pod keeps its claim for it there, as long as it is proposed.
#[test]
fn a_claim_is_free_when_no_node_is_proposed_for_its_pod() {
    check(
        "
        node a pods=10 cpu=4
        pv one size=10Gi taken claim=default/data/own
        pvc data volume=one bound mode=ReadWriteOncePod
        pod low on=a cpu=4
        pod first claim=data priority=5 cpu=4
        step
        > first on a: evicts low
        > first waits: 0/1 nodes are available: 1 Insufficient cpu.
        pod second claim=data
        step
        > second waits: 0/1 nodes are available: 1 node(s) unavailable due to PersistentVolumeClaim
        >+ with ReadWriteOncePod access mode already in-use by another pod.
        gone pod first
        after 1s
        step
        > second -> a
        ",
    );
}
