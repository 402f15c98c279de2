//! What would help a gang for which there is no room.

use model::{GangId, NodeId, Outlook};

use super::{Arranger, Seat};

impl Arranger<'_> {
    /// What would help a gang for which there is no room. `priority` is its own.
    pub(crate) fn outlook(&mut self, gang: GangId, priority: i32) -> Outlook {
        let catalog = self.txn.catalog();
        let nodes = catalog.nodes().to_vec();
        if !self.fits_without(gang, &nodes, None) {
            return Outlook::Never;
        }
        if self.fits_without(gang, &nodes, Some(priority)) {
            return Outlook::AfterPreemption;
        }
        // Nodes with the least on them are the first to be free.
        let mut nodes: Vec<NodeId> = nodes;
        nodes.retain(|node| self.txn.usage().load(*node).pods > 0);
        nodes.sort_by_key(|node| (self.txn.usage().load(*node).pods, *node));
        let (mut too_few, mut enough) = (0, 1);
        while enough < nodes.len() && !self.fits_without(gang, &nodes[..enough], None) {
            too_few = enough;
            enough = (enough * 2).min(nodes.len());
        }
        while too_few + 1 < enough {
            let middle = too_few.midpoint(enough);
            if self.fits_without(gang, &nodes[..middle], None) {
                enough = middle;
            } else {
                too_few = middle;
            }
        }
        Outlook::WhenFree(enough)
    }

    /// Whether a gang would fit if pods of others were not there: all of them, or those below a
    /// priority.
    fn fits_without(&mut self, gang: GangId, nodes: &[NodeId], below: Option<i32>) -> bool {
        let catalog = self.txn.catalog();
        let start = self.moment();
        for node in nodes {
            for pod in catalog.pods_on(*node) {
                let pod = catalog.pod(*pod);
                let is_own = pod.gang.is_some_and(|own| catalog.root_of(own) == gang);
                if !is_own && below.is_none_or(|below| pod.priority < below) {
                    self.txn.evict(pod.occupant(), *node);
                }
            }
        }
        // Room that is kept is nobody's.
        let is_freed = |seat: &&Seat| below.is_none() && nodes.contains(&seat.node);
        let kept = self.gangs.kept.iter().filter(|(own, _)| **own != gang);
        for seat in kept.flat_map(|(_, kept)| &kept.seats).filter(is_freed) {
            self.txn.evict(seat.occupant, seat.node);
        }
        let fits = self.arrange(gang).is_ok();
        self.back_to(start);
        fits
    }
}
