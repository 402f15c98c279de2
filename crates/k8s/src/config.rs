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

pub use crate::document::{DocumentError as ConfigError, Notes, Problem};
pub use defaults::{default_spread, defaults};
pub use duration::{DurationError, parse_span};
pub use settings::{ClientConnection, LeaderElection, Settings};
pub use write::write;

use crate::document::{Node, Problems, Spot};

/// Reads a configuration from YAML, of which JSON is a part.
///
/// # Errors
/// When anything in it is unknown, invalid or not built yet; all problems are named.
pub fn load(text: &str, known: &[PluginInfo]) -> Result<Settings, ConfigError> {
    review(text, known).map(|(settings, _)| settings)
}

/// Reads a configuration from YAML, with what is worth saying about it although it is valid.
///
/// # Errors
/// When anything in it is unknown, invalid or not built yet; all problems are named.
pub fn review(text: &str, known: &[PluginInfo]) -> Result<(Settings, Notes), ConfigError> {
    read(Spot::root(&Node::from_yaml(text)?), known)
}

/// Reads a configuration from a JSON value. Its problems have paths, but no lines.
///
/// # Errors
/// When anything in it is unknown, invalid or not built yet; all problems are named.
pub fn from_json(value: &serde_json::Value, known: &[PluginInfo]) -> Result<Settings, ConfigError> {
    read(Spot::root(&Node::from_json(value)?), known).map(|(settings, _)| settings)
}

/// Reads a configuration that stands in another document.
///
/// # Errors
/// When anything in it is unknown, invalid or not built yet; all problems are named.
pub fn settings(root: &Node, known: &[PluginInfo]) -> Result<Settings, ConfigError> {
    read(Spot::document(root), known).map(|(settings, _)| settings)
}

fn read(root: Spot<'_>, known: &[PluginInfo]) -> Result<(Settings, Notes), ConfigError> {
    let mut problems = Problems::default();
    let mut settings = Settings::around(Vec::new());
    if let Some(top) = sections::top(root, &mut problems) {
        settings = sections::read(&top, settings, &mut problems);
        settings.profiles = profiles::read(&top, known, &mut problems);
    }
    problems.or_noted(settings)
}
