//! Room: how many pods of a class nodes take, and how many they would take if they were empty, kept
//! up to date by the nodes that were touched.
//!
//! Counts are of pods that come one after the other to a node, by its facts and its load. Rules
//! about other pods, room that is proposed for others and pods of other classes can only make it
//! less, so what is more than the room does not fit; the opposite is not said.

use framework::{Reach, UNFIT, View};
use model::{ClassId, NodeId};

use super::Board;
use crate::arrange::{places, share};

/// Counts of a class.
#[derive(Default)]
pub(crate) struct Room {
    /// As nodes are.
    free: Counts,
    /// As if they were empty. Follows from facts.
    empty: Counts,
    /// How large a pod is, as it was when the log of facts ended there.
    size: Option<(u64, u64)>,
}

#[derive(Default)]
struct Counts {
    /// The end of a log, and the epoch of the ground, when they were last brought up to date; none
    /// before the first time.
    mark: Option<(u64, u64)>,
    /// By place.
    on: Vec<u32>,
    sum: u64,
}

impl Counts {
    fn bytes(&self) -> usize {
        size_of::<u32>() * self.on.capacity()
    }

    /// Counts nodes anew; all of them if the others are unknown.
    fn recount(
        &mut self,
        nodes: Option<impl Iterator<Item = NodeId>>,
        places: usize,
        count: impl Fn(NodeId) -> u32,
    ) {
        let Some(nodes) = nodes else {
            self.on.clear();
            self.on.extend((0..places).map(|at| count(NodeId::at(at))));
            self.sum = self.on.iter().copied().map(u64::from).sum();
            return;
        };
        self.on.resize(places, 0);
        let mut last = None;
        for node in nodes {
            // Pods that leave a node one after the other touch it as often.
            if last.replace(node) == Some(node) {
                continue;
            }
            let after = count(node);
            let before = std::mem::replace(&mut self.on[node.index()], after);
            self.sum = self.sum + u64::from(after) - u64::from(before);
        }
    }
}

impl Room {
    pub(super) fn bytes(&self) -> usize {
        self.free.bytes() + self.empty.bytes()
    }
}

impl Board {
    /// For how many pods of the class nodes have room together: never too few.
    pub(crate) fn room(&mut self, view: View<'_>) -> u64 {
        let mut room = std::mem::take(&mut self.room);
        let epoch = self.ground.epoch;
        let mark = room.free.mark.filter(|(_, known)| *known == epoch);
        let touched = mark.and_then(|(mark, _)| view.usage.touched_since(mark));
        let touched = touched.filter(|touched| touched.len() <= view.catalog.nodes().len());
        view.catalog.look(touched.map_or(view.catalog.node_places(), <[_]>::len));
        let nodes = touched.map(|touched| touched.iter().map(|touch| touch.node));
        room.free.recount(nodes, view.catalog.node_places(), |node| self.room_on(view, node));
        room.free.mark = Some((view.usage.mark(), epoch));
        self.room = room;
        self.room.free.sum
    }

    /// The same of some nodes.
    pub(crate) fn room_among(&mut self, view: View<'_>, nodes: &[NodeId]) -> u64 {
        self.room(view);
        nodes.iter().map(|node| u64::from(self.room.free.on[node.index()])).sum()
    }

    /// The nodes among some that take pods of the class, each with how many and with its total.
    pub(crate) fn rooms(&mut self, view: View<'_>, nodes: &[NodeId]) -> Vec<(NodeId, u32, i32)> {
        self.refresh(view);
        self.room(view);
        let (rooms, peaks) = (&self.room.free.on, &self.totals.peaks);
        let room = |node: &NodeId| {
            let (room, total) = (rooms[node.index()], peaks.total(node.index()));
            (room > 0 && total != UNFIT).then_some((*node, room, total))
        };
        nodes.iter().filter_map(room).collect()
    }

    /// How many pods of the class each node would take if it were empty.
    pub(crate) fn capacities(&mut self, view: View<'_>, class: ClassId) -> &[u32] {
        let mut room = std::mem::take(&mut self.room);
        let epoch = self.ground.epoch;
        let mark = room.empty.mark.filter(|(_, known)| *known == epoch);
        let changed = mark.and_then(|(mark, _)| view.usage.facts_since(mark));
        view.catalog.look(changed.map_or(view.catalog.node_places(), <[_]>::len));
        let nodes = changed.map(|changed| changed.iter().copied());
        room.empty.recount(nodes, view.catalog.node_places(), |node| {
            let places = if self.is_allowed(node) { places(view.catalog, class, node) } else { 0 };
            u32::try_from(places).unwrap_or(u32::MAX)
        });
        room.empty.mark = Some((view.usage.facts_mark(), epoch));
        self.room = room;
        &self.room.empty.on
    }

    /// How large pods of the class are: the largest part of what a node has at most of a resource.
    pub(crate) fn size(&mut self, view: View<'_>, class: ClassId) -> u64 {
        let mark = view.usage.facts_mark();
        let kept = self.room.size.filter(|(known, _)| *known == mark);
        let (_, size) = kept.unwrap_or_else(|| (mark, share(view.catalog, class)));
        self.room.size = Some((mark, size));
        size
    }

    fn room_on(&self, view: View<'_>, node: NodeId) -> u32 {
        if self.is_allowed(node) { self.room_by_load(view, node) } else { 0 }
    }

    pub(super) fn room_by_load(&self, view: View<'_>, node: NodeId) -> u32 {
        let by_load = self.filters.iter().filter(|(_, filter)| filter.reach() == Reach::Load);
        by_load.map(|(_, filter)| filter.room(view, node)).min().unwrap_or(u32::MAX)
    }
}
