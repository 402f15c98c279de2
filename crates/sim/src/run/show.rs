//! What replicas are shown: every change, sooner or later, and a list of everything after a cut.

use std::sync::Arc;

use model::{
    Event, Fact, Kind, Millis, PersistentVolumeFacts, PodFacts, StorageFacts, StorageKind,
    VolumeSource,
};

use super::replica::ReplicaId;
use super::{Doing, Run};
use crate::world::{Change, place_of};

/// How long after a cut everything is listed, at least and at most.
const RELISTS: (u64, u64) = (100, 5_000);

impl Run {
    pub(super) fn cut(&mut self, id: ReplicaId, kind: Kind) {
        // The replica may have died since, watches and all.
        let Some(replica) = self.replicas.iter_mut().find(|replica| replica.id == id) else {
            return;
        };
        replica.watch(kind).cut();
        self.world.happened_mut().cuts += 1;
        let at = self.world.now() + Millis(self.dice.between(RELISTS.0, RELISTS.1));
        self.agenda.add(at, Doing::Lists(id, kind));
        self.expect_cut(id);
    }

    /// Sends a list of everything on its way. If the server fails while it lists, a part may have
    /// been shown, and everything is listed again later.
    pub(super) fn list(&mut self, id: ReplicaId, kind: Kind) {
        // What changed before is in the list.
        self.spread();
        let at = self.world.now() + self.shown_after();
        let version = self.versions[place_of(kind)];
        let mut events = self.world.list(kind);
        let is_broken = self.chance(self.faults.broken_list_percent);
        if is_broken {
            let shown = self.dice.between(0, events.len() as u64 - 1);
            // Below the length, so it fits.
            events.truncate(shown as usize);
        }
        // The replica may have died since.
        let Some(replica) = self.replicas.iter_mut().find(|replica| replica.id == id) else {
            return;
        };
        if !is_broken {
            return replica.watch(kind).list(events, version, at);
        }
        replica.watch(kind).list_part(events, at);
        self.world.happened_mut().lists_broken += 1;
        let again = self.world.now() + Millis(self.dice.between(RELISTS.0, RELISTS.1));
        self.agenda.add(again, Doing::Lists(id, kind));
    }

    /// Sends what changed on its way to every replica.
    fn spread(&mut self) {
        let mut changes = std::mem::take(&mut self.changes);
        self.world.take_changes(&mut changes);
        let now = self.world.now();
        for Change { kind, event } in changes.drain(..) {
            self.versions[place_of(kind)] += 1;
            for at in 0..self.replicas.len() {
                let shown = now + self.shown_after();
                let version = self.versions[place_of(kind)];
                self.replicas[at].watch(kind).send(event.clone(), version, shown);
            }
        }
        self.changes = changes;
    }

    fn shown_after(&mut self) -> Millis {
        let (low, high) = self.faults.watch;
        Millis(if low == high { low.0 } else { self.dice.between(low.0, high.0) })
    }

    /// Shows every replica what has come for it.
    pub(super) fn show(&mut self) {
        self.spread();
        let now = self.world.now();
        for at in 0..self.replicas.len() {
            while let Some(event) = self.replicas[at].take_until(now) {
                self.deliver(at, &event);
            }
        }
    }

    /// What rules are held against: labels make no gang where the profile does not read them, and
    /// where a driver took over from a plugin it says itself where a volume can be used.
    fn counted(&self, event: &Arc<Event>) -> Arc<Event> {
        // Of what drivers say of a whole cluster the rules do not know all.
        if self.is_cluster
            && let Some(kind) = driver_kind(event)
        {
            return Arc::new(Event::gone(kind, ""));
        }
        if let Event::Seen(Fact::Storage(facts)) = &**event
            && let StorageFacts::Volume(volume) = &**facts
            && matches!(volume.source, VolumeSource::InTree(_))
        {
            let volume = PersistentVolumeFacts { affinity: None, ..volume.clone() };
            return Arc::new(Event::seen(StorageFacts::Volume(volume)));
        }
        let Event::Seen(Fact::Pod(facts)) = &**event else { return event.clone() };
        let mut profiles = self.settings.profiles.iter();
        let profile = profiles.find(|profile| profile.scheduler == facts.spec.scheduler);
        match &facts.gang {
            Some(claim) if profile.is_some_and(|one| !plugins::reads_gang_keys(one)) => {
                let gang = claim.native().map(Arc::new);
                let facts = PodFacts { gang, ..(**facts).clone() };
                Arc::new(Event::seen(facts))
            }
            Some(_) | None => event.clone(),
        }
    }

    pub(super) fn deliver(&mut self, at: usize, event: &Arc<Event>) {
        let now = self.world.now();
        let counted = self.counted(event);
        let replica = &mut self.replicas[at];
        let before = self.inspector.as_ref().map(|_| replica.before(&counted));
        replica.ledger.apply(&counted);
        if self.inspector.is_some() {
            replica.tiers.note(event);
            replica.order.note(event, now);
        }
        #[cfg(test)]
        if let Some(saboteur) = &mut self.saboteur {
            if let Some(event) = saboteur.event(event) {
                replica.scheduler.apply(&event, now);
            }
            replica.sync_seats();
            let more = saboteur.looks(&replica.ledger);
            let overworked = before.and_then(|before| replica.overworked(&before, &counted, more));
            self.overworked = self.overworked.take().or(overworked);
            return;
        }
        replica.scheduler.apply(event, now);
        replica.sync_seats();
        let overworked = before.and_then(|before| replica.overworked(&before, &counted, 0));
        self.overworked = self.overworked.take().or(overworked);
    }
}

/// The kind of an event about what drivers say of themselves, of nodes and of what is left.
fn driver_kind(event: &Event) -> Option<Kind> {
    let kind = match event {
        Event::Seen(fact) => fact.kind(),
        Event::Gone(key) => key.kind,
        Event::Listed(kind, _) => *kind,
        Event::Outcome(_) => return None,
    };
    let Kind::Storage(sort) = kind else { return None };
    match sort {
        StorageKind::Volume | StorageKind::Claim | StorageKind::Class => None,
        StorageKind::CsiNode
        | StorageKind::CsiDriver
        | StorageKind::Capacity
        | StorageKind::Attachment => Some(kind),
    }
}
