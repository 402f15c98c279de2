//! A case in the words of `model::topology`.

use std::collections::BTreeMap;

use model::topology::{
    Block, ContainerAsk, ContainerRole, CpuFacts, CpuManagerFacts, DeviceFacts, DevicesFacts,
    DevicesTaken, HugePagesFacts, Machine, MachineFacts, MachineFault, PodAsk, State, Taken,
    TopologyPolicy, TopologyScope, ZoneFacts, ZoneMask, ZoneMemory,
};
use model::{ResourceId, Resources};

use crate::case::{ContainerVerdict, DeviceCase, MachineCase, PodCase, StateVerdict, ZoneCase};

/// Numbers of resource names.
pub struct Names(Resources);

impl Names {
    /// Names that a case may mention.
    #[must_use]
    pub fn new() -> Names {
        Names(Resources::default())
    }

    fn id(&mut self, name: &str) -> ResourceId {
        self.0.hold(name)
    }
}

impl Default for Names {
    fn default() -> Self {
        Names::new()
    }
}

/// A machine with its current devices.
pub struct OurMachine {
    /// As it is predicted with.
    pub machine: Machine,
    /// Resources of device plugins and the names of their devices, by place.
    pub devices: Vec<(String, Vec<String>)>,
    /// Kinds of memory by place.
    pub kinds: Vec<String>,
}

impl OurMachine {
    /// The machine of a case.
    ///
    /// # Errors
    ///
    /// If nothing is predicted for it.
    pub fn new(
        case: &MachineCase,
        devices: &BTreeMap<String, Vec<DeviceCase>>,
        names: &mut Names,
    ) -> Result<OurMachine, MachineFault> {
        let machine = Machine::new(&facts(case, devices, names))?;
        let ids = |of: &Vec<DeviceCase>| of.iter().map(|device| device.id.clone()).collect();
        let devices = devices.iter().map(|(name, of)| (name.clone(), ids(of))).collect();
        let mut kinds = vec!["memory".to_owned()];
        kinds.extend(case.zones[0].huge_pages.iter().map(|pages| huge_pages(pages.size_kib)));
        Ok(OurMachine { machine, devices, kinds })
    }

    /// The zones with these ids.
    #[must_use]
    pub fn mask(&self, ids: &[u32]) -> ZoneMask {
        let places = ids.iter().filter_map(|id| self.machine.zone_place(*id));
        places.fold(ZoneMask::EMPTY, |all, place| all.union(ZoneMask::of(place)))
    }

    fn kind(&self, name: &str) -> usize {
        let place = self.kinds.iter().position(|kind| kind == name);
        place.expect("the kubelet speaks of memory that the machine has")
    }

    fn bits(&self, resource: usize, ids: &[String]) -> u128 {
        let place = |id: &String| self.devices[resource].1.iter().position(|of| of == id);
        ids.iter().filter_map(place).fold(0, |bits, place| bits | 1 << place)
    }

    /// What is taken, as the kubelet reports it.
    #[must_use]
    pub fn state(&self, reported: &StateVerdict) -> State {
        let mut state = State::new(&self.machine);
        if let Some(shared) = &reported.shared {
            state.set_free_cpus(&self.machine, shared.iter().copied().collect());
        }
        for (place, (name, _)) in self.devices.iter().enumerate() {
            if let Some(ids) = reported.devices.get(name) {
                state.set_devices(place, self.bits(place, ids));
            }
        }
        for zone in reported.memory.iter().flatten() {
            let place = self.machine.zone_place(zone.id).expect("the kubelet knows its zones");
            let serves =
                ZoneMemory { assignments: zone.assignments, group: self.mask(&zone.group) };
            for (kind, free) in &zone.free {
                state.set_memory(self.kind(kind), place, *free, serves);
            }
        }
        state
    }

    /// What a pod holds, as the kubelet reports it.
    #[must_use]
    pub fn taken(&self, pod: &PodCase, containers: &[ContainerVerdict]) -> Taken {
        let mut taken = Taken::default();
        for (number, container) in containers.iter().enumerate() {
            taken.masks.push(container.zones.as_ref().map(|zones| self.mask(zones)));
            taken.cpus.add(&container.cpus.iter().copied().collect());
            for (resource, (name, _)) in self.devices.iter().enumerate() {
                let Some(ids) = container.devices.get(name) else { continue };
                let devices = self.bits(resource, ids);
                taken.devices.push(DevicesTaken { resource, devices });
            }
            for block in &container.blocks {
                taken.blocks.push(Block {
                    container: number,
                    zones: self.mask(&block.zones),
                    kind: self.kind(&block.kind),
                    amount: block.size,
                    is_init: pod.containers[number].role == "init",
                });
            }
        }
        taken
    }
}

fn facts(
    case: &MachineCase,
    devices: &BTreeMap<String, Vec<DeviceCase>>,
    names: &mut Names,
) -> MachineFacts {
    let has = |option: &str| case.cpu_options.get(option).is_some_and(|value| value == "true");
    let cpu_manager = CpuManagerFacts {
        is_full_cores_only: has("full-pcpus-only"),
        is_distributed_across_zones: has("distribute-cpus-across-numa"),
        is_distributed_across_cores: has("distribute-cpus-across-cores"),
        is_aligned_by_socket: has("align-by-socket"),
        prefers_one_cache: has("prefer-align-cpus-by-uncorecache"),
    };
    MachineFacts {
        zones: case.zones.iter().map(|zone| zone_facts(zone, names)).collect(),
        reserved_cpus: case.reserved_cpus.clone(),
        devices: devices.iter().map(|(name, of)| devices_facts(names.id(name), of)).collect(),
        is_kubelet_unknown: false,
        policy: match case.policy.as_str() {
            "best-effort" => TopologyPolicy::BestEffort,
            "restricted" => TopologyPolicy::Restricted,
            "single-numa-node" => TopologyPolicy::SingleNumaNode,
            _ => TopologyPolicy::None,
        },
        scope: if case.scope == "pod" { TopologyScope::Pod } else { TopologyScope::Container },
        prefers_closest: case.policy_options.contains_key("prefer-closest-numa-nodes"),
        cpu_manager: (case.cpu_policy == "static").then_some(cpu_manager),
        is_memory_static: case.memory_policy == "Static",
    }
}

fn zone_facts(zone: &ZoneCase, names: &mut Names) -> ZoneFacts {
    let cpus = zone.cores.iter().flat_map(|core| {
        let cpu = |id: &u32| CpuFacts {
            id: *id,
            core: core.core,
            socket: core.socket,
            cache: core.cache,
        };
        core.threads.iter().map(cpu).collect::<Vec<_>>()
    });
    let pages = zone.huge_pages.iter().map(|pages| HugePagesFacts {
        resource: names.id(&huge_pages(pages.size_kib)),
        total: pages.pages * pages.size_kib * 1_024,
        reserved: pages.reserved,
    });
    ZoneFacts {
        id: zone.id,
        cpus: cpus.collect(),
        memory: Some(zone.memory),
        memory_reserved: zone.memory_reserved,
        huge_pages: pages.collect(),
        distances: zone.distances.clone(),
        bandwidth: None,
    }
}

fn devices_facts(resource: ResourceId, devices: &[DeviceCase]) -> DevicesFacts {
    let facts = |of: &DeviceCase| DeviceFacts { zones: of.zones.clone(), is_healthy: of.healthy };
    DevicesFacts { resource, devices: devices.iter().map(facts).collect() }
}

fn huge_pages(size_kib: u64) -> String {
    if size_kib.is_multiple_of(1 << 20) {
        format!("hugepages-{}Gi", size_kib >> 20)
    } else {
        format!("hugepages-{}Mi", size_kib >> 10)
    }
}

/// What a pod asks for.
#[must_use]
pub fn ask(pod: &PodCase, names: &mut Names) -> PodAsk {
    let containers = pod.containers.iter().map(|container| ContainerAsk {
        role: match container.role.as_str() {
            "init" => ContainerRole::Init,
            "sidecar" => ContainerRole::Sidecar,
            _ => ContainerRole::App,
        },
        cpu_milli: container.cpu_milli,
        memory: container.memory.iter().map(|(name, size)| (names.id(name), *size)).collect(),
        devices: container.devices.iter().map(|(name, n)| (names.id(name), *n)).collect(),
    });
    PodAsk { is_exclusive: pod.guaranteed && !pod.pod_level, containers: containers.collect() }
}
