//! What containers are started with, of which only a few words are read. The rest is long, often
//! secret, and skipped while it is parsed.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde_json::Value;

use super::slim::Slim;
use super::view::EnvView;

/// Settings of Spark among the words that a container is started with.
#[derive(Default)]
pub(super) struct Args(Vec<Words>);

/// The same among the values of its environment.
#[derive(Default)]
pub(super) struct Env(Vec<EnvView>);

/// Settings of Spark in a text.
#[derive(Default)]
pub(super) struct Words(Vec<(Box<str>, Box<str>)>);

/// The settings of Spark that a container is started with, by key.
pub(super) fn settings<'a>(
    lists: impl Iterator<Item = &'a Args>,
    environment: &'a Env,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let values = environment.0.iter().map(|variable| &variable.value);
    let words = lists.flat_map(|list| &list.0).chain(values);
    words.flat_map(|words| &words.0).map(|(key, value)| (&**key, &**value))
}

/// Settings that say how many executors a driver makes, and how large they are.
const SETTINGS: [&str; 7] = [
    "spark.executor.instances",
    "spark.executor.cores",
    "spark.kubernetes.executor.request.cores",
    "spark.executor.memory",
    "spark.executor.memoryOverhead",
    "spark.executor.memoryOverheadFactor",
    "spark.kubernetes.memoryOverheadFactor",
];

/// Key and value of a setting that is read: `spark.executor.instances=3`, as it stands behind
/// `--conf`, and with `-D` before it as it stands in options of Java.
pub(crate) fn setting(word: &str) -> Option<(&str, &str)> {
    const QUOTES: [char; 2] = ['"', '\''];
    let word = word.trim_matches(QUOTES);
    let word = ["--conf=", "-D"].iter().find_map(|start| word.strip_prefix(start)).unwrap_or(word);
    let (key, value) = word.trim_matches(QUOTES).split_once('=')?;
    let device = key.strip_prefix("spark.executor.resource.");
    let is_device = device.is_some_and(|it| it.ends_with(".amount") || it.ends_with(".vendor"));
    let value = value.trim_matches(QUOTES);
    let is_plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
    (is_plain && (is_device || SETTINGS.contains(&key))).then_some((key, value))
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(WordsVisitor)
    }
}

struct WordsVisitor;

impl Visitor<'_> for WordsVisitor {
    type Value = Words;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Words, E> {
        let found = text.split_whitespace().filter_map(setting);
        Ok(Words(found.map(|(key, value)| (key.into(), value.into())).collect()))
    }
}

impl<'de> Deserialize<'de> for Args {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut words = Vec::<Words>::deserialize(deserializer)?;
        words.retain(|words| !words.0.is_empty());
        Ok(Self(words))
    }
}

impl<'de> Deserialize<'de> for Env {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut variables = Vec::<EnvView>::deserialize(deserializer)?;
        variables.retain(|variable| !variable.value.0.is_empty());
        Ok(Self(variables))
    }
}

impl Slim for Words {
    fn slim(value: &mut Value) {
        if let Value::String(text) = value {
            let found = text.split_whitespace().filter_map(setting);
            let found: Vec<_> = found.map(|(key, value)| format!("{key}={value}")).collect();
            *text = found.join(" ");
        }
    }
}

impl Slim for Args {
    fn slim(value: &mut Value) {
        if let Value::Array(words) = value {
            words.iter_mut().for_each(Words::slim);
            words.retain(|word| word.as_str() != Some(""));
        }
    }
}

impl Slim for Env {
    fn slim(value: &mut Value) {
        if let Value::Array(variables) = value {
            variables.iter_mut().for_each(EnvView::slim);
            variables.retain(|it| it.get("value").is_some_and(|value| value != ""));
        }
    }
}
