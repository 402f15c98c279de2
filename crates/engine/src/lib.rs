//! Mechanism: events in, decisions out, time passed as an argument.
//!
//! [`Scheduler::apply`] takes in what happened, [`Scheduler::step`] decides about the units whose
//! turn it is. One thread owns all of it. The engine knows no plugin by name and no API: it asks
//! the questions of `framework` and speaks in the ids of `model`.

mod apply;
mod arrange;
mod board;
mod checkpoint;
mod commits;
mod cycle;
mod evictions;
mod explain;
mod gangs;
mod lanes;
mod lines;
mod peaks;
mod preempt;
mod profiles;
mod queue;
mod rescue;
mod screen;
mod tally;
mod trial;
mod wake;

pub use checkpoint::{
    Checkpoint, CommitEntry, GangEntry, GangName, MemberEntry, NodePlace, PodEntry, ResumeError,
    UnitEntry, UnitPlace,
};
pub use evictions::Purpose;
pub use explain::{JudgedPreemption, Judgement, Merits, NodeJudgement};
pub use queue::{Backoff, Place, QueueCounts};

use std::cell::RefCell;

use framework::{CoschedulingArgs, Profile};
use model::{
    Attempt, Catalog, ClassId, Decision, Event, GangId, Millis, Moment, NodeId, OnPartialFailure,
    PodId, PodSpec, Time, Usage,
};
use serde::{Deserialize, Serialize};

use board::Boards;
use commits::Commits;
use evictions::Evictions;
use gangs::Gangs;
use profiles::Profiles;
use queue::Queue;

/// Choices that hold for all profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// How long units wait after failures.
    pub backoff: Backoff,
    /// Decides between nodes that are equally good, together with the pod's uid.
    pub seed: u64,
    /// For how long a gang may have some of its pods on nodes without the others, unless it says
    /// so itself.
    pub permit_timeout: Millis,
    /// How often a pod of a gang whose binding is refused is tried elsewhere at once.
    pub bind_retries: u32,
    /// What becomes of a gang that is not whole in time.
    pub on_partial_failure: OnPartialFailure,
    /// How long room is kept for pods that another one is to make.
    pub room_kept: Millis,
    /// How many bytes of results per node are kept over all classes, where there are up to 32,768
    /// nodes; as much more where there are more. What is beyond it is worked out anew whenever it
    /// is needed.
    #[serde(alias = "totals_max")]
    pub board_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            backoff: Backoff::default(),
            seed: 0,
            board_bytes_max: 16 << 20,
            permit_timeout: Millis(0),
            bind_retries: 0,
            on_partial_failure: OnPartialFailure::default(),
            room_kept: Millis(0),
        }
        .with_gangs(&CoschedulingArgs::default())
    }
}

impl Options {
    /// The same with what arguments say of gangs.
    #[must_use]
    pub fn with_gangs(self, args: &CoschedulingArgs) -> Self {
        let CoschedulingArgs {
            permit_timeout, bind_retries, on_partial_failure, room_kept, ..
        } = *args;
        Self { permit_timeout, bind_retries, on_partial_failure, room_kept, ..self }
    }
}

/// Who is about to be decided about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown<'a> {
    /// The pods of a unit that has its turn.
    Tried(&'a [PodId]),
    /// A pod that is told what was found for another one that is alike, which was just tried.
    Settled {
        /// Which pod.
        pod: PodId,
        /// The one that was tried.
        head: PodId,
    },
}

/// A scheduler for any number of profiles that share one cluster.
pub struct Scheduler {
    catalog: Catalog,
    usage: Usage,
    profiles: Vec<Profile>,
    queue: Queue,
    boards: Boards,
    attempt: Attempt,
    seed: u64,
    options: Options,
    gangs: Gangs,
    commits: Commits,
    evictions: Evictions,
    tries: u64,
    /// Read wherever a unit gets its place, and filled there.
    workloads: RefCell<Profiles>,
}

impl Scheduler {
    /// A scheduler that knows nothing yet. `catalog` is the one the profiles were made with.
    #[must_use]
    pub fn new(mut catalog: Catalog, profiles: Vec<Profile>, options: Options) -> Self {
        let without_turns = profiles.iter().filter(|profile| profile.order.sharing().is_none());
        let without_turns: Box<[String]> =
            without_turns.map(|profile| profile.scheduler.clone()).collect();
        let are_all = without_turns.len() == profiles.len();
        catalog.set_without_turns(without_turns, are_all);
        Self {
            catalog,
            usage: Usage::default(),
            profiles,
            queue: Queue::new(options.backoff),
            boards: Boards::new(options.board_bytes_max),
            attempt: Attempt::default(),
            seed: options.seed,
            options,
            gangs: Gangs::default(),
            commits: Commits::default(),
            evictions: Evictions::default(),
            tries: 0,
            workloads: RefCell::default(),
        }
    }

    /// Takes in one event, at this time, and at this time of the clock on the wall, by which the
    /// API server says when pods were made.
    pub fn apply(&mut self, event: &Event, now: impl Into<Moment>) {
        let moment = now.into();
        self.queue.clock = moment.into();
        self.catalog.forget_unheld_resources();
        self.take_in(event, moment.at);
        self.usage.settle_holds(&mut self.catalog);
        self.gangs.free.get_mut().catch_up(&self.catalog, &self.usage);
    }

    /// Tries at most `budget` units whose turn it is, most important first. Of those that are
    /// alike, a bounded number is told what was found for the first. The ids in the decisions hold
    /// until the next event is applied.
    pub fn step(&mut self, now: Time, budget: usize, decisions: &mut Vec<Decision>) {
        self.step_shown(now, budget, decisions, |_, _| {});
    }

    /// As [`step`](Self::step); the pods of every unit are shown before they are tried, while all
    /// others are where they are at that moment. So are those that are told what was found for one
    /// that is alike.
    pub fn step_shown(
        &mut self,
        now: Time,
        budget: usize,
        decisions: &mut Vec<Decision>,
        mut show: impl FnMut(&Self, Shown<'_>),
    ) {
        self.restand();
        self.review_commits(now, decisions);
        self.review_gangs(now, decisions);
        self.usage.settle_holds(&mut self.catalog);
        self.queue.advance(now);
        self.catalog.renew_gpu_prices(&self.usage, now);
        if self.queue.counts().active > 0 {
            self.touch_shifted();
        }
        for _ in 0..budget {
            let moved = self.catalog.take_moved_shares();
            self.queue.set_shares(moved, |tenant| self.catalog.share(tenant));
            let Some(unit) = self.queue.pop() else { break };
            show(self, Shown::Tried(self.queue.pods(unit)));
            self.tries += 1;
            if let Some(diagnosis) = self.attempt(unit, now, decisions) {
                self.settle_line(unit, &diagnosis, now, decisions, &mut show);
            }
            self.usage.settle_holds(&mut self.catalog);
        }
        self.gangs.free.get_mut().catch_up(&self.catalog, &self.usage);
    }

    /// When a step can next do something, if nothing happens before. A time that has passed means
    /// that it can do something now.
    #[must_use]
    pub fn next_wakeup(&self) -> Option<Time> {
        let reviews = self.next_review().into_iter().chain(self.commits.next_review());
        self.queue.next_wakeup().into_iter().chain(reviews).min()
    }

    /// Facts.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Ids of the zones of a node that a pod which goes there is thought to be in, if its profile
    /// has that told.
    #[must_use]
    pub fn zones_to_tell(&self, pod: PodId, node: NodeId) -> Option<Vec<u32>> {
        let class = self.catalog.pod(pod).class;
        self.catalog.class(class).alignment.as_ref()?;
        let is_told = profile_of(&self.profiles, &self.catalog, class).tells_zones;
        self.usage.inside(node).filter(|_| is_told)?.zones_of(pod)
    }

    /// Numbers of the GPUs of a node that a pod which goes there is thought to have, if its profile
    /// has that told.
    #[must_use]
    pub fn gpus_to_tell(&self, pod: PodId, node: NodeId) -> Option<Vec<u32>> {
        let class = self.catalog.pod(pod).class;
        let ask = self.catalog.class(class).gpus.as_deref()?;
        let is_told = profile_of(&self.profiles, &self.catalog, class).tells_gpus;
        let pool = self.usage.gpus_for(ask, node).filter(|_| is_told)?;
        let devices = pool.devices_of(pod)?;
        // As many as can be read again.
        let all = (0..u64::BITS).filter(|device| devices >> device & 1 == 1);
        (devices >> u64::BITS == 0).then(|| all.collect())
    }

    /// Says what pods will ask of GPUs, with how many of each, instead of learning it.
    pub fn foretell_gpu_demand(&mut self, specs: &[(PodSpec, u64)]) {
        self.catalog.foretell_gpu_demand(specs);
    }

    /// What is taken.
    #[must_use]
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// How much it looked at so far, in [`Catalog::looks`]: the difference before and after an
    /// event, or a step, is what that cost.
    #[must_use]
    pub fn looks(&self) -> u64 {
        self.catalog.looks()
    }

    /// How many units were tried so far. Those that are told what was found for one that is alike
    /// are not.
    #[must_use]
    pub fn tries(&self) -> u64 {
        self.tries
    }

    /// How many units wait, and where.
    #[must_use]
    pub fn waiting(&self) -> QueueCounts {
        self.queue.counts()
    }

    /// Where the unit of a pod is; none for pods that are on a node or of other schedulers.
    #[must_use]
    pub fn place_of(&self, pod: PodId) -> Option<Place> {
        self.queue.unit_of(pod).map(|unit| self.queue.place(unit))
    }

    /// Since when a pod waits for its turn, if nothing else keeps it from being tried.
    #[must_use]
    pub fn awaits_turn(&self, pod: PodId) -> Option<Time> {
        let unit = self.queue.unit_of(pod)?;
        let is_next = self.queue.place(unit) == Place::Active;
        let is_free = is_next && self.refusal(unit, self.queue.pods(unit)).is_none();
        is_free.then(|| self.queue.active_since(unit))
    }

    /// When a pod that waits could be tried last: its turn came then, or comes.
    #[must_use]
    pub fn turn_since(&self, pod: PodId) -> Option<Time> {
        self.queue.unit_of(pod).map(|unit| self.queue.active_since(unit))
    }

    /// Room that is kept for pods which do not exist yet: for which gang, for what, and where.
    pub fn kept_room(&self) -> impl Iterator<Item = (GangId, ClassId, NodeId)> {
        self.catalog.gangs().flat_map(|gang| {
            let kept = self.catalog.gang(gang).progress.kept.iter();
            let holds = kept.flat_map(|kept| &kept.holds);
            holds.map(move |hold| (gang, hold.occupant.class, hold.node))
        })
    }

    /// Whether a profile has this name.
    fn schedules(&self, scheduler: &str) -> bool {
        self.profiles.iter().any(|profile| profile.scheduler == scheduler)
    }
}

/// The profile that schedules pods of a class.
fn profile_of<'a>(profiles: &'a [Profile], catalog: &Catalog, class: ClassId) -> &'a Profile {
    let scheduler = &catalog.class(class).spec.scheduler;
    let profile = profiles.iter().find(|profile| profile.scheduler == *scheduler);
    profile.expect("only pods of our profiles wait")
}
