//! GPUs: where the kernel has them, and what NVIDIA's library says of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use nvml::Link;

use crate::sysfs;

/// A GPU, everything that is known of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gpu {
    /// Its place on the bus.
    pub pci: sysfs::Device,
    /// Its unique name.
    pub uuid: Option<String>,
    /// Its product name.
    pub model: Option<String>,
    /// Its memory.
    pub memory_bytes: Option<u64>,
    /// Indices of GPUs that it reaches over NVLink, directly or through switches.
    pub peers: BTreeSet<usize>,
    /// The NVLink fabric beyond this machine, `CLUSTER-UUID.CLIQUE`.
    pub clique: Option<String>,
}

/// Who knows more about GPUs than the kernel does.
pub trait AskGpus {
    /// What is known of every GPU; nothing where nobody knows.
    ///
    /// # Errors
    /// When there is nobody to ask.
    fn ask(&self) -> Result<Vec<nvml::Gpu>, nvml::Error>;
}

/// NVIDIA's library.
pub struct Nvml {
    /// Its name or path.
    pub library: PathBuf,
}

impl AskGpus for Nvml {
    fn ask(&self) -> Result<Vec<nvml::Gpu>, nvml::Error> {
        nvml::gpus(&self.library)
    }
}

/// Puts both together. The order is the kernel's, by address, which is NVIDIA's order too; a GPU
/// that only the library knows has no place and is left out.
pub fn join(found: &[sysfs::Gpu], known: &[nvml::Gpu]) -> Vec<Gpu> {
    let index_of: BTreeMap<&str, usize> =
        found.iter().enumerate().map(|(index, gpu)| (gpu.pci.bus.as_str(), index)).collect();
    let by_bus: BTreeMap<&str, &nvml::Gpu> =
        known.iter().map(|gpu| (gpu.bus.as_str(), gpu)).collect();
    let is_switched = |gpu: &nvml::Gpu| gpu.links.contains(&Link::Switch);
    let switched: BTreeSet<usize> = known
        .iter()
        .filter(|gpu| is_switched(gpu))
        .filter_map(|gpu| index_of.get(gpu.bus.as_str()).copied())
        .collect();
    let whole = |(index, gpu): (usize, &sysfs::Gpu)| {
        let Some(more) = by_bus.get(gpu.pci.bus.as_str()) else {
            return Gpu { pci: gpu.pci.clone(), ..Gpu::default() };
        };
        let mut peers: BTreeSet<usize> = more
            .links
            .iter()
            .filter_map(|link| match link {
                Link::Gpu(bus) => index_of.get(bus.as_str()).copied(),
                Link::Switch => None,
            })
            .collect();
        if is_switched(more) {
            peers.extend(&switched);
        }
        peers.remove(&index);
        Gpu {
            pci: gpu.pci.clone(),
            uuid: more.uuid.clone(),
            model: more.model.clone(),
            memory_bytes: more.memory_bytes,
            peers,
            clique: more.clique.clone(),
        }
    };
    found.iter().enumerate().map(whole).collect()
}

/// For every GPU with peers the smallest index among all that can be reached from it.
pub fn domains(gpus: &[Gpu]) -> Vec<Option<usize>> {
    let mut domains = vec![None; gpus.len()];
    for first in 0..gpus.len() {
        if domains[first].is_some() || gpus[first].peers.is_empty() {
            continue;
        }
        let mut open = vec![first];
        while let Some(index) = open.pop() {
            if domains[index].is_none() {
                domains[index] = Some(first);
                open.extend(&gpus[index].peers);
            }
        }
    }
    domains
}

/// The clique that all GPUs of the machine are in, if they are in one.
pub fn clique(gpus: &[Gpu]) -> Option<&str> {
    let mut cliques = gpus.iter().map(|gpu| gpu.clique.as_deref());
    let first = cliques.next()??;
    cliques.all(|clique| clique == Some(first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(buses: &[&str]) -> Vec<sysfs::Gpu> {
        let gpu = |bus: &&str| sysfs::Gpu {
            pci: sysfs::Device { bus: (*bus).into(), ..sysfs::Device::default() },
        };
        buses.iter().map(gpu).collect()
    }

    fn known(bus: &str, links: Vec<Link>) -> nvml::Gpu {
        nvml::Gpu { bus: bus.into(), links, ..nvml::Gpu::default() }
    }

    fn peers(gpus: &[Gpu]) -> Vec<Vec<usize>> {
        gpus.iter().map(|gpu| gpu.peers.iter().copied().collect()).collect()
    }

    #[test]
    fn gpus_behind_switches_are_all_peers() {
        let gpus = join(
            &found(&["a", "b", "c"]),
            &[
                known("c", vec![Link::Switch, Link::Switch]),
                known("a", vec![Link::Switch]),
                known("b", vec![]),
            ],
        );
        assert_eq!(peers(&gpus), [vec![2], vec![], vec![0]]);
        assert_eq!(domains(&gpus), [Some(0), None, Some(0)]);
    }

    #[test]
    fn bridged_gpus_are_peers_of_whom_they_are_linked_with() {
        let link = |bus: &str| Link::Gpu(bus.into());
        let gpus = join(
            &found(&["a", "b", "c", "d"]),
            &[
                known("a", vec![link("b"), link("b"), link("elsewhere")]),
                known("b", vec![link("a"), link("c")]),
                known("c", vec![link("b")]),
                known("unknown", vec![link("a")]),
            ],
        );
        assert_eq!(peers(&gpus), [vec![1], vec![0, 2], vec![1], vec![]]);
        assert_eq!(domains(&gpus), [Some(0), Some(0), Some(0), None]);
    }

    #[test]
    fn a_machine_is_in_a_clique_if_all_its_gpus_are() {
        let gpu = |clique: Option<&str>| Gpu { clique: clique.map(Into::into), ..Gpu::default() };
        assert_eq!(clique(&[gpu(Some("x.1")), gpu(Some("x.1"))]), Some("x.1"));
        assert_eq!(clique(&[gpu(Some("x.1")), gpu(Some("x.2"))]), None);
        assert_eq!(clique(&[gpu(Some("x.1")), gpu(None)]), None);
        assert_eq!(clique(&[]), None);
    }
}
