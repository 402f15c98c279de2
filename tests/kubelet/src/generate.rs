//! Random machines, and pods that come and go on them.

use std::collections::BTreeMap;

use parity::draw::Draw;

use crate::case::{
    Case, ContainerCase, CoreCase, DeviceCase, HugePagesCase, MachineCase, PodCase, Step, ZoneCase,
};

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;
const RESOURCES: [&str; 3] = ["example.com/gpu", "example.com/nic", "example.com/fpga"];

/// Case `number` of `seed`.
#[must_use]
pub fn case(seed: u64, number: u64) -> Case {
    let draw = &mut Draw::new(seed, number);
    let machine = if draw.chance(6) { spread_machine(draw) } else { machine(draw) };
    let steps = steps(draw, &machine);
    Case { id: format!("{seed}-{number}"), machine, steps }
}

fn machine(draw: &mut Draw) -> MachineCase {
    let count = *draw.pick(&[1_usize, 1, 2, 2, 2, 2, 2, 3, 3, 4, 4, 4, 5, 6, 8]);
    let ids = zone_ids(draw, count);
    let mut machine = MachineCase {
        zones: ids.iter().map(|id| ZoneCase { id: *id, ..ZoneCase::default() }).collect(),
        reserved_cpus: Vec::new(),
        devices: BTreeMap::new(),
        policy: pick(
            draw,
            &["none", "best-effort", "best-effort", "restricted", "single-numa-node"],
        ),
        scope: pick(draw, &["container", "pod"]),
        policy_options: BTreeMap::new(),
        cpu_policy: pick(draw, &["static", "static", "static", "none"]),
        cpu_options: BTreeMap::new(),
        memory_policy: "None".to_owned(),
    };
    cores(draw, &mut machine.zones);
    reserve_cpus(draw, &mut machine);
    cpu_options(draw, &mut machine);
    // The kubelet forms the cross product of all hints: with many zones it is kept small.
    if draw.chance(if count >= 5 { 20 } else { 50 }) {
        machine.memory_policy = "Static".to_owned();
        memory(draw, &mut machine.zones);
    }
    distances(draw, &mut machine);
    devices(draw, &mut machine, &ids);
    machine
}

/// A machine with many zones whose CPUs are distributed across them: rare otherwise, and the part
/// of the kubelet with the most combinations.
fn spread_machine(draw: &mut Draw) -> MachineCase {
    let count = draw.between(4, 8) as usize;
    let ids: Vec<u32> = (0..count as u32).collect();
    let mut machine = MachineCase {
        zones: ids.iter().map(|id| ZoneCase { id: *id, ..ZoneCase::default() }).collect(),
        reserved_cpus: Vec::new(),
        devices: BTreeMap::new(),
        policy: pick(draw, &["none", "best-effort"]),
        scope: pick(draw, &["container", "pod"]),
        policy_options: BTreeMap::new(),
        cpu_policy: "static".to_owned(),
        cpu_options: BTreeMap::new(),
        memory_policy: "None".to_owned(),
    };
    cores(draw, &mut machine.zones);
    // Zones that differ a little, so that it matters which of them is taken from.
    for zone in &mut machine.zones {
        zone.cores.truncate(zone.cores.len().max(4) - draw.between(0, 3) as usize);
    }
    let option = "distribute-cpus-across-numa".to_owned();
    machine.cpu_options.insert(option, "true".to_owned());
    if draw.chance(50) {
        machine.cpu_options.insert("align-by-socket".to_owned(), "true".to_owned());
    }
    machine
}

fn pick(draw: &mut Draw, items: &[&str]) -> String {
    (*draw.pick(items)).to_owned()
}

fn zone_ids(draw: &mut Draw, count: usize) -> Vec<u32> {
    let mut next = 0;
    let has_gaps = draw.chance(20);
    let mut ids = Vec::new();
    for _ in 0..count {
        if has_gaps {
            next += draw.between(0, 4) as u32;
        }
        ids.push(next);
        next += 1;
    }
    ids
}

/// Cores of all zones: sockets that contain zones or the other way round, one to four threads, ids
/// that count through cores or through threads.
fn cores(draw: &mut Draw, zones: &mut [ZoneCase]) {
    let zones_per_socket = *draw.pick(&[1_usize, 1, 2, 4]);
    let sockets_per_zone = if zones_per_socket == 1 { *draw.pick(&[1_u32, 1, 2]) } else { 1 };
    let threads = *draw.pick(&[1_usize, 2, 2, 2, 4]);
    let is_uneven = draw.chance(25);
    let most = draw.between(1, if zones.len() > 4 { 4 } else { 8 });
    let caches = draw.between(1, 3) as u32;
    let mut sizes = Vec::new();
    for _ in 0..zones.len() {
        let is_empty = zones.len() > 1 && draw.chance(6);
        let size = if is_uneven { draw.between(1, most) } else { most };
        sizes.push(if is_empty { 0 } else { size * u64::from(sockets_per_zone) });
    }
    if sizes.iter().all(|size| *size == 0) {
        sizes[0] = most;
    }
    let total: u64 = sizes.iter().sum();
    let is_split = draw.chance(60);
    let mut core = 0;
    for (place, (zone, size)) in zones.iter_mut().zip(sizes).enumerate() {
        for number in 0..size {
            let first = if is_split { core } else { core * threads as u64 };
            let step = if is_split { total } else { 1 };
            let threads = (0..threads as u64).map(|thread| (first + thread * step) as u32);
            zone.cores.push(CoreCase {
                core: number as u32,
                socket: (place / zones_per_socket) as u32 * sockets_per_zone
                    + (number % u64::from(sockets_per_zone)) as u32,
                cache: place as u32 * 4 + number as u32 % caches,
                threads: threads.collect(),
            });
            core += 1;
        }
    }
    // A thread that is offline: not all cores are of one size any more.
    if draw.chance(8) && threads > 1 {
        let zone = draw.between(0, zones.len() as u64 - 1) as usize;
        if let Some(core) = zones[zone].cores.last_mut() {
            core.threads.pop();
        }
    }
}

fn reserve_cpus(draw: &mut Draw, machine: &mut MachineCase) {
    let cores: Vec<CoreCase> = machine.zones.iter().flat_map(|zone| zone.cores.clone()).collect();
    for _ in 0..draw.between(0, 2) {
        let core = draw.pick(&cores);
        let threads = if draw.chance(60) { core.threads.len() } else { 1 };
        machine.reserved_cpus.extend(core.threads[..threads].iter());
    }
    machine.reserved_cpus.sort_unstable();
    machine.reserved_cpus.dedup();
}

fn cpu_options(draw: &mut Draw, machine: &mut MachineCase) {
    let mut options = Vec::new();
    match draw.between(0, 9) {
        0 | 1 => options.push("full-pcpus-only"),
        2 => options.push("distribute-cpus-across-cores"),
        3 => options.push("prefer-align-cpus-by-uncorecache"),
        4 | 5 => options.push("distribute-cpus-across-numa"),
        _ => {}
    }
    if draw.chance(15) {
        options.push("align-by-socket");
    }
    if draw.chance(15) {
        options.push("strict-cpu-reservation");
    }
    let is_even = machine.zones.iter().flat_map(|zone| &zone.cores).all(|core| {
        let threads = machine.zones.iter().flat_map(|zone| &zone.cores).map(|of| of.threads.len());
        threads.max() == Some(core.threads.len())
    });
    let is_whole = machine.zones.iter().flat_map(|zone| &zone.cores).all(|core| {
        let reserved = |thread: &&u32| machine.reserved_cpus.contains(thread);
        let count = core.threads.iter().filter(reserved).count();
        count == 0 || count == core.threads.len()
    });
    // The kubelet may distribute CPUs for ever if half a core is left.
    if options.contains(&"distribute-cpus-across-numa") && is_even && is_whole && draw.chance(40) {
        options.push("full-pcpus-only");
    }
    machine.cpu_options =
        options.into_iter().map(|option| (option.to_owned(), "true".to_owned())).collect();
}

fn memory(draw: &mut Draw, zones: &mut [ZoneCase]) {
    let has_pages = zones.len() <= 3 && draw.chance(35);
    let reserved_in = draw.between(0, zones.len() as u64 - 1) as usize;
    let is_even = draw.chance(60);
    let even = draw.between(4, 24);
    for (place, zone) in zones.iter_mut().enumerate() {
        let size = if is_even { even } else { draw.between(2, 24) };
        zone.memory = size * GIB;
        if place == reserved_in {
            zone.memory_reserved = GIB;
        } else if draw.chance(8) {
            zone.memory = 0;
        } else if draw.chance(30) {
            zone.memory_reserved = 512 * MIB;
        }
        if has_pages {
            let pages = if zone.memory == 0 { 0 } else { draw.between(0, 512) };
            zone.huge_pages.push(HugePagesCase { size_kib: 2_048, pages, reserved: 0 });
        }
    }
}

fn distances(draw: &mut Draw, machine: &mut MachineCase) {
    let last = machine.zones.iter().map(|zone| zone.id).max().unwrap_or(0);
    for zone in &mut machine.zones {
        zone.distances = (0..=last)
            .map(|id| if id == zone.id { 10 } else { *draw.pick(&[11, 12, 20, 20, 21, 32]) })
            .collect();
    }
    if machine.policy != "none" && draw.chance(30) {
        let option = "prefer-closest-numa-nodes".to_owned();
        machine.policy_options.insert(option, "true".to_owned());
    }
}

fn devices(draw: &mut Draw, machine: &mut MachineCase, ids: &[u32]) {
    let has_memory = machine.memory_policy == "Static";
    let resources = match ids.len() {
        5.. if has_memory => draw.between(0, 1),
        5.. => draw.between(0, 2),
        _ => draw.between(0, 3),
    };
    for resource in &RESOURCES[..resources as usize] {
        let mut near = ids.to_vec();
        draw.shuffle(&mut near);
        near.truncate(if ids.len() > 4 { draw.between(1, 3) as usize } else { ids.len() });
        let has_odd = draw.chance(30);
        let devices = (0..draw.between(1, 8)).map(|number| {
            let one = vec![near[number as usize % near.len()]];
            let zones = match draw.between(0, 19) {
                0 if has_odd => None,
                1 if has_odd => Some(Vec::new()),
                2 if has_odd => Some(vec![60]),
                3..=5 if has_odd => Some(near.iter().copied().take(2).collect()),
                6..=8 => Some(vec![*draw.pick(&near)]),
                _ => Some(one),
            };
            DeviceCase { id: format!("d{number}"), zones, healthy: !draw.chance(7) }
        });
        let mut devices: Vec<DeviceCase> = devices.collect();
        if draw.chance(6) {
            devices.iter_mut().for_each(|device| device.zones = None);
        }
        machine.devices.insert((*resource).to_owned(), devices);
    }
}

fn steps(draw: &mut Draw, machine: &MachineCase) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let mut devices = machine.devices.clone();
    let is_spread =
        machine.zones.len() >= 4 && machine.cpu_options.contains_key("distribute-cpus-across-numa");
    let size = draw.between(if is_spread { 60 } else { 1 }, 100);
    for number in 0..draw.between(3, if machine.zones.len() > 5 { 6 } else { 12 }) {
        match draw.between(0, 99) {
            0..25 if !names.is_empty() => {
                let place = draw.between(0, names.len() as u64 - 1) as usize;
                steps.push(Step::Remove(names.swap_remove(place)));
            }
            25..32 if !names.is_empty() => steps.push(Step::Started(draw.pick(&names).clone())),
            32..36 if !devices.is_empty() => {
                for device in devices.values_mut().flatten().filter(|_| draw.chance(20)) {
                    device.healthy = !device.healthy;
                }
                steps.push(Step::Devices(devices.clone()));
            }
            _ => {
                let pod = pod(draw, machine, format!("p{number}"), size);
                names.push(pod.name.clone());
                steps.push(Step::Add(pod));
            }
        }
    }
    steps
}

/// A pod; `size` in 100 says how much of the machine the pods of a case ask for.
fn pod(draw: &mut Draw, machine: &MachineCase, name: String, size: u64) -> PodCase {
    let guaranteed = draw.chance(80);
    let pod_level = guaranteed && draw.chance(3);
    let mut roles = Vec::new();
    for _ in 0..draw.between(0, 3).saturating_sub(1) {
        roles.push(if draw.chance(65) { "init" } else { "sidecar" });
    }
    let apps = *draw.pick(&[1, 1, 1, 2, 3]);
    roles.extend((0..apps).map(|_| "app"));
    let containers = roles.into_iter().map(|role| container(draw, machine, role, size)).collect();
    PodCase { name, guaranteed, pod_level, containers }
}

fn container(draw: &mut Draw, machine: &MachineCase, role: &str, size: u64) -> ContainerCase {
    let cpus: usize = machine.zones.iter().flat_map(|z| &z.cores).map(|c| c.threads.len()).sum();
    let up_to = |draw: &mut Draw, all: u64| draw.between(1, (all * size / 100).max(1));
    let mut cpu_milli = up_to(draw, cpus as u64) * 1_000;
    if draw.chance(15) {
        cpu_milli += 500;
    }
    if draw.chance(60) && machine.cpu_options.contains_key("full-pcpus-only") {
        let threads = machine.zones.iter().flat_map(|z| &z.cores).map(|c| c.threads.len()).max();
        let group = threads.unwrap_or(1) as u64 * 1_000;
        cpu_milli = cpu_milli.div_ceil(group) * group;
    }
    let all: u64 = machine.zones.iter().map(|zone| zone.memory).sum();
    let mut memory = BTreeMap::new();
    memory.insert("memory".to_owned(), up_to(draw, (all / GIB).max(1)) * GIB / 2);
    let has_pages = machine.zones.iter().any(|zone| !zone.huge_pages.is_empty());
    if has_pages && draw.chance(50) {
        memory.insert("hugepages-2Mi".to_owned(), draw.between(1, 200) * 2 * MIB);
    }
    let mut devices = BTreeMap::new();
    for (resource, of) in &machine.devices {
        if draw.chance(55) {
            let most = (of.len() as u64 * size / 100).max(1);
            let lowest = u64::from(!draw.chance(3));
            devices.insert(resource.clone(), draw.between(lowest, most) as u32);
        }
    }
    if draw.chance(3) {
        devices.insert("example.com/unheard-of".to_owned(), 1);
    }
    ContainerCase { role: role.to_owned(), cpu_milli, memory, devices }
}
