//! Annotations: which are read, and how long they may be. All others are skipped while they are
//! parsed, and of one that is too long only the beginning is kept.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::slim::Slim;
use super::{cut, fabric, gang, gpu, hints, numa};

/// How many bytes an annotation may have that is read.
const BYTES_MAX: usize = 4_096;
/// How many of them a list of workers may have.
const MEMBERS_BYTES_MAX: usize = 64 << 10;
/// How many characters of one that is too long are repeated to its author.
const SHOWN_MAX: usize = 80;

/// The keys of annotations that are read.
fn keys() -> impl Iterator<Item = &'static str> {
    let of_gangs = gang::ANNOTATIONS.into_iter().chain(hints::ANNOTATIONS);
    of_gangs
        .chain(numa::ANNOTATIONS)
        .chain(gpu::ANNOTATIONS)
        .chain(fabric::ANNOTATIONS)
        .chain([gpu::PLACEMENT])
}

/// Our own keys of labels and annotations.
pub(crate) fn own_keys() -> impl Iterator<Item = &'static str> {
    let is_ours = |key: &&str| {
        let (domain, _) = key.split_once('/').unwrap_or_default();
        domain == "kubenexus.io" || domain.ends_with(".kubenexus.io")
    };
    keys().chain([hints::PREEMPTIBLE]).filter(is_ours)
}

/// That the value of an annotation means nothing, in words.
pub(super) fn fault(key: &str, value: &str, expected: &str) -> String {
    let value = cut(value, SHOWN_MAX);
    format!("annotation {key} is {value:?}: expected {expected}")
}

fn bytes_max(key: &str) -> usize {
    if key == gang::MEMBERS { MEMBERS_BYTES_MAX } else { BYTES_MAX }
}

/// Annotations that are read.
#[derive(Default)]
pub(super) struct Annotations {
    short: Vec<(&'static str, String)>,
    long: Vec<TooLong>,
}

impl Annotations {
    /// The value of one that is not too long.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.short.iter().find(|(known, _)| *known == key).map(|(_, value)| value.as_str())
    }

    /// Those that are too long.
    pub(super) fn too_long(&self) -> &[TooLong] {
        &self.long
    }

    fn add(&mut self, key: &'static str, value: String) {
        if value.len() <= bytes_max(key) {
            self.short.push((key, value));
        } else {
            self.long.push(TooLong { key, bytes: value.len(), begins: cut(&value, SHOWN_MAX) });
        }
    }
}

/// An annotation that is too long to be read.
pub(super) struct TooLong {
    pub(super) key: &'static str,
    bytes: usize,
    begins: String,
}

impl TooLong {
    /// What stands in the place of its value.
    pub(super) fn word(&self) -> String {
        let (begins, bytes, max) = (&self.begins, self.bytes, bytes_max(self.key));
        format!("{begins} ({bytes} bytes, at most {max} are read)")
    }
}

impl fmt::Display for TooLong {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, bytes, begins } = self;
        let max = bytes_max(key);
        write!(
            out,
            "annotation {key} has {bytes} bytes and begins with {begins:?}: expected at most {max} \
             bytes"
        )
    }
}

impl<'de> Deserialize<'de> for Annotations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AnnotationsVisitor)
    }
}

struct AnnotationsVisitor;

impl<'de> Visitor<'de> for AnnotationsVisitor {
    type Value = Annotations;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a map")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Annotations, M::Error> {
        let mut found = Annotations::default();
        while let Some(Key(key)) = map.next_key()? {
            match key {
                Some(key) => found.add(key, map.next_value()?),
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}

/// The key of an annotation, if it is one that is read.
struct Key(Option<&'static str>);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(KeyVisitor)
    }
}

struct KeyVisitor;

impl Visitor<'_> for KeyVisitor {
    type Value = Key;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the key of an annotation")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Key, E> {
        Ok(Key(keys().find(|known| *known == key)))
    }
}

impl Slim for Annotations {
    fn slim(value: &mut Value) {
        if let Value::Object(annotations) = value {
            annotations.retain(|key, _| keys().any(|known| known == key));
        }
    }
}
