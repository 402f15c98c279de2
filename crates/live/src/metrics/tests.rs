//! What is written, against what kube-scheduler 1.37.1 answers on the same path.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

const MILLISECONDS: &str = "0.001 0.002 0.004 0.008 0.016 0.032 0.064 0.128 0.256 0.512 1.024 \
                            2.048 4.096 8.192 16.384 inf";
const TENTHS: &str = "0.0001 0.0002 0.0004 0.0008 0.0016 0.0032 0.0064 0.0128 0.0256 0.0512 \
                      0.1024 0.2048 inf";
const SLI: &str = "0.01 0.02 0.04 0.08 0.16 0.32 0.64 1.28 2.56 5.12 10.24 20.48 40.96 81.92 \
                   163.84 327.68 655.36 1310.72 2621.44 5242.88 inf";
const DECISION: &str = "0.0001 0.0002 0.0004 0.0008 0.0016 0.0032 0.0064 0.0128 0.0256 0.0512 \
                        0.1024 0.2048 0.4096 0.8192 1.6384 3.2768 inf";

/// Name, type, labels in the order of the alphabet, upper bounds of buckets. As kube-scheduler has
/// them.
const KUBE: [(&str, &str, &str, &str); 18] = [
    ("scheduler_schedule_attempts_total", "counter", "profile result", ""),
    ("scheduler_scheduling_attempt_duration_seconds", "histogram", "profile result", MILLISECONDS),
    ("scheduler_scheduling_algorithm_duration_seconds", "histogram", "", MILLISECONDS),
    ("scheduler_pending_pods", "gauge", "queue", ""),
    ("scheduler_pod_scheduling_attempts", "histogram", "", "1 2 4 8 16 inf"),
    ("scheduler_pod_scheduling_sli_duration_seconds", "histogram", "attempts", SLI),
    ("scheduler_preemption_attempts_total", "counter", "", ""),
    ("scheduler_preemption_victims", "histogram", "", "1 2 4 8 16 32 64 inf"),
    ("scheduler_cache_size", "gauge", "type", ""),
    ("scheduler_event_handling_duration_seconds", "histogram", "event", TENTHS),
    ("rest_client_requests_total", "counter", "code host method", ""),
    ("leader_election_master_status", "gauge", "name", ""),
    ("process_cpu_seconds_total", "counter", "", ""),
    ("process_max_fds", "gauge", "", ""),
    ("process_open_fds", "gauge", "", ""),
    ("process_resident_memory_bytes", "gauge", "", ""),
    ("process_start_time_seconds", "gauge", "", ""),
    ("process_virtual_memory_bytes", "gauge", "", ""),
];

/// The same of those that kube-scheduler does not have.
const OURS: [(&str, &str, &str, &str); 24] = [
    ("kubenexus_build_info", "gauge", "version", ""),
    ("kubenexus_binds_in_flight", "gauge", "", ""),
    ("kubenexus_bind_outcomes_total", "counter", "outcome", ""),
    ("kubenexus_bind_request_duration_seconds", "histogram", "", MILLISECONDS),
    ("kubenexus_decision_latency_seconds", "histogram", "", DECISION),
    ("kubenexus_events_queued", "gauge", "", ""),
    ("kubenexus_events_dropped_total", "counter", "", ""),
    ("kubenexus_events_written_total", "counter", "", ""),
    ("kubenexus_watch_restarts_total", "counter", "cause kind", ""),
    ("kubenexus_relists_total", "counter", "kind", ""),
    ("kubenexus_ingest_errors_total", "counter", "kind", ""),
    ("kubenexus_rejected_by_kubelet_total", "counter", "", ""),
    ("kubenexus_optional_api", "gauge", "group version", ""),
    ("kubenexus_gangs_total", "counter", "namespace result", ""),
    ("kubenexus_gang_wait_seconds", "histogram", "", SLI),
    ("kubenexus_gang_attempts_total", "counter", "namespace result", ""),
    ("kubenexus_gang_plan_duration_seconds", "histogram", "", MILLISECONDS),
    ("kubenexus_gangs_waiting", "gauge", "", ""),
    ("kubenexus_waits_total", "counter", "code", ""),
    ("kubenexus_journal_bytes_total", "counter", "", ""),
    ("kubenexus_journal_records_total", "counter", "", ""),
    ("kubenexus_journal_gaps_total", "counter", "", ""),
    ("kubenexus_log_lines_lost_total", "counter", "", ""),
    ("process_threads", "gauge", "", ""),
];

/// Metrics of which each was used once.
fn used() -> Metrics {
    let metrics = Metrics::new(["default-scheduler", "batch"], "10.0.0.1:443", "the-lease");
    let metrics = metrics.counting_lost_lines(&Arc::new(3.into()));
    metrics.attempt("batch", Attempt::Scheduled, 0.003);
    metrics.algorithm(0.0001);
    metrics.sli(1, 0.5);
    metrics.preemption(Some(2));
    metrics.pending(Queue::Backoff, 3);
    metrics.cached(Cached::AssumedPods, 4);
    metrics.handled(Handled::NodeUpdate, 0.0001);
    metrics.request(&Method::POST, Some(StatusCode::CREATED));
    metrics.leading(true);
    metrics.bind_started();
    metrics.bind_started();
    metrics.bind_ended(BindOutcome::Lost);
    metrics.bind_request(0.002);
    metrics.decided(0.0003);
    metrics.events_queued(5);
    metrics.event_dropped();
    metrics.event_written();
    metrics.watch_restarted("pods", "expired");
    metrics.relisted("nodes");
    metrics.not_read("nodes");
    metrics.rejected_by_kubelet();
    metrics.optional_apis([("scheduling.k8s.io", "v1beta1", true), ("a.b", "v1", false)]);
    metrics.gang("team", GangResult::TakenBack);
    metrics.gang_wait(0.5);
    metrics.gang_plan("team", GangPlan::Failed, 0.002);
    metrics.gangs_waiting(7);
    metrics.waits(["TooManyPods", "UntoleratedTaint"]);
    metrics.journal(journal::Totals { bytes: 300, records: 2, gaps: 0 });
    metrics.journal(journal::Totals { bytes: 700, records: 5, gaps: 1 });
    metrics
}

/// What the text says of one name.
#[derive(Default)]
struct Found {
    kind: String,
    labels: BTreeSet<String>,
    bounds: Vec<f64>,
    has_help: bool,
}

fn found(text: &str) -> BTreeMap<String, Found> {
    let mut families: BTreeMap<String, Found> = BTreeMap::new();
    for line in text.lines().filter(|line| *line != "# EOF") {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        match words[..] {
            ["#", "HELP", name, help] => {
                families.entry(name.into()).or_default().has_help = help.ends_with('.');
            }
            ["#", "TYPE", name, kind] => {
                families.entry(name.into()).or_default().kind = kind.into()
            }
            _ => sample(line, &mut families),
        }
    }
    families.into_iter().map(|(name, found)| (sample_name(name, &found), found)).collect()
}

/// The name as scrapers store it.
fn sample_name(family: String, found: &Found) -> String {
    if found.kind == "counter" { format!("{family}_total") } else { family }
}

fn sample(line: &str, families: &mut BTreeMap<String, Found>) {
    let name = line.split(['{', ' ']).next().expect("a name");
    let ends = ["_total", "_bucket", "_sum", "_count"].into_iter();
    let mut stems = ends.filter_map(|end| name.strip_suffix(end));
    let family = stems.find(|stem| families.contains_key(*stem)).unwrap_or(name);
    let found = families.get_mut(family).unwrap_or_else(|| panic!("no type of {line}"));
    let labels = line.split_once('{').and_then(|(_, rest)| rest.rsplit_once('}'));
    for label in labels.map_or("", |(labels, _)| labels).split(',').filter(|text| !text.is_empty())
    {
        let (label, value) = label.split_once('=').expect("a value");
        if label == "le" {
            let bound = value.trim_matches('"').parse().expect("a number");
            if !found.bounds.contains(&bound) {
                found.bounds.push(bound);
            }
        } else {
            found.labels.insert(label.into());
        }
    }
}

#[test]
fn names_types_labels_and_buckets_are_those_of_kube_scheduler_or_begin_with_our_name() {
    let text = used().text();
    let mut found = found(&text);
    for (name, kind, labels, bounds) in KUBE.into_iter().chain(OURS) {
        let found = found.remove(name).unwrap_or_else(|| panic!("{name} is missing in\n{text}"));
        assert_eq!(found.kind, kind, "{name}");
        assert!(found.has_help, "{name}");
        assert_eq!(found.labels.into_iter().collect::<Vec<_>>().join(" "), labels, "{name}");
        let bounds: Vec<f64> =
            bounds.split_whitespace().map(|bound| bound.parse().expect("a number")).collect();
        assert_eq!(found.bounds, bounds, "{name}");
    }
    assert_eq!(found.keys().collect::<Vec<_>>(), Vec::<&String>::new(), "not in the tables");
}

#[test]
fn what_was_counted_is_written() {
    let text = used().text();
    let lines = [
        "scheduler_schedule_attempts_total{result=\"scheduled\",profile=\"batch\"} 1",
        "scheduler_schedule_attempts_total{result=\"error\",profile=\"default-scheduler\"} 0",
        "scheduler_scheduling_attempt_duration_seconds_bucket{le=\"0.004\",result=\"scheduled\",\
         profile=\"batch\"} 1",
        "scheduler_pending_pods{queue=\"backoff\"} 3",
        "scheduler_pending_pods{queue=\"gated\"} 0",
        "scheduler_pod_scheduling_sli_duration_seconds_sum{attempts=\"1\"} 0.5",
        "scheduler_cache_size{type=\"assumed_pods\"} 4",
        "scheduler_event_handling_duration_seconds_count{event=\"NodeUpdate\"} 1",
        "rest_client_requests_total{code=\"201\",method=\"POST\",host=\"10.0.0.1:443\"} 1",
        "leader_election_master_status{name=\"the-lease\"} 1",
        "kubenexus_binds_in_flight 1",
        "kubenexus_bind_outcomes_total{outcome=\"lost\"} 1",
        "kubenexus_bind_outcomes_total{outcome=\"bound\"} 0",
        "kubenexus_watch_restarts_total{kind=\"pods\",cause=\"expired\"} 1",
        "kubenexus_optional_api{group=\"a.b\",version=\"v1\"} 0",
        "kubenexus_journal_bytes_total 700",
        "kubenexus_gang_attempts_total{namespace=\"team\",result=\"failed\"} 1",
        "kubenexus_gangs_waiting 7",
        "kubenexus_journal_gaps_total 1",
        "kubenexus_log_lines_lost_total 3",
        "kubenexus_optional_api{group=\"scheduling.k8s.io\",version=\"v1beta1\"} 1",
    ];
    for line in lines {
        assert!(text.lines().any(|other| other == line), "{line} is missing in\n{text}");
    }
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn labels_stay_few_whatever_is_counted() {
    let metrics = Metrics::new(["a"], "h", "l");
    metrics.attempt("not a profile", Attempt::Error, 1.0);
    for attempts in [0, 1, 14, 15, 16, u32::MAX] {
        metrics.sli(attempts, 1.0);
    }
    metrics.request(&Method::from_bytes(b"BREW").expect("a method"), None);
    let text = metrics.text();
    assert!(!text.contains("not a profile"), "{text}");
    let count = |attempts: &str| {
        let line = format!(
            "scheduler_pod_scheduling_sli_duration_seconds_count{{attempts=\"{attempts}\"}} "
        );
        text.lines().find_map(|other| other.strip_prefix(&*line)).map(str::to_owned)
    };
    let counts = ["0", "1", "2", "14", "15", "15+"].map(count);
    let counts: Vec<_> = counts.iter().map(|count| count.as_deref().unwrap_or("none")).collect();
    assert_eq!(counts, ["none", "2", "none", "1", "none", "3"]);
    assert!(text.contains("{code=\"<error>\",method=\"OTHER\",host=\"h\"} 1"), "{text}");
}
