//! One process of the scheduler: an engine, its watches, and the account of what it was told.

use std::sync::Arc;

use engine::{Backoff, Scheduler, Shown};
use framework::Args;
use k8s::config::Settings;
use model::{Catalog, Decision, Event, Kind, Millis, Time};

use super::watch::Watch;
use crate::checkers::{
    Before, Ledger, Order, Patience, SeatFacts, Tiers, Violation, is_partial, is_partial_tree, laws,
};
use crate::world::{ByKind, WATCHED, place_of};

/// Tells replicas apart, dead ones included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ReplicaId(pub(super) u64);

/// A replica that lives.
pub(crate) struct Replica {
    pub(super) id: ReplicaId,
    pub(crate) scheduler: Scheduler,
    pub(crate) ledger: Ledger,
    /// How long gangs have been incomplete.
    pub(super) patience: Patience,
    /// What may have changed about the tiers of its pods since they were last looked at.
    pub(super) tiers: Tiers,
    /// What the order of its units depends on beyond the ledger.
    pub(super) order: Order,
    watches: ByKind<Watch>,
    /// Bindings that are out.
    pub(super) in_flight: usize,
}

impl Replica {
    pub(super) fn new(id: ReplicaId, settings: &Settings, seed: u64, kinds: &[Kind]) -> Self {
        let mut ledger = Ledger::new(names(settings), timeouts(settings));
        ledger.expect_aligning(super::inspect::aligning(settings));
        ledger.expect_picky(super::inspect::picky(settings));
        ledger.expect_spreading(super::inspect::spreading(settings));
        ledger.expect_tiers(laws(settings));
        ledger.expect_networked(super::inspect::networked(settings));
        let watch = |kind| if kinds.contains(&kind) { Watch::unlisted() } else { Watch::idle() };
        Self {
            id,
            scheduler: scheduler(settings, seed),
            ledger,
            patience: Patience::default(),
            tiers: Tiers::new(settings),
            order: Order::new(settings),
            watches: WATCHED.map(watch),
            in_flight: 0,
        }
    }

    /// Lets one unit have its turn, or none, and looks whether it is its turn if that is wanted.
    pub(super) fn step(
        &mut self,
        (now, budget): (Time, usize),
        is_inspected: bool,
        decisions: &mut Vec<Decision>,
    ) -> Result<(), Violation> {
        if !is_inspected {
            self.scheduler.step(now, budget, decisions);
            return Ok(());
        }
        let Self { scheduler, ledger, order, .. } = self;
        let mut kept = Ok(());
        scheduler.step_shown(now, budget, decisions, |scheduler, shown| {
            let looked = match shown {
                Shown::Tried(pods) => {
                    // What was reviewed before may have given up room, or kept some.
                    ledger.set_seats(seats(scheduler));
                    order.check(ledger, scheduler, pods, now)
                }
                Shown::Settled { pod, head } => {
                    order.check_settled(ledger, scheduler, [pod, head], now)
                }
            };
            if kept.is_ok() {
                kept = looked;
            }
        });
        kept
    }

    /// Shows the ledger for which pods room is kept that do not exist yet.
    pub(super) fn sync_seats(&mut self) {
        self.ledger.set_seats(seats(&self.scheduler));
    }

    /// Shows the ledger which room is not kept any more. What is new is kept after the pods of the
    /// same step are placed.
    pub(super) fn drop_seats(&mut self) {
        let mut before = self.ledger.seats().to_vec();
        let mut seats = seats(&self.scheduler);
        seats.retain(|seat| {
            let at = before.iter().position(|other| other == seat);
            at.map(|at| before.remove(at)).is_some()
        });
        self.ledger.set_seats(seats);
    }

    /// How things are before an event.
    pub(super) fn before(&self, event: &Event) -> Before {
        Before::of(&self.ledger, &self.scheduler, event)
    }

    /// What is wrong if an event cost too much; `more` is added to what it cost.
    pub(super) fn overworked(
        &self,
        before: &Before,
        event: &Event,
        more: u64,
    ) -> Option<Violation> {
        before.check(&self.ledger, &self.scheduler, event, more).err()
    }

    pub(super) fn watch(&mut self, kind: Kind) -> &mut Watch {
        &mut self.watches[place_of(kind)]
    }

    /// Whether no gang has a time that ends: it is complete, or nobody expects it to be.
    pub(super) fn is_at_rest(&self) -> bool {
        self.ledger.seats().is_empty()
            && !self.ledger.open_gangs().any(|(gang, _)| is_partial(&gang))
            && !self.ledger.open_trees().any(|(tree, ..)| is_partial_tree(&tree))
    }

    /// When a watch shows something next.
    pub(super) fn next_at(&self) -> Option<Time> {
        self.watches.iter().filter_map(Watch::next_at).min()
    }

    /// Whether every kind was listed.
    pub(super) fn is_synced(&self) -> bool {
        self.watches.iter().all(Watch::has_listed)
    }

    /// Whether everything up to these versions was shown.
    pub(super) fn has_seen(&self, versions: ByKind<u64>) -> bool {
        self.watches.iter().zip(versions).all(|(watch, version)| watch.seen() >= version)
    }

    /// The next event that is shown, if the time has come.
    pub(super) fn take_until(&mut self, to: Time) -> Option<Arc<Event>> {
        // The kind whose turn is earliest; of one time, nodes come before pods.
        let busy = self.watches.iter_mut().filter(|watch| watch.next_at().is_some());
        busy.min_by_key(|watch| watch.next_at())?.take_until(to)
    }
}

/// Room that is kept for pods which do not exist yet.
fn seats(scheduler: &Scheduler) -> Vec<SeatFacts> {
    let catalog = scheduler.catalog();
    let seats = scheduler.kept_room().map(|(gang, class, node)| {
        let gang = catalog.gang(gang);
        SeatFacts {
            gang: (gang.namespace.clone(), gang.name.clone()),
            node: catalog.node_name(node).into(),
            spec: catalog.class(class).spec.clone(),
        }
    });
    seats.collect()
}

/// Names of the profiles.
pub(crate) fn names(settings: &Settings) -> Vec<String> {
    settings.profiles.iter().map(|profile| profile.scheduler.clone()).collect()
}

/// How long pods of each profile wait for their volumes: ten minutes if it does not say.
fn timeouts(settings: &Settings) -> Vec<(String, Millis)> {
    let profiles = settings.profiles.iter();
    let timeouts = profiles.map(|profile| {
        let said = profile.args.iter().find_map(|(_, args)| {
            if let Args::VolumeBinding(args) = args { Some(args.bind_timeout) } else { None }
        });
        (profile.scheduler.clone(), said.unwrap_or(Millis::seconds(600)))
    });
    timeouts.collect()
}

/// A scheduler with these settings.
pub(crate) fn scheduler(settings: &Settings, seed: u64) -> Scheduler {
    let mut catalog = Catalog::default();
    let build = |profile| plugins::build(profile, &mut catalog);
    let profiles: Result<_, _> = settings.profiles.iter().map(build).collect();
    let profiles = profiles.expect("settings name only plugins that are built");
    let backoff = Backoff {
        initial: settings.initial_backoff,
        max: settings.max_backoff,
        ..Backoff::default()
    };
    let options = engine::Options { backoff, seed, ..Default::default() };
    let options = options.with_gangs(&settings.gang_args());
    Scheduler::new(catalog, profiles, options)
}
