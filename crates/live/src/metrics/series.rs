//! Names, types, labels and buckets of all metrics.

use std::sync::{Mutex, OnceLock};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Metric, Registry};

use super::labels::{ATTEMPTS, Attempt, BindOutcome, Cached, Handled, Labels, Queue, Word};
use super::process::Process;
use super::{Metrics, Profile, Requests};

type Histograms<const N: usize> = Family<Labels<N>, Histogram, fn() -> Histogram>;

/// Series of one family, each made when it is first used: a histogram that nobody ever adds to
/// would still be read and stored by everyone who scrapes.
pub(super) struct Slots<M> {
    slots: Vec<OnceLock<M>>,
    make: Box<dyn Fn(usize) -> M + Send + Sync>,
}

impl<M> Slots<M> {
    fn new(count: usize, make: impl Fn(usize) -> M + Send + Sync + 'static) -> Self {
        Self { slots: (0..count).map(|_| OnceLock::new()).collect(), make: Box::new(make) }
    }

    /// The series at a position.
    pub(super) fn at(&self, position: usize) -> &M {
        self.slots[position].get_or_init(|| (self.make)(position))
    }
}

/// Registers everything.
pub(super) fn all<'a>(
    profiles: impl IntoIterator<Item = &'a str>,
    host: &str,
    lease: &str,
) -> Metrics {
    let mut registry = Registry::default();
    let profiles = profile_series(&mut registry, profiles);
    build_info(&mut registry);
    registry.register_collector(Box::new(Process));
    let registry = &mut registry;
    Metrics {
        profiles,
        algorithm: algorithm(registry),
        pending: pending(registry),
        pod_attempts: pod_attempts(registry),
        sli: sli(registry),
        cached: cached(registry),
        handled: handled(registry),
        preemption_attempts: preemption_attempts(registry),
        preemption_victims: preemption_victims(registry),
        requests: requests(registry),
        host: host.to_owned(),
        leading: leading(registry, lease),
        binds_in_flight: ours(registry, "binds_in_flight", "Bindings on their way"),
        bind_outcomes: bind_outcomes(registry),
        bind_request: bind_request(registry),
        decision: decision(registry),
        events_queued: ours(registry, "events_queued", "Events that wait to be written"),
        events_dropped: ours(registry, "events_dropped", "Events that were given up"),
        events_written: ours(registry, "events_written", "Events that were written"),
        watch_restarts: ours(registry, "watch_restarts", "Watches that began anew, by cause"),
        relists: ours(registry, "relists", "Lists of a kind, the first one as well"),
        ingest_errors: ours(registry, "ingest_errors", "Objects that could not be read"),
        rejected_by_kubelet: ours(
            registry,
            "rejected_by_kubelet",
            "Bound pods that the kubelet of their node turned away",
        ),
        optional_apis: ours(
            registry,
            "optional_api",
            "Whether an API that not every cluster has is served, 1 if it is",
        ),
        gangs: ours(registry, "gangs", "Gangs that were scheduled, degraded or taken back"),
        gang_namespaces: Default::default(),
        gang_wait: gang_wait(registry),
        gang_attempts: ours(registry, "gang_attempts", "Attempts to place a gang, by the result"),
        gang_plan: gang_plan(registry),
        gangs_waiting: ours(registry, "gangs_waiting", "Gangs with too few pods on nodes"),
        gpu_room: gpu_room(registry),
        waits: waits(registry),
        journal_bytes: ours(registry, "journal_bytes", "Bytes written to the journal"),
        journal_records: ours(registry, "journal_records", "Records written to the journal"),
        journal_gaps: ours(
            registry,
            "journal_gaps",
            "How often the journal lost records: the disk failed or could not keep up",
        ),
        log_lines_lost: ours(
            registry,
            "log_lines_lost",
            "Log lines that nobody took: whoever collects them is gone or does not read",
        ),
        lost_lines: Default::default(),
        registry: std::mem::take(registry),
    }
}

fn waits(registry: &mut Registry) -> Family<Labels<1>, Counter> {
    ours(registry, "waits", "How often pods were told to wait, by the codes of their reasons")
}

fn gpu_room(registry: &mut Registry) -> Family<Labels<2>, Gauge> {
    let help = "How many jobs would fit now that want so many GPUs of one island, whole nodes, or \
                whole nodes of one rack";
    ours(registry, "gpu_room", help)
}

fn leading(registry: &mut Registry, lease: &str) -> Gauge {
    let family: Family<Labels<1>, Gauge> = put(
        registry,
        "leader_election_master_status",
        "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 \
         indicates master. 'name' is the string used to identify the lease. Please make sure to \
         group by name",
        Family::default(),
    );
    family.get_or_create_owned(&[("name", lease.to_owned().into())])
}

fn build_info(registry: &mut Registry) {
    let family: Family<Labels<1>, Gauge> =
        ours(registry, "build_info", "The version of this scheduler, as a label");
    family.get_or_create(&[("version", env!("CARGO_PKG_VERSION").into())]).set(1);
}

/// Registers a metric under our own prefix.
fn ours<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    put(registry, &format!("kubenexus_{name}"), help, M::default())
}

fn put<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register(name, help, metric.clone());
    metric
}

/// One series for each value of the only label.
fn spread<M: Clone, W: Word>(
    family: &Family<Labels<1>, M, fn() -> M>,
    label: &'static str,
) -> Vec<M> {
    let series = W::WORDS.iter().map(|word| family.get_or_create_owned(&[(label, (*word).into())]));
    series.collect()
}

/// Series for the values of a label, each made when it is first used.
fn slots(
    family: Histograms<1>,
    label: &'static str,
    words: &'static [&'static str],
) -> Slots<Histogram> {
    Slots::new(words.len(), move |at| family.get_or_create_owned(&[(label, words[at].into())]))
}

fn profile_series<'a>(
    registry: &mut Registry,
    names: impl IntoIterator<Item = &'a str>,
) -> Vec<Profile> {
    let attempts: Family<Labels<2>, Counter> = put(
        registry,
        "scheduler_schedule_attempts",
        "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not \
         be scheduled, while 'error' means an internal scheduler problem",
        Family::default(),
    );
    let seconds: Histograms<2> = put(
        registry,
        "scheduler_scheduling_attempt_duration_seconds",
        "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
        Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.001, 2.0, 15))),
    );
    let labels = |name: &str, at: usize| -> Labels<2> {
        [("result", Attempt::WORDS[at].into()), ("profile", name.to_owned().into())]
    };
    let profiles = names.into_iter().map(|name| {
        let (owned, seconds) = (name.to_owned(), seconds.clone());
        let count = Attempt::WORDS.len();
        Profile {
            name: name.to_owned(),
            attempts: (0..count)
                .map(|at| attempts.get_or_create_owned(&labels(name, at)))
                .collect(),
            seconds: Slots::new(count, move |at| seconds.get_or_create_owned(&labels(&owned, at))),
        }
    });
    profiles.collect()
}

fn gang_wait(registry: &mut Registry) -> Histogram {
    put(
        registry,
        "kubenexus_gang_wait_seconds",
        "From the first pod of a gang in the queue to enough of them on nodes, in seconds",
        Histogram::new(exponential_buckets(0.01, 2.0, 20)),
    )
}

fn gang_plan(registry: &mut Registry) -> Histogram {
    put(
        registry,
        "kubenexus_gang_plan_duration_seconds",
        "How long an attempt to place a gang took, in seconds",
        Histogram::new(exponential_buckets(0.001, 2.0, 15)),
    )
}

fn algorithm(registry: &mut Registry) -> Histogram {
    put(
        registry,
        "scheduler_scheduling_algorithm_duration_seconds",
        "Scheduling algorithm latency in seconds",
        Histogram::new(exponential_buckets(0.001, 2.0, 15)),
    )
}

fn pending(registry: &mut Registry) -> Vec<Gauge> {
    let family = put(
        registry,
        "scheduler_pending_pods",
        "Number of pending pods, by the queue type. 'active' means number of pods that are to be \
         tried; 'backoff' means number of pods that wait after a failed attempt; 'unschedulable' \
         means number of pods that the scheduler attempted to schedule and failed; 'gated' is the \
         number of unschedulable pods that the scheduler never attempted to schedule because they \
         are gated",
        Family::default(),
    );
    spread::<_, Queue>(&family, "queue")
}

fn pod_attempts(registry: &mut Registry) -> Histogram {
    put(
        registry,
        "scheduler_pod_scheduling_attempts",
        "Number of attempts to successfully schedule a pod",
        Histogram::new(exponential_buckets(1.0, 2.0, 5)),
    )
}

fn sli(registry: &mut Registry) -> Slots<Histogram> {
    let family: Histograms<1> = put(
        registry,
        "scheduler_pod_scheduling_sli_duration_seconds",
        "E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue \
         and might involve multiple scheduling attempts",
        Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.01, 2.0, 20))),
    );
    slots(family, "attempts", &ATTEMPTS)
}

fn cached(registry: &mut Registry) -> Vec<Gauge> {
    let family = put(
        registry,
        "scheduler_cache_size",
        "Number of nodes, pods, and assumed (bound) pods in the scheduler cache",
        Family::default(),
    );
    spread::<_, Cached>(&family, "type")
}

fn handled(registry: &mut Registry) -> Slots<Histogram> {
    let family: Histograms<1> = put(
        registry,
        "scheduler_event_handling_duration_seconds",
        "Event handling latency in seconds",
        Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.0001, 2.0, 12))),
    );
    slots(family, "event", Handled::WORDS)
}

fn preemption_attempts(registry: &mut Registry) -> Counter {
    put(
        registry,
        "scheduler_preemption_attempts",
        "Total preemption attempts in the cluster till now",
        Counter::default(),
    )
}

fn preemption_victims(registry: &mut Registry) -> Histogram {
    put(
        registry,
        "scheduler_preemption_victims",
        "Number of selected preemption victims",
        Histogram::new(exponential_buckets(1.0, 2.0, 7)),
    )
}

fn requests(registry: &mut Registry) -> Requests {
    let all = put(
        registry,
        "rest_client_requests",
        "Number of HTTP requests, partitioned by status code, method, and host",
        Family::default(),
    );
    Requests { all, taken: Mutex::default() }
}

fn bind_outcomes(registry: &mut Registry) -> Vec<Counter> {
    let family = ours(registry, "bind_outcomes", "Bindings, by what became of them");
    spread::<_, BindOutcome>(&family, "outcome")
}

fn bind_request(registry: &mut Registry) -> Histogram {
    put(
        registry,
        "kubenexus_bind_request_duration_seconds",
        "Time until the API server answered a bind request",
        Histogram::new(exponential_buckets(0.001, 2.0, 15)),
    )
}

fn decision(registry: &mut Registry) -> Histogram {
    put(
        registry,
        "kubenexus_decision_latency_seconds",
        "Time from a watch event that made a pod schedulable to its bind request",
        Histogram::new(exponential_buckets(0.0001, 2.0, 16)),
    )
}
