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
fn a_need_is_refused_by_the_plugin_that_would_meet_it() {
    let text = "resource claims (DRA) are not supported yet";
    check(&format!(
        "
        node a
        judge p need=claims
        > refused DynamicResources UnschedulableAndUnresolvable: {text}
        pod p need=claims
        step
        > p waits: 0/1 nodes are available: {text}.
        load a
        > 0 pods, 0m cpu, 0 memory
        "
    ));
}

#[test]
fn a_plugin_that_is_disabled_has_no_guard() {
    check_with(
        &[without("DynamicResources")],
        "
        node a
        pod p need=claims
        pod q need=claims claim=data
        step
        > p -> a
        > q waits: 0/1 nodes are available: persistentvolumeclaim \"data\" not found.
        ",
    );
}
