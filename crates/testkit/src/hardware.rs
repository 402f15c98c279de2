//! What is inside nodes, and who takes it, in words.
//!
//! ```text
//! node a zones=2x8 gpus=0,0,1,1 nvidia.com/gpu=4 policy=restricted scope=pod
//! node a zones=2x8 policy=restricted held=p:0-3:0,1     what its kubelet says that pod p holds
//! pod p cpu=4 memory=1Gi nvidia.com/gpu=2 exclusive     one container, of a guaranteed pod
//! pod p cpu=4 numa=isolated numa-avoids=0 placed=1      what it asks of zones, and was bound with
//! node b nvidia.com/gpu=8 replicas=4 model=L40S vram=48Gi link=pcie nvlink=0,0,1,1
//! node b nvidia.com/gpu=8 hardware=premium cost=2.5 reserved=gold   its tier, and for whom it is
//! pod q nvidia.com/gpu=1 fraction=0.5 vram=20Gi         what it asks of GPUs
//! gpus a                                                who has which GPUs
//! inside a
//! > p: cpus 0-3, nvidia.com/gpu 0-1
//! nrt a update=2 zones=2x8 free=4,8 gpus=2,2 freegpus=1,2 policy=restricted scope=pod pods=p,q
//! free a                                 what is free in every zone
//! > zone 0: 4 cpus, 1 nvidia.com/gpu
//! ```

use engine::Scheduler;
use model::hardware::{
    CpuRanges, Gpu, GpuLink, HardwareFacts, HeldByPod, HeldDevices, HeldFacts, KubeletFacts,
    NumaZone, SharedGpus,
};
use model::topology::{
    ContainerAsk, ContainerRole, CpuManagerFacts, PodAsk, TopologyPolicy, TopologyScope,
};
use model::{
    Account, Amounts, CoLocation, FabricTier, FingerprintMethod, GangSpread, GpuFault, GpuGuest,
    GpuShare, Guest, HardwareTier, Inside, NodeFacts, NodeId, NodeResourceTopologyFacts,
    NumaPolicy, PodFacts, PodsFingerprint, Quantity, ReservedFor, Tier, ToldZone, WHOLE_MILLI,
    ZoneAmount,
};

/// Takes in a word of a node, if it is one about its inside.
///
/// # Panics
/// When a value makes no sense.
pub(crate) fn set_node(node: &mut NodeFacts, key: &str, value: &str) -> bool {
    match key {
        "zones" => {
            let (zones, cpus) = value.split_once('x').expect("zones are COUNTxCPUS");
            let cpus: u32 = cpus.parse().expect("a number of CPUs");
            let zone = |id: u32| NumaZone {
                id,
                cpus: CpuRanges::new(vec![(id * cpus, id * cpus + cpus - 1)]),
                memory: Some(64 << 30),
                distances: [].into(),
                ..NumaZone::default()
            };
            let count: u32 = zones.parse().expect("a number of zones");
            hardware(node).zones = (0..count).map(zone).collect();
        }
        "gpus" => {
            let gpu = |(index, zone): (usize, &str)| Gpu {
                index: u32::try_from(index).expect("few GPUs"),
                zone: zone.parse().ok(),
                ..Gpu::default()
            };
            hardware(node).gpus = value.split(',').enumerate().map(gpu).collect();
        }
        "model" => hardware(node).all_gpus.model = Some(value.into()),
        "vram" => hardware(node).all_gpus.memory = Some(bytes(value)),
        "nvlink" => {
            let all = &mut hardware(node).gpus;
            for (gpu, domain) in all.iter_mut().zip(value.split(',')) {
                gpu.nvlink_domain = domain.parse().ok();
            }
        }
        "link" => hardware(node).all_gpus.link = Some(link(value)),
        "replicas" => {
            let replicas = value.parse().expect("a number of replicas");
            let resource = "nvidia.com/gpu".into();
            let shared = SharedGpus { resource, replicas, is_mps: false };
            hardware(node).all_gpus.shared = [shared].into();
        }
        "hardware" => hardware(node).tiers.tier = word(&HardwareTier::WORDS, value),
        "cost" => hardware(node).tiers.cost_milli = Some(milli(value)),
        "reserved" => {
            let tenants = word(&Tier::WORDS, value).map(ReservedFor::Tenants);
            hardware(node).tiers.reserved = Some(tenants.unwrap_or(ReservedFor::System));
        }
        "policy" => kubelet(node).policy = policy(value),
        "scope" => kubelet(node).scope = scope(value),
        "held" => {
            let mut parts = value.split(':');
            let uid = parts.next().expect("a pod").into();
            let cpus = ranges(parts.next().unwrap_or_default());
            let gpus = parts.next().filter(|gpus| !gpus.is_empty());
            let index = |text: &str| text.parse().ok();
            let gpus = gpus.map(|gpus| gpus.split(',').map(index).collect());
            let devices =
                gpus.map(|indices| HeldDevices { resource: "nvidia.com/gpu".into(), indices });
            let devices = devices.into_iter().collect();
            let held = HeldByPod { uid, devices, cpus, ..HeldByPod::default() };
            let before = node.held.take().unwrap_or_default();
            let pods = before.pods.into_iter().chain([held]).collect();
            node.held = Some(Box::new(HeldFacts { pods, ..HeldFacts::default() }));
        }
        _ => return false,
    }
    true
}

fn word<T: Copy>(words: &[(&str, T)], word: &str) -> Option<T> {
    words.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
}

fn milli(text: &str) -> u64 {
    u64::try_from(Quantity::parse(text).expect("a number").milli()).expect("a cost")
}

fn link(word: &str) -> GpuLink {
    match word {
        "pcie" => GpuLink::Pcie,
        "nvlink" => GpuLink::NvLink,
        "nvswitch" => GpuLink::NvSwitch,
        _ => panic!("there is no link {word:?}"),
    }
}

fn bytes(text: &str) -> u64 {
    let quantity = Quantity::parse(text).expect("a quantity");
    u64::try_from(quantity.units()).expect("an amount")
}

fn policy(word: &str) -> TopologyPolicy {
    match word {
        "none" => TopologyPolicy::None,
        "best-effort" => TopologyPolicy::BestEffort,
        "restricted" => TopologyPolicy::Restricted,
        "single-numa-node" => TopologyPolicy::SingleNumaNode,
        _ => panic!("there is no policy {word:?}"),
    }
}

fn scope(word: &str) -> TopologyScope {
    match word {
        "container" => TopologyScope::Container,
        "pod" => TopologyScope::Pod,
        _ => panic!("there is no scope {word:?}"),
    }
}

/// A NodeResourceTopology. Lists are by zone; `free` and `freegpus` default to all there is,
/// `reserved` to nothing. `pods` are those it accounts for, in the namespace `default`.
///
/// # Panics
/// When a word makes no sense.
#[must_use]
pub fn node_resource_topology(words: &str) -> NodeResourceTopologyFacts {
    let mut words = words.split_whitespace();
    let node = words.next().expect("a node").into();
    let mut facts = NodeResourceTopologyFacts { node, ..NodeResourceTopologyFacts::default() };
    let (mut count, mut cpus, mut method) = (0_usize, 0, FingerprintMethod::All);
    let lists = |text: &str| -> Vec<u64> {
        text.split(',').map(|part| part.parse().expect("an amount")).collect()
    };
    let [mut free, mut reserved, mut gpus, mut free_gpus] = [const { None }; 4];
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        match key {
            "update" => facts.version = value.parse().expect("a number"),
            "zones" => {
                let (zones, each) = value.split_once('x').expect("zones are COUNTxCPUS");
                count = zones.parse().expect("a number of zones");
                cpus = each.parse().expect("a number of CPUs");
            }
            "free" => free = Some(lists(value)),
            "reserved" => reserved = Some(lists(value)),
            "gpus" => gpus = Some(lists(value)),
            "freegpus" => free_gpus = Some(lists(value)),
            "policy" => facts.policy = Some(policy(value)),
            "scope" => facts.scope = Some(scope(value)),
            "exclusive" => method = FingerprintMethod::WithExclusiveResources,
            "pods" => {
                let pods = value.split(',').filter(|name| !name.is_empty());
                let sum = model::fingerprint(pods.map(|name| ("default", name)));
                facts.pods = Some(PodsFingerprint { method, sum });
            }
            _ => panic!("a NodeResourceTopology has no {key:?}"),
        }
    }
    facts.pods = facts.pods.map(|pods| PodsFingerprint { method, ..pods });
    let at = |list: &Option<Vec<u64>>, zone: usize| list.as_ref().map(|list| list[zone]);
    let amount = |resource: &str, capacity, kept, available: Option<u64>| {
        let allocatable = capacity - kept;
        let available = available.unwrap_or(allocatable);
        ZoneAmount { resource: resource.into(), capacity, allocatable, available }
    };
    let zone = |id: usize| {
        let cpus = amount("cpu", cpus, at(&reserved, id).unwrap_or(0), at(&free, id));
        let gpus = at(&gpus, id).map(|gpus| amount("nvidia.com/gpu", gpus, 0, at(&free_gpus, id)));
        let id = u32::try_from(id).expect("few zones");
        ToldZone { id, amounts: [cpus].into_iter().chain(gpus).collect(), ..ToldZone::default() }
    };
    facts.zones = (0..count).map(zone).collect();
    facts
}

/// What is free in every zone of a node, or who takes what.
pub(crate) fn shown(scheduler: &Scheduler, what: &str, node: &str) -> Vec<String> {
    let node = scheduler.catalog().find_node(node).expect("a node that is there");
    if what == "gpus" {
        return gpus(scheduler, node);
    }
    match scheduler.usage().inside(node) {
        None => vec!["unknown".into()],
        Some(it) if what == "free" => free(scheduler, it),
        Some(it) => inside(scheduler, it),
    }
}

fn free(scheduler: &Scheduler, inside: &Inside) -> Vec<String> {
    let catalog = scheduler.catalog();
    let (machine, state) = (inside.machine(), inside.state());
    let zone = |(place, id): (usize, &u32)| {
        let cpus = state.free_cpus().count_in(machine.cpus_of(place));
        let mut words = vec![format!("zone {id}: {cpus} cpus")];
        for (at, resource) in machine.device_resources().enumerate() {
            let devices = state.free_devices(machine, at) & machine.devices_of(at, place);
            words.push(format!("{} {}", devices.count_ones(), catalog.resource_name(resource)));
        }
        words.join(", ")
    };
    machine.zone_ids().iter().enumerate().map(zone).collect()
}

fn hardware(node: &mut NodeFacts) -> &mut HardwareFacts {
    node.hardware.get_or_insert_default()
}

fn kubelet(node: &mut NodeFacts) -> &mut KubeletFacts {
    let kubelet = hardware(node).kubelet.get_or_insert_default();
    kubelet.cpu_manager = Some(CpuManagerFacts::default());
    kubelet
}

fn ranges(text: &str) -> CpuRanges {
    let number = |text: &str| text.parse().expect("a CPU");
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        (number(first), number(last))
    };
    let parts = text.split(',').filter(|part| !part.is_empty());
    CpuRanges::new(parts.map(range).collect()).expect("CPUs")
}

/// Takes in a word of a pod, if it is one about zones.
///
/// # Panics
/// When a value makes no sense.
pub(crate) fn set_pod(pod: &mut PodFacts, key: &str, value: &str) -> bool {
    let zone = |id: &str| 1_u64 << id.parse::<u32>().expect("a zone");
    let zones = |text: &str| text.split(',').map(zone).fold(0, |zones, zone| zones | zone);
    fn known<T: Copy>(words: &[(&str, T)], value: &str) -> T {
        let found = words.iter().find(|(word, _)| *word == value);
        found.map(|(_, known)| *known).expect("a word that is known")
    }
    if key == "placed" {
        pod.rest.placed = zones(value);
        return true;
    }
    if key == "had-gpus" {
        pod.rest.gpus = zones(value);
        return true;
    }
    if let "min-fabric" | "co-locate" | "level" | "network-intensive" | "fabric-broken" = key {
        let wish = pod.spec.fabric.get_or_insert_default();
        match key {
            "min-fabric" => wish.min_tier = Some(known(&FabricTier::WORDS, value)),
            "co-locate" => wish.co_location = known(&CoLocation::WORDS, value),
            "level" => wish.level = Some(value.into()),
            "network-intensive" => wish.is_network_intensive = Some(value == "true"),
            _ => wish.fault = Some(value.into()),
        }
        return true;
    }
    if let "vram" | "vram-total" | "fraction" | "gpu-memory" | "vram-broken" | "share-broken" = key
    {
        let wish = pod.spec.gpu.get_or_insert_default();
        match key {
            "vram" => wish.memory = Some(bytes(value)),
            "vram-total" => wish.memory_total = Some(bytes(value)),
            "vram-broken" => wish.fault = Some(GpuFault::InvalidMemory(value.into())),
            "share-broken" => wish.fault = Some(GpuFault::InvalidShare(value.into())),
            "gpu-memory" => wish.share = Some(GpuShare::Memory(bytes(value))),
            _ => {
                let percent: f64 = value.parse().expect("a part of a GPU");
                wish.share = Some(GpuShare::Milli((percent * 1000.0) as u16));
            }
        }
        return true;
    }
    if !key.starts_with("numa") {
        return false;
    }
    let wish = pod.spec.numa.get_or_insert_default();
    match key {
        "numa" => wish.policy = Some(known(&NumaPolicy::WORDS, value)),
        "numa-prefers" => wish.preferred = zones(value),
        "numa-avoids" => wish.avoided = zones(value),
        "numa-spread" => wish.spread = Some(known(&GangSpread::WORDS, value)),
        "numa-resources" => wish.resources = Some(value.split(',').map(Into::into).collect()),
        "numa-broken" => wish.fault = Some(value.into()),
        _ => panic!("a pod does not know the word {key:?}"),
    }
    true
}

/// What a pod with one container asks for.
pub(crate) fn ask(amounts: &Amounts<String>, is_exclusive: bool) -> Box<PodAsk<String>> {
    let count = |amount: i64| u64::try_from(amount).expect("an amount");
    let device =
        |(name, amount): &(String, i64)| (name.clone(), u32::try_from(*amount).expect("few"));
    let container = ContainerAsk {
        role: ContainerRole::App,
        cpu_milli: count(amounts.cpu),
        memory: [("memory".to_owned(), count(amounts.memory))].into(),
        devices: amounts.scalars.iter().map(device).collect(),
    };
    Box::new(PodAsk { is_exclusive, containers: [container].into() })
}

/// Who has which GPUs of a node, and how much of each if it is less than all.
fn gpus(scheduler: &Scheduler, node: NodeId) -> Vec<String> {
    let catalog = scheduler.catalog();
    let guests = scheduler.usage().gpus(node).iter().flat_map(|pool| pool.guests());
    let shown = |guest: &GpuGuest| {
        let name = guest.pod.map_or("a hold", |pod| &catalog.pod(pod).key.name);
        let devices = (0..u128::BITS).filter(|device| guest.devices >> device & 1 == 1);
        let devices = listed(devices);
        match guest.milli {
            WHOLE_MILLI => format!("{name}: {devices}"),
            milli => format!("{name}: {milli} of {devices}"),
        }
    };
    guests.map(shown).collect()
}

/// Who takes what inside a node.
fn inside(scheduler: &Scheduler, inside: &Inside) -> Vec<String> {
    let catalog = scheduler.catalog();
    let guests = inside.guests().iter().map(|guest| {
        let name = guest.pod.map_or("a hold", |pod| &catalog.pod(pod).key.name);
        let told = match (guest.is_reported, guest.account) {
            (true, _) => " (told)",
            (false, Account::Counted) => " (counted)",
            (false, Account::Open | Account::Once) => "",
        };
        format!("{name}: {}{told}", taken(scheduler, inside, guest))
    });
    guests.chain(claimed(scheduler, inside)).collect()
}

/// What is allocated to claims.
fn claimed<'a>(scheduler: &'a Scheduler, inside: &'a Inside) -> impl Iterator<Item = String> + 'a {
    inside.machine().device_resources().enumerate().filter_map(|(place, resource)| {
        let claimed = inside.state().claimed_devices(place);
        let devices = (0..u128::BITS).filter(|device| claimed >> device & 1 == 1);
        let name = scheduler.catalog().resource_name(resource);
        (claimed != 0).then(|| format!("claims: {name} {}", listed(devices)))
    })
}

fn taken(scheduler: &Scheduler, inside: &Inside, guest: &Guest) -> String {
    let mut words = Vec::new();
    if !guest.taken.cpus.is_empty() {
        words.push(format!("cpus {}", listed(guest.taken.cpus.iter())));
    }
    for of in &guest.taken.devices {
        let mut resources = inside.machine().device_resources();
        let resource = resources.nth(of.resource).expect("a resource of the machine");
        let devices = (0..u128::BITS).filter(|device| of.devices >> device & 1 == 1);
        let name = scheduler.catalog().resource_name(resource);
        words.push(format!("{name} {}", listed(devices)));
    }
    if words.is_empty() { "nothing".into() } else { words.join(", ") }
}

/// Numbers in ranges.
fn listed(numbers: impl Iterator<Item = u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut().filter(|(_, last)| *last + 1 == number) {
            Some((_, last)) => *last = number,
            None => ranges.push((number, number)),
        }
    }
    let text = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(",")
}
