//! Whole files: what they mean, and that each bad value is refused by path and line.

mod fuzz;
mod gangs;
mod gpus;
mod notes;
mod page;
mod refusals;
mod spread;
mod tenants;
mod written;

use framework::{
    Args, FitArgs, NodeAffinityArgs, PluginInfo, Point, Points, ProfileSettings, ResourceWeight,
    ShapePoint, Strategy, WorkloadArgs,
};
use model::{LabelOperator, Millis};

use super::{ConfigError, Settings, defaults, from_json, load};

const HEAD: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

/// The in-tree plugins and some of ours, of which some are not built.
fn known() -> Vec<PluginInfo> {
    use Point::{
        Bind, Filter, Permit, PodGroupPostFilter, PostFilter, PreBind, PreEnqueue, PreFilter,
        PreScore, QueueSort, Reserve, Score,
    };
    const FILTER: &[Point] = &[PreFilter, Filter];
    const ALL: &[Point] = &[PreFilter, Filter, PreScore, Score];
    let table: [(&'static str, &'static [&'static str], &[Point], bool); 31] = [
        ("SchedulingGates", &[], &[PreEnqueue], true),
        ("PrioritySort", &[], &[QueueSort], true),
        ("NodeName", &[], FILTER, true),
        ("NodeUnschedulable", &[], FILTER, true),
        ("TaintToleration", &[], ALL, true),
        ("NodeAffinity", &[], ALL, true),
        ("NodePorts", &[], FILTER, true),
        ("NodeResourcesFit", &[], ALL, true),
        ("NodeResourcesBalancedAllocation", &[], &[PreScore, Score], true),
        ("ImageLocality", &[], &[Score], true),
        ("NodeDeclaredFeatures", &[], FILTER, true),
        ("DefaultBinder", &[], &[Bind], true),
        ("VolumeRestrictions", &[], FILTER, true),
        ("NodeVolumeLimits", &[], FILTER, true),
        ("VolumeBinding", &[], &[PreFilter, Filter, Reserve, PreBind, PreScore, Score], true),
        ("VolumeZone", &[], FILTER, true),
        ("PodTopologySpread", &[], ALL, true),
        ("InterPodAffinity", &[], ALL, true),
        (
            "DynamicResources",
            &[],
            &[PreFilter, Filter, PostFilter, PodGroupPostFilter, Score],
            false,
        ),
        ("DefaultPreemption", &[], &[PreEnqueue, PostFilter, PodGroupPostFilter], true),
        ("ProfileClassifier", &[], &[PreFilter], true),
        (
            "Coscheduling",
            &[],
            &[QueueSort, PreEnqueue, PreFilter, Filter, PostFilter, Reserve, Permit],
            true,
        ),
        (
            "NUMATopology",
            &["NodeResourceTopology"],
            &[PreFilter, Filter, PreScore, Score, Reserve, Bind],
            true,
        ),
        ("VRAMScheduler", &[], ALL, true),
        ("GPUTopology", &[], &[PreScore, Score], true),
        ("ResourceFragmentation", &["ResourceFragmentationScore"], &[PreScore, Score], true),
        ("TopologySpread", &[], &[PreScore, Score], true),
        ("TenantHardware", &["TenantHardwareAffinityScore"], ALL, true),
        ("WorkloadAware", &[], &[PreScore, Score], true),
        ("NetworkFabric", &["NetworkFabricScore"], ALL, true),
        ("BackfillScheduler", &["BackfillScoring"], &[PreEnqueue, PreFilter, Score], false),
    ];
    let infos = table.map(|(name, aliases, points, is_built)| PluginInfo {
        name,
        aliases,
        points: Points::of(points),
        is_built,
    });
    infos.into()
}

fn read(body: &str) -> Result<Settings, ConfigError> {
    load(&format!("{HEAD}{body}"), &known())
}

fn good(body: &str) -> Settings {
    read(body).unwrap_or_else(|error| panic!("{error}\n{body}"))
}

/// `Name Name:weight ...` at a point.
fn at(profile: &ProfileSettings, point: Point) -> String {
    let shown = profile.at(point).iter().map(|choice| match choice.weight {
        1 => choice.name.to_owned(),
        weight => format!("{}:{weight}", choice.name),
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn without_a_file_there_are_two_profiles() {
    let settings = defaults(&known());
    let names: Vec<_> = settings.profiles.iter().map(|profile| &*profile.scheduler).collect();
    assert_eq!(names, ["default-scheduler", "kubenexus-scheduler"]);
    let [kube, ours] = &settings.profiles[..] else { panic!("two profiles") };
    assert_eq!(at(kube, Point::QueueSort), "PrioritySort");
    assert_eq!(at(ours, Point::QueueSort), "Coscheduling");
    let score = "TaintToleration:3 NodeAffinity:2 VolumeBinding PodTopologySpread:2 \
                 InterPodAffinity:2 DynamicResources:2 ImageLocality NetworkFabric:10 \
                 NUMATopology:10 ResourceFragmentation:10 TenantHardware:8 VRAMScheduler:8 \
                 GPUTopology:8 TopologySpread:6 WorkloadAware:5";
    assert_eq!(at(ours, Point::Score), score);
    let own = " Coscheduling NetworkFabric NUMATopology TenantHardware VRAMScheduler";
    assert_eq!(at(kube, Point::Filter) + own, at(ours, Point::Filter));
    let own = " ProfileClassifier Coscheduling NetworkFabric NUMATopology TenantHardware \
               VRAMScheduler";
    assert_eq!(at(kube, Point::PreFilter) + own, at(ours, Point::PreFilter));
    assert!(kube.points.iter().flat_map(|(_, all)| all).all(|each| each.name != "Coscheduling"));
    assert_eq!(settings.leader_election.resource_name, "kubenexus-scheduler");
    assert_eq!((settings.initial_backoff, settings.max_backoff), (Millis(1_000), Millis(10_000)));
}

#[test]
fn a_file_without_profiles_has_kube_schedulers() {
    for body in ["", "profiles:\n", "profiles: []\n", "profiles: [{}]\n"] {
        let settings = good(body);
        assert_eq!(settings.profiles, [defaults(&known()).profiles[0].clone()], "{body}");
        assert_eq!(
            settings,
            Settings { profiles: settings.profiles.clone(), ..defaults(&known()) }
        );
    }
}

#[test]
fn default_plugins_are_kube_schedulers_in_its_order() {
    let profile = &defaults(&known()).profiles[0];
    let score = "TaintToleration:3 NodeAffinity:2 NodeResourcesFit VolumeBinding \
                 PodTopologySpread:2 InterPodAffinity:2 DynamicResources:2 \
                 NodeResourcesBalancedAllocation ImageLocality";
    assert_eq!(at(profile, Point::Score), score);
    let filter = "NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts \
                  NodeResourcesFit VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone \
                  PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures";
    assert_eq!(at(profile, Point::Filter), filter);
    assert_eq!(at(profile, Point::PostFilter), "DynamicResources DefaultPreemption");
    assert_eq!(at(profile, Point::QueueSort), "PrioritySort");
    assert_eq!(at(profile, Point::Bind), "DefaultBinder");
    assert_eq!(at(profile, Point::Permit), "");
}

#[test]
fn our_default_file_means_the_defaults() {
    let settings = load(include_str!("../../../../config/config.yaml"), &known()).expect("valid");
    let mut expected = defaults(&known());
    expected.profiles.remove(0);
    assert_eq!(settings, expected);
}

#[test]
fn the_binpack_example_packs() {
    let text = include_str!("../../../../examples/config/binpack.yaml");
    let settings = load(text, &known()).expect("valid");
    let profile = &settings.profiles[0];
    assert!(at(profile, Point::Score).starts_with("NodeResourcesFit:5 TaintToleration:3 "));
    assert!(!at(profile, Point::Score).contains("Balanced"));
    let Some(Args::Fit(args)) = profile.args_of("NodeResourcesFit") else { panic!("arguments") };
    assert_eq!(args.strategy, Strategy::MostAllocated);
    let gpu = ResourceWeight { name: "nvidia.com/gpu".into(), weight: 10 };
    assert_eq!(args.resources[0], gpu);
}

#[test]
fn the_example_with_two_profiles_keeps_them_apart() {
    let text = include_str!("../../../../examples/config/two-profiles.yaml");
    let settings = load(text, &known()).expect("valid");
    assert_eq!(settings.max_backoff, Millis::seconds(30));
    let [services, batch] = &settings.profiles[..] else { panic!("two profiles") };
    assert_eq!(*services, defaults(&known()).profiles[0]);
    assert!(!at(batch, Point::Score).contains("ImageLocality"));
    let Some(Args::NodeAffinity(affinity)) = batch.args_of("NodeAffinity") else { panic!("args") };
    let term = &affinity.required.as_ref().expect("required")[0];
    assert_eq!(term.expressions[0].operator, LabelOperator::In);
    let Some(Args::Fit(fit)) = batch.args_of("NodeResourcesFit") else { panic!("arguments") };
    let line = [(0, 0), (80, 10), (100, 5)];
    let line = line.map(|(utilization, score)| ShapePoint { utilization, score });
    assert_eq!(fit.strategy, Strategy::RequestedToCapacityRatio(line.into()));
}

#[test]
fn fields_are_read() {
    let settings = good(
        "parallelism: 4\npercentageOfNodesToScore: 70\nenableProfiling: false\n\
         delayCacheUntilActive: true\npodInitialBackoffSeconds: 2\npodMaxBackoffSeconds: 2\n\
         leaderElection: {leaderElect: false, leaseDuration: 1m30s, renewDeadline: 500ms,\n\
         \x20 retryPeriod: 100us, resourceName: a, resourceNamespace: b}\n\
         clientConnection: {qps: 2.5, burst: 7, kubeconfig: /k, contentType: application/json}\n",
    );
    assert_eq!((settings.parallelism, settings.percentage_of_nodes_to_score), (4, Some(70)));
    assert!(!settings.enable_profiling && !settings.enable_contention_profiling);
    assert!(settings.delay_cache_until_active);
    assert_eq!((settings.initial_backoff, settings.max_backoff), (Millis(2_000), Millis(2_000)));
    let election = settings.leader_election;
    assert!(!election.leader_elect);
    assert_eq!(election.lease_duration, Millis(90_000));
    assert_eq!(election.renew_deadline, Millis(500));
    assert_eq!(election.retry_period, Millis(1), "a short time does not become none");
    assert_eq!((&*election.resource_name, &*election.resource_namespace), ("a", "b"));
    let connection = settings.client_connection;
    assert_eq!((connection.qps_milli, connection.burst), (2_500, 7));
    assert_eq!(connection.kubeconfig.as_deref(), Some("/k"));
    assert_eq!(connection.content_type, "application/json");
}

#[test]
fn what_is_null_or_zero_reads_as_the_default() {
    let body = "parallelism: null\nclientConnection: {qps: 0, burst: 0, contentType: \"\"}\n\
                leaderElection: {leaseDuration: 0s, resourceLock: \"\"}\nextenders: []\n\
                profiles:\n- plugins: null\n  pluginConfig:\n  - name: NodeResourcesFit\n";
    let expected = Settings { profiles: good("").profiles, ..defaults(&known()) };
    assert_eq!(good(body), expected);
}

#[test]
fn arguments_equal_to_the_defaults_are_none() {
    let body = "profiles:\n- pluginConfig:\n  - name: NodeResourcesBalancedAllocation\n    args:\n\
                \x20     kind: NodeResourcesBalancedAllocationArgs\n      resources:\n\
                \x20     - name: cpu\n      - name: memory\n        weight: 0\n";
    assert_eq!(good(body).profiles[0].args, []);
}

#[test]
fn preferences_that_say_nothing_are_left_out() {
    let body = "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args:\n\
                \x20     addedAffinity:\n\
                \x20       requiredDuringSchedulingIgnoredDuringExecution: {}\n\
                \x20       preferredDuringSchedulingIgnoredDuringExecution:\n\
                \x20       - weight: 0\n          preference: {matchFields: [{key: metadata.name, \
                operator: In, values: [a]}]}\n\
                \x20       - weight: 5\n          preference: {}\n";
    let args = good(body).profiles[0].args_of("NodeAffinity").cloned();
    let expected = NodeAffinityArgs { required: Some(Vec::new()), preferred: Vec::new() };
    assert_eq!(args, Some(Args::NodeAffinity(expected)), "no terms match no node");
}

#[test]
fn a_json_value_means_what_the_same_yaml_means() {
    let json = serde_json::json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{
            "schedulerName": "x",
            "plugins": {"score": {"enabled": [{"name": "ImageLocality", "weight": 4}]}},
            "pluginConfig": [{"name": "NodeResourcesFit", "args": {"ignoredResources": ["a/b"]}}],
        }],
    });
    let settings = from_json(&json, &known()).expect("valid");
    assert_eq!(settings, load(&json.to_string(), &known()).expect("valid"));
    let args = FitArgs { ignored_resources: vec!["a/b".into()], ..FitArgs::default() };
    assert_eq!(settings.profiles[0].args, [("NodeResourcesFit", Args::Fit(args))]);
    let error = from_json(&serde_json::json!({"kind": 5}), &known()).expect_err("invalid");
    let expected = "apiVersion: required, but missing\n\
                    kind: expected text (put it in quotes), found 5";
    assert_eq!(error.to_string(), expected, "no lines");
}

#[test]
fn an_alias_stands_for_its_plugin() {
    let known = known();
    let body =
        "profiles: [{plugins: {score: {enabled: [{name: NetworkFabricScore, weight: 10}]}}}]";
    let settings = load(&format!("{HEAD}{body}\n"), &known).expect("valid");
    assert!(at(&settings.profiles[0], Point::Score).ends_with("NetworkFabric:10"));
    let twice = body.replace("]}}}", ", {name: NetworkFabric}]}}}");
    let error = load(&format!("{HEAD}{twice}\n"), &known).expect_err("one plugin, twice");
    assert!(error.to_string().ends_with("plugin \"NetworkFabric\" is enabled twice"), "{error}");
}

#[test]
fn what_is_not_built_stays_in_the_defaults_and_can_be_disabled() {
    let body = "profiles: [{plugins: {multiPoint: {disabled: [{name: InterPodAffinity}]}}}]\n";
    let filter = at(&good(body).profiles[0], Point::Filter);
    assert!(!filter.contains("InterPodAffinity") && filter.contains("PodTopologySpread"));
}

#[test]
fn what_does_not_score_in_our_profile_scores_where_a_file_says_so() {
    let ours = |plugins: &str| {
        let body =
            format!("profiles:\n- schedulerName: kubenexus-scheduler\n  plugins: {plugins}\n");
        at(&good(&body).profiles[0], Point::Score)
    };
    assert!(!ours("{}").contains("NodeResources"));
    let both = "[{name: NodeResourcesFit, weight: 3}, {name: NodeResourcesBalancedAllocation}]";
    for point in ["score", "multiPoint"] {
        let score = ours(&format!("{{{point}: {{enabled: {both}}}}}"));
        assert!(score.contains("NodeResourcesFit:3"), "{point}: {score}");
        assert!(score.contains("NodeResourcesBalancedAllocation"), "{point}: {score}");
    }
    // Every other name is kube-scheduler's profile.
    let other = &good("profiles:\n- schedulerName: kubenexus\n").profiles[0];
    assert_eq!(at(other, Point::Score), at(&defaults(&known()).profiles[0], Point::Score));
}

#[test]
fn weights_of_workload_aware() {
    let args = |weights: &str| {
        let body = format!(
            "profiles:\n- pluginConfig: [{{name: WorkloadAware, args: {{weights: {weights}}}}}]\n"
        );
        good(&body).profiles.remove(0).args
    };
    assert_eq!(args("[]"), []);
    assert_eq!(
        args("[{name: cpu, weight: 6}, {name: memory, weight: 4}, {name: gpu, weight: 80}]"),
        []
    );
    let found = args("[{name: cpu, weight: 0}, {name: hugepages-2Mi, weight: 1}]");
    let names = ["cpu", "hugepages-2Mi"].into_iter().zip(0..);
    let weights =
        names.map(|(name, weight)| ResourceWeight { name: name.into(), weight }).collect();
    assert_eq!(found, [("WorkloadAware", Args::Workload(WorkloadArgs { weights }))]);
}
