//! The pods of a gang that live, by how far they are. They are counted as they come and go, so that
//! a question about a gang of thousands costs no more than one about a small gang.

use std::collections::{BTreeMap, BTreeSet};

use model::{GangClaim, PodFacts};

use super::fabric;
use super::ledger::Spot;

/// What a pod says of how close it must be to the others, and to whom it says so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Closeness {
    pub(super) scheduler: String,
    /// The level that it insists on, if it does; by its name, if it names one.
    pub(super) level: Option<Option<Box<str>>>,
}

impl Closeness {
    fn of(facts: &PodFacts) -> Self {
        Self { scheduler: facts.spec.scheduler.clone(), level: fabric::insists(facts) }
    }
}

/// Pods by uid.
type Uids = BTreeSet<Box<str>>;

#[derive(Default)]
pub(super) struct Members {
    pub(super) waiting: Uids,
    pub(super) sent: Uids,
    pub(super) bound: Uids,
    /// How many of them make others when they run.
    pub(super) makers: usize,
    /// How many of these wait.
    pub(super) makers_waiting: usize,
    /// What they say of the gang, each with how many say so.
    claims: BTreeMap<GangClaim, usize>,
    /// How close they must be to each other, each with how many say so.
    closeness: BTreeMap<Closeness, usize>,
    /// When those that wait were made, each with how many were.
    made: BTreeMap<i64, usize>,
    /// The same of when the others started, as far as that is known.
    started: BTreeMap<i64, usize>,
}

/// Counts one less.
fn discount<T: Ord>(counts: &mut BTreeMap<T, usize>, what: &T) {
    let count = counts.get_mut(what).expect("what is said of a member is counted");
    *count -= 1;
    if *count == 0 {
        counts.remove(what);
    }
}

impl Members {
    pub(super) fn add(&mut self, facts: &PodFacts, spot: &Spot) {
        self.at(spot).insert(facts.key.uid.clone());
        let makers = usize::from(makes_others(facts));
        self.makers += makers;
        self.makers_waiting += if *spot == Spot::Waiting { makers } else { 0 };
        let claim = facts.gang.as_deref().into_iter();
        claim.for_each(|claim| *self.claims.entry(claim.clone()).or_default() += 1);
        *self.closeness.entry(Closeness::of(facts)).or_default() += 1;
        if *spot == Spot::Waiting {
            *self.made.entry(facts.rest.created).or_default() += 1;
        } else if let Some(at) = facts.rest.started {
            *self.started.entry(at).or_default() += 1;
        }
    }

    pub(super) fn remove(&mut self, facts: &PodFacts, spot: &Spot) {
        self.at(spot).remove(&facts.key.uid);
        let makers = usize::from(makes_others(facts));
        self.makers -= makers;
        self.makers_waiting -= if *spot == Spot::Waiting { makers } else { 0 };
        if let Some(claim) = facts.gang.as_deref() {
            discount(&mut self.claims, claim);
        }
        discount(&mut self.closeness, &Closeness::of(facts));
        if *spot == Spot::Waiting {
            discount(&mut self.made, &facts.rest.created);
        } else if let Some(at) = &facts.rest.started {
            discount(&mut self.started, at);
        }
    }

    /// Whether one waits that was made after another one started.
    pub(super) fn has_successor(&self) -> bool {
        let (newest, started) = (self.made.last_key_value(), self.started.first_key_value());
        newest.zip(started).is_some_and(|((newest, _), (started, _))| newest > started)
    }

    fn at(&mut self, spot: &Spot) -> &mut Uids {
        match spot {
            Spot::Waiting => &mut self.waiting,
            Spot::Assumed(..) => &mut self.sent,
            Spot::Bound(_) => &mut self.bound,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.waiting.len() + self.sent.len() + self.bound.len()
    }

    /// All of them.
    pub(super) fn uids(&self) -> impl Iterator<Item = &str> {
        self.waiting.iter().chain(&self.sent).chain(&self.bound).map(|uid| &**uid)
    }

    /// The different things they say of the gang.
    pub(super) fn claims(&self) -> impl ExactSizeIterator<Item = &GangClaim> {
        self.claims.keys()
    }

    /// The different things they say of how close they must be.
    pub(super) fn closeness(&self) -> impl Iterator<Item = &Closeness> {
        self.closeness.keys()
    }
}

/// Whether a pod makes others of its gang.
pub(crate) fn makes_others(facts: &PodFacts) -> bool {
    facts.gang.as_ref().is_some_and(|claim| !claim.workers.is_empty())
}
