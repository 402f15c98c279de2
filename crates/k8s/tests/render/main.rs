//! Decisions as the API server and users see them, to the letter.

mod faults;

use std::collections::BTreeSet;

use kubenexus_k8s::render::{binding, code_word, condition, reason_text};
use model::{
    Catalog, Code, Diagnosis, GpuFault, Need, NodeFacts, PodFacts, PodKey, PodSpec, Reason, Rescue,
    ResourceId,
};

use faults::{fabric_faults, gpu_faults, numa_faults, tier_faults, volume_faults};

fn boxed(names: &[&str]) -> Box<[Box<str>]> {
    names.iter().map(|name| (*name).into()).collect()
}

/// One of every reason, in the order of their declaration.
fn every_reason(gpu: ResourceId) -> Vec<Reason> {
    vec![
        Reason::NoNodes,
        Reason::Gated(Box::new(["example.com/quota".into(), "example.com/team".into()])),
        Reason::OtherNode,
        Reason::Closed,
        Reason::UntoleratedTaint,
        Reason::NodeAffinity,
        Reason::AddedAffinity,
        Reason::AffinityConflict,
        Reason::NotNamed(boxed(&["NodeAffinity", "Other"])),
        Reason::NoneNamed(boxed(&["NodeAffinity"])),
        Reason::NoneNamed(boxed(&["NodeAffinity", "Other"])),
        Reason::HostPort,
        Reason::TooManyPods,
        Reason::Insufficient { resource: ResourceId::MEMORY, is_beyond_node: false },
        Reason::Insufficient { resource: gpu, is_beyond_node: true },
        Reason::MissingFeature,
        Reason::SpreadLabel,
        Reason::SpreadSkew,
        Reason::NotNear,
        Reason::NotFar,
        Reason::Unwelcome,
        Reason::BrokenSpread,
        Reason::BrokenTerm,
        Reason::NotSupported(Need::ResourceClaims),
        Reason::BrokenPreference,
        Reason::GangFault("two names".into()),
        Reason::NoPodGroup("train".into()),
        Reason::GangIncomplete { there: 7, min: 8 },
        Reason::MemberGated("worker-3".into()),
        Reason::After("prepare".into()),
        Reason::AfterCycle(boxed(&["a", "b", "a"])),
        Reason::OtherDomain,
        short_in_all("cpu", (40_000, 12_500, 64_000)),
        short_in_all("memory", (10 << 30, 0, 5 << 20)),
    ]
    .into_iter()
    .chain(volume_faults().into_iter().map(|(fault, ..)| Reason::Volume(fault)))
    .chain(numa_faults().into_iter().map(|(fault, ..)| Reason::Numa(fault)))
    .chain(gpu_faults().into_iter().map(|(fault, ..)| Reason::Gpu(fault)))
    .chain(fabric_faults().into_iter().map(|(fault, ..)| Reason::Fabric(fault)))
    .chain(tier_faults().into_iter().map(|(fault, ..)| Reason::Tier(fault)))
    .collect()
}

fn short_in_all(resource: &str, (asked, free, offered): (i64, i64, i64)) -> Reason {
    Reason::ClusterShort { resource: resource.into(), asked, free, offered }
}

/// What users read for a fault, and whether evicting pods may help.
fn found<T: PartialEq>(
    faults: Vec<(T, &'static str, &'static str)>,
    fault: &T,
) -> (&'static str, &'static str) {
    let found = faults.into_iter().find(|(other, ..)| other == fault);
    found.map(|(_, text, code)| (text, code)).expect("every fault is listed")
}

/// What users read for a reason that is about a gang.
fn of_gang(reason: &Reason) -> &'static str {
    match reason.word() {
        "GangInvalid" => "gang: two names",
        "PodGroupMissing" => "waiting for PodGroup \"train\", which is not there",
        "GangIncomplete" => "waiting for the gang: 7 of at least 8 are there",
        "GangMemberGated" => "waiting for the scheduling gates of \"worker-3\"",
        "DependencyPending" => "waiting for gang \"prepare\" to succeed",
        "DependencyCycle" => "gangs wait for each other: a -> b -> a",
        other => panic!("{other} is not about a gang"),
    }
}

/// What users read for a reason, and whether evicting pods may help.
fn expected(reason: &Reason) -> (&'static str, &'static str) {
    let never = "UnschedulableAndUnresolvable";
    match reason {
        Reason::NoNodes => ("no nodes available to schedule pods", never),
        Reason::Gated(_) => {
            ("waiting for scheduling gates: [example.com/quota example.com/team]", never)
        }
        Reason::OtherNode => ("node(s) didn't match the requested node name", never),
        Reason::Closed => ("node(s) were unschedulable", never),
        Reason::UntoleratedTaint => ("node(s) had untolerated taint(s)", never),
        Reason::NodeAffinity => ("node(s) didn't match Pod's node affinity/selector", never),
        Reason::AddedAffinity => ("node(s) didn't match scheduler-enforced node affinity", never),
        Reason::AffinityConflict => ("pod affinity terms conflict", never),
        Reason::NotNamed(_) => ("node(s) didn't satisfy plugin(s) [NodeAffinity Other]", never),
        Reason::NoneNamed(plugins) => match plugins.len() {
            1 => ("node(s) didn't satisfy plugin NodeAffinity", never),
            _ => ("node(s) didn't satisfy plugin(s) [NodeAffinity Other] simultaneously", never),
        },
        Reason::HostPort => {
            ("node(s) didn't have free ports for the requested pod ports", "Unschedulable")
        }
        Reason::TooManyPods => ("Too many pods", "Unschedulable"),
        Reason::Insufficient { is_beyond_node: false, .. } => {
            ("Insufficient memory", "Unschedulable")
        }
        Reason::Insufficient { is_beyond_node: true, .. } => ("Insufficient nvidia.com/gpu", never),
        Reason::MissingFeature => ("node(s) didn't match Pod's required features", never),
        Reason::SpreadLabel => {
            ("node(s) didn't match pod topology spread constraints (missing required label)", never)
        }
        Reason::SpreadSkew => {
            ("node(s) didn't match pod topology spread constraints", "Unschedulable")
        }
        Reason::NotNear => ("node(s) didn't match pod affinity rules", never),
        Reason::NotFar => ("node(s) didn't match pod anti-affinity rules", "Unschedulable"),
        Reason::Unwelcome => {
            ("node(s) didn't satisfy existing pods anti-affinity rules", "Unschedulable")
        }
        Reason::BrokenSpread => ("the label selector of a spread constraint is invalid", "Error"),
        Reason::BrokenTerm => ("a label selector of a pod affinity term is invalid", never),
        Reason::NotSupported(need) => (not_supported(*need), never),
        Reason::BrokenPreference => {
            ("a preferred node affinity term is invalid, so nodes cannot be ranked", "Error")
        }
        Reason::GangFault(_)
        | Reason::NoPodGroup(_)
        | Reason::GangIncomplete { .. }
        | Reason::MemberGated(_)
        | Reason::After(_)
        | Reason::AfterCycle(_) => (of_gang(reason), never),
        Reason::Numa(fault) => found(numa_faults(), fault),
        Reason::Gpu(fault) => found(gpu_faults(), fault),
        Reason::Fabric(fault) => found(fabric_faults(), fault),
        Reason::Tier(fault) => found(tier_faults(), fault),
        Reason::Volume(fault) => found(volume_faults(), fault),
        Reason::OtherDomain => ("node(s) were outside the topology domain of the gang", never),
        Reason::ClusterShort { resource, .. } => match &**resource {
            "cpu" => (
                "waiting for minResources of the gang: 40 cpu are asked for, \
                 12500m are free on all nodes",
                never,
            ),
            _ => (
                "waiting for minResources of the gang: 10Gi memory are asked for, \
                 0 are free on all nodes, which have 5Mi. It can never fit this cluster.",
                never,
            ),
        },
    }
}

fn not_supported(need: Need) -> &'static str {
    match need {
        Need::Volumes => "volumes that tie a pod to nodes (claims and disks) are not supported yet",
        Need::ResourceClaims => "resource claims (DRA) are not supported yet",
    }
}

#[test]
fn every_reason_has_its_text_and_code() {
    let mut catalog = Catalog::default();
    let gpu = catalog.resource("nvidia.com/gpu");
    for reason in every_reason(gpu) {
        let found = (&*reason_text(&reason, &catalog), code_word(reason.code()));
        assert_eq!(found, expected(&reason), "{reason:?}");
    }
    let words = [Code::Unschedulable, Code::Unresolvable, Code::Error].map(code_word);
    assert_eq!(words, ["Unschedulable", "UnschedulableAndUnresolvable", "Error"]);
}

#[test]
fn every_code_is_in_the_documentation_and_stays_what_it_is() {
    let mut catalog = Catalog::default();
    let gpu = catalog.resource("nvidia.com/gpu");
    let mut expected: Vec<String> = Vec::new();
    for reason in every_reason(gpu) {
        let helps = if reason.code() == Code::Unschedulable { "yes" } else { "no" };
        let code = format!("| `{}` |", reason.word());
        if !expected.iter().any(|row| row.starts_with(&code)) {
            expected.push(format!("{code} {} | {helps} |", reason_text(&reason, &catalog)));
        }
    }
    let page = include_str!("../../../../docs/reasons.md");
    let (_, table) = page.split_once("| Code |").expect("a table");
    let rows: Vec<&str> = table.lines().skip(2).collect();
    assert_eq!(rows.len(), expected.len(), "one row per code");
    for (row, expected) in rows.iter().zip(&expected) {
        assert!(row.starts_with(expected), "{row}\nexpected\n{expected}");
    }
    // A reader of reasons knows all of them by name: none is left out above.
    let names = serde_json::from_str::<Reason>("\"?\"").expect_err("no such reason").to_string();
    let of_volumes: BTreeSet<_> = volume_faults().iter().map(|(it, ..)| it.word()).collect();
    let of_zones: BTreeSet<_> = numa_faults().iter().map(|(it, ..)| it.word()).collect();
    let of_gpus: BTreeSet<_> = gpu_faults().iter().map(|(it, ..)| it.word()).collect();
    let of_tiers: BTreeSet<_> = tier_faults().iter().map(|(it, ..)| it.word()).collect();
    let of_networks = fabric_faults().len();
    let others = names.matches('`').count() / 2 - 6;
    let of_nodes = of_volumes.len() + of_zones.len() + of_gpus.len() + of_tiers.len();
    let listed = others + of_nodes + of_networks;
    assert_eq!(listed, expected.len(), "{names}");
}

#[test]
fn a_binding_is_these_bytes() {
    let mut catalog = Catalog::default();
    let facts = NodeFacts { name: "node-1".into(), ..NodeFacts::default() };
    let (node, _) = catalog.apply_node(&facts);
    let key = PodKey { uid: "uid-\"1\"".into(), namespace: "shop".into(), name: "web".into() };
    let pod = catalog.add_pod(&PodFacts {
        volumes: [].into(),
        labels: Default::default(),
        owner: None,
        key,
        spec: PodSpec::default(),
        node: None,
        nominated: None,
        is_finished: false,
        gang: None,
        rest: model::PodRest::default(),
    });
    let text = serde_json::to_string(&binding(&catalog, pod, node, None, None)).expect("JSON");
    let expected = concat!(
        r#"{"apiVersion":"v1","kind":"Binding","#,
        r#""metadata":{"name":"web","namespace":"shop","uid":"uid-\"1\""},"#,
        r#""target":{"apiVersion":"v1","kind":"Node","name":"node-1"}}"#
    );
    assert_eq!(text, expected);
    let zoned =
        serde_json::to_string(&binding(&catalog, pod, node, Some(&[0, 2]), None)).expect("JSON");
    let annotated = r#""annotations":{"numa.kubenexus.io/placement":"0,2"}}"#;
    assert!(zoned.contains(annotated), "{zoned}");
}

fn check_condition(diagnosis: &Diagnosis, reason: &str, message: &str) {
    let found = condition(diagnosis, &Catalog::default());
    let text = serde_json::to_value(&found).expect("JSON");
    let expected = serde_json::json!({
        "type": "PodScheduled", "status": "False", "reason": reason, "message": message,
    });
    assert_eq!(text, expected);
}

#[test]
fn nodes_are_counted_by_text() {
    let short = |is_beyond_node| Reason::Insufficient { resource: ResourceId::CPU, is_beyond_node };
    let counts = vec![
        (Reason::UntoleratedTaint, 3),
        (short(false), 2),
        (short(true), 5),
        (Reason::TooManyPods, 12),
    ];
    let message = "0/22 nodes are available: 12 Too many pods, 3 node(s) had untolerated taint(s), \
                   7 Insufficient cpu.";
    check_condition(
        &Diagnosis { nodes: 22, counts, ..Diagnosis::default() },
        "Unschedulable",
        message,
    );
}

#[test]
fn a_pod_turned_away_as_a_whole_has_one_reason() {
    let diagnosis =
        |nodes, rejection| Diagnosis { nodes, rejection: Some(rejection), ..Diagnosis::default() };
    // (nodes, rejection, reason, message)
    let table = [
        (0, Reason::NoNodes, "Unschedulable", "no nodes available to schedule pods"),
        (
            3,
            Reason::NotSupported(Need::ResourceClaims),
            "Unschedulable",
            "0/3 nodes are available: resource claims (DRA) are not supported yet.",
        ),
        (
            3,
            Reason::Gpu(GpuFault::InvalidMemory("annotation x is \"0\": expected 40Gi".into())),
            "Unschedulable",
            "0/3 nodes are available: GPU memory request: annotation x is \"0\": expected 40Gi.",
        ),
        (
            3,
            Reason::NoneNamed(boxed(&["NodeAffinity"])),
            "Unschedulable",
            "0/3 nodes are available: node(s) didn't satisfy plugin NodeAffinity.",
        ),
        (
            3,
            Reason::AffinityConflict,
            "Unschedulable",
            "0/3 nodes are available: pod affinity terms conflict.",
        ),
        (
            3,
            Reason::BrokenPreference,
            "SchedulerError",
            "a preferred node affinity term is invalid, so nodes cannot be ranked",
        ),
    ];
    for (nodes, rejection, reason, message) in table {
        check_condition(&diagnosis(nodes, rejection), reason, message);
    }
}

/// New nodes would not help, so nobody must buy any.
#[test]
fn a_pod_that_is_not_tried_is_not_unschedulable() {
    let short = Reason::ClusterShort { resource: "cpu".into(), asked: 9, free: 1, offered: 5 };
    let table = [
        (Reason::GangFault("two names".into()), "SchedulingGated"),
        (Reason::NoPodGroup("g".into()), "SchedulingGated"),
        (Reason::GangIncomplete { there: 7, min: 8 }, "SchedulingGated"),
        (Reason::MemberGated("g1".into()), "SchedulingGated"),
        (Reason::After("prepare".into()), "SchedulingGated"),
        (Reason::AfterCycle(boxed(&["a", "b", "a"])), "SchedulingGated"),
        (short, "Unschedulable"),
    ];
    for (rejection, reason) in table {
        let rejection = Some(rejection);
        let diagnosis = Diagnosis { nodes: 3, rejection, ..Diagnosis::default() };
        assert_eq!(condition(&diagnosis, &Catalog::default()).reason, reason, "{diagnosis:?}");
    }
}

#[test]
fn one_node_that_cannot_be_judged_makes_it_an_error() {
    let counts = vec![(Reason::Closed, 1), (Reason::BrokenPreference, 1)];
    let message = "0/2 nodes are available: 1 a preferred node affinity term is invalid, so nodes \
                   cannot be ranked, 1 node(s) were unschedulable.";
    check_condition(
        &Diagnosis { nodes: 2, counts, ..Diagnosis::default() },
        "SchedulerError",
        message,
    );
}

#[test]
fn what_else_was_tried_reads_as_users_know_it() {
    let short = Reason::Insufficient { resource: ResourceId::CPU, is_beyond_node: false };
    // (how, what follows the reasons)
    let table = [
        (Rescue::NotAsked, ""),
        (Rescue::Silent, ""),
        (Rescue::ClaimsUnknown, " not found"),
        (Rescue::NotPreempting, " preemption: not eligible due to preemptionPolicy=Never."),
        (
            Rescue::NoVictims(12),
            " preemption: 0/12 nodes are available: 12 No preemption victims found for incoming \
             pod.",
        ),
        (
            Rescue::NoVictims(0),
            " preemption: 0/12 nodes are available: 12 Preemption is not helpful for scheduling.",
        ),
        // Sorted as texts.
        (
            Rescue::NoVictims(2),
            " preemption: 0/12 nodes are available: 10 Preemption is not helpful for scheduling, \
             2 No preemption victims found for incoming pod.",
        ),
        (
            Rescue::NoCandidates {
                without_victims: 2,
                counts: vec![(short.clone(), 3)],
                considered: 5,
            },
            " preemption: 0/12 nodes are available: 2 No preemption victims found for incoming \
             pod, 3 Insufficient cpu, 7 Preemption is not helpful for scheduling.",
        ),
        (
            Rescue::VictimsLeaving,
            " preemption: not eligible due to a terminating pod on the nominated node.",
        ),
        (
            Rescue::Preempts { node: "n1".into(), victims: 2 },
            " preemption: found a potential placement for pod on node n1, preempting 2 victims",
        ),
    ];
    for (rescue, rest) in table {
        let counts = vec![(short.clone(), 12)];
        let message = format!("0/12 nodes are available: 12 Insufficient cpu.{rest}");
        let kept = rescue.clone();
        let diagnosis = Diagnosis { nodes: 12, counts, rescue: kept, ..Diagnosis::default() };
        check_condition(&diagnosis, "Unschedulable", &message);
        let message = format!("0/12 nodes are available: pod affinity terms conflict.{rest}");
        let rejection = Some(Reason::AffinityConflict);
        let diagnosis = Diagnosis { nodes: 12, rejection, rescue, ..Diagnosis::default() };
        check_condition(&diagnosis, "Unschedulable", &message);
    }
}
