//! `KubeSchedulerConfiguration`: reading it, with kube-scheduler's meaning and clearer errors.
//!
//! A text or a JSON value becomes a tree that remembers lines ([`crate::document`]), whose reading
//! collects every problem instead of stopping at the first; plugins are merged with the
//! defaults and spread over extension points ([`merge`]); and what comes out, [`Settings`], is
//! complete and valid. Nothing here opens a file or makes a plugin: the table of plugins is an
//! argument.

mod args;
mod checks;
mod defaults;
mod duration;
mod merge;
mod plugin_sets;
mod profiles;
mod sections;
mod settings;
#[cfg(test)]
mod tests;
mod write;

use framework::PluginInfo;

pub use crate::document::{DocumentError as ConfigError, Problem};
pub use defaults::defaults;
pub use duration::{DurationError, parse_span};
pub use settings::{ClientConnection, LeaderElection, Settings};
pub use write::write;

use crate::document::{Node, Problems, Spot};

/// Reads a configuration from YAML, of which JSON is a part.
///
/// # Errors
/// When anything in it is unknown, invalid or not built yet; all problems are named.
pub fn load(text: &str, known: &[PluginInfo]) -> Result<Settings, ConfigError> {
    settings_at(Spot::root(&Node::from_yaml(text)?), known)
}

/// Reads a configuration from a JSON value. Its problems have paths, but no lines.
///
/// # Errors
/// When anything in it is unknown, invalid or not built yet; all problems are named.
pub fn from_json(value: &serde_json::Value, known: &[PluginInfo]) -> Result<Settings, ConfigError> {
    settings_at(Spot::root(&Node::from_json(value)?), known)
}

/// Reads a configuration that stands in another document.
///
/// # Errors
/// When anything in it is unknown, invalid or not built yet; all problems are named.
pub fn settings(root: &Node, known: &[PluginInfo]) -> Result<Settings, ConfigError> {
    settings_at(Spot::document(root), known)
}

fn settings_at(root: Spot<'_>, known: &[PluginInfo]) -> Result<Settings, ConfigError> {
    let mut problems = Problems::default();
    let mut settings = Settings::around(Vec::new());
    if let Some(top) = sections::top(root, &mut problems) {
        settings = sections::read(&top, settings, &mut problems);
        settings.profiles = profiles::read(&top, known, &mut problems);
    }
    problems.or_value(settings)
}
