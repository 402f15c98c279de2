//! CPUs: which are online, which share a core, and in which socket they are.

use std::collections::BTreeMap;

use super::Sysfs;
use crate::cpulist::CpuList;

const FOLDER: &str = "devices/system/cpu";

/// The CPUs of a machine.
pub(super) struct Cpus {
    /// Those that are online, if that is known.
    pub(super) online: Option<CpuList>,
    /// The CPUs that share a core, by each of them; only those that are online.
    siblings: BTreeMap<u32, CpuList>,
    /// The socket of each.
    sockets: BTreeMap<u32, u32>,
}

impl Cpus {
    /// The socket that all of these are in.
    pub(super) fn socket_of(&self, cpus: &CpuList) -> Option<u32> {
        let mut sockets = cpus.iter().map(|cpu| self.sockets.get(&cpu).copied());
        let first = sockets.next()??;
        sockets.all(|socket| socket == Some(first)).then_some(first)
    }

    /// The most CPUs of a core.
    pub(super) fn threads_per_core(&self) -> Option<usize> {
        self.siblings.values().map(CpuList::len).max()
    }

    /// The cores with more than one CPU.
    pub(super) fn cores(&self) -> Vec<CpuList> {
        let mut cores: Vec<_> =
            self.siblings.values().filter(|core| core.len() > 1).cloned().collect();
        cores.sort();
        cores.dedup();
        cores
    }
}

pub(super) fn read(sysfs: &Sysfs) -> Cpus {
    let online = sysfs.cpulist(&format!("{FOLDER}/online"));
    let mut cpus = Cpus { online, siblings: BTreeMap::new(), sockets: BTreeMap::new() };
    let names = sysfs.list(FOLDER);
    for cpu in names.iter().filter_map(|name| super::numbered(name, "cpu")) {
        let is_online = cpus.online.as_ref().is_none_or(|online| online.contains(cpu));
        if !is_online {
            continue;
        }
        let topology = format!("{FOLDER}/cpu{cpu}/topology");
        let socket = sysfs.number(&format!("{topology}/physical_package_id"));
        cpus.sockets.extend(socket.map(|socket| (cpu, socket)));
        // The newer name first.
        let siblings = sysfs
            .cpulist(&format!("{topology}/core_cpus_list"))
            .or_else(|| sysfs.cpulist(&format!("{topology}/thread_siblings_list")));
        let Some(mut siblings) = siblings else { continue };
        if let Some(online) = &cpus.online {
            siblings = siblings.common(online);
        }
        cpus.siblings.insert(cpu, siblings);
    }
    cpus
}
