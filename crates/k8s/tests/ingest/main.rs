//! Objects as clusters serve them, and the facts they become.

mod mistakes;
mod node;
mod pod;
mod requests;

use model::{Event, NodeFacts, PodFacts};
use serde_json::Value;

fn pod_facts(object: &Value) -> PodFacts {
    let Ok(Event::PodApplied(facts)) = kubenexus_k8s::ingest::pod(object) else {
        panic!("not a pod: {object}");
    };
    *facts
}

fn node_facts(object: &Value) -> NodeFacts {
    let Ok(Event::NodeApplied(facts)) = kubenexus_k8s::ingest::node(object) else {
        panic!("not a node: {object}");
    };
    *facts
}
