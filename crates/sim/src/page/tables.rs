//! Tables by namespace.

use super::markup::{cut, escape};
use crate::report::{Placement, PodCounts, Report};
use crate::text::{grouped, span};

/// The most namespaces that are shown.
const TENANTS_MAX: usize = 40;

/// How long pods waited.
pub(super) fn placement(report: &Report) -> String {
    let row = |name: &str, placed: u64, times: Option<Placement>| {
        let times = match times {
            Some(times) => [times.p50_ms, times.p90_ms, times.p99_ms, times.max_ms].map(span),
            None => ["-"; 4].map(str::to_owned),
        };
        let mut cells = vec![grouped(placed)];
        cells.extend(times);
        self::row(name, &cells)
    };
    let tenants = report.tenants.iter().take(TENANTS_MAX);
    let rows: String =
        tenants.map(|one| row(&one.tenant, one.pods.placed, one.placement)).collect();
    let all = row("all", report.pods.placed, report.placement);
    table(&["placed", "p50", "p90", "p99", "longest"], &rows, &all)
}

/// What became of pods.
pub(super) fn pods(report: &Report) -> String {
    let row = |name: &str, pods: &PodCounts| {
        let PodCounts {
            created,
            given,
            placed,
            running,
            finished,
            evicted,
            deleted,
            binding,
            waiting,
        } = pods;
        let counts =
            [created, given, placed, running, finished, evicted, deleted, binding, waiting];
        self::row(name, &counts.map(|count| grouped(*count)))
    };
    let tenants = report.tenants.iter().take(TENANTS_MAX);
    let rows: String = tenants.map(|one| row(&one.tenant, &one.pods)).collect();
    let heads = [
        "created", "bound", "placed", "running", "finished", "evicted", "deleted", "binding",
        "waiting",
    ];
    table(&heads, &rows, &row("all", &report.pods))
}

fn row(name: &str, cells: &[String]) -> String {
    let cells: String = cells.iter().map(|cell| format!("<td class=\"n\">{cell}</td>")).collect();
    format!("<tr><td>{}</td>{cells}</tr>", escape(&cut(name, 40)))
}

fn table(heads: &[&str], rows: &str, total: &str) -> String {
    let heads: String = heads.iter().map(|head| format!("<th class=\"n\">{head}</th>")).collect();
    format!(
        "<div class=\"scroll\"><table><thead><tr><th>namespace</th>{heads}</tr></thead>\
         <tbody>{rows}</tbody><tfoot>{total}</tfoot></table></div>"
    )
}
