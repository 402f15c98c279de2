//! Long random sequences of events: what the engine keeps must equal what asking anew would say.

use model::Millis;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use testkit::{Script, draw};

use crate::cold_path::{
    act, check_none_oversleeps, check_usage, config, forgetful, patient, profiles, step_judged,
};

/// How a sequence begins and goes on.
#[derive(Clone, Debug)]
pub(super) struct Story {
    profile: usize,
    lines: Vec<String>,
}

/// A cluster of some nodes, and events in it.
pub(super) fn story(nodes: impl Strategy<Value = usize>) -> impl Strategy<Value = Story> {
    let drawn = nodes.prop_flat_map(|count| {
        let line = any::<u64>().prop_map(move |dice| draw::event(count, 30, dice));
        // Events that can be left out, so that a failing story shrinks to the few that matter.
        (0usize..6, vec(any::<u64>(), count), vec(option::weighted(0.98, line), 70..100))
    });
    drawn.prop_map(|(profile, nodes, events)| {
        let nodes = nodes.iter().enumerate().map(|(at, dice)| draw::node(at, *dice));
        Story { profile, lines: nodes.chain(events.into_iter().flatten()).collect() }
    })
}

/// Every decision is one that the cold path would make, nobody sleeps while a node has room, and
/// what is taken is what the pods on nodes take.
pub(super) fn check(story: &Story, mut run: Script) {
    for (at, line) in story.lines.iter().enumerate() {
        act(&mut run, line);
        let is_settling = at % 3 == 2;
        run.now = run.now + if is_settling { Millis::seconds(11) } else { Millis(300) };
        step_judged(&mut run);
        check_usage(&run);
        if is_settling {
            check_none_oversleeps(&mut run);
        }
    }
}

proptest! {
    #![proptest_config(config(160))]

    #[test]
    fn small_clusters_keep_what_asking_anew_would_say(story in story(1usize..12)) {
        check(&story, patient(&profiles()[story.profile]));
    }

    #[test]
    fn what_was_given_up_is_worked_out_anew(story in story(1usize..12)) {
        check(&story, forgetful(&profiles()[story.profile]));
    }
}

proptest! {
    #![proptest_config(config(96))]

    /// With more nodes, boards are brought up to date node by node instead of as a whole.
    #[test]
    fn larger_clusters_keep_what_asking_anew_would_say(story in story(17usize..40)) {
        check(&story, patient(&profiles()[story.profile]));
    }
}

/// A board that is brought up to date looks at a node that was touched twice, and looks once.
#[test]
fn a_node_that_was_touched_twice_counts_once() {
    let mut run = patient(&profiles()[0]);
    (0..20).for_each(|at| _ = run.command(&format!("node n{at} disk=ssd")));
    for (at, cpu) in [1, 2, 3, 1, 2, 3].into_iter().enumerate() {
        // Taken off with its old amount and put on with its new one.
        run.command(&format!("pod q on=n5 cpu={cpu}"));
        run.command(&format!("pod p{at} cpu=1 prefer=9:disk:in:ssd"));
        assert_eq!(step_judged(&mut run).len(), 1);
        run.command(&format!("node n{at} disk=ssd zone=x"));
        run.command(&format!("node n{at} disk=hdd"));
    }
}

/// An image that spreads makes nodes better that did not change themselves.
#[test]
fn an_image_on_one_node_counts_for_others() {
    let mut run = patient(&profiles()[0]);
    for at in 0..20 {
        let image = match at {
            0..8 => "image=web@300Mi",
            8 => "image=db@2000Mi",
            _ => "",
        };
        run.command(&format!("node n{at} {image}"));
    }
    run.command("pod p0 image=web image=db");
    assert_ne!(sent(&mut run, "p0").as_deref(), Some("n8"));
    run.command("node n9 image=db@2000Mi closed");
    run.command("pod p1 image=web image=db");
    assert_eq!(sent(&mut run, "p1").as_deref(), Some("n8"));
}

/// Steps once; tells where the pod went.
fn sent(run: &mut Script, uid: &str) -> Option<String> {
    assert_eq!(step_judged(run).len(), 1);
    run.assumed(uid).map(|(node, _)| node)
}

#[test]
fn a_new_node_counts_at_once() {
    let mut run = patient(&profiles()[0]);
    (0..20).for_each(|at| _ = run.command(&format!("node n{at} taint=old:PreferNoSchedule")));
    run.command("pod p0 cpu=1");
    assert!(sent(&mut run, "p0").is_some());
    run.command("node new");
    run.command("pod p1 cpu=1");
    assert_eq!(sent(&mut run, "p1").as_deref(), Some("new"));
    run.command("gone node new");
    run.command("pod p2 cpu=1");
    assert_ne!(sent(&mut run, "p2").as_deref(), Some("new"));
}

/// What was hardly preferred is the most preferred once the better node lost its label.
#[test]
fn the_highest_score_goes_with_its_node() {
    let mut run = patient(&profiles()[0]);
    (0..20).for_each(|at| _ = run.command(&format!("node n{at}")));
    run.command("node n0 zone=x");
    run.command("node n1 zone=y");
    run.command("pod q on=n1 cpu=3 memory=6Gi");
    run.command("pod p0 cpu=100m prefer=10:zone:in:x prefer=3:zone:in:y");
    assert_eq!(sent(&mut run, "p0").as_deref(), Some("n0"));
    run.command("node n0");
    run.command("pod p1 cpu=100m prefer=10:zone:in:x prefer=3:zone:in:y");
    assert_eq!(sent(&mut run, "p1").as_deref(), Some("n1"));
}

/// The same where the better node is there, and a rule about other pods keeps the pod off it.
#[test]
fn the_highest_score_goes_with_a_node_that_others_are_on() {
    let mut run = patient(&profiles()[0]);
    (0..20).for_each(|at| _ = run.command(&format!("node n{at}")));
    run.command("node n0 zone=x");
    run.command("node n1 zone=y");
    run.command("pod q on=n1 cpu=3 memory=6Gi");
    run.command("pod w on=n0 label=app:web");
    run.command("pod p cpu=100m far=zone,app:web prefer=10:zone:in:x prefer=3:zone:in:y");
    assert_eq!(sent(&mut run, "p").as_deref(), Some("n1"));
}

#[test]
fn a_pod_that_is_kept_off_all_good_nodes_gets_the_best_of_the_others() {
    let mut run = patient(&profiles()[0]);
    (0..60).for_each(|at| _ = run.command(&format!("node n{at} zone=x")));
    (60..80).for_each(|at| _ = run.command(&format!("node n{at} zone=y cpu=1 memory=1Gi")));
    (60..80).for_each(|at| _ = run.command(&format!("pod q{at} on=n{at} cpu=500m memory=512Mi")));
    run.command("gone pod q77");
    run.command("pod w on=n0 label=app:web");
    run.command("pod p cpu=100m memory=100Mi far=zone,app:web");
    assert_eq!(sent(&mut run, "p").as_deref(), Some("n77"));
}
