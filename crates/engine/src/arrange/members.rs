//! The pods of a gang, one after the other, in one order or another.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use model::{ClassId, GangId, Pod, PodId, PodState};

use super::{Arranger, Choice, DEEP_MAX, Short};
use crate::cycle::Within;

impl Arranger<'_> {
    /// Places the waiting pods of a gang: all that are needed, and of the others those that fit.
    pub(super) fn members(
        &mut self,
        gang: GangId,
        within: &Within,
        limit: usize,
    ) -> Result<(), Short> {
        let catalog = self.txn.catalog();
        let row = catalog.gang(gang);
        let is_waiting = |pod: &PodId| catalog.pod(*pod).state == PodState::Waiting;
        let mut pods: Vec<PodId> = row.members.iter().copied().filter(is_waiting).collect();
        let class = |pod: &PodId| catalog.pod(*pod).class;
        let is_one = pods.windows(2).all(|two| class(&two[0]) == class(&two[1]));
        // Of one class none is larger than another.
        let classes: BTreeSet<ClassId> =
            if is_one { BTreeSet::new() } else { pods.iter().map(class).collect() };
        for class in &classes {
            if !self.sizes.contains_key(class) {
                let size = self.size(*class);
                self.sizes.insert(*class, size);
            }
        }
        let size = |pod: &Pod| self.sizes.get(&pod.class).copied().unwrap_or(0);
        pods.sort_by(|one, other| {
            let (one, other) = (catalog.pod(*one), catalog.pod(*other));
            size(other).cmp(&size(one)).then_with(|| one.key.name.cmp(&other.key.name))
        });
        let there = row.placed as usize + self.expected_of(row);
        let min = if row.min() <= 1 { 0 } else { row.min() as usize };
        // Without the pod that makes others there are none.
        let makers = pods.iter().filter(|pod| catalog.pod(**pod).makes_others()).count();
        let needed = min.saturating_sub(there).max(makers).min(pods.len());
        let spare = pods.len() - needed;
        let short = |pod: PodId| Short { gang, pod, within: within.clone(), expected: None };
        let Err(failed) = self.in_order(&pods, spare, within, Choice::Best, limit == 0) else {
            return Ok(());
        };
        let is_alike = is_one && !self.is_around(pods[0]);
        self.is_cut |= !is_alike && self.work > limit;
        if limit == 0 || is_alike || self.work > limit || self.is_beyond_room(gang) {
            return Err(short(failed));
        }
        if self.in_other_order(&pods, spare, within, limit, failed) {
            return Ok(());
        }
        let classes = if is_one { BTreeSet::from([class(&pods[0])]) } else { classes };
        // Whoever must be near others is asked once they have their places.
        pods.sort_by_key(|pod| !catalog.class(class(pod)).spec.near.is_empty());
        if pods.len() <= DEEP_MAX && self.deep(&pods, spare, within, limit, &classes) {
            return Ok(());
        }
        // Of nodes that are alike one is tried, though rules about other pods may tell them apart.
        let is_narrowed = !is_one && pods.iter().any(|pod| self.is_around(*pod));
        self.is_cut |= pods.len() > DEEP_MAX || self.work > limit || is_narrowed;
        Err(short(failed))
    }

    /// Places pods in other orders and on other nodes than the best, after one found no place.
    fn in_other_order(
        &mut self,
        pods: &[PodId],
        spare: usize,
        within: &Within,
        limit: usize,
        mut failed: PodId,
    ) -> bool {
        let catalog = self.txn.catalog();
        let class = |pod: &PodId| catalog.pod(*pod).class;
        // Whoever found no place goes first; each class once.
        let mut tried = BTreeSet::new();
        let mut order = pods.to_vec();
        while tried.insert(class(&failed)) && self.work <= limit {
            let first = class(&failed);
            order.sort_by_key(|pod| class(pod) != first);
            match self.in_order(&order, spare, within, Choice::Best, false) {
                Ok(()) => return true,
                Err(next) => failed = next,
            }
        }
        // Those that must be near others go last. Of one class none does.
        let mut classes: BTreeSet<ClassId> = pods.iter().map(class).collect();
        if classes.len() == 1 {
            classes.clear();
        }
        for last in classes {
            order.copy_from_slice(pods);
            order.sort_by_key(|pod| class(pod) == last);
            if self.work <= limit
                && self.in_order(&order, spare, within, Choice::Best, false).is_ok()
            {
                return true;
            }
        }
        if self.in_order(pods, spare, within, Choice::Tightest, false).is_ok() {
            return true;
        }
        // Rules about other pods can rule out what looks best, and leave what is simplest.
        order.sort_by_key(|pod| {
            let fit = &catalog.class(class(pod)).requests.fit;
            (Reverse((fit.cpu, fit.memory)), &catalog.pod(*pod).key.name)
        });
        self.in_order(&order, spare, within, Choice::First, false).is_ok()
    }

    /// Places pods one after the other; at most `spare` of them may be left out. Gives back the
    /// first that is left out beyond that: with nothing placed, or with all placed that fit if
    /// that is asked for.
    pub(super) fn in_order(
        &mut self,
        pods: &[PodId],
        mut spare: usize,
        within: &Within,
        choice: Choice,
        stays: bool,
    ) -> Result<(), PodId> {
        let start = self.moment();
        let mut hopeless = BTreeSet::new();
        let mut failed = None;
        for pod in pods {
            let class = self.txn.catalog().pod(*pod).class;
            let found =
                if hopeless.contains(&class) { None } else { self.seek(*pod, within, choice) };
            if let Some(node) = found {
                self.take(*pod, node);
                continue;
            }
            if !self.is_around(*pod) && !self.gangs.refused.contains_key(pod) {
                hopeless.insert(class);
            }
            if spare > 0 && !self.txn.catalog().pod(*pod).makes_others() {
                spare -= 1;
                continue;
            }
            failed.get_or_insert(*pod);
            if !stays {
                self.back_to(start);
                break;
            }
        }
        failed.map_or(Ok(()), Err)
    }
}
