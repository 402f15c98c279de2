//! What cases about volumes met, and what a run of them has to meet.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The plugins that look at volumes.
const PLUGINS: [&str; 4] =
    ["VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"];

/// So many cases meet everything in [`EXPECTED`]; fewer need not.
const ENOUGH: u64 = 1_500;

/// Every reason of these plugins, and every outcome that depends on them. Names are left out.
const EXPECTED: [&str; 40] = [
    "VolumeRestrictions: node(s) had no available disk",
    "VolumeRestrictions: node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod \
     access mode already in-use by another pod",
    "VolumeRestrictions: persistentvolumeclaim _ not found",
    "NodeVolumeLimits: node(s) exceed max volume count",
    "NodeVolumeLimits: _ CSI driver is not installed on the node",
    "NodeVolumeLimits: looking up PVC _",
    "NodeVolumeLimits: error: PersistentVolumeClaim had no name",
    "NodeVolumeLimits: error: PVC _ was not created for pod _ (pod is not owner)",
    "NodeVolumeLimits: error: converting _ from inline to csi",
    "VolumeBinding: persistentvolumeclaim _ not found",
    "VolumeBinding: persistentvolumeclaim _ bound to non-existent persistentvolume _",
    "VolumeBinding: persistentvolumeclaim _ is being deleted",
    "VolumeBinding: PVC _ was not created for pod _ (pod is not owner)",
    "VolumeBinding: waiting for ephemeral volume controller to create the persistentvolumeclaim _",
    "VolumeBinding: pod has unbound immediate PersistentVolumeClaims",
    "VolumeBinding: node(s) didn't match PersistentVolume's node affinity",
    "VolumeBinding: node(s) didn't find available persistent volumes to bind",
    "VolumeBinding: node(s) did not have enough free storage",
    "VolumeBinding: node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
    "VolumeBinding: error: VolumeBindingMode not set for StorageClass _",
    "VolumeBinding: error: could not translate pv",
    "VolumeBinding: error: error creating internal label selector for claim",
    "VolumeZone: node(s) had no available volume zone",
    "VolumeZone: PersistentVolumeClaim had no name",
    "VolumeZone: PersistentVolumeClaim had no pv name and storageClass name",
    "VolumeZone: PersistentVolume had no name",
    "VolumeZone: VolumeBindingMode not set for StorageClass _",
    "VolumeZone: persistentvolumeclaim _ not found",
    "VolumeZone: persistentvolume _ not found",
    "VolumeZone: storageclass.storage.k8s.io _ not found",
    "only VolumeRestrictions leaves some nodes and not others",
    "only NodeVolumeLimits leaves some nodes and not others",
    "only VolumeBinding leaves some nodes and not others",
    "only VolumeZone leaves some nodes and not others",
    "VolumeBinding scores nodes differently",
    "two reasons of VolumeBinding for one node",
    "evicting helps against VolumeRestrictions",
    "evicting helps against NodeVolumeLimits",
    "evicting does not help against VolumeRestrictions",
    "evicting does not help against NodeVolumeLimits",
];

/// Counts over the verdicts on cases about volumes.
#[derive(Debug, Default)]
pub(super) struct Volumes {
    cases: u64,
    met: BTreeMap<String, u64>,
}

impl Volumes {
    /// Counts a verdict if its case is about volumes.
    pub(super) fn add(&mut self, case: &Value, verdict: &Value) {
        if !case["id"].as_str().is_some_and(|id| id.starts_with("volumes-")) {
            return;
        }
        self.cases += 1;
        let mut met = facts(&verdict["prefilter"]);
        let nodes = || verdict["nodes"].as_object().into_iter().flatten();
        for (_, node) in nodes() {
            met.extend(facts(node));
            let reasons = node["reasons"].as_array().map_or(0, Vec::len);
            if node["plugin"] == "VolumeBinding" && reasons > 1 {
                met.insert("two reasons of VolumeBinding for one node".to_owned());
            }
        }
        let fits: Vec<&Value> =
            nodes().map(|(_, node)| node).filter(|node| node["feasible"] == true).collect();
        let against: BTreeSet<&str> =
            nodes().filter_map(|(_, node)| node["plugin"].as_str()).collect();
        let only = against.first().filter(|plugin| against.len() == 1 && PLUGINS.contains(plugin));
        if let Some(plugin) = only.filter(|_| !fits.is_empty()) {
            met.insert(format!("only {plugin} leaves some nodes and not others"));
        }
        let scores: BTreeSet<i64> =
            fits.iter().map(|node| node["scores"]["VolumeBinding"].as_i64().unwrap_or(0)).collect();
        if scores.len() > 1 {
            met.insert("VolumeBinding scores nodes differently".to_owned());
        }
        met.extend(evictions(verdict, fits.is_empty()));
        super::count(&mut self.met, met);
    }

    /// Adds what another part of the run counted.
    pub(super) fn merge(&mut self, other: Volumes) {
        self.cases += other.cases;
        for (fact, cases) in other.met {
            *self.met.entry(fact).or_default() += cases;
        }
    }

    /// What a run of that many cases should have met and did not.
    pub(super) fn missing(&self) -> Vec<&'static str> {
        let is_missing = |fact: &&str| !self.met.contains_key(*fact);
        let expected = if self.cases < ENOUGH { &[] } else { &EXPECTED[..] };
        expected.iter().copied().filter(is_missing).collect()
    }

    /// How many cases there were, and how many met what.
    pub(super) fn counts(&self) -> (u64, &BTreeMap<String, u64>) {
        (self.cases, &self.met)
    }
}

/// The reasons of a rejection by a plugin that looks at volumes.
pub(super) fn facts(rejection: &Value) -> BTreeSet<String> {
    let plugin = rejection["plugin"].as_str().unwrap_or_default();
    if !PLUGINS.contains(&plugin) {
        return BTreeSet::new();
    }
    let mark = if rejection["code"] == "Error" { "error: " } else { "" };
    let reasons = rejection["reasons"].as_array().into_iter().flatten();
    reasons
        .filter_map(Value::as_str)
        .map(|reason| format!("{plugin}: {mark}{}", nameless(reason)))
        .collect()
}

/// Whether evicting others helps where one of these plugins turns the pod away from every node.
fn evictions(verdict: &Value, is_nowhere: bool) -> BTreeSet<String> {
    let candidates = &verdict["preemption"]["candidates"];
    let mut met = BTreeSet::new();
    for (name, node) in verdict["nodes"].as_object().into_iter().flatten() {
        let plugin = node["plugin"].as_str().unwrap_or_default();
        if !is_nowhere || node["code"] != "Unschedulable" || !PLUGINS.contains(&plugin) {
            continue;
        }
        let helps = if candidates.get(name).is_some() { "helps" } else { "does not help" };
        met.insert(format!("evicting {helps} against {plugin}"));
    }
    met
}

/// A reason without the names in it, and without what follows a colon.
fn nameless(reason: &str) -> String {
    let reason = reason.strip_prefix("running ").map_or(reason, |rest| {
        // The framework says who failed, and then how.
        rest.split_once(": ").map_or(rest, |(_, how)| how)
    });
    let start = reason.split(": ").next().unwrap_or(reason);
    let mut words: Vec<&str> = Vec::new();
    for word in start.split(' ') {
        let is_name = word.starts_with('"') || word.contains('/') || word.starts_with("volume(");
        words.push(if is_name { "_" } else { word });
    }
    let text = words.join(" ");
    match text.split_once(" CSI driver is not installed") {
        Some((_, rest)) => format!("_ CSI driver is not installed{rest}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ENOUGH, EXPECTED, Volumes, nameless};

    fn volumes(verdict: &Value) -> Volumes {
        let mut volumes = Volumes::default();
        volumes.add(&json!({"id": "volumes-1-2"}), verdict);
        volumes.add(&json!({"id": "1-2"}), verdict);
        volumes
    }

    #[test]
    fn names_are_left_out() {
        for (reason, text) in [
            ("persistentvolumeclaim \"c0\" not found", "persistentvolumeclaim _ not found"),
            ("a.b CSI driver is not installed on the node", EXPECTED[4].split_at(18).1),
            (
                "running \"X\" filter plugin: could not translate pv: kind(A)",
                "could not translate pv",
            ),
            ("looking up PVC a/b: persistentvolumeclaim \"b\" not found", "looking up PVC _"),
        ] {
            assert_eq!(nameless(reason), text);
        }
    }

    #[test]
    fn outcomes_are_counted_once_a_case() {
        let no = json!({
            "feasible": false, "plugin": "VolumeZone", "code": "UnschedulableAndUnresolvable",
            "reasons": ["node(s) had no available volume zone"],
        });
        let yes = |score: u64| json!({"feasible": true, "scores": {"VolumeBinding": score}});
        let nodes = json!({"a": no, "b": no, "c": yes(3), "d": yes(4)});
        let volumes = volumes(&json!({"prefilter": null, "nodes": nodes}));
        let met: Vec<(&str, u64)> = volumes.met.iter().map(|(k, v)| (k.as_str(), *v)).collect();
        assert_eq!(
            met,
            [
                ("VolumeBinding scores nodes differently", 1),
                ("VolumeZone: node(s) had no available volume zone", 1),
                ("only VolumeZone leaves some nodes and not others", 1),
            ]
        );
    }

    #[test]
    fn evictions_that_help_and_that_do_not_are_told_apart() {
        let no = json!({
            "feasible": false, "plugin": "NodeVolumeLimits", "code": "Unschedulable",
            "reasons": ["node(s) exceed max volume count"],
        });
        let preemption = json!({"candidates": {"a": {}}});
        let volumes = volumes(&json!({"nodes": {"a": no, "b": no}, "preemption": preemption}));
        assert!(volumes.met.contains_key("evicting helps against NodeVolumeLimits"));
        assert!(volumes.met.contains_key("evicting does not help against NodeVolumeLimits"));
    }

    #[test]
    fn a_long_run_has_to_meet_everything() {
        let mut all = volumes(&json!({"nodes": {}}));
        assert_eq!(all.missing(), Vec::<&str>::new());
        all.cases = ENOUGH;
        assert_eq!(all.missing().len(), EXPECTED.len());
        all.met = EXPECTED[1..].iter().map(|fact| ((*fact).to_owned(), 1)).collect();
        assert_eq!(all.missing(), [EXPECTED[0]]);
    }
}
