//! Owners of nodes are told when something that a node says of its inside means nothing: once for
//! everything that it says.

use std::collections::{BTreeMap, BTreeSet};

use k8s::render;
use model::NodeFacts;
use model::hardware::Unread;
use tracing::warn;

use super::Core;
use crate::order::{Doubt, Order, Subject, Warn};

/// What was told of nodes, and of which something is still to be told.
#[derive(Default)]
pub(super) struct Doubts {
    told: BTreeMap<Box<str>, Box<[Unread]>>,
    untold: BTreeSet<Box<str>>,
}

impl Doubts {
    /// Takes in what a node says.
    pub(super) fn seen(&mut self, facts: &NodeFacts) {
        let unread = facts.hardware.as_ref().map_or(&[][..], |hardware| &hardware.unread);
        let name = facts.name.as_str();
        if unread.is_empty() {
            self.gone(name);
        } else if self.told.get(name).is_none_or(|told| **told != *unread) {
            self.untold.insert(name.into());
        }
    }

    /// A node is gone.
    pub(super) fn gone(&mut self, name: &str) {
        self.told.remove(name);
        self.untold.remove(name);
    }

    /// Forgets the nodes that are not among `present`.
    pub(super) fn reset(&mut self, present: &BTreeSet<Box<str>>) {
        self.told.retain(|node, _| present.contains(node));
        self.untold.retain(|node| present.contains(node));
    }
}

impl Core {
    /// Tells what is in doubt about nodes.
    pub(super) fn tell_doubts(&mut self) {
        if !self.state.is_leading {
            return;
        }
        while let Some(name) = self.state.doubts.untold.pop_first() {
            let catalog = self.scheduler.catalog();
            let node = catalog.find_node(&name).map(|node| catalog.node(node));
            let hardware = node.and_then(|node| node.hardware.as_deref());
            let unread = hardware.map_or(&[][..], |hardware| &hardware.unread);
            let told = self.state.doubts.told.insert(name.clone(), unread.into());
            let told = told.unwrap_or_default();
            let news = unread.iter().filter(|unread| !told.contains(unread));
            let notes: Vec<String> = news.map(render::unread_text).collect();
            if notes.is_empty() {
                continue;
            }
            let note = notes.join("; ");
            warn!(node = %name, note, "what a node says of its inside is not understood");
            let scheduler = self.profiles[0].clone();
            let about = Subject::Node(name);
            let (doubt, note) = (Doubt::Hardware, note.into());
            self.send(Order::Warn(Warn { about, scheduler, doubt, note }));
        }
    }
}
