//! Arguments of `TenantHardware`, as they are written.

use framework::{TenantHardwareArgs, TierRule};
use model::HardwareTier;
use serde_json::{Map, Value, json};

use crate::config::sections::API_VERSION;

pub(super) fn write(args: &TenantHardwareArgs) -> Value {
    let models = HardwareTier::WORDS.map(|(word, tier)| {
        let models: Value = args.models_of(tier).collect();
        (word.to_owned(), models)
    });
    let scores = args.scores;
    json!({
        "apiVersion": API_VERSION,
        "kind": "TenantHardwareArgs",
        "tiers": {
            "gold": rule(&args.rules.gold),
            "silver": rule(&args.rules.silver),
            "bronze": rule(&args.rules.bronze),
        },
        "models": Map::from_iter(models),
        "costs": {
            "premium": cost(args.costs.premium_milli),
            "standard": cost(args.costs.standard_milli),
        },
        "scores": {
            "preferred": scores.preferred,
            "cheaper": scores.cheaper,
            "cheaperStep": scores.cheaper_step,
            "unknown": scores.unknown,
            "costlier": scores.costlier,
            "overflow": scores.overflow,
        },
        "reserveAcceleratorNodes": args.reserves_accelerators,
        "cpuPodWeight": args.cpu_pod_weight,
        "systemNamespaces": args.system_namespaces,
    })
}

fn rule(rule: &TierRule) -> Value {
    json!({
        "allowed": rule.allowed.iter().map(|tier| tier.word()).collect::<Vec<_>>(),
        "overflow": if rule.overflows { "allow" } else { "deny" },
    })
}

fn cost(milli: u64) -> f64 {
    milli as f64 / 1000.0
}
