//! Every way to place a gang, as far as the work stays within bounds.

use std::collections::BTreeSet;

use model::{ClassId, NodeId, PodId};

use super::Arranger;
use super::sizes::room;
use crate::cycle::Within;
use crate::profile_of;

impl Arranger<'_> {
    /// Places pods by trying every node that differs, and taking places back where that leads
    /// nowhere.
    pub(super) fn deep(
        &mut self,
        pods: &[PodId],
        spare: usize,
        within: &Within,
        limit: usize,
        classes: &BTreeSet<ClassId>,
    ) -> bool {
        let Some((pod, rest)) = pods.split_first() else { return true };
        if self.work > limit {
            return false;
        }
        let start = self.moment();
        for node in self.differing(*pod, within, classes) {
            self.take(*pod, node);
            if self.deep(rest, spare, within, limit, classes) {
                return true;
            }
            self.back_to(start);
            if self.work > limit {
                return false;
            }
        }
        let may_wait = spare > 0 && !self.txn.catalog().pod(*pod).makes_others();
        may_wait && self.deep(rest, spare - 1, within, limit, classes)
    }

    /// The nodes that take a pod, the fullest first, and of those that are alike only one.
    fn differing(
        &mut self,
        id: PodId,
        within: &Within,
        classes: &BTreeSet<ClassId>,
    ) -> Vec<NodeId> {
        let nodes = self.fitting(id, within);
        let catalog = self.txn.catalog();
        let fits: Vec<Vec<bool>> = classes
            .iter()
            .map(|class| {
                let class = self.class(*class);
                let profile = profile_of(self.profiles, catalog, class);
                let board = self.boards.prepared(class, profile, catalog);
                nodes.iter().map(|node| board.is_fitting(*node)).collect()
            })
            .collect();
        // Where one is may matter to the others of the gang, though it is nothing to itself.
        let has_rules = |class: &ClassId| {
            let spec = &catalog.class(*class).spec;
            !spec.near.is_empty() || !spec.far.is_empty() || !spec.spread.is_empty()
        };
        let is_around = classes.iter().any(has_rules) || self.is_around(id);
        let usage = self.txn.usage();
        let mut seen = Vec::new();
        let mut differing = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            let kind: Vec<bool> = fits.iter().map(|fits| fits[at]).collect();
            let is_like = |(other, known): &(NodeId, Vec<bool>)| {
                *known == kind
                    && catalog.offer(*other) == catalog.offer(*node)
                    && usage.load(*other) == usage.load(*node)
            };
            if is_around || !seen.iter().any(is_like) {
                seen.push((*node, kind));
                differing.push(*node);
            }
        }
        let class = catalog.pod(id).class;
        differing.sort_by_key(|node| (room(&self.txn, class, *node), *node));
        differing
    }
}
