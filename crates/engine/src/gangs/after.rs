//! Gangs that wait for others to end, and whether they wait for each other.

use std::collections::BTreeSet;

use model::{Chain, GANG_CHAIN_MAX, GangId, Reason};

use crate::Scheduler;

/// How many gangs of a cycle are named at its beginning, and how many at its end.
const SHOWN: (usize, usize) = (6, 3);
/// A cycle with so many entries may have others that are left out.
pub(crate) const CYCLE_SHOWN: usize = SHOWN.0 + 1 + SHOWN.1;

/// A gang on the way, with what it waits for.
struct Stop<'a> {
    name: &'a str,
    gang: GangId,
    next: std::slice::Iter<'a, Box<str>>,
    /// Whether no way that was followed from it leads back to where it passed.
    is_clear: bool,
}

impl Scheduler {
    /// The way from a gang back to itself, by what its pods wait for. Nothing if it is longer than
    /// chains are followed. What is found of gangs on the way is noted, so that the members of a
    /// chain do not follow it one by one.
    pub(super) fn cycle(&self, namespace: &str, from: &str, to: &str) -> Option<Reason> {
        let (catalog, revision) = (&self.catalog, self.catalog.after_revision());
        let mut path: Vec<Stop<'_>> = Vec::new();
        let mut seen = BTreeSet::new();
        let mut name = to;
        while name != from {
            catalog.look(1);
            let found = catalog.find_gang(namespace, name);
            let known = found.and_then(|gang| catalog.gang(gang).chain.get());
            match (found, known.filter(|(then, _)| *then == revision)) {
                (None, _) | (Some(_), Some((_, Chain::Clear))) => {}
                (Some(_), Some((_, Chain::Long))) => return None,
                (Some(gang), None) if seen.insert(gang) => {
                    let terms = catalog.gang(gang).terms.as_ref();
                    let next = terms.map_or(&[][..], |terms| &terms.after).iter();
                    path.push(Stop { name, gang, next, is_clear: true });
                }
                (Some(_), None) => mark_unclear(&mut path),
            }
            if seen.len() > GANG_CHAIN_MAX {
                // As much again is ahead of those in the first half.
                let (long, _) = path.split_at(path.len() / 2);
                let note = |stop: &Stop<'_>| catalog.note_chain(stop.gang, Chain::Long);
                long.iter().for_each(note);
                return None;
            }
            name = self.next_of(&mut path)?;
        }
        let between = path.into_iter().map(|stop| stop.name);
        let names: Vec<&str> = [from].into_iter().chain(between).chain([from]).collect();
        Some(Reason::AfterCycle(shown(&names)))
    }

    /// What is to be followed next; nothing if there is no other way.
    fn next_of<'a>(&'a self, path: &mut Vec<Stop<'a>>) -> Option<&'a str> {
        loop {
            let stop = path.last_mut()?;
            if let Some(next) = stop.next.next() {
                return Some(next);
            }
            let stop = path.pop()?;
            if stop.is_clear {
                self.catalog.note_chain(stop.gang, Chain::Clear);
            } else {
                mark_unclear(path);
            }
        }
    }
}

/// Notes that from the last gang on the way others lead back.
fn mark_unclear(path: &mut [Stop<'_>]) {
    path.last_mut().into_iter().for_each(|stop| stop.is_clear = false);
}

/// The names of a cycle, of which many are left out if there are many.
fn shown(names: &[&str]) -> Box<[Box<str>]> {
    let (first, last) = SHOWN;
    let Some(left_out) = names.len().checked_sub(first + last).filter(|left| *left > 1) else {
        return names.iter().map(|name| (*name).into()).collect();
    };
    let middle = [format!("({left_out} more)").into()];
    let own = |name: &&str| Box::<str>::from(*name);
    let (head, tail) = (&names[..first], &names[names.len() - last..]);
    head.iter().map(own).chain(middle).chain(tail.iter().map(own)).collect()
}
