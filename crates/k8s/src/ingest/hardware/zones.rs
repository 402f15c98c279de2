//! NUMA zones in `numa.kubenexus.io/node-...`.

use std::collections::BTreeMap;

use model::Quantity;
use model::hardware::{CpuRanges, HardwareFacts, NumaZone, ZONE_ID_MAX};

use super::{Reader, cpus, small};

const PREFIX: &str = "numa.kubenexus.io/node-";
const CORES: &str = "numa.kubenexus.io/cores";
/// Distances as firmware tells them, and rates of memory in MB/s.
const DISTANCE_MAX: u64 = 255;
const BANDWIDTH_MAX: u64 = 1 << 40;
const SOCKET_MAX: u64 = 4_095;
/// How many cores a list may have.
const CORES_MAX: usize = 65_536;

pub(super) fn read(reader: &mut Reader<'_>, facts: &mut HardwareFacts) {
    let mut zones: BTreeMap<u32, NumaZone> = BTreeMap::new();
    for (key, name, value) in reader.all(PREFIX) {
        let said = (key, value);
        if name == "count" {
            let count = reader.number(said, 1..=u64::from(ZONE_ID_MAX) + 1);
            facts.zone_count = count.and_then(|count| count.try_into().ok());
            continue;
        }
        let (id, fact) = name.split_once('-').unwrap_or((name, ""));
        let Some(id) = zone_id(id) else {
            reader.reject(key, value, "the number of a zone from 0 to 63 in the key");
            continue;
        };
        let mut zone = NumaZone { id, ..zones.remove(&id).unwrap_or_default() };
        add(reader, &mut zone, said, fact);
        zones.insert(id, zone);
    }
    facts.zones = zones.into_values().collect();
    if let Some(value) = reader.get(CORES) {
        let made = cores(value);
        let expected = "CPUs of cores, such as 0,64;1,65";
        facts.cores = reader.check((CORES, value), made, expected).unwrap_or_default();
    }
}

/// The id of a zone.
pub(super) fn zone_id(text: &str) -> Option<u32> {
    small(text).filter(|id| *id <= ZONE_ID_MAX)
}

fn add(reader: &mut Reader<'_>, zone: &mut NumaZone, said: (&str, &str), fact: &str) {
    let value = said.1;
    match fact {
        "cpus" => zone.cpus = reader.check(said, cpus(value), "CPUs, such as 0-15 or 0-15_32-47"),
        "memory" => {
            zone.memory = reader.check(said, bytes(value), "an amount of bytes");
        }
        "bandwidth" => zone.bandwidth = reader.number(said, 1..=BANDWIDTH_MAX),
        "socket" => {
            let socket = reader.number(said, 0..=SOCKET_MAX);
            zone.socket = socket.and_then(|socket| socket.try_into().ok());
        }
        _ => match fact.strip_prefix("distance-").and_then(zone_id) {
            Some(other) => {
                let distance = reader.number(said, 1..=DISTANCE_MAX);
                if let Some(distance) = distance.and_then(|it| it.try_into().ok()) {
                    let others = zone.distances.iter().copied();
                    zone.distances = others.chain([(other, distance)]).collect();
                    zone.distances.sort_unstable();
                }
            }
            None => {
                let expected = "cpus, memory, bandwidth, socket or distance-ZONE in the key";
                reader.reject(said.0, value, expected);
            }
        },
    }
}

/// An amount of bytes, as Kubernetes writes amounts.
pub(super) fn bytes(text: &str) -> Option<u64> {
    Quantity::parse(text).ok().and_then(|bytes| u64::try_from(bytes.units()).ok())
}

fn cores(text: &str) -> Option<Box<[CpuRanges]>> {
    let cores: Option<Box<[CpuRanges]>> = text.split(';').take(CORES_MAX).map(cpus).collect();
    cores.filter(|cores| cores.iter().all(|core| core.count() > 0))
}
