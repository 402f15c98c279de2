//! The result of a demo as tables.

use sim::{PodCounts, Report, Share, TenantReport};

use super::table::Align::{Left, Right, Wrap};
use super::table::{Table, grouped, percent, percent_bar, span};

/// The whole result, as it is printed.
pub(super) fn text(report: &Report) -> String {
    let head = format!(
        "{} nodes, {} virtual minutes, seed {}: {} decisions, hash {}",
        grouped(report.nodes),
        grouped(report.span_ms / 60_000),
        report.seed,
        grouped(report.bindings + report.waits),
        report.decision_hash,
    );
    let sections = [
        head + "\n",
        section("Pods", &pods(report)),
        section("Time to placement, in virtual time", &placement(report)),
        section(
            "Utilisation: requested of allocatable, at the end and as a mean over time",
            &pools(report),
        ),
        waiting(report),
    ];
    sections.join("\n")
}

fn section(title: &str, table: &Table) -> String {
    format!("{title}\n{}", table.text())
}

fn pods(report: &Report) -> Table {
    let mut table = Table::new(&[
        ("namespace", Left),
        ("created", Right),
        ("placed", Right),
        ("running", Right),
        ("finished", Right),
        ("evicted", Right),
        ("binding", Right),
        ("waiting", Right),
        ("placed of created", Left),
    ]);
    let mut row = |name: &str, pods: &PodCounts| {
        let counts = [
            pods.created,
            pods.placed,
            pods.running,
            pods.finished,
            pods.evicted,
            pods.binding,
            pods.waiting,
        ];
        let mut cells = vec![name.to_owned()];
        cells.extend(counts.map(grouped));
        cells.push(percent_bar(permille(pods.placed, pods.created)));
        table.row(cells);
    };
    for TenantReport { tenant, pods, .. } in &report.tenants {
        row(tenant, pods);
    }
    row("all", &report.pods);
    table.last_is_total();
    table
}

fn permille(part: u64, whole: u64) -> u32 {
    let permille = (part * 1000).checked_div(whole).unwrap_or(0);
    u32::try_from(permille).expect("a part is not larger than the whole")
}

fn placement(report: &Report) -> Table {
    let mut table = Table::new(&[
        ("namespace", Left),
        ("placed", Right),
        ("p50", Right),
        ("p99", Right),
        ("longest", Right),
    ]);
    for tenant in &report.tenants {
        let times = match tenant.placement {
            Some(times) => [times.p50_ms, times.p99_ms, times.max_ms].map(span),
            None => ["-"; 3].map(str::to_owned),
        };
        let mut cells = vec![tenant.tenant.clone(), grouped(tenant.pods.placed)];
        cells.extend(times);
        table.row(cells);
    }
    table
}

fn pools(report: &Report) -> Table {
    let mut table = Table::new(&[
        ("pool", Left),
        ("nodes", Right),
        ("cpu", Left),
        ("mean", Right),
        ("memory", Left),
        ("mean", Right),
        ("gpu", Left),
        ("mean", Right),
    ]);
    for pool in &report.pools {
        let mut cells = vec![pool.pool.clone(), grouped(pool.nodes)];
        for share in [Some(pool.cpu), Some(pool.memory), pool.gpu] {
            cells.extend(share_cells(share));
        }
        table.row(cells);
    }
    table
}

fn share_cells(share: Option<Share>) -> [String; 2] {
    match share {
        Some(share) => [percent_bar(share.end_permille), percent(share.mean_permille)],
        None => ["-".to_owned(), "-".to_owned()],
    }
}

fn waiting(report: &Report) -> String {
    if report.waiting.is_empty() {
        return "Waiting\n  nothing waits\n".to_owned();
    }
    let mut table =
        Table::new(&[("pods", Right), ("namespace", Left), ("longest", Right), ("why", Wrap)]);
    for group in &report.waiting {
        table.row([
            grouped(group.pods),
            group.tenant.clone(),
            span(group.longest_ms),
            group.message.clone(),
        ]);
    }
    section("Waiting, and why: what the pod that waits longest was told", &table)
}

#[cfg(test)]
mod tests {
    use sim::{Demo, Run};

    use super::*;

    #[test]
    fn the_result_fits_a_terminal_and_has_all_tables() {
        for nodes in [1, 10, 50] {
            let report = Run::new(Demo { seed: 42, nodes, minutes: 3 }.plan()).finish().unwrap();
            let text = text(&report);
            assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
            for part in ["Pods\n", "Time to placement", "Utilisation", "Waiting, and why", "0/"] {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
    }
}
