//! The result of a run as tables.

mod held;
mod room;

use sim::{Placement, PodCounts, PoolReport, Report, Sample, Share, TenantReport};

use super::table::Align::{Left, Right, Wrap};
use super::table::{Table, grouped, percent, percent_bar, span, sparks};

/// How many characters a line over time has.
const SPARKS: usize = 60;

/// The whole result, as it is printed, with what its reader should know first.
pub(crate) fn text(report: &Report, notes: &[String]) -> String {
    let head = format!(
        "{} nodes, {} of virtual time, seed {}: {} decisions, hash {}\n",
        grouped(report.nodes),
        span(report.span_ms),
        report.seed,
        grouped(report.bindings + report.waits),
        report.decision_hash,
    );
    let mut sections = vec![head];
    if !notes.is_empty() {
        let mut table = Table::new(&[("Note", Wrap)]);
        notes.iter().for_each(|note| table.row([note.clone()]));
        sections.push(table.plain());
    }
    sections.extend([
        section("Pods", &pods(report)),
        section("Time to placement, in virtual time", &placement(report)),
        section(
            "Utilisation: requested of allocatable, at the end and as a mean over time",
            &pools(report),
        ),
    ]);
    sections.extend(fragmentation(report));
    sections.extend([over_time(report)]);
    sections.extend(report.kubelets.as_ref().map(held::kubelets));
    sections.extend(report.held.as_ref().map(held::held));
    sections.extend(report.gpu_room.as_ref().map(room::room));
    sections.push(waiting(report));
    sections.join("\n")
}

pub(crate) fn section(title: &str, table: &Table) -> String {
    format!("{title}\n{}", table.text())
}

/// A number of pods among their counts.
type Count = fn(&PodCounts) -> u64;

fn pods(report: &Report) -> Table {
    let mut columns: Vec<(&str, Count)> = vec![("created", |pods| pods.created)];
    if report.pods.given > 0 {
        columns.push(("bound", |pods| pods.given));
    }
    columns.extend::<[(&str, Count); 6]>([
        ("placed", |pods| pods.placed),
        ("running", |pods| pods.running),
        ("finished", |pods| pods.finished),
        ("evicted", |pods| pods.evicted),
        ("binding", |pods| pods.binding),
        ("waiting", |pods| pods.waiting),
    ]);
    let mut heads = vec![("namespace", Left)];
    heads.extend(columns.iter().map(|(head, _)| (*head, Right)));
    heads.push(("of all", Left));
    let mut table = Table::new(&heads);
    let mut row = |name: &str, pods: &PodCounts| {
        let mut cells = vec![name.to_owned()];
        cells.extend(columns.iter().map(|(_, count)| grouped(count(pods))));
        let arrived = pods.created - pods.given;
        let bar = || percent_bar(permille(pods.placed, arrived));
        cells.push(if arrived > 0 { bar() } else { "-".to_owned() });
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
        ("p90", Right),
        ("p99", Right),
        ("longest", Right),
    ]);
    let mut row = |name: &str, placed: u64, times: Option<Placement>| {
        let times = match times {
            Some(times) => [times.p50_ms, times.p90_ms, times.p99_ms, times.max_ms].map(span),
            None => ["-"; 4].map(str::to_owned),
        };
        let mut cells = vec![name.to_owned(), grouped(placed)];
        cells.extend(times);
        table.row(cells);
    };
    for TenantReport { tenant, pods, placement } in &report.tenants {
        row(tenant, pods.placed, *placement);
    }
    row("all", report.pods.placed, report.placement);
    table.last_is_total();
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
    for pool in report.pools.iter().chain([&report.cluster]) {
        let mut cells = vec![pool.pool.clone(), grouped(pool.nodes)];
        for share in [Some(pool.cpu), Some(pool.memory), pool.gpu] {
            cells.extend(share_cells(share));
        }
        table.row(cells);
    }
    table.last_is_total();
    table
}

/// How much of what is free is of no use, where that can be said.
fn fragmentation(report: &Report) -> Option<String> {
    let shares = |pool: &PoolReport| {
        let found = pool.fragmentation;
        [found.cpu, found.memory, found.gpu]
    };
    shares(&report.cluster).iter().any(Option::is_some).then(|| {
        let heads = [("cpu", Left), ("mean", Right), ("memory", Left), ("mean", Right)];
        let mut table = Table::new(
            &[&[("pool", Left)][..], &heads, &[("gpu", Left), ("mean", Right)]].concat(),
        );
        for pool in report.pools.iter().chain([&report.cluster]) {
            let mut cells = vec![pool.pool.clone()];
            cells.extend(shares(pool).into_iter().flat_map(share_cells));
            table.row(cells);
        }
        table.last_is_total();
        section("Fragmentation: free, but where a pod of this workload does not fit", &table)
    })
}

/// One line per figure, one character per stretch of time.
fn over_time(report: &Report) -> String {
    let samples = &report.history;
    let step = span(report.span_ms.div_ceil(SPARKS.min(samples.len()).max(1) as u64));
    let mut table = Table::new(&[("", Left), ("least", Right), ("most", Right), ("", Left)]);
    let mut row = |name: &str, values: Vec<Option<u64>>, unit: fn(u64) -> String| {
        let known = || values.iter().copied().flatten();
        let (Some(low), Some(high)) = (known().min(), known().max()) else { return };
        table.row([name.to_owned(), unit(low), unit(high), sparks(&values, SPARKS)]);
    };
    let of = |value: fn(&Sample) -> Option<u32>| -> Vec<Option<u64>> {
        samples.iter().map(|sample| value(sample).map(u64::from)).collect()
    };
    let permille = |value: u64| percent(u32::try_from(value).unwrap_or(u32::MAX));
    row("cpu used", of(|sample| Some(sample.all.cpu.used_permille)), permille);
    row("memory used", of(|sample| Some(sample.all.memory.used_permille)), permille);
    row("GPUs used", of(|sample| sample.all.gpu.map(|gpu| gpu.used_permille)), permille);
    row("cpu fragmented", of(|sample| sample.all.cpu.fragmented_permille), permille);
    row("GPUs fragmented", of(|sample| sample.all.gpu?.fragmented_permille), permille);
    row("pods waiting", samples.iter().map(|sample| Some(sample.waiting)).collect(), grouped);
    section(&format!("Over time, {step} per character"), &table)
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
            let text = text(&report, &["word ".repeat(40)]);
            assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
            for part in [
                "Pods\n",
                "Time to placement",
                "Utilisation",
                "Over time",
                "Waiting, and why",
                "0/",
            ] {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
    }
}
