//! How much pods that are already there speak for a node, or against it.

use framework::{MAX_SCORE, Reach, Scores, View};
use model::{NodeId, Touch, Wish};

use super::Others;
use crate::sums::Sums;

pub(super) struct Preferences {
    /// What the pod prefers, with weights.
    pub(super) own: Vec<(i32, Sums)>,
    pub(super) others: Others,
    /// How welcome the pod is where another one must have it near.
    pub(super) near_weight: i32,
}

impl Preferences {
    /// What a rule of another pod adds to a node in its domain; nothing if it does not matter.
    fn weight(&self, wish: Wish) -> i32 {
        match wish {
            Wish::Far => 0,
            Wish::Near => self.near_weight,
            Wish::Prefers(weight) => weight,
        }
    }

    /// All sums that speak, with their weights.
    fn voices<'a>(&'a self, view: View<'a>) -> impl Iterator<Item = (i64, &'a Sums)> {
        let own = self.own.iter().map(|(weight, sums)| (i64::from(*weight), sums));
        let others = Others::rules(view).filter_map(|(crowd, held)| {
            let weight = self.weight(held.wish);
            Some((i64::from(weight), self.others.of(crowd)?)).filter(|_| weight != 0)
        });
        own.chain(others)
    }
}

impl Scores for Preferences {
    fn reach(&self) -> Reach {
        Reach::Around
    }

    fn applies(&self, view: View<'_>) -> bool {
        !self.own.is_empty() || Others::rules(view).any(|(_, held)| self.weight(held.wish) != 0)
    }

    fn refresh(&mut self, view: View<'_>, touched: Option<&[Touch]>) {
        self.own.iter_mut().for_each(|(_, sums)| sums.refresh(view, touched, |_| true));
        let near_weight = self.near_weight;
        self.others.refresh(view, touched, |wish| match wish {
            Wish::Far => false,
            Wish::Near => near_weight != 0,
            Wish::Prefers(_) => true,
        });
    }

    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        let mut raws = vec![0_i64; nodes.len()];
        for (weight, sums) in self.voices(view) {
            let sums = sums.by_node(view);
            for (node, raw) in nodes.iter().zip(&mut raws) {
                *raw += weight * sums.of(*node).map_or(0, |sum| i64::from(sum.pods));
            }
        }
        let lowest = raws.iter().copied().min().unwrap_or(0);
        let range = raws.iter().copied().max().unwrap_or(0) - lowest;
        if range == 0 {
            return out.fill(0);
        }
        for (raw, score) in raws.into_iter().zip(out) {
            // As kube-scheduler counts: a share in floating point, cut to an integer.
            let share = (raw - lowest) as f64 / range as f64;
            *score = (f64::from(MAX_SCORE) * share) as i32;
        }
    }
}
