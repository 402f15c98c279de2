//! What is worth saying about files that are valid.

use std::collections::BTreeSet;

use framework::{Args, PreemptionArgs};
use serde_json::Value;

use super::{HEAD, good, known};
use crate::config::{Notes, Problem, defaults, review, write};
use crate::document::Node;

const OUR_FILE: &str = include_str!("../../../../../config/config.yaml");

fn notes(body: &str) -> Notes {
    let text = format!("{HEAD}profiles: [{{schedulerName: mine, plugins: {body}}}]\n");
    review(&text, &known()).unwrap_or_else(|error| panic!("{error}\n{body}")).1
}

/// `line path` of each.
fn places(problems: &[Problem]) -> Vec<String> {
    let place = |each: &Problem| format!("{} {}", each.line.expect("a line"), each.path);
    problems.iter().map(place).collect()
}

#[test]
fn a_weight_of_zero_is_warned_of_where_it_would_count() {
    let at_score = notes("{score: {enabled: [{name: ImageLocality, weight: 0}]}}");
    assert_eq!(
        places(&at_score.warnings),
        ["3 profiles[0].plugins.score.enabled[0].weight"],
        "{at_score:?}"
    );
    assert!(at_score.warnings[0].message.starts_with("a weight of 0 reads as 1"));
    let everywhere = notes("{multiPoint: {enabled: [{name: NodeAffinity, weight: 0}]}}");
    assert_eq!(everywhere.warnings.len(), 1);
    let silent = [
        "{score: {enabled: [{name: ImageLocality}]}}",
        "{score: {enabled: [{name: ImageLocality, weight: 1}]}}",
        "{filter: {enabled: [{name: NodeAffinity, weight: 0}]}}",
        "{multiPoint: {enabled: [{name: NodeName, weight: 0}]}}",
        "{multiPoint: {enabled: [{name: VolumeBinding, weight: 0}]}}",
        "{score: {disabled: [{name: ImageLocality, weight: 0}]}}",
    ];
    for body in silent {
        assert_eq!(notes(body), Notes::default(), "{body}");
    }
}

#[test]
fn a_file_without_profiles_is_warned_of() {
    for body in ["", "profiles: []\n"] {
        let (_, notes) = review(&format!("{HEAD}{body}"), &known()).expect("valid");
        assert!(notes.warnings[0].message.contains("default-scheduler"), "{notes:?}");
    }
    let (_, notes) = review(&format!("{HEAD}profiles: [{{}}]\n"), &known()).expect("valid");
    assert_eq!(notes, Notes::default());
}

#[test]
fn what_has_no_effect_is_noted_if_it_is_given() {
    let body = "parallelism: 4\nenableProfiling: false\nenableContentionProfiling: false\n\
                percentageOfNodesToScore: 0\n\
                clientConnection: {contentType: a, acceptContentTypes: b, qps: 4}\n\
                profiles:\n- schedulerName: mine\n  percentageOfNodesToScore: 3\n  pluginConfig:\n\
                \x20 - name: Coscheduling\n    args: {podGroupBackoffSeconds: 3}\n\
                \x20 - name: DefaultPreemption\n    args: {minCandidateNodesAbsolute: 7}\n\
                \x20 - name: VolumeBinding\n    args: {bindTimeoutSeconds: 600}\n\
                \x20 - name: DynamicResources\n    args: {filterTimeout: 10s}\n";
    let (settings, notes) = review(&format!("{HEAD}{body}"), &known()).expect("valid");
    let expected = [
        "3 parallelism",
        "4 enableProfiling",
        "5 enableContentionProfiling",
        "6 percentageOfNodesToScore",
        "7 clientConnection.contentType",
        "7 clientConnection.acceptContentTypes",
        "10 profiles[0].percentageOfNodesToScore",
        "13 profiles[0].pluginConfig[Coscheduling].args.podGroupBackoffSeconds",
        "15 profiles[0].pluginConfig[DefaultPreemption].args.minCandidateNodesAbsolute",
        "19 profiles[0].pluginConfig[DynamicResources].args.filterTimeout",
    ];
    assert_eq!(places(&notes.without_effect), expected);
    assert_eq!(notes.warnings, []);
    let args = settings.profiles[0].args_of("DefaultPreemption");
    let expected = PreemptionArgs { candidates_percentage: 10, candidates_min: 7 };
    assert_eq!(args, Some(&Args::Preemption(expected)));
}

/// What `kube-scheduler --write-config-to` of Kubernetes 1.37.1 writes without any other setting.
const KUBE: &str = include_str!("kube-scheduler-1.37.1.yaml");

#[test]
fn what_kube_scheduler_writes_means_its_defaults() {
    let (settings, notes) = review(KUBE, &known()).unwrap_or_else(|error| panic!("{error}"));
    let mut expected = defaults(&known());
    expected.profiles.truncate(1);
    expected.leader_election.resource_name = "kube-scheduler".into();
    expected.percentage_of_nodes_to_score = Some(0);
    assert_eq!(settings, expected);
    assert_eq!(notes.warnings, []);
    let names = places(&notes.without_effect);
    let names: Vec<&str> =
        names.iter().map(|place| place.rsplit(['.', ' ']).next().expect("a name")).collect();
    let expected = [
        "acceptContentTypes",
        "contentType",
        "enableContentionProfiling",
        "enableProfiling",
        "parallelism",
        "percentageOfNodesToScore",
        "minCandidateNodesAbsolute",
        "minCandidateNodesPercentage",
        "bindingTimeout",
        "filterTimeout",
    ];
    assert_eq!(names, expected);
}

/// All keys of a value at any depth, without those of selectors.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.keys().cloned());
            let inner = fields.iter().filter(|(key, _)| *key != "namespaceSelector");
            inner.for_each(|(_, value)| keys(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn our_file_has_every_field_and_every_plugin_that_runs() {
    let mut settings = defaults(&known());
    settings.profiles.remove(0);
    settings.percentage_of_nodes_to_score = Some(5);
    let mut expected = BTreeSet::new();
    keys(&write(&settings, &known()), &mut expected);
    // Fields that stand only where lists are not empty, and those of other strategies.
    let filled = format!(
        "{}  - name: NodeResourcesFit\n    args: {{scoringStrategy: {{type: \
         RequestedToCapacityRatio, requestedToCapacityRatio: {{shape: [{{utilization: 1, score: \
         2}}]}}}}}}\n",
        super::gangs::ARGS
    );
    keys(&write(&good(&filled), &known()), &mut expected);
    keys(&Node::from_yaml(KUBE).expect("valid").to_json(), &mut expected);
    for key in expected {
        let is_named =
            [format!("{key}:"), format!("{key},")].iter().any(|it| OUR_FILE.contains(it));
        assert!(is_named, "{key}");
    }
    for choice in settings.profiles[0].points.iter().flat_map(|(_, choices)| choices) {
        assert!(OUR_FILE.contains(&format!("- name: {}", choice.name)), "{}", choice.name);
    }
    for info in known() {
        let star = format!("- name: {} # *", info.name);
        let is_named = OUR_FILE.contains(&format!("- name: {} ", info.name));
        assert_eq!(OUR_FILE.contains(&star), is_named && !info.is_built, "{}", info.name);
    }
}
