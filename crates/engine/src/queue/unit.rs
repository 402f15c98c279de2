//! A unit, and where it stands among the others.

use std::sync::Arc;

use model::{
    ClassId, Diagnosis, GangId, Millis, Moment, Outlook, PodId, Reason, Symbol, Tenant, Time,
};

use super::{Alike, Crew, Place};
use crate::lanes::{Lane, Spot, Turn, Urgency};

/// What is scheduled as a whole.
pub(crate) struct Unit {
    pub(crate) pods: Vec<PodId>,
    /// The gang all of whose waiting pods these are.
    pub(crate) gang: Option<GangId>,
    /// Why its gang cannot be tried, if it cannot.
    pub(crate) refusal: Option<Reason>,
    /// What follows from all waiting pods of its gang; none while some are on their way to nodes.
    pub(crate) crew: Option<Box<Crew>>,
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
    /// For how many more pods of its class there has to be room before a gang can fit.
    pub(crate) short: u64,
    /// What would help a gang, as it was last found.
    pub(crate) outlook: Outlook,
}

/// What a unit has behind it: failures, when the last was, and when it could first be tried.
pub(crate) type Past = (u32, Time, Option<Time>);

/// What gives a unit its place among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Standing {
    pub(crate) rank: i64,
    pub(crate) boost: i32,
    /// Whether it completes what runs already.
    pub(crate) is_mending: bool,
    /// For units that take turns with those of other namespaces.
    pub(crate) sharing: Option<Share>,
    /// In which line it stands, if it is a pod by itself.
    pub(crate) alike: Option<Alike>,
}

/// How a unit takes turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Share {
    pub(crate) tenant: Symbol,
    /// When its oldest pod was made.
    pub(crate) age: i64,
    /// Since when it could be tried, in seconds since 1970, if its pods say so: whoever led before
    /// counts as well. None if they could not until now.
    pub(crate) eligible: Option<i64>,
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

    /// When it begins to starve, if it can. What its pods say counts, so that it is the same
    /// whoever leads; as long as they do not say it, when it could first be tried here.
    pub(super) fn starves_at(&self, clock: Clock) -> Option<Time> {
        let Share { eligible, starving_after, .. } = self.standing.sharing?;
        match eligible {
            Some(seconds) => Some(clock.at(seconds, starving_after)),
            None => Some(self.arrived? + starving_after),
        }
    }

    fn starves(&self, now: Time, clock: Clock) -> bool {
        self.starves_at(clock).is_some_and(|at| at <= now)
    }

    pub(super) fn urgency_at(&self, now: Time, clock: Clock) -> Urgency {
        if self.standing.is_mending {
            Urgency::Mends
        } else if self.starves(now, clock) {
            Urgency::Starves
        } else {
            Urgency::Waits
        }
    }
}

/// What the clock on the wall is ahead of the engine's time, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock(pub(crate) i64);

impl From<Moment> for Clock {
    fn from(Moment { at, wall_ms }: Moment) -> Self {
        Self(wall_ms.cast_signed().saturating_sub(at.0.cast_signed()))
    }
}

impl Clock {
    /// The engine's time that long after so many seconds since 1970; its first moment if that was
    /// before it began.
    fn at(self, seconds: i64, after: Millis) -> Time {
        let wall = seconds.saturating_mul(1000).saturating_add_unsigned(after.0);
        Time(u64::try_from(wall.saturating_sub(self.0)).unwrap_or(0))
    }
}
