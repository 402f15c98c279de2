//! Whose turn it is among the units that can be tried.
//!
//! Units of the same importance stand in one lane. In a lane the namespace that has the smallest
//! share of the cluster goes first, and in a namespace the oldest unit; so namespaces take turns,
//! however many units each has. Units of profiles without turns are one tenant together, which has
//! the share of all their pods: they neither pass everybody nor wait for everybody.
//!
//! Shares are kept for tenants that stand in a lane, and for nobody else: a cluster that grows
//! gives a new share to those who wait, not to every namespace there is.

use std::collections::{BTreeMap, BTreeSet};

use model::{Map, Moved, Tenant, Time, UnitId};

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
pub(crate) type Spot = (Lane, Tenant, Turn);

#[derive(Default)]
struct Standing {
    by_tenant: BTreeMap<Tenant, BTreeMap<Turn, UnitId>>,
    /// The first of every tenant, with its share.
    first: BTreeSet<(u64, Turn, Tenant)>,
}

/// A tenant that stands somewhere.
#[derive(Default)]
struct Row {
    share: u64,
    units: usize,
}

/// All units that can be tried.
#[derive(Default)]
pub(crate) struct Lanes {
    lanes: BTreeMap<Lane, Standing>,
    tenants: Map<Tenant, Row>,
    /// Tenants whose share was not asked for since they came, or since it may have changed.
    new: BTreeSet<Tenant>,
}

impl Lanes {
    pub(crate) fn insert(&mut self, (lane, tenant, turn): Spot, unit: UnitId) {
        let row = self.tenants.entry(tenant).or_default();
        row.units += 1;
        if row.units == 1 {
            self.new.insert(tenant);
        }
        let share = row.share;
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
        let row = self.tenants.get_mut(&tenant).expect("who stands in a lane is known");
        let share = row.share;
        row.units -= 1;
        if row.units == 0 {
            self.tenants.remove(&tenant);
            self.new.remove(&tenant);
        }
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

    /// The unit whose turn it is, once all shares are known.
    pub(crate) fn first(&self) -> Option<UnitId> {
        let standing = self.lanes.values().next()?;
        let (_, turn, tenant) = standing.first.first()?;
        standing.by_tenant.get(tenant)?.get(turn).copied()
    }

    /// Takes in what tenants have of the cluster; asks for those who stand here and whose share
    /// may be another one.
    pub(crate) fn set_shares(&mut self, moved: Moved, share: impl Fn(Tenant) -> u64) {
        let mut unknown: BTreeSet<Tenant> = match moved {
            Moved::All => self.tenants.keys().copied().collect(),
            Moved::Some(moved) => moved,
        };
        unknown.append(&mut self.new);
        unknown.retain(|tenant| self.tenants.contains_key(tenant));
        // Who has nobody to take turns with is asked once somebody comes.
        if self.tenants.len() < 2 {
            self.new = unknown;
            return;
        }
        for tenant in unknown {
            self.set_share(tenant, share(tenant));
        }
    }

    fn set_share(&mut self, tenant: Tenant, share: u64) {
        let row = self.tenants.get_mut(&tenant).expect("a tenant that stands here");
        let before = std::mem::replace(&mut row.share, share);
        if before == share {
            return;
        }
        for standing in self.lanes.values_mut() {
            let units = standing.by_tenant.get(&tenant);
            if let Some(turn) = units.and_then(|units| units.keys().next()) {
                standing.first.remove(&(before, *turn, tenant));
                standing.first.insert((share, *turn, tenant));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use model::Symbols;

    use super::*;

    const LANE: Lane = Lane { rank: 0, urgency: Urgency::Waits, handicap: 0 };

    fn turn(arrival: u64) -> Turn {
        Turn { age: 0, since: Time::default(), arrival }
    }

    #[test]
    fn shares_are_asked_for_tenants_that_stand_in_a_lane() {
        let mut symbols = Symbols::default();
        let mut tenant = |name: &str| Tenant::Namespace(symbols.hold(name));
        let (a, b, gone) = (tenant("a"), tenant("b"), tenant("gone"));
        let mut lanes = Lanes::default();
        lanes.insert((LANE, a, turn(0)), UnitId::at(0));
        lanes.insert((LANE, b, turn(1)), UnitId::at(1));
        let asked = Cell::new(0);
        let share = |tenant: Tenant| {
            asked.set(asked.get() + 1);
            if tenant == a { 5 } else { 3 }
        };
        lanes.set_shares(Moved::Some([gone, b].into()), share);
        assert_eq!((asked.take(), lanes.first()), (2, Some(UnitId::at(1))));
        lanes.set_shares(Moved::Some([gone].into()), share);
        assert_eq!(asked.take(), 0);
        lanes.set_shares(Moved::All, share);
        assert_eq!(asked.take(), 2);
        // One has nobody to take turns with, until another one comes.
        lanes.remove((LANE, b, turn(1)));
        lanes.set_shares(Moved::All, share);
        assert_eq!((asked.take(), lanes.first()), (0, Some(UnitId::at(0))));
        lanes.set_shares(Moved::Some(BTreeSet::new()), share);
        lanes.insert((LANE, b, turn(2)), UnitId::at(2));
        lanes.set_shares(Moved::Some(BTreeSet::new()), share);
        assert_eq!((asked.take(), lanes.first()), (2, Some(UnitId::at(2))));
        lanes.remove((LANE, b, turn(2)));
        lanes.remove((LANE, a, turn(0)));
        assert!(lanes.tenants.is_empty() && lanes.new.is_empty());
    }
}
