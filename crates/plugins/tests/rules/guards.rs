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
        &[without("DynamicResources")],
        "
        node a
        pod p need=claims
        pod q need=claims need=volumes
        step
        > p -> a
        > q waits: 0/1 nodes are available: volumes that tie a pod to nodes (claims and disks) are \
         not supported yet.
        ",
    );
}
