//! The waiting pods of a gang that are tried together, and what follows from all of them: kept so
//! that a pod which comes or goes costs nothing for the others.

use std::collections::{BTreeMap, BTreeSet};

use model::{ClassId, Map, PodId};

use super::unit::Standing;

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
    standings: BTreeMap<Standing, usize>,
    classes: BTreeMap<ClassId, usize>,
    gated: BTreeSet<(Box<str>, PodId)>,
    /// Where all of them stand together; worked out anew once the last that stood somewhere is
    /// gone.
    joined: Option<Standing>,
}

impl Crew {
    /// Adds a pod, or takes in what is different about it.
    pub(crate) fn set(&mut self, pod: PodId, own: Own) {
        if self.pods.get(&pod) == Some(&own) {
            return;
        }
        self.remove(pod);
        if let Some(joined) = &mut self.joined {
            joined.join(own.standing);
        } else if self.pods.is_empty() {
            self.joined = Some(own.standing);
        }
        *self.standings.entry(own.standing).or_default() += 1;
        *self.classes.entry(own.class).or_default() += 1;
        self.gated.extend(own.gated.clone().map(|name| (name, pod)));
        self.pods.insert(pod, own);
    }

    pub(crate) fn remove(&mut self, pod: PodId) {
        let Some(own) = self.pods.remove(&pod) else { return };
        if uncount(&mut self.standings, own.standing) {
            self.joined = None;
        }
        uncount(&mut self.classes, own.class);
        if let Some(name) = own.gated {
            self.gated.remove(&(name, pod));
        }
    }

    /// Where all of them stand together.
    pub(crate) fn standing(&mut self) -> Option<Standing> {
        if self.joined.is_none() {
            self.joined = self.standings.keys().copied().reduce(|mut joined, other| {
                joined.join(other);
                joined
            });
        }
        self.joined
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

/// Counts one less; tells whether none is left.
fn uncount<K: Ord>(counts: &mut BTreeMap<K, usize>, key: K) -> bool {
    let Some(count) = counts.get_mut(&key) else { return false };
    *count -= 1;
    let is_over = *count == 0;
    if is_over {
        counts.remove(&key);
    }
    is_over
}
