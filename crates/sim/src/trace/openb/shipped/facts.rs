//! Nodes and pods of a trace as the API would have them.

use model::hardware::{AllGpus, HardwareFacts, SharedGpus};
use model::{
    GpuShare, GpuWish, Hints, LabelOperator, Map, NodeFacts, NodeTerm, PodFacts, PodKey, PodRest,
    PodSpec, RequirementSpec, Said, Time, Workload,
};

use super::{PROFILE, PodAt};
use crate::quantities::{GPU, amounts, requests};
use crate::trace::openb::Trace;
use crate::trace::openb::node::Node;
use crate::trace::openb::shapes::{Shape, ShapeAt};

/// The label of nodes that names the model of their GPUs.
const MODEL: &str = "nvidia.com/gpu.product";
/// How often every GPU is offered: parts of a GPU are hundredths at least.
const REPLICAS: u32 = 100;
/// More pods than come: the trace knows no such limit.
const PODS_MAX: i64 = 1 << 20;
/// All pods are in one namespace.
const NAMESPACE: &str = "openb";

/// What is told of nodes and pods.
pub(super) struct Facts {
    pub(super) nodes: Vec<NodeFacts>,
    by_name: Map<Box<str>, usize>,
    /// By shape.
    specs: Vec<PodSpec>,
}

impl Facts {
    pub(super) fn new(trace: &Trace) -> Self {
        let names = trace.nodes.iter().enumerate();
        Self {
            nodes: trace.nodes.iter().map(node_facts).collect(),
            by_name: names.map(|(at, node)| (node.name.clone(), at)).collect(),
            specs: trace.shapes.iter().map(spec).collect(),
        }
    }

    /// The node that has a name.
    pub(super) fn node_of(&self, name: &str) -> usize {
        self.by_name[name]
    }

    /// What pods of a shape ask for.
    pub(super) fn spec(&self, shape: ShapeAt) -> &PodSpec {
        &self.specs[shape.0]
    }

    /// A pod on no node.
    pub(super) fn pod(&self, pod: PodAt, shape: ShapeAt, now: Time) -> PodFacts {
        let name: Box<str> = uid(pod);
        PodFacts {
            key: PodKey { uid: name.clone(), namespace: NAMESPACE.into(), name },
            spec: self.specs[shape.0].clone(),
            labels: Default::default(),
            owner: None,
            volumes: Default::default(),
            node: None,
            nominated: None,
            is_finished: false,
            gang: None,
            rest: PodRest { created: (now.0 / 1000).cast_signed(), ..PodRest::default() },
        }
    }

    /// A pod on a node.
    pub(super) fn placed_pod(
        &self,
        pod: PodAt,
        shape: ShapeAt,
        node: usize,
        created: Time,
    ) -> PodFacts {
        let node = Some(self.nodes[node].name.clone());
        PodFacts { node, ..self.pod(pod, shape, created) }
    }
}

/// The uid of a pod, and its name.
pub(super) fn uid(pod: PodAt) -> Box<str> {
    format!("pod-{:06}", pod.0).into()
}

/// Which pod has a uid that [`uid`] made.
pub(super) fn pod_of(uid: &str) -> PodAt {
    let number = uid.strip_prefix("pod-").and_then(|number| number.parse().ok());
    PodAt(number.expect("all pods have numbers"))
}

/// A node all of whose GPUs can be shared.
fn node_facts(node: &Node) -> NodeFacts {
    let gpus = node.gpus.len();
    let count = u32::try_from(gpus).expect("no machine has so many GPUs");
    let offered = i64::from(count) * i64::from(REPLICAS);
    let shared = SharedGpus { resource: GPU.into(), replicas: REPLICAS, is_mps: false };
    let all_gpus = AllGpus {
        count: Some(count),
        model: Some(node.model_name.clone()),
        shared: [shared].into(),
        ..AllGpus::default()
    };
    let hardware = HardwareFacts { all_gpus, ..HardwareFacts::default() };
    let model = (MODEL.to_owned(), node.model_name.to_string());
    let has_gpus = gpus > 0;
    NodeFacts {
        name: node.name.to_string(),
        labels: has_gpus.then_some(model).into_iter().collect(),
        allocatable: amounts(node.cpu_milli.cast_signed(), node.memory_mib.cast_signed(), offered),
        pods_max: PODS_MAX,
        hardware: has_gpus.then(|| Box::new(hardware)),
        ..NodeFacts::default()
    }
}

/// What a pod asks for. It runs to an end, so it is batch.
fn spec(shape: &Shape) -> PodSpec {
    let ask = &shape.ask;
    let milli = u16::try_from(ask.gpu_milli).expect("a part of a GPU is at most a whole one");
    let share = Some(GpuShare::Milli(milli));
    let wish = GpuWish { share, ..GpuWish::default() };
    let hints = Hints { declared: Some(Said::Known(Workload::Batch)), ..Hints::default() };
    let (cpu, memory) = (ask.cpu_milli.cast_signed(), shape.memory_mib.cast_signed());
    let models: Vec<String> =
        ask.models.0.split('|').filter(|model| !model.is_empty()).map(str::to_owned).collect();
    PodSpec {
        scheduler: PROFILE.to_owned(),
        namespace: NAMESPACE.to_owned(),
        requests: requests(cpu, memory, ask.gpus as i64),
        required: (!models.is_empty()).then(|| vec![has_model(models)]),
        hints: hints.if_any(),
        gpu: (ask.gpus > 0).then(|| Box::new(wish)),
        ..PodSpec::default()
    }
}

fn has_model(values: Vec<String>) -> NodeTerm {
    let one = RequirementSpec { key: MODEL.to_owned(), operator: LabelOperator::In, values };
    NodeTerm { expressions: vec![one], fields: Vec::new() }
}
