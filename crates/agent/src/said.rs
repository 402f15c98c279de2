//! A log that does not repeat itself: what is said every few seconds is said when it changes.

use std::collections::BTreeMap;

/// What was said last about each topic.
#[derive(Default)]
pub struct Said(BTreeMap<&'static str, String>);

impl Said {
    /// Whether this is news.
    pub fn is_news(&mut self, topic: &'static str, text: &str) -> bool {
        if self.0.get(topic).is_some_and(|said| said == text) {
            return false;
        }
        self.0.insert(topic, text.to_owned());
        true
    }

    /// A remark.
    pub fn info(&mut self, topic: &'static str, text: &str) {
        if self.is_news(topic, text) {
            tracing::info!("{text}");
        }
    }

    /// A warning.
    pub fn warn(&mut self, topic: &'static str, text: &str) {
        if self.is_news(topic, text) {
            tracing::warn!("{text}");
        }
    }

    /// What was said does not hold any more; if it comes back it is said again.
    pub fn settled(&mut self, topic: &'static str) {
        self.0.remove(topic);
    }
}
