//! Arguments of the plugins that look at other pods.

use framework::{Args, PodAffinityArgs, SpreadArgs};
use model::{SpreadSpec, is_qualified_name};

use crate::config::sections::check_args_type;
use crate::document::{Fields, Problems, Spot, quoted};

/// `InterPodAffinityArgs`, if they differ from the defaults.
pub(in crate::config) fn pod_affinity(spot: Spot<'_>, problems: &mut Problems) -> Option<Args> {
    const WEIGHT: &str = "hardPodAffinityWeight";
    const IGNORES: &str = "ignorePreferredTermsOfExistingPods";
    let fields = spot.fields(&["apiVersion", "kind", WEIGHT, IGNORES], problems)?;
    check_args_type(&fields, "InterPodAffinity", problems);
    let mut args = PodAffinityArgs::default();
    if let Some(weight) = fields.integer(WEIGHT, 0..=100, problems) {
        args.near_weight = i32::try_from(weight).expect("read within the range");
    }
    args.ignores_preferences_of_others = fields.boolean(IGNORES, problems).unwrap_or(false);
    (args != PodAffinityArgs::default()).then_some(Args::PodAffinity(args))
}

/// `PodTopologySpreadArgs`; `default` where they say nothing.
pub(in crate::config) fn spread(
    spot: Spot<'_>,
    default: SpreadArgs,
    problems: &mut Problems,
) -> Option<Args> {
    const TYPE: &str = "defaultingType";
    const LIST: &str = "defaultConstraints";
    let fields = spot.fields(&["apiVersion", "kind", LIST, TYPE], problems)?;
    check_args_type(&fields, "PodTopologySpread", problems);
    let is_list = fields.get(TYPE);
    let is_list = is_list.and_then(|s| s.word(&[("System", false), ("List", true)], problems));
    let mut list: Vec<SpreadSpec> = Vec::new();
    for item in fields.items(LIST, problems) {
        let place = item.place.clone();
        let Some(found) = constraint(item, problems) else { continue };
        let is_same =
            |other: &SpreadSpec| (&other.key, other.is_required) == (&found.key, found.is_required);
        if list.iter().any(is_same) {
            let message = format!("a constraint of this sort on {} is there", quoted(&found.key));
            problems.report(&place, message);
        }
        list.push(found);
    }
    let is_list = is_list.unwrap_or(default != SpreadArgs::System);
    if !is_list && !list.is_empty() {
        let message = "expected none unless defaultingType is List";
        problems.report(&fields.place_at(LIST), message);
    }
    Some(Args::Spread(if is_list { SpreadArgs::List(list) } else { SpreadArgs::System }))
}

fn constraint(item: Spot<'_>, problems: &mut Problems) -> Option<SpreadSpec> {
    const FIELDS: [&str; 8] = [
        "maxSkew",
        "topologyKey",
        "whenUnsatisfiable",
        "labelSelector",
        "matchLabelKeys",
        "minDomains",
        "nodeAffinityPolicy",
        "nodeTaintsPolicy",
    ];
    let fields = item.fields(&FIELDS, problems)?;
    if let Some(spot) = fields.get("labelSelector") {
        problems.report(&spot.place, "expected none: whom it is about follows from each pod");
    }
    let counted = |name: &str, fields: &Fields<'_>, problems: &mut Problems| {
        let value = fields.integer(name, 1..=i64::from(i32::MAX), problems)?;
        Some(i32::try_from(value).expect("read within the range"))
    };
    fields.required("maxSkew", problems);
    let max_skew = counted("maxSkew", &fields, problems);
    let min_domains = counted("minDomains", &fields, problems).unwrap_or(1);
    let key = fields.required("topologyKey", problems).and_then(|spot| {
        let text = spot.text(problems)?;
        if !is_qualified_name(text) {
            spot.expected("the name of a label, such as topology.kubernetes.io/zone", problems);
        }
        Some(text.to_owned())
    });
    const ACTIONS: [(&str, bool); 2] = [("DoNotSchedule", true), ("ScheduleAnyway", false)];
    let action = fields.required("whenUnsatisfiable", problems);
    let is_required = action.and_then(|spot| spot.word(&ACTIONS, problems));
    let honours = |name: &str, default: bool, problems: &mut Problems| {
        let spot = fields.get(name);
        let word = spot.and_then(|s| s.word(&[("Honor", true), ("Ignore", false)], problems));
        word.unwrap_or(default)
    };
    Some(SpreadSpec {
        honours_affinity: honours("nodeAffinityPolicy", true, problems),
        honours_taints: honours("nodeTaintsPolicy", false, problems),
        key: key?,
        selector: None,
        max_skew: max_skew?,
        min_domains,
        is_required: is_required?,
    })
}
