//! Numbers in a workload: written out, or by the name under which each size gives one.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// Numbers by their names.
pub(crate) type Size = BTreeMap<String, usize>;

/// A number, or the name of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Fixed(usize),
    Named(String),
}

impl Number {
    /// What it is at a size.
    pub(crate) fn at(&self, size: &Size) -> usize {
        match self {
            Self::Fixed(number) => *number,
            Self::Named(name) => *size.get(name).expect("names were checked when they were read"),
        }
    }

    pub(super) fn is_known(&self, size: &Size) -> bool {
        match self {
            Self::Fixed(_) => true,
            Self::Named(name) => size.contains_key(name),
        }
    }
}

impl Default for Number {
    fn default() -> Self {
        Self::Fixed(0)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(number) => write!(out, "{number}"),
            Self::Named(name) => out.write_str(name),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a number, or the name of one that the sizes give")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Number, E> {
        let refuse = |_| E::invalid_value(Unexpected::Unsigned(number), &self);
        Ok(Number::Fixed(number.try_into().map_err(refuse)?))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Number, E> {
        let refuse = |_| E::invalid_value(Unexpected::Signed(number), &self);
        Ok(Number::Fixed(number.try_into().map_err(refuse)?))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Number, E> {
        Ok(Number::Named(name.into()))
    }
}
