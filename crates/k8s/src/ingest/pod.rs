//! Pod objects to facts.

use model::{
    Eligible, Event, Features, HostPort, Need, Operator, PodFacts, PodKey, PodRest, PodSpec,
    PodVolume, Protocol, Toleration,
};

use super::asks::ask;
use super::company::{Company, company, labels};
use super::grouping::owner;
use super::hints::hints;
use super::node::effect;
use super::requests::requests;
use super::terms::{preference, term};
use super::view::{Condition, Container, PodSpecView, PodView, Port, TolerationView};
use super::volume::volumes;
use super::{IngestError, fabric, gang, gpu, numa, read};
use crate::render::HELD;

/// The event that a pod is there.
///
/// # Errors
/// When the object does not have the shape of a Pod.
pub fn pod(object: &serde_json::Value) -> Result<Event, IngestError> {
    Ok(Event::seen(facts(read("Pod", object)?)))
}

/// A pod's facts.
pub(super) fn facts(view: PodView) -> PodFacts {
    let node = Some(view.spec.node_name.clone()).filter(|name| !name.is_empty());
    let nominated = Some(view.status.nominated_node_name.clone()).filter(|name| !name.is_empty());
    let key = key(&view);
    let volumes = volumes(&view.spec.volumes, &key);
    let gang = gang::claim(&view);
    let is_in_gang = gang.as_ref().is_some_and(|claim| !claim.name.is_empty());
    PodFacts {
        key,
        nominated: nominated.filter(|_| node.is_none()),
        node,
        is_finished: matches!(view.status.phase.as_str(), "Succeeded" | "Failed"),
        gang,
        rest: rest(&view),
        labels: labels(&view.metadata.labels),
        owner: owner(&view.metadata.owner_references),
        spec: spec(view, &volumes, is_in_gang),
        volumes,
    }
}

fn rest(view: &PodView) -> PodRest {
    let PodView { metadata, spec, status } = view;
    PodRest {
        priority: spec.priority.unwrap_or(0),
        gates: spec.scheduling_gates.iter().map(|gate| gate.name.as_str().into()).collect(),
        is_preempting: spec.preemption_policy != "Never",
        is_terminating: metadata.deletion_timestamp.is_some(),
        is_preempted: is_preempted(view),
        started: status.start_time.map(|time| time.0),
        generation: metadata.generation,
        created: metadata.creation_timestamp.map_or(0, |time| time.0),
        eligible: eligible(view),
        is_remade: metadata.owner_references.iter().any(|owner| owner.controller),
        placed: numa::placed(view),
        gpus: gpu::placed(view),
    }
}

/// The `PodScheduled` condition, if it stands at `False`.
pub(super) fn not_scheduled(view: &PodView) -> Option<&Condition> {
    let mut conditions = view.status.conditions.iter();
    let found = conditions.find(|condition| condition.r#type == "PodScheduled");
    found.filter(|condition| condition.status == "False")
}

/// Since when a pod can be placed. The condition of one that has gates says so, until somebody
/// writes that no node takes it: that is when its time is written down.
fn eligible(view: &PodView) -> Eligible {
    if !view.spec.node_name.is_empty() {
        return Eligible::Created;
    }
    let condition = not_scheduled(view);
    let has_gates = !view.spec.scheduling_gates.is_empty();
    if has_gates || condition.is_some_and(|condition| condition.reason == HELD) {
        return Eligible::Ungated;
    }
    // A spec that never changed never had gates.
    let was_gated = view.metadata.generation != 1;
    let since = condition.filter(|_| was_gated).and_then(|it| it.last_transition_time);
    let since = since.and_then(|time| u32::try_from(time.0).ok());
    since.map_or(Eligible::Created, Eligible::Since)
}

/// Whether a pod is being deleted because a scheduler evicted it for another one.
fn is_preempted(view: &PodView) -> bool {
    let mut conditions = view.status.conditions.iter();
    let found = conditions.find(|condition| condition.r#type == "DisruptionTarget");
    let is_preemption = |condition: &Condition| {
        condition.status == "True" && condition.reason == "PreemptionByScheduler"
    };
    view.metadata.deletion_timestamp.is_some() && found.is_some_and(is_preemption)
}

/// A pod that is to be judged: a node it names is where it wants to go, so it waits for the node
/// that is proposed for it like any other pod that waits.
///
/// # Errors
/// When the object does not have the shape of a Pod.
pub fn pod_to_judge(object: &serde_json::Value) -> Result<PodFacts, IngestError> {
    let mut view: PodView = read("Pod", object)?;
    let target = std::mem::take(&mut view.spec.node_name);
    let mut facts = facts(view);
    facts.spec.target = Some(target).filter(|name| !name.is_empty());
    Ok(facts)
}

fn key(view: &PodView) -> PodKey {
    let meta = &view.metadata;
    let uid = if meta.uid.is_empty() {
        format!("{}/{}", meta.namespace, meta.name)
    } else {
        meta.uid.clone()
    };
    PodKey {
        uid: uid.into(),
        namespace: meta.namespace.as_str().into(),
        name: meta.name.as_str().into(),
    }
}

fn spec(view: PodView, volumes: &[PodVolume], is_in_gang: bool) -> PodSpec {
    let (requests, hints) = (requests(&view), hints(&view, is_in_gang));
    let wish = numa::wish(&view);
    let ask = ask(&view, wish.as_deref());
    let gpu = gpu::wish(&view, &requests);
    let fabric = fabric::wish(&view);
    let (spec, meta) = (view.spec, view.metadata);
    let Company { spread, near, far, prefers } = company(&meta, &spec);
    PodSpec {
        namespace: meta.namespace,
        target: None,
        requests,
        ports: host_ports(&spec),
        images: images(&spec),
        features: features(&spec),
        needs: needs(&spec, volumes),
        spread,
        near,
        far,
        prefers,
        hints,
        ask,
        numa: wish,
        gpu,
        fabric,
        scheduler: spec.scheduler_name,
        node_selector: spec.node_selector.into_iter().collect(),
        required: spec
            .affinity
            .node_affinity
            .required_during_scheduling_ignored_during_execution
            .map(|selector| selector.node_selector_terms.into_iter().map(term).collect()),
        preferred: spec
            .affinity
            .node_affinity
            .preferred_during_scheduling_ignored_during_execution
            .into_iter()
            .map(preference)
            .collect(),
        tolerations: spec.tolerations.into_iter().map(toleration).collect(),
    }
}

fn toleration(view: TolerationView) -> Toleration<String> {
    Toleration {
        key: Some(view.key).filter(|key| !key.is_empty()),
        value: view.value,
        operator: match view.operator.as_str() {
            "" | "Equal" => Operator::Equal,
            "Exists" => Operator::Exists,
            _ => Operator::Never,
        },
        effect: Some(effect(&view.effect)).filter(|_| !view.effect.is_empty()),
    }
}

/// Ports of containers that run as long as the pod does.
fn host_ports(spec: &PodSpecView) -> Vec<HostPort<String>> {
    let sidecars = spec.init_containers.iter().filter(|container| container.is_restartable());
    let ports = sidecars.chain(&spec.containers).flat_map(|container| &container.ports);
    ports.filter_map(host_port).collect()
}

fn host_port(view: &Port) -> Option<HostPort<String>> {
    let port = u32::try_from(view.host_port).ok().filter(|port| *port > 0)?;
    let is_any = view.host_ip.is_empty() || view.host_ip == "0.0.0.0";
    Some(HostPort {
        address: (!is_any).then(|| view.host_ip.clone()),
        protocol: match view.protocol.as_str() {
            "" | "TCP" => Protocol::Tcp,
            "UDP" => Protocol::Udp,
            "SCTP" => Protocol::Sctp,
            other => Protocol::Other(other.into()),
        },
        port,
    })
}

/// Images of all containers and image volumes, by the names nodes report them under.
fn images(spec: &PodSpecView) -> Vec<String> {
    let containers = spec.init_containers.iter().chain(&spec.containers);
    let volumes = spec.volumes.iter().filter_map(|volume| volume.image.as_ref());
    let names = containers.map(|container| container.image.as_str());
    names.chain(volumes.map(|image| image.reference.as_str())).map(with_tag).collect()
}

/// A name without a tag means the tag `latest`.
pub(crate) fn with_tag(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    if last.contains(':') { name.into() } else { format!("{name}:latest") }
}

fn features(spec: &PodSpecView) -> Features {
    let own = || spec.containers.iter().chain(&spec.init_containers);
    let restarts_all = |container: &Container| {
        container.restart_policy_rules.iter().any(|rule| rule.action == "RestartAllContainers")
    };
    let has_options = |container: &Container| {
        container.volume_mounts.iter().any(|mount| !mount.bind_mount_options.is_empty())
    };
    let facts = [
        (own().any(restarts_all), Features::RESTART_ALL),
        (
            spec.host_network && spec.host_users == Some(false),
            Features::USER_NAMESPACE_HOST_NETWORK,
        ),
        (own().chain(&spec.ephemeral_containers).any(has_options), Features::BIND_MOUNT_OPTIONS),
    ];
    let needed = facts.into_iter().filter(|(is_needed, _)| *is_needed);
    needed.fold(Features::default(), |all, (_, feature)| all.with(feature))
}

fn needs(spec: &PodSpecView, volumes: &[PodVolume]) -> Vec<Need> {
    let facts = [
        (!volumes.is_empty(), Need::Volumes),
        (!spec.resource_claims.is_empty(), Need::ResourceClaims),
    ];
    facts.into_iter().filter(|(is_needed, _)| *is_needed).map(|(_, need)| need).collect()
}
