//! What follows for a gang from how much room nodes have, without a search.

use std::collections::BTreeMap;

use framework::View;
use model::{Catalog, ClassId, GangId, NodeId, PodId, TagsId, Usage};

use super::{Arranger, Short, WORK_MAX};
use crate::cycle::Within;
use crate::{Scheduler, profile_of};

impl Scheduler {
    /// For how many pods like one of ours all nodes have room, as far as each node by itself tells:
    /// rules about other pods, and room that is proposed for them, can make it less.
    pub fn room(&mut self, pod: PodId) -> u64 {
        let class = self.catalog.pod(pod).class;
        let profile = profile_of(&self.profiles, &self.catalog, class);
        let board = self.boards.of(class, profile, &self.catalog, &self.usage);
        board.room(view(&self.catalog, &self.usage))
    }
}

impl Arranger<'_> {
    /// Places a gang, or none of it. One that failed before is searched for only if there is room.
    pub(crate) fn search(&mut self, gang: GangId, has_failed: bool) -> Result<(), Short> {
        let first = self.txn.catalog().gang(gang).unplaced.first().copied();
        match first.filter(|_| has_failed && self.is_beyond_room(gang)) {
            Some(pod) => Err(Short { gang, pod, within: Within::default(), expected: None }),
            None => self.arrange(gang, WORK_MAX),
        }
    }

    /// Whether nodes have too little room for the pods of a gang, whatever the order in which they
    /// are placed. Not asked where a gang has parts, or pods that do not exist yet.
    pub(super) fn is_beyond_room(&mut self, gang: GangId) -> bool {
        let catalog = self.txn.catalog();
        let row = catalog.gang(gang);
        let is_counted = !row.is_composite() && row.min() > 1 && self.expected.is_empty();
        if self.is_thorough || !is_counted {
            return false;
        }
        let spare = row.waiting().saturating_sub(row.lacking());
        let mut pods: BTreeMap<ClassId, usize> = BTreeMap::new();
        for pod in &row.unplaced {
            *pods.entry(self.class(catalog.pod(*pod).class)).or_default() += 1;
        }
        pods.into_iter()
            .any(|(class, count)| self.room(class, None) < count.saturating_sub(spare) as u64)
    }

    /// For how many more pods there has to be room before a gang can fit: of gangs of one class,
    /// nothing is said of others. A gang that runs may lack more pods than wait.
    pub(crate) fn short_of_room(&mut self, gang: GangId) -> u64 {
        let catalog = self.txn.catalog();
        let row = catalog.gang(gang);
        let class = row.unplaced.first().map(|pod| catalog.pod(*pod).class);
        let is_one =
            |class: &ClassId| row.unplaced.iter().all(|pod| catalog.pod(*pod).class == *class);
        let is_counted = !row.is_composite() && row.min() > 1 && self.expected.is_empty();
        let Some(class) = class.filter(|_| is_counted).filter(is_one) else { return 0 };
        let needed = row.lacking().min(row.waiting()) as u64;
        needed.saturating_sub(self.room(class, None))
    }

    /// How many pods of a gang a domain can hold at most, if they are alike: of others nothing is
    /// said.
    pub(super) fn room_in(&mut self, gang: GangId, domain: &Within) -> Option<usize> {
        let catalog = self.txn.catalog();
        let row = catalog.gang(gang);
        let first = *row.unplaced.first()?;
        let class = catalog.pod(first).class;
        let is_one = row.unplaced.iter().all(|pod| catalog.pod(*pod).class == class);
        if row.is_composite() || !self.expected.is_empty() || !is_one || self.is_around(first) {
            return None;
        }
        let room = self.room(self.class(class), domain.nodes.as_deref());
        Some(usize::try_from(room).unwrap_or(usize::MAX).min(row.waiting()))
    }

    /// How large pods of a class are.
    pub(super) fn size(&mut self, class: ClassId) -> u64 {
        let catalog = self.txn.catalog();
        let profile = profile_of(self.profiles, catalog, class);
        let board = self.boards.of(class, profile, catalog, self.txn.usage());
        board.size(view(catalog, self.txn.usage()), class)
    }

    /// For how many pods of a class there is room, on some nodes or on all: never too few.
    pub(super) fn room(&mut self, class: ClassId, nodes: Option<&[NodeId]>) -> u64 {
        let catalog = self.txn.catalog();
        let profile = profile_of(self.profiles, catalog, class);
        let board = self.boards.of(class, profile, catalog, self.txn.usage());
        let view = view(catalog, self.txn.usage());
        match nodes {
            Some(nodes) => board.room_among(view, nodes),
            None => board.room(view),
        }
    }
}

/// Room does not depend on whose tags these are.
fn view<'a>(catalog: &'a Catalog, usage: &'a Usage) -> View<'a> {
    View { catalog, usage, tags: TagsId::at(0), gang: None }
}
