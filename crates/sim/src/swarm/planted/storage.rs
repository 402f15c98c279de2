//! Bugs about volumes: the rules that are written a second time catch them.

mod ends;
mod more;

use model::{
    AccessModes, BindingMode, CsiNodeFacts, Event, Fact, Need, PersistentVolumeFacts, Quantity,
    StorageClassFacts, StorageFacts, Time, VolumeClaimFacts,
};

use super::super::draw;
use super::{Alters, FailureKind, Millis, Plan, Run, Saboteur, caught, check, finish, run};
use crate::checkers::{Given, Kept};
use crate::plan::{ClaimPlan, Membership, Mount, Provisioner, StorageChange, StoragePlan};

const SPAN: (Millis, Millis) = (Millis(50), Millis(100));

/// Two pods with a claim each of a class; two volumes of the class `local`.
fn plan(class: &str) -> Plan {
    let mut plan = super::plan();
    let of = |name: &str, provisioner: &str| StorageClassFacts {
        name: name.into(),
        provisioner: provisioner.into(),
        mode: Some(BindingMode::WaitForFirstConsumer),
        topologies: None,
    };
    let local = of("local", "kubernetes.io/no-provisioner");
    let volume = |name: &str| PersistentVolumeFacts {
        name: name.into(),
        class: "local".into(),
        capacity: Quantity::from_units(1 << 30),
        modes: AccessModes::named(["ReadWriteOnce"]),
        is_available: true,
        ..PersistentVolumeFacts::default()
    };
    plan.storage = StoragePlan {
        classes: vec![(Time(0), local), (Time(0), of("made", "disk"))],
        volumes: vec![(Time(0), volume("one")), (Time(0), volume("two"))],
        controller: SPAN,
        provisioner: Provisioner { takes: SPAN, ..Provisioner::default() },
        ..StoragePlan::default()
    };
    plan.jobs[0].pods = 2;
    plan.jobs[0].spec.needs = vec![Need::Volumes];
    let late = (Millis(0), Millis(0));
    let mount = Mount::Own { class: class.into(), gib: 1, is_ephemeral: false, late };
    plan.jobs[0].life.mounts = vec![mount];
    plan
}

/// Shows the engine other storage.
fn alters(mut change: impl FnMut(&mut StorageFacts) -> bool) -> impl Saboteur {
    Alters(move |event: &mut Event| match event {
        Event::Seen(Fact::Storage(facts)) => change(facts),
        Event::Seen(_) | Event::Gone(_) | Event::Listed(..) | Event::Outcome(_) => true,
    })
}

/// How many seeds are drawn until a bug must have been caught.
const SEEDS: u64 = 400;

/// Plants a bug in worlds that the swarm draws, of which those pods are left that have volumes:
/// one after the other, until it is caught in these words.
fn hunt(words: &str, plant: impl Fn(Plan) -> Run) {
    let mut seen = Vec::new();
    for seed in 1..=SEEDS {
        let mut plan = draw::plan(seed);
        if plan.storage.is_empty() {
            continue;
        }
        plan.jobs.retain(|job| !job.life.mounts.is_empty());
        let Err(failure) = finish(plant(plan)) else { continue };
        if failure.text.contains(words) {
            return;
        }
        seen.push(format!("{seed}: {}", failure.text));
    }
    panic!("{words}: in no world; but {seen:#?}");
}

/// A run in which something is sabotaged.
fn sabotaged(plan: Plan, saboteur: impl Saboteur + 'static) -> Run {
    let mut run = Run::inspected(plan);
    run.sabotage(Box::new(saboteur));
    run
}

#[test]
fn nobody_with_volumes_is_accused_where_nothing_is_planted() {
    assert_eq!(run(plan("local"), alters(|_| true)), Ok(()));
    assert_eq!(run(plan("made"), alters(|_| true)), Ok(()));
}

#[test]
fn a_volume_that_is_given_twice_is_caught() {
    struct Twice;
    impl Saboteur for Twice {
        fn prepare(&mut self, members: &mut Vec<Given>) {
            let given = members.iter_mut().flat_map(|given| &mut given.given);
            given.for_each(|(_, volume)| *volume = Some("one".into()));
        }
    }
    check(&caught(plan("local"), Twice), FailureKind::Wrong, "it is given to another claim");
}

#[test]
fn a_pod_that_is_bound_before_its_claim_is_caught() {
    let bug = alters(|facts| {
        if let StorageFacts::Claim(claim) = facts {
            (claim.volume, claim.is_bind_completed) = ("one".into(), true);
        }
        true
    });
    check(&caught(plan("local"), bug), FailureKind::Wrong, "has no volume yet");
}

#[test]
fn a_limit_that_is_not_kept_is_caught() {
    let mut plan = plan("made");
    plan.nodes.truncate(1);
    let drivers = vec![("disk".into(), Some(1))];
    let facts = CsiNodeFacts { name: "a".into(), drivers, migrated: Vec::new() };
    plan.storage.csi_nodes = vec![(Time(0), facts)];
    let bug = alters(|facts| !matches!(facts, StorageFacts::CsiNode(_)));
    check(&caught(plan, bug), FailureKind::Wrong, "VolumeLimitExceeded");
}

#[test]
fn a_claim_for_one_pod_that_two_have_is_caught() {
    let mut plan = plan("made");
    plan.jobs[0].life.mounts = vec![Mount::Shared("only".into())];
    let facts = VolumeClaimFacts {
        namespace: "team".into(),
        name: "only".into(),
        class: "made".into(),
        size: Some(Quantity::from_units(1)),
        modes: AccessModes::ONCE_POD,
        ..VolumeClaimFacts::default()
    };
    plan.storage.claims = vec![ClaimPlan { facts, times: vec![Time(0)] }];
    let bug = alters(|facts| {
        if let StorageFacts::Claim(claim) = facts {
            claim.modes = AccessModes::named(["ReadWriteOnce"]);
        }
        true
    });
    check(&caught(plan, bug), FailureKind::Wrong, "VolumeClaimInUse");
}

#[test]
fn a_class_that_wakes_nobody_is_caught() {
    let mut plan = plan("local");
    plan.storage.classes[0].0 = Time(5_000);
    let bug = alters(|facts| !matches!(facts, StorageFacts::Class(_)));
    check(&caught(plan, bug), FailureKind::Wrong, "nobody woke it");
}
