//! Lines of words to nodes, pods, services and controllers.
//!
//! ```text
//! node NAME cpu=4 memory=8Gi storage=1Gi pods=110 gpu=2 example.com/x=1 LABEL=VALUE closed
//!           taint=KEY[=VALUE]:EFFECT image=NAME@SIZE feature=NAME label=LABEL:VALUE
//! pod  NAME cpu= memory= storage= gpu= example.com/x=1 overhead=100m on=NODE target=NODE
//!           select=KEY:VALUE require=TERM prefer=WEIGHT:TERM tolerate=TOLERATION
//!           port=80[/UDP][@ADDRESS] image= feature= need=NEED
//!           label=KEY:VALUE spread=KEY,SKEW,LABEL:VALUE[,soft] near=KEY,LABEL:VALUE[,NAMESPACE]
//!           far=KEY,LABEL:VALUE[,NAMESPACE] like=WEIGHT,KEY,LABEL:VALUE[,NAMESPACE]
//!           where NAMESPACE is a name, LABEL:VALUE of namespaces or * for all
//!           priority=5 polite gate=NAME nominated=NODE namespace= scheduler= uid=
//!           started=SECONDS owner=KIND/NAME finished terminating preempted
//!           gang=NAME[/MIN] group=KIND/NAME[/PART] timeout=SECONDS workers=COUNT@CPU
//!           after=GANG broken=WHY created=SECONDS eligible=SECONDS|unsaid remade tier=WORD
//!           class=NAME workload=WORD zones-spread=WORD
//! podgroup KIND/NAME[/PART] min=3 timeout=SECONDS priority=5 topology=LABEL parent=NAME started
//!           whole minres=cpu:8
//!           where KIND is native, composite, workload, coscheduling, volcano or kai
//! namespace NAME LABEL:VALUE ..
//! budget NAME allows=1 label=KEY:VALUE disrupted=POD namespace=
//! grouping KIND/NAME LABEL:VALUE .. namespace=
//!           where KIND is service, replicationcontroller, replicaset or statefulset
//! ```

use model::{
    Amounts, BudgetFacts, Charge, Disk, DiskId, Eligible, Features, GroupingFacts, GroupingKey,
    GroupingKind, HostPort, LabelSelector, NamespaceFacts, Need, NodeFacts, Owner, PodFacts,
    PodKey, PodRest, PodSpec, PodTerm, PodVolume, Protocol, Quantity, Requests, Said, Tier,
    Workload,
};

use crate::{gangs, hardware, terms};

/// A node by its words. Without other words it has 4 CPUs, 8 GiB and room for 110 pods.
///
/// # Panics
/// When a word makes no sense.
#[must_use]
pub fn node(words: &str) -> NodeFacts {
    let mut words = words.split_whitespace();
    let mut amounts = Amounts { cpu: 4000, memory: 8 << 30, ..Amounts::default() };
    let mut node = NodeFacts {
        name: words.next().expect("a node has a name").into(),
        pods_max: 110,
        ..NodeFacts::default()
    };
    let mut features = Vec::new();
    for word in words {
        match word.split_once('=') {
            None if word == "closed" => node.is_closed = true,
            None => panic!("a node does not know the word {word:?}"),
            Some((key, value)) if ask(&mut amounts, key, value) => {}
            Some((key, value)) if hardware::set_node(&mut node, key, value) => {}
            Some(("pods", value)) => node.pods_max = number(value),
            Some(("taint", value)) => node.taints.push(terms::taint(value)),
            Some(("feature", value)) => features.push(value),
            Some(("label", value)) => node.labels.push(terms::pair(value)),
            Some(("image", value)) => {
                let (name, size) = value.split_once('@').expect("an image is NAME@SIZE");
                node.images.push((name.into(), quantity(size).units()));
            }
            Some((key, value)) => node.labels.push((key.into(), value.into())),
        }
    }
    node.features = Features::named(features);
    node.allocatable = amounts;
    node
}

/// A disruption budget by its words. It allows nothing, of no pods, unless it says so.
///
/// # Panics
/// When a word makes no sense.
#[must_use]
pub fn budget(words: &str) -> BudgetFacts {
    let mut words = words.split_whitespace();
    let name = words.next().expect("a budget has a name").into();
    let mut budget = BudgetFacts { namespace: "default".into(), name, ..BudgetFacts::default() };
    for word in words {
        match word.split_once('=') {
            Some(("allows", value)) => budget.allowed = value.parse().expect("a number"),
            Some(("label", value)) => budget.selector = Some(terms::selector(value)),
            Some(("namespace", value)) => budget.namespace = value.into(),
            Some(("disrupted", value)) => {
                budget.disrupted = budget.disrupted.iter().cloned().chain([value.into()]).collect();
            }
            Some(_) | None => panic!("a budget does not know the word {word:?}"),
        }
    }
    budget
}

/// A pod by its words. Its uid is its name, and it asks for nothing unless it says so.
///
/// # Panics
/// When a word makes no sense.
#[must_use]
pub fn pod(words: &str) -> PodFacts {
    let mut words = words.split_whitespace();
    let name: Box<str> = words.next().expect("a pod has a name").into();
    let mut pod = PodFacts {
        volumes: [].into(),
        key: PodKey { uid: name.clone(), namespace: "default".into(), name },
        spec: PodSpec { scheduler: "default-scheduler".into(), ..PodSpec::default() },
        labels: Default::default(),
        owner: None,
        node: None,
        nominated: None,
        is_finished: false,
        gang: None,
        rest: PodRest::default(),
    };
    let (mut amounts, mut overhead, mut is_exclusive) = (Amounts::default(), 0, false);
    for word in words {
        match word.split_once('=') {
            None if word == "finished" => pod.is_finished = true,
            None if word == "terminating" => pod.rest.is_terminating = true,
            None if word == "preempted" => {
                (pod.rest.is_terminating, pod.rest.is_preempted) = (true, true);
            }
            None if word == "polite" => pod.rest.is_preempting = false,
            None if word == "remade" => pod.rest.is_remade = true,
            None if word == "exclusive" => is_exclusive = true,
            None => panic!("a pod does not know the word {word:?}"),
            Some((key, value)) if ask(&mut amounts, key, value) => {}
            Some(("overhead", value)) => overhead = quantity(value).milli(),
            Some((key, value)) if hardware::set_pod(&mut pod, key, value) => {}
            Some((key, value)) => set_pod(&mut pod, key, value),
        }
    }
    gangs::set_priority(&mut pod);
    pod.spec.namespace = pod.key.namespace.to_string();
    let PodSpec { near, far, prefers, namespace, .. } = &mut pod.spec;
    let terms = near.iter_mut().chain(far).chain(prefers.iter_mut().map(|(_, term)| term));
    let is_own = |term: &&mut PodTerm| {
        term.target.namespaces.is_empty() && term.target.namespace_selector.is_none()
    };
    for term in terms.filter(is_own) {
        term.target.namespaces.push(namespace.clone());
    }
    let is_picky = pod.spec.numa.as_ref().is_some_and(|wish| wish.asked().is_some());
    let is_asking = is_exclusive || is_picky;
    pod.spec.ask = is_asking.then(|| hardware::ask(&amounts, is_exclusive));
    pod.spec.requests = requests(amounts, overhead);
    pod
}

/// A claim by name, a disk, or the claim of an ephemeral volume.
fn volume(pod: &mut PodFacts, key: &str, value: &str) {
    let volume = match key {
        "claim" => PodVolume::Claim(value.into()),
        "ephemeral" => PodVolume::Ephemeral {
            claim: value.into(),
            pod: pod.key.uid.clone(),
            pod_name: pod.key.name.clone(),
        },
        _ => PodVolume::Inline {
            disk: Some(Disk { id: DiskId::Gce(value.into()), is_read_only: false }),
            csi: None,
            is_broken: false,
        },
    };
    pod.volumes = pod.volumes.iter().cloned().chain([volume]).collect();
    pod.spec.needs = vec![Need::Volumes];
}

fn set_pod(pod: &mut PodFacts, key: &str, value: &str) {
    let spec = &mut pod.spec;
    match key {
        "on" => pod.node = Some(value.into()),
        "created" => pod.rest.created = number(value),
        "eligible" => {
            let seconds = || value.parse().expect("a time is a number of seconds");
            let is_unsaid = value == "unsaid";
            pod.rest.eligible =
                if is_unsaid { Eligible::Ungated } else { Eligible::Since(seconds()) };
        }
        "gang" | "group" | "timeout" | "workers" | "after" | "broken" => {
            gangs::claim(pod, key, value)
        }
        "nominated" => pod.nominated = Some(value.into()),
        "target" => spec.target = Some(value.into()),
        "select" => spec.node_selector.push(terms::pair(value)),
        "require" => spec.required.get_or_insert_default().push(terms::term(value)),
        "prefer" => spec.preferred.push(terms::preference(value)),
        "tolerate" => spec.tolerations.push(terms::toleration(value)),
        "port" => spec.ports.push(port(value)),
        "image" => spec.images.push(value.into()),
        "feature" => spec.features = spec.features.with(Features::named([value])),
        "need" => spec.needs.push(need(value)),
        "claim" | "disk" | "ephemeral" => volume(pod, key, value),
        "label" => {
            let (key, value) = terms::pair(value);
            let mut labels = pod.labels.to_vec();
            labels.push((key.into(), value.into()));
            labels.sort();
            pod.labels = labels.into();
        }
        "spread" => spec.spread.push(terms::spread(value)),
        "near" => spec.near.push(terms::pod_term(value)),
        "far" => spec.far.push(terms::pod_term(value)),
        "like" => spec.prefers.push(terms::liking(value)),
        "started" => pod.rest.started = Some(number(value)),
        "priority" => pod.rest.priority = value.parse().expect("a priority is a number"),
        "gate" => pod.rest.gates = pod.rest.gates.iter().cloned().chain([value.into()]).collect(),
        "namespace" => pod.key.namespace = value.into(),
        "scheduler" => spec.scheduler = value.into(),
        "uid" => pod.key.uid = value.into(),
        "tier" => {
            spec.hints.get_or_insert_default().tier = Some(Said::read(value, &Tier::WORDS));
        }
        "class" => spec.hints.get_or_insert_default().priority_class = Some(value.into()),
        "workload" => {
            spec.hints.get_or_insert_default().declared = Some(Said::read(value, &Workload::WORDS));
        }
        "zones-spread" => {
            let words = [("true", true), ("false", false)];
            spec.hints.get_or_insert_default().spread = Some(Said::read(value, &words));
        }
        "owner" => {
            let GroupingKey { kind, name, .. } = grouping_key(value);
            pod.owner = Some(Owner { kind, name });
        }
        _ => panic!("a pod does not know the word {key}={value}"),
    }
}

/// A namespace by its name and labels.
///
/// # Panics
/// When a word makes no sense.
#[must_use]
pub fn namespace(words: &str) -> NamespaceFacts {
    let mut words = words.split_whitespace();
    let name = words.next().expect("a namespace has a name").into();
    let labels = words.map(terms::pair).map(|(key, value)| (key.into(), value.into()));
    let mut labels: Vec<(Box<str>, Box<str>)> = labels.collect();
    labels.sort();
    NamespaceFacts { name, labels: labels.into() }
}

/// A service or a controller by its words.
///
/// # Panics
/// When a word makes no sense.
#[must_use]
pub fn grouping(words: &str) -> GroupingFacts {
    let mut words = words.split_whitespace();
    let mut key = grouping_key(words.next().expect("a grouping has a name"));
    let mut selector = LabelSelector::default();
    for word in words {
        match word.split_once('=') {
            None => selector.requirements.extend(terms::selector(word).requirements),
            Some(("namespace", value)) => key.namespace = value.into(),
            Some(_) => panic!("a grouping does not know the word {word:?}"),
        }
    }
    GroupingFacts { key, selector }
}

/// Which service or controller `KIND/NAME` is, in the default namespace.
pub(crate) fn grouping_key(text: &str) -> GroupingKey {
    let (kind, name) = text.split_once('/').expect("a grouping is KIND/NAME");
    GroupingKey { kind: grouping_kind(kind), namespace: "default".into(), name: name.into() }
}

pub(crate) fn grouping_kind(word: &str) -> GroupingKind {
    match word {
        "service" => GroupingKind::Service,
        "replicationcontroller" => GroupingKind::ReplicationController,
        "replicaset" => GroupingKind::ReplicaSet,
        "statefulset" => GroupingKind::StatefulSet,
        _ => panic!("{word:?} groups nobody"),
    }
}

/// Takes in an amount of a resource, if the key is one.
pub(crate) fn ask(amounts: &mut Amounts<String>, key: &str, value: &str) -> bool {
    match key {
        "cpu" => amounts.cpu = quantity(value).milli(),
        "memory" => amounts.memory = quantity(value).units(),
        "storage" => amounts.ephemeral = quantity(value).units(),
        "gpu" => add_scalar(amounts, "nvidia.com/gpu", number(value)),
        _ if model::is_scalar_resource(key) => add_scalar(amounts, key, number(value)),
        _ => return false,
    }
    true
}

fn add_scalar(amounts: &mut Amounts<String>, name: &str, amount: i64) {
    let mut scalars = std::mem::take(&mut amounts.scalars).into_vec();
    scalars.push((name.into(), amount));
    scalars.sort();
    amounts.scalars = scalars.into();
}

/// The amounts of a pod of one container.
pub(crate) fn requests(container: Amounts<String>, overhead: i64) -> Requests<String> {
    let or = |amount: i64, default: i64| if amount == 0 { default } else { amount };
    let scored_cpu = or(container.cpu, 100) + overhead;
    let scored_memory = or(container.memory, 200 << 20);
    let amounts = Amounts { cpu: container.cpu + overhead, ..container };
    let fullness = Amounts { cpu: scored_cpu, memory: scored_memory, ..amounts.clone() };
    let charge = Charge { amounts: amounts.clone(), scored_cpu, scored_memory };
    Requests { fit: amounts, charge, fullness }
}

fn port(text: &str) -> HostPort<String> {
    let (text, address) = match text.split_once('@') {
        Some((text, address)) => (text, Some(address.to_owned())),
        None => (text, None),
    };
    let (port, protocol) = match text.split_once('/') {
        None | Some((_, "TCP")) => (text.trim_end_matches("/TCP"), Protocol::Tcp),
        Some((port, "UDP")) => (port, Protocol::Udp),
        Some((port, "SCTP")) => (port, Protocol::Sctp),
        Some((port, other)) => (port, Protocol::Other(other.into())),
    };
    HostPort { address, protocol, port: port.parse().expect("a port is a number") }
}

fn need(text: &str) -> Need {
    match text {
        "volumes" => Need::Volumes,
        "claims" => Need::ResourceClaims,
        _ => panic!("there is no need {text:?}"),
    }
}

pub(crate) fn quantity(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn number(text: &str) -> i64 {
    text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}"))
}
