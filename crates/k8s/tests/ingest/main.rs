//! Objects as clusters serve them, and the facts they become.

mod cluster_queue;
mod device;
mod gang;
mod grouping;
mod hardware;
mod hints;
mod job;
mod local_queue;
mod mistakes;
mod node;
mod node_resource_topology;
mod pod;
mod pod_group;
mod requests;
mod seen;
mod slim;
mod slim_devices;
mod slim_kinds;
mod storage;

use kubenexus_k8s::ingest;
use model::{Event, Fact, NodeFacts, PodFacts};
use serde_json::Value;

/// The facts of a pod, which are the same whether it is read as a value or as text.
fn pod_facts(object: &Value) -> PodFacts {
    let Ok(Event::Seen(Fact::Pod(facts))) = ingest::pod(object) else {
        panic!("not a pod: {object}");
    };
    let seen = ingest::read_pod(object.to_string().as_bytes()).expect("a pod as text");
    let Event::Seen(Fact::Pod(read)) = seen.event else { panic!("not a pod: {object}") };
    assert_eq!(read, facts);
    *facts
}

/// The same for a node.
fn node_facts(object: &Value) -> NodeFacts {
    let Ok(Event::Seen(Fact::Node(facts))) = ingest::node(object) else {
        panic!("not a node: {object}");
    };
    let seen = ingest::read_node(object.to_string().as_bytes()).expect("a node as text");
    let Event::Seen(Fact::Node(read)) = seen.event else { panic!("not a node: {object}") };
    assert_eq!(read, facts);
    *facts
}
