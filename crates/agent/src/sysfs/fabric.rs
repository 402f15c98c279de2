//! The network to other machines: InfiniBand, RoCE, or plain Ethernet.

use super::{Nic, Sysfs};

const FOLDER: &str = "class/infiniband";

/// What connects the machine to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fabric {
    /// Of the fastest kind there is: InfiniBand before RoCE before Ethernet.
    pub layer: LinkLayer,
    /// The rate of the fastest port of that kind, in Mb/s.
    pub rate_mbits: Option<u64>,
    /// Ports of RDMA devices, whatever their state.
    pub ports: Vec<Port>,
}

/// Kinds of networks, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkLayer {
    /// InfiniBand.
    InfiniBand,
    /// RDMA over Ethernet.
    Roce,
    /// Ethernet without RDMA.
    Ethernet,
}

impl LinkLayer {
    /// As a value of a label.
    pub fn name(self) -> &'static str {
        match self {
            Self::InfiniBand => "infiniband",
            Self::Roce => "roce",
            Self::Ethernet => "ethernet",
        }
    }
}

/// A port of an RDMA device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The device, `mlx5_0`.
    pub device: String,
    /// The number of the port, from 1.
    pub number: u32,
    /// The address of the device.
    pub bus: Option<String>,
    /// What it speaks.
    pub layer: LinkLayer,
    /// Whether it is connected.
    pub is_active: bool,
    /// Its rate.
    pub rate_mbits: Option<u64>,
}

/// Ports and interfaces that are down say nothing about the network; without one that is up there
/// is none.
pub(super) fn read(sysfs: &Sysfs, nics: &[Nic]) -> Option<Fabric> {
    let ports = ports(sysfs);
    let active = || ports.iter().filter(|port| port.is_active);
    let best = active().map(|port| port.layer).min();
    let (layer, rate_mbits) = match best {
        Some(layer) => {
            let alike = active().filter(|port| port.layer == layer);
            (layer, alike.filter_map(|port| port.rate_mbits).max())
        }
        None => (LinkLayer::Ethernet, Some(ethernet(sysfs, nics)?)),
    };
    Some(Fabric { layer, rate_mbits, ports })
}

fn ports(sysfs: &Sysfs) -> Vec<Port> {
    let mut ports = Vec::new();
    for device in sysfs.list(FOLDER) {
        let bus = sysfs.link(&format!("{FOLDER}/{device}/device"));
        let bus = bus.and_then(|path| path.rsplit('/').next().map(str::to_owned));
        let bus = bus.filter(|bus| super::pci::is_address(bus));
        for name in sysfs.list(&format!("{FOLDER}/{device}/ports")) {
            let at = format!("{FOLDER}/{device}/ports/{name}");
            let Ok(number) = name.parse() else { continue };
            let layer = match sysfs.read(&format!("{at}/link_layer")).as_deref() {
                Some("InfiniBand") => LinkLayer::InfiniBand,
                Some("Ethernet") => LinkLayer::Roce,
                _ => continue,
            };
            let state = sysfs.read(&format!("{at}/state")).unwrap_or_default();
            ports.push(Port {
                device: device.clone(),
                number,
                bus: bus.clone(),
                layer,
                is_active: state.ends_with("ACTIVE"),
                rate_mbits: sysfs.read(&format!("{at}/rate")).and_then(|text| rate(&text)),
            });
        }
    }
    ports
}

/// `200 Gb/sec (4X HDR)`, `2.5 Gb/sec (1X SDR)`
fn rate(text: &str) -> Option<u64> {
    let number = text.strip_suffix(')').map_or(text, |text| text.split('(').next().unwrap_or(text));
    let number = number.trim().strip_suffix("Gb/sec")?.trim();
    let (whole, tenths) = number.split_once('.').unwrap_or((number, "0"));
    let whole: u64 = whole.parse().ok()?;
    let tenths: u64 = tenths.parse().ok().filter(|tenths| *tenths < 10)?;
    whole.checked_mul(1000)?.checked_add(tenths * 100)
}

/// The speed of the fastest interface that is up.
fn ethernet(sysfs: &Sysfs, nics: &[Nic]) -> Option<u64> {
    let interfaces = nics.iter().flat_map(|nic| &nic.interfaces);
    let up = interfaces.filter(|name| {
        sysfs.read(&format!("class/net/{name}/operstate")).is_some_and(|state| state == "up")
    });
    let speeds = up.filter_map(|name| sysfs.number::<i64>(&format!("class/net/{name}/speed")));
    speeds.max().and_then(|speed| u64::try_from(speed).ok()).filter(|speed| *speed > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read() {
        assert_eq!(rate("200 Gb/sec (4X HDR)"), Some(200_000));
        assert_eq!(rate("2.5 Gb/sec (1X SDR)"), Some(2_500));
        assert_eq!(rate("100 Gb/sec"), Some(100_000));
        for text in ["", "fast", "200 Mb/sec", "2.55 Gb/sec", "99999999999999999999 Gb/sec"] {
            assert_eq!(rate(text), None, "{text}");
        }
    }
}
