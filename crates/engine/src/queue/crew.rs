//! The waiting pods of a gang that are tried together, and what follows from all of them: kept so
//! that a pod which comes or goes costs nothing for the others.

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

/// All pods of a unit.
#[derive(Default)]
pub(crate) struct Crew {
    pods: Map<PodId, Own>,
    standings: Standings,
    classes: BTreeMap<ClassId, usize>,
    gated: BTreeSet<(Box<str>, PodId)>,
}

impl Crew {
    /// Adds a pod, or takes in what is different about it.
    pub(crate) fn set(&mut self, pod: PodId, own: Own) {
        if self.pods.get(&pod) == Some(&own) {
            return;
        }
        self.remove(pod);
        self.standings.add(own.standing);
        *self.classes.entry(own.class).or_default() += 1;
        self.gated.extend(own.gated.clone().map(|name| (name, pod)));
        self.pods.insert(pod, own);
    }

    pub(crate) fn remove(&mut self, pod: PodId) {
        let Some(own) = self.pods.remove(&pod) else { return };
        self.standings.remove(own.standing);
        uncount(&mut self.classes, own.class);
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
        self.classes.get(&class).copied().unwrap_or_default()
    }

    /// Whether all are kept out.
    pub(crate) fn is_gated(&self) -> bool {
        self.gated.len() == self.pods.len()
    }

    /// The name of the first that is kept out.
    pub(crate) fn first_gated(&self) -> Option<&str> {
        self.gated.first().map(|(name, _)| &**name)
    }
}

/// Where the pods stand, each part of it with how many stand so.
#[derive(Default)]
struct Standings {
    ranks: BTreeMap<i64, usize>,
    boosts: BTreeMap<i32, usize>,
    /// Whose turns they take, if they take turns.
    sharing: BTreeMap<Option<(Symbol, Millis)>, usize>,
    ages: BTreeMap<i64, usize>,
    eligible: BTreeMap<Option<i64>, usize>,
}

impl Standings {
    fn add(&mut self, Standing { rank, boost, is_mending: _, sharing, alike: _ }: Standing) {
        *self.ranks.entry(rank).or_default() += 1;
        *self.boosts.entry(boost).or_default() += 1;
        *self.sharing.entry(sharing.map(turns)).or_default() += 1;
        if let Some(Share { age, eligible, .. }) = sharing {
            *self.ages.entry(age).or_default() += 1;
            *self.eligible.entry(eligible).or_default() += 1;
        }
    }

    fn remove(&mut self, Standing { rank, boost, is_mending: _, sharing, alike: _ }: Standing) {
        uncount(&mut self.ranks, rank);
        uncount(&mut self.boosts, boost);
        uncount(&mut self.sharing, sharing.map(turns));
        if let Some(Share { age, eligible, .. }) = sharing {
            uncount(&mut self.ages, age);
            uncount(&mut self.eligible, eligible);
        }
    }

    fn joined(&self) -> Option<Standing> {
        let (rank, _) = self.ranks.last_key_value()?;
        let (boost, _) = self.boosts.first_key_value()?;
        // Whoever takes no turns stands for all.
        let (turns, _) = self.sharing.first_key_value()?;
        let age = self.ages.first_key_value().map(|(age, _)| *age);
        // A gang was not whole before its last pod could be placed.
        let is_known = !self.eligible.contains_key(&None);
        let last = self.eligible.last_key_value().and_then(|(last, _)| *last);
        let eligible = last.filter(|_| is_known);
        let sharing = turns.zip(age).map(|((tenant, starving_after), age)| Share {
            tenant,
            age,
            eligible,
            starving_after,
        });
        Some(Standing { rank: *rank, boost: *boost, is_mending: false, sharing, alike: None })
    }
}

fn turns(share: Share) -> (Symbol, Millis) {
    (share.tenant, share.starving_after)
}

/// Counts one less.
fn uncount<K: Ord>(counts: &mut BTreeMap<K, usize>, key: K) {
    let Some(count) = counts.get_mut(&key) else { return };
    *count -= 1;
    if *count == 0 {
        counts.remove(&key);
    }
}
