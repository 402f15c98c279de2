//! Storage, which one world in five has: volumes that are made for a node, volumes that are there
//! and too few, claims for one pod alone, limits of nodes, gangs with a claim each.
//!
//! It is drawn from a stream of its own and stands behind everything else, so a seed keeps the
//! nodes and jobs it had without it.

pub(in crate::swarm) mod more;

use framework::{Args, VolumeBindingArgs};
use model::{
    AccessModes, BindingMode, CsiNodeFacts, LabelOperator, Millis, Need, NodeTerm,
    PersistentVolumeFacts, Quantity, RequirementSpec, StorageClassFacts, Time, VolumeClaimFacts,
};

use super::shapes::{job, range, some_time};
use super::{LABELS, few};
use crate::dice::{Dice, Stream};
use crate::plan::{ClaimPlan, Job, Membership, Mount, Plan, Provisioner, StoragePlan};

/// How many of a hundred worlds have storage.
const PERCENT: u64 = 20;
const DRIVER: &str = "disk.example.com";
/// The class whose volumes are made for a node.
const MADE: &str = "made";
/// The class whose volumes an administrator makes.
const LOCAL: &str = "local";
const GIB: i64 = 1 << 30;
const NONE: (Millis, Millis) = (Millis(0), Millis(0));

/// Adds to a plan what its seed has of it.
pub(super) fn add(plan: &mut Plan) {
    let mut dice = Dice::new(plan.seed, Stream::StorageShapes);
    if !dice.percent(PERCENT) {
        return;
    }
    let dice = &mut dice;
    plan.storage = storage(dice, plan);
    let count = dice.between(1, 5);
    for number in 0..count {
        let job = volume_job(dice, plan, number);
        plan.jobs.push(job);
    }
    if dice.percent(50) {
        let bind_timeout = Millis::seconds(dice.pick(&[1, 5, 30, 120]));
        let args = VolumeBindingArgs { bind_timeout, ..VolumeBindingArgs::default() };
        for profile in &mut plan.settings.profiles {
            profile.args.push(("VolumeBinding", Args::VolumeBinding(args.clone())));
        }
    }
    more::add(plan);
}

fn storage(dice: &mut Dice, plan: &Plan) -> StoragePlan {
    let slow = dice.pick(&[10, 500, 5_000]);
    let class = |name: &str, provisioner: &str| StorageClassFacts {
        name: name.into(),
        provisioner: provisioner.into(),
        mode: Some(BindingMode::WaitForFirstConsumer),
        topologies: None,
    };
    let classes = [class(MADE, DRIVER), class(LOCAL, "kubernetes.io/no-provisioner")];
    let classes = classes.map(|class| (late(dice, plan.span), class)).into();
    let volumes = dice.between(0, 8);
    let csi_nodes = match dice.percent(50) {
        true => plan.nodes.iter().map(|node| csi_node(dice, &node.facts.name, plan.span)).collect(),
        false => Vec::new(),
    };
    StoragePlan {
        classes,
        volumes: (0..volumes).map(|number| volume(dice, number, plan.span)).collect(),
        claims: Vec::new(),
        csi_nodes,
        objects: Vec::new(),
        controller: range(dice, slow),
        provisioner: Provisioner {
            takes: range(dice, 2 * slow),
            failed_percent: dice.pick(&[0, 0, 20, 60]),
            silent_percent: dice.pick(&[0, 0, 10, 50]),
            near_percent: dice.pick(&[0, 50, 100]),
            ..Provisioner::default()
        },
        cluster: None,
    }
}

/// Mostly from the start.
fn late(dice: &mut Dice, span: Millis) -> Time {
    if dice.percent(75) { Time::default() } else { some_time(dice, span) }
}

fn csi_node(dice: &mut Dice, name: &str, span: Millis) -> (Time, CsiNodeFacts) {
    let limit = dice.pick(&[None, Some(0), Some(1), Some(1), Some(2), Some(4)]);
    let drivers = vec![(DRIVER.into(), limit)];
    (late(dice, span), CsiNodeFacts { name: name.into(), drivers, migrated: Vec::new() })
}

fn volume(dice: &mut Dice, number: u64, span: Millis) -> (Time, PersistentVolumeFacts) {
    let affinity = dice.percent(70).then(|| {
        let (key, values) = dice.pick(&LABELS);
        let values = vec![dice.pick(values).to_owned()];
        let operator = LabelOperator::In;
        let expressions = vec![RequirementSpec { key: key.to_owned(), operator, values }];
        vec![NodeTerm { expressions, ..NodeTerm::default() }]
    });
    let facts = PersistentVolumeFacts {
        name: format!("local{number}").into(),
        class: LOCAL.into(),
        capacity: Quantity::from_units(dice.pick(&[1, 2, 2, 5, 10]) * GIB),
        modes: AccessModes::named(["ReadWriteOnce", "ReadWriteOncePod"]),
        is_available: true,
        affinity,
        ..PersistentVolumeFacts::default()
    };
    (late(dice, span), facts)
}

fn volume_job(dice: &mut Dice, plan: &mut Plan, number: u64) -> Job {
    let mut job = job(dice, format!("v{number}"), plan.span);
    job.spec.needs = vec![Need::Volumes];
    job.pods = few(dice, 6);
    job.priority = dice.pick(&[0, 0, 0, 10]);
    job.runs = dice.percent(60).then(|| range(dice, plan.span.0 / 3));
    job.life.deleted_after = dice.percent(25).then(|| range(dice, plan.span.0));
    job.life.grace = if dice.percent(30) { range(dice, 10_000) } else { NONE };
    match dice.between(0, 5) {
        0 => job.life.mounts = vec![own(dice, MADE)],
        1 => job.life.mounts = vec![own(dice, LOCAL)],
        2 => job.life.mounts = vec![own(dice, LOCAL), own(dice, MADE)],
        3 => job.life.mounts = vec![shared(dice, plan, &job, "ReadWriteOncePod", &[MADE, LOCAL])],
        4 => job.life.mounts = vec![shared(dice, plan, &job, "ReadWriteOnce", &[MADE, LOCAL])],
        _ => {
            let class = dice.pick(&[MADE, LOCAL]);
            job.life.mounts = vec![own(dice, class)];
            gang(dice, &mut job);
        }
    }
    job
}

/// Makes the pods of a job a gang.
fn gang(dice: &mut Dice, job: &mut Job) {
    let min = dice.between(1, job.pods);
    job.gang = Some(Membership {
        gang: job.name.as_str().into(),
        min: Some(u32::try_from(min).unwrap_or(1)),
        every: if dice.percent(30) { Millis(dice.between(1, 3_000)) } else { Millis(0) },
        ..Membership::default()
    });
}

fn own(dice: &mut Dice, class: &str) -> Mount {
    Mount::Own {
        class: class.into(),
        gib: dice.pick(&[1, 2, 5]),
        is_ephemeral: dice.percent(30),
        late: if dice.percent(70) { NONE } else { range(dice, 20_000) },
    }
}

/// A claim that several pods name, which may come late, vanish and come back.
fn shared(dice: &mut Dice, plan: &mut Plan, job: &Job, mode: &str, classes: &[&str]) -> Mount {
    let name: Box<str> = format!("{}-shared", job.name).into();
    let facts = VolumeClaimFacts {
        namespace: job.spec.namespace.as_str().into(),
        name: name.clone(),
        class: dice.pick(classes).into(),
        size: Some(Quantity::from_units(dice.pick(&[1, 2, 5]) * GIB)),
        modes: AccessModes::named([mode]),
        ..VolumeClaimFacts::default()
    };
    let mut times = vec![late(dice, plan.span)];
    while times.len() < 3 && dice.percent(30) {
        let after = times.last().copied().unwrap_or_default();
        times.push(after + Millis(dice.between(1, plan.span.0 / 2)));
    }
    plan.storage.claims.push(ClaimPlan { facts, times });
    Mount::Shared(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_is_drawn_often_enough() {
        let plans: Vec<Plan> = (1..=1_000).map(super::super::plan).collect();
        let count = |is_there: &dyn Fn(&Plan) -> bool| plans.iter().filter(|p| is_there(p)).count();
        let has = |plan: &Plan, is_it: &dyn Fn(&Job) -> bool| {
            plan.jobs.iter().any(|job| !job.life.mounts.is_empty() && is_it(job))
        };
        let shared = |job: &Job| job.life.mounts.iter().any(|it| matches!(it, Mount::Shared(_)));
        assert!((150..=250).contains(&count(&|plan| !plan.storage.is_empty())));
        assert!(count(&|plan| has(plan, &|job| job.gang.is_some())) > 40, "gangs");
        assert!(count(&|plan| has(plan, &shared)) > 40, "claims of several pods");
        assert!(count(&|plan| !plan.storage.csi_nodes.is_empty()) > 40, "limits");
        let goes = |plan: &Plan| plan.storage.claims.iter().any(|claim| claim.times.len() > 1);
        assert!(count(&goes) > 20, "claims that vanish");
    }
}
