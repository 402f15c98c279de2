//! Grounds by what their classes have in common: each lives as long as a board stands on it.

use std::sync::Arc;

use model::{Map, PodSpec};

use super::ground::Ground;

/// Where a ground is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct GroundId(usize);

/// What classes have in common that share a ground.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct GroundKey {
    /// What they say about facts.
    pub(super) spec: PodSpec,
    /// In what unit their scores are added up.
    pub(super) per_point: i32,
    /// What plugins say of facts that does not follow from the spec, by their names.
    pub(super) variants: Vec<(&'static str, u64)>,
}

/// All grounds that are not lent.
#[derive(Default)]
pub(super) struct Grounds {
    ids: Map<Arc<GroundKey>, GroundId>,
    rows: Vec<Row>,
    free: Vec<GroundId>,
}

#[derive(Default)]
struct Row {
    key: Arc<GroundKey>,
    /// How many boards stand on it.
    boards: usize,
    /// How many bytes it was counted with.
    bytes: usize,
    ground: Box<Ground>,
}

impl Grounds {
    /// The ground for one more board.
    pub(super) fn hold(&mut self, key: GroundKey) -> GroundId {
        let id = self.ids.get(&key).copied().unwrap_or_else(|| {
            let id = self.free.pop().unwrap_or_else(|| {
                self.rows.push(Row::default());
                GroundId(self.rows.len() - 1)
            });
            let key = Arc::new(key);
            self.ids.insert(key.clone(), id);
            self.rows[id.0].key = key;
            id
        });
        self.rows[id.0].boards += 1;
        id
    }

    /// A board is gone that stood on a ground: tells how many bytes less are taken.
    pub(super) fn release(&mut self, id: GroundId) -> usize {
        let row = &mut self.rows[id.0];
        row.boards -= 1;
        if row.boards > 0 {
            return 0;
        }
        let Row { key, bytes, .. } = std::mem::take(row);
        self.ids.remove(&key);
        self.free.push(id);
        bytes
    }

    /// Lends a ground.
    pub(super) fn lend(&mut self, id: GroundId) -> Box<Ground> {
        std::mem::take(&mut self.rows[id.0].ground)
    }

    /// Takes a ground back: tells how many bytes it was counted with, and takes now.
    pub(super) fn take_back(&mut self, id: GroundId, ground: Box<Ground>) -> (usize, usize) {
        let row = &mut self.rows[id.0];
        let after = ground.bytes();
        row.ground = ground;
        (std::mem::replace(&mut row.bytes, after), after)
    }
}
