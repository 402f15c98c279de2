//! What is written can be read, and means the same.

use std::collections::BTreeMap;

use framework::{PluginInfo, Point};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{good, known};
use crate::config::{Settings, defaults, from_json, load, write};

const FILES: [&str; 4] = [
    include_str!("../../../../../config/config.yaml"),
    include_str!("../../../../../examples/config/binpack.yaml"),
    include_str!("../../../../../examples/config/two-profiles.yaml"),
    include_str!("../../../../../examples/config/gangs.yaml"),
];

fn check(settings: &Settings) {
    check_with(settings, &known());
}

fn check_with(settings: &Settings, known: &[PluginInfo]) {
    let written = write(settings, known);
    let read = from_json(&written, known);
    let read = read.unwrap_or_else(|error| panic!("{error}\n{written:#}"));
    assert_eq!(read, *settings, "{written:#}");
}

#[test]
fn our_files_and_the_defaults_come_back() {
    check(&defaults(&known()));
    for text in FILES {
        check(&load(text, &known()).expect("valid"));
    }
}

#[test]
fn the_defaults_are_written_as_one_list_of_plugins() {
    let mut settings = defaults(&known());
    settings.profiles.truncate(1);
    let written = write(&settings, &known());
    assert_eq!(written["apiVersion"], "kubescheduler.config.k8s.io/v1");
    assert_eq!(written["kind"], "KubeSchedulerConfiguration");
    assert_eq!(written["leaderElection"]["leaseDuration"], "15s");
    assert_eq!(written["clientConnection"]["qps"], 50);
    assert_eq!(written["podMaxBackoffSeconds"], 10);
    let profile = &written["profiles"][0];
    let plugins = profile["plugins"].as_object().expect("a map");
    assert_eq!(plugins.keys().collect::<Vec<_>>(), ["multiPoint", "queueSort"]);
    let enabled = plugins["multiPoint"]["enabled"].as_array().expect("a list");
    let shown = |entry: &Value| match entry.get("weight") {
        Some(weight) => format!("{}:{weight}", entry["name"].as_str().expect("a name")),
        None => entry["name"].as_str().expect("a name").to_owned(),
    };
    let expected = "SchedulingGates PrioritySort NodeName NodeUnschedulable TaintToleration:3 \
                    NodeAffinity:2 NodePorts NodeResourcesFit:1 VolumeRestrictions \
                    NodeVolumeLimits VolumeBinding:1 VolumeZone PodTopologySpread:2 \
                    InterPodAffinity:2 DynamicResources:2 DefaultPreemption \
                    NodeResourcesBalancedAllocation:1 \
                    ImageLocality:1 DefaultBinder NodeDeclaredFeatures";
    assert_eq!(enabled.iter().map(shown).collect::<Vec<_>>().join(" "), expected);
    let strategy = &profile["pluginConfig"][0]["args"]["scoringStrategy"];
    assert_eq!(strategy["type"], "LeastAllocated", "arguments are written out");
}

#[test]
fn every_field_comes_back() {
    check(&good(
        "parallelism: 4\npercentageOfNodesToScore: 70\nenableProfiling: false\n\
         enableContentionProfiling: true\ndelayCacheUntilActive: true\n\
         podInitialBackoffSeconds: 9223372036854775807\n\
         podMaxBackoffSeconds: 9223372036854775807\n\
         leaderElection: {leaderElect: false, leaseDuration: 1m30s, renewDeadline: 500ms,\n\
         \x20 retryPeriod: 100us, resourceLock: x, resourceName: a, resourceNamespace: b}\n\
         clientConnection: {qps: -2.5, burst: 7, kubeconfig: /k, contentType: c,\n\
         \x20 acceptContentTypes: d}\n\
         profiles:\n- schedulerName: s\n  pluginConfig:\n\
         \x20 - name: NodeAffinity\n    args:\n      addedAffinity:\n\
         \x20       requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{},\n\
         \x20         {matchFields: [{key: metadata.name, operator: NotIn, values: [n]}]}]}\n\
         \x20       preferredDuringSchedulingIgnoredDuringExecution:\n\
         \x20       - {weight: 5, preference: {matchExpressions: [{key: a, operator: Exists},\n\
         \x20         {key: b, operator: Gt, values: [\"3\"]}]}}\n\
         \x20 - name: NodeResourcesBalancedAllocation\n    args: {resources: [{name: x/y}]}\n\
         \x20 - name: NodeResourcesFit\n    args: {ignoredResources: [a/b],\n\
         \x20     ignoredResourceGroups: [c]}\n",
    ));
    check(&good(
        "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args:\n      addedAffinity:\n\
         \x20       requiredDuringSchedulingIgnoredDuringExecution: {}\n",
    ));
}

#[test]
fn moved_removed_and_added_plugins_come_back() {
    let sections = [
        "multiPoint: {disabled: [{name: \"*\"}], enabled: [{name: PrioritySort}, \
         {name: DefaultBinder}, {name: ImageLocality, weight: 4}]}",
        "multiPoint: {disabled: [{name: NodeAffinity}], enabled: [{name: NodeAffinity}]}",
        "multiPoint: {disabled: [{name: VolumeBinding}]}",
        "multiPoint: {enabled: [{name: ImageLocality, weight: -1}]}",
        "score: {enabled: [{name: ImageLocality, weight: 9}]}",
        "score: {disabled: [{name: NodeResourcesFit}], enabled: [{name: NodeResourcesFit}]}",
        "score: {disabled: [{name: InterPodAffinity}, {name: TaintToleration}]}",
        "filter: {disabled: [{name: NodePorts}, {name: VolumeZone}]}",
        "reserve: {disabled: [{name: \"*\"}]}",
        "postFilter: {disabled: [{name: DynamicResources}]}",
    ];
    for section in sections {
        check(&good(&format!("profiles:\n- plugins:\n    {section}\n")));
    }
}

#[test]
fn fractions_of_requests_come_back_whatever_their_rounding() {
    let mut settings = defaults(&known());
    settings.profiles.truncate(1);
    for milli in (1..9_000).step_by(7).chain([999_999_999_999, 123_456_789, -1, -1_001]) {
        settings.client_connection.qps_milli = milli;
        check(&settings);
    }
}

/// The plugins there are; one that is no default is built.
fn table() -> Vec<PluginInfo> {
    let mut known = known();
    known.last_mut().expect("not empty").is_built = true;
    known
}

/// A section: what is disabled and enabled, by numbers that choose among what there is.
type Numbers = (Vec<usize>, Vec<(usize, i64)>);

fn numbers() -> impl Strategy<Value = Numbers> {
    let disabled = prop::collection::vec(0..40_usize, 0..3);
    (disabled, prop::collection::vec((0..40_usize, 0..6_i64), 0..4))
}

fn section(numbers: &Numbers, point: Option<Point>) -> Value {
    let table = table();
    let is_possible =
        |info: &&PluginInfo| info.is_built && point.is_none_or(|point| info.points.has(point));
    let possible: Vec<_> = table.iter().filter(is_possible).collect();
    let enabled: BTreeMap<_, _> =
        numbers.1.iter().map(|(at, weight)| (at % possible.len(), weight)).collect();
    let enabled = enabled.iter().map(|(at, weight)| (possible[*at].name, weight));
    let enabled = enabled.map(|(name, weight)| json!({"name": name, "weight": weight}));
    // All of them at times, and never what every profile must have.
    let name = |at: usize| table.get(at).map_or("ImageLocality", |info| info.name);
    let names = numbers.0.iter().map(|at| if *at == 39 { "*" } else { name(*at) });
    let names = names.filter(|name| !["PrioritySort", "DefaultBinder"].contains(name));
    let disabled = names.map(|name| json!({"name": name}));
    // Sorted by position above; turned around, order matters.
    let enabled: Vec<_> = enabled.rev().collect();
    json!({"enabled": enabled, "disabled": disabled.collect::<Vec<_>>()})
}

proptest! {
    #[test]
    fn plugins_come_back(
        multi in numbers(),
        score in numbers(),
        filter in numbers(),
        reserve in numbers(),
    ) {
        let mut plugins = json!({
            "multiPoint": section(&multi, None),
            "score": section(&score, Some(Point::Score)),
            "preFilter": section(&filter, Some(Point::PreFilter)),
            "filter": section(&filter, Some(Point::Filter)),
        });
        if !reserve.0.is_empty() {
            plugins["reserve"] = json!({"disabled": [{"name": "*"}]});
        }
        let json = json!({
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"plugins": plugins}],
        });
        let settings = from_json(&json, &table());
        prop_assume!(settings.is_ok());
        check_with(&settings.expect("just checked"), &table());
    }
}
