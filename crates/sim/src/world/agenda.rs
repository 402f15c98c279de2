//! What will happen, by time. Things of one time happen in the order they were noted.

use std::collections::BTreeMap;

use model::{Attempt, Time};

use super::{JobAt, NodeAt, PodAt};

/// Something that happens by itself when its time comes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happening {
    NodeJoins(NodeAt),
    /// One of its fates, by its place in the plan.
    NodeMeets(NodeAt, usize),
    JobArrives(JobAt),
    GateLifted(PodAt),
    BindingAnswered {
        pod: PodAt,
        node: NodeAt,
        attempt: Attempt,
        is_refused: bool,
    },
    PodEnds(PodAt),
}

/// All of it, next first.
#[derive(Default)]
pub(super) struct Agenda {
    entries: BTreeMap<(Time, u64), Happening>,
    noted: u64,
}

impl Agenda {
    pub(super) fn add(&mut self, at: Time, happening: Happening) {
        self.noted += 1;
        self.entries.insert((at, self.noted), happening);
    }

    pub(super) fn next_at(&self) -> Option<Time> {
        self.entries.first_key_value().map(|((at, _), _)| *at)
    }

    /// The next thing, if its time is `to` or before.
    pub(super) fn take_until(&mut self, to: Time) -> Option<(Time, Happening)> {
        let first = self.entries.first_entry()?;
        let (at, _) = *first.key();
        (at <= to).then(|| (at, first.remove()))
    }
}
