//! Limits, drivers, what is left of storage, disks that pods name, and claims that wait for no pod.

use model::{
    CsiDriverFacts, CsiStorageCapacityFacts, CsiVolume, Disk, DiskId, LabelSelector, PodFacts,
    PodVolume, VolumeAttachmentFacts, VolumeSource,
};

use super::*;

/// One node, two pods with a volume each to be made, and objects that are there from the start.
fn one(objects: impl IntoIterator<Item = StorageFacts>) -> Plan {
    let mut plan = plan("made");
    plan.nodes.truncate(1);
    let objects = objects.into_iter().map(|facts| (Time(0), StorageChange::Is(Box::new(facts))));
    plan.storage.objects = objects.collect();
    plan
}

/// How many volumes of the driver `disk` the node takes.
fn limit(limit: i32) -> StorageFacts {
    let drivers = vec![("disk".into(), Some(limit))];
    StorageFacts::CsiNode(CsiNodeFacts { name: "a".into(), drivers, migrated: Vec::new() })
}

/// The engine believes that nodes take one volume more of every driver.
fn one_more() -> impl Saboteur {
    alters(|facts| {
        if let StorageFacts::CsiNode(facts) = facts {
            let limits = facts.drivers.iter_mut().filter_map(|(_, limit)| limit.as_mut());
            limits.for_each(|limit| *limit += 1);
        }
        true
    })
}

#[test]
fn a_limit_that_is_exceeded_by_one_is_caught() {
    assert_eq!(run(one([limit(1)]), alters(|_| true)), Ok(()));
    let words = "VolumeLimitExceeded";
    check(&caught(one([limit(1)]), one_more()), FailureKind::Wrong, words);
    hunt(words, |plan| sabotaged(plan, one_more()));
}

/// The engine sees no attachments.
fn unattached() -> impl Saboteur {
    alters(|facts| !matches!(facts, StorageFacts::Attachment(_)))
}

#[test]
fn a_volume_that_is_still_attached_counts() {
    let source = VolumeSource::Csi(CsiVolume { driver: "disk".into(), handle: "h".into() });
    let spare = PersistentVolumeFacts { name: "spare".into(), source, ..Default::default() };
    let kept = VolumeAttachmentFacts {
        name: "kept".into(),
        node: "a".into(),
        attacher: "disk".into(),
        volume: Some("spare".into()),
    };
    let kept = StorageFacts::Attachment(kept);
    let plan = one([limit(2), StorageFacts::Volume(spare), kept]);
    assert_eq!(run(plan.clone(), alters(|_| true)), Ok(()));
    check(&caught(plan, unattached()), FailureKind::Wrong, "VolumeLimitExceeded");
    hunt("VolumeLimitExceeded", |plan| sabotaged(plan, unattached()));
}

/// The engine sees that drivers ask for nothing.
fn modest() -> impl Saboteur {
    alters(|facts| {
        if let StorageFacts::CsiDriver(facts) = facts {
            (facts.is_required, facts.tells_capacity) = (false, false);
        }
        true
    })
}

fn driver(is_required: bool, tells_capacity: bool) -> StorageFacts {
    let name = "disk".into();
    StorageFacts::CsiDriver(CsiDriverFacts { name, tells_capacity, is_required })
}

#[test]
fn a_node_without_a_driver_that_it_needs_is_caught() {
    let plan = one([driver(true, false)]);
    assert_eq!(run(plan.clone(), alters(|_| true)), Ok(()));
    check(&caught(plan, modest()), FailureKind::Wrong, "CSIDriverMissing");
    hunt("CSIDriverMissing", |plan| sabotaged(plan, modest()));
}

#[test]
fn a_volume_for_which_too_little_is_left_is_caught() {
    let left = |bytes: i64| {
        StorageFacts::Capacity(CsiStorageCapacityFacts {
            namespace: "drivers".into(),
            name: "left".into(),
            class: "made".into(),
            topology: Some(LabelSelector::default()),
            capacity: Some(bytes),
            volume_max: None,
        })
    };
    assert_eq!(run(one([driver(false, true), left(1 << 30)]), alters(|_| true)), Ok(()));
    let plan = one([driver(false, true), left((1 << 30) - 1)]);
    assert_eq!(run(plan.clone(), alters(|_| true)), Ok(()));
    check(&caught(plan, modest()), FailureKind::Wrong, "too little storage is left for the node");
    hunt("too little storage is left for the node", |plan| sabotaged(plan, modest()));
}

/// The engine believes that every disk is only read.
fn reading() -> impl Saboteur {
    Alters(|event: &mut Event| {
        if let Event::Seen(Fact::Pod(facts)) = event {
            *facts = read(facts).into();
        }
        true
    })
}

fn read(facts: &PodFacts) -> PodFacts {
    let read = |volume: &PodVolume| match volume.clone() {
        PodVolume::Inline { disk: Some(disk), csi, is_broken } => {
            let disk = Some(Disk { is_read_only: true, ..disk });
            PodVolume::Inline { disk, csi, is_broken }
        }
        other @ (PodVolume::Inline { .. } | PodVolume::Claim(_) | PodVolume::Ephemeral { .. }) => {
            other
        }
    };
    PodFacts { volumes: facts.volumes.iter().map(read).collect(), ..facts.clone() }
}

#[test]
fn a_disk_that_two_write_on_one_node_is_caught() {
    let mut plan = one([]);
    let disk = Disk { id: DiskId::Gce("x".into()), is_read_only: false };
    plan.jobs[0].life.mounts = vec![Mount::Inline { disk, csi: None }];
    assert_eq!(run(plan.clone(), alters(|_| true)), Ok(()));
    check(&caught(plan, reading()), FailureKind::Wrong, "VolumeDiskConflict");
    hunt("VolumeDiskConflict", |plan| sabotaged(plan, reading()));
}

/// The engine believes that all claims wait for pods.
fn waiting() -> impl Saboteur {
    alters(|facts| {
        if let StorageFacts::Class(class) = facts {
            class.mode = Some(BindingMode::WaitForFirstConsumer);
        }
        true
    })
}

#[test]
fn a_claim_that_does_not_wait_for_its_pod_is_not_given_anything() {
    let mut plan = plan("made");
    plan.storage.classes[1].1.mode = Some(BindingMode::Immediate);
    // Pods come before their volumes are there.
    plan.storage.controller = (Millis(3_000), Millis(3_000));
    assert_eq!(run(plan.clone(), alters(|_| true)), Ok(()));
    check(&caught(plan, waiting()), FailureKind::Wrong, "its class does not wait for pods");
    hunt("its class does not wait for pods", |plan| sabotaged(plan, waiting()));
}
