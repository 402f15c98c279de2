//! What is said beyond the reasons about a pod that fits nowhere.

use framework::{Point, ProfileSettings};
use kubenexus_engine::Options;
use model::Decision;
use testkit::{Script, check, check_with, default_profile};

/// The default profile without a plugin at some points.
fn without(plugin: &str, points: &[Point]) -> ProfileSettings {
    let mut profile = default_profile();
    for (_, choices) in profile.points.iter_mut().filter(|(point, _)| points.contains(point)) {
        choices.retain(|choice| choice.name != plugin);
    }
    profile
}

#[test]
fn nobody_on_a_node_is_less_important() {
    check(
        "
        node a cpu=1
        node b cpu=9
        node c closed
        pod q on=b cpu=8
        pod p cpu=2
        step in full
        > p waits: 0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu. \
        preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, \
        2 Preemption is not helpful for scheduling.
        ",
    );
}

#[test]
fn where_room_is_of_no_use_it_does_not_matter_who_is_there() {
    check(
        "
        node a cpu=1
        pod q on=a priority=-5
        pod p cpu=2
        step in full
        > p waits: 0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are \
        available: 1 Preemption is not helpful for scheduling.
        ",
    );
}

#[test]
fn it_counts_who_is_on_a_node_as_things_are() {
    check(
        "
        node a cpu=2
        pod q on=a cpu=1 priority=4
        pod p cpu=2 priority=5 polite
        pod same cpu=2 priority=4
        step in full
        > p waits: 0/1 nodes are available: 1 Insufficient cpu. \
        preemption: not eligible due to preemptionPolicy=Never.
        > same waits: 0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are \
        available: 1 No preemption victims found for incoming pod.
        # It counts who is on a node: also pods that were sent there, and not those that left.
        gone pod q
        pod little cpu=1 priority=1
        pod little2 cpu=1 priority=1
        step in full
        > little -> a
        > little2 -> a
        pod mid cpu=1 priority=2
        step in full
        > mid on a: evicts little2
        > mid waits: 0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential \
        placement for pod on node a, preempting 1 victims
        refuse little
        gone pod little2
        pod q on=a cpu=2 priority=2
        pod mid cpu=2 priority=2
        step in full
        > mid waits: 0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are \
        available: 1 No preemption victims found for incoming pod.
        pod q on=a cpu=2 priority=1
        pod mid cpu=1 priority=2
        step in full
        > mid on a: evicts q
        > mid waits: 0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential \
        placement for pod on node a, preempting 1 victims
        ",
    );
}

#[test]
fn a_pod_can_ask_not_to_have_others_evicted() {
    check(
        "
        node a cpu=2
        pod q on=a cpu=1
        pod p cpu=2 priority=5 polite
        step in full
        > p waits: 0/1 nodes are available: 1 Insufficient cpu. \
        preemption: not eligible due to preemptionPolicy=Never.
        ",
    );
}

#[test]
fn without_nodes_nothing_is_tried() {
    check(
        "
        pod p priority=5
        pod q require=@metadata.name:in:a&@metadata.name:in:b
        pod r need=claims
        step in full
        > p waits: no nodes available to schedule pods
        > q waits: no nodes available to schedule pods
        > r waits: no nodes available to schedule pods
        ",
    );
}

/// Refused by NodeAffinity, which is asked before the plugin that looks at claims.
const CONFLICT: &str = "pod p require=@metadata.name:in:a&@metadata.name:in:b";

#[test]
fn a_pod_refused_outright_is_told_so_as_kube_scheduler_does() {
    let said = "> p waits: 0/1 nodes are available: pod affinity terms conflict.";
    let script = |rest: &str| format!("node a\n{CONFLICT}\nstep in full\n{said}{rest}");
    let helpless = " preemption: 0/1 nodes are available: 1 Preemption is not helpful for \
                    scheduling.";
    let claims = |points: &[Point]| without("DynamicResources", points);
    check(&script(" not found"));
    check_with(&[claims(&[Point::PostFilter])], &script(helpless));
    check_with(&[claims(&[Point::PreFilter])], &script(" not found"));
    check_with(&[without("DefaultPreemption", &[Point::PostFilter])], &script(" not found"));
    let mut first = default_profile();
    for (_, choices) in first.points.iter_mut().filter(|(point, _)| *point == Point::PreFilter) {
        choices.sort_by_key(|choice| choice.name != "DynamicResources");
    }
    check_with(&[first], &script(helpless));
}

#[test]
fn a_profile_without_preemption_says_nothing_of_it() {
    check_with(
        &[without("DefaultPreemption", &[Point::PostFilter])],
        "
        node a cpu=1
        pod p cpu=2
        step in full
        > p waits: 0/1 nodes are available: 1 Insufficient cpu.
        ",
    );
}

#[test]
fn what_is_not_built_is_not_mixed_with_what_kube_scheduler_would_do() {
    check(
        "
        node a
        pod p need=claims
        step in full
        > p waits: 0/1 nodes are available: resource claims (DRA) are not supported yet.
        ",
    );
}

#[test]
fn a_proposal_ends_as_it_does_with_kube_scheduler() {
    let check = |profile: ProfileSettings, nodes: &str, pod: &str, expected: bool| {
        let mut run = Script::new(&[profile], Options::default());
        run.command(nodes);
        run.command(pod);
        let mut decisions = Vec::new();
        run.scheduler.step(run.now, 1, &mut decisions);
        let Some(Decision::Wait(waiting)) = decisions.pop() else { panic!("{pod} does not wait") };
        assert_eq!(waiting.diagnosis.ends_nomination(), expected, "{pod}");
    };
    let nothing = "gone pod p";
    let plain = "pod p cpu=9";
    check(default_profile(), nothing, plain, true);
    check(default_profile(), "node a", plain, true);
    check(default_profile(), "node a", "pod p cpu=9 polite", false);
    check(default_profile(), "node a", CONFLICT, false);
    check(default_profile(), "node a", "pod p prefer=5:zone:what:x", true);
    check(without("DefaultPreemption", &[Point::PostFilter]), "node a", plain, false);
    let mut none = default_profile();
    none.points.retain(|(point, _)| *point != Point::PostFilter);
    check(none, "node a", plain, true);
}
