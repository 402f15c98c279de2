//! Machines from several sources: what counts more, and what is told where they disagree.

use kubenexus_model as model;
use model::hardware::{CpuRanges, KubeletFacts, ReservedMemory};
use model::topology::{CpuManagerFacts, Machine, State, TopologyPolicy, TopologyScope};
use model::{Catalog, NodeFacts, NodeResourceTopologyFacts, ZoneAmount};

const GIB: u64 = 1 << 30;

/// What comes of a node and of what its NodeResourceTopology tells: the same in both orders.
fn catalog(node: &NodeFacts, object: &NodeResourceTopologyFacts) -> Catalog {
    let mut catalog = Catalog::default();
    let (id, _) = catalog.apply_node(node);
    assert_eq!(catalog.set_node_resource_topology(object), Some(id));
    assert_eq!(catalog.set_node_resource_topology(object), None, "nothing is different");
    let mut other = Catalog::default();
    assert_eq!(other.set_node_resource_topology(object), None, "nobody knows the node");
    other.apply_node(node);
    assert_eq!(catalog.machine(id), other.machine(id));
    catalog
}

fn machine(node: &str, object: &NodeResourceTopologyFacts) -> Option<Machine> {
    let catalog = catalog(&testkit::node(node), object);
    catalog.machine(catalog.nodes()[0]).map(|machine| (**machine).clone())
}

fn doubts(node: &NodeFacts, object: &NodeResourceTopologyFacts) -> Vec<String> {
    let catalog = catalog(node, object);
    let doubts = catalog.doubts(catalog.nodes()[0]);
    doubts.map(|it| format!("{} {} {}", it.key, it.value, it.expected)).collect()
}

fn told(words: &str) -> NodeResourceTopologyFacts {
    testkit::node_resource_topology(words)
}

fn cpus(machine: &Machine) -> Vec<Vec<u32>> {
    (0..machine.zone_ids().len()).map(|at| machine.cpus_of(at).iter().collect()).collect()
}

fn ranges(first: u32, last: u32) -> Option<CpuRanges> {
    CpuRanges::new(vec![(first, last)])
}

/// Adds an amount to every zone.
fn add(object: &mut NodeResourceTopologyFacts, resource: &str, [capacity, allocatable]: [u64; 2]) {
    for zone in &mut object.zones {
        let amount =
            ZoneAmount { resource: resource.into(), capacity, allocatable, available: allocatable };
        zone.amounts = zone.amounts.iter().cloned().chain([amount]).collect();
    }
}

#[test]
fn cpus_have_the_numbers_that_somebody_tells_for_as_many_as_there_are() {
    let object = told("a zones=2x2 policy=restricted");
    let found = machine("a cpu=4", &object).expect("a machine");
    assert_eq!(cpus(&found), [[0, 1], [2, 3]], "nobody tells");
    let mut node = testkit::node("a cpu=4 zones=2x2");
    let zones = &mut node.hardware.as_mut().expect("zones").zones;
    (zones[0].cpus, zones[1].cpus) = (ranges(4, 5), ranges(6, 7));
    let found = catalog(&node, &object);
    let found = found.machine(found.nodes()[0]).expect("a machine");
    assert_eq!(cpus(found), [[4, 5], [6, 7]], "labels tell");
    node.hardware.as_mut().expect("zones").zones[1].cpus = ranges(0, 2);
    let found = catalog(&node, &object);
    let found = found.machine(found.nodes()[0]).expect("a machine");
    assert_eq!(cpus(found), [[4, 5], [0, 1]], "labels tell of one");
    let mut object = object;
    object.zones[1].cpus = ranges(0, 1);
    let found = catalog(&node, &object);
    let found = found.machine(found.nodes()[0]).expect("a machine");
    assert_eq!(cpus(found), [[4, 5], [0, 1]], "the object tells");
    let object = told("a zones=2x600 policy=restricted");
    assert!(machine("a cpu=4", &object).is_none(), "more than any machine has");
    let object = told("a zones=2x18446744073709551615 policy=restricted");
    assert!(machine("a cpu=4", &object).is_none());
}

#[test]
fn what_pods_cannot_have_is_reserved() {
    let object = told("a zones=2x4 reserved=1,2 policy=restricted");
    let reserved = |machine: &Machine| machine.reserved_cpus().iter().collect::<Vec<u32>>();
    let found = machine("a cpu=8", &object).expect("a machine");
    assert_eq!(reserved(&found), [0, 4, 5], "the first ones");
    let mut node = testkit::node("a cpu=8 zones=2x4 policy=restricted");
    let set = |node: &mut NodeFacts, list: Option<CpuRanges>| {
        let kubelet = node.hardware.as_mut().expect("told").kubelet.as_mut();
        kubelet.expect("told").reserved_cpus = list.expect("CPUs");
    };
    set(&mut node, CpuRanges::new(vec![(3, 3), (6, 7)]));
    let reserved_of = |node: &NodeFacts, object: &NodeResourceTopologyFacts| {
        let catalog = catalog(node, object);
        reserved(catalog.machine(catalog.nodes()[0]).expect("a machine"))
    };
    assert_eq!(reserved_of(&node, &object), [3, 6, 7], "those that are told, if as many");
    set(&mut node, ranges(3, 3));
    assert_eq!(reserved_of(&node, &object), [3, 4, 5]);
    let all = told("a zones=2x4 policy=restricted");
    assert_eq!(reserved_of(&node, &all), [3], "an object that does not know");
}

#[test]
fn policy_and_scope_of_the_object_win_and_the_rest_is_as_the_annotation_says() {
    let object = told("a zones=2x4 policy=single-numa-node scope=pod");
    let found = machine("a cpu=8", &object).expect("a machine");
    assert_eq!(
        (found.policy(), found.scope()),
        (TopologyPolicy::SingleNumaNode, TopologyScope::Pod)
    );
    assert!(found.gives_cpus() && found.memory_kinds().is_empty() && !found.is_kubelet_unknown());
    let found = machine("a cpu=8 zones=2x4 policy=none", &object).expect("a machine");
    assert_eq!(found.policy(), TopologyPolicy::SingleNumaNode);
    let found = machine("a cpu=8", &told("a zones=2x4 policy=none")).expect("a machine");
    assert!(!found.gives_cpus(), "a policy that aligns nothing says nothing of CPUs");
    let found = machine("a cpu=8 policy=restricted", &told("a zones=2x4")).expect("a machine");
    assert_eq!(found.policy(), TopologyPolicy::Restricted, "the object says nothing of it");
    let found = machine("a cpu=8", &told("a zones=2x4")).expect("a machine");
    assert!(found.is_kubelet_unknown());
    // The annotation knows what the object does not say.
    let mut node = testkit::node("a cpu=8");
    let cpu_manager = Some(CpuManagerFacts { is_full_cores_only: true, ..Default::default() });
    node.hardware.get_or_insert_default().kubelet =
        Some(KubeletFacts { cpu_manager, ..KubeletFacts::default() });
    let found = catalog(&node, &object);
    assert!(found.machine(found.nodes()[0]).is_none(), "it is not told which CPUs share a core");
}

#[test]
fn memory_and_huge_pages_are_those_of_the_zones() {
    let mut object = told("a zones=2x4 policy=restricted");
    add(&mut object, "memory", [64 * GIB, 60 * GIB]);
    add(&mut object, "hugepages-2Mi", [3 * GIB, 2 * GIB]);
    let found = machine("a cpu=8 hugepages-2Mi=4294967296", &object).expect("a machine");
    assert_eq!(found.memory_kinds().len(), 2);
    let state = State::new(&found);
    let free = |kind| (0..2).map(|at| state.memory(kind, at).expect("pinned").0).collect();
    let (memory, pages): (Vec<u64>, Vec<u64>) = (free(0), free(1));
    assert_eq!((memory, pages), (vec![60 * GIB; 2], vec![2 * GIB; 2]), "what pods may have");
    assert_eq!(found.zone(0).memory, Some(64 * GIB));
    // What the annotation reserves is what the object left out.
    let mut node = testkit::node("a cpu=8 hugepages-2Mi=4294967296 policy=restricted");
    let kubelet = node.hardware.as_mut().expect("told").kubelet.as_mut().expect("told");
    kubelet.is_memory_static = true;
    kubelet.reserved_memory =
        [ReservedMemory { zone: 0, resource: "memory".into(), bytes: GIB }].into();
    let known = catalog(&node, &object);
    let known = known.machine(known.nodes()[0]).expect("a machine");
    assert_eq!(State::new(known).memory(0, 0), state.memory(0, 0));
    // Sizes that nobody tells where they lie.
    let node = "a cpu=8 hugepages-2Mi=4294967296 hugepages-1Gi=1073741824";
    assert!(machine(node, &object).is_none());
    let mut object = told("a zones=2x4 policy=restricted");
    add(&mut object, "memory", [GIB, 0]);
    add(&mut object, "hugepages-2Mi", [u64::MAX, u64::MAX]);
    assert!(
        machine("a cpu=8 hugepages-2Mi=4294967296", &object).is_some(),
        "and nothing overflows"
    );
}

#[test]
fn devices_of_zones_are_known_by_count_unless_each_says_where_it_is() {
    let object = told("a zones=2x4 gpus=1,3 policy=restricted");
    let zones = |node: &str| {
        let found = machine(node, &object).expect("a machine");
        let first = found.device_resources().next()?;
        assert_eq!(found.device_resources().count(), 1, "{first:?}");
        Some((0..2).map(|at| found.devices_of(0, at)).collect::<Vec<u128>>())
    };
    assert_eq!(zones("a cpu=8 nvidia.com/gpu=4"), Some(vec![0b0001, 0b1110]));
    assert_eq!(zones("a cpu=8 nvidia.com/gpu=5"), None, "not as many as are offered");
    assert_eq!(zones("a cpu=8"), None);
    let own = "a cpu=8 nvidia.com/gpu=4 gpus=1,1,1,0";
    assert_eq!(zones(own), Some(vec![0b1000, 0b0111]));
    let blind = "a cpu=8 nvidia.com/gpu=4 gpus=x,x,x,x";
    assert_eq!(zones(blind), Some(vec![0b0001, 0b1110]));
    let object = told("a zones=2x4 policy=restricted");
    let found = machine(blind, &object).expect("a machine");
    assert_eq!(found.devices_of(0, 0), 0, "nobody says where they are");
}

#[test]
fn where_sources_disagree_it_is_told() {
    let node = testkit::node("a cpu=8 zones=2x4 policy=restricted scope=pod");
    assert_eq!(doubts(&node, &told("a zones=2x4 policy=restricted scope=pod")), [""; 0]);
    assert_eq!(doubts(&node, &told("a")), [""; 0], "it says nothing");
    let says = "as the node's NodeResourceTopology says";
    let expected = [
        format!("numa.kubenexus.io/node-count 2 1, {says}"),
        format!("numa.kubenexus.io/node-0-cpus 4 CPUs 8, {says}"),
        format!("numa.kubenexus.io/kubelet topologyManagerPolicy restricted none, {says}"),
        format!("numa.kubenexus.io/kubelet topologyManagerScope pod container, {says}"),
    ];
    let object = told("a zones=1x8 policy=none scope=container");
    assert_eq!(doubts(&node, &object), expected);
    let mut catalog = catalog(&node, &object);
    let id = catalog.nodes()[0];
    assert_eq!(catalog.machine(id).expect("a machine").zone_ids().len(), 1, "the object wins");
    assert_eq!(catalog.delete_node_resource_topology("a"), Some(id));
    assert_eq!(catalog.delete_node_resource_topology("a"), None);
    assert_eq!(catalog.doubts(id).count(), 0);
    assert_eq!(catalog.machine(id).expect("a machine").zone_ids().len(), 2);
}
