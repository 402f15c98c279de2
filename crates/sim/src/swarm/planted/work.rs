//! Events that cost more than what they are about explains.

use model::{Event, Labels, Time};

use super::{Alters, FailureKind, caught, check, plan, run};
use crate::checkers::Ledger;
use crate::plan::{Membership, NamespacePlan, Plan};
use crate::swarm::Saboteur;

/// Walks past something for every event.
struct Walks(fn(&Ledger) -> usize);

impl Saboteur for Walks {
    fn looks(&mut self, ledger: &Ledger) -> u64 {
        (self.0)(ledger) as u64
    }
}

const OVERWORKED: &str = "looks for an event that is worth";

fn many_nodes() -> Plan {
    let mut plan = plan();
    for at in 0..80 {
        let mut node = plan.nodes[0].clone();
        node.facts.name = format!("more{at}");
        plan.nodes.push(node);
    }
    plan
}

fn many_pods() -> Plan {
    let mut plan = plan();
    plan.jobs[0].pods = 200;
    plan
}

/// A gang that waits for more pods.
fn large_gang() -> Plan {
    let mut plan = many_pods();
    let gang = Membership { gang: "g".into(), min: Some(300), ..Membership::default() };
    plan.jobs[0].gang = Some(gang);
    plan
}

fn many_namespaces() -> Plan {
    let mut plan = plan();
    let space = |at: usize| NamespacePlan {
        name: format!("space{at}").into(),
        states: vec![(Time(0), Some(Labels::default()))],
    };
    plan.namespaces = (0..90).map(space).collect();
    plan
}

#[test]
fn nobody_is_accused_where_nothing_is_planted() {
    for plan in [many_nodes(), many_pods(), many_namespaces(), large_gang()] {
        assert_eq!(run(plan, Alters(|_: &mut Event| true)), Ok(()));
    }
}

#[test]
fn work_for_every_node_is_caught() {
    let bug = Walks(|ledger| ledger.nodes().count());
    check(&caught(many_nodes(), bug), FailureKind::Wrong, OVERWORKED);
}

#[test]
fn work_for_every_pod_is_caught() {
    let bug = Walks(Ledger::pod_count);
    check(&caught(many_pods(), bug), FailureKind::Wrong, OVERWORKED);
}

#[test]
fn work_for_every_waiting_pod_of_a_gang_is_caught() {
    let bug = Walks(|ledger| ledger.waiting().count());
    check(&caught(large_gang(), bug), FailureKind::Wrong, OVERWORKED);
}

#[test]
fn work_for_every_namespace_is_caught() {
    let bug = Walks(|ledger| {
        let is_there = |at: &usize| ledger.namespace(&format!("space{at}")).is_some();
        (0..90).filter(is_there).count()
    });
    check(&caught(many_namespaces(), bug), FailureKind::Wrong, OVERWORKED);
}
