//! Whose turn it is among the units that can be tried.
//!
//! Units of the same importance stand in one lane. In a lane the namespace that has the smallest
//! share of the cluster goes first, and in a namespace the oldest unit; so namespaces take turns,
//! however many units each has. Units that are not to share stand together as if they were of one
//! namespace.

use std::collections::{BTreeMap, BTreeSet};

use model::{Map, Symbol, Time, UnitId};

/// What decides before anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lane {
    /// Rank by importance, smaller first.
    pub(crate) rank: i64,
    pub(crate) urgency: Urgency,
    /// What the unit goes later by than one that is boosted.
    pub(crate) handicap: i64,
}

/// Who goes first among units of the same rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Urgency {
    /// It completes what runs already.
    Mends,
    /// It has waited for too long.
    Starves,
    /// Neither.
    Waits,
}

/// Where a unit stands among those of its namespace; no two are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn {
    /// When its oldest pod was made, where that counts.
    pub(crate) age: i64,
    /// Since when it waits for its turn, where that counts.
    pub(crate) since: Time,
    /// The order of arrival.
    pub(crate) arrival: u64,
}

/// Where a unit stands.
pub(crate) type Spot = (Lane, Option<Symbol>, Turn);

#[derive(Default)]
struct Standing {
    by_tenant: BTreeMap<Option<Symbol>, BTreeMap<Turn, UnitId>>,
    /// The first of every namespace, with its share.
    first: BTreeSet<(u64, Turn, Option<Symbol>)>,
}

/// All units that can be tried.
#[derive(Default)]
pub(crate) struct Lanes {
    lanes: BTreeMap<Lane, Standing>,
    shares: Map<Symbol, u64>,
}

impl Lanes {
    pub(crate) fn insert(&mut self, (lane, tenant, turn): Spot, unit: UnitId) {
        let share = self.share(tenant);
        let standing = self.lanes.entry(lane).or_default();
        let units = standing.by_tenant.entry(tenant).or_default();
        let first = units.keys().next().copied();
        units.insert(turn, unit);
        if first.is_none_or(|first| turn < first) {
            first.iter().for_each(|first| {
                standing.first.remove(&(share, *first, tenant));
            });
            standing.first.insert((share, turn, tenant));
        }
    }

    pub(crate) fn remove(&mut self, (lane, tenant, turn): Spot) {
        let share = self.share(tenant);
        let standing = self.lanes.get_mut(&lane).expect("a unit stands in a lane");
        let units = standing.by_tenant.get_mut(&tenant).expect("a unit stands with its like");
        let is_first = units.keys().next() == Some(&turn);
        units.remove(&turn).expect("a unit stands where it was put");
        if is_first {
            standing.first.remove(&(share, turn, tenant));
            match units.keys().next() {
                Some(next) => {
                    standing.first.insert((share, *next, tenant));
                }
                None => {
                    standing.by_tenant.remove(&tenant);
                }
            }
        }
        if standing.by_tenant.is_empty() {
            self.lanes.remove(&lane);
        }
    }

    /// The unit whose turn it is.
    pub(crate) fn first(&self) -> Option<UnitId> {
        let standing = self.lanes.values().next()?;
        let (_, turn, tenant) = standing.first.first()?;
        standing.by_tenant.get(tenant)?.get(turn).copied()
    }

    /// Takes in what a namespace has of the cluster.
    pub(crate) fn set_share(&mut self, tenant: Symbol, share: u64) {
        let before = self.share(Some(tenant));
        if before == share {
            return;
        }
        self.shares.insert(tenant, share);
        let tenant = Some(tenant);
        for standing in self.lanes.values_mut() {
            let units = standing.by_tenant.get(&tenant);
            if let Some(turn) = units.and_then(|units| units.keys().next()) {
                standing.first.remove(&(before, *turn, tenant));
                standing.first.insert((share, *turn, tenant));
            }
        }
    }

    fn share(&self, tenant: Option<Symbol>) -> u64 {
        tenant.and_then(|tenant| self.shares.get(&tenant).copied()).unwrap_or(0)
    }
}
