//! "Which of these nodes is better?"

use model::{Catalog, Class, NodeId, Touch};

use crate::feasible::{Reach, Rows, UNFIT, View};
use crate::parts::Parts;
use crate::plugin::Plugin;

/// The best score a plugin can give, before its weight.
pub const MAX_SCORE: i32 = 100;

/// What the weights of a profile may add up to: totals of scores must fit 32 bits with room.
pub const WEIGHTS_MAX: i64 = 1_000_000;

/// How many parts of a point fine scores are counted in.
pub const FINE: i32 = 1000;

/// What the weights of a profile may add up to, whatever their sign, for totals to be counted in
/// parts of a point.
pub const FINE_WEIGHTS_MAX: i64 = 7000;

/// Added to a raw score: the node is taken only if all nodes that fit have it, whatever others say;
/// among these, scores count as ever. Only where scores are ready.
pub const LAST_RESORT: i32 = i32::MIN / 2;

/// Totals of nodes lie between this and as much below zero: fine weights times the best score.
const TOTAL_MAX: i32 = 7000 * MAX_SCORE * FINE;
const _: () = assert!(FINE_WEIGHTS_MAX == 7000 && WEIGHTS_MAX <= 7000 * FINE as i64);

/// By how much the total of a last resort is lowered: it then lies below that of any other node,
/// and above that of a node that does not fit.
const LOWERED: i32 = 2 * TOTAL_MAX + 1;

/// Hot: a total with one more score.
#[inline]
#[must_use]
pub fn plus(total: i32, weight: i32, score: i32) -> i32 {
    match said(score) {
        (true, score) if !is_last_resort(total) => total - LOWERED + weight * score,
        (_, score) => total + weight * score,
    }
}

/// Whether a raw score makes a node a last resort, and the score without that.
#[inline]
#[must_use]
pub fn said(score: i32) -> (bool, i32) {
    let is_last = score <= LAST_RESORT + MAX_SCORE * FINE;
    (is_last, if is_last { score - LAST_RESORT } else { score })
}

/// Whether a total of a node that fits has a last resort in it.
#[must_use]
pub fn is_last_resort(total: i32) -> bool {
    total < -TOTAL_MAX
}

/// How raw scores become scores from 0 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalize {
    /// They already are.
    Ready,
    /// The highest raw score becomes 100.
    Highest,
    /// The highest raw score becomes 0, and 0 becomes 100.
    HighestIsWorst,
}

impl Normalize {
    /// The score of a raw score when `highest` is the highest among all nodes that fit.
    #[must_use]
    pub fn score(self, raw: i32, highest: i32) -> i32 {
        let highest = highest.max(0);
        match self {
            Self::Ready => raw,
            Self::Highest if highest == 0 => 0,
            Self::Highest => share(raw, highest),
            Self::HighestIsWorst if highest == 0 => MAX_SCORE,
            Self::HighestIsWorst => MAX_SCORE - share(raw, highest),
        }
    }
}

/// A raw score as a share of the highest, at most all of it; the product can exceed 32 bits.
fn share(raw: i32, highest: i32) -> i32 {
    let share = i64::from(MAX_SCORE) * i64::from(raw.clamp(0, highest)) / i64::from(highest);
    i32::try_from(share).expect("a share is at most the best score")
}

/// A plugin that can tell better nodes from worse.
pub trait Rank: Plugin {
    /// What of a pod's spec its answers depend on that reach no further than facts.
    fn reads(&self) -> Parts {
        Parts::ALL
    }

    /// What it has worked out for a class, or nothing if it has nothing to say about such pods.
    fn prepare(&self, catalog: &Catalog, class: &Class) -> Option<Box<dyn Scores>>;
}

/// The prepared answer for one class.
pub trait Scores: Send + Sync {
    /// What the answers depend on.
    fn reach(&self) -> Reach;

    /// Told apart from the scores for other classes of which the plugin reads the same; 0 if there
    /// are no others. Where scores reach no further than facts, classes share those that have the
    /// same number.
    fn variant(&self) -> u64 {
        0
    }

    /// Whether there is anything to say of this pod as things are. Always, unless answers reach
    /// around.
    fn applies(&self, _view: View<'_>) -> bool {
        true
    }

    /// Takes in that these nodes are not what they were; all nodes if none are named. Only called
    /// where answers reach around, before nodes are scored.
    fn refresh(&mut self, _view: View<'_>, _touched: Option<&[Touch]>) {}

    /// How raw scores become scores.
    fn normalize(&self) -> Normalize {
        Normalize::Ready
    }

    /// Whether nodes cannot be ranked for this class at all, because the question is broken.
    fn is_broken(&self) -> bool {
        false
    }

    /// Whether raw scores are counted in [`FINE`] parts of a point. Only where scores are ready.
    fn is_fine(&self) -> bool {
        false
    }

    /// Another one when something beyond single nodes changed, so that all kept scores are out of
    /// date. Where answers reach no further than facts, only asked after facts of a node changed;
    /// where they reach as far as the load, for every pod, so it must cost next to nothing.
    fn revision(&self, _catalog: &Catalog) -> u64 {
        0
    }

    /// Hot: raw scores of the nodes, in their order. Where answers reach around these are all
    /// nodes that fit.
    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]);

    /// Hot: adds the scores of the nodes that fit, times a weight, to their totals. Odd nodes may
    /// get any total. Only called where scores are ready.
    fn sweep(&self, view: View<'_>, rows: Rows<'_>, weight: i32, totals: &mut [i32]) {
        sweep_by_node(self, view, rows, weight, totals);
    }
}

/// The sweep of scores that are asked node by node.
pub fn sweep_by_node(
    scores: &(impl Scores + ?Sized),
    view: View<'_>,
    rows: Rows<'_>,
    weight: i32,
    totals: &mut [i32],
) {
    let fit = (0..totals.len()).filter(|at| totals[*at] != UNFIT);
    let nodes: Vec<NodeId> = fit.map(|at| rows.node(at)).collect();
    let mut added = vec![0; nodes.len()];
    scores.scores(view, &nodes, &mut added);
    let totals = totals.iter_mut().filter(|total| **total != UNFIT);
    totals.zip(added).for_each(|(total, score)| *total = plus(*total, weight, score));
}

/// Fine scores in whole points, for profiles whose totals could not be counted in parts of one.
pub struct WholePoints(pub Box<dyn Scores>);

impl Scores for WholePoints {
    fn reach(&self) -> Reach {
        self.0.reach()
    }

    fn variant(&self) -> u64 {
        self.0.variant()
    }

    fn applies(&self, view: View<'_>) -> bool {
        self.0.applies(view)
    }

    fn refresh(&mut self, view: View<'_>, touched: Option<&[Touch]>) {
        self.0.refresh(view, touched);
    }

    fn is_broken(&self) -> bool {
        self.0.is_broken()
    }

    fn revision(&self, catalog: &Catalog) -> u64 {
        self.0.revision(catalog)
    }

    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        self.0.scores(view, nodes, out);
        for score in out {
            let (is_last, fine) = said(*score);
            *score = fine / FINE + if is_last { LAST_RESORT } else { 0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_scores_become_scores_by_table() {
        // (how, raw, highest, score)
        let table = [
            (Normalize::Ready, 42, 90, 42),
            (Normalize::Highest, 0, 0, 0),
            (Normalize::Highest, 30, 90, 33),
            (Normalize::Highest, 90, 90, 100),
            (Normalize::Highest, i32::MAX, 1, 100),
            (Normalize::Highest, -5, -5, 0),
            (Normalize::HighestIsWorst, 0, 0, 100),
            (Normalize::HighestIsWorst, 0, 3, 100),
            (Normalize::HighestIsWorst, 1, 3, 67),
            (Normalize::HighestIsWorst, 3, 3, 0),
        ];
        for (how, raw, highest, score) in table {
            assert_eq!(how.score(raw, highest), score, "{how:?} {raw} of {highest}");
        }
    }

    /// Whatever others say, and however often it is said.
    #[test]
    fn a_last_resort_is_worse_than_any_other_node_that_fits() {
        let weight = i32::try_from(FINE_WEIGHTS_MAX).expect("a weight");
        let best = MAX_SCORE * FINE;
        for weight in [weight, -weight] {
            let [low, high] = [0, best].map(|score| plus(0, weight, score));
            for total in [low, high] {
                assert!(!is_last_resort(total), "{total}");
                let last = plus(total, weight, LAST_RESORT);
                assert!(is_last_resort(last) && UNFIT < last, "{last}");
                assert!(last < low.min(high), "{last}");
                assert_eq!(plus(last, 1, LAST_RESORT), last, "it is said twice");
                let said_first = plus(plus(0, 1, LAST_RESORT), 1, total);
                assert_eq!(said_first, last, "in any order");
            }
        }
        // Among themselves, other scores decide.
        let last = |score| plus(plus(0, 5, score), 1, LAST_RESORT);
        assert!(last(3) < last(4));
        assert!(plus(0, 5, LAST_RESORT + 3) < plus(0, 5, LAST_RESORT + 4));
    }
}
