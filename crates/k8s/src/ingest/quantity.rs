//! Quantities inside objects: a string, a bare number, or nothing at all.

use std::collections::BTreeMap;
use std::fmt;

use model::{Amounts, Quantity, is_scalar_resource};
use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// Quantities by resource name.
pub(super) type List = BTreeMap<String, Amount>;

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

/// The amounts of a list that scheduling counts.
pub(super) fn amounts(list: &List) -> Amounts<String> {
    let get = |name: &str| list.get(name).copied().unwrap_or_default().0;
    let scalars = list.iter().filter(|(name, _)| is_scalar_resource(name));
    Amounts {
        cpu: get("cpu").milli(),
        memory: get("memory").units(),
        ephemeral: get("ephemeral-storage").units(),
        scalars: scalars.map(|(name, amount)| (name.clone(), amount.0.units())).collect(),
    }
}

/// Adds every amount of `more`.
pub(super) fn add(list: &mut List, more: &List) {
    for (name, amount) in more {
        let sum = list.entry(name.clone()).or_default();
        *sum = Amount(sum.0.plus(amount.0));
    }
}

/// Raises every amount to that of `other`, if it is higher.
pub(super) fn raise(list: &mut List, other: &List) {
    for (name, amount) in other {
        let own = list.entry(name.clone()).or_insert(*amount);
        *own = (*own).max(*amount);
    }
}
