//! The scheduler understands all that the agent writes.

use k8s::ingest;
use kubenexus_agent::allocations;
use kubenexus_agent::kubelet::resources::{Devices, Memory, Pod};
use model::{Event, Fact, NodeFacts, NodeResourceTopologyFacts};
use serde_json::{Value, json};

use crate::{machines, tree};

fn read(node: &Value) -> NodeFacts {
    let Ok(Event::Seen(Fact::Node(facts))) = ingest::node(node) else { panic!("{node}") };
    *facts
}

/// What the scheduler reads of a NodeResourceTopology.
pub(crate) fn topology(object: &Value) -> NodeResourceTopologyFacts {
    let Ok(Event::Seen(Fact::NodeResourceTopology(facts))) = ingest::node_resource_topology(object)
    else {
        panic!("{object}")
    };
    *facts
}

fn machine(name: &str) -> NodeFacts {
    let root = tree::scratch(&format!("reader-{name}"));
    tree::expand(name, &root);
    let printed = machines::printed(&machines::dry_run(&root, &[]));
    read(&serde_json::from_str(&printed).unwrap())
}

#[test]
fn what_is_written_of_machines_is_read() {
    for name in tree::names() {
        let hardware = machine(&name).hardware.unwrap();
        assert!(hardware.unread.is_empty(), "{name}: {:?}", hardware.unread);
    }
    let hardware = machine("two-sockets").hardware.unwrap();
    assert_eq!((hardware.zone_count, hardware.zones.len(), hardware.gpus.len()), (Some(2), 2, 4));
    let zone = &hardware.zones[1];
    assert_eq!(zone.cpus.as_ref().unwrap().count(), 8);
    assert_eq!((zone.memory, zone.socket), (Some(541_131_808_768), Some(1)));
    let gpu = &hardware.gpus[3];
    assert_eq!((gpu.zone, gpu.switch.as_deref()), (Some(1), Some("0000:98:00.0")));
    assert_eq!(machine("cxl").hardware.unwrap().zones[1].cpus.as_ref().unwrap().count(), 0);
}

#[test]
fn what_is_written_of_pods_is_read() {
    let pod = Pod {
        namespace: "team".into(),
        name: "train-0".into(),
        devices: vec![Devices {
            resource: "nvidia.com/gpu".into(),
            ids: vec!["unknown".into()],
            nodes: vec![0],
        }],
        cpus: [2, 3, 300].into_iter().collect(),
        memory: vec![Memory { kind: "memory".into(), bytes: 7, nodes: vec![0, 1] }],
    };
    let uids = [(("team".to_owned(), "train-0".to_owned()), "uid-1".to_owned())];
    let text = allocations::text(&[pod], &uids.into_iter().collect(), &[]);
    let annotations = json!({"device.kubenexus.io/allocations": text});
    let held = read(&json!({"metadata": {"name": "n", "annotations": annotations}})).held.unwrap();
    assert_eq!(&*held.pods[0].uid, "uid-1");
    assert_eq!(*held.pods[0].devices[0].indices, [None]);
    assert_eq!(held.pods[0].cpus.count(), 3);
    assert_eq!((held.pods[0].memory[0].bytes, &*held.pods[0].memory[0].zones), (7, &[0, 1][..]));
}
