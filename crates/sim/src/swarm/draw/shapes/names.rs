//! Names that are used once, by pods and nodes that go: keys of labels and topologies, resources,
//! images.

use model::{
    LabelOperator, LabelSelector, NodeFacts, PodTerm, RequirementSpec, SpreadSpec, Target, Time,
};

use super::{job, range, some_time};
use crate::dice::Dice;
use crate::plan::{Fate, Job, NodePlan, Plan};
use crate::quantities::{amounts, requests_of};
use crate::swarm::draw::MIB;

pub(super) fn draw(dice: &mut Dice, plan: &mut Plan, is_large: bool) {
    let nodes = if is_large { dice.between(20, 40) } else { dice.between(1, 3) };
    (0..nodes).for_each(|at| node(dice, plan, at));
    let jobs = if is_large { dice.between(300, 800) } else { dice.between(5, 20) };
    for at in 0..jobs {
        let mut job = job(dice, format!("once{at}"), plan.span);
        name_something(dice, &mut job, (at, nodes));
        let soon = if dice.percent(80) { plan.span.0 / 8 } else { plan.span.0 };
        job.life.deleted_after = dice.percent(90).then(|| range(dice, soon));
        plan.jobs.push(job);
    }
}

/// A node that is there for a while, with names that no other has.
fn node(dice: &mut Dice, plan: &mut Plan, at: u64) {
    let mut allocatable = amounts(4_000, 4_096, 0);
    allocatable.scalars = [(format!("example.com/once{at}"), 4)].into();
    let facts = NodeFacts {
        name: format!("brief{at}"),
        labels: vec![(format!("key{at}"), format!("value{at}"))],
        allocatable,
        pods_max: 20,
        images: vec![(format!("image{at}"), 500 * MIB)],
        ..NodeFacts::default()
    };
    let joins = some_time(dice, plan.span);
    let mut node = NodePlan { joins, ..NodePlan::new("pool", facts) };
    if dice.percent(90) {
        let leaves = Time(dice.between(joins.0, plan.span.0));
        node.fates.push((leaves, if dice.percent(50) { Fate::Leaves } else { Fate::Dies }));
    }
    plan.nodes.push(node);
}

/// A name of a node that comes and goes, or one that nothing has.
fn name_something(dice: &mut Dice, job: &mut Job, (at, nodes): (u64, u64)) {
    let at = if dice.percent(50) { dice.between(0, nodes - 1) } else { 1_000 + at };
    let key = format!("key{at}");
    let everybody = LabelSelector::default();
    match dice.between(0, 5) {
        0 => {
            job.spec.spread = vec![SpreadSpec {
                key,
                selector: Some(everybody),
                max_skew: 1,
                min_domains: 1,
                is_required: dice.percent(50),
                honours_affinity: true,
                honours_taints: false,
            }];
        }
        1 => {
            let requirement = RequirementSpec {
                key: format!("label{at}"),
                operator: LabelOperator::Exists,
                values: Vec::new(),
            };
            let selector = Some(LabelSelector { requirements: vec![requirement] });
            let namespaces = vec![job.spec.namespace.clone()];
            let target = Target { namespaces, namespace_selector: None, selector };
            job.spec.far = vec![PodTerm { key, target }];
            job.labels = [(format!("label{at}").into(), "yes".into())].into();
        }
        2 => job.spec.node_selector = vec![(key, format!("value{at}"))],
        3 => {
            let mut asked = amounts(100, 0, 0);
            asked.scalars = [(format!("example.com/once{at}"), 1)].into();
            job.spec.requests = requests_of(asked);
        }
        4 => job.spec.images = vec![format!("image{at}")],
        _ => job.labels = [(format!("label{at}").into(), "yes".into())].into(),
    }
}
