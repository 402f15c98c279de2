//! What plugins say of a pod before any node is looked at.

use std::collections::BTreeSet;

use framework::{Narrow, Verdict, View};
use model::Reason;

/// A plugin's prepared answer, with the plugin's name.
pub(crate) type Named<T> = (&'static str, Box<T>);

/// The outcome of asking all plugins.
#[derive(Debug)]
pub(crate) enum Screen {
    /// Look at all nodes.
    Open,
    /// Look only at nodes that all of these plugins name.
    Only(Vec<(&'static str, BTreeSet<String>)>),
    /// Look at no node.
    Refused(Refusal),
}

/// A pod that is turned away before any node is looked at.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// Who turns it away; empty when several plugins are at odds.
    pub(crate) plugin: &'static str,
    pub(crate) reason: Reason,
    /// How many plugins were asked before the one that ended it.
    pub(crate) asked: usize,
}

/// Asks the plugins in order. The first refusal ends it.
pub(crate) fn screen<'a>(
    before: impl IntoIterator<Item = &'a Named<dyn Narrow>>,
    view: View<'_>,
) -> Screen {
    let mut only: Vec<(&'static str, BTreeSet<String>)> = Vec::new();
    for (asked, (plugin, prepared)) in before.into_iter().enumerate() {
        match prepared.before(view) {
            Verdict::Open => continue,
            Verdict::Refused(reason) => return Screen::Refused(Refusal { plugin, reason, asked }),
            Verdict::Only(names) => only.push((plugin, names)),
        }
        let Some(((_, first), rest)) = only.split_first() else { continue };
        if !first.iter().any(|name| rest.iter().all(|(_, names)| names.contains(name))) {
            let reason = Reason::NoneNamed(plugins_of(&only));
            return Screen::Refused(Refusal { plugin: "", reason, asked });
        }
    }
    if only.is_empty() { Screen::Open } else { Screen::Only(only) }
}

/// The plugins that name nodes, sorted.
pub(crate) fn plugins_of(only: &[(&'static str, BTreeSet<String>)]) -> Box<[Box<str>]> {
    let names: BTreeSet<_> = only.iter().map(|(plugin, _)| *plugin).collect();
    names.into_iter().map(Into::into).collect()
}
