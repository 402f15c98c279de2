//! Which boards are kept, and for how long: as long as they fit a number of bytes.

use std::collections::{BTreeMap, VecDeque};

use framework::{Profile, View};
use model::{Catalog, ClassId, TagsId, Usage};

use super::{Board, Ground, Scratch, Totals};

/// Of so many classes that were looked at once, totals are kept. Those of a class that comes back
/// soon are kept for longer; of the others, memory that is in the cache is used again and again.
const ONCE_MAX: usize = 32;

/// About what a board, or a ground, takes beside its tables.
pub(super) const PREPARED_BYTES: usize = 2 << 10;

/// How a board was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Use {
    /// Whether its totals were worked out once, and not looked at again.
    is_once: bool,
    /// Whether it had totals before.
    is_known: bool,
    /// Whether it was used since it was last passed over.
    is_recent: bool,
    /// How many bytes it was counted with.
    bytes: usize,
}

/// The boards of all classes in use.
pub(crate) struct Boards {
    boards: Vec<Option<Box<Board>>>,
    order: Clock<ClassId>,
    /// Classes with totals that were looked at once, the oldest first.
    once: VecDeque<ClassId>,
    grounds: BTreeMap<u64, Kept>,
    grounds_order: Clock<u64>,
    /// The board in use: it has the scratch, and the ground that it shares with others.
    lent: Option<ClassId>,
    bytes: usize,
    bytes_max: usize,
}

/// A ground that is not lent.
struct Kept {
    ground: Option<Box<Ground>>,
    is_recent: bool,
    bytes: usize,
}

/// Keys in the order in which they are dropped; what was used since it was last passed over is
/// passed over again.
struct Clock<K>(VecDeque<K>);

impl<K> Clock<K> {
    fn pop(&mut self, mut is_spared: impl FnMut(&K) -> bool) -> Option<K> {
        for _ in 0..=2 * self.0.len() {
            let key = self.0.pop_front()?;
            if !is_spared(&key) {
                return Some(key);
            }
            self.0.push_back(key);
        }
        None
    }
}

impl Boards {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            boards: Vec::new(),
            order: Clock(VecDeque::new()),
            once: VecDeque::new(),
            grounds: BTreeMap::new(),
            grounds_order: Clock(VecDeque::new()),
            lent: None,
            bytes: 0,
            bytes_max,
        }
    }

    /// What is prepared for a class. Its results for nodes may be out of date.
    pub(crate) fn prepared(
        &mut self,
        class: ClassId,
        profile: &Profile,
        catalog: &Catalog,
    ) -> &Board {
        self.make(class, profile, catalog);
        self.board(class)
    }

    /// The board of a class, made if there is none, on ground that is up to date.
    pub(crate) fn of(
        &mut self,
        class: ClassId,
        profile: &Profile,
        catalog: &Catalog,
        usage: &Usage,
    ) -> &mut Board {
        self.make(class, profile, catalog);
        if self.lent != Some(class) {
            self.lend(class);
        }
        self.note_use(class);
        let board = self.board(class);
        // Facts do not depend on whose tags these are.
        let view = View { catalog, usage, tags: TagsId::at(0) };
        board.ground.refresh(view, &board.before, &board.filters, &board.rankings);
        board
    }

    fn board(&mut self, class: ClassId) -> &mut Board {
        self.boards[class.index()].as_mut().expect("the board was just made")
    }

    /// Makes the board of a class, if there is none.
    fn make(&mut self, class: ClassId, profile: &Profile, catalog: &Catalog) {
        if self.boards.len() <= class.index() {
            self.boards.resize_with(class.index() + 1, || None);
        }
        let facts = catalog.class(class);
        match &mut self.boards[class.index()] {
            Some(board) if board.generation == facts.generation() => board.use_.is_recent = true,
            Some(_) => {
                catalog.look(1);
                self.take_back(class);
                let before = self.board(class);
                let use_ = before.use_;
                *before = Board { use_, ..Board::new(profile, catalog, facts) };
            }
            none => {
                catalog.look(1);
                *none = Some(Box::new(Board::new(profile, catalog, facts)));
                self.order.0.push_back(class);
            }
        }
    }

    /// Gives a board the scratch and the ground of its classes.
    fn lend(&mut self, class: ClassId) {
        let scratch = self.take_back(class);
        let board = self.boards[class.index()].as_mut().expect("the board was just made");
        board.scratch = scratch;
        let kept = self.grounds.get_mut(&board.ground_hash);
        let shared = kept.and_then(|kept| {
            kept.is_recent = true;
            kept.ground.take_if(|ground| ground.key == board.ground.key)
        });
        if let Some(shared) = shared {
            board.ground = shared;
        }
        self.lent = Some(class);
    }

    /// Takes back what was lent, and makes room if there is too much: a board stays.
    fn take_back(&mut self, stays: ClassId) -> Scratch {
        let lent = self.lent.take();
        let lent = lent.and_then(|class| self.boards[class.index()].as_mut());
        let Some(board) = lent else { return Scratch::default() };
        let key = Box::new(Ground::new(board.ground.key.clone()));
        let ground = std::mem::replace(&mut board.ground, key);
        let (scratch, hash) = (std::mem::take(&mut board.scratch), board.ground_hash);
        let after = board.bytes();
        self.bytes = self.bytes + after - std::mem::replace(&mut board.use_.bytes, after);
        let kept = self.grounds.entry(hash).or_insert_with(|| {
            self.grounds_order.0.push_back(hash);
            Kept { ground: None, is_recent: false, bytes: 0 }
        });
        let after = ground.bytes();
        self.bytes = self.bytes + after - std::mem::replace(&mut kept.bytes, after);
        kept.ground = Some(ground);
        self.make_room(stays);
        scratch
    }

    /// Notes that totals of a board are about to be looked at.
    fn note_use(&mut self, class: ClassId) {
        let use_ = &mut self.board(class).use_;
        use_.is_once = !std::mem::replace(&mut use_.is_known, true);
        if !use_.is_once {
            return;
        }
        self.once.push_back(class);
        if self.once.len() > ONCE_MAX {
            let oldest = self.once.pop_front();
            let board = oldest.and_then(|class| self.boards[class.index()].as_mut());
            if let Some(board) = board.filter(|board| board.use_.is_once) {
                board.totals = Totals::default();
            }
        }
    }

    fn make_room(&mut self, stays: ClassId) {
        while self.bytes > self.bytes_max {
            let grounds = &mut self.grounds;
            if grounds.len() > 1 && grounds.len() > self.order.0.len() / 2 {
                let dropped = self.grounds_order.pop(|hash| {
                    let kept = grounds.get_mut(hash).expect("a ground in order is kept");
                    std::mem::take(&mut kept.is_recent)
                });
                let dropped = dropped.and_then(|hash| grounds.remove(&hash));
                self.bytes -= dropped.map_or(0, |dropped| dropped.bytes);
                continue;
            }
            let boards = &mut self.boards;
            let dropped = self.order.pop(|class| {
                let board = boards[class.index()].as_mut().expect("a board in order is kept");
                std::mem::take(&mut board.use_.is_recent) || *class == stays
            });
            let Some(dropped) = dropped.and_then(|class| boards[class.index()].take()) else {
                return;
            };
            self.bytes -= dropped.use_.bytes;
        }
    }
}
