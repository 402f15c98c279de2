//! Makes a case that fails smaller: fewer jobs, nodes, fates, faults, pods and seconds, as long as
//! it fails in the same way.

use std::collections::BTreeSet;

use super::{Case, FailureKind, Only};

/// A smaller case that fails in the same way, found in at most `runs` runs. `fails` runs a case and
/// tells how it fails, if it does.
pub fn shrink(
    case: &Case,
    kind: FailureKind,
    runs: usize,
    fails: &mut dyn FnMut(&Case) -> Option<FailureKind>,
) -> Case {
    let best = case.spelled_out();
    let mut shrinking = Shrinking { best, kind, left: runs, fails };
    loop {
        let before = shrinking.best.clone();
        shrinking.fewer_seconds();
        shrinking.fewer_of(|only| only.jobs.as_mut());
        shrinking.fewer_of(|only| only.nodes.as_mut());
        shrinking.drop_fates_of_nobody();
        shrinking.fewer_of(|only| only.fates.as_mut());
        shrinking.fewer_of(|only| only.faults.as_mut());
        shrinking.fewer_pods();
        if shrinking.best == before || shrinking.left == 0 {
            return shrinking.best;
        }
    }
}

struct Shrinking<'a> {
    best: Case,
    kind: FailureKind,
    left: usize,
    fails: &'a mut dyn FnMut(&Case) -> Option<FailureKind>,
}

impl Shrinking<'_> {
    /// Takes a smaller case if it fails in the same way.
    fn try_out(&mut self, change: impl FnOnce(&mut Only)) -> bool {
        if self.left == 0 {
            return false;
        }
        let mut smaller = self.best.clone();
        change(&mut smaller.only);
        if smaller == self.best {
            return false;
        }
        self.left -= 1;
        let is_same = (self.fails)(&smaller) == Some(self.kind);
        if is_same {
            self.best = smaller;
        }
        is_same
    }

    /// Leaves out ever smaller parts of a set, down to single ones.
    fn fewer_of<T: Ord + Clone>(&mut self, of: fn(&mut Only) -> Option<&mut BTreeSet<T>>) {
        let set = |only: &mut Only| of(only).expect("everything is named").clone();
        let mut size = set(&mut self.best.only).len();
        while size > 0 {
            let all: Vec<T> = set(&mut self.best.only).into_iter().collect();
            for part in all.chunks(size) {
                let without = |only: &mut Only| {
                    let set = of(only).expect("everything is named");
                    part.iter().for_each(|one| {
                        set.remove(one);
                    });
                };
                self.try_out(without);
            }
            size /= 2;
        }
    }

    fn fewer_pods(&mut self) {
        self.lower(|only| only.pods.as_mut());
    }

    fn fewer_seconds(&mut self) {
        self.lower(|only| only.seconds.as_mut());
    }

    /// Finds a lower number by halving what lies between it and zero.
    fn lower(&mut self, of: fn(&mut Only) -> Option<&mut u64>) {
        let number = |only: &mut Only| *of(only).expect("everything is named");
        let mut low = 0;
        while low + 1 < number(&mut self.best.only) {
            let middle = low.midpoint(number(&mut self.best.only));
            let set = |only: &mut Only| *of(only).expect("everything is named") = middle;
            if !self.try_out(set) {
                low = middle;
            }
            if self.left == 0 {
                return;
            }
        }
    }

    /// Fates of nodes that are left out say nothing.
    fn drop_fates_of_nobody(&mut self) {
        let only = &mut self.best.only;
        if let (Some(nodes), Some(fates)) = (&only.nodes, &mut only.fates) {
            fates.retain(|(node, _)| nodes.contains(node));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_failure_does_not_need_is_left_out() {
        let case = Case::whole(7);
        let whole = case.spelled_out().only;
        let jobs = whole.jobs.unwrap();
        let needed = *jobs.last().unwrap();
        let mut runs = 0;
        let mut fails = |case: &Case| {
            runs += 1;
            let only = &case.only;
            let has_job = only.jobs.as_ref().unwrap().contains(&needed);
            (has_job && only.seconds >= Some(5)).then_some(FailureKind::Wrong)
        };
        let small = shrink(&case, FailureKind::Wrong, 500, &mut fails).only;
        assert_eq!(small.jobs, Some(BTreeSet::from([needed])));
        assert_eq!(small.nodes, Some(BTreeSet::new()));
        assert_eq!((small.fates, small.faults), (Some(BTreeSet::new()), Some(BTreeSet::new())));
        assert_eq!((small.pods, small.seconds), (Some(1), Some(5)));
        assert!(runs <= 500);
    }

    #[test]
    fn another_kind_of_failure_is_not_followed() {
        let mut fails = |case: &Case| {
            let is_whole = case.only.jobs.as_ref().is_none_or(|jobs| jobs.len() > 1);
            Some(if is_whole { FailureKind::Stuck } else { FailureKind::Wrong })
        };
        let small = shrink(&Case::whole(7), FailureKind::Stuck, 500, &mut fails);
        assert_eq!(small.only.jobs.unwrap().len(), 2);
    }
}
