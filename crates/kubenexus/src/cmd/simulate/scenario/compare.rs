//! Two runs of the same files beside each other, and what differs.

use std::collections::BTreeMap;

use serde::Serialize;
use sim::page::Part;
use sim::{KubeletReport, Placement, PoolReport, Report, Share, TenantReport};

use crate::cmd::report::section;
use crate::cmd::table::Align::{Left, Right, Wrap};
use crate::cmd::table::{Table, grouped, percent, span};

/// The most jobs that are named.
const JOBS_MAX: usize = 12;

/// Both reports and their names.
#[derive(Serialize)]
struct Both<'a> {
    a: One<'a>,
    b: One<'a>,
}

#[derive(Serialize)]
struct One<'a> {
    config: &'a str,
    notes: &'a [String],
    report: &'a Report,
}

/// Both for machines.
pub(super) fn json(a: &Part, b: &Part) -> serde_json::Result<String> {
    let both = Both { a: One::new(a), b: One::new(b) };
    Ok(serde_json::to_string_pretty(&both)? + "\n")
}

impl<'a> One<'a> {
    fn new(part: &'a Part) -> Self {
        Self { config: &part.name, notes: &part.notes, report: &part.report }
    }
}

/// Both for people.
pub(super) fn text(a: &Part, b: &Part) -> String {
    let head = format!(
        "{} nodes, seed {}, {} of virtual time with A, {} with B\n  A: {}\n  B: {}\n",
        grouped(a.report.nodes),
        a.report.seed,
        span(a.report.span_ms),
        span(b.report.span_ms),
        a.name,
        b.name,
    );
    let mut sections = vec![head];
    for (name, part) in [("A", a), ("B", b)] {
        if !part.notes.is_empty() {
            let mut table = Table::new(&[("Note", Wrap)]);
            part.notes.iter().for_each(|note| table.row([format!("{name}: {note}")]));
            sections.push(table.plain());
        }
    }
    sections.push(section("All pods", &figures(&a.report, &b.report)));
    sections.push(section("By namespace", &tenants(&a.report, &b.report)));
    sections.push(section("Mean utilisation, and fragmentation", &pools(&a.report, &b.report)));
    sections.push(waiting(&a.report, &b.report));
    sections.join("\n")
}

/// A number of one run, of the other, and how much more or less it is.
fn number(name: &str, a: u64, b: u64) -> [String; 4] {
    [name.to_owned(), grouped(a), grouped(b), difference(a, b, grouped)]
}

fn difference(a: u64, b: u64, unit: fn(u64) -> String) -> String {
    match a.cmp(&b) {
        std::cmp::Ordering::Equal => "same".to_owned(),
        std::cmp::Ordering::Less => format!("+{}", unit(b - a)),
        std::cmp::Ordering::Greater => format!("-{}", unit(a - b)),
    }
}

/// A time that a run may not have.
fn time(name: &str, a: Option<u64>, b: Option<u64>) -> [String; 4] {
    let cell = |time: Option<u64>| time.map_or("-".to_owned(), span);
    let change = a.zip(b).map_or("-".to_owned(), |(a, b)| difference(a, b, span));
    [name.to_owned(), cell(a), cell(b), change]
}

/// One of the times that pods waited.
type Wait = fn(&Placement) -> u64;

fn figures(a: &Report, b: &Report) -> Table {
    let mut table = Table::new(&[("", Left), ("A", Right), ("B", Right), ("B - A", Right)]);
    table.row(number("placed", a.pods.placed, b.pods.placed));
    table.row(number("finished", a.pods.finished, b.pods.finished));
    table.row(number("evicted", a.pods.evicted, b.pods.evicted));
    table.row(number("waiting at the end", a.pods.waiting, b.pods.waiting));
    let waits: [(&str, Wait); 4] = [
        ("wait, p50", |one| one.p50_ms),
        ("wait, p90", |one| one.p90_ms),
        ("wait, p99", |one| one.p99_ms),
        ("wait, longest", |one| one.max_ms),
    ];
    for (name, wait) in waits {
        table.row(time(name, a.placement.as_ref().map(wait), b.placement.as_ref().map(wait)));
    }
    table.row(number("decisions", a.bindings + a.waits, b.bindings + b.waits));
    if a.kubelets.is_some() || b.kubelets.is_some() {
        let both = [a, b].map(|report| report.kubelets.as_ref());
        let [aligned_a, aligned_b] = both.map(|one| one.map_or(0, |one| one.aligned));
        table.row(number("aligned by kubelets", aligned_a, aligned_b));
        let [refused_a, refused_b] = both.map(|one| one.map_or(0, |one| one.rejected));
        table.row(number("rejected by kubelets", refused_a, refused_b));
        let share = |one: Option<&KubeletReport>| {
            one.map_or("-".to_owned(), |one| percent(one.rejected_permille))
        };
        let [share_a, share_b] = both.map(share);
        table.row(["rejected of aligned".to_owned(), share_a, share_b, String::new()]);
    }
    table
}

fn tenants(a: &Report, b: &Report) -> Table {
    let mut table = Table::new(&[
        ("namespace", Left),
        ("placed A", Right),
        ("B", Right),
        ("waiting A", Right),
        ("B", Right),
        ("p50 A", Right),
        ("B", Right),
        ("p99 A", Right),
        ("B", Right),
    ]);
    let mut both: BTreeMap<&str, [Option<&TenantReport>; 2]> = BTreeMap::new();
    for (at, report) in [a, b].into_iter().enumerate() {
        for tenant in &report.tenants {
            both.entry(&tenant.tenant).or_default()[at] = Some(tenant);
        }
    }
    for (name, reports) in both {
        let count = |count: fn(&TenantReport) -> u64| {
            reports.map(|report| report.map_or("-".to_owned(), |report| grouped(count(report))))
        };
        let wait = |wait: fn(&Placement) -> u64| {
            let placements = reports.map(|report| report.and_then(|report| report.placement));
            placements.map(|one| one.map_or("-".to_owned(), |one| span(wait(&one))))
        };
        let cells = [
            count(|report| report.pods.placed),
            count(|report| report.pods.waiting),
            wait(|one| one.p50_ms),
            wait(|one| one.p99_ms),
        ];
        table.row([vec![name.to_owned()], cells.concat()].concat());
    }
    table
}

fn pools(a: &Report, b: &Report) -> Table {
    let mut table = Table::new(&[
        ("pool", Left),
        ("cpu A", Right),
        ("B", Right),
        ("memory A", Right),
        ("B", Right),
        ("gpu A", Right),
        ("B", Right),
        ("fragmented: cpu A", Right),
        ("B", Right),
        ("gpu A", Right),
        ("B", Right),
    ]);
    let shares: [fn(&PoolReport) -> Option<Share>; 5] = [
        |pool| Some(pool.cpu),
        |pool| Some(pool.memory),
        |pool| pool.gpu,
        |pool| pool.fragmentation.cpu,
        |pool| pool.fragmentation.gpu,
    ];
    let rows = |report: &Report| -> Vec<PoolReport> {
        report.pools.iter().chain([&report.cluster]).cloned().collect()
    };
    // Both runs have the same nodes, so the same pools in the same order.
    for (a, b) in rows(a).iter().zip(&rows(b)) {
        let mut cells = vec![a.pool.clone()];
        for share in shares {
            let cell = |share: Option<Share>| {
                share.map_or("-".to_owned(), |share| percent(share.mean_permille))
            };
            cells.extend([cell(share(a)), cell(share(b))]);
        }
        table.row(cells);
    }
    table.last_is_total();
    table
}

/// Jobs of which more pods wait under one configuration than under the other.
fn waiting(a: &Report, b: &Report) -> String {
    let mut both: BTreeMap<(&str, &str), [u64; 2]> = BTreeMap::new();
    for (at, report) in [a, b].into_iter().enumerate() {
        for job in &report.waiting_jobs {
            both.entry((&job.tenant, &job.job)).or_default()[at] = job.pods;
        }
    }
    let mut rows: Vec<_> = both.into_iter().filter(|(_, [a, b])| a != b).collect();
    let title = "Pods that wait at the end under one of them only";
    if rows.is_empty() {
        return format!("{title}\n  none: the same pods wait under both\n");
    }
    // Stable: jobs that differ as much stay in the order of their names.
    rows.sort_by_key(|(_, [a, b])| std::cmp::Reverse(a.abs_diff(*b)));
    let mut table =
        Table::new(&[("namespace", Left), ("of", Left), ("only A", Right), ("only B", Right)]);
    for ((tenant, job), [a, b]) in rows.iter().take(JOBS_MAX) {
        let [only_a, only_b] = [a.saturating_sub(*b), b.saturating_sub(*a)].map(grouped);
        table.row([(*tenant).to_owned(), (*job).to_owned(), only_a, only_b]);
    }
    let more = rows.len().saturating_sub(JOBS_MAX);
    let more = if more > 0 { format!("  and {more} more\n") } else { String::new() };
    section(title, &table) + &more
}
