//! What the kernel says of the machine, below `/sys`.
//!
//! Everything is read by path from a root, so that recorded trees serve as machines. A file that
//! is missing or says nonsense is a fact that is not known, never an error and never a guess.

mod cpus;
mod fabric;
mod numa;
mod pci;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

pub use fabric::{Fabric, LinkLayer, Port};
pub use pci::{Device, Gpu, Nic};

use crate::cpulist::CpuList;

/// The longest file that is read; a list of CPUs has a few hundred bytes.
const FILE_BYTES_MAX: u64 = 64 << 10;
/// More entries of a folder than this are not looked at.
const ENTRIES_MAX: usize = 16_384;

/// The largest number of a NUMA node that the kubelet can align pods with. Some machines give
/// larger ones to memory of GPUs.
const NODE_ID_MAX: u32 = 63;

/// A machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// NUMA nodes that are online, in the order of their ids.
    pub nodes: Vec<NumaNode>,
    /// The CPUs of every core that has more than one that is online, in order.
    pub cores: Vec<CpuList>,
    /// The most CPUs that a core has.
    pub threads_per_core: Option<usize>,
    /// GPUs and accelerators, in the order of their addresses; the place is the GPU's index.
    pub gpus: Vec<Gpu>,
    /// Network devices, in the order of their addresses.
    pub nics: Vec<Nic>,
    /// The network to other machines.
    pub fabric: Option<Fabric>,
}

/// A NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumaNode {
    /// As the kernel and the kubelet number it.
    pub id: u32,
    /// Its CPUs that are online. Empty for memory without CPUs, such as CXL.
    pub cpus: Option<CpuList>,
    /// All its memory. 0 for a node without any.
    pub memory_bytes: Option<u64>,
    /// Huge pages that are set aside, by their size in KiB.
    pub huge_pages: BTreeMap<u64, u64>,
    /// The bandwidth of its memory for its nearest CPUs, in MB/s.
    pub bandwidth_mbs: Option<u64>,
    /// What memory of other nodes costs, by their ids; 10 is its own.
    pub distances: BTreeMap<u32, u32>,
    /// The socket that all its CPUs are in. Several nodes share one with sub-NUMA clustering.
    pub socket: Option<u32>,
}

/// Where the machine is read from.
#[derive(Clone, Debug)]
pub struct Sysfs {
    root: PathBuf,
}

impl Sysfs {
    /// A tree; `/sys` is the machine itself.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Reads everything.
    pub fn machine(&self) -> Machine {
        let cpus = cpus::read(self);
        let devices = pci::read(self);
        Machine {
            nodes: numa::read(self, &cpus),
            threads_per_core: cpus.threads_per_core(),
            cores: cpus.cores(),
            fabric: fabric::read(self, &devices.nics),
            gpus: devices.gpus,
            nics: devices.nics,
        }
    }

    /// A few small reads that differ when CPUs, NUMA nodes or PCI devices come or go.
    pub fn signature(&self) -> String {
        let mut text = self.list("bus/pci/devices").join(" ");
        for file in ["devices/system/cpu/online", "devices/system/node/online"] {
            text.push_str(&self.read(file).unwrap_or_default());
            text.push('\n');
        }
        text
    }

    /// The trimmed text of a file.
    fn read(&self, path: &str) -> Option<String> {
        let mut text = String::new();
        let file = fs::File::open(self.root.join(path)).ok()?;
        file.take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
        Some(text.trim().to_owned())
    }

    /// A file that has one number.
    fn number<T: std::str::FromStr>(&self, path: &str) -> Option<T> {
        self.read(path)?.parse().ok()
    }

    /// A file that has a hexadecimal number, `0x10de`.
    fn hex(&self, path: &str) -> Option<u32> {
        u32::from_str_radix(self.read(path)?.trim_start_matches("0x"), 16).ok()
    }

    /// A file that has a list of CPUs or NUMA nodes.
    fn cpulist(&self, path: &str) -> Option<CpuList> {
        CpuList::parse(&self.read(path)?)
    }

    /// The names in a folder, in order.
    fn list(&self, path: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.root.join(path)) else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<_> = names.take(ENTRIES_MAX).collect();
        names.sort();
        names
    }

    /// What a link points to, as it is written.
    fn link(&self, path: &str) -> Option<String> {
        fs::read_link(self.root.join(path)).ok()?.into_os_string().into_string().ok()
    }

    fn exists(&self, path: &str) -> bool {
        self.root.join(path).symlink_metadata().is_ok()
    }
}

/// The number at the end of a name such as `node12`, if that is what it is.
fn numbered(name: &str, prefix: &str) -> Option<u32> {
    let digits = name.strip_prefix(prefix)?;
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| digits.parse().ok()).flatten()
}
