//! Pods that fit nowhere, each in its own way.

use model::{Amounts, Operator, Toleration};

use super::{job, range};
use crate::dice::Dice;
use crate::plan::Plan;
use crate::quantities::requests_of;
use crate::swarm::draw::{LABELS, SCALARS};

pub(super) fn draw(dice: &mut Dice, plan: &mut Plan, is_large: bool) {
    let count = if is_large { dice.between(200, 500) } else { dice.between(20, 60) };
    for at in 0..count {
        let mut job = job(dice, format!("odd{at}"), plan.span);
        let own = i64::try_from(at).unwrap_or(i64::MAX);
        let mut large = Amounts { cpu: 1_000_000 + own, ..Amounts::default() };
        match dice.between(0, 3) {
            0 => job.spec.requests = requests_of(large),
            1 => {
                let (key, _) = dice.pick(&LABELS);
                job.spec.node_selector = vec![(key.to_owned(), format!("nowhere{at}"))];
            }
            2 => {
                let (key, value) = (Some(format!("taint{at}")), String::new());
                let toleration =
                    Toleration { key, value, operator: Operator::Exists, effect: None };
                job.spec.tolerations = vec![toleration];
                job.spec.requests = requests_of(large);
            }
            _ => {
                large.cpu = 100;
                large.scalars = [(dice.pick(&SCALARS).to_owned(), 1_000 + own)].into();
                job.spec.requests = requests_of(large);
            }
        }
        job.life.deleted_after = dice.percent(20).then(|| range(dice, plan.span.0));
        plan.jobs.push(job);
    }
}
