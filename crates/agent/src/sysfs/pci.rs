//! GPUs, accelerators and network devices on the PCI bus, and what is above them.

use super::Sysfs;

const FOLDER: &str = "bus/pci/devices";

/// More devices of a kind than this are not published.
const DEVICES_MAX: usize = 64;

const NVIDIA: u32 = 0x10de;
const AMD: u32 = 0x1002;

/// A device on the PCI bus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Its address, `0000:18:00.0`.
    pub bus: String,
    /// The ids of its maker and its kind.
    pub vendor: Option<u32>,
    /// See `vendor`.
    pub device: Option<u32>,
    /// The NUMA node it is attached to.
    pub numa: Option<u32>,
    /// The root complex, `pci0000:15`, spelled as ResourceSlices have it.
    pub root: Option<String>,
    /// The upstream port of the nearest switch above it.
    pub switch: Option<String>,
}

/// A GPU or an accelerator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gpu {
    /// Where it is.
    pub pci: Device,
}

impl Gpu {
    /// Whether NVIDIA's library could know it.
    pub fn is_nvidia(&self) -> bool {
        self.pci.vendor == Some(NVIDIA)
    }
}

/// A network device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nic {
    /// Where it is.
    pub pci: Device,
    /// The names of its interfaces.
    pub interfaces: Vec<String>,
}

pub(super) struct Devices {
    pub(super) gpus: Vec<Gpu>,
    pub(super) nics: Vec<Nic>,
}

enum Kind {
    Gpu,
    Network,
    Other,
}

/// Virtual functions are left out: they are made and unmade while the machine runs, and share
/// their place with the device they belong to.
pub(super) fn read(sysfs: &Sysfs) -> Devices {
    let mut devices = Devices { gpus: Vec::new(), nics: Vec::new() };
    for bus in sysfs.list(FOLDER) {
        let at = format!("{FOLDER}/{bus}");
        let Some(class) = sysfs.hex(&format!("{at}/class")) else { continue };
        let vendor = sysfs.hex(&format!("{at}/vendor"));
        let kind = kind(class, vendor);
        if matches!(kind, Kind::Other) || sysfs.exists(&format!("{at}/physfn")) {
            continue;
        }
        let pci = device(sysfs, bus, vendor);
        match kind {
            Kind::Gpu if devices.gpus.len() < DEVICES_MAX => devices.gpus.push(Gpu { pci }),
            Kind::Network if devices.nics.len() < DEVICES_MAX => {
                let interfaces = sysfs.list(&format!("{at}/net"));
                devices.nics.push(Nic { pci, interfaces });
            }
            Kind::Gpu | Kind::Network | Kind::Other => {}
        }
    }
    devices
}

/// 3D controllers, display controllers without a screen, and processing accelerators are what jobs
/// compute with. A VGA controller is that only if its maker builds such: on most servers it is the
/// screen of the management controller.
fn kind(class: u32, vendor: Option<u32>) -> Kind {
    match class >> 8 {
        0x0302 | 0x0380 | 0x1200 => Kind::Gpu,
        0x0300 if matches!(vendor, Some(NVIDIA | AMD)) => Kind::Gpu,
        0x0200 | 0x0207 | 0x0280 => Kind::Network,
        _ => Kind::Other,
    }
}

fn device(sysfs: &Sysfs, bus: String, vendor: Option<u32>) -> Device {
    let at = format!("{FOLDER}/{bus}");
    let path = sysfs.link(&at).unwrap_or_default();
    let (root, switch) = above(&path);
    Device {
        vendor,
        device: sysfs.hex(&format!("{at}/device")),
        // -1 means that the firmware does not say.
        numa: sysfs.number(&format!("{at}/numa_node")).filter(|id| *id <= super::NODE_ID_MAX),
        root,
        switch,
        bus,
    }
}

/// Root complex and switch, from the path of a device:
/// `devices/pci0000:15/ROOT PORT/UPSTREAM PORT/DOWNSTREAM PORT/DEVICE`. A bridge alone is no
/// switch: below it there is one device.
fn above(path: &str) -> (Option<String>, Option<String>) {
    let mut parts = path.split('/').skip_while(|part| !part.starts_with("pci"));
    let root = parts.next().map(str::to_owned);
    let chain: Vec<&str> = parts.filter(|part| is_address(part)).collect();
    let switch = (chain.len() >= 4).then(|| chain[chain.len() - 3].to_owned());
    (root, switch)
}

/// `0000:18:00.0`; domains behind Intel's VMD have five digits.
pub(super) fn is_address(text: &str) -> bool {
    let Some((rest, function)) = text.split_once('.') else { return false };
    let parts: Vec<&str> = rest.split(':').collect();
    let is_hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    function.len() == 1
        && parts.len() == 3
        && (4..=8).contains(&parts[0].len())
        && parts[1].len() == 2
        && parts[2].len() == 2
        && parts.into_iter().chain([function]).all(is_hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_switch_is_told_by_its_upstream_port() {
        let below = "../../../devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0";
        let (root, switch) = above(&format!("{below}/0000:18:00.0"));
        assert_eq!(
            (root.as_deref(), switch.as_deref()),
            (Some("pci0000:15"), Some("0000:16:00.0"))
        );
        let nested = format!("{below}/0000:18:00.0/0000:19:00.0/0000:1a:00.0");
        assert_eq!(above(&nested).1.as_deref(), Some("0000:18:00.0"));
    }

    #[test]
    fn a_device_at_a_root_port_or_a_bridge_has_no_switch() {
        let chain = ["0000:00:01.0", "0000:01:00.0", "0000:02:00.0"];
        for length in 1..=3 {
            let path = format!("devices/pci0000:00/{}", chain[..length].join("/"));
            assert_eq!(above(&path), (Some("pci0000:00".into()), None), "{path}");
        }
        assert_eq!(above(""), (None, None));
        assert_eq!(above("devices/platform/gpu"), (None, None));
    }

    #[test]
    fn addresses_are_told_from_other_names() {
        assert!(is_address("0000:18:00.0") && is_address("10000:e1:00.0"));
        for text in ["", "pci0000:15", "0000:18:00", "0000:18:0.0", "gggg:18:00.0", "0:18:00.0"] {
            assert!(!is_address(text), "{text}");
        }
    }

    #[test]
    fn screens_of_servers_are_no_gpus() {
        assert!(matches!(kind(0x03_0000, Some(0x1a03)), Kind::Other));
        assert!(matches!(kind(0x03_0000, Some(NVIDIA)), Kind::Gpu));
        assert!(matches!(kind(0x03_0200, Some(NVIDIA)), Kind::Gpu));
        assert!(matches!(kind(0x12_0000, None), Kind::Gpu));
        assert!(matches!(kind(0x02_0700, None), Kind::Network));
        assert!(matches!(kind(0x01_0802, None), Kind::Other));
    }
}
