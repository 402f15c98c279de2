//! Arguments of plugins, as they are written.

mod gangs;
mod tenant_hardware;

use framework::{
    Args, BalancedArgs, ClassifierArgs, CoschedulingArgs, FabricArgs, FitArgs, FragmentationArgs,
    LevelArgs, NodeAffinityArgs, NumaArgs, PodAffinityArgs, PreemptionArgs, ResourceWeight,
    ShapePoint, SpreadArgs, Strategy, TenantHardwareArgs, VolumeBindingArgs, VramArgs,
    WorkloadArgs,
};
use model::{FabricLevel, FieldOperator, LabelOperator, NodeTerm, RequirementSpec, SpreadSpec};
use serde_json::{Map, Value, json};

use crate::config::sections::API_VERSION;

/// The arguments of every plugin that takes any, where nothing is given.
pub(super) fn defaults() -> [(&'static str, Args); 16] {
    [
        ("NodeResourcesFit", Args::Fit(FitArgs::default())),
        ("NodeResourcesBalancedAllocation", Args::Balanced(BalancedArgs::default())),
        ("NodeAffinity", Args::NodeAffinity(NodeAffinityArgs::default())),
        ("InterPodAffinity", Args::PodAffinity(PodAffinityArgs::default())),
        ("PodTopologySpread", Args::Spread(SpreadArgs::default())),
        ("DefaultPreemption", Args::Preemption(PreemptionArgs::default())),
        ("Coscheduling", Args::Coscheduling(CoschedulingArgs::default())),
        ("ProfileClassifier", Args::Classifier(ClassifierArgs::default())),
        ("VolumeBinding", Args::VolumeBinding(VolumeBindingArgs::default())),
        ("NUMATopology", Args::Numa(NumaArgs::default())),
        ("VRAMScheduler", Args::Vram(VramArgs::default())),
        ("ResourceFragmentation", Args::Fragmentation(FragmentationArgs::default())),
        ("TopologySpread", Args::Levels(LevelArgs::default())),
        ("WorkloadAware", Args::Workload(WorkloadArgs::default())),
        ("NetworkFabric", Args::Fabric(FabricArgs::default())),
        ("TenantHardware", Args::TenantHardware(TenantHardwareArgs::default())),
    ]
}

/// Writes the arguments of a plugin.
pub(super) fn write(args: &Args) -> Value {
    match args {
        Args::NodeAffinity(args) => node_affinity(args),
        Args::Fit(args) => fit(args),
        Args::Balanced(args) => json!({
            "apiVersion": API_VERSION,
            "kind": "NodeResourcesBalancedAllocationArgs",
            "resources": resources(&args.resources),
        }),
        Args::PodAffinity(args) => json!({
            "apiVersion": API_VERSION,
            "kind": "InterPodAffinityArgs",
            "hardPodAffinityWeight": args.near_weight,
            "ignorePreferredTermsOfExistingPods": args.ignores_preferences_of_others,
        }),
        Args::Spread(args) => spread(args),
        Args::Preemption(args) => json!({
            "apiVersion": API_VERSION,
            "kind": "DefaultPreemptionArgs",
            "minCandidateNodesPercentage": args.candidates_percentage,
            "minCandidateNodesAbsolute": args.candidates_min,
        }),
        Args::Coscheduling(args) => gangs::coscheduling(args),
        Args::Classifier(args) => gangs::classifier(args),
        Args::VolumeBinding(args) => json!({
            "apiVersion": API_VERSION,
            "kind": "VolumeBindingArgs",
            "bindTimeoutSeconds": args.bind_timeout.0 / 1000,
            "shape": shape(&args.shape),
        }),
        Args::Numa(args) => numa(args),
        Args::Vram(args) => json!({
            "apiVersion": API_VERSION,
            "kind": "VRAMSchedulerArgs",
            "headroom": f64::from(args.headroom_milli) / 1000.0,
            "allowMixed": args.allows_mixed,
        }),
        Args::Fragmentation(args) => json!({
            "apiVersion": API_VERSION,
            "kind": "ResourceFragmentationArgs",
            "pristineMin": args.pristine_min,
            "smallRequestMax": args.small_max,
            "windowSeconds": args.window.0 / 1000,
        }),
        Args::Workload(args) => json!({
            "apiVersion": API_VERSION,
            "kind": "WorkloadAwareArgs",
            "weights": resources(&args.weights),
        }),
        Args::Fabric(args) => json!({
            "apiVersion": API_VERSION,
            "kind": "NetworkFabricArgs",
            "levels": args.levels.iter().map(level).collect::<Vec<_>>(),
        }),
        Args::Levels(args) => json!({
            "apiVersion": API_VERSION,
            "kind": "TopologySpreadArgs",
            "zoneWeight": args.zone,
            "rackWeight": args.rack,
            "hostWeight": args.host,
        }),
        Args::TenantHardware(args) => tenant_hardware::write(args),
    }
}

fn level(level: &FabricLevel) -> Value {
    json!({"name": level.name, "labels": level.labels})
}

fn numa(args: &NumaArgs) -> Value {
    let driver =
        |(driver, resource): &(String, String)| json!({"driver": driver, "resource": resource});
    json!({
        "apiVersion": API_VERSION,
        "kind": "NUMATopologyArgs",
        "unknownTopology": if args.allows_unknown { "allow" } else { "reject" },
        "deviceDrivers": args.drivers.iter().map(driver).collect::<Vec<_>>(),
    })
}

fn shape(points: &[ShapePoint]) -> Value {
    let point = |it: &ShapePoint| json!({"utilization": it.utilization, "score": it.score});
    points.iter().map(point).collect()
}

fn spread(args: &SpreadArgs) -> Value {
    let mut value = json!({"apiVersion": API_VERSION, "kind": "PodTopologySpreadArgs"});
    match args {
        SpreadArgs::System => value["defaultingType"] = "System".into(),
        SpreadArgs::List(list) => {
            value["defaultingType"] = "List".into();
            value["defaultConstraints"] = list.iter().map(constraint).collect();
        }
    }
    value
}

fn constraint(spread: &SpreadSpec) -> Value {
    let action = if spread.is_required { "DoNotSchedule" } else { "ScheduleAnyway" };
    let policy = |honours: bool| if honours { "Honor" } else { "Ignore" };
    json!({
        "maxSkew": spread.max_skew,
        "topologyKey": spread.key,
        "whenUnsatisfiable": action,
        "minDomains": spread.min_domains,
        "nodeAffinityPolicy": policy(spread.honours_affinity),
        "nodeTaintsPolicy": policy(spread.honours_taints),
    })
}

fn fit(args: &FitArgs) -> Value {
    let mut strategy = json!({
        "type": match args.strategy {
            Strategy::LeastAllocated => "LeastAllocated",
            Strategy::MostAllocated => "MostAllocated",
            Strategy::RequestedToCapacityRatio(_) => "RequestedToCapacityRatio",
        },
        "resources": resources(&args.resources),
    });
    if let Strategy::RequestedToCapacityRatio(points) = &args.strategy {
        strategy["requestedToCapacityRatio"] = json!({"shape": shape(points)});
    }
    json!({
        "apiVersion": API_VERSION,
        "kind": "NodeResourcesFitArgs",
        "ignoredResources": args.ignored_resources,
        "ignoredResourceGroups": args.ignored_groups,
        "scoringStrategy": strategy,
    })
}

fn resources(resources: &[ResourceWeight]) -> Vec<Value> {
    let entries = resources.iter();
    entries.map(|entry| json!({"name": entry.name, "weight": entry.weight})).collect()
}

fn node_affinity(args: &NodeAffinityArgs) -> Value {
    let mut affinity = Map::new();
    if let Some(terms) = &args.required {
        let terms: Vec<_> = terms.iter().map(term).collect();
        let required = json!({"nodeSelectorTerms": terms});
        affinity.insert("requiredDuringSchedulingIgnoredDuringExecution".into(), required);
    }
    if !args.preferred.is_empty() {
        let preferred = args.preferred.iter().map(
            |preference| json!({"weight": preference.weight, "preference": term(&preference.term)}),
        );
        let preferred = preferred.collect::<Vec<_>>().into();
        affinity.insert("preferredDuringSchedulingIgnoredDuringExecution".into(), preferred);
    }
    let mut value = json!({"apiVersion": API_VERSION, "kind": "NodeAffinityArgs"});
    if !affinity.is_empty() {
        value["addedAffinity"] = affinity.into();
    }
    value
}

fn term(term: &NodeTerm) -> Value {
    let mut value = Map::new();
    let expressions = term.expressions.iter().map(|one| requirement(one, &LabelOperator::WORDS));
    let fields = term.fields.iter().map(|one| requirement(one, &FieldOperator::WORDS));
    if !term.expressions.is_empty() {
        value.insert("matchExpressions".into(), expressions.collect::<Vec<_>>().into());
    }
    if !term.fields.is_empty() {
        value.insert("matchFields".into(), fields.collect::<Vec<_>>().into());
    }
    value.into()
}

pub(super) fn requirement<O: PartialEq>(one: &RequirementSpec<O>, words: &[(&str, O)]) -> Value {
    let word = words.iter().find(|(_, operator)| *operator == one.operator);
    let (word, _) = word.expect("a configuration has no unknown operators");
    let mut value = json!({"key": one.key, "operator": word});
    if !one.values.is_empty() {
        value["values"] = json!(one.values);
    }
    value
}
