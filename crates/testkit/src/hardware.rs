//! What is inside nodes, and who takes it, in words.
//!
//! ```text
//! node a zones=2x8 gpus=0,0,1,1 nvidia.com/gpu=4 policy=restricted scope=pod
//! node a zones=2x8 policy=restricted held=p:0-3:0,1     what its kubelet says that pod p holds
//! pod p cpu=4 memory=1Gi nvidia.com/gpu=2 exclusive     one container, of a guaranteed pod
//! pod p cpu=4 numa=isolated numa-avoids=0 placed=1      what it asks of zones, and was bound with
//! inside a
//! > p: cpus 0-3, nvidia.com/gpu 0-1
//! ```

use engine::Scheduler;
use model::hardware::{
    CpuRanges, Gpu, HardwareFacts, HeldByPod, HeldDevices, HeldFacts, KubeletFacts, NumaZone,
};
use model::topology::{
    ContainerAsk, ContainerRole, CpuManagerFacts, PodAsk, TopologyPolicy, TopologyScope,
};
use model::{Amounts, GangSpread, Guest, Inside, NodeFacts, NumaPolicy, PodFacts};

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
        "policy" => {
            kubelet(node).policy = match value {
                "none" => TopologyPolicy::None,
                "best-effort" => TopologyPolicy::BestEffort,
                "restricted" => TopologyPolicy::Restricted,
                "single-numa-node" => TopologyPolicy::SingleNumaNode,
                _ => panic!("there is no policy {value:?}"),
            };
        }
        "scope" => {
            kubelet(node).scope = match value {
                "container" => TopologyScope::Container,
                "pod" => TopologyScope::Pod,
                _ => panic!("there is no scope {value:?}"),
            };
        }
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

/// Who takes what inside a node.
pub(crate) fn inside(scheduler: &Scheduler, node: &str) -> Vec<String> {
    let catalog = scheduler.catalog();
    let node = catalog.find_node(node).expect("a node that is there");
    let Some(inside) = scheduler.usage().inside(node) else { return vec!["unknown".into()] };
    let guests = inside.guests().iter().map(|guest| {
        let name = guest.pod.map_or("a hold", |pod| &catalog.pod(pod).key.name);
        let told = if guest.is_reported { " (told)" } else { "" };
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
