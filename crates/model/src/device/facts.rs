//! ResourceSlices and ResourceClaims as the API has them, as far as they are read.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::hardware::Unread;

/// How many devices a slice may have.
pub const SLICE_DEVICES_MAX: usize = 128;

/// A ResourceSlice: some or all devices of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResourceSliceFacts {
    /// Its name.
    pub name: Box<str>,
    /// The node whose devices they are; empty for devices that are not those of one node, of which
    /// nothing more is kept.
    pub node: Box<str>,
    /// The driver.
    pub driver: Box<str>,
    /// The pool.
    pub pool: Box<str>,
    /// Which state of the pool this is part of: the highest counts.
    pub generation: i64,
    /// How many slices the pool has at this generation.
    pub slice_count: u32,
    /// The devices, in the order of the object.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub devices: Box<[SliceDevice]>,
    /// What is written there and means nothing.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub unread: Box<[Unread]>,
}

/// A device in a slice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SliceDevice {
    /// Its name, which no other device of the pool has.
    pub name: Box<str>,
    /// Ids of the zones it is near; none if that is not told.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub zones: Box<[u32]>,
    /// Where it is on the PCI bus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bus: Option<PciAddress>,
    /// The root of the PCIe tree it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<Box<str>>,
    /// The PCIe switch above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<Box<str>>,
    /// The identity of this very device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<Box<str>>,
    /// Its product name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Box<str>>,
    /// Its memory in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Devices with the same word here reach each other over NVLink.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nvlink_domain: Option<Box<str>>,
    /// Devices that it reaches over NVLink: names, addresses, uuids or numbers.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub nvlink_peers: Box<[Box<str>]>,
    /// Whether a taint keeps it from being given to anybody.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_tainted: bool,
}

/// Where a device is on the PCI bus: domain, bus, device and function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PciAddress(u64);

impl PciAddress {
    /// Reads `0000:65:00.0`. The domain may have four to eight digits, as sysfs and NVML write it,
    /// and be left out, as `lspci` does.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (front, function) = text.rsplit_once('.')?;
        let (front, device) = front.rsplit_once(':')?;
        let (domain, bus) = front.rsplit_once(':').unwrap_or(("0000", front));
        let domain = Some(domain).filter(|domain| (4..=8).contains(&domain.len()))?;
        let hex = |text: &str, digits: usize, max: u64| {
            let is_hex = text.bytes().all(|digit| digit.is_ascii_hexdigit());
            let number = (text.len() == digits && is_hex).then(|| u64::from_str_radix(text, 16));
            number?.ok().filter(|number| *number <= max)
        };
        let (bus, device) = (hex(bus, 2, 0xff)?, hex(device, 2, 0x1f)?);
        let function = hex(function, 1, 7)?;
        Some(Self(hex(domain, domain.len(), u64::MAX)? << 16 | bus << 8 | device << 3 | function))
    }
}

impl fmt::Display for PciAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(bits) = self;
        let (domain, bus, device) = (bits >> 16, bits >> 8 & 0xff, bits >> 3 & 0x1f);
        write!(out, "{domain:04x}:{bus:02x}:{device:02x}.{}", bits & 7)
    }
}

/// A ResourceClaim: what is allocated to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResourceClaimFacts {
    /// Its namespace.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// Devices that are allocated to it, but for those to which it only has access as an
    /// administrator.
    pub devices: Box<[ClaimedDevice]>,
}

impl ResourceClaimFacts {
    /// What it is listed by: namespace and name.
    #[must_use]
    pub fn key(&self) -> Box<str> {
        format!("{}/{}", self.namespace, self.name).into()
    }
}

/// A device that is allocated to a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClaimedDevice {
    /// The driver.
    pub driver: Box<str>,
    /// The pool.
    pub pool: Box<str>,
    /// Its name in the pool.
    pub device: Box<str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_sysfs_nvml_and_lspci_write_them() {
        let table = [
            ("0000:65:00.0", Some("0000:65:00.0")),
            ("00000000:65:00.0", Some("0000:65:00.0")),
            ("65:00.0", Some("0000:65:00.0")),
            ("0001:FF:1f.7", Some("0001:ff:1f.7")),
            ("00010000:01:00.0", Some("10000:01:00.0")),
            ("000:65:00.0", None),
            ("000000000:65:00.0", None),
            ("0000:65:20.0", None),
            ("0000:65:00.8", None),
            ("0000:65:00", None),
            ("0000:+5:00.0", None),
            ("", None),
        ];
        for (text, expected) in table {
            let found = PciAddress::parse(text).map(|address| address.to_string());
            assert_eq!(found.as_deref(), expected, "{text:?}");
        }
        let order = ["0000:65:00.0", "0000:65:01.0", "0000:66:00.0", "0001:01:00.0"];
        assert!(order.map(PciAddress::parse).is_sorted());
    }
}
