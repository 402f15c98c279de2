//! Which boards are kept, and for how long: as long as they fit a number of bytes.

use std::collections::VecDeque;

use framework::{Profile, View};
use model::{Catalog, ClassId, TagsId, Usage};

use super::grounds::Grounds;
use super::{Board, Room, Scratch, Totals};

/// Of so many classes that were looked at once, totals are kept. Those of a class that comes back
/// soon are kept for longer; of the others, memory that is in the cache is used again and again.
const ONCE_MAX: usize = 32;

/// About what a board, or a ground, takes beside its tables.
pub(super) const PREPARED_BYTES: usize = 2 << 10;

/// The bound of bytes holds for so many nodes; where there are more, as much more is kept. Results
/// of a few classes would fill it otherwise, and be worked out for all nodes again and again.
const BOUNDED_NODES: usize = 1 << 15;

/// How a board was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Use {
    /// Whether its totals were worked out once, and not looked at again.
    is_once: bool,
    /// Whether it had totals before.
    is_known: bool,
    /// Whether it was used since it was last passed over.
    is_recent: bool,
    /// Whether what is prepared depends on something that changed.
    is_expired: bool,
    /// How many bytes it was counted with.
    bytes: usize,
}

/// The boards of all classes in use.
pub(crate) struct Boards {
    boards: Vec<Option<Box<Board>>>,
    order: Clock<ClassId>,
    /// Classes with totals that were looked at once, the oldest first.
    once: VecDeque<ClassId>,
    grounds: Grounds,
    /// The board in use: it has the scratch, and the ground that it shares with others.
    lent: Option<ClassId>,
    bytes: usize,
    bytes_max: usize,
    /// How many nodes there is a place for.
    places: usize,
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
            grounds: Grounds::default(),
            lent: None,
            bytes: 0,
            bytes_max,
            places: 0,
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
        self.places = catalog.node_places();
        self.make(class, profile, catalog);
        if self.lent != Some(class) {
            self.lend(class);
        }
        self.note_use(class);
        let board = self.board(class);
        // Facts do not depend on whose tags these are.
        let view = View { catalog, usage, tags: TagsId::at(0), gang: None };
        board.ground.refresh(view, &board.before, &board.filters, &board.rankings);
        board
    }

    /// Has some classes prepared anew the next time they are looked at.
    pub(crate) fn expire(&mut self, is_meant: impl Fn(ClassId) -> bool) {
        for class in self.order.0.iter().filter(|class| is_meant(**class)) {
            let board = self.boards[class.index()].as_mut().expect("a board in order is kept");
            board.use_.is_expired = true;
        }
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
            Some(board) if board.generation == facts.generation() && !board.use_.is_expired => {
                board.use_.is_recent = true;
            }
            Some(_) => {
                catalog.look(1);
                self.take_back(class);
                let (made, key) = Board::new(profile, catalog, facts);
                let ground_id = self.grounds.hold(key);
                let before = self.board(class);
                let (use_, ground_before) = (before.use_, before.ground_id);
                let use_ = Use { is_expired: false, ..use_ };
                *before = Board { use_, ground_id, ..made };
                self.bytes -= self.grounds.release(ground_before);
            }
            none => {
                catalog.look(1);
                let (mut board, key) = Board::new(profile, catalog, facts);
                board.ground_id = self.grounds.hold(key);
                board.use_.bytes = PREPARED_BYTES;
                self.bytes += PREPARED_BYTES;
                *none = Some(Box::new(board));
                self.order.0.push_back(class);
            }
        }
    }

    /// Gives a board the scratch and the ground of its classes.
    fn lend(&mut self, class: ClassId) {
        let scratch = self.take_back(class);
        let board = self.boards[class.index()].as_mut().expect("the board was just made");
        board.scratch = scratch;
        board.ground = self.grounds.lend(board.ground_id);
        self.lent = Some(class);
    }

    /// Takes back what was lent, and makes room if there is too much: a board stays.
    fn take_back(&mut self, stays: ClassId) -> Scratch {
        let lent = self.lent.take();
        let lent = lent.and_then(|class| self.boards[class.index()].as_mut());
        let Some(board) = lent else { return Scratch::default() };
        let scratch = std::mem::take(&mut board.scratch);
        let after = board.bytes();
        let before = std::mem::replace(&mut board.use_.bytes, after);
        let ground = std::mem::take(&mut board.ground);
        let (ground_before, ground_after) = self.grounds.take_back(board.ground_id, ground);
        self.bytes = self.bytes + after + ground_after - before - ground_before;
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
            let oldest = self.once.pop_front().filter(|oldest| *oldest != class);
            let board = oldest.and_then(|class| self.boards[class.index()].as_mut());
            if let Some(board) = board.filter(|board| board.use_.is_once) {
                // Their memory is in the cache.
                let totals = std::mem::take(&mut board.totals);
                board.room = Room::default();
                self.board(class).totals = Totals { mark: None, ..totals };
            }
        }
    }

    fn make_room(&mut self, stays: ClassId) {
        let places = self.places.max(BOUNDED_NODES);
        let bytes_max = self.bytes_max.saturating_mul(places) / BOUNDED_NODES;
        while self.bytes > bytes_max {
            let boards = &mut self.boards;
            let dropped = self.order.pop(|class| {
                let board = boards[class.index()].as_mut().expect("a board in order is kept");
                std::mem::take(&mut board.use_.is_recent) || *class == stays
            });
            let Some(dropped) = dropped.and_then(|class| boards[class.index()].take()) else {
                return;
            };
            self.bytes -= dropped.use_.bytes + self.grounds.release(dropped.ground_id);
        }
    }
}
