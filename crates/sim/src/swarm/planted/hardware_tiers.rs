//! Bugs that give tenants hardware that is not theirs, or keep them off what is.

use framework::{Args, TenantHardwareArgs};
use model::{Event, Fact, HardwareTier, Labels, NodeFacts, ReservedFor, Tier, TierLabels, Time};

use super::{Alters, FailureKind, Saboteur, caught, check, run};
use crate::checkers::TIER;
use crate::plan::{Fate, NamespacePlan, Plan};
use crate::quantities::{amounts, requests};

const OWN: &str = "kubenexus-scheduler";

fn labels(tier: &str) -> Labels {
    [(TIER.into(), tier.into())].into()
}

/// Nodes with GPUs and such labels, and pods of a tenant that ask for so many of them. Nobody may
/// use what is not his.
fn plan(tenant: &str, gpus: i64, tiers: &TierLabels) -> Plan {
    let mut plan = super::plan();
    for node in &mut plan.nodes {
        node.facts.allocatable = amounts(2_000, 4_096, 2);
        node.facts.hardware.get_or_insert_default().tiers = tiers.clone();
    }
    let spec = &mut plan.jobs[0].spec;
    spec.scheduler = OWN.to_owned();
    spec.requests = requests(100, 64, gpus);
    let states = vec![(Time(0), Some(labels(tenant)))];
    plan.namespaces = vec![NamespacePlan { name: "team".into(), states }];
    let mut args = TenantHardwareArgs { reserves_accelerators: true, ..Default::default() };
    let rules = &mut args.rules;
    for rule in [&mut rules.gold, &mut rules.silver, &mut rules.bronze] {
        rule.overflows = false;
    }
    let profiles = &mut plan.settings.profiles;
    let own = profiles.iter_mut().find(|profile| profile.scheduler == OWN);
    let own = own.expect("the defaults have our profile");
    own.args.push(("TenantHardware", Args::TenantHardware(args)));
    plan
}

fn tier(tier: HardwareTier) -> TierLabels {
    TierLabels { tier: Some(tier), ..TierLabels::default() }
}

fn reserved(reserved: ReservedFor) -> TierLabels {
    TierLabels { reserved: Some(reserved), ..TierLabels::default() }
}

/// Changes what the engine sees of nodes.
fn on_nodes(mut change: impl FnMut(&mut NodeFacts)) -> impl Saboteur {
    Alters(move |event: &mut Event| {
        if let Event::Seen(Fact::Node(facts)) = event {
            change(facts);
        }
        true
    })
}

/// Labels of nodes mean nothing to the engine.
fn blind() -> impl Saboteur {
    on_nodes(|facts| facts.hardware = None)
}

fn found(plan: Plan, saboteur: impl Saboteur + 'static, words: &str) {
    check(&caught(plan, saboteur), FailureKind::Wrong, words);
}

#[test]
fn nobody_is_accused_where_nothing_is_planted() {
    let [premium, economy] = [HardwareTier::Premium, HardwareTier::Economy].map(tier);
    let gold = reserved(ReservedFor::Tenants(Tier::Gold));
    let system = reserved(ReservedFor::System);
    for tenant in ["gold", "silver", "bronze", "golden", ""] {
        for gpus in [0, 1] {
            for labels in [&premium, &economy, &gold, &system, &TierLabels::default()] {
                let honest = Alters(|_: &mut Event| true);
                let story = format!("{tenant} {gpus} {labels:?}");
                assert_eq!(run(plan(tenant, gpus, labels), honest), Ok(()), "{story}");
            }
        }
    }
}

#[test]
fn hardware_that_a_tenant_may_not_use_is_caught() {
    let words = "its tenant may not use hardware of that tier";
    found(plan("bronze", 1, &tier(HardwareTier::Premium)), blind(), words);
    found(plan("silver", 1, &tier(HardwareTier::Premium)), blind(), words);
    let dear = TierLabels { cost_milli: Some(5_000), ..TierLabels::default() };
    found(plan("bronze", 1, &dear), blind(), words);
}

#[test]
fn a_node_that_is_reserved_for_others_is_caught() {
    let words = "it is reserved for other tenants";
    found(plan("silver", 1, &reserved(ReservedFor::Tenants(Tier::Gold))), blind(), words);
    found(plan("gold", 1, &reserved(ReservedFor::System)), blind(), words);
}

#[test]
fn accelerators_that_are_not_kept_are_caught() {
    let none = on_nodes(|facts| facts.allocatable.scalars = [].into());
    found(plan("gold", 0, &TierLabels::default()), none, "it has accelerators");
}

#[test]
fn a_node_that_opens_to_a_tenant_unseen_is_caught() {
    let mut plan = plan("gold", 1, &reserved(ReservedFor::System));
    for node in &mut plan.nodes {
        node.fates = vec![(Time(5_000), Fate::Hardware(None))];
    }
    let honest = Alters(|_: &mut Event| true);
    assert_eq!(run(plan.clone(), honest), Ok(()));
    let closed = on_nodes(|facts| {
        let reserved = reserved(ReservedFor::System);
        facts.hardware.get_or_insert_default().tiers = reserved;
    });
    found(plan, closed, "is parked, but node");
}
