//! Every unit on its way comes to an end: it is bound once it has all it needs, or is taken back
//! when its time is over, and is tried again then.

use std::collections::BTreeMap;

use model::{Millis, Time, Write};

use super::super::Violation;
use super::super::ledger::{Given, Ledger};
use super::given::wrong;
use super::{is_bound, is_near};

/// How long it may take until a pod whose time was over is tried again.
const TRIED_AGAIN: Millis = Millis::seconds(60);

/// Since when units have had all that they need written, and pods wait to be tried again.
#[derive(Default)]
pub(crate) struct Ends {
    written: BTreeMap<u64, Time>,
    timed_out: BTreeMap<Box<str>, Time>,
}

impl Ends {
    /// Looks at everybody on his way. A scheduler that has something to do may do it yet.
    pub(in crate::checkers) fn check(
        &mut self,
        ledger: &Ledger,
        now: Time,
        is_idle: bool,
    ) -> Result<(), Violation> {
        let storage = ledger.storage();
        let mut written = BTreeMap::new();
        for (number, pods) in storage.commits() {
            if !pods.iter().all(|given| given.is_written) {
                continue;
            }
            let since = self.written.get(&number).copied().unwrap_or(now);
            written.insert(number, since);
            let Some(first) = pods.first().filter(|_| is_idle) else { continue };
            if pods.iter().all(|given| is_ready(ledger, given)) {
                let why = "it has all it needs, and is not bound".to_owned();
                return Err(wrong(ledger, &first.uid, why));
            }
            let timeout = pods.iter().filter_map(|given| timeout(ledger, &given.uid)).max();
            if timeout.is_some_and(|timeout| since + timeout <= now) {
                let waits = now.0 - since.0;
                let why = format!("it waits for its volumes for {waits} ms, which is too long");
                return Err(wrong(ledger, &first.uid, why));
            }
        }
        self.written = written;
        // A gang may have to wait for its pods.
        let is_alone =
            |uid: &&str| ledger.pod(uid).is_some_and(|known| known.facts().gang.is_none());
        match self.overdue(storage.timed_out().filter(is_alone), now) {
            Some(uid) if is_idle => {
                let why = "its volumes did not come in time, and it is not tried again".to_owned();
                Err(wrong(ledger, &uid, why))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// A pod that should have been tried again, of those whose time was over.
    fn overdue<'a>(
        &mut self,
        timed_out: impl Iterator<Item = &'a str>,
        now: Time,
    ) -> Option<Box<str>> {
        let before = std::mem::take(&mut self.timed_out);
        let since = |uid: &'a str| (uid.into(), before.get(uid).copied().unwrap_or(now));
        self.timed_out = timed_out.map(since).collect();
        let overdue = self.timed_out.iter().find(|(_, since)| **since + TRIED_AGAIN <= now);
        overdue.map(|(uid, _)| uid.clone())
    }
}

fn timeout(ledger: &Ledger, uid: &str) -> Option<Millis> {
    let facts = ledger.pod(uid)?.facts();
    ledger.storage().timeout(&facts.spec.scheduler)
}

/// Whether a pod can be bound: all its claims have the volumes they were to get.
fn is_ready(ledger: &Ledger, given: &Given) -> bool {
    let storage = ledger.storage();
    let Some((node, _)) = ledger.node(&given.node) else { return false };
    // What is known may be older than what was written.
    let is_known = |(write, version): (&Write, &u64)| {
        let known = match write {
            Write::BindVolume { volume, .. } => storage.volume(volume).map(|it| &it.version),
            Write::SelectNode { claim, .. } => storage.claim(&claim.key()).map(|it| &it.version),
        };
        known.and_then(|known| known.parse::<u64>().ok()) >= Some(*version)
    };
    if !given.writes.iter().zip(&given.versions).all(is_known) {
        return false;
    }
    given.all().all(|(key, uid, volume)| {
        let claim = storage.claim(key).filter(|claim| *claim.uid == *uid && is_bound(claim));
        let Some(claim) = claim else { return false };
        let got = storage.volume(volume.unwrap_or(&claim.volume));
        let is_said = match volume {
            Some(_) => got.and_then(|got| got.claim.as_ref()).is_some_and(|to| to.uid == claim.uid),
            None => claim.selected_node.as_deref() == Some(&*given.node),
        };
        is_said && got.is_some_and(|got| is_near(got, node))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_that_is_not_tried_again_in_time_is_overdue() {
        let mut ends = Ends::default();
        let late = Time(1_000) + TRIED_AGAIN;
        assert_eq!(ends.overdue(["a"].into_iter(), Time(1_000)), None);
        assert_eq!(ends.overdue(["a", "b"].into_iter(), Time(late.0 - 1)), None);
        assert_eq!(ends.overdue(["a", "b"].into_iter(), late), Some("a".into()));
        assert_eq!(ends.overdue(["b"].into_iter(), late), None);
        assert_eq!(ends.overdue(["a", "b"].into_iter(), late), None);
    }
}
