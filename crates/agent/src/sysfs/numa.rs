//! NUMA nodes: CPUs, memory, and how far they are from each other.

use std::collections::BTreeMap;

use super::cpus::Cpus;
use super::{NumaNode, Sysfs};

const FOLDER: &str = "devices/system/node";

pub(super) fn read(sysfs: &Sysfs, cpus: &Cpus) -> Vec<NumaNode> {
    let online = sysfs.cpulist(&format!("{FOLDER}/online"));
    let names = sysfs.list(FOLDER);
    let mut ids: Vec<u32> = names.iter().filter_map(|name| super::numbered(name, "node")).collect();
    ids.retain(|id| online.as_ref().is_none_or(|online| online.contains(*id)));
    ids.sort_unstable();
    let meant = ids.iter().filter(|id| **id <= super::NODE_ID_MAX);
    meant.map(|id| read_node(sysfs, cpus, *id, &ids)).collect()
}

fn read_node(sysfs: &Sysfs, cpus: &Cpus, id: u32, ids: &[u32]) -> NumaNode {
    let folder = format!("{FOLDER}/node{id}");
    let mut own = sysfs.cpulist(&format!("{folder}/cpulist"));
    if let (Some(own), Some(online)) = (&mut own, &cpus.online) {
        *own = own.common(online);
    }
    let distances = sysfs.read(&format!("{folder}/distance"));
    NumaNode {
        id,
        socket: own.as_ref().and_then(|own| cpus.socket_of(own)),
        cpus: own,
        memory_bytes: sysfs.read(&format!("{folder}/meminfo")).and_then(|text| memory(&text)),
        huge_pages: huge_pages(sysfs, &folder),
        bandwidth_mbs: sysfs
            .number(&format!("{folder}/access0/initiators/read_bandwidth"))
            .filter(|bandwidth| *bandwidth > 0),
        distances: distances.and_then(|text| distances_to(&text, ids)).unwrap_or_default(),
    }
}

/// `Node 0 MemTotal:       24684112 kB`
fn memory(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.contains("MemTotal:"))?;
    let mut words = line.split_whitespace().skip_while(|word| *word != "MemTotal:").skip(1);
    let kib: u64 = words.next()?.parse().ok()?;
    kib.checked_mul(1024).filter(|_| words.next() == Some("kB"))
}

/// One number for every node that is online, in their order.
fn distances_to(text: &str, ids: &[u32]) -> Option<BTreeMap<u32, u32>> {
    let numbers: Option<Vec<u32>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
    let numbers = numbers.filter(|numbers| numbers.len() == ids.len())?;
    let all = ids.iter().copied().zip(numbers);
    Some(all.filter(|(id, _)| *id <= super::NODE_ID_MAX).collect())
}

fn huge_pages(sysfs: &Sysfs, folder: &str) -> BTreeMap<u64, u64> {
    let mut pages = BTreeMap::new();
    for name in sysfs.list(&format!("{folder}/hugepages")) {
        let size = name.strip_prefix("hugepages-").and_then(|rest| rest.strip_suffix("kB"));
        let Some(size) = size.and_then(|size| size.parse().ok()) else { continue };
        let count = sysfs.number(&format!("{folder}/hugepages/{name}/nr_hugepages"));
        pages.extend(count.filter(|count| *count > 0).map(|count: u64| (size, count)));
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_the_total_in_bytes() {
        let text = "Node 1 MemTotal:       1024 kB\nNode 1 MemFree: 7 kB";
        assert_eq!(memory(text), Some(1 << 20));
        for text in ["", "Node 1 MemFree: 7 kB", "Node 1 MemTotal: many kB", "MemTotal: 1 MB"] {
            assert_eq!(memory(text), None, "{text}");
        }
        assert_eq!(memory(&format!("Node 0 MemTotal: {} kB", u64::MAX)), None);
    }

    #[test]
    fn distances_belong_to_the_nodes_that_are_online() {
        let expected = BTreeMap::from([(0, 10), (8, 40)]);
        assert_eq!(distances_to("10 40", &[0, 8]), Some(expected.clone()));
        assert_eq!(distances_to("10 40 80", &[0, 8, 252]), Some(expected));
        assert_eq!(distances_to("10 40 40", &[0, 8]), None);
        assert_eq!(distances_to("10 x", &[0, 8]), None);
    }
}
