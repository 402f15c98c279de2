//! Rarer storage: drivers that nodes must have and that tell how much is left, limits that change,
//! volumes that stay attached, claims that wait for no pod, disks that pods name themselves, and
//! volumes that do not come in time.
//!
//! It has dice of its own once more, and jobs of its own: without these there is none of it
//! (`is_more`), so that parts of worlds stay what they were.

use framework::{Args, VolumeBindingArgs};
use model::{
    BindingMode, CsiDriverFacts, CsiNodeFacts, CsiStorageCapacityFacts, CsiVolume, Disk, DiskId,
    LabelOperator, LabelSelector, Millis, Need, NodeTerm, PersistentVolumeFacts, RequirementSpec,
    StorageClassFacts, StorageFacts, StorageKind, Time, VolumeAttachmentFacts, VolumeSource,
};

use super::{
    DRIVER, GIB, LABELS, LOCAL, MADE, few, gang, job, late, own, range, shared, some_time, volume,
};
use crate::dice::{Dice, Stream};
use crate::plan::{ClaimPlan, Job, Mount, Plan, StorageChange, StoragePlan};

/// How many of a hundred worlds with storage have some of it.
const PERCENT: u64 = 70;
/// A driver that tells how much is left.
const TELLING: &str = "telling.example.com";
/// Its class.
const TOLD: &str = "told";
/// The class whose claims get their volumes at once.
const AT_ONCE: &str = "at-once";
/// A class of whose volumes, which an administrator makes, there are several.
const STOCKED: &str = "stocked";
/// The driver that counts disks of GCE.
const GCE: &str = "pd.csi.storage.gke.io";
const NOBODY: &str = "kubernetes.io/no-provisioner";

type Objects = Vec<(Time, StorageChange)>;

fn is(facts: StorageFacts) -> StorageChange {
    StorageChange::Is(Box::new(facts))
}

/// Whether a mount is one that only this draws.
pub(in crate::swarm) fn is_more(mount: &Mount, claims: &[ClaimPlan]) -> bool {
    let is_class = |class: &str| [TOLD, AT_ONCE, STOCKED].contains(&class);
    match mount {
        Mount::Inline { .. } => true,
        // Those are of files.
        Mount::Disk(_) | Mount::Ephemeral { .. } => false,
        Mount::Own { class, .. } => is_class(class),
        Mount::Shared(name) => {
            claims.iter().any(|claim| claim.facts.name == *name && is_class(&claim.facts.class))
        }
    }
}

/// Adds to a plan with storage what its seed has of it.
pub(super) fn add(plan: &mut Plan) {
    let mut dice = Dice::new(plan.seed, Stream::StorageMore);
    if !dice.percent(PERCENT) {
        return;
    }
    let dice = &mut dice;
    let count = dice.between(1, 4);
    for number in 0..count {
        let jobs = more_jobs(dice, plan, number);
        plan.jobs.extend(jobs);
    }
    let mut objects = Objects::new();
    classes(dice, plan, &mut objects);
    stock(dice, plan, &mut objects);
    drivers(dice, plan, &mut objects);
    capacities(dice, plan, &mut objects);
    csi_nodes(dice, plan, &mut objects);
    attachments(dice, plan, &mut objects);
    plan.storage.objects = objects;
    stubborn(dice, plan);
}

/// Leaves of a plan's storage what there is without this.
pub(in crate::swarm) fn remove(storage: &mut StoragePlan) {
    storage.objects.clear();
    storage.provisioner.stubborn_percent = 0;
}

fn stubborn(dice: &mut Dice, plan: &mut Plan) {
    if !dice.percent(25) {
        return;
    }
    let mut args = plan.settings.profiles.iter().flat_map(|profile| &profile.args);
    let said = args.find_map(|(_, args)| {
        if let Args::VolumeBinding(args) = args { Some(args.bind_timeout) } else { None }
    });
    let timeout = said.unwrap_or(VolumeBindingArgs::default().bind_timeout);
    // Its pods are tried twice or three times, however long one of them waits.
    let least = timeout.0 + 1_000;
    let most = timeout.0 * 2 + 30_000;
    let provisioner = &mut plan.storage.provisioner;
    provisioner.stubborn_percent = dice.pick(&[20, 60, 100]);
    provisioner.stubborn = (Millis(least), Millis(most));
}

/// One and the same thing from some time on, which may change and go.
fn lives(
    dice: &mut Dice,
    span: Millis,
    objects: &mut Objects,
    draw: impl Fn(&mut Dice) -> StorageFacts,
) {
    let mut at = late(dice, span);
    let first = draw(dice);
    let (kind, name) = (first.kind(), first.name());
    objects.push((at, is(first)));
    for _ in 0..dice.pick(&[0, 0, 1, 2]) {
        at = at + Millis(dice.between(1, span.0 / 3));
        objects.push((at, is(draw(dice))));
    }
    if dice.percent(20) {
        at = at + Millis(dice.between(1, span.0 / 3));
        objects.push((at, StorageChange::Gone(kind, name)));
    }
}

fn term(dice: &mut Dice) -> NodeTerm {
    let (key, values) = dice.pick(&LABELS);
    let values = vec![dice.pick(values).to_owned()];
    let expressions =
        vec![RequirementSpec { key: key.to_owned(), operator: LabelOperator::In, values }];
    NodeTerm { expressions, ..NodeTerm::default() }
}

fn classes(dice: &mut Dice, plan: &Plan, objects: &mut Objects) {
    let topologies = dice.percent(25).then(|| vec![term(dice)]);
    let told = StorageClassFacts {
        name: TOLD.into(),
        provisioner: TELLING.into(),
        mode: Some(BindingMode::WaitForFirstConsumer),
        topologies,
    };
    let at_once = StorageClassFacts {
        name: AT_ONCE.into(),
        provisioner: dice.pick(&[DRIVER, TELLING, NOBODY]).into(),
        mode: Some(BindingMode::Immediate),
        topologies: None,
    };
    let stocked = StorageClassFacts {
        name: STOCKED.into(),
        provisioner: NOBODY.into(),
        mode: Some(BindingMode::WaitForFirstConsumer),
        topologies: None,
    };
    for class in [told, at_once, stocked] {
        let at = late(dice, plan.span);
        objects.push((at, is(StorageFacts::Class(class))));
    }
    for number in 0..dice.between(0, 3) {
        let (at, facts) = volume(dice, number, plan.span);
        let name: Box<str> = format!("at-once{number}").into();
        let source = csi(dice.pick(&[DRIVER, TELLING]), &name);
        let class = AT_ONCE.into();
        let facts = PersistentVolumeFacts { name, class, source, ..facts };
        objects.push((at, is(StorageFacts::Volume(facts))));
    }
}

fn stock(dice: &mut Dice, plan: &Plan, objects: &mut Objects) {
    for number in 0..dice.between(2, 7) {
        let (at, mut facts) = volume(dice, number, plan.span);
        (facts.name, facts.class) = (format!("stock{number}").into(), STOCKED.into());
        if dice.percent(70) {
            facts.affinity = None;
        }
        objects.push((at, is(StorageFacts::Volume(facts))));
    }
}

fn csi(driver: &str, handle: &str) -> VolumeSource {
    VolumeSource::Csi(CsiVolume { driver: driver.into(), handle: handle.into() })
}

fn drivers(dice: &mut Dice, plan: &Plan, objects: &mut Objects) {
    for name in [TELLING, DRIVER, GCE] {
        if !dice.percent(if name == TELLING { 90 } else { 40 }) {
            continue;
        }
        lives(dice, plan.span, objects, |dice| {
            StorageFacts::CsiDriver(CsiDriverFacts {
                name: name.into(),
                tells_capacity: name == TELLING && dice.percent(70),
                is_required: dice.percent(50),
            })
        });
    }
}

fn capacities(dice: &mut Dice, plan: &Plan, objects: &mut Objects) {
    for number in 0..dice.between(0, 4) {
        let topology = match dice.between(0, 9) {
            0 => None,
            1..=3 => Some(LabelSelector::default()),
            _ => Some(LabelSelector { requirements: term(dice).expressions }),
        };
        let class = dice.pick(&[TOLD, TOLD, TOLD, MADE]);
        lives(dice, plan.span, objects, |dice| {
            StorageFacts::Capacity(CsiStorageCapacityFacts {
                namespace: "drivers".into(),
                name: format!("left{number}").into(),
                class: class.into(),
                topology: topology.clone(),
                capacity: dice.pick(&[None, Some(0), Some(1), Some(3), Some(10)]).map(gib),
                volume_max: dice.pick(&[None, None, None, Some(2), Some(5)]).map(gib),
            })
        });
    }
}

fn gib(count: i64) -> i64 {
    count * GIB
}

fn csi_nodes(dice: &mut Dice, plan: &Plan, objects: &mut Objects) {
    for node in &plan.nodes {
        if !dice.percent(75) {
            continue;
        }
        let name: Box<str> = node.facts.name.as_str().into();
        lives(dice, plan.span, objects, |dice| {
            let mut drivers: Vec<(Box<str>, Option<i32>)> = Vec::new();
            for driver in [DRIVER, TELLING, GCE] {
                if dice.percent(80) {
                    let limit = dice.pick(&[None, None, Some(0), Some(1), Some(2), Some(3)]);
                    drivers.push((driver.into(), limit));
                }
            }
            let migrated = Vec::new();
            StorageFacts::CsiNode(CsiNodeFacts { name: name.clone(), drivers, migrated })
        });
    }
}

/// Volumes that are attached to nodes on which no pod uses them.
fn attachments(dice: &mut Dice, plan: &Plan, objects: &mut Objects) {
    if plan.nodes.is_empty() {
        return;
    }
    for number in 0..dice.between(0, 5) {
        let name: Box<str> = format!("spare{number}").into();
        let driver = dice.pick(&[DRIVER, TELLING]);
        let source = csi(driver, &name);
        let facts = PersistentVolumeFacts { name: name.clone(), source, ..Default::default() };
        objects.push((late(dice, plan.span), is(StorageFacts::Volume(facts))));
        let at = late(dice, plan.span);
        // Below the length of a list, so it fits.
        let on = dice.between(0, plan.nodes.len() as u64 - 1) as usize;
        let facts = VolumeAttachmentFacts {
            name: format!("kept{number}").into(),
            node: plan.nodes[on].facts.name.as_str().into(),
            attacher: driver.into(),
            volume: Some(name).filter(|_| !dice.percent(10)),
        };
        let name = facts.name.clone();
        objects.push((at, is(StorageFacts::Attachment(facts))));
        if dice.percent(60) {
            let gone = at + Millis(dice.between(1, plan.span.0 / 2));
            objects.push((gone, StorageChange::Gone(StorageKind::Attachment, name)));
        }
    }
}

fn more_jobs(dice: &mut Dice, plan: &mut Plan, number: u64) -> Vec<Job> {
    let mut job = job(dice, format!("w{number}"), plan.span);
    job.spec.needs = vec![Need::Volumes];
    job.pods = few(dice, 6);
    job.priority = dice.pick(&[0, 0, 0, 10]);
    job.runs = dice.percent(60).then(|| range(dice, plan.span.0 / 3));
    job.life.deleted_after = dice.percent(25).then(|| range(dice, plan.span.0));
    if dice.percent(30) {
        job.life.grace = range(dice, 10_000);
    }
    match dice.between(0, 8) {
        0 => job.life.mounts = vec![own(dice, TOLD)],
        1 => job.life.mounts = vec![own(dice, AT_ONCE)],
        2 => job.life.mounts = vec![own(dice, STOCKED), own(dice, LOCAL), own(dice, STOCKED)],
        3 => job.life.mounts = vec![own(dice, AT_ONCE), own(dice, TOLD)],
        4 => job.life.mounts = vec![inline(dice)],
        5 => job.life.mounts = vec![inline(dice), own(dice, MADE), inline(dice)],
        6 | 7 => {
            let class = dice.pick(&[TOLD, AT_ONCE, STOCKED, STOCKED]);
            job.life.mounts =
                if dice.percent(30) { vec![inline(dice)] } else { vec![own(dice, class)] };
            gang(dice, &mut job);
        }
        _ => return rivals(dice, plan, job),
    }
    vec![job]
}

/// Two jobs with a claim for one pod alone; the second is more important.
fn rivals(dice: &mut Dice, plan: &mut Plan, mut job: Job) -> Vec<Job> {
    let class = dice.pick(&[TOLD, AT_ONCE]);
    let mount = shared(dice, plan, &job, "ReadWriteOncePod", &[class]);
    job.life.mounts = vec![mount];
    job.priority = 0;
    let mut other = job.clone();
    (other.name, other.priority, other.pods) = (format!("{}-above", job.name), 10, 1);
    other.at = some_time(dice, plan.span);
    vec![job, other]
}

/// A disk of few names, so that conflicts are frequent.
fn inline(dice: &mut Dice) -> Mount {
    let name: Box<str> = dice.pick(&["x", "y"]).into();
    let is_read_only = dice.percent(40);
    let (id, csi) = match dice.between(0, 4) {
        0 | 1 => {
            let (driver, handle) = (GCE.into(), format!("gce-{name}").into());
            (DiskId::Gce(name), Some(CsiVolume { driver, handle }))
        }
        2 => {
            return Mount::Inline {
                disk: Disk { id: DiskId::Ebs(name), is_read_only: false },
                csi: None,
            };
        }
        3 => (DiskId::Iscsi(name), None),
        _ => {
            let monitors = dice.pick(&[&["m1"][..], &["m2"], &["m1", "m2"]]);
            let monitors = monitors.iter().map(|monitor| (*monitor).into()).collect();
            (DiskId::Rbd { monitors, pool: "pool".into(), image: name }, None)
        }
    };
    Mount::Inline { disk: Disk { id, is_read_only }, csi }
}

#[cfg(test)]
mod tests {
    use super::*;

    type IsIt<'a> = &'a dyn Fn(&StorageFacts) -> bool;

    #[test]
    fn all_of_it_is_drawn_often_enough() {
        let plans: Vec<Plan> = (1..=1_000).map(super::super::super::plan).collect();
        let count = |is_there: &dyn Fn(&Plan) -> bool| plans.iter().filter(|p| is_there(p)).count();
        let has = |plan: &Plan, is_it: IsIt<'_>| {
            let objects = plan.storage.objects.iter();
            objects
                .filter(|(_, change)| matches!(change, StorageChange::Is(it) if is_it(it)))
                .count()
        };
        let is_required =
            |it: &StorageFacts| matches!(it, StorageFacts::CsiDriver(it) if it.is_required);
        let is_telling =
            |it: &StorageFacts| matches!(it, StorageFacts::CsiDriver(it) if it.tells_capacity);
        let at_once = Some(BindingMode::Immediate);
        let is_immediate =
            |it: &StorageFacts| matches!(it, StorageFacts::Class(it) if it.mode == at_once);
        let is_left = |it: &StorageFacts| matches!(it, StorageFacts::Capacity(_));
        let is_attached = |it: &StorageFacts| matches!(it, StorageFacts::Attachment(_));
        let is_limit = |it: &StorageFacts| matches!(it, StorageFacts::CsiNode(_));
        let kinds: [(&str, IsIt<'_>); 6] = [
            ("required drivers", &is_required),
            ("drivers that tell", &is_telling),
            ("claims at once", &is_immediate),
            ("what is left", &is_left),
            ("attachments", &is_attached),
            ("limits", &is_limit),
        ];
        for (what, is_it) in kinds {
            assert!(count(&|plan| has(plan, is_it) > 0) > 60, "{what}");
        }
        let changes = |plan: &Plan| has(plan, &is_limit) > plan.nodes.len();
        assert!(count(&changes) > 20, "limits that change");
        let mounts = |plan: &Plan, is_it: &dyn Fn(&Mount) -> bool| {
            plan.jobs.iter().any(|job| job.life.mounts.iter().any(is_it))
        };
        assert!(
            count(&|plan| mounts(plan, &|it| matches!(it, Mount::Inline { .. }))) > 40,
            "disks"
        );
        let is_long = |plan: &Plan| plan.storage.provisioner.stubborn_percent > 0;
        assert!(count(&is_long) > 15, "volumes that come too late");
        let is_default =
            |plan: &Plan| is_long(plan) && plan.storage.provisioner.stubborn.0.0 > 600_000;
        assert!(count(&is_default) > 5, "beyond the default of ten minutes");
    }
}
