//! Who is tried before whom, held against what was delivered. Whenever a unit has its turn, every
//! other unit that could have had it is one that goes after it, or one of which that cannot be
//! said. Units that are told what was found for another one have no turn of their own: they could
//! have had it, and nothing that decides about nodes tells them from the one that was tried.
//!
//! A unit is a pod, a gang or a gang of gangs, and is tried whole. Where gangs of gangs are not as
//! they may be (too deep, parts of each other, with parts that contradict themselves), or have pods
//! that make others, neither is looked at; nor since when parts of one wait, which counts where
//! units take no turns.
//!
//! Only who can be tried at all, and who waits for something else, is asked of the engine. How the
//! units are made up, where each of them stands and what namespaces have of the cluster follows
//! from the ledger and from what is noted here of deliveries and tries.

mod shares;
mod standing;
mod unit;

use std::collections::BTreeSet;

use engine::{Place, Scheduler};
use k8s::config::Settings;
use model::{Event, Fact, Key, Kind, Map, PodFacts, PodId, Present, Time};

use self::shares::Shares;
use self::standing::Rules;
use self::unit::Unit;
use super::Violation;
use super::kinds::is_alike;
use super::ledger::{Known, Ledger};
use super::roster::{GangKey, gang_of};

/// How many pods may be looked at per try: of large crowds not every try is looked at.
const LOOKS_PER_TRY: usize = 64;

/// What is noted of a pod beyond the ledger.
#[derive(Clone, Copy, Debug, Default)]
struct Noted {
    /// When it was last tried, or else first heard of: it waits for its turn since then, or later.
    back: Time,
    /// When it could be tried, if it was not heard of, nor tried, since: it waits for its turn
    /// since then, or longer.
    ready: Option<Time>,
    /// When it was first heard of without gates.
    free: Option<Time>,
}

/// What the order depends on beyond the ledger.
pub(crate) struct Order {
    rules: Vec<Rules>,
    /// By uid.
    pods: Map<Box<str>, Noted>,
    /// When an object about gangs was last delivered: their units may have been made anew.
    objects: Time,
    looks: usize,
}

impl Order {
    pub(crate) fn new(settings: &Settings) -> Self {
        let rules = settings.profiles.iter().map(Rules::of).collect();
        Self { rules, pods: Map::default(), objects: Time::default(), looks: 0 }
    }

    /// Takes in that an event is delivered.
    pub(crate) fn note(&mut self, event: &Event, now: Time) {
        match event {
            Event::Seen(Fact::Pod(facts)) if facts.is_finished => {
                _ = self.pods.remove(&facts.key.uid)
            }
            Event::Seen(Fact::Pod(facts)) => self.heard(facts, now),
            Event::Gone(Key { kind: Kind::Pod, name: uid }) => _ = self.pods.remove(uid),
            Event::Listed(Kind::Pod, Present::Names(uids)) => {
                self.pods.retain(|uid, _| uids.contains(uid));
            }
            Event::Seen(Fact::PodGroup(_) | Fact::Succeeded(_))
            | Event::Gone(Key { kind: Kind::PodGroup(_) | Kind::Succeeded, .. })
            | Event::Listed(Kind::PodGroup(_) | Kind::Succeeded, _) => self.objects = now,
            Event::Seen(_) | Event::Gone(_) | Event::Listed(..) | Event::Outcome(_) => {}
        }
    }

    fn heard(&mut self, facts: &PodFacts, now: Time) {
        let is_free = facts.rest.gates.is_empty();
        match self.pods.get_mut(&facts.key.uid) {
            Some(noted) => {
                noted.ready = None;
                noted.free = noted.free.or(is_free.then_some(now));
            }
            None => {
                // A pod by itself can be tried at once.
                let ready = Some(now).filter(|_| is_free && facts.gang.is_none());
                let noted = Noted { back: now, ready, free: is_free.then_some(now) };
                self.pods.insert(facts.key.uid.clone(), noted);
            }
        }
    }

    /// Looks whether it is the turn of a unit that is about to be tried.
    pub(crate) fn check(
        &mut self,
        ledger: &Ledger,
        scheduler: &Scheduler,
        tried: &[PodId],
        now: Time,
    ) -> Result<(), Violation> {
        self.looks += LOOKS_PER_TRY;
        let catalog = scheduler.catalog();
        let uids: BTreeSet<&str> = tried.iter().map(|pod| &*catalog.pod(*pod).key.uid).collect();
        let kept = if self.looks < ledger.waiting_count() {
            Ok(())
        } else {
            self.looks = 0;
            self.look(ledger, scheduler, &uids, now)
        };
        for uid in uids {
            if let Some(noted) = self.pods.get_mut(uid) {
                (noted.back, noted.ready) = (now, None);
            }
        }
        kept
    }

    /// Looks whether a pod may be told what was found for another one, which was just tried.
    pub(crate) fn check_settled(
        &mut self,
        ledger: &Ledger,
        scheduler: &Scheduler,
        [pod, head]: [PodId; 2],
        now: Time,
    ) -> Result<(), Violation> {
        let known = |pod: PodId| ledger.pod(&scheduler.catalog().pod(pod).key.uid);
        let is_ready = scheduler.place_of(pod) == Some(Place::Active);
        // Whether pods are lost is looked at elsewhere.
        let Some((pod, head)) = known(pod).zip(known(head)) else { return Ok(()) };
        if let Some(noted) = self.pods.get_mut(&pod.facts().key.uid) {
            (noted.back, noted.ready) = (now, None);
        }
        let is_alone = |known| !Unit::of(ledger, known).is_gathered();
        let why = if !is_ready {
            "it could not have been tried"
        } else if !is_alone(pod) || !is_alone(head) {
            "pods of a gang are tried together"
        } else if pod.proposed.is_some() || head.proposed.is_some() {
            "a node is proposed for one of them"
        } else if !is_alike(pod.facts(), head.facts()) {
            "they are not alike"
        } else {
            return Ok(());
        };
        let name = |known: &Known| known.facts().key.name.to_string();
        Err(Violation::Line { pod: name(pod), head: name(head), why })
    }

    fn look(
        &mut self,
        ledger: &Ledger,
        scheduler: &Scheduler,
        uids: &BTreeSet<&str>,
        now: Time,
    ) -> Result<(), Violation> {
        let first = uids.first().and_then(|uid| ledger.pod(uid));
        // Whether pods are lost is looked at elsewhere.
        let Some(first) = first else { return Ok(()) };
        let unit = Unit::of(ledger, first);
        unit.check_tried(uids)?;
        let Some(tried) = self.standing(ledger, &unit, now) else { return Ok(()) };
        let shares = Shares::new(ledger, &self.rules);
        let catalog = scheduler.catalog();
        let mut gangs: BTreeSet<GangKey> = BTreeSet::new();
        for (uid, facts) in ledger.waiting() {
            let place = catalog.find_pod(uid).and_then(|pod| scheduler.place_of(pod));
            let is_ready = place == Some(Place::Active);
            if let Some(noted) = self.pods.get_mut(uid) {
                noted.ready = is_ready.then(|| noted.ready.unwrap_or(now));
            }
            let Some(known) = ledger.pod(uid).filter(|_| is_ready) else { continue };
            if gang_of(facts).is_some_and(|gang| gangs.contains(&gang)) {
                continue;
            }
            let unit = Unit::of(ledger, known);
            gangs.extend(unit.gathered());
            let Some(other) = self.standing(ledger, &unit, now) else { continue };
            if let Some(why) = other.goes_before(&tried, &shares) {
                let (tried, first) = (tried.name(), other.name());
                return Err(Violation::Order { tried, first, why });
            }
        }
        Ok(())
    }
}
