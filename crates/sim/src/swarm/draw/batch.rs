//! Gangs that Jobs of Kubernetes make, each of which waits for the one before. They have dice of
//! their own, so that a seed keeps the world it had without them.

use model::{Millis, Time};

use super::OURS;
use super::shapes::{job, range};
use crate::dice::{Dice, Stream};
use crate::plan::{BatchJob, Membership, Plan};

/// Adds to a plan what its seed has of them.
pub(super) fn add(plan: &mut Plan) {
    let mut dice = Dice::new(plan.seed, Stream::Batch);
    if !dice.percent(30) {
        return;
    }
    let namespace = dice.pick(&["red", "blue"]);
    let start = dice.between(0, plan.span.0 / 2);
    for at in 0..dice.between(2, 5) {
        let after = (at > 0).then(|| format!("batch{}", at - 1).into());
        draw(&mut dice, plan, (namespace, start), (at, after));
    }
}

/// Adds a gang of one Job, of several, or of some and of pods that no Job makes.
fn draw(
    dice: &mut Dice,
    plan: &mut Plan,
    (namespace, start): (&str, u64),
    (at, after): (u64, Option<Box<str>>),
) {
    let sizes: Vec<u64> = (0..dice.between(1, 3)).map(|_| dice.between(1, 3)).collect();
    let all = sizes.iter().sum();
    let min = if dice.percent(60) { all } else { dice.between(1, all) };
    let (is_mixed, percent) = (dice.percent(25), dice.pick(&[0, 0, 20]));
    for (number, pods) in sizes.into_iter().enumerate() {
        let mut job = job(dice, format!("b{at}x{number}"), plan.span);
        // The profile in which all keys count.
        job.spec.scheduler = OURS[1].to_owned();
        job.spec.namespace = namespace.to_owned();
        (job.at, job.pods) = (Time(start), pods);
        job.runs = dice.percent(95).then(|| range(dice, 4_000));
        job.life.failed_percent = percent;
        let slowest = dice.pick(&[1, 2_000, 20_000]);
        let batch = BatchJob {
            completes: range(dice, slowest),
            deleted: dice.percent(20).then(|| range(dice, plan.span.0)),
        };
        job.gang = Some(Membership {
            gang: format!("batch{at}").into(),
            min: u32::try_from(min).ok(),
            every: Millis(dice.pick(&[0, 0, 1_000])),
            after: after.clone().into_iter().collect(),
            batch: Some(batch).filter(|_| !is_mixed || dice.percent(50)),
            ..Membership::default()
        });
        plan.jobs.push(job);
    }
}

#[cfg(test)]
mod tests {
    use crate::swarm::draw::plan;

    #[test]
    fn gangs_of_one_job_of_several_and_of_more_are_drawn() {
        let (mut one, mut several, mut mixed, mut deleted) = (0, 0, 0, 0);
        for seed in 1..=100 {
            let plan = plan(seed);
            let gangs = plan.jobs.iter().filter_map(|job| job.gang.as_ref());
            let first: Vec<_> = gangs.filter(|gang| *gang.gang == *"batch0").collect();
            let jobs: Vec<_> = first.iter().filter_map(|gang| gang.batch.as_ref()).collect();
            one += usize::from(jobs.len() == 1 && first.len() == 1);
            several += usize::from(jobs.len() > 1);
            mixed += usize::from(!jobs.is_empty() && jobs.len() < first.len());
            deleted += jobs.iter().filter(|job| job.deleted.is_some()).count();
        }
        let text = format!("{one} {several} {mixed} {deleted}");
        assert!(one >= 5 && several >= 8 && mixed >= 3 && deleted >= 5, "{text}");
    }
}
