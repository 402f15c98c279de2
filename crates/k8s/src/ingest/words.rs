//! Parts of objects of which only a few words are read: annotations. The rest is long, often secret,
//! and skipped while it is parsed.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::hints;
use super::slim::Slim;

/// Annotations that are read.
#[derive(Default)]
pub(super) struct Annotations(Vec<(&'static str, String)>);

impl Annotations {
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == key).map(|(_, value)| value.as_str())
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
                Some(key) => found.0.push((key, map.next_value()?)),
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
        Ok(Key(hints::ANNOTATIONS.into_iter().find(|known| *known == key)))
    }
}

impl Slim for Annotations {
    fn slim(value: &mut Value) {
        if let Value::Object(annotations) = value {
            annotations.retain(|key, _| hints::ANNOTATIONS.contains(&key.as_str()));
        }
    }
}
