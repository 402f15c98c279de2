//! Each rule by table: what it refuses, and what it lets pass.

use model::{Features, Protocol};

use super::*;
use crate::quantities::{amounts, requests};

/// A node of two CPUs for ten pods, in zone a.
fn node(change: impl FnOnce(&mut NodeFacts)) -> NodeFacts {
    let mut node = NodeFacts {
        name: "n".to_owned(),
        labels: vec![("zone".to_owned(), "a".to_owned()), ("cores".to_owned(), "16".to_owned())],
        allocatable: amounts(2_000, 1_024, 1),
        pods_max: 10,
        ..NodeFacts::default()
    };
    change(&mut node);
    node
}

fn pod(change: impl FnOnce(&mut PodSpec)) -> PodSpec {
    let mut spec = PodSpec { requests: requests(500, 256, 0), ..PodSpec::default() };
    change(&mut spec);
    spec
}

fn said(spec: &PodSpec, node: &NodeFacts, others: &[PodSpec]) -> Vec<Objection> {
    objections(spec, node, &Taken::by(others.iter()))
}

fn lack(resource: &str, is_beyond_node: bool) -> Objection {
    Objection::Lack { resource: resource.to_owned(), is_beyond_node }
}

#[test]
fn taints_and_closed_nodes_by_table() {
    let taint = |effect| vec![Taint { key: "gpu".to_owned(), value: "yes".to_owned(), effect }];
    let toleration = |key: Option<&str>, operator, effect| Toleration {
        key: key.map(str::to_owned),
        value: "yes".to_owned(),
        operator,
        effect,
    };
    let exists = |key, effect| vec![toleration(key, Operator::Exists, effect)];
    let strict = || taint(Effect::NoSchedule);
    let tainted = Some(Objection::Tainted);
    // (taints, closed, tolerations, objection)
    let table = [
        (vec![], false, vec![], None),
        (strict(), false, vec![], tainted.clone()),
        (taint(Effect::NoExecute), false, vec![], tainted.clone()),
        (taint(Effect::PreferNoSchedule), false, vec![], None),
        (strict(), false, exists(Some("gpu"), Some(Effect::NoSchedule)), None),
        (strict(), false, exists(Some("gpu"), Some(Effect::NoExecute)), tainted.clone()),
        (strict(), false, exists(Some("spot"), None), tainted.clone()),
        (strict(), false, vec![toleration(Some("gpu"), Operator::Equal, None)], None),
        (strict(), false, vec![toleration(Some("gpu"), Operator::Never, None)], tainted),
        (vec![], true, vec![], Some(Objection::Closed)),
        (vec![], true, exists(None, None), None),
    ];
    for (taints, is_closed, tolerations, expected) in table {
        let text = format!("{taints:?} {is_closed} {tolerations:?}");
        let node = node(|node| (node.taints, node.is_closed) = (taints, is_closed));
        let spec = pod(|spec| spec.tolerations = tolerations);
        assert_eq!(said(&spec, &node, &[]), Vec::from_iter(expected), "{text}");
    }
}

#[test]
fn requirements_by_table() {
    use LabelOperator::{DoesNotExist, Exists, Gt, In, Lt, NotIn, Unknown};
    // (key, operator, values, matches)
    let table: [(&str, LabelOperator, &[&str], bool); 14] = [
        ("zone", In, &["a", "b"], true),
        ("zone", In, &["b"], false),
        ("disk", In, &["ssd"], false),
        ("zone", In, &[], false),
        ("zone", NotIn, &["b"], true),
        ("zone", NotIn, &["a"], false),
        ("disk", NotIn, &["ssd"], true),
        ("zone", Exists, &[], true),
        ("disk", DoesNotExist, &[], true),
        ("zone", DoesNotExist, &[], false),
        ("cores", Gt, &["15"], true),
        ("cores", Lt, &["16"], false),
        ("zone", Gt, &["1"], false),
        ("zone", Unknown, &[], false),
    ];
    for (key, operator, values, expected) in table {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        let requirement = RequirementSpec { key: key.to_owned(), operator, values };
        let text = format!("{requirement:?}");
        let term = NodeTerm { expressions: vec![requirement], fields: Vec::new() };
        let spec = pod(|spec| spec.required = Some(vec![term]));
        assert_eq!(said(&spec, &node(|_| {}), &[]).is_empty(), expected, "{text}");
    }
    let selected = |value: &str| vec![("zone".to_owned(), value.to_owned())];
    let none = pod(|spec| spec.required = Some(vec![NodeTerm::default()]));
    assert_eq!(said(&none, &node(|_| {}), &[]), [Objection::Affinity], "empty terms match nothing");
    let right = pod(|spec| spec.node_selector = selected("a"));
    let wrong = pod(|spec| spec.node_selector = selected("b"));
    assert_eq!(said(&right, &node(|_| {}), &[]), []);
    assert_eq!(said(&wrong, &node(|_| {}), &[]), [Objection::Affinity]);
}

#[test]
fn a_pod_that_names_nodes_goes_nowhere_else() {
    let field = |operator, name: &str| {
        let (key, values) = ("metadata.name".to_owned(), vec![name.to_owned()]);
        NodeTerm { fields: vec![RequirementSpec { key, operator, values }], ..NodeTerm::default() }
    };
    let by_term = |operator, name| pod(|spec| spec.required = Some(vec![field(operator, name)]));
    let target = |name: &str| pod(|spec| spec.target = Some(name.to_owned()));
    assert_eq!(said(&target("n"), &node(|_| {}), &[]), []);
    assert_eq!(said(&target("m"), &node(|_| {}), &[]), [Objection::NotNamed]);
    assert_eq!(said(&by_term(FieldOperator::In, "n"), &node(|_| {}), &[]), []);
    assert_eq!(said(&by_term(FieldOperator::In, "m"), &node(|_| {}), &[]), [Objection::NotNamed]);
    let not = by_term(FieldOperator::NotIn, "n");
    assert_eq!(said(&not, &node(|_| {}), &[]), [Objection::Affinity], "it names no node to go to");
}

#[test]
fn room_is_what_others_leave() {
    let small = || pod(|_| {});
    let of = |cpu, memory, gpus| pod(|spec| spec.requests = requests(cpu, memory, gpus));
    let node = node(|_| {});
    assert_eq!(said(&small(), &node, &[small(), small(), small()]), []);
    let full = [small(), small(), small(), small()];
    assert_eq!(said(&small(), &node, &full), [lack("cpu", false), lack("memory", false)]);
    assert_eq!(said(&of(0, 0, 0), &node, &full), [], "nothing fits everywhere");
    assert_eq!(said(&of(3_000, 1, 0), &node, &[]), [lack("cpu", true)]);
    assert_eq!(said(&of(0, 0, 1), &node, &[of(0, 0, 1)]), [lack("nvidia.com/gpu", false)]);
    let ten: Vec<PodSpec> = (0..10).map(|_| of(0, 0, 0)).collect();
    assert_eq!(said(&of(0, 0, 0), &node, &ten), [Objection::Pods]);
}

#[test]
fn ports_and_features_count() {
    let port = |address: Option<&str>, port| {
        let address = address.map(str::to_owned);
        pod(|spec| spec.ports = vec![HostPort { address, protocol: Protocol::Tcp, port }])
    };
    let (any, one, other) = (port(None, 80), port(Some("1"), 80), port(Some("2"), 80));
    assert_eq!(said(&any, &node(|_| {}), std::slice::from_ref(&one)), [Objection::Port]);
    assert_eq!(said(&one, &node(|_| {}), &[other]), []);
    assert_eq!(said(&port(None, 81), &node(|_| {}), &[any]), []);
    let needy = pod(|spec| spec.features = Features::RESTART_ALL);
    assert_eq!(said(&needy, &node(|_| {}), &[]), [Objection::Feature]);
    assert_eq!(said(&needy, &node(|node| node.features = Features::RESTART_ALL), &[]), []);
}
