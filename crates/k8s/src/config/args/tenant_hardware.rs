//! Arguments of `TenantHardware`.

use framework::{Args, CostTiers, TenantHardwareArgs, TierRule, TierRules, TierScores};
use model::{HardwareTier, is_label_value};

use crate::config::sections::check_args_type;
use crate::document::{Fields, Problems, Spot, quoted};

/// How many models, and namespaces, may be listed.
const MODELS_MAX: usize = 256;
const NAMESPACES_MAX: usize = 64;
/// How many characters the name of a model may have.
const MODEL_CHARS_MAX: usize = 128;
/// What a node may cost.
const COST_MAX: f64 = 1e9;
/// As much as a weight may be.
const WEIGHT_MAX: i64 = 100;

/// `TenantHardwareArgs`, if they differ from the defaults.
pub(in crate::config) fn tenant_hardware(spot: Spot<'_>, problems: &mut Problems) -> Option<Args> {
    const TIERS: &str = "tiers";
    const SCORES: &str = "scores";
    const MODELS: &str = "models";
    const COSTS: &str = "costs";
    const RESERVE: &str = "reserveAcceleratorNodes";
    const CPU_PODS: &str = "cpuPodWeight";
    const SYSTEM: &str = "systemNamespaces";
    const FIELDS: [&str; 9] =
        ["apiVersion", "kind", TIERS, SCORES, MODELS, COSTS, RESERVE, CPU_PODS, SYSTEM];
    let fields = spot.fields(&FIELDS, problems)?;
    check_args_type(&fields, "TenantHardware", problems);
    let mut args = TenantHardwareArgs::default();
    if let Some(fields) = inner(&fields, TIERS, &["gold", "silver", "bronze"], problems) {
        let TierRules { gold, silver, bronze } = &mut args.rules;
        for (name, rule) in [("gold", gold), ("silver", silver), ("bronze", bronze)] {
            read_rule(&fields, name, rule, problems);
        }
    }
    read_scores(&fields, SCORES, &mut args.scores, problems);
    read_models(&fields, MODELS, &mut args.models, problems);
    read_costs(&fields, COSTS, &mut args.costs, problems);
    args.reserves_accelerators = fields.boolean(RESERVE, problems).unwrap_or_default();
    if let Some(weight) = fields.integer(CPU_PODS, 0..=WEIGHT_MAX, problems) {
        args.cpu_pod_weight = u32::try_from(weight).expect("read within the range");
    }
    if fields.get(SYSTEM).is_some() {
        args.system_namespaces = namespaces(&fields, SYSTEM, problems);
    }
    (args != TenantHardwareArgs::default()).then_some(Args::TenantHardware(args))
}

fn inner<'a>(
    fields: &Fields<'a>,
    name: &str,
    known: &[&str],
    problems: &mut Problems,
) -> Option<Fields<'a>> {
    fields.get(name)?.fields(known, problems)
}

fn read_rule(fields: &Fields<'_>, name: &str, rule: &mut TierRule, problems: &mut Problems) {
    const ALLOWED: &str = "allowed";
    const OVERFLOW: &str = "overflow";
    const WORDS: [(&str, bool); 2] = [("allow", true), ("deny", false)];
    let Some(fields) = inner(fields, name, &[ALLOWED, OVERFLOW], problems) else { return };
    let overflows = fields.get(OVERFLOW).and_then(|spot| spot.word(&WORDS, problems));
    rule.overflows = overflows.unwrap_or(rule.overflows);
    if fields.get(ALLOWED).is_none() {
        return;
    }
    let items = fields.items(ALLOWED, problems);
    if items.is_empty() {
        let message = "expected at least one of premium, standard and economy, found none";
        problems.report(&fields.place_at(ALLOWED), message);
        return;
    }
    let mut allowed = Vec::new();
    for item in items {
        let Some(tier) = item.word(&HardwareTier::WORDS, problems) else { continue };
        if allowed.contains(&tier) {
            let message = format!("tier {} is given twice", quoted(tier.word()));
            problems.report(&item.place, message);
        } else {
            allowed.push(tier);
        }
    }
    rule.allowed = allowed;
}

fn read_scores(fields: &Fields<'_>, name: &str, scores: &mut TierScores, problems: &mut Problems) {
    let TierScores { preferred, cheaper, cheaper_step, unknown, costlier, overflow } = scores;
    let own = [
        ("preferred", preferred),
        ("cheaper", cheaper),
        ("cheaperStep", cheaper_step),
        ("unknown", unknown),
        ("costlier", costlier),
        ("overflow", overflow),
    ];
    let names = own.each_ref().map(|(name, _)| *name);
    let Some(fields) = inner(fields, name, &names, problems) else { return };
    for (name, score) in own {
        if let Some(found) = fields.integer(name, 0..=100, problems) {
            *score = u8::try_from(found).expect("read within the range");
        }
    }
}

/// Lists that are given take the place of those by default.
fn read_models(
    fields: &Fields<'_>,
    name: &str,
    models: &mut Vec<(String, HardwareTier)>,
    problems: &mut Problems,
) {
    let names = HardwareTier::WORDS.map(|(word, _)| word);
    let Some(fields) = inner(fields, name, &names, problems) else { return };
    let mut found: Vec<(String, HardwareTier)> = Vec::new();
    let mut add = |model: &str, tier: HardwareTier| {
        let is_new = !found.iter().any(|(other, _)| is_same(other, model));
        if is_new {
            found.push((model.to_owned(), tier));
        }
        is_new
    };
    for (word, tier) in HardwareTier::WORDS {
        if fields.get(word).is_none() {
            continue;
        }
        let items = fields.items(word, problems);
        if items.len() > MODELS_MAX {
            let message = format!("expected at most {MODELS_MAX} models, found {}", items.len());
            problems.report(&fields.place_at(word), message);
            continue;
        }
        for item in items {
            let Some(model) = item.text(problems) else { continue };
            let is_sound = model.chars().count() <= MODEL_CHARS_MAX
                && model.chars().any(char::is_alphanumeric)
                && !model.chars().any(char::is_control);
            if !is_sound {
                let expected =
                    format!("the name of a model with at most {MODEL_CHARS_MAX} characters");
                item.expected(&expected, problems);
            } else if !add(model, tier) {
                let message = format!("model {} is given twice", quoted(model));
                problems.report(&item.place, message);
            }
        }
    }
    // A model that is given a tier is not of another one that is not listed.
    for (model, tier) in std::mem::take(models) {
        if fields.get(tier.word()).is_none() {
            add(&model, tier);
        }
    }
    // In the order of tiers, the costliest first, so that order makes no difference.
    found.sort_by_key(|(_, tier)| std::cmp::Reverse(*tier));
    *models = found;
}

/// Whether two names of models mean the same.
fn is_same(one: &str, other: &str) -> bool {
    let words = |name: &str| -> Vec<String> {
        let words = name.split([' ', '-', '_']).filter(|word| !word.is_empty());
        words.map(str::to_ascii_lowercase).collect()
    };
    words(one) == words(other)
}

fn read_costs(fields: &Fields<'_>, name: &str, costs: &mut CostTiers, problems: &mut Problems) {
    let Some(fields) = inner(fields, name, &["premium", "standard"], problems) else { return };
    let mut cost = |name: &str, milli: &mut u64| {
        let found = fields.get(name).and_then(|spot| cost(&spot, problems));
        *milli = found.unwrap_or(*milli);
    };
    cost("premium", &mut costs.premium_milli);
    cost("standard", &mut costs.standard_milli);
    if costs.standard_milli >= costs.premium_milli {
        let [standard, premium] =
            [costs.standard_milli, costs.premium_milli].map(|milli| milli as f64 / 1000.0);
        let message =
            format!("expected standard to be less than premium, found {standard} and {premium}");
        problems.report(&fields.place, message);
    }
}

fn cost(spot: &Spot<'_>, problems: &mut Problems) -> Option<u64> {
    // Numbers of so many digits are closer to their thousandths than this.
    const NEAR: f64 = 1e-3;
    let cost = spot.number(problems)?;
    let milli = (cost * 1000.0).round();
    if !(0.0..=COST_MAX).contains(&cost) || (cost * 1000.0 - milli).abs() > NEAR {
        spot.expected("a number from 0 to 1000000000 with at most three digits", problems);
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in the range")]
    Some(milli as u64)
}

fn namespaces(fields: &Fields<'_>, name: &str, problems: &mut Problems) -> Vec<String> {
    let items = fields.items(name, problems);
    if items.len() > NAMESPACES_MAX {
        let message =
            format!("expected at most {NAMESPACES_MAX} namespaces, found {}", items.len());
        problems.report(&fields.place_at(name), message);
        return Vec::new();
    }
    let mut found = Vec::new();
    for item in items {
        let Some(name) = item.text(problems) else { continue };
        if name.is_empty() || !is_label_value(name) {
            item.expected("the name of a namespace", problems);
        }
        found.push(name.to_owned());
    }
    found
}
