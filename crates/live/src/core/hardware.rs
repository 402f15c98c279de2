//! Owners of nodes are told when something that is said of the inside of a node means nothing, or
//! is contradicted by what counts more: once for everything that is said.

use std::collections::{BTreeMap, BTreeSet};

use k8s::render;
use model::hardware::Unread;
use model::{Event, Fact, Key, Kind};
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
    /// Takes in that something is said of a node, or not any more.
    fn seen(&mut self, name: &str) {
        if !name.is_empty() {
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
    /// Notes of which node something is about to be said, or not any more. What that is, is looked
    /// at when it is told.
    pub(super) fn note_doubts(&mut self, event: &Event) {
        let doubts = &mut self.state.doubts;
        match event {
            Event::Seen(Fact::Node(facts)) => doubts.seen(&facts.name),
            Event::Seen(Fact::NodeResourceTopology(facts)) => doubts.seen(&facts.node),
            Event::Seen(Fact::ResourceSlice(facts)) => doubts.seen(&facts.node),
            Event::Gone(Key { kind: Kind::Node, name }) => doubts.gone(name),
            Event::Gone(Key { kind: Kind::NodeResourceTopology, name }) => doubts.seen(name),
            Event::Gone(Key { kind: Kind::ResourceSlice, name }) => self.slice_gone(name),
            Event::Seen(_) | Event::Gone(_) | Event::Listed(..) | Event::Outcome(_) => {}
        }
    }

    /// A ResourceSlice is about to be forgotten: what is said of its node may not fit any more.
    pub(super) fn slice_gone(&mut self, slice: &str) {
        if let Some(node) = self.scheduler.catalog().node_of_slice(slice) {
            self.state.doubts.seen(node);
        }
    }

    /// Tells what is in doubt about nodes.
    pub(super) fn tell_doubts(&mut self) {
        if !self.state.is_leading {
            return;
        }
        while let Some(name) = self.state.doubts.untold.pop_first() {
            let catalog = self.scheduler.catalog();
            let node = catalog.find_node(&name);
            let unread = node.into_iter().flat_map(|node| catalog.doubts(node));
            let unread: Box<[Unread]> = unread.cloned().collect();
            let told = match unread.is_empty() {
                true => self.state.doubts.told.remove(&name),
                false => self.state.doubts.told.insert(name.clone(), unread.clone()),
            };
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
