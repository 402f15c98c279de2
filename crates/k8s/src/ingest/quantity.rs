//! Quantities inside objects: a string, a bare number, or nothing at all.

use std::fmt;

use model::{Amounts, Quantity, is_scalar_resource};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// A quantity in an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Amount(pub(super) Quantity);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AmountVisitor)
    }
}

struct AmountVisitor;

impl Visitor<'_> for AmountVisitor {
    type Value = Amount;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a quantity such as 500m or 1Gi")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Amount, E> {
        let quantity = Quantity::parse(text).map_err(E::custom)?;
        // No object that the API server takes has one, and nothing below knows what it would mean.
        if quantity < Quantity::default() {
            return Err(E::custom(format!("{text:?} is negative (expected 0 or more)")));
        }
        Ok(Amount(quantity))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Amount, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Amount, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Amount, E> {
        // The shortest text that reads back as this number is what was written.
        self.visit_str(&value.to_string())
    }

    fn visit_unit<E: Error>(self) -> Result<Amount, E> {
        Ok(Amount::default())
    }
}

/// Quantities by resource. Every pod brings several and none is long, so it is a plain vector,
/// and the resources that nearly all of them name cost no string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct List(Vec<(Resource, Amount)>);

/// A resource by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Resource {
    Cpu,
    Memory,
    Ephemeral,
    Pods,
    Other(Box<str>),
}

impl Resource {
    pub(super) fn named(name: &str) -> Self {
        match name {
            "cpu" => Self::Cpu,
            "memory" => Self::Memory,
            "ephemeral-storage" => Self::Ephemeral,
            "pods" => Self::Pods,
            _ => Self::Other(name.into()),
        }
    }

    /// Whether it can be asked for the pod as a whole.
    pub(super) fn is_pod_level(&self) -> bool {
        match self {
            Self::Cpu | Self::Memory => true,
            Self::Ephemeral | Self::Pods => false,
            Self::Other(name) => name.starts_with("hugepages-"),
        }
    }
}

impl List {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(Resource, Amount)> {
        self.0.iter()
    }

    pub(super) fn has(&self, resource: &Resource) -> bool {
        self.get(resource).is_some()
    }

    pub(super) fn get(&self, resource: &Resource) -> Option<Amount> {
        self.iter().find(|(other, _)| other == resource).map(|(_, amount)| *amount)
    }

    /// The amount of a resource, put in as `start` if it is not named yet.
    fn entry(&mut self, resource: &Resource, start: Amount) -> &mut Amount {
        let found = self.0.iter().position(|(other, _)| other == resource);
        let at = found.unwrap_or_else(|| {
            self.0.push((resource.clone(), start));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    /// Sets the amount of a resource.
    pub(super) fn set(&mut self, resource: &Resource, amount: Amount) {
        *self.entry(resource, amount) = amount;
    }

    /// Names every resource of `defaults` that is not named yet.
    pub(super) fn fill(&mut self, defaults: &Self) {
        for (resource, amount) in defaults.iter() {
            self.entry(resource, *amount);
        }
    }

    /// Adds every amount of `more`.
    pub(super) fn add(&mut self, more: &Self) {
        for (resource, amount) in more.iter() {
            let sum = self.entry(resource, Amount::default());
            *sum = Amount(sum.0.plus(amount.0));
        }
    }

    /// Raises every amount to that of `other`, if it is higher.
    pub(super) fn raise(&mut self, other: &Self) {
        for (resource, amount) in other.iter() {
            let own = self.entry(resource, *amount);
            *own = (*own).max(*amount);
        }
    }

    /// What scheduling counts of it.
    pub(super) fn amounts(&self) -> Amounts<String> {
        let get = |resource: &Resource| self.get(resource).unwrap_or_default().0;
        let scalar = |(resource, amount): &(Resource, Amount)| match resource {
            Resource::Other(name) if is_scalar_resource(name) => {
                Some((name.to_string(), amount.0.units()))
            }
            Resource::Cpu
            | Resource::Memory
            | Resource::Ephemeral
            | Resource::Pods
            | Resource::Other(_) => None,
        };
        let mut scalars: Box<[_]> = self.iter().filter_map(scalar).collect();
        scalars.sort_unstable();
        Amounts {
            cpu: get(&Resource::Cpu).milli(),
            memory: get(&Resource::Memory).units(),
            ephemeral: get(&Resource::Ephemeral).units(),
            scalars,
        }
    }
}

impl FromIterator<(Resource, Amount)> for List {
    fn from_iter<I: IntoIterator<Item = (Resource, Amount)>>(amounts: I) -> Self {
        Self(amounts.into_iter().collect())
    }
}

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ListVisitor)
    }
}

struct ListVisitor;

impl<'de> Visitor<'de> for ListVisitor {
    type Value = List;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a map")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<List, M::Error> {
        let mut list = List::new();
        while let Some((resource, amount)) = map.next_entry::<Resource, Amount>()? {
            list.set(&resource, amount);
        }
        Ok(list)
    }
}

impl<'de> Deserialize<'de> for Resource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(ResourceVisitor)
    }
}

struct ResourceVisitor;

impl Visitor<'_> for ResourceVisitor {
    type Value = Resource;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the name of a resource")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Resource, E> {
        Ok(Resource::named(name))
    }
}
