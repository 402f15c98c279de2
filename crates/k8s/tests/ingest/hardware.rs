//! What nodes tell of their inside, in labels and annotations.

use model::device::PciAddress;
use model::hardware::{
    CpuRanges, Gpu, GpuLink, HardwareFacts, HeldByPod, HeldDevices, HeldFacts, HeldMemory,
    KubeletFacts, NumaZone, ReservedMemory,
};
use model::topology::{CpuManagerFacts, TopologyPolicy, TopologyScope};
use serde_json::{Value, json};

use crate::node_facts;

fn hardware(labels: Value, annotations: Value) -> Option<HardwareFacts> {
    let metadata = json!({"name": "n", "labels": labels, "annotations": annotations});
    node_facts(&json!({"metadata": metadata})).hardware.map(|hardware| *hardware)
}

fn held(text: &str) -> Result<HeldFacts, String> {
    let annotations = json!({"device.kubenexus.io/allocations": text});
    let facts = node_facts(&json!({"metadata": {"name": "n", "annotations": annotations}}));
    match (facts.held, facts.hardware) {
        (Some(held), None) => Ok(*held),
        (None, Some(hardware)) => Err(hardware.unread[0].expected.to_string()),
        (held, hardware) => panic!("{text}: {held:?} {hardware:?}"),
    }
}

fn ranges(ranges: &[(u32, u32)]) -> CpuRanges {
    CpuRanges::new(ranges.into()).expect("ranges in order")
}

#[test]
fn a_node_that_tells_nothing_costs_nothing() {
    let labels = json!({"kubernetes.io/hostname": "n", "feature.node.kubernetes.io/x": "true"});
    assert_eq!(hardware(labels, json!({"volumes.kubernetes.io/x": "true"})), None);
}

#[test]
fn zones_are_read_from_labels_and_annotations() {
    let labels = json!({
        "numa.kubenexus.io/node-count": "2",
        "numa.kubenexus.io/node-0-cpus": "0-15_32-47",
        "numa.kubenexus.io/node-0-memory": "137438953472",
        "numa.kubenexus.io/node-0-bandwidth": "102400",
        "numa.kubenexus.io/node-0-distance-1": "21",
        "numa.kubenexus.io/node-0-distance-0": "10",
        "numa.kubenexus.io/node-1-memory": "128Gi",
        "numa.kubenexus.io/node-1-socket": "1"
    });
    let annotations = json!({
        "numa.kubenexus.io/node-1-cpus": "16-31,48-63",
        "numa.kubenexus.io/node-0-memory": "1",
        "numa.kubenexus.io/cores": "0,32;1,33"
    });
    let facts = hardware(labels, annotations).expect("facts");
    let first = NumaZone {
        id: 0,
        cpus: Some(ranges(&[(0, 15), (32, 47)])),
        memory: Some(128 << 30),
        bandwidth: Some(102_400),
        distances: [(0, 10), (1, 21)].into(),
        ..NumaZone::default()
    };
    let second = NumaZone {
        id: 1,
        cpus: Some(ranges(&[(16, 31), (48, 63)])),
        memory: Some(128 << 30),
        socket: Some(1),
        ..NumaZone::default()
    };
    assert_eq!(facts.zone_count, Some(2));
    assert_eq!(*facts.zones, [first, second]);
    assert_eq!(*facts.cores, [ranges(&[(0, 0), (32, 32)]), ranges(&[(1, 1), (33, 33)])]);
    assert!(facts.unread.is_empty(), "{:?}", facts.unread);
}

#[test]
fn what_means_nothing_is_unknown_and_named() {
    let long = "0,".repeat(9_000);
    let table = [
        ("numa.kubenexus.io/node-count", "0", "an integer from 1 to 64"),
        ("numa.kubenexus.io/node-0-cpus", "7-3", "CPUs, such as 0-15 or 0-15_32-47"),
        ("numa.kubenexus.io/node-0-memory", "much", "an amount of bytes"),
        ("numa.kubenexus.io/node-0-memory", "-1", "an amount of bytes"),
        ("numa.kubenexus.io/node-0-distance-1", "256", "an integer from 1 to 255"),
        ("numa.kubenexus.io/node-0-bandwidth", "1e3", "an integer from 1 to 1099511627776"),
        ("numa.kubenexus.io/node-64-cpus", "0", "the number of a zone from 0 to 63 in the key"),
        ("numa.kubenexus.io/node-x", "0", "the number of a zone from 0 to 63 in the key"),
        (
            "numa.kubenexus.io/node-0-cpu",
            "0",
            "cpus, memory, bandwidth, socket or distance-ZONE in the key",
        ),
        ("numa.kubenexus.io/cores", "0,32;;1", "CPUs of cores, such as 0,64;1,65"),
        ("gpu.kubenexus.io/gpu128-numa", "0", "the number of a GPU from 0 to 127 in the key"),
        ("gpu.kubenexus.io/gpu0-numa", "-1", "the number of a zone from 0 to 63"),
        (
            "gpu.kubenexus.io/devices",
            r#"[{"index": 0}, {"index": 0}]"#,
            "a list of GPUs as kubenexus-agent writes it, each index from 0 to 127 once",
        ),
        ("numa.kubenexus.io/kubelet", "{", "fields of a KubeletConfiguration as JSON"),
        (
            "numa.kubenexus.io/kubelet",
            r#"{"topologyManagerPolicy": "strict"}"#,
            "topologyManagerPolicy none, best-effort, restricted or single-numa-node",
        ),
        ("numa.kubenexus.io/node-0-cpus", &long, "at most 16384 bytes, found 18000"),
    ];
    for (key, value, expected) in table {
        let facts = hardware(json!({}), json!({key: value})).expect("facts");
        let unread: Vec<_> = facts.unread.iter().map(|it| (&*it.key, &*it.expected)).collect();
        assert_eq!(unread, [(key, expected)], "{value}");
        assert!(value.starts_with(facts.unread[0].value.trim_end_matches("...")));
        let known = HardwareFacts { unread: facts.unread.clone(), ..HardwareFacts::default() };
        let is_named =
            facts.zones.iter().all(|zone| *zone == NumaZone { id: zone.id, ..NumaZone::default() });
        let facts = HardwareFacts { zones: [].into(), ..facts };
        assert!(facts == known && is_named, "{key}={value}: {facts:?}");
    }
    let many: serde_json::Map<String, Value> = (0..500)
        .map(|at| (format!("numa.kubenexus.io/node-0-distance-{}", at + 64), json!("0")))
        .collect();
    let facts = hardware(many.into(), json!({})).expect("facts");
    assert_eq!(facts.unread.len(), 16);
}

#[test]
fn gpus_are_read_from_the_agents_list_and_from_both_spellings_of_labels() {
    let list = r#"[
        {"index": 1, "pcie-bus-id": "0000:18:00.0", "numa-node": 1, "pcie-root": "0000:17:00.0",
         "pcie-switch": "0000:15:00.0", "vendor": "10de", "device": "2330", "uuid": "GPU-1",
         "model": "NVIDIA H100 80GB HBM3", "vram": 85520809984, "nvlink-domain": 0,
         "nvlink-peers": [0]}
    ]"#;
    let labels = json!({
        "gpu.kubenexus.io/gpu0-numa": "0",
        "gpu.kubenexus.io/numa-node-0": "1",
        "gpu.kubenexus.io/gpu1-numa": "0",
        "gpu.kubenexus.io/numa-node-2": "1",
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
        "nvidia.com/gpu.memory": "81559",
        "nvidia.com/gpu.count": "3",
        "nvidia.com/gpu.clique": "c.1",
        "nvidia.com/nvlink": "true",
        "nvidia.com/gpu.topology": "nvswitch"
    });
    let facts = hardware(labels, json!({"gpu.kubenexus.io/devices": list})).expect("facts");
    let listed = Gpu {
        index: 1,
        vendor: Some(0x10de),
        device: Some(0x2330),
        zone: Some(1),
        root: Some("0000:17:00.0".into()),
        switch: Some("0000:15:00.0".into()),
        model: Some("NVIDIA H100 80GB HBM3".into()),
        memory: Some(85_520_809_984),
        nvlink_domain: Some(0),
        nvlink_peers: [0].into(),
        bus: PciAddress::parse("0000:18:00.0"),
        uuid: Some("GPU-1".into()),
    };
    let labelled = |index: u32, zone: u32| Gpu { index, zone: Some(zone), ..Gpu::default() };
    assert_eq!(*facts.gpus, [labelled(0, 0), listed, labelled(2, 1)]);
    let all = &facts.all_gpus;
    assert_eq!(
        (all.count, all.memory, all.link),
        (Some(3), Some(81_559 << 20), Some(GpuLink::NvSwitch))
    );
    assert_eq!(all.model.as_deref(), Some("NVIDIA-H100-80GB-HBM3"));
    assert_eq!(all.clique.as_deref(), Some("c.1"));
    let unread: Vec<_> = facts.unread.iter().map(|it| (&*it.key, &*it.expected)).collect();
    let expected = [
        ("gpu.kubenexus.io/gpu1-numa", "1, as another source says"),
        ("gpu.kubenexus.io/numa-node-0", "0, as another source says"),
    ];
    assert_eq!(unread, expected);
}

#[test]
fn a_kubelet_is_what_its_configuration_says() {
    let text = r#"{"topologyManagerPolicy": "single-numa-node", "topologyManagerScope": "pod",
        "topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "true"},
        "cpuManagerPolicy": "static", "cpuManagerPolicyOptions": {"full-pcpus-only": "T"},
        "memoryManagerPolicy": "Static", "reservedSystemCPUs": "0,32",
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
        "systemReserved": {"cpu": "2"}, "kubeReserved": {"cpu": "100m", "memory": "1Gi"}}"#;
    let facts = hardware(json!({}), json!({"numa.kubenexus.io/kubelet": text})).expect("facts");
    let expected = KubeletFacts {
        policy: TopologyPolicy::SingleNumaNode,
        scope: TopologyScope::Pod,
        prefers_closest: true,
        cpu_manager: Some(CpuManagerFacts {
            is_full_cores_only: true,
            ..CpuManagerFacts::default()
        }),
        is_memory_static: true,
        reserved_cpus: ranges(&[(0, 0), (32, 32)]),
        reserved_cpu_count: 3,
        reserved_memory: [ReservedMemory { zone: 0, resource: "memory".into(), bytes: 1 << 30 }]
            .into(),
    };
    assert_eq!(facts.kubelet, Some(expected));
    let facts = hardware(json!({}), json!({"numa.kubenexus.io/kubelet": "{}"})).expect("facts");
    assert_eq!(facts.kubelet, Some(KubeletFacts::default()));
}

#[test]
fn who_holds_what_is_read_by_pod() {
    let text = r#"{"version":1,
        "devices":{"example.com/nic":{"a":[null]},"nvidia.com/gpu":{"a":[1],"b":[0,0]}},
        "cpus":{"a":"2-5"},
        "memory":{"c":{"memory":{"0":11,"0,1":7}}},
        "left-out":["hugepages-2Mi"]}"#;
    let devices = |resource: &str, indices: &[Option<u32>]| HeldDevices {
        resource: resource.into(),
        indices: indices.into(),
    };
    let a = HeldByPod {
        uid: "a".into(),
        devices: [devices("example.com/nic", &[None]), devices("nvidia.com/gpu", &[Some(1)])]
            .into(),
        cpus: ranges(&[(2, 5)]),
        ..HeldByPod::default()
    };
    let devices = [devices("nvidia.com/gpu", &[Some(0), Some(0)])].into();
    let b = HeldByPod { uid: "b".into(), devices, ..HeldByPod::default() };
    let memory = |zones: &[u32], bytes: u64| HeldMemory {
        resource: "memory".into(),
        zones: zones.into(),
        bytes,
    };
    let memory = [memory(&[0], 11), memory(&[0, 1], 7)].into();
    let c = HeldByPod { uid: "c".into(), memory, ..HeldByPod::default() };
    let expected = HeldFacts { pods: [a, b, c].into(), left_out: ["hugepages-2Mi".into()].into() };
    assert_eq!(held(text), Ok(expected));
    assert_eq!(held(r#"{"version":1,"devices":{}}"#), Ok(HeldFacts::default()));
    let expected = "what pods hold as kubenexus-agent writes it, version 1";
    for text in [
        "",
        "[]",
        r#"{"version":2,"devices":{}}"#,
        r#"{"version":1,"cpus":{"a":"5-2"}}"#,
        r#"{"version":1,"memory":{"a":{"memory":{"64":1}}}}"#,
    ] {
        assert_eq!(held(text), Err(expected.into()), "{text}");
    }
}
