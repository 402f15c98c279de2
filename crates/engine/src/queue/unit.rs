//! A unit, and where it stands among the others.

use std::sync::Arc;

use model::{ClassId, Diagnosis, GangId, Millis, Outlook, PodId, Reason, Symbol, Tenant, Time};

use super::Place;
use crate::lanes::{Lane, Spot, Turn, Urgency};

/// What is scheduled as a whole.
pub(crate) struct Unit {
    pub(crate) pods: Vec<PodId>,
    /// The gang all of whose waiting pods these are.
    pub(crate) gang: Option<GangId>,
    /// Why its gang cannot be tried, if it cannot.
    pub(crate) refusal: Option<Reason>,
    pub(crate) standing: Standing,
    pub(crate) urgency: Urgency,
    pub(crate) arrival: u64,
    /// When it could first be tried; none as long as it is gated.
    pub(crate) arrived: Option<Time>,
    /// Since when it waits for its turn.
    pub(crate) since: Time,
    pub(crate) failures: u32,
    pub(crate) last_failure: Time,
    pub(crate) place: Place,
    /// Under which reasons and class a parked unit is listed.
    pub(crate) parked: Option<(Arc<Diagnosis>, ClassId)>,
    /// Under which classes a gang is listed that found no room.
    pub(crate) classes: Box<[ClassId]>,
    /// Whether room is also needed for pods that do not exist yet.
    pub(crate) is_expecting: bool,
    /// What would help a gang, as it was last found.
    pub(crate) outlook: Outlook,
}

/// What a unit has behind it: failures, when the last was, and when it could first be tried.
pub(crate) type Past = (u32, Time, Option<Time>);

/// What gives a unit its place among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) rank: i64,
    pub(crate) boost: i32,
    /// Whether it completes what runs already.
    pub(crate) is_mending: bool,
    /// For units that take turns with those of other namespaces.
    pub(crate) sharing: Option<Share>,
}

impl Standing {
    /// Stands no better than another one.
    pub(crate) fn join(&mut self, other: Self) {
        self.rank = self.rank.max(other.rank);
        self.boost = self.boost.min(other.boost);
        if let (Some(share), Some(other)) = (&mut self.sharing, other.sharing) {
            share.age = share.age.min(other.age);
        }
    }
}

/// How a unit takes turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) tenant: Symbol,
    /// When its oldest pod was made.
    pub(crate) age: i64,
    pub(crate) starving_after: Millis,
}

impl Unit {
    pub(super) fn fail(&mut self, now: Time) {
        self.failures = self.failures.saturating_add(1);
        self.last_failure = now;
    }

    /// Where it stands among the active units.
    pub(super) fn spot(&self) -> Spot {
        let Standing { rank, boost, sharing, .. } = self.standing;
        let lane = Lane { rank, urgency: self.urgency, handicap: -i64::from(boost) };
        let (age, since) = sharing.map_or((0, self.since), |share| (share.age, Time::default()));
        let tenant = sharing.map_or(Tenant::Others, |share| Tenant::Namespace(share.tenant));
        (lane, tenant, Turn { age, since, arrival: self.arrival })
    }

    /// When it begins to starve, if it can.
    pub(super) fn starves_at(&self) -> Option<Time> {
        let share = self.standing.sharing.filter(|_| self.urgency == Urgency::Waits)?;
        Some(self.arrived? + share.starving_after)
    }

    pub(super) fn starves(&self, now: Time) -> bool {
        let share = self.standing.sharing;
        let at = share.zip(self.arrived).map(|(share, arrived)| arrived + share.starving_after);
        at.is_some_and(|at| at <= now)
    }

    pub(super) fn urgency_at(&self, now: Time) -> Urgency {
        if self.standing.is_mending {
            Urgency::Mends
        } else if self.starves(now) {
            Urgency::Starves
        } else {
            Urgency::Waits
        }
    }
}
