//! Attributes and capacities of devices, by name. Only those are kept that are read.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::super::quantity::Amount;
use super::super::slim::Slim;
use super::super::view::{AttributeView, DeviceCapacityView};

/// The names that are read, without the domains that may stand before them.
const READ: [&str; 17] = [
    "memory",
    "model",
    "numa",
    "numa-node",
    "numaNode",
    "nvlink-domain",
    "nvlink-peers",
    "pciBusID",
    "pcie-bus-id",
    "pcie-root",
    "pcie-switch",
    "pcieBusID",
    "pcieRoot",
    "productName",
    "type",
    "uuid",
    "vram",
];
/// How many of a device are kept; the API has 32 of attributes and capacities together.
const PICKED_MAX: usize = 64;

/// Entries of a map whose names are read.
pub(in super::super) struct Picked<T>(Vec<(String, T)>);

impl<T> Default for Picked<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Whether a name is read, whatever its domain.
fn is_read(name: &str) -> bool {
    let plain = name.rsplit_once('/').map_or(name, |(_, plain)| plain);
    READ.contains(&plain)
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Picked<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PickedVisitor(PhantomData))
    }
}

struct PickedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for PickedVisitor<T> {
    type Value = Picked<T>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a map")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Picked<T>, M::Error> {
        let mut picked = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if is_read(&name) && picked.len() < PICKED_MAX {
                picked.push((name, map.next_value()?));
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        // As a map has them, where one stands twice.
        picked.sort_by(|(name, _), (other, _)| name.cmp(other));
        picked.reverse();
        picked.dedup_by(|(name, _), (kept, _)| name == kept);
        Ok(Picked(picked))
    }
}

impl<T: Slim> Slim for Picked<T> {
    fn slim(value: &mut serde_json::Value) {
        if let serde_json::Value::Object(entries) = value {
            entries.retain(|name, _| is_read(name));
            entries.iter_mut().for_each(|(_, value)| T::slim(value));
        }
    }
}

/// Attributes of a device.
#[derive(Clone, Copy)]
pub(super) struct Attributes<'a, T = AttributeView> {
    pub(super) driver: &'a str,
    pub(super) picked: &'a Picked<T>,
}

/// What an attribute says, as far as it is read.
#[derive(Clone, Copy)]
pub(super) enum Value<'a> {
    Text(&'a str),
    Numbers(&'a [i64]),
}

impl<'a, T> Attributes<'a, T> {
    /// The entry with a name. Without a domain, it is that of the driver.
    fn get(&self, name: &str) -> Option<&'a T> {
        let is_it = |own: &str| match own.split_once('/') {
            Some((domain, plain)) if !name.contains('/') => domain == self.driver && plain == name,
            Some(_) | None => own == name,
        };
        self.picked.0.iter().find(|(own, _)| is_it(own)).map(|(_, entry)| entry)
    }
}

impl<'a> Attributes<'a> {
    /// The first of several names that is there and has a type that is read.
    pub(super) fn first<'n>(&self, names: &[&'n str]) -> Option<(&'n str, Value<'a>)> {
        names.iter().find_map(|name| Some((*name, value(self.get(name)?)?)))
    }
}

impl Attributes<'_, DeviceCapacityView> {
    pub(super) fn amount(&self, name: &str) -> Option<Amount> {
        self.get(name).and_then(|entry| entry.value)
    }
}

fn value(view: &AttributeView) -> Option<Value<'_>> {
    if let Some(text) = &view.string {
        return Some(Value::Text(text));
    }
    match &view.int {
        Some(number) => Some(Value::Numbers(std::slice::from_ref(number))),
        None => Some(Value::Numbers(&view.ints)).filter(|_| !view.ints.is_empty()),
    }
}
