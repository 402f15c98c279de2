//! Room that is kept for pods which another pod of their gang makes when it runs.

use std::collections::BTreeSet;

use model::{
    Change, ClassId, GangId, GangReport, GangState, Hold, Kept, NodeId, Occupant, PodId, PodSpec,
    Time, Txn,
};

use super::News;
use crate::Scheduler;
use crate::arrange::Arranger;

impl Scheduler {
    /// Pods of a gang that do not exist yet, and classes that are held for them.
    pub(super) fn expected(&mut self, gang: GangId) -> (Vec<(PodId, Occupant)>, Vec<ClassId>) {
        let missing = self.catalog.gang(gang).missing();
        self.made_by_another(gang, missing)
    }

    /// So many of the pods that another one of their gang makes, and classes that are held for
    /// them.
    fn made_by_another(
        &mut self,
        gang: GangId,
        count: usize,
    ) -> (Vec<(PodId, Occupant)>, Vec<ClassId>) {
        let (mut expected, mut classes) = (Vec::new(), Vec::new());
        let row = self.catalog.gang(gang);
        let maker = row.members.iter().find(|pod| self.catalog.pod(**pod).makes_others()).copied();
        let Some(maker) = maker.filter(|_| count > 0) else { return (expected, classes) };
        let pod = self.catalog.pod(maker);
        let (claim, tags) = (pod.claim.clone(), pod.tags);
        let spec = self.catalog.class(pod.class).spec.clone();
        for shape in claim.iter().flat_map(|claim| &claim.workers) {
            // Of the one that makes them they have what says where to go, not whom to be with.
            let class = self.catalog.class_of(&PodSpec {
                requests: shape.requests.clone(),
                scheduler: spec.scheduler.clone(),
                namespace: spec.namespace.clone(),
                node_selector: spec.node_selector.clone(),
                required: spec.required.clone(),
                tolerations: spec.tolerations.clone(),
                ..PodSpec::default()
            });
            classes.push(class);
            let occupant = Occupant { pod: None, class, tags, is_leaving: false, is_hold: true };
            expected.extend((0..shape.count).map(|_| (maker, occupant)));
        }
        self.count_crowds();
        expected.truncate(count);
        (expected, classes)
    }

    /// Keeps room for pods of a gang that do not exist yet, as far as there is any.
    pub(super) fn keep_room(&mut self, gang: GangId, now: Time) {
        let is_unkept = self.catalog.has_gang(gang)
            && self.catalog.gang(gang).progress.kept.is_none()
            && self.catalog.gang(gang).makers_placed > 0;
        if !is_unkept {
            return;
        }
        // Those that wait take their part of it when they have their turn.
        let row = self.catalog.gang(gang);
        let waiting = row.waiting() - (row.makers - row.makers_placed) as usize;
        let missing = self.catalog.gang(gang).missing();
        let (expected, classes) = self.made_by_another(gang, missing + waiting);
        let txn = Txn::begin(&self.catalog, &mut self.usage);
        let mut arranger =
            Arranger::new(&self.profiles, &mut self.boards, self.seed, txn, &self.gangs);
        arranger.expected = expected;
        let holds = arranger.keep_what_fits(gang);
        let (state, is_kept) = (GangState::Room(holds.len()), !holds.is_empty());
        self.gangs.reports.push(GangReport { gang, state });
        let kept = Kept { until: now + self.options.room_kept, holds, classes };
        self.catalog.progress_mut(gang).kept = Some(kept);
        self.watch(gang);
        if is_kept {
            // With it there may be enough, and those that wait go one by one.
            self.regroup(gang, News::All, now);
        }
    }

    /// Gives up the room that is kept for a pod which is there now, or all room of a gang that is
    /// placed anew.
    pub(super) fn give_up_holds(&mut self, gang: GangId, pod: PodId, is_all: bool) -> Vec<Hold> {
        let class = self.catalog.pod(pod).class;
        let Some(kept) = &mut self.catalog.progress_mut(gang).kept else { return Vec::new() };
        if is_all || kept.holds.is_empty() {
            return std::mem::take(&mut kept.holds);
        }
        let at = kept.holds.iter().position(|hold| hold.occupant.class == class).unwrap_or(0);
        vec![kept.holds.remove(at)]
    }

    /// Gives up all room that is kept for pods of a gang.
    pub(crate) fn release_holds(&mut self, gang: GangId, now: Time) {
        if let Some(kept) = self.catalog.progress_mut(gang).kept.take() {
            self.release(&kept, now);
            self.watch(gang);
        }
    }

    pub(super) fn release(&mut self, Kept { holds, classes, .. }: &Kept, now: Time) {
        let mut txn = Txn::begin(&self.catalog, &mut self.usage);
        holds.iter().for_each(|hold| txn.release(*hold));
        txn.commit();
        self.freed(holds, classes, now);
    }

    /// Wakes whom it helps that room is not kept any more, and gives up classes that were held for
    /// it.
    pub(super) fn freed(&mut self, holds: &[Hold], classes: &[ClassId], now: Time) {
        let nodes: BTreeSet<NodeId> = holds.iter().map(|hold| hold.node).collect();
        nodes.iter().for_each(|node| self.wake(Change::Freed, *node, now));
        nodes.into_iter().for_each(|node| self.release_if_empty(node));
        classes.iter().for_each(|class| self.catalog.release_class(*class));
    }
}
