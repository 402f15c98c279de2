//! NodeResourceTopologies, as updaters write them.

use kubenexus_k8s::ingest::{node_resource_topology, read_node_resource_topology};
use model::hardware::CpuRanges;
use model::topology::{TopologyPolicy, TopologyScope};
use model::{
    Event, Fact, FingerprintMethod, NodeResourceTopologyFacts, PodsFingerprint, ToldZone,
    ZoneAmount,
};
use serde_json::{Value, json};

/// The facts of an object, which are the same whether it is read as a value or as text.
fn facts(more: Value) -> NodeResourceTopologyFacts {
    let mut object = json!({
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": "n", "resourceVersion": "42"},
    });
    for (key, value) in more.as_object().expect("as written") {
        object[key] = value.clone();
    }
    let read = read_node_resource_topology(object.to_string().as_bytes()).expect("as text");
    assert_eq!(read.0, object["metadata"]["resourceVersion"].as_str().unwrap_or_default());
    let event = node_resource_topology(&object).expect("as a value");
    assert_eq!(read.1, event);
    let Event::Seen(Fact::NodeResourceTopology(facts)) = event else { panic!("{object}") };
    *facts
}

fn unread(facts: &NodeResourceTopologyFacts) -> Vec<String> {
    let one = |it: &model::hardware::Unread| format!("{} {:?} {}", it.key, it.value, it.expected);
    facts.unread.iter().map(one).collect()
}

fn amount(resource: &str, [capacity, allocatable, available]: [u64; 3]) -> ZoneAmount {
    ZoneAmount { resource: resource.into(), capacity, allocatable, available }
}

#[test]
fn what_the_topology_updater_of_nfd_writes_is_read() {
    let found = facts(json!({
        "topologyPolicies": ["SingleNUMANodeContainerLevel"],
        "attributes": [
            {"name": "topologyManagerPolicy", "value": "single-numa-node"},
            {"name": "topologyManagerScope", "value": "pod"},
            {"name": "nodeTopologyPodsFingerprint", "value": "pfp0v001567144e4a561bb5a"},
            {"name": "nodeTopologyPodsFingerprintMethod", "value": "with-exclusive-resources"},
        ],
        "zones": [
            {"name": "node-1", "type": "Node", "costs": [{"name": "node-0", "value": 21},
                {"name": "node-1", "value": 10}],
             "resources": [{"name": "nvidia.com/gpu", "capacity": 4, "allocatable": "4",
                 "available": "1"}]},
            {"name": "node-0", "type": "Node", "parent": "socket-0", "resources": [
                {"name": "memory", "capacity": "64Gi", "allocatable": "60Gi", "available": "1k"},
                {"name": "cpu", "capacity": "16", "allocatable": "15500m", "available": "3500m"},
                {"name": "hugepages-2Mi", "capacity": "2Gi", "allocatable": "2Gi",
                    "available": "0"}],
             "attributes": [{"name": "numa.kubenexus.io/cpus", "value": "0-7,16-23"}]},
            {"name": "core-0", "type": "Core", "resources": [{"name": "cpu", "capacity": "x"}]},
        ]
    }));
    let gib = 1 << 30;
    let first = ToldZone {
        id: 0,
        amounts: [
            amount("cpu", [16, 15, 3]),
            amount("hugepages-2Mi", [2 * gib, 2 * gib, 0]),
            amount("memory", [64 * gib, 60 * gib, 1_000]),
        ]
        .into(),
        cpus: CpuRanges::new(vec![(0, 7), (16, 23)]),
        ..ToldZone::default()
    };
    let second = ToldZone {
        id: 1,
        amounts: [amount("nvidia.com/gpu", [4, 4, 1])].into(),
        distances: [(0, 21), (1, 10)].into(),
        ..ToldZone::default()
    };
    let method = FingerprintMethod::WithExclusiveResources;
    let expected = NodeResourceTopologyFacts {
        node: "n".into(),
        version: 42,
        policy: Some(TopologyPolicy::SingleNumaNode),
        scope: Some(TopologyScope::Pod),
        zones: [first, second].into(),
        pods: Some(PodsFingerprint { method, sum: 0x5671_44e4_a561_bb5a }),
        unread: [].into(),
    };
    assert_eq!(found, expected);
}

#[test]
fn policies_and_scopes_by_table() {
    let (container, pod) = (Some(TopologyScope::Container), Some(TopologyScope::Pod));
    let single = Some(TopologyPolicy::SingleNumaNode);
    let (restricted, best) = (Some(TopologyPolicy::Restricted), Some(TopologyPolicy::BestEffort));
    let none = Some(TopologyPolicy::None);
    let table = [
        ("SingleNUMANodeContainerLevel", single, container),
        ("SingleNUMANodePodLevel", single, pod),
        ("Restricted", restricted, None),
        ("RestrictedContainerLevel", restricted, container),
        ("RestrictedPodLevel", restricted, pod),
        ("BestEffort", best, None),
        ("BestEffortContainerLevel", best, container),
        ("BestEffortPodLevel", best, pod),
        ("None", none, None),
        ("", None, None),
    ];
    for (word, policy, scope) in table {
        let found = facts(json!({"topologyPolicies": [word, "None"]}));
        assert_eq!((found.policy, found.scope), (policy, scope), "{word}");
        assert!(found.unread.is_empty(), "{word}");
    }
    for word in ["SingleNUMANode", "NonePodLevel", "restricted", "PodLevel"] {
        let found = facts(json!({"topologyPolicies": [word]}));
        let expected = format!(
            "NodeResourceTopology topologyPolicies[0] {word:?} a policy, such as RestrictedPodLevel"
        );
        assert_eq!((found.policy, unread(&found)), (None, vec![expected]));
    }
    let attributes = |policy: &str, scope: &str| {
        json!({"topologyPolicies": ["RestrictedPodLevel"],
            "attributes": [{"name": "topologyManagerPolicy", "value": policy},
                {"name": "topologyManagerScope", "value": scope}, {"name": "other"}]})
    };
    let found = facts(attributes("best-effort", "container"));
    assert_eq!((found.policy, found.scope), (best, container), "attributes win");
    let found = facts(attributes("strict", "node"));
    assert_eq!((found.policy, found.scope), (restricted, pod), "what means nothing does not");
    let expected = [
        "NodeResourceTopology topologyManagerPolicy \"strict\" none, best-effort, restricted or \
         single-numa-node",
        "NodeResourceTopology topologyManagerScope \"node\" container or pod",
    ];
    assert_eq!(unread(&found), expected);
}

#[test]
fn fingerprints_by_table() {
    let all = |sum| Some(PodsFingerprint { method: FingerprintMethod::All, sum });
    let read = |annotation: Value, sum: Value, method: Value| {
        facts(json!({
            "metadata": {"name": "n",
                "annotations": {"topology.node.k8s.io/fingerprint": annotation}},
            "attributes": [{"name": "nodeTopologyPodsFingerprint", "value": sum},
                {"name": "nodeTopologyPodsFingerprintMethod", "value": method}],
        }))
    };
    let (old, new) = (json!("pfp0v0010000000000000001"), json!("pfp0v001ffffffffffffffff"));
    assert_eq!(read(old.clone(), new.clone(), json!("all")).pods, all(u64::MAX));
    assert_eq!(read(old.clone(), json!(null), json!(null)).pods, None, "the attribute wins");
    let alone = json!({"metadata": {"name": "n",
        "annotations": {"topology.node.k8s.io/fingerprint": old}}});
    assert_eq!(facts(alone).pods, all(1));
    assert_eq!(read(json!(null), new.clone(), json!("exclude-terminal")).pods, all(u64::MAX));
    let bad = ["pfp0v002ffffffffffffffff", "pfp0v001+fffffffffffffff", "pfp0v001ff", "x"];
    for sum in bad {
        let found = read(json!(null), json!(sum), json!("all"));
        assert_eq!((found.pods, found.unread.len()), (None, 1), "{sum}");
    }
    let found = read(json!(null), new, json!("some"));
    assert_eq!((found.pods, found.unread.len()), (None, 1));
}

#[test]
fn what_means_nothing_in_a_zone_makes_all_zones_unknown() {
    let resources = |resources: Value| {
        facts(json!({"zones": [
            {"name": "node-0", "type": "Node", "resources": [
                {"name": "cpu", "capacity": "4", "allocatable": "4", "available": "4"}]},
            {"name": "node-1", "type": "Node", "resources": resources}]}))
    };
    let cpu = |capacity: Value| {
        let rest = json!("4");
        json!([{"name": "cpu", "capacity": capacity, "allocatable": rest, "available": rest}])
    };
    assert_eq!(resources(cpu(json!("4"))).zones.len(), 2);
    let wrong = "NodeResourceTopology node-1.cpu.capacity";
    for (amount, said) in [
        (json!("four"), "\"four\""),
        (json!("-1"), "\"-1\""),
        (json!({"a": 1}), "\"an object\""),
        (json!([1]), "\"a list\""),
        (json!(null), "\"\""),
        (json!(true), "\"true\""),
    ] {
        let found = resources(cpu(amount));
        assert!(found.zones.is_empty());
        assert_eq!(unread(&found), [format!("{wrong} {said} an amount")]);
    }
    let one = json!({"name": "x", "capacity": 1, "allocatable": 1, "available": 1});
    assert!(resources(json!([one, one])).zones.is_empty(), "a resource twice");
    let many: Vec<_> = (0..65).map(|at| json!({"name": format!("r{at}")})).collect();
    let found = resources(json!(many));
    let expected = "NodeResourceTopology node-1.resources \"65\" at most 64 resources";
    assert_eq!((found.zones.len(), unread(&found)), (0, vec![expected.to_owned()]));
    for name in ["node-64", "node-", "numa-0", "node-01", "node-+1", "node-0"] {
        let found = facts(json!({"zones": [{"name": "node-0", "type": "Node"},
            {"name": name, "type": "Node"}]}));
        assert_eq!((found.zones.len(), found.unread.len()), (0, 1), "{name}");
    }
}

#[test]
fn distances_and_cpus_that_mean_nothing_are_unknown_alone() {
    let found = facts(json!({"zones": [{"name": "node-0", "type": "Node",
        "costs": [{"name": "node-0", "value": 10}, {"name": "node-1", "value": -5}],
        "attributes": [{"name": "numa.kubenexus.io/cpus", "value": "7-3"}]}]}));
    let zone = &found.zones[0];
    assert_eq!((zone.distances.len(), &zone.cpus), (0, &None));
    let expected = [
        "NodeResourceTopology node-0.costs.node-1 \"-5\" a distance from 1 to 255",
        "NodeResourceTopology node-0.numa.kubenexus.io/cpus \"7-3\" CPUs, such as 0-15,32-47",
    ];
    assert_eq!(unread(&found), expected);
}

#[test]
fn an_object_of_another_shape_is_refused() {
    let table = [
        (json!({"zones": {}}), "zones: expected a list, found an object"),
        (json!({"zones": [5]}), "zones[0]: expected an object, found integer `5`"),
        (json!({"attributes": "x"}), "attributes: expected a list, found string \"x\""),
    ];
    for (object, expected) in table {
        let error = node_resource_topology(&object).expect_err("another shape").to_string();
        assert_eq!(error, format!("NodeResourceTopology: {expected}"));
    }
    assert!(read_node_resource_topology(b"{").is_err());
}
