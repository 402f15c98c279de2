//! Extension points: the words of a configuration that select which questions a plugin is asked.

/// The extension points of `KubeSchedulerConfiguration`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Point {
    /// May this pod be tried at all?
    PreEnqueue,
    /// Which pod goes first?
    QueueSort,
    /// Is the pod refused outright, or confined to named nodes?
    PreFilter,
    /// Which nodes can take it?
    Filter,
    /// What to do when no node can?
    PostFilter,
    /// Preparation of scores.
    PreScore,
    /// Which node is better?
    Score,
    /// Holding what a placement takes.
    Reserve,
    /// Waiting for others.
    Permit,
    /// Work before a binding.
    PreBind,
    /// The binding.
    Bind,
    /// Work after a binding.
    PostBind,
    /// Sets of nodes to try for a group.
    PlacementGenerate,
    /// Which set is better?
    PlacementScore,
    /// What to do when no set can take a group?
    PodGroupPostFilter,
}

impl Point {
    /// All points with the words a configuration uses.
    pub const ALL: [(Self, &'static str); 15] = [
        (Self::PreEnqueue, "preEnqueue"),
        (Self::QueueSort, "queueSort"),
        (Self::PreFilter, "preFilter"),
        (Self::Filter, "filter"),
        (Self::PostFilter, "postFilter"),
        (Self::PreScore, "preScore"),
        (Self::Score, "score"),
        (Self::Reserve, "reserve"),
        (Self::Permit, "permit"),
        (Self::PreBind, "preBind"),
        (Self::Bind, "bind"),
        (Self::PostBind, "postBind"),
        (Self::PlacementGenerate, "placementGenerate"),
        (Self::PlacementScore, "placementScore"),
        (Self::PodGroupPostFilter, "podGroupPostFilter"),
    ];

    /// The word a configuration uses.
    #[must_use]
    pub fn word(self) -> &'static str {
        let found = Self::ALL.iter().find(|(point, _)| *point == self);
        found.map(|(_, word)| *word).expect("every point has a word")
    }
}

/// A set of extension points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Points(u16);

impl Points {
    /// The set of the given points.
    #[must_use]
    pub const fn of(points: &[Point]) -> Self {
        let mut bits = 0;
        let mut at = 0;
        while at < points.len() {
            bits |= 1 << points[at] as u16;
            at += 1;
        }
        Self(bits)
    }

    /// The set without a point.
    #[must_use]
    pub const fn without(self, point: Point) -> Self {
        Self(self.0 & !(1 << point as u16))
    }

    /// Whether a point is in the set.
    #[must_use]
    pub const fn has(self, point: Point) -> bool {
        self.0 & (1 << point as u16) != 0
    }
}
