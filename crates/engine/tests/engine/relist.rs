//! A list of all there is: what is not in it is gone, as if it had been deleted.

use model::{Millis, NodeId, PodId};
use proptest::collection::vec;
use proptest::prelude::*;
use testkit::{Script, check, draw};

use crate::cold_path::{act, check_usage, config, patient, profiles};

#[test]
fn nodes_that_are_not_listed_are_gone() {
    check(
        "
        node a cpu=1
        node b cpu=1
        pod p cpu=1 on=a
        relist nodes b
        pod q cpu=1
        step
        > q -> b
        # The pod still names its node.
        node a cpu=1
        load a
        > 1 pods, 1000m cpu, 0 memory
        ",
    );
}

#[test]
fn pods_that_are_not_listed_are_gone_and_make_room() {
    check(
        "
        node a cpu=2
        pod p cpu=1 on=a
        pod q cpu=1 on=a
        pod r cpu=1
        pod s cpu=1 gate=quota
        step
        > r waits: 0/1 nodes are available: 1 Insufficient cpu.
        relist pods q r
        load a
        > 1 pods, 1000m cpu, 0 memory
        queue
        > 1 backoff
        after 1s
        step
        > r -> a
        ",
    );
}

#[test]
fn an_assumed_pod_that_is_not_listed_is_gone() {
    check(
        "
        node a cpu=1
        pod p cpu=1
        step
        > p -> a
        relist pods p
        load a
        > 1 pods, 1000m cpu, 0 memory
        relist pods
        load a
        > 0 pods, 0m cpu, 0 memory
        refuse p 1
        queue
        > empty
        ",
    );
}

/// Everything that can be seen from outside, and what a step decides.
fn seen(run: &mut Script) -> Vec<String> {
    let mut lines = run.command("queue");
    let catalog = run.scheduler.catalog();
    let load = |node| format!("{node:?} {:?}", run.scheduler.usage().load(node));
    lines.extend((0..catalog.node_places()).map(NodeId::at).map(load));
    lines.push(format!("{:?}", catalog.nodes()));
    lines.extend(catalog.pods().map(|pod| format!("{pod:?} {:?}", catalog.pod(pod))));
    run.now = run.now + Millis::seconds(11);
    lines.extend(run.command("step"));
    lines
}

proptest! {
    #![proptest_config(config(96))]

    #[test]
    fn a_list_equals_the_deletes_one_by_one(
        nodes in vec(any::<u64>(), 1..12),
        events in vec(any::<u64>(), 40..60),
        after in vec(any::<u64>(), 10),
        kept in vec(any::<bool>(), 42),
    ) {
        let story = |run: &mut Script| {
            for (at, dice) in nodes.iter().enumerate() {
                act(run, &draw::node(at, *dice));
            }
            for dice in &events {
                act(run, &draw::event(nodes.len(), 30, *dice));
                run.now = run.now + Millis(300);
                run.command("step");
            }
        };
        let (mut listed, mut deleted) = (patient(&profiles()[0]), patient(&profiles()[0]));
        story(&mut listed);
        story(&mut deleted);
        let catalog = deleted.scheduler.catalog();
        let is_kept = |name: &str| {
            kept[name[1..].parse::<usize>().expect("names are a letter and a number")]
        };
        let name = |node: &NodeId| catalog.node_name(*node).to_owned();
        let uid = |pod: PodId| catalog.pod(pod).key.uid.to_string();
        let nodes_then: Vec<_> = catalog.nodes().iter().map(name).collect();
        let pods_then: Vec<_> = catalog.pods().map(uid).collect();
        for (kind, names) in [("node", nodes_then), ("pod", pods_then)] {
            let (there, gone): (Vec<_>, Vec<_>) = names.into_iter().partition(|n| is_kept(n));
            listed.command(&format!("relist {kind}s {}", there.join(" ")));
            gone.iter().for_each(|name| _ = deleted.command(&format!("gone {kind} {name}")));
        }
        for dice in after {
            check_usage(&listed);
            prop_assert_eq!(seen(&mut listed), seen(&mut deleted));
            let line = draw::event(nodes.len(), 30, dice);
            act(&mut listed, &line);
            act(&mut deleted, &line);
        }
    }
}
