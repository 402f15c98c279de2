//! Gangs in the network between nodes: how close their pods are, and in which order.

use std::fmt::Write;

use kubenexus_engine::Options;
use testkit::{Script, check_with, own_profile};

fn check(script: &str) {
    check_with(&[own_profile()], script);
}

/// Where pods go, by their names.
fn places(script: &mut Script) -> Vec<(String, String)> {
    let said = script.command("step");
    let places = said.iter().filter_map(|line| line.split_once(" -> "));
    let mut places: Vec<_> = places.map(|(pod, node)| (pod.to_owned(), node.to_owned())).collect();
    places.sort();
    places
}

const RACK: &str = "topology.kubernetes.io/rack";
const SPINE: &str = "topology.kubernetes.io/spine";

#[test]
fn a_gang_goes_where_one_rack_holds_it() {
    // Each of the others has a node that is better by itself: it is fuller.
    let mut script = Script::new(&[own_profile()], Options::default());
    for (rack, nodes) in [("r1", 3), ("r2", 4), ("r3", 3)] {
        for node in 0..nodes {
            script.command(&format!("node {rack}-{node} cpu=4 label={RACK}:{rack}"));
        }
    }
    for node in ["r1-0", "r3-0"] {
        script.command(&format!("pod on-{node} on={node} cpu=3"));
    }
    for pod in 0..8 {
        script.command(&format!("pod g{pod} cpu=2 gang=g/8"));
    }
    let places = places(&mut script);
    assert_eq!(places.len(), 8, "{places:?}");
    assert!(places.iter().all(|(_, node)| node.starts_with("r2")), "{places:?}");
}

#[test]
fn no_rack_holds_it_so_it_stays_below_one_spine() {
    let mut script = Script::new(&[own_profile()], Options::default());
    for (spine, rack) in [("s1", "r1"), ("s2", "r2"), ("s2", "r3"), ("s3", "r4")] {
        for node in 0..2 {
            let labels = format!("label={RACK}:{rack} label={SPINE}:{spine}");
            script.command(&format!("node {spine}-{rack}-{node} cpu=2 {labels}"));
        }
    }
    // By itself a fuller node is better.
    script.command("pod x on=s3-r4-0 cpu=1");
    for pod in 0..6 {
        script.command(&format!("pod g{pod} cpu=1 gang=g/6"));
    }
    let found = places(&mut script);
    assert_eq!(found.len(), 6, "{found:?}");
    assert!(found.iter().all(|(_, node)| node.starts_with("s2")), "{found:?}");
    // One rack is full, for the sake of pairs.
    let full = found.iter().filter(|(_, node)| node.starts_with("s2-r2")).count();
    assert!(full == 4 || full == 2, "{found:?}");
}

#[test]
fn a_strict_gang_waits_for_a_rack() {
    check(
        "
        node a1 cpu=2 label=topology.kubernetes.io/rack:a
        node a2 cpu=2 label=topology.kubernetes.io/rack:a
        node b1 cpu=2 label=network.kubenexus.io/rack-id:b
        node b2 cpu=2 label=network.kubenexus.io/rack-id:b
        node x cpu=99
        pod g1 cpu=2 gang=g/3 co-locate=strict level=rack
        pod g2 cpu=2 gang=g/3 co-locate=strict level=rack
        pod g3 cpu=2 gang=g/3 co-locate=strict level=rack
        step
        > g1 waits: gang g: room for 2 of at least 3; g3: 0/5 nodes are available: 2 Insufficient
        >+ cpu, 3 node(s) were outside the topology domain of the gang. It can never fit this
        >+ cluster.
        > g2 waits: gang g: room for 2 of at least 3; g3: 0/5 nodes are available: 2 Insufficient
        >+ cpu, 3 node(s) were outside the topology domain of the gang. It can never fit this
        >+ cluster.
        > g3 waits: gang g: room for 2 of at least 3; g3: 0/5 nodes are available: 2 Insufficient
        >+ cpu, 3 node(s) were outside the topology domain of the gang. It can never fit this
        >+ cluster.
        > gang g waits: gang g: room for 2 of at least 3; g3: 0/5 nodes are available: 2
        >+ Insufficient cpu, 3 node(s) were outside the topology domain of the gang. It can never
        >+ fit this cluster.
        node b3 cpu=2 label=topology.kubernetes.io/rack:b
        after 10s
        step
        > g1 -> b1
        > g2 -> b2
        > g3 -> b3
        ",
    );
}

#[test]
fn a_level_that_is_not_configured_is_refused() {
    check(
        "
        node a cpu=8 label=topology.kubernetes.io/rack:a
        pod p cpu=1 level=row
        step
        > p waits: 0/1 nodes are available: network request: topology level \"row\" is none of
        >+ those configured: clique, fabric, switch, rack, spine, zone, region.
        ",
    );
}

#[test]
fn neighbours_in_rank_are_neighbours_in_the_tree() {
    let mut script = Script::new(&[own_profile()], Options::default());
    for node in 0..8 {
        // Nodes of a switch do not follow each other.
        let labels = format!("label=topology.kubernetes.io/switch:s{} label={RACK}:r", node % 4);
        script.command(&format!("node n{node} cpu=1 {labels}"));
    }
    for rank in (0..8).rev() {
        let mut pod = format!("pod p{:x} cpu=1 gang=g/8", 15 - rank);
        write!(pod, " label=batch.kubernetes.io/job-completion-index:{rank}").expect("a text");
        script.command(&pod);
    }
    let mut found: Vec<(u32, u32)> = Vec::new();
    for (pod, node) in places(&mut script) {
        let rank = 15 - u32::from_str_radix(&pod[1..], 16).expect("a number");
        found.push((rank, node[1..].parse::<u32>().expect("a number") % 4));
    }
    found.sort_unstable();
    assert_eq!(found.len(), 8, "{found:?}");
    let switches: Vec<u32> = found.iter().map(|(_, switch)| *switch).collect();
    let pairs = switches.chunks(2).all(|pair| pair[0] == pair[1]);
    assert!(pairs, "two ranks after each other share a switch: {found:?}");
}

#[test]
fn late_members_join_the_others() {
    let mut script = Script::new(&[own_profile()], Options::default());
    for rack in ["r1", "r2", "r3"] {
        for node in 0..3 {
            script.command(&format!("node {rack}-{node} cpu=4 label={RACK}:{rack}"));
        }
    }
    // What is fuller is better by itself, and it is elsewhere.
    script.command("pod other on=r3-1 cpu=3");
    script.command("pod g1 on=r2-0 cpu=2 gang=g/2");
    script.command("pod g2 on=r2-1 cpu=4 gang=g/2");
    script.command("pod g3 cpu=1 gang=g/2");
    let found = places(&mut script);
    assert!(found[0].1.starts_with("r2"), "{found:?}");
    // Several that are missing come back together.
    script.command("gone pod g1");
    script.command("gone pod g2");
    script.command("pod g4 cpu=4 gang=g/2");
    script.command("pod g5 cpu=4 gang=g/2");
    let found = places(&mut script);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|(_, node)| node.starts_with("r2")), "{found:?}");
}

#[test]
fn unlike_pods_share_a_rack_if_one_holds_them() {
    let mut script = Script::new(&[own_profile()], Options::default());
    for (rack, cpus) in [("r1", [4, 4, 1]), ("r2", [8, 2, 2]), ("r3", [4, 2, 1])] {
        for (node, cpu) in cpus.iter().enumerate() {
            script.command(&format!("node {rack}-{node} cpu={cpu} label={RACK}:{rack}"));
        }
    }
    for (pod, cpu) in [6, 2, 2, 1].iter().enumerate() {
        script.command(&format!("pod g{pod} cpu={cpu} gang=g/4"));
    }
    let found = places(&mut script);
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found.iter().all(|(_, node)| node.starts_with("r2")), "{found:?}");
}

#[test]
fn who_does_not_care_for_the_network_goes_where_it_is_best_by_itself() {
    let mut script = Script::new(&[own_profile()], Options::default());
    for rack in ["r1", "r2"] {
        script.command(&format!("node {rack} cpu=8 label={RACK}:{rack}"));
    }
    script.command("pod r on=r1 cpu=6");
    for pod in 0..3 {
        script.command(&format!("pod g{pod} cpu=2 gang=g/3 co-locate=none"));
    }
    let found = places(&mut script);
    assert!(found.iter().any(|(_, node)| node == "r1"), "the fuller node is taken: {found:?}");
}

#[test]
fn a_part_in_one_rack_and_the_whole_below_one_spine() {
    let mut script = Script::new(&[own_profile()], Options::default());
    for (spine, rack, nodes) in
        [("s1", "r1", 2), ("s1", "r2", 1), ("s2", "r3", 2), ("s2", "r4", 2), ("s3", "r5", 2)]
    {
        for node in 0..nodes {
            let labels = format!("label={RACK}:{rack} label={SPINE}:{spine}");
            script.command(&format!("node {spine}-{rack}-{node} cpu=2 {labels}"));
        }
    }
    script.command(&format!("podgroup composite/job min=2 topology={SPINE}"));
    for part in ["a", "b"] {
        script.command(&format!("podgroup native/{part} min=4 parent=job topology={RACK}"));
        for pod in 0..4 {
            script.command(&format!("pod {part}{pod} cpu=1 group=native/{part}"));
        }
    }
    let found = places(&mut script);
    assert_eq!(found.len(), 8, "{found:?}");
    assert!(found.iter().all(|(_, node)| node.starts_with("s2")), "{found:?}");
    for part in ["a", "b"] {
        let own = found.iter().filter(|(pod, _)| pod.starts_with(part));
        let mut racks: Vec<&str> = own.map(|(_, node)| &node[..5]).collect();
        racks.dedup();
        assert_eq!(racks.len(), 1, "{found:?}");
    }
}

#[test]
fn pods_that_a_driver_makes_have_room_in_its_domain() {
    let mut script = Script::new(&[own_profile()], Options::default());
    for (rack, nodes) in [("r1", 2), ("r2", 4)] {
        for node in 0..nodes {
            script.command(&format!("node {rack}-{node} cpu=2 label={RACK}:{rack}"));
        }
    }
    script.command("node fuller cpu=4 label=topology.kubernetes.io/rack:r3");
    script.command("pod x on=fuller cpu=2");
    script.command("pod d cpu=1 gang=g/4 workers=3@2");
    let found = places(&mut script);
    assert!(found[0].1.starts_with("r2"), "{found:?}");
}

#[test]
fn faster_networks_are_for_those_who_talk() {
    check(
        "
        node slow nvidia.com/gpu=8 cpu=64 label=network.kubenexus.io/fabric:roce
        node fast nvidia.com/gpu=8 cpu=64 label=network.kubenexus.io/fabric:infiniband
        pod talker nvidia.com/gpu=8 network-intensive=true
        step
        > talker -> fast
        gone pod talker
        pod loner nvidia.com/gpu=8
        step
        > loner -> slow
        gone pod loner
        pod needy cpu=1 min-fabric=infiniband
        step
        > needy -> fast
        ",
    );
}

#[test]
fn pods_of_other_schedulers_say_nothing_of_how_close_a_gang_is() {
    check(
        "
        node a cpu=4 label=topology.kubernetes.io/rack:a
        node b cpu=4 label=topology.kubernetes.io/rack:b
        pod x on=a cpu=4 gang=g/2 scheduler=another co-locate=strict level=rack
        pod g1 cpu=2 gang=g/2
        pod g2 cpu=2 gang=g/2
        step
        > g1 -> b
        > g2 -> b
        ",
    );
}

/// One that is on a node insists on what no node has, and the others do not care.
#[test]
fn a_gang_is_free_when_the_one_that_insists_leaves() {
    let mut script = Script::new(&[own_profile()], Options::default());
    script.command("node a cpu=8");
    script.command("pod g0 cpu=1 gang=g/2 on=b co-locate=strict level=rack");
    script.command("pod g1 cpu=1 gang=g/2");
    script.command("pod g2 cpu=1 gang=g/2");
    assert_eq!(places(&mut script), []);
    script.command("gone pod g0");
    script.command("after 10s");
    assert_eq!(places(&mut script).len(), 2);
}
