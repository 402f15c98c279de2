//! What users name is kept for as long as something that is there names it, and no longer.

use kubenexus_engine::Options;
use model::{Millis, Sizes};
use proptest::collection::vec;
use proptest::prelude::*;
use testkit::{Script, default_profile, draw, own_profile};

use crate::cold_path::{act, config, patient, profiles};

fn sizes(run: &Script) -> Sizes {
    run.scheduler.catalog().sizes()
}

/// Takes away all pods and nodes.
fn clear(run: &mut Script) {
    run.command("relist pods");
    run.command("relist nodes");
    // Which nodes with GPUs are near each other is known until they are counted again, for a pod.
    run.now = run.now + Millis::seconds(120);
    run.command("pod last gpu=1");
    run.command("step");
    run.command("gone pod last");
    // Names of resources stay until the next event, for those who read decisions.
    run.command("keep nobody");
}

#[test]
fn a_topology_key_is_kept_while_a_pod_speaks_of_it() {
    let mut run = Script::new(&[default_profile()], Options::default());
    for at in 0..50 {
        run.command(&format!("node n{at} zone=z{at}"));
    }
    let before = sizes(&run);
    for at in 0..200 {
        let key = format!("key-{at}");
        // Of another scheduler, on a node, or waiting: users write all of them.
        let more = ["on=n1 scheduler=other", "on=n2", ""][at % 3];
        let app = "app:a";
        let rules = format!("spread={key},1,{app} near={key},{app} far={key},{app}");
        run.command(&format!("pod p{at} label={app} {rules} like=3,{key},{app} {more}"));
    }
    let during = sizes(&run);
    assert_eq!(during.keys, before.keys + 200);
    assert_eq!(during.key_places, before.key_places, "no node has one of these labels");
    run.command("step");
    run.command("pod p0 label=app:a spread=zone,1,app:a on=n1 scheduler=other");
    assert_eq!(sizes(&run).keys, before.keys + 200);
    assert_eq!(sizes(&run).key_places, before.key_places + 50);
    run.command("node n49");
    run.command("node n48 zone=z0");
    run.command("relist pods");
    run.command("node n48 zone=z48");
    run.command("node n49 zone=z49");
    assert_eq!(sizes(&run), before);
}

#[test]
fn names_that_pods_write_go_with_the_last_pod() {
    let mut run = Script::new(&[default_profile()], Options::default());
    run.command("node a zone=x gpu=2 image=red@1Gi");
    let before = sizes(&run);
    for at in 0..40 {
        let words = [
            format!("example.com/r{at}=1 image=i{at} select=k{at}:v{at} target=t{at}"),
            format!("require=k{at}:in:v{at},w{at}|k{at}:exists prefer=5:p{at}:in:v{at}"),
            // What makes no sense is held and given up as well.
            format!("require=k{at}:exists&-bad{at}-:in:v{at} prefer=5:k{at}:what:x{at}"),
            format!("tolerate=t{at}=v{at}:NoSchedule port=80@10.0.0.{at}"),
            format!("nominated=n{at}"),
            format!("on=gone{at} image=i{at} namespace=ns{at}"),
        ];
        for (kind, words) in words.iter().enumerate() {
            run.command(&format!("pod p{at}-{kind} {words}"));
        }
        run.command(&format!("judge p{at} example.com/judged{at}=1 namespace=judged{at}"));
    }
    run.command("step");
    for at in 0..40 {
        // Nominated elsewhere, by the API and by nobody.
        run.command(&format!("pod p{at}-4 nominated=other{at}"));
        run.command(&format!("pod p{at}-0 example.com/other{at}=1"));
    }
    assert!(sizes(&run).symbols > before.symbols + 200 && sizes(&run).resources > 40);
    run.command("relist pods");
    run.command("keep nobody");
    assert_eq!(sizes(&run), before);
}

#[test]
fn names_that_nodes_have_go_with_the_last_node() {
    let mut run = Script::new(&[default_profile()], Options::default());
    run.command("node a zone=x gpu=2 image=red@1Gi");
    let before = sizes(&run);
    for at in 0..100 {
        run.command(&format!(
            "node n label{at}=value{at} taint=t{at}=v{at}:NoSchedule example.com/r{at}=1 \
             image=i{at}@1Gi image=i{at}@2Gi image=red@1Gi"
        ));
        // A sign of life holds nothing twice.
        run.command(&format!(
            "node n label{at}=value{at} taint=t{at}=v{at}:NoSchedule example.com/r{at}=1 \
             image=i{at}@1Gi image=i{at}@2Gi image=red@1Gi"
        ));
    }
    run.command("keep nobody");
    let during = sizes(&run);
    assert_eq!((during.images, during.resources), (before.images + 1, before.resources + 1));
    run.command("gone node n");
    run.command("keep nobody");
    assert_eq!(sizes(&run), before);
}

#[test]
fn namespaces_without_pods_on_nodes_have_no_share() {
    let mut run = Script::new(&[own_profile()], Options::default());
    run.command("node a");
    for at in 0..50 {
        run.command(&format!("pod p{at} namespace=ns{at} on=a"));
    }
    assert_eq!(sizes(&run).tenants, 50);
    for at in 1..50 {
        run.command(&format!("gone pod p{at}"));
    }
    assert_eq!(sizes(&run).tenants, 1);
    // Where nobody takes turns, nobody's share is kept.
    let mut run = Script::new(&[default_profile()], Options::default());
    run.command("node a");
    run.command("pod p on=a");
    assert_eq!(sizes(&run).tenants, 0);
}

proptest! {
    #![proptest_config(config(48))]

    #[test]
    fn nothing_is_left_of_any_story_when_all_is_gone(
        profile in 0usize..6,
        nodes in vec(any::<u64>(), 1..12),
        events in vec(any::<u64>(), 60..80),
    ) {
        let mut run = patient(&profiles()[profile]);
        let before = sizes(&run);
        let start = nodes.iter().enumerate().map(|(at, dice)| draw::node(at, *dice));
        let events = events.iter().map(|dice| draw::event(nodes.len(), 30, *dice));
        for line in start.chain(events) {
            act(&mut run, &line);
            run.now = run.now + Millis(700);
            run.command("step");
        }
        let mut resumed = run
            .resumed(run.scheduler.checkpoint(), &[profiles()[profile].clone()], Options::default())
            .expect("a checkpoint of a scheduler");
        for run in [&mut run, &mut resumed] {
            clear(run);
        }
        // Keys of the configuration are as long as there ever were nodes.
        let left = |run: &Script| Sizes { key_places: before.key_places, ..sizes(run) };
        prop_assert_eq!(left(&run), before);
        // The other one has a name of its own from the start.
        prop_assert_eq!(left(&resumed), Sizes { resources: before.resources + 1, ..before });
    }
}
