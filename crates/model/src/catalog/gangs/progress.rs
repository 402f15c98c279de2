//! How far a gang is: what the engine notes in its row beside the facts. It ends with the gang.
//!
//! ```text
//!            a pod is on a node            enough are
//!  Waiting ─────────────────────▶ Partial ────────────▶ Started ◀──▶ Degraded
//!     ▲                              │                     ▲   too few are, and a pod waits
//!     └──────────────────────────────┘                     │
//!       none is on a node any more          Waiting ───────┘  its object says that it started, or
//!                                                             a pod takes the place of another
//! ```
//!
//! Whoever is `Partial` for too long is taken back: its pods leave their nodes.

use crate::ids::{ClassId, PodId};
use crate::time::{Millis, Time};
use crate::usage::Hold;

/// What is noted of a gang.
#[derive(Debug, Default)]
pub struct Progress {
    /// How far it is.
    pub stage: Stage,
    /// What is known of pods that were on nodes when they were first heard of, so that it is not
    /// known whether the gang ever had enough.
    pub found: Option<Found>,
    /// Whether pods of it were sent to nodes, before it is known that they are up.
    pub is_sent: bool,
    /// How long after the first pod on a node that stage ends which is `Partial`.
    pub patience: Millis,
    /// Whether it was told that its pods do not agree on how long it may be incomplete.
    pub is_timeout_told: bool,
    /// The pod by whose node it is decided where the others have to be.
    pub decides: Option<PodId>,
    /// Room that is kept for pods which do not exist yet. Once it was given up it is kept no more.
    pub kept: Option<Kept>,
    /// When it is listed to be looked at.
    pub due: Option<Time>,
}

/// How far a gang is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// None of its pods is known to be on a node.
    #[default]
    Waiting,
    /// Some are, and it never had enough.
    Partial {
        /// When that has to end.
        until: Time,
        /// Whether it was told that pods stay which nobody would make again.
        is_told: bool,
    },
    /// It had enough pods on nodes once.
    Started,
    /// It has fewer than it needs now, and others wait to take their place.
    Degraded,
}

impl Stage {
    /// Whether enough pods were once on nodes.
    #[must_use]
    pub fn is_started(self) -> bool {
        match self {
            Self::Waiting | Self::Partial { .. } => false,
            Self::Started | Self::Degraded => true,
        }
    }

    /// When a gang is taken back that is not whole by then.
    #[must_use]
    pub fn deadline(self) -> Option<Time> {
        match self {
            Self::Partial { until, .. } => Some(until),
            Self::Waiting | Self::Started | Self::Degraded => None,
        }
    }
}

/// Pods of a gang that were found on nodes, and those that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// When the first of those on nodes began to run, in seconds since 1970.
    pub started: Option<i64>,
    /// When the last of those that wait was made.
    pub newest: Option<i64>,
}

impl Found {
    /// Whether a waiting pod was made after another one of the gang began to run: so it takes the
    /// place of one that is gone, or came on top.
    #[must_use]
    pub fn is_replaced(self) -> bool {
        self.started.is_some_and(|started| self.newest > Some(started))
    }
}

/// Room that is kept.
#[derive(Debug, Default)]
pub struct Kept {
    /// Until when.
    pub until: Time,
    /// Where, and for what.
    pub holds: Vec<Hold>,
    /// Classes that are held for it.
    pub classes: Vec<ClassId>,
}
