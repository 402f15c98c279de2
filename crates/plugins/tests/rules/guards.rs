//! Plugins that are not built yet refuse the pods that need them, where they are enabled.

use framework::ProfileSettings;
use testkit::{check, check_with, default_profile};

/// The default profile without a plugin.
fn without(plugin: &str) -> ProfileSettings {
    let mut profile = default_profile();
    profile.points.iter_mut().for_each(|(_, all)| all.retain(|choice| choice.name != plugin));
    profile
}

#[test]
fn every_need_is_refused_by_the_plugin_that_would_meet_it() {
    let table = [
        ("volumes", "VolumeRestrictions", "volumes that tie a pod to nodes (claims and disks) are"),
        ("claims", "DynamicResources", "resource claims (DRA) are"),
        ("affinity", "InterPodAffinity", "inter-pod affinity and anti-affinity are"),
        ("spread", "PodTopologySpread", "topology spread constraints are"),
    ];
    for (need, plugin, text) in table {
        check(&format!(
            "
            node a
            judge p need={need}
            > refused {plugin} UnschedulableAndUnresolvable: {text} not supported yet
            pod p need={need}
            step
            > p waits: 0/1 nodes are available: {text} not supported yet.
            load a
            > 0 pods, 0m cpu, 0 memory
            "
        ));
    }
}

#[test]
fn a_plugin_that_is_disabled_has_no_guard() {
    check_with(
        &[without("PodTopologySpread")],
        "
        node a
        pod p need=spread
        pod q need=spread need=claims
        step
        > p -> a
        > q waits: 0/1 nodes are available: resource claims (DRA) are not supported yet.
        ",
    );
}

#[test]
fn a_repelling_pod_keeps_its_namespace_away() {
    let why = "UnschedulableAndUnresolvable: a pod on a node has a required anti-affinity that \
               may keep this pod away, and inter-pod affinity is not supported yet";
    let score = "TaintToleration=300 NodeResourcesFit=97 ImageLocality=0";
    check_with(
        &[default_profile()],
        &format!(
            "
            node a
            judge p namespace=shy
            > a fits {score}
            pod q1 on=a cpu=0 namespace=shy repel=own
            pod q2 on=a namespace=shy repel=own
            judge p namespace=shy
            > refused InterPodAffinity {why}
            judge p namespace=other target=b
            > a NodeName UnschedulableAndUnresolvable: node(s) didn't satisfy plugin(s) [NodeName]
            gone pod q1
            judge p namespace=shy
            > refused InterPodAffinity {why}
            gone pod q2
            judge p namespace=shy
            > a fits {score}
            pod q on=a namespace=shy repel=any
            judge p namespace=other
            > refused InterPodAffinity {why}
            "
        ),
    );
    check_with(
        &[without("InterPodAffinity")],
        "
        node a
        pod q on=a repel=any
        pod p
        step
        > p -> a
        ",
    );
}
