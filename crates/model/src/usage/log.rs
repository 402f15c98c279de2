//! Which nodes were touched, in order, and what was left of each: whoever keeps results per node
//! reads the rows of many touched nodes as one block.

use std::ops::Range;

use super::columns::Columns;
use crate::ids::NodeId;

/// A node that is not what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Which node.
    pub node: NodeId,
    /// Whether its facts changed, and not only what is taken of it.
    pub is_facts: bool,
}

/// Touches with the rows of their nodes, as these were when they were touched or later.
#[derive(Clone, Copy)]
pub struct Touched<'a> {
    /// Which nodes, and how; one may be among them more than once, and its last row counts.
    pub touches: &'a [Touch],
    /// Has a row for every touch, and others.
    pub columns: &'a Columns,
    /// The row of the first touch.
    pub from: usize,
}

/// Readers that are behind by more than this part of the nodes do not read rows of touches.
const ROWS_PART: usize = 8;
/// How many are kept at least, however few nodes there are.
const KEPT_MIN: usize = 1024;

#[derive(Default)]
pub(super) struct Log {
    touches: Vec<Touch>,
    /// How many touches were dropped before the first that is kept.
    before: u64,
    /// The rows of the last touches.
    rows: Columns,
    row_count: usize,
}

impl Log {
    /// Adds a touch of one of so many places, whose row is at its place in `columns`.
    // Hot: once per placement.
    pub(super) fn push(&mut self, touch: Touch, columns: &Columns, places: usize) {
        // Readers that are further behind than this look at all nodes anew, which is cheaper.
        if let Some(first) = beyond(self.touches.len(), places) {
            self.before += first.len() as u64;
            self.touches.drain(first);
        }
        self.touches.push(touch);
        if let Some(first) = beyond(self.row_count, places / ROWS_PART) {
            self.row_count -= first.len();
            self.rows.drop_first(first);
        }
        self.rows.push(columns, touch.node.index());
        self.row_count += 1;
    }

    /// The mark of its end.
    pub(super) fn mark(&self) -> u64 {
        self.before + self.touches.len() as u64
    }

    /// Forgets what came after a mark.
    pub(super) fn truncate(&mut self, mark: u64) {
        let kept = mark.checked_sub(self.before).and_then(|kept| usize::try_from(kept).ok());
        let Some(kept) = kept.filter(|kept| *kept < self.touches.len()) else { return };
        let forgotten = self.touches.len() - kept;
        self.touches.truncate(kept);
        self.row_count = self.row_count.saturating_sub(forgotten);
        self.rows.truncate(self.row_count);
    }

    /// Touches since a mark, or nothing if it does not reach back that far.
    pub(super) fn since(&self, mark: u64) -> Option<&[Touch]> {
        let dropped = mark.checked_sub(self.before)?;
        usize::try_from(dropped).ok().and_then(|at| self.touches.get(at..))
    }

    /// The same with rows, or nothing if these do not reach back that far.
    pub(super) fn rows_since(&self, mark: u64) -> Option<Touched<'_>> {
        let touches = self.since(mark)?;
        let from = self.row_count.checked_sub(touches.len())?;
        Some(Touched { touches, columns: &self.rows, from })
    }
}

/// What to drop of a list that is twice as long as it has to be.
fn beyond(count: usize, keep: usize) -> Option<Range<usize>> {
    let keep = keep.max(KEPT_MIN);
    (count >= 2 * keep).then(|| 0..count - keep)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_the_last_touches() {
        let mut columns = Columns::default();
        columns.resize(8);
        let mut log = Log::default();
        let mut marks = Vec::new();
        for step in 0..10_000_u32 {
            let node = NodeId::at((step % 8) as usize);
            columns.pods_free[node.index()] = f64::from(step);
            marks.push(log.mark());
            log.push(Touch { node, is_facts: false }, &columns, 8);
            if step % 5 == 0 {
                let gone = marks.split_off(marks.len().saturating_sub(3));
                log.truncate(gone[0]);
            }
            let mark = log.mark().saturating_sub(40);
            let rows = log.rows_since(mark).expect("the last ones are kept");
            for (at, touch) in rows.touches.iter().enumerate() {
                let was = rows.columns.pods_free[rows.from + at];
                assert_eq!(was as usize % 8, touch.node.index());
            }
        }
        assert!(log.rows_since(0).is_none());
    }
}
