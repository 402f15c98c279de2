//! Tiers of hardware, nodes that are reserved for tenants, and administrators who deny the rest.

use framework::{Args, Point, TenantHardwareArgs, TierRule};
use model::hardware::HardwareFacts;
use model::{HardwareTier, ReservedFor, Tier, TierLabels, Time};

use crate::dice::{Dice, Stream};
use crate::plan::{Fate, Plan};

const PLUGIN: &str = "TenantHardware";
const TIERS: [HardwareTier; 3] =
    [HardwareTier::Premium, HardwareTier::Standard, HardwareTier::Economy];
const RESERVED: [ReservedFor; 4] = [
    ReservedFor::Tenants(Tier::Gold),
    ReservedFor::Tenants(Tier::Silver),
    ReservedFor::Tenants(Tier::Bronze),
    ReservedFor::System,
];

/// In a part of all worlds nodes say how costly they are, and for whom they are; both may change.
pub(super) fn add(plan: &mut Plan) {
    let mut dice = Dice::new(plan.seed, Stream::Tiers);
    if !dice.percent(35) {
        return;
    }
    for profile in &mut plan.settings.profiles {
        let has_it = profile.at(Point::Filter).iter().any(|choice| choice.name == PLUGIN);
        let is_given = has_it && dice.percent(70);
        profile.args.extend(is_given.then(|| (PLUGIN, Args::TenantHardware(args(&mut dice)))));
    }
    let span = plan.span.0;
    for node in &mut plan.nodes {
        if dice.percent(60) {
            node.facts.hardware.get_or_insert_default().tiers = labels(&mut dice);
        }
        if dice.percent(30) {
            let at = Time(dice.between(0, span));
            let hardware = node.facts.hardware.clone().unwrap_or_default();
            let hardware = HardwareFacts { tiers: labels(&mut dice), ..*hardware };
            node.fates.push((at, Fate::Hardware(Some(Box::new(hardware)))));
            node.fates.sort_by_key(|(at, _)| *at);
        }
    }
}

fn labels(dice: &mut Dice) -> TierLabels {
    TierLabels {
        tier: dice.percent(60).then(|| dice.pick(&TIERS)),
        cost_milli: dice.percent(40).then(|| dice.pick(&[0, 999, 1_000, 2_999, 3_000, 90_000])),
        reserved: dice.percent(25).then(|| dice.pick(&RESERVED)),
    }
}

fn args(dice: &mut Dice) -> TenantHardwareArgs {
    let mut args = TenantHardwareArgs {
        reserves_accelerators: dice.percent(25),
        cpu_pod_weight: dice.pick(&[0, 1, 8, 100]),
        ..TenantHardwareArgs::default()
    };
    let system = dice.percent(20).then(|| dice.pick(&["red", "blue"]).to_owned());
    args.system_namespaces.extend(system);
    let rules = &mut args.rules;
    for rule in [&mut rules.gold, &mut rules.silver, &mut rules.bronze] {
        if dice.percent(60) {
            rule.overflows = false;
        }
        if dice.percent(30) {
            let (one, other) = (dice.pick(&TIERS), dice.pick(&TIERS));
            let allowed = if one == other { vec![one] } else { vec![one, other] };
            *rule = TierRule { allowed, overflows: rule.overflows };
        }
    }
    args
}
