//! Devices in ResourceSlices without names. What drivers say of hardware stays: where a device is,
//! and which product it is if that is one that anybody can buy.

use model::device::{PciAddress, product_by_name};
use serde_json::{Map, Value};

use super::Anonymiser;

/// Sorts of devices.
const SORTS: [&str; 3] = ["gpu", "mig", "vfio"];

impl<H: Fn(&str) -> u64> Anonymiser<H> {
    /// Attributes of a device.
    pub(super) fn attributes(&self, attributes: &mut Map<String, Value>) {
        for (name, mut value) in std::mem::take(attributes) {
            if let Some(Value::String(text)) = value.get_mut("string") {
                let words: Vec<_> = text.split(',').map(|word| self.fact(word.trim())).collect();
                *text = words.join(",");
            }
            attributes.insert(self.attribute(&name), value);
        }
    }

    /// Capacities of a device.
    pub(super) fn capacities(&self, capacities: &mut Map<String, Value>) {
        let own = std::mem::take(capacities);
        capacities.extend(own.into_iter().map(|(name, value)| (self.attribute(&name), value)));
    }

    /// The name of an attribute, whose domain may be that of the driver.
    fn attribute(&self, name: &str) -> String {
        match name.split_once('/') {
            Some(("resource.kubernetes.io", _)) | None => name.into(),
            Some((domain, plain)) => format!("{}/{plain}", self.driver(domain)),
        }
    }

    /// What an attribute says.
    fn fact(&self, text: &str) -> String {
        let is_root = text.strip_prefix("pci").is_some_and(|rest| {
            rest.bytes().all(|letter| letter == b':' || letter.is_ascii_hexdigit())
        });
        let is_open = text.is_empty()
            || is_root
            || SORTS.contains(&text)
            || PciAddress::parse(text).is_some()
            || product_by_name(text).is_some();
        if is_open { text.into() } else { self.device(text) }
    }

    /// The name of a device. Numbers stay, since devices are numbered by them.
    pub(super) fn device(&self, name: &str) -> String {
        let number = name.strip_prefix("gpu-").unwrap_or(name);
        let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
        if is_number { name.into() } else { self.word(name) }
    }
}
