//! What a node says of a class by itself, without a look around.

use framework::{Reach, View};
use model::{Catalog, ClassId, NodeId, Reason, ResourceId, TagsId, Usage};

use super::Board;

/// What the filters of a class say of one node: each is asked once, and only as far as somebody
/// wants to know.
#[derive(Default)]
pub(crate) struct Answers(Vec<Vec<Reason>>);

impl Answers {
    /// Why the node is turned down first; nothing if it is not.
    pub(crate) fn first(&mut self, board: &Board, at: NodeAlone<'_>) -> Option<&[Reason]> {
        let first = self.position(board, at, |reasons| !reasons.is_empty());
        first.map(|first| &*self.0[first])
    }

    /// Whether a filter turns the node down for this reason, be it the first to speak or not. Not
    /// to be asked about reasons that reach around.
    pub(crate) fn gives(&mut self, board: &Board, at: NodeAlone<'_>, reason: &Reason) -> bool {
        self.position(board, at, |reasons| reasons.contains(reason)).is_some()
    }

    fn position(
        &mut self,
        board: &Board,
        at: NodeAlone<'_>,
        is_it: impl Fn(&[Reason]) -> bool,
    ) -> Option<usize> {
        let mut filters = board.filters.iter().filter(|(_, f)| f.reach() != Reach::Around);
        let asked = self.0.iter().position(|reasons| is_it(reasons));
        asked.or_else(|| {
            filters.by_ref().take(self.0.len()).for_each(drop);
            filters.find_map(|(_, filter)| {
                at.catalog.look(1);
                self.0.push(filter.why_not(at.view(), at.node));
                self.0.last().is_some_and(|reasons| is_it(reasons)).then_some(self.0.len() - 1)
            })
        })
    }
}

/// A node as it is.
#[derive(Clone, Copy)]
pub(crate) struct NodeAlone<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) usage: &'a Usage,
    pub(crate) node: NodeId,
}

impl<'a> NodeAlone<'a> {
    /// Whether it has any of a resource, free or not.
    pub(crate) fn offers(self, resource: &str) -> bool {
        let resource = self.catalog.find_resource(resource);
        resource.is_some_and(|resource| self.catalog.offer(self.node).amounts.of(resource) > 0)
    }

    /// What is free of a resource, and what there is of it in all.
    pub(crate) fn has(self, resource: ResourceId) -> (i64, i64) {
        let offered = self.catalog.offer(self.node).amounts.of(resource);
        (offered.wrapping_sub(self.usage.load(self.node).of(resource)), offered)
    }

    /// Whether it has as many pods as it may.
    pub(crate) fn is_full(self) -> bool {
        self.usage.load(self.node).pods >= self.catalog.offer(self.node).pods_max
    }

    /// Whether it has the labels that pods of a class select nodes by.
    pub(crate) fn has_labels_for(self, class: ClassId) -> bool {
        let node = self.catalog.node(self.node);
        let mut labels = self.catalog.class(class).node_selector.iter();
        labels.all(|(key, value)| node.label(*key) == Some(*value))
    }

    fn view(self) -> View<'a> {
        // Whose tags these are does not matter to filters that look at one node.
        View { catalog: self.catalog, usage: self.usage, tags: TagsId::at(0), gang: None }
    }
}

impl Board {
    /// For how many pods of the class a node that fits has room, by its load: never too few.
    pub(crate) fn room_at(&self, at: NodeAlone<'_>) -> u64 {
        self.room_by_load(at.view(), at.node).into()
    }

    /// Whether a node has too little free of something, for a reason of which `is_it` holds. Costs
    /// a few comparisons, so that it can be asked of everybody who waits.
    pub(crate) fn is_short(&self, at: NodeAlone<'_>, is_it: &dyn Fn(&Reason) -> bool) -> bool {
        self.filters.iter().any(|(_, filter)| filter.is_short(at.view(), at.node, is_it))
    }
}
