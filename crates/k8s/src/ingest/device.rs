//! ResourceSlices and ResourceClaims to facts: the devices that drivers tell of, and those that
//! are allocated.

mod attributes;

use std::collections::BTreeSet;

use model::Event;
use model::device::{
    ClaimedDevice, PciAddress, ResourceClaimFacts, ResourceSliceFacts, SLICE_DEVICES_MAX,
    SliceDevice,
};
use model::hardware::{Unread, ZONE_ID_MAX};

pub(super) use attributes::Picked;
use attributes::{Attributes, Value};

use super::seen::read_text;
use super::view::{DeviceView, ResourceClaimView, ResourceSliceSpec, ResourceSliceView};
use super::{IngestError, cut, read};

const SLICE: &str = "ResourceSlice";
const CLAIM: &str = "ResourceClaim";
/// How many devices of a claim are kept; the API has 32.
const CLAIMED_MAX: usize = 128;
/// How many mistakes of a slice are kept, and how much of a value is repeated.
const UNREAD_MAX: usize = 16;
const SHOWN_MAX: usize = 80;
/// How long a name may be, as the API has it.
const NAME_MAX: usize = 253;
/// More memory than any device has.
const MEMORY_MAX: u64 = 1 << 44;

/// The event that a ResourceSlice is there.
///
/// # Errors
/// When the object does not have the shape of a ResourceSlice.
pub fn resource_slice(object: &serde_json::Value) -> Result<Event, IngestError> {
    Ok(slice(read(SLICE, object)?))
}

/// Reads the text of a ResourceSlice: its `resourceVersion`, and that it is there.
///
/// # Errors
/// When it is no JSON, or does not have the shape of a ResourceSlice.
pub fn read_resource_slice(text: &[u8]) -> Result<(String, Event), IngestError> {
    let mut view: ResourceSliceView = read_text(SLICE, text)?;
    let version = std::mem::take(&mut view.metadata.resource_version);
    Ok((version, slice(view)))
}

/// The event that a ResourceClaim is there.
///
/// # Errors
/// When the object does not have the shape of a ResourceClaim.
pub fn resource_claim(object: &serde_json::Value) -> Result<Event, IngestError> {
    Ok(claim(read(CLAIM, object)?))
}

/// Reads the text of a ResourceClaim: its `resourceVersion`, and that it is there.
///
/// # Errors
/// When it is no JSON, or does not have the shape of a ResourceClaim.
pub fn read_resource_claim(text: &[u8]) -> Result<(String, Event), IngestError> {
    let mut view: ResourceClaimView = read_text(CLAIM, text)?;
    let version = std::mem::take(&mut view.metadata.resource_version);
    Ok((version, claim(view)))
}

fn claim(view: ResourceClaimView) -> Event {
    let results = view.status.allocation.devices.results;
    // An administrator looks at devices that are somebody else's.
    let results = results.into_iter().filter(|result| !result.admin_access);
    let devices = results.take(CLAIMED_MAX).map(|result| ClaimedDevice {
        driver: result.driver.into(),
        pool: result.pool.into(),
        device: result.device.into(),
    });
    Event::seen(ResourceClaimFacts {
        namespace: view.metadata.namespace.into(),
        name: view.metadata.name.into(),
        devices: devices.collect(),
    })
}

fn slice(view: ResourceSliceView) -> Event {
    let ResourceSliceSpec { driver, pool, node_name, devices } = view.spec;
    let is_short = |text: &String| text.len() <= NAME_MAX;
    let mut facts = ResourceSliceFacts {
        name: view.metadata.name.into(),
        node: Some(node_name).filter(is_short).unwrap_or_default().into(),
        driver: Some(driver).filter(is_short).unwrap_or_default().into(),
        pool: Some(pool.name).filter(is_short).unwrap_or_default().into(),
        generation: pool.generation,
        slice_count: u32::try_from(pool.resource_slice_count).unwrap_or(0),
        ..ResourceSliceFacts::default()
    };
    // Devices that several nodes can reach are not those of a node.
    if facts.node.is_empty() {
        return Event::seen(facts);
    }
    let mut mistakes = Mistakes { slice: &facts.name, unread: Vec::new() };
    if devices.len() > SLICE_DEVICES_MAX {
        let expected = format!("at most {SLICE_DEVICES_MAX}");
        mistakes.add("devices", &devices.len().to_string(), &expected);
    } else {
        let driver = &facts.driver;
        let devices = devices.iter().filter(|device| is_whole(driver, device));
        facts.devices = devices.map(|device| read_device(driver, device, &mut mistakes)).collect();
    }
    facts.unread = mistakes.unread.into();
    Event::seen(facts)
}

/// Whether it is a device as plugins offer it, and not a part of one or one for virtual machines.
fn is_whole(driver: &str, device: &DeviceView) -> bool {
    let attributes = Attributes { driver, picked: &device.attributes };
    match attributes.first(&["type"]) {
        Some((_, Value::Text(kind))) => !["mig", "vfio"].contains(&kind),
        Some((_, Value::Numbers(_))) | None => true,
    }
}

fn read_device(driver: &str, view: &DeviceView, mistakes: &mut Mistakes<'_>) -> SliceDevice {
    let attributes = Attributes { driver, picked: &view.attributes };
    let keeps_off = |effect: &str| effect == "NoSchedule" || effect == "NoExecute";
    let mut of = Of { device: &view.name, attributes, mistakes };
    SliceDevice {
        name: cut(&view.name, NAME_MAX).into(),
        zones: of.zones(),
        bus: of.bus(),
        root: of.text(&["resource.kubernetes.io/pcieRoot", "pcie-root"]),
        switch: of.text(&["pcie-switch"]),
        uuid: of.text(&["uuid"]),
        model: of.text(&["productName", "model"]),
        memory: of.memory(view),
        nvlink_domain: of.word(&["nvlink-domain"]),
        nvlink_peers: of.peers(),
        is_tainted: view.taints.iter().any(|taint| keeps_off(&taint.effect)),
    }
}

/// What a slice says and means nothing.
struct Mistakes<'a> {
    slice: &'a str,
    unread: Vec<Unread>,
}

impl Mistakes<'_> {
    fn add(&mut self, what: &str, value: &str, expected: &str) {
        if self.unread.len() < UNREAD_MAX {
            let key = format!("{what} in ResourceSlice {}", self.slice);
            let (key, value) = (cut(&key, NAME_MAX).into(), cut(value, SHOWN_MAX).into());
            self.unread.push(Unread { key, value, expected: expected.into() });
        }
    }
}

/// What is said of one device.
struct Of<'a, 'b, 'c> {
    device: &'a str,
    attributes: Attributes<'a>,
    mistakes: &'b mut Mistakes<'c>,
}

impl Of<'_, '_, '_> {
    fn reject(&mut self, name: &str, value: &str, expected: &str) {
        let what = format!("{name} of device {}", cut(self.device, SHOWN_MAX));
        self.mistakes.add(&what, value, expected);
    }

    /// A text by the first of several names.
    fn text(&mut self, names: &[&str]) -> Option<Box<str>> {
        match self.attributes.first(names)? {
            (_, Value::Text(text)) if !text.is_empty() => Some(cut(text, NAME_MAX).into()),
            (_, Value::Text(_) | Value::Numbers(_)) => None,
        }
    }

    /// A text, or a number as one.
    fn word(&mut self, names: &[&str]) -> Option<Box<str>> {
        match self.attributes.first(names)? {
            (_, Value::Numbers([number])) => Some(number.to_string().into()),
            (_, Value::Text(_) | Value::Numbers(_)) => self.text(names),
        }
    }

    fn bus(&mut self) -> Option<PciAddress> {
        let names = ["resource.kubernetes.io/pciBusID", "pcie-bus-id", "pcieBusID", "pciBusID"];
        let (name, value) = self.attributes.first(&names)?;
        let Value::Text(text) = value else { return None };
        let address = PciAddress::parse(text);
        if address.is_none() {
            self.reject(name, text, "a PCI address such as 0000:65:00.0");
        }
        address
    }

    fn zones(&mut self) -> Box<[u32]> {
        let names = ["resource.kubernetes.io/numaNode", "numa-node", "numaNode", "numa"];
        let Some((name, Value::Numbers(numbers))) = self.attributes.first(&names) else {
            return Box::default();
        };
        // The operating system says -1 of devices that are near no zone in particular.
        let numbers = numbers.iter().filter(|number| **number != -1);
        let zone = |number: &i64| u32::try_from(*number).ok().filter(|id| *id <= ZONE_ID_MAX);
        let zones: Option<BTreeSet<u32>> = numbers.clone().map(zone).collect();
        if zones.is_none() {
            let found: Vec<String> = numbers.take(8).map(ToString::to_string).collect();
            self.reject(name, &found.join(","), "ids of zones from 0 to 63");
        }
        zones.unwrap_or_default().into_iter().collect()
    }

    /// What devices have by their capacity, or by an attribute; the smaller if both say it.
    fn memory(&mut self, view: &DeviceView) -> Option<u64> {
        let driver = self.attributes.driver;
        let amount = Attributes { driver, picked: &view.capacity }.amount("memory");
        let capacity = amount.map(|amount| amount.0.units());
        let attribute = match self.attributes.first(&["vram"]) {
            Some((_, Value::Numbers([bytes]))) => Some(*bytes),
            Some(_) | None => None,
        };
        let mut known: Option<u64> = None;
        for (name, said) in [("capacity memory", capacity), ("vram", attribute)] {
            let Some(said) = said else { continue };
            let bytes = u64::try_from(said).ok().filter(|bytes| (1..=MEMORY_MAX).contains(bytes));
            match (bytes, known) {
                (None, _) => self.reject(name, &said.to_string(), "an amount of bytes"),
                (Some(bytes), Some(other)) if bytes != other => {
                    let least = bytes.min(other);
                    let expected = format!("as capacity memory says; {least} counts");
                    self.reject(name, &bytes.to_string(), &expected);
                    known = Some(least);
                }
                (Some(bytes), _) => known = Some(bytes),
            }
        }
        known
    }

    /// A list with commas, or a list.
    fn peers(&mut self) -> Box<[Box<str>]> {
        let Some((name, value)) = self.attributes.first(&["nvlink-peers"]) else {
            return Box::default();
        };
        let peers: Vec<Box<str>> = match value {
            Value::Text(text) => {
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                parts.take(SLICE_DEVICES_MAX + 1).map(Into::into).collect()
            }
            Value::Numbers(numbers) => {
                let numbers = numbers.iter().take(SLICE_DEVICES_MAX + 1);
                numbers.map(|number| number.to_string().into()).collect()
            }
        };
        if peers.len() > SLICE_DEVICES_MAX {
            self.reject(name, "more", &format!("at most {SLICE_DEVICES_MAX} peers"));
            return Box::default();
        }
        peers.into()
    }
}
