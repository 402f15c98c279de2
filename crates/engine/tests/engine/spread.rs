//! Services spread with the whole default profile, and what has to be outweighed for that.

use std::collections::BTreeMap;
use std::sync::Arc;

use framework::{FINE, LevelArgs, MAX_SCORE, Plugin, Point, Rank, Ranking, Reach, Scores, View};
use kubenexus_engine::Options;
use model::{Catalog, Class, NodeId};
use proptest::collection::vec;
use proptest::prelude::*;
use testkit::{Script, check_with, own_profile};

use crate::cold_path::config;

/// What TenantHardware may give a node for not having accelerators, and its weight: for pods that
/// ask for none it must stay below what one pod more in a zone costs.
const CPU_POD_MAX: i32 = 100;
const TENANT_HARDWARE: i32 = 1;

fn weight(plugin: &str) -> i64 {
    let profile = own_profile();
    let choice = profile.at(Point::Score).iter().find(|choice| choice.name == plugin);
    choice.expect("it is on by default").weight
}

#[test]
fn one_pod_more_in_a_zone_outweighs_the_others_by_their_weights() {
    let LevelArgs { zone, rack, host } = LevelArgs::default();
    let all = i64::from(zone) + i64::from(rack) + i64::from(host);
    // Of the best score, in per cent: the tenth is what the second fewest keep.
    let step = weight("TopologySpread") * i64::from(zone) * 9 / 10 * 100 / all;
    // A tenth of the best score is the most that services are packed by.
    let fullness = weight("WorkloadAware") * i64::from(MAX_SCORE) / 10;
    let images = weight("ImageLocality") * i64::from(MAX_SCORE);
    let others = fullness + images + i64::from(TENANT_HARDWARE * CPU_POD_MAX);
    assert!(step > others, "{step} {others}");
}

/// Stands for the term of TenantHardware at its maximum: by the last letter of a node's name.
#[derive(Clone, Copy)]
struct Term;

impl Plugin for Term {
    fn name(&self) -> &'static str {
        "Term"
    }
}

impl Rank for Term {
    fn prepare(&self, _: &Catalog, _: &Class) -> Option<Box<dyn Scores>> {
        Some(Box::new(*self))
    }
}

impl Scores for Term {
    fn reach(&self) -> Reach {
        Reach::Facts
    }

    fn is_fine(&self) -> bool {
        true
    }

    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        for (node, out) in nodes.iter().zip(out) {
            let is_plain = view.catalog.node_name(*node).ends_with('p');
            *out = if is_plain { CPU_POD_MAX * FINE } else { 0 };
        }
    }
}

/// A node: its zone, its rack, an image it has, GPUs, how full it is, and the pods that are there.
type Node = (usize, usize, bool, bool, u64, usize);

fn node() -> impl Strategy<Value = Node> {
    let pods = prop_oneof![3 => Just(0_usize), 2 => 1..3_usize, 1 => 3..12_usize];
    (0..3_usize, 0..3_usize, any::<bool>(), any::<bool>(), 0..17_u64, pods)
}

/// How many pods of the service zones have; only those with a node that has room.
fn zones(nodes: &[Node]) -> BTreeMap<usize, usize> {
    let mut zones = BTreeMap::new();
    for (zone, .., pods) in nodes {
        *zones.entry(*zone).or_default() += pods;
    }
    let has_room =
        |wanted: &usize| nodes.iter().any(|(zone, .., load, _)| zone == wanted && *load <= 14);
    zones.retain(|zone, _| has_room(zone));
    zones
}

proptest! {
    #![proptest_config(config(256))]

    /// Whatever images, GPUs and loads there are, the next pod comes to a zone with the fewest.
    #[test]
    fn services_go_to_the_zone_with_the_fewest(nodes in vec(node(), 2..10)) {
        let options = Options::default();
        let mut run = Script::changed(&own_profile(), options, |profile| {
            profile.rankings.push(Ranking { plugin: Arc::new(Term), weight: TENANT_HARDWARE });
        });
        run.command("grouping replicaset/web app:web");
        for (at, (zone, rack, has_image, has_gpus, load, pods)) in nodes.iter().enumerate() {
            let name = format!("n{at}{}", if has_image == has_gpus { 'p' } else { 'q' });
            let labels = format!(
                "label=topology.kubernetes.io/zone:z{zone} \
                 label=topology.kubernetes.io/rack:z{zone}-r{rack}"
            );
            let image = if *has_image { "image=web@2Gi" } else { "" };
            let gpus = if *has_gpus { "gpu=8" } else { "" };
            run.command(&format!("node {name} cpu=16 memory=64Gi {labels} {image} {gpus}"));
            if *load > 0 {
                run.command(&format!("pod l{at} on={name} cpu={load} memory={load}Gi"));
            }
            for pod in 0..*pods {
                run.command(&format!("pod w{at}-{pod} on={name} label=app:web"));
            }
        }
        let zones = zones(&nodes);
        let fewest = zones.values().min().copied();
        run.command("pod next label=app:web owner=replicaset/web cpu=2 memory=1Gi image=web");
        let answers = run.command("step");
        let placed = answers.iter().find_map(|answer| answer.strip_prefix("next -> n"));
        let at = placed.map(|name| name[..name.len() - 1].parse::<usize>().expect("a number"));
        let count = at.map(|at| zones[&nodes[at].0]);
        prop_assert_eq!(count, fewest, "{:?} {:?}", answers, zones);
    }
}

/// Nine replicas over three zones of one, two and six nodes: three in each.
#[test]
fn replicas_are_even_over_zones_of_unequal_size() {
    let mut run = Script::new(&[own_profile()], Options::default());
    for (zone, count) in [("a", 1), ("b", 2), ("c", 6)] {
        for at in 0..count {
            let zone = format!("label=topology.kubernetes.io/zone:{zone}");
            let name = format!("{}{at}", &zone[zone.len() - 1..]);
            run.command(&format!("node {name} cpu=16 memory=64Gi {zone}"));
        }
    }
    run.command("grouping replicaset/web app:web");
    for at in 0..9 {
        run.command(&format!("pod w{at} label=app:web owner=replicaset/web cpu=1 memory=1Gi"));
    }
    let answers = run.command("step");
    let mut by_zone: BTreeMap<char, usize> = BTreeMap::new();
    let mut by_node: BTreeMap<&str, usize> = BTreeMap::new();
    for node in answers.iter().filter_map(|answer| answer.split_once(" -> ")).map(|(_, node)| node)
    {
        *by_zone.entry(node.chars().next().expect("a name")).or_default() += 1;
        *by_node.entry(node).or_default() += 1;
    }
    assert_eq!(by_zone, [('a', 3), ('b', 3), ('c', 3)].into(), "{answers:?}");
    // Hosts are even inside a zone.
    assert_eq!(by_node.values().filter(|count| **count == 1).count(), 4, "{by_node:?}");
}

/// A pod on its way counts at once, one that is being deleted does not, and a constraint of the
/// pod's own is followed by PodTopologySpread alone.
#[test]
fn the_next_pod_sees_the_one_before() {
    check_with(
        &[own_profile()],
        "
        node a label=topology.kubernetes.io/zone:a cpu=16 memory=64Gi
        node b label=topology.kubernetes.io/zone:b cpu=16 memory=64Gi
        grouping replicaset/web app:web
        pod full on=a cpu=8 memory=32Gi
        pod w1 label=app:web owner=replicaset/web cpu=1 memory=1Gi
        step
        > w1 -> a
        pod w2 label=app:web owner=replicaset/web cpu=1 memory=1Gi
        step
        > w2 -> b
        pod w3 label=app:web owner=replicaset/web cpu=1 memory=1Gi
        step
        > w3 -> a
        pod w1 on=a label=app:web owner=replicaset/web cpu=1 memory=1Gi terminating
        pod w3 on=a label=app:web owner=replicaset/web cpu=1 memory=1Gi terminating
        pod w4 label=app:web owner=replicaset/web cpu=1 memory=1Gi
        step
        > w4 -> a
        # Batch packs, and so does a service that says so.
        pod w5 label=app:web owner=replicaset/web cpu=1 memory=1Gi zones-spread=false
        pod w6 label=app:web owner=replicaset/web cpu=1 memory=1Gi workload=batch
        step
        > w5 -> a
        > w6 -> a
        ",
    );
}

/// Pods count no more when their node is gone, though they are listed for some time after.
#[test]
fn pods_of_a_node_that_is_gone_do_not_count() {
    check_with(
        &[own_profile()],
        "
        node a1 label=topology.kubernetes.io/zone:a cpu=16 memory=64Gi
        node a2 label=topology.kubernetes.io/zone:a cpu=16 memory=64Gi
        node b label=topology.kubernetes.io/zone:b cpu=16 memory=64Gi
        grouping replicaset/web app:web
        pod w1 on=a1 label=app:web owner=replicaset/web cpu=1 memory=1Gi
        pod w2 on=a1 label=app:web owner=replicaset/web cpu=1 memory=1Gi
        pod w3 on=a1 label=app:web owner=replicaset/web cpu=1 memory=1Gi
        pod w4 label=app:web owner=replicaset/web cpu=1 memory=1Gi
        step
        > w4 -> b
        gone node a1
        gone pod w1
        pod w5 label=app:web owner=replicaset/web cpu=1 memory=1Gi
        step
        > w5 -> a2
        ",
    );
}
