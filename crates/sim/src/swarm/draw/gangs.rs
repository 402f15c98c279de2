//! Gangs: which jobs are in which, who says how many start together, and who makes them.

use model::{Amounts, Millis, PodGroupFacts, PodGroupKey, PodGroupKind, PodSpec, Time};

use super::{LABELS, OTHER, SCALARS};
use crate::dice::Dice;
use crate::plan::{Job, Membership, PodGroupPlan};
use crate::quantities::{amounts, requests_of};

/// In a good part of all worlds some jobs are gangs, or parts of one.
pub(super) fn draw(dice: &mut Dice, jobs: &mut Vec<Job>, span: Millis) -> Vec<PodGroupPlan> {
    let mut groups = Vec::new();
    if !dice.percent(60) {
        return groups;
    }
    let percent = dice.pick(&[15, 40, 80]);
    let mut known: Vec<(String, Box<str>)> = Vec::new();
    let count = jobs.len();
    for at in 0..count {
        let is_free = jobs[at].gang.is_none() && jobs[at].node.is_none();
        if !is_free || jobs[at].spec.scheduler == OTHER || !dice.percent(percent) {
            continue;
        }
        settle(dice, &mut jobs[at]);
        let name: Box<str> = format!("g{at}").into();
        let (namespace, earlier) = (jobs[at].spec.namespace.clone(), jobs[at].at);
        if dice.percent(25) {
            driver(dice, jobs, at, &name);
        } else {
            let partner = (dice.percent(35) && at + 1 < count).then_some(at + 1);
            let partner = partner.filter(|at| jobs[*at].spec.scheduler != OTHER);
            let size = jobs[at].pods + partner.map_or(0, |at| jobs[at].pods.min(8));
            let min = if dice.percent(60) { size } else { dice.between(1, size) };
            let min = u32::try_from(min).unwrap_or(u32::MAX);
            let object = object(dice);
            let gang = Membership {
                gang: name.clone(),
                min: object.is_none().then_some(min),
                object,
                every: if dice.percent(25) { Millis(dice.between(1, 4_000)) } else { Millis(0) },
                is_bare: dice.percent(25),
                after: after(dice, &known, &namespace),
                made_by: None,
                claim: None,
                batch: None,
            };
            if let Some(partner) = partner {
                let job = &mut jobs[partner];
                settle(dice, job);
                (job.spec.namespace, job.at, job.node) = (namespace.clone(), earlier, None);
                job.gang = Some(Membership { every: Millis(0), ..gang.clone() });
            }
            groups.extend(object.map(|kind| group(dice, kind, &namespace, (&name, min), span)));
            jobs[at].gang = Some(gang);
        }
        known.push((namespace, name));
    }
    groups
}

/// Gangs are small, so that some fit, and none is proposed a node.
fn settle(dice: &mut Dice, job: &mut Job) {
    (job.followers, job.life.nominated) = (0, None);
    if job.pods > 8 && dice.percent(80) {
        job.pods = dice.between(2, 8);
    }
}

fn object(dice: &mut Dice) -> Option<PodGroupKind> {
    let kinds = [PodGroupKind::Native, PodGroupKind::Coscheduling];
    dice.percent(45).then(|| dice.pick(&kinds))
}

/// Gangs of the same namespace that have to be over before.
fn after(dice: &mut Dice, known: &[(String, Box<str>)], namespace: &str) -> Box<[Box<str>]> {
    let others = known.iter().filter(|(other, _)| other == namespace);
    let others: Vec<Box<str>> = others.map(|(_, name)| name.clone()).collect();
    if others.is_empty() || !dice.percent(20) {
        return Box::default();
    }
    [others[dice.between(0, others.len() as u64 - 1) as usize].clone()].into()
}

fn group(
    dice: &mut Dice,
    kind: PodGroupKind,
    namespace: &str,
    (name, min): (&str, u32),
    span: Millis,
) -> PodGroupPlan {
    let topology = dice.percent(30).then(|| dice.pick(&LABELS).0.into());
    let facts = PodGroupFacts {
        key: PodGroupKey { kind, namespace: namespace.into(), name: name.into() },
        mins: [("".into(), min)].into(),
        timeout: dice.percent(15).then(|| dice.between(1, 30) as u32),
        priority: None,
        topology: topology.into_iter().collect(),
        is_evicted_whole: false,
        parent: None,
        is_started: false,
        min_resources: min_resources(dice, kind),
    };
    let at = if dice.percent(60) { 0 } else { dice.between(0, span.0) };
    let deleted = dice.percent(10).then(|| Time(dice.between(at, span.0)));
    PodGroupPlan { facts, at: Time(at), deleted, later: Vec::new() }
}

/// Some ask for something of the cluster as a whole: of little nodes have less than that free, of
/// much some have less than that at all.
fn min_resources(dice: &mut Dice, kind: PodGroupKind) -> Amounts<String> {
    if kind != PodGroupKind::Coscheduling || !dice.percent(40) {
        return Amounts::default();
    }
    let cpu = dice.pick(&[0, 2_000, 8_000, 20_000, 60_000]);
    let scalar = dice.percent(25).then(|| (dice.pick(&SCALARS).to_owned(), dice.pick(&[1, 4, 9])));
    Amounts { scalars: scalar.into_iter().collect(), ..amounts(cpu, dice.pick(&[0, 4_096]), 0) }
}

/// Makes a job a pod that makes others, which are a job of their own.
pub(super) fn driver(dice: &mut Dice, jobs: &mut Vec<Job>, at: usize, name: &str) {
    let count = dice.between(1, 5);
    let size = dice.pick(&[100, 500, 1_000, 2_000]);
    let requests = requests_of(amounts(size, dice.pick(&[0, 64, 256]), 0));
    let range = if dice.percent(50) { (0, 2_000) } else { (0, 30_000) };
    let min = if dice.percent(70) { count + 1 } else { dice.between(1, count + 1) };
    let driver = &mut jobs[at];
    driver.pods = 1;
    let gang = Membership {
        gang: name.into(),
        min: u32::try_from(min).ok(),
        is_bare: dice.percent(30),
        ..Membership::default()
    };
    driver.gang = Some(gang.clone());
    let spec = &driver.spec;
    let spec = PodSpec {
        requests,
        scheduler: spec.scheduler.clone(),
        namespace: spec.namespace.clone(),
        node_selector: spec.node_selector.clone(),
        required: spec.required.clone(),
        tolerations: spec.tolerations.clone(),
        ..PodSpec::default()
    };
    let made_by = Some((driver.name.clone(), (Millis(range.0), Millis(range.1))));
    let worker = Job {
        name: format!("{}w", driver.name),
        pods: count,
        spec,
        gates: None,
        gang: Some(Membership { made_by, is_bare: false, ..gang }),
        ..driver.clone()
    };
    jobs.push(worker);
}
