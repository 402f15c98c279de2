//! What the arguments of TenantHardware mean.

use framework::{TenantHardwareArgs, TierRule, TierScores};
use model::HardwareTier;

/// What differs from the defaults, a line each.
pub(super) fn meaning(args: &TenantHardwareArgs) -> Vec<String> {
    let defaults = TenantHardwareArgs::default();
    let mut lines = Vec::new();
    let own = [
        ("gold", &args.rules.gold, &defaults.rules.gold),
        ("silver", &args.rules.silver, &defaults.rules.silver),
        ("bronze", &args.rules.bronze, &defaults.rules.bronze),
    ];
    let others = own.into_iter().filter(|(_, rule, default)| rule != default);
    lines.extend(others.map(|(name, given, _)| rule(name, given)));
    for (word, tier) in HardwareTier::WORDS {
        if !args.models_of(tier).eq(defaults.models_of(tier)) {
            let models: Vec<&str> = args.models_of(tier).collect();
            let models = if models.is_empty() { "none".to_owned() } else { models.join(", ") };
            lines.push(format!("models of the tier {word}: {models}"));
        }
    }
    if args.costs != defaults.costs {
        let [premium, standard] =
            [args.costs.premium_milli, args.costs.standard_milli].map(|it| it as f64 / 1000.0);
        lines.push(format!(
            "nodes are premium from a cost of {premium} on, standard from {standard}"
        ));
    }
    if args.scores != defaults.scores {
        lines.push(scores(args.scores));
    }
    if args.reserves_accelerators {
        lines.push("pods without accelerators are kept off nodes that have some".to_owned());
    }
    if args.cpu_pod_weight != defaults.cpu_pod_weight {
        let weight = args.cpu_pod_weight;
        lines.push(format!("nodes without accelerators count {weight} for pods without any"));
    }
    if args.system_namespaces != defaults.system_namespaces {
        let namespaces = args.system_namespaces.join(", ");
        lines.push(format!("no node is closed to pods of [{namespaces}]"));
    }
    lines
}

fn rule(name: &str, rule: &TierRule) -> String {
    let allowed: Vec<&str> = rule.allowed.iter().map(|tier| tier.word()).collect();
    let others =
        if rule.overflows { "others where nothing better is left" } else { "nothing else" };
    format!("{name} tenants use {}, {others}", allowed.join(", "))
}

fn scores(scores: TierScores) -> String {
    let TierScores { preferred, cheaper, cheaper_step, unknown, costlier, overflow } = scores;
    format!(
        "nodes score {preferred} if preferred, {cheaper} less {cheaper_step} per step if cheaper, \
         {unknown} if unknown, {costlier} if costlier, {overflow} if not allowed"
    )
}
