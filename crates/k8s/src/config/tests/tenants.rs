//! Arguments of `TenantHardware`.

use framework::{Args, CostTiers, TenantHardwareArgs, TierRule, TierScores};
use model::HardwareTier::{Economy, Premium, Standard};

use super::gpus::args;

fn found(text: &str) -> TenantHardwareArgs {
    match args("TenantHardware", text) {
        Some(Args::TenantHardware(args)) => args,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn arguments_that_are_the_defaults_are_none() {
    let table = [
        "{}",
        "{tiers: {}, models: {}, costs: {}, scores: {}}",
        "{kind: TenantHardwareArgs, tiers: {gold: {}, bronze: {allowed: [economy]}}}",
        "{tiers: {silver: {allowed: [standard, economy], overflow: allow}}}",
        "{models: {economy: [L40, L4, A10, T4, V100]}, costs: {premium: 3, standard: 1.0}}",
        "{reserveAcceleratorNodes: false, cpuPodWeight: 1, systemNamespaces: [kube-system]}",
    ];
    for text in table {
        assert_eq!(args("TenantHardware", text), None, "{text}");
        assert_eq!(args("TenantHardwareAffinityScore", text), None, "{text}");
    }
}

#[test]
fn tiers_of_tenants_by_table() {
    let defaults = TenantHardwareArgs::default();
    let read = |text: &str| found(&format!("{{tiers: {text}}}")).rules;
    let rules = read("{gold: {allowed: [premium], overflow: deny}, bronze: {overflow: deny}}");
    assert_eq!(rules.gold, TierRule { allowed: vec![Premium], overflows: false });
    assert_eq!(rules.silver, defaults.rules.silver);
    assert_eq!(rules.bronze, TierRule { allowed: vec![Economy], overflows: false });
    // The first is preferred.
    let rules = read("{silver: {allowed: [economy, premium]}}");
    assert_eq!(rules.silver.allowed, [Economy, Premium]);
}

#[test]
fn models_that_are_given_take_the_place_of_a_list() {
    let defaults = TenantHardwareArgs::default();
    let args = found("{models: {premium: [A100, 'NVIDIA RTX 6000 Ada Generation'], economy: []}}");
    let of = |tier| args.models_of(tier).collect::<Vec<_>>();
    assert_eq!(of(Premium), ["A100", "NVIDIA RTX 6000 Ada Generation"]);
    // A model has one tier, the one that it is given.
    assert_eq!(of(Standard), ["A40", "L40S", "MI250"]);
    assert_eq!(of(Economy), [""; 0]);
    assert_eq!(defaults.models_of(Standard).count(), 4);
}

#[test]
fn numbers_by_table() {
    let scores = found("{scores: {preferred: 90, cheaperStep: 0, overflow: 1}}").scores;
    let expected =
        TierScores { preferred: 90, cheaper_step: 0, overflow: 1, ..TierScores::default() };
    assert_eq!(scores, expected);
    let costs = found("{costs: {premium: 12.345, standard: 0.001}}").costs;
    assert_eq!(costs, CostTiers { premium_milli: 12_345, standard_milli: 1 });
    let costs = found("{costs: {premium: 1000000000}}").costs;
    assert_eq!(costs.premium_milli, 1_000_000_000_000);
    for milli in [1_001, 2_999, 123_456_789, 999_999_999_999_u64] {
        let premium = milli as f64 / 1000.0;
        let costs = found(&format!("{{costs: {{premium: {premium}}}}}")).costs;
        assert_eq!(costs.premium_milli, milli);
    }
    let args = found("{reserveAcceleratorNodes: true, cpuPodWeight: 0, systemNamespaces: []}");
    assert!(args.reserves_accelerators && args.system_namespaces.is_empty());
    assert_eq!(args.cpu_pod_weight, 0);
}
