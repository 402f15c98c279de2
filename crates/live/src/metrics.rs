//! What the scheduler counts and measures, in the names dashboards for kube-scheduler know.
//!
//! Where the meaning is the same, names, labels and buckets are those of kube-scheduler; what is
//! ours begins with `kubenexus_`. Handles are taken once and cost an atomic addition or a lock that
//! is nearly always free, so that any thread may count while it works. No label has a value that a
//! pod, a node or a caller chooses; of gangs the namespace is told while it is there, and never the
//! name.

mod gangs;
mod labels;
mod process;
mod series;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use http::{Method, StatusCode};
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

pub(crate) use labels::{Attempt, BindOutcome, Cached, GangPlan, GangResult, Handled, Queue};

use labels::{Labels, Word};
use series::Slots;

/// What [`Metrics::text`] is written in.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All metrics of the process.
pub(crate) struct Metrics {
    registry: Registry,
    profiles: Vec<Profile>,
    algorithm: Histogram,
    pending: Vec<Gauge>,
    pod_attempts: Histogram,
    sli: Slots<Histogram>,
    cached: Vec<Gauge>,
    handled: Slots<Histogram>,
    preemption_attempts: Counter,
    preemption_victims: Histogram,
    requests: Requests,
    host: String,
    leading: Gauge,
    binds_in_flight: Gauge,
    bind_outcomes: Vec<Counter>,
    bind_request: Histogram,
    decision: Histogram,
    events_queued: Gauge,
    events_dropped: Counter,
    events_written: Counter,
    watch_restarts: Family<Labels<2>, Counter>,
    relists: Family<Labels<1>, Counter>,
    ingest_errors: Family<Labels<1>, Counter>,
    rejected_by_kubelet: Counter,
    optional_apis: Family<Labels<2>, Gauge>,
    gangs: Family<Labels<2>, Counter>,
    /// Namespaces that have series of their own.
    gang_namespaces: Mutex<BTreeSet<Box<str>>>,
    gang_wait: Histogram,
    gang_attempts: Family<Labels<2>, Counter>,
    gang_plan: Histogram,
    gangs_waiting: Gauge,
    gpu_room: Family<Labels<2>, Gauge>,
    waits: Family<Labels<1>, Counter>,
    journal_bytes: Counter,
    journal_records: Counter,
    journal_gaps: Counter,
    log_lines_lost: Counter,
    /// How many there are at this time.
    lost_lines: Arc<AtomicU64>,
}

/// Requests to the API server. Nothing is counted more often.
struct Requests {
    all: Family<Labels<3>, Counter>,
    /// Those that were taken, by code and method.
    taken: Mutex<BTreeMap<(Option<StatusCode>, &'static str), Counter>>,
}

/// The attempts of one profile, at the positions of their results.
struct Profile {
    name: String,
    attempts: Vec<Counter>,
    seconds: Slots<Histogram>,
}

impl Metrics {
    /// Metrics at zero. `profiles` are the scheduler names, `host` is the API server's address and
    /// port, `lease` the name of the lease.
    pub(crate) fn new<'a>(
        profiles: impl IntoIterator<Item = &'a str>,
        host: &str,
        lease: &str,
    ) -> Self {
        series::all(profiles, host, lease)
    }

    /// Counts log lines that are lost, wherever that happens.
    pub(crate) fn counting_lost_lines(self, lost_lines: &Arc<AtomicU64>) -> Self {
        Self { lost_lines: lost_lines.clone(), ..self }
    }

    /// An attempt to schedule a pod of a profile ended, this long after it began.
    pub(crate) fn attempt(&self, profile: &str, result: Attempt, seconds: f64) {
        let Some(profile) = self.profiles.iter().find(|known| known.name == profile) else {
            return;
        };
        profile.attempts[result.position()].inc();
        profile.seconds.at(result.position()).observe(seconds);
    }

    /// The engine looked for a node for this long.
    pub(crate) fn algorithm(&self, seconds: f64) {
        self.algorithm.observe(seconds);
    }

    /// A pod was scheduled after so many attempts, this long after it was first seen.
    pub(crate) fn sli(&self, attempts: u32, seconds: f64) {
        self.pod_attempts.observe(attempts.into());
        self.sli.at(labels::attempts_position(attempts)).observe(seconds);
    }

    /// So many pods wait in a queue.
    pub(crate) fn pending(&self, queue: Queue, pods: usize) {
        set(&self.pending[queue.position()], pods);
    }

    /// The picture of the cluster holds so many.
    pub(crate) fn cached(&self, what: Cached, count: usize) {
        set(&self.cached[what.position()], count);
    }

    /// The engine worked this long on something it was told.
    pub(crate) fn handled(&self, what: Handled, seconds: f64) {
        self.handled.at(what.position()).observe(seconds);
    }

    /// It was looked for pods to evict, and so many were found.
    pub(crate) fn preemption(&self, victims: Option<usize>) {
        self.preemption_attempts.inc();
        if let Some(victims) = victims {
            self.preemption_victims.observe(victims as f64);
        }
    }

    /// A request to the API server was answered, or came to nothing.
    pub(crate) fn request(&self, method: &Method, status: Option<StatusCode>) {
        let method = labels::method_word(method);
        let mut taken = self.requests.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let counter = taken.entry((status, method)).or_insert_with(|| {
            let code = status.map_or_else(|| "<error>".into(), |code| code.as_str().to_owned());
            let host = self.host.clone().into();
            let labels = [("code", code.into()), ("method", method.into()), ("host", host)];
            self.requests.all.get_or_create_owned(&labels)
        });
        counter.inc();
    }

    /// Whether this replica leads.
    pub(crate) fn leading(&self, is_leading: bool) {
        self.leading.set(is_leading.into());
    }

    /// A binding is on its way.
    pub(crate) fn bind_started(&self) {
        self.binds_in_flight.inc();
    }

    /// A binding that was on its way came to this.
    pub(crate) fn bind_ended(&self, outcome: BindOutcome) {
        self.binds_in_flight.dec();
        self.bind_outcomes[outcome.position()].inc();
    }

    /// What became of a binding is not known; it is still on its way.
    pub(crate) fn bind_unknown(&self) {
        self.bind_outcomes[BindOutcome::Unknown.position()].inc();
    }

    /// The API server took this long to answer a bind request.
    pub(crate) fn bind_request(&self, seconds: f64) {
        self.bind_request.observe(seconds);
    }

    /// From the event that made a pod schedulable to its bind request it took this long.
    pub(crate) fn decided(&self, seconds: f64) {
        self.decision.observe(seconds);
    }

    /// So many events wait to be written.
    pub(crate) fn events_queued(&self, count: usize) {
        set(&self.events_queued, count);
    }

    /// An event was given up: the queue was full, or the API server refused it.
    pub(crate) fn event_dropped(&self) {
        self.events_dropped.inc();
    }

    /// An event was written.
    pub(crate) fn event_written(&self) {
        self.events_written.inc();
    }

    /// A watch begins anew.
    pub(crate) fn watch_restarted(&self, kind: &'static str, cause: &'static str) {
        let labels = [("kind", kind.into()), ("cause", cause.into())];
        self.watch_restarts.get_or_create(&labels).inc();
    }

    /// A kind is listed, the first time as well.
    pub(crate) fn relisted(&self, kind: &'static str) {
        self.relists.get_or_create(&[("kind", kind.into())]).inc();
    }

    /// An object could not be read.
    pub(crate) fn not_read(&self, kind: &'static str) {
        self.ingest_errors.get_or_create(&[("kind", kind.into())]).inc();
    }

    /// A kubelet turned a pod away that was bound to its node.
    pub(crate) fn rejected_by_kubelet(&self) {
        self.rejected_by_kubelet.inc();
    }

    /// The optional APIs the scheduler knows, by group and version, and whether they are served.
    pub(crate) fn optional_apis<'a>(
        &self,
        apis: impl IntoIterator<Item = (&'a str, &'a str, bool)>,
    ) {
        for (group, version, is_served) in apis {
            let group = group.to_owned().into();
            let labels = [("group", group), ("version", version.to_owned().into())];
            self.optional_apis.get_or_create(&labels).set(is_served.into());
        }
    }

    /// A pod has to wait, for reasons with these codes.
    pub(crate) fn waits(&self, codes: impl IntoIterator<Item = &'static str>) {
        for code in codes {
            self.waits.get_or_create(&[("code", code.into())]).inc();
        }
    }

    /// The journal has grown to this.
    pub(crate) fn journal(&self, totals: journal::Totals) {
        let series = [
            (&self.journal_bytes, totals.bytes),
            (&self.journal_records, totals.records),
            (&self.journal_gaps, totals.gaps),
        ];
        for (counter, total) in series {
            // Only the engine's thread counts here.
            counter.inc_by(total.saturating_sub(counter.get()));
        }
    }

    /// Everything, in the OpenMetrics text format.
    pub(crate) fn text(&self) -> String {
        let lost = self.lost_lines.load(Ordering::Relaxed);
        self.log_lines_lost.inc_by(lost.saturating_sub(self.log_lines_lost.get()));
        let mut out = String::new();
        text::encode(&mut out, &self.registry).expect("writing to a string cannot fail");
        out
    }
}

fn set(gauge: &Gauge, count: usize) {
    gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
}
