//! Pools by machine type.

use model::{Catalog, NodeFacts};

use super::super::machines::Machine;
use super::refusals::check_scenarios;
use super::{HEAD, plan, report};
use crate::held::HeldSource;

const NAMES: [&str; 10] = [
    "hgx-h100",
    "hgx-h200",
    "hgx-b200",
    "dgx-a100",
    "pcie-8xl40s",
    "4xa100-nvlink",
    "gb200-nvl72",
    "epyc-2s",
    "xeon-2s-snc4",
    "arm-1s",
];

fn facts(name: &str) -> NodeFacts {
    Machine::aligned(name, "single-numa-node").unwrap_or_else(|| panic!("{name}")).facts()
}

#[test]
fn every_type_is_a_machine_on_which_a_kubelet_starts() {
    for name in NAMES {
        let facts = facts(name);
        let hardware = facts.hardware.as_ref().expect("it tells of its inside");
        assert_eq!(hardware.unread, [].into(), "{name}");
        let mut catalog = Catalog::default();
        let (node, _) = catalog.apply_node(&facts);
        let machine = catalog.machine(node).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(machine.zone_ids().len(), hardware.zones.len(), "{name}");
        // What can be given is what is allocatable.
        let state = model::topology::State::new(machine);
        let cpus = i64::from(state.free_cpus().count()) * 1_000;
        assert_eq!(facts.allocatable.cpu, cpus, "{name}");
        assert_eq!(machine.device_resources().count(), usize::from(!hardware.gpus.is_empty()));
    }
}

#[test]
fn gpus_are_in_the_zones_of_the_table() {
    let zones = |name: &str| -> Vec<u32> {
        let hardware = facts(name).hardware.expect("it tells of its inside");
        hardware.gpus.iter().filter_map(|gpu| gpu.zone).collect()
    };
    assert_eq!(zones("dgx-a100"), [3, 3, 1, 1, 7, 7, 5, 5]);
    assert_eq!(zones("hgx-h100"), [0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(zones("gb200-nvl72"), [0, 0, 1, 1]);
    let hardware = facts("4xa100-nvlink").hardware.expect("it tells of its inside");
    let peers: Vec<_> = hardware.gpus.iter().map(|gpu| gpu.nvlink_peers.to_vec()).collect();
    assert_eq!(peers, [[1], [0], [3], [2]]);
}

const POOL: &str = "pools:
- name: a
  count: 2
  machine: hgx-h100
  topologyManagerPolicy: restricted
  topologyManagerScope: pod
  topologyManagerPolicyOptions: {prefer-closest-numa-nodes: true}
  cpuManagerPolicy: static
  cpuManagerPolicyOptions: {full-pcpus-only: true}
  memoryManagerPolicy: Static
  reservedSystemCPUs: 0-1,112-113
  template:
    metadata: {labels: {pool: gpu}}
    spec: {taints: [{key: gpu, effect: NoSchedule}]}
";

#[test]
fn a_pool_of_machines_has_what_it_says_and_what_its_template_adds() {
    let (plan, _) = plan(&format!("{HEAD}{POOL}"));
    assert_eq!(plan.nodes.len(), 2);
    let facts = &plan.nodes[1].facts;
    assert_eq!(facts.name, "a-002");
    assert_eq!((facts.allocatable.cpu, facts.taints.len()), (220_000, 1));
    let has = |key: &str, value: &str| facts.labels.iter().any(|(k, v)| k == key && v == value);
    assert!(has("pool", "gpu") && has("nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"));
    assert!(has("kubernetes.io/hostname", "a-002"));
    let kubelet = facts.hardware.as_ref().and_then(|told| told.kubelet.as_ref()).expect("told");
    assert_eq!(kubelet.policy, model::topology::TopologyPolicy::Restricted);
    assert_eq!(kubelet.scope, model::topology::TopologyScope::Pod);
    assert!(kubelet.prefers_closest && kubelet.is_memory_static);
    assert!(kubelet.cpu_manager.is_some_and(|options| options.is_full_cores_only));
    assert_eq!(kubelet.reserved_cpus.count(), 4);
}

#[test]
fn mistakes_about_machines_by_table() {
    let pool = "pools:\n- name: a\n  count: 1\n";
    let rows = [
        (
            "  machine: hgx-h10\n",
            "a.yaml:10: pools[0].machine: expected one of hgx-h100, hgx-h200, hgx-b200, dgx-a100, \
             pcie-8xl40s, 4xa100-nvlink, gb200-nvl72, epyc-2s, xeon-2s-snc4, arm-1s, found \
             \"hgx-h10\"; did you mean \"hgx-h100\"?",
        ),
        (
            "  machine: arm-1s\n  topologyManagerPolicy: strict\n",
            "a.yaml:11: pools[0].topologyManagerPolicy: expected one of none, best-effort, \
             restricted, single-numa-node, found \"strict\"",
        ),
        (
            "  machine: arm-1s\n  cpuManagerPolicyOptions: {full-cpus-only: true}\n",
            "a.yaml:11: pools[0].cpuManagerPolicyOptions[\"full-cpus-only\"]: unknown field \
             \"full-cpus-only\"; did you mean \"full-pcpus-only\"?",
        ),
        (
            "  machine: arm-1s\n  cpuManagerPolicyOptions: {full-pcpus-only: maybe}\n",
            "a.yaml:11: pools[0].cpuManagerPolicyOptions[\"full-pcpus-only\"]: expected true or \
             false, found \"maybe\"",
        ),
        (
            "  machine: arm-1s\n  reservedSystemCPUs: 3-1\n",
            "a.yaml:11: pools[0].reservedSystemCPUs: expected CPUs from 0 to 1023, such as \
             0-1,32, found \"3-1\"",
        ),
        (
            "  machine: arm-1s\n  cpuManagerPolicy: static\n  reservedSystemCPUs: '200'\n",
            "a.yaml:8: pools[0].machine: a kubelet with these settings does not start on this \
             machine",
        ),
        (
            "  template: {}\n  topologyManagerScope: pod\n",
            "a.yaml:11: pools[0].topologyManagerScope: only a pool with machine has it",
        ),
        (
            "  machine: arm-1s\n  like: n1\n",
            "a.yaml:8: pools[0]: expected one of template, like and machine",
        ),
    ];
    for (text, expected) in rows {
        check_scenarios(&[(&format!("{pool}{text}"), expected)]);
    }
}

/// Pods with whole CPUs and so many GPUs, on one machine.
fn pods(policy: &str, pods: u32, gpus: u32) -> String {
    format!(
        "{HEAD}span: 1h
pools:
- name: a
  count: 1
  machine: hgx-h100
  topologyManagerPolicy: {policy}
  cpuManagerPolicy: static
jobs:
- template:
    kind: Deployment
    metadata: {{name: train, namespace: team}}
    spec:
      replicas: {pods}
      template:
        spec:
          containers:
          - name: main
            resources: {{limits: {{cpu: 16, memory: 64Gi, nvidia.com/gpu: {gpus}}}}}
"
    )
}

#[test]
fn reports_say_who_holds_which_devices() {
    let report = report(&pods("single-numa-node", 4, 2));
    let kubelets = report.kubelets.expect("kubelets aligned pods");
    assert_eq!((kubelets.aligned, kubelets.rejected), (4, 0));
    let held = report.held.expect("pods hold something");
    let [node] = &held.nodes[..] else { panic!("{held:?}") };
    assert_eq!((&*node.node, node.policy, node.pods.len()), ("a-001", "single-numa-node", 4));
    let mut gpus: Vec<u32> = Vec::new();
    for pod in &node.pods {
        let [of] = &pod.devices[..] else { panic!("{pod:?}") };
        assert_eq!((pod.zones.len(), of.indices.len(), &*pod.tenant), (1, 2, "team"));
        assert_eq!(pod.source, HeldSource::Reported);
        let is_there = |index: &u32| index / 4 == pod.zones[0];
        assert!(of.indices.iter().all(is_there) && !pod.cpus.is_empty(), "{pod:?}");
        gpus.extend(&of.indices);
    }
    gpus.sort_unstable();
    assert_eq!(gpus, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn pods_that_fit_no_zone_are_rejected_if_the_kubelet_insists_on_one() {
    // Three and three leave one GPU in either zone.
    let kubelets = report(&pods("single-numa-node", 3, 3)).kubelets.expect("some are aligned");
    assert_eq!((kubelets.aligned, kubelets.rejected), (2, 0));
    let kubelets = report(&pods("single-numa-node", 1, 6)).kubelets.expect("some are aligned");
    assert_eq!((kubelets.aligned, kubelets.rejected, kubelets.rejected_permille), (7, 7, 1000));
    assert_eq!(kubelets.reasons, [("TopologyAffinityError", 7)].into());
    let kubelets = report(&pods("best-effort", 1, 6)).kubelets.expect("some are aligned");
    assert_eq!((kubelets.aligned, kubelets.rejected), (1, 0));
}

/// The example, as plain fit places its pods, and as a profile does that asks what kubelets do.
#[test]
fn whoever_asks_what_kubelets_do_places_no_pod_that_they_reject() {
    let text = include_str!("../../../../../examples/simulate/machines.yaml");
    let plain = report(text).kubelets.expect("some are aligned");
    assert!(plain.rejected > 0, "{plain:?}");
    let text = text.replace("span: 6h", "span: 6h\nschedulerName: kubenexus-scheduler");
    let ours = report(&text).kubelets.expect("some are aligned");
    assert!(ours.aligned > 50, "{ours:?}");
    assert_eq!(ours.rejected, 0, "{ours:?}");
}
