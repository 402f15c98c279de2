//! The sections of a configuration beside its profiles: reading them, with kube-scheduler's checks.

use model::Millis;

use super::duration;
use super::settings::{ClientConnection, LeaderElection, Settings};
use crate::document::{Fields, Problems, Spot, quoted};

pub(super) const API_VERSION: &str = "kubescheduler.config.k8s.io/v1";
pub(super) const KIND: &str = "KubeSchedulerConfiguration";

const FIELDS: [&str; 13] = [
    "apiVersion",
    "kind",
    "parallelism",
    "leaderElection",
    "clientConnection",
    "enableProfiling",
    "enableContentionProfiling",
    "percentageOfNodesToScore",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
    "profiles",
    "extenders",
    "delayCacheUntilActive",
];

/// Fields that are accepted for the sake of files written for kube-scheduler, with the reason why
/// they change nothing.
const WITHOUT_EFFECT: [(&str, &str); 4] = [
    ("parallelism", "decisions are made by one thread"),
    ("enableProfiling", "no profiles of the running process are served"),
    ("enableContentionProfiling", "no profiles of the running process are served"),
    ("percentageOfNodesToScore", "every node is scored"),
];

/// The same under `clientConnection`.
const CLIENT_WITHOUT_EFFECT: [(&str, &str); 2] =
    [("contentType", ALWAYS_JSON), ("acceptContentTypes", ALWAYS_JSON)];
const ALWAYS_JSON: &str = "the API server is spoken to in JSON";

/// The fields of the whole configuration, its version and kind checked.
pub(super) fn top<'a>(root: Spot<'a>, problems: &mut Problems) -> Option<Fields<'a>> {
    let fields = root.fields(&FIELDS, problems)?;
    for (name, expected) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        if let Some(spot) = fields.required(name, problems) {
            spot.word(&[(expected, ())], problems);
        }
    }
    if let Some(spot) = fields.get("extenders")
        && !spot.is_empty()
    {
        problems.report(&spot.place, "extenders are not supported; remove this field");
    }
    Some(fields)
}

/// Checks the version and kind that arguments of a plugin may carry.
pub(super) fn check_args_type(fields: &Fields<'_>, plugin: &str, problems: &mut Problems) {
    let kind = format!("{plugin}Args");
    for (name, expected) in [("apiVersion", API_VERSION), ("kind", &*kind)] {
        if let Some(spot) = fields.get(name) {
            spot.word(&[(expected, ())], problems);
        }
    }
}

/// Notes which fields are given that change nothing.
pub(super) fn note_without_effect(
    fields: &Fields<'_>,
    names: &[(&str, &str)],
    problems: &mut Problems,
) {
    for (name, why) in names {
        if let Some(spot) = fields.get(name) {
            problems.note_without_effect(&spot.place, *why);
        }
    }
}

/// Reads everything but the profiles into `settings`, which holds the defaults.
pub(super) fn read(fields: &Fields<'_>, settings: Settings, problems: &mut Problems) -> Settings {
    note_without_effect(fields, &WITHOUT_EFFECT, problems);
    let (initial_backoff, max_backoff) = backoffs(fields, problems);
    let parallelism = fields.integer("parallelism", 1..=i64::from(i32::MAX), problems);
    let enable_profiling =
        fields.boolean("enableProfiling", problems).unwrap_or(settings.enable_profiling);
    Settings {
        initial_backoff,
        max_backoff,
        leader_election: leader_election(fields, settings.leader_election, problems),
        client_connection: client_connection(fields, settings.client_connection, problems),
        percentage_of_nodes_to_score: percentage(fields, problems),
        parallelism: parallelism.and_then(|n| n.try_into().ok()).unwrap_or(settings.parallelism),
        enable_profiling,
        // Contention is profiled wherever profiling is on, unless the file says otherwise.
        enable_contention_profiling: fields
            .boolean("enableContentionProfiling", problems)
            .unwrap_or(enable_profiling),
        delay_cache_until_active: fields
            .boolean("delayCacheUntilActive", problems)
            .unwrap_or(settings.delay_cache_until_active),
        profiles: settings.profiles,
    }
}

/// `percentageOfNodesToScore` of a profile, which matters only in being a valid one.
pub(super) fn check_percentage(fields: &Fields<'_>, problems: &mut Problems) {
    note_without_effect(fields, &WITHOUT_EFFECT, problems);
    percentage(fields, problems);
}

fn percentage(fields: &Fields<'_>, problems: &mut Problems) -> Option<u8> {
    let found = fields.integer("percentageOfNodesToScore", 0..=100, problems)?;
    u8::try_from(found).ok()
}

fn backoffs(fields: &Fields<'_>, problems: &mut Problems) -> (Millis, Millis) {
    let seconds = |spot: Option<i64>, default| spot.unwrap_or(default).unsigned_abs();
    let initial = fields.integer("podInitialBackoffSeconds", 1..=i64::MAX, problems);
    let initial = seconds(initial, 1);
    let max = fields.integer("podMaxBackoffSeconds", 1..=i64::MAX, problems);
    let is_bad = fields.get("podMaxBackoffSeconds").is_some() && max.is_none();
    let max = seconds(max, 10);
    if max < initial && !is_bad {
        let place = fields.place_at("podMaxBackoffSeconds");
        let wanted = "expected at least podInitialBackoffSeconds";
        problems.report(&place, format!("{wanted}, which is {initial}, found {max}"));
    }
    (Millis::seconds(initial), Millis::seconds(max))
}

fn leader_election(
    fields: &Fields<'_>,
    default: LeaderElection,
    problems: &mut Problems,
) -> LeaderElection {
    const KNOWN: [&str; 7] = [
        "leaderElect",
        "leaseDuration",
        "renewDeadline",
        "retryPeriod",
        "resourceLock",
        "resourceName",
        "resourceNamespace",
    ];
    let Some(spot) = fields.get("leaderElection") else { return default };
    let Some(fields) = spot.fields(&KNOWN, problems) else { return default };
    let mut span = |name, default| nanoseconds(&fields, name, default, problems);
    let lease = span("leaseDuration", default.lease_duration);
    let renew = span("renewDeadline", default.renew_deadline);
    let retry = span("retryPeriod", default.retry_period);
    let leader_elect = fields.boolean("leaderElect", problems).unwrap_or(default.leader_elect);
    let mut text = |name, default| or_default(fields.text(name, problems), default);
    let election = LeaderElection {
        leader_elect,
        lease_duration: millis(lease),
        renew_deadline: millis(renew),
        retry_period: millis(retry),
        resource_lock: text("resourceLock", default.resource_lock),
        resource_name: text("resourceName", default.resource_name),
        resource_namespace: text("resourceNamespace", default.resource_namespace),
    };
    if leader_elect {
        if lease <= renew {
            let place = fields.place_at("leaseDuration");
            problems.report(&place, "expected a duration longer than renewDeadline");
        }
        // Attempts are spread by up to a fifth; one must fit before the deadline.
        if u128::from(renew) * 5 <= u128::from(retry) * 6 {
            let place = fields.place_at("renewDeadline");
            problems.report(&place, "expected a duration longer than 1.2 times retryPeriod");
        }
        if election.resource_lock != "leases" {
            let message = format!("expected \"leases\", found {}", quoted(&election.resource_lock));
            problems.report(&fields.place_at("resourceLock"), message);
        }
    }
    election
}

/// A duration in nanoseconds; zero stands for the default, as in the API.
fn nanoseconds(fields: &Fields<'_>, name: &str, default: Millis, problems: &mut Problems) -> u64 {
    let default = default.0.saturating_mul(1_000_000);
    let Some(spot) = fields.get(name) else { return default };
    let Some(text) = spot.text(problems) else { return default };
    match duration::parse(text) {
        Ok(0) => default,
        Ok(found) => found,
        Err(error) => {
            problems.report(&spot.place, error.to_string());
            default
        }
    }
}

/// Rounded up, so that a short time never becomes none.
fn millis(nanoseconds: u64) -> Millis {
    Millis(nanoseconds.div_ceil(1_000_000))
}

fn client_connection(
    fields: &Fields<'_>,
    default: ClientConnection,
    problems: &mut Problems,
) -> ClientConnection {
    const KNOWN: [&str; 5] = ["kubeconfig", "acceptContentTypes", "contentType", "qps", "burst"];
    let Some(spot) = fields.get("clientConnection") else { return default };
    let Some(fields) = spot.fields(&KNOWN, problems) else { return default };
    note_without_effect(&fields, &CLIENT_WITHOUT_EFFECT, problems);
    let kubeconfig = fields.text("kubeconfig", problems);
    let burst = fields.integer("burst", 0..=i64::from(i32::MAX), problems);
    let burst = burst.and_then(|n| n.try_into().ok()).filter(|n| *n != 0);
    ClientConnection {
        kubeconfig: (!kubeconfig.is_empty()).then(|| kubeconfig.to_owned()),
        accept_content_types: fields.text("acceptContentTypes", problems).to_owned(),
        content_type: or_default(fields.text("contentType", problems), default.content_type),
        qps_milli: qps_milli(&fields, problems).unwrap_or(default.qps_milli),
        burst: burst.unwrap_or(default.burst),
    }
}

/// Requests per second in thousandths; zero stands for the default.
fn qps_milli(fields: &Fields<'_>, problems: &mut Problems) -> Option<i64> {
    const QPS_MAX: f64 = 1e9;
    let spot = fields.get("qps")?;
    let qps = spot.number(problems)?;
    if qps.abs() > QPS_MAX {
        spot.expected("a number of at most a thousand million", problems);
        return None;
    }
    // Away from zero, so that a small limit does not become none; the range was checked.
    #[expect(clippy::cast_possible_truncation)]
    let milli = (qps * 1000.0).abs().ceil() as i64;
    let milli = if qps < 0.0 { -milli } else { milli };
    (milli != 0).then_some(milli)
}

fn or_default(text: &str, default: String) -> String {
    if text.is_empty() { default } else { text.to_owned() }
}
