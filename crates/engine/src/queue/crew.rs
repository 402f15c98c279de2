//! The waiting pods of a gang that are tried together, and what follows from all of them: kept so
//! that a pod which comes or goes costs nothing for the others. Pods of a gang are mostly alike, so
//! that nothing is allocated for the first of a kind.

use std::collections::{BTreeMap, BTreeSet};

use model::{ClassId, Map, Millis, PodId, Symbol};

use super::unit::{Share, Standing};

/// What a pod adds to its unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Own {
    pub(crate) standing: Standing,
    pub(crate) class: ClassId,
    /// Its name, if it is kept out.
    pub(crate) gated: Option<Box<str>>,
}

/// Of how many pods what they add is found without hashing.
const FEW_MAX: usize = 16;

/// All pods of a unit.
#[derive(Default)]
pub(crate) struct Crew {
    few: Vec<(PodId, Own)>,
    /// Those beyond a few.
    others: Map<PodId, Own>,
    standings: Standings,
    classes: Counts<ClassId>,
    gated: BTreeSet<(Box<str>, PodId)>,
}

impl Crew {
    /// Forgets all pods, and keeps memory for others.
    pub(super) fn clear(&mut self) {
        self.few.clear();
        let few = std::mem::take(&mut self.few);
        *self = Self { few, ..Self::default() };
    }

    /// Adds a pod, or takes in what is different about it.
    pub(crate) fn set(&mut self, pod: PodId, own: Own) {
        let few = self.few.iter().find(|(other, _)| *other == pod).map(|(_, own)| own);
        if few.or_else(|| self.others.get(&pod)) == Some(&own) {
            return;
        }
        self.remove(pod);
        self.standings.add(own.standing);
        self.classes.add(own.class);
        self.gated.extend(own.gated.clone().map(|name| (name, pod)));
        if self.few.len() < FEW_MAX {
            self.few.push((pod, own));
        } else {
            self.others.insert(pod, own);
        }
    }

    pub(crate) fn remove(&mut self, pod: PodId) {
        let at = self.few.iter().position(|(other, _)| *other == pod);
        let few = at.map(|at| self.few.swap_remove(at).1);
        let Some(own) = few.or_else(|| self.others.remove(&pod)) else { return };
        self.standings.remove(own.standing);
        self.classes.remove(own.class);
        if let Some(name) = own.gated {
            self.gated.remove(&(name, pod));
        }
    }

    /// Where all of them stand together: no better than any of them.
    pub(crate) fn standing(&self) -> Option<Standing> {
        self.standings.joined()
    }

    /// How many are of a class.
    pub(crate) fn count(&self, class: ClassId) -> usize {
        self.classes.of(class)
    }

    /// Whether all are kept out.
    pub(crate) fn is_gated(&self) -> bool {
        self.gated.len() == self.few.len() + self.others.len()
    }

    /// The name of the first that is kept out.
    pub(crate) fn first_gated(&self) -> Option<&str> {
        self.gated.first().map(|(name, _)| &**name)
    }
}

/// Where the pods stand, each part of it with how many stand so.
#[derive(Default)]
struct Standings {
    ranks: Counts<i64>,
    boosts: Counts<i32>,
    /// Whose turns they take, if they take turns.
    sharing: Counts<Option<(Symbol, Millis)>>,
    ages: Counts<i64>,
    eligible: Counts<Option<i64>>,
}

impl Standings {
    fn add(&mut self, Standing { rank, boost, is_mending: _, sharing, alike: _ }: Standing) {
        self.ranks.add(rank);
        self.boosts.add(boost);
        self.sharing.add(sharing.map(turns));
        if let Some(Share { age, eligible, .. }) = sharing {
            self.ages.add(age);
            self.eligible.add(eligible);
        }
    }

    fn remove(&mut self, Standing { rank, boost, is_mending: _, sharing, alike: _ }: Standing) {
        self.ranks.remove(rank);
        self.boosts.remove(boost);
        self.sharing.remove(sharing.map(turns));
        if let Some(Share { age, eligible, .. }) = sharing {
            self.ages.remove(age);
            self.eligible.remove(eligible);
        }
    }

    fn joined(&self) -> Option<Standing> {
        let rank = self.ranks.last()?;
        let boost = self.boosts.first()?;
        // Whoever takes no turns stands for all.
        let turns = self.sharing.first()?;
        let age = self.ages.first();
        // A gang was not whole before its last pod could be placed.
        let is_known = self.eligible.of(None) == 0;
        let eligible = self.eligible.last().flatten().filter(|_| is_known);
        let sharing = turns.zip(age).map(|((tenant, starving_after), age)| Share {
            tenant,
            age,
            eligible,
            starving_after,
        });
        Some(Standing { rank, boost, is_mending: false, sharing, alike: None })
    }
}

/// How many pods have which value: one value beside the others, as mostly there is only one.
struct Counts<K> {
    one: Option<(K, usize)>,
    others: BTreeMap<K, usize>,
}

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self { one: None, others: BTreeMap::new() }
    }
}

impl<K: Copy + Ord> Counts<K> {
    fn add(&mut self, key: K) {
        match &mut self.one {
            Some((one, count)) if *one == key => *count += 1,
            // It may be among the others already.
            None if self.others.is_empty() => self.one = Some((key, 1)),
            Some(_) | None => *self.others.entry(key).or_default() += 1,
        }
    }

    fn remove(&mut self, key: K) {
        let count = match &mut self.one {
            Some((one, count)) if *one == key => {
                *count -= 1;
                if *count == 0 {
                    self.one = None;
                }
                return;
            }
            Some(_) | None => self.others.get_mut(&key),
        };
        let Some(count) = count else { return };
        *count -= 1;
        if *count == 0 {
            self.others.remove(&key);
        }
    }

    fn of(&self, key: K) -> usize {
        let one = self.one.filter(|(one, _)| *one == key).map(|(_, count)| count);
        one.or_else(|| self.others.get(&key).copied()).unwrap_or_default()
    }

    fn first(&self) -> Option<K> {
        let others = self.others.first_key_value().map(|(key, _)| *key);
        self.one.map(|(one, _)| one).into_iter().chain(others).min()
    }

    fn last(&self) -> Option<K> {
        let others = self.others.last_key_value().map(|(key, _)| *key);
        self.one.map(|(one, _)| one).into_iter().chain(others).max()
    }
}

fn turns(share: Share) -> (Symbol, Millis) {
    (share.tenant, share.starving_after)
}
