//! What a kubelet does about zones, in `numa.kubenexus.io/kubelet`: the fields of its configuration
//! that decide it, under their own names.

use std::collections::BTreeMap;

use model::Quantity;
use model::hardware::{HardwareFacts, KubeletFacts, ReservedMemory, ZONE_ID_MAX};
use model::topology::{CpuManagerFacts, TopologyPolicy, TopologyScope};
use serde::Deserialize;

use super::zones::bytes;
use super::{Reader, cpus};

const KUBELET: &str = "numa.kubenexus.io/kubelet";

/// Fields that are missing have the kubelet's own defaults.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Configuration {
    topology_manager_policy: String,
    topology_manager_scope: String,
    topology_manager_policy_options: BTreeMap<String, String>,
    cpu_manager_policy: String,
    cpu_manager_policy_options: BTreeMap<String, String>,
    memory_manager_policy: String,
    #[serde(rename = "reservedSystemCPUs")]
    reserved_system_cpus: String,
    reserved_memory: Vec<Reserved>,
    system_reserved: BTreeMap<String, String>,
    kube_reserved: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reserved {
    numa_node: u32,
    limits: BTreeMap<String, String>,
}

pub(super) fn read(reader: &mut Reader<'_>, facts: &mut HardwareFacts) {
    let Some(value) = reader.get(KUBELET) else { return };
    let made = match serde_json::from_str::<Configuration>(value) {
        Ok(configuration) => kubelet(&configuration),
        Err(_) => Err("fields of a KubeletConfiguration as JSON"),
    };
    match made {
        Ok(kubelet) => facts.kubelet = Some(kubelet),
        Err(expected) => reader.reject(KUBELET, value, expected),
    }
}

/// What a configuration means; what was expected if it means nothing.
fn kubelet(configuration: &Configuration) -> Result<KubeletFacts, &'static str> {
    let Configuration { topology_manager_policy_options: options, .. } = configuration;
    Ok(KubeletFacts {
        policy: policy(&configuration.topology_manager_policy)
            .ok_or("topologyManagerPolicy none, best-effort, restricted or single-numa-node")?,
        scope: scope(&configuration.topology_manager_scope)
            .ok_or("topologyManagerScope container or pod")?,
        prefers_closest: is_on(options, "prefer-closest-numa-nodes"),
        cpu_manager: cpu_manager(configuration).ok_or("cpuManagerPolicy none or static")?,
        is_memory_static: match &*configuration.memory_manager_policy {
            "" | "None" => false,
            "Static" => true,
            _ => return Err("memoryManagerPolicy None or Static"),
        },
        reserved_cpus: cpus(&configuration.reserved_system_cpus)
            .ok_or("reservedSystemCPUs as CPUs, such as 0-1")?,
        reserved_cpu_count: reserved_count(configuration)
            .ok_or("systemReserved and kubeReserved with amounts of CPU")?,
        reserved_memory: reserved_memory(&configuration.reserved_memory)
            .ok_or("reservedMemory with zones from 0 to 63 and amounts of bytes")?,
    })
}

/// The word for a policy of the topology manager; an empty one is the default.
pub(in crate::ingest) fn policy(word: &str) -> Option<TopologyPolicy> {
    match word {
        "" | "none" => Some(TopologyPolicy::None),
        "best-effort" => Some(TopologyPolicy::BestEffort),
        "restricted" => Some(TopologyPolicy::Restricted),
        "single-numa-node" => Some(TopologyPolicy::SingleNumaNode),
        _ => None,
    }
}

/// The word for a scope of the topology manager; an empty one is the default.
pub(in crate::ingest) fn scope(word: &str) -> Option<TopologyScope> {
    match word {
        "" | "container" => Some(TopologyScope::Container),
        "pod" => Some(TopologyScope::Pod),
        _ => None,
    }
}

fn is_on(options: &BTreeMap<String, String>, name: &str) -> bool {
    // As Go reads booleans.
    let words = ["1", "t", "T", "true", "TRUE", "True"];
    options.get(name).is_some_and(|value| words.contains(&&**value))
}

fn cpu_manager(configuration: &Configuration) -> Option<Option<CpuManagerFacts>> {
    let options = &configuration.cpu_manager_policy_options;
    match &*configuration.cpu_manager_policy {
        "" | "none" => Some(None),
        "static" => Some(Some(CpuManagerFacts {
            is_full_cores_only: is_on(options, "full-pcpus-only"),
            is_distributed_across_zones: is_on(options, "distribute-cpus-across-numa"),
            is_distributed_across_cores: is_on(options, "distribute-cpus-across-cores"),
            is_aligned_by_socket: is_on(options, "align-by-socket"),
            prefers_one_cache: is_on(options, "prefer-align-cpus-by-uncorecache"),
        })),
        _ => None,
    }
}

/// How many CPUs are reserved by amount, rounded up as the kubelet does.
fn reserved_count(configuration: &Configuration) -> Option<u32> {
    let kept = [&configuration.system_reserved, &configuration.kube_reserved];
    let amounts = kept.into_iter().filter_map(|kept| kept.get("cpu"));
    let milli = amounts.map(|text| Some(Quantity::parse(text).ok()?.milli()));
    let milli: i64 = milli.collect::<Option<Vec<_>>>()?.into_iter().fold(0, i64::saturating_add);
    u32::try_from(milli.checked_add(999)? / 1_000).ok()
}

fn reserved_memory(reserved: &[Reserved]) -> Option<Box<[ReservedMemory]>> {
    let of_zone = |of: &Reserved| {
        let zone = Some(of.numa_node).filter(|id| *id <= ZONE_ID_MAX);
        let amount = move |(resource, text): (&String, &String)| {
            let resource = resource.as_str().into();
            Some(ReservedMemory { zone: zone?, resource, bytes: bytes(text)? })
        };
        of.limits.iter().map(amount).collect::<Vec<_>>()
    };
    reserved.iter().flat_map(of_zone).collect()
}
