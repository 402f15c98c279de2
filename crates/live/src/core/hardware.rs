//! Owners of nodes are told when something that is said of the inside of a node means nothing, or
//! is contradicted by what counts more: once for everything that is said.

use std::collections::{BTreeMap, BTreeSet};

use k8s::render;
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
    /// Takes in what is said of a node.
    fn seen<'a>(&mut self, name: &str, doubts: impl Iterator<Item = &'a Unread>) {
        let mut doubts = doubts.peekable();
        if doubts.peek().is_none() {
            self.gone(name);
        } else if self.told.get(name).is_none_or(|told| !told.iter().eq(doubts)) {
            self.untold.insert(name.into());
        }
    }

    /// A node is gone.
    fn gone(&mut self, name: &str) {
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
    /// Takes in that something is said of a node, or not any more, after it was applied.
    pub(super) fn note_doubts(&mut self, name: &str) {
        let catalog = self.scheduler.catalog();
        if let Some(node) = catalog.find_node(name) {
            self.state.doubts.seen(name, catalog.doubts(node));
        } else {
            self.state.doubts.gone(name);
        }
    }

    /// Tells what is in doubt about nodes.
    pub(super) fn tell_doubts(&mut self) {
        if !self.state.is_leading {
            return;
        }
        while let Some(name) = self.state.doubts.untold.pop_first() {
            let catalog = self.scheduler.catalog();
            let node = catalog.find_node(&name).into_iter();
            let unread: Box<[Unread]> =
                node.flat_map(|node| catalog.doubts(node)).cloned().collect();
            let told = self.state.doubts.told.insert(name.clone(), unread.clone());
            let told = told.unwrap_or_default();
            let news = unread.iter().filter(|unread| !told.contains(unread));
            let notes: Vec<String> = news.map(render::unread_text).collect();
            if notes.is_empty() {
                continue;
            }
            let note = notes.join("; ");
            warn!(node = %name, note, "what is said of the inside of a node is not followed");
            let scheduler = self.profiles[0].clone();
            let about = Subject::Node(name);
            let (doubt, note) = (Doubt::Hardware, note.into());
            self.send(Order::Warn(Warn { about, scheduler, doubt, note }));
        }
    }
}
