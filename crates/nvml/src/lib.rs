//! What NVIDIA's management library (NVML) says of GPUs: names, memory, links between them.
//!
//! The library belongs to the driver. It is opened when the program runs, so the program builds
//! and starts without it. Only functions that have had the same signature since they exist are
//! called, and a function that an older driver does not have leaves its fact out.

#![allow(unsafe_code, reason = "calls into a C library; every block says why it is sound")]

mod abi;

use std::path::{Path, PathBuf};

use abi::{Library, Returned};

/// A GPU, as the library describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gpu {
    /// Its address, `0000:18:00.0`, as sysfs spells it.
    pub bus: String,
    /// Its unique name, by which NVIDIA's device plugin knows it.
    pub uuid: Option<String>,
    /// Its product name, `NVIDIA H100 80GB HBM3`.
    pub model: Option<String>,
    /// Its memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// What its active NVLinks lead to.
    pub links: Vec<Link>,
    /// The NVLink fabric beyond the machine: `CLUSTER-UUID.CLIQUE`.
    pub clique: Option<String>,
}

/// The other end of an NVLink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// A GPU, by its address.
    Gpu(String),
    /// A switch; whoever has a link to one reaches all others that have.
    Switch,
}

/// Why nothing is known of GPUs.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such library, or it is not NVML.
    #[error("opening {}", path.display())]
    Open {
        /// The library.
        path: PathBuf,
        /// What the system says.
        source: libloading::Error,
    },
    /// The library refused a call.
    #[error("{call} answered {code}")]
    Call {
        /// The function.
        call: &'static str,
        /// NVML's code: 9 means that the driver is not loaded.
        code: i32,
    },
}

/// More GPUs or links than this are not asked about.
const GPUS_MAX: u32 = 256;
/// NVLinks of one GPU. Asking for one that a GPU does not have is an error and ends its list.
const LINKS_MAX: u32 = 36;

/// Opens the library, asks about every GPU, and closes it again: a library that stays open keeps
/// tens of megabytes.
///
/// # Errors
/// When the library is not there or refuses to start or to count. A GPU that cannot be asked is
/// left out, and what is not known of a GPU is `None`.
pub fn gpus(library: &Path) -> Result<Vec<Gpu>, Error> {
    let library = Library::open(library)?;
    let count = library.count()?.min(GPUS_MAX);
    Ok((0..count).filter_map(|index| gpu(&library, index)).collect())
}

fn gpu(library: &Library, index: u32) -> Option<Gpu> {
    let device = library.device(index)?;
    Some(Gpu {
        bus: library.bus(device)?,
        uuid: library.uuid(device),
        model: library.name(device),
        memory_bytes: library.memory_bytes(device),
        links: links(library, device),
        clique: library.clique(device),
    })
}

fn links(library: &Library, device: abi::Device) -> Vec<Link> {
    let mut links = Vec::new();
    for index in 0..LINKS_MAX {
        match library.is_link_active(device, index) {
            Returned::Value(true) => links.extend(library.link(device, index)),
            Returned::Value(false) => {}
            Returned::Refused => break,
        }
    }
    links
}
