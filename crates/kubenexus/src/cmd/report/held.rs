//! Who holds what inside nodes, and how many pods kubelets refused.

use sim::{HeldReport, KubeletReport, PodHeld};

use super::section;
use crate::cmd::table::Align::{Left, Wrap};
use crate::cmd::table::{Table, grouped, percent};

/// The most rows that are shown.
const ROWS_MAX: usize = 40;
/// The longest texts that are shown.
const NODE_MAX: usize = 16;
const POD_MAX: usize = 24;
const ZONES_MAX: usize = 8;
const DEVICES_MAX: usize = 18;
const CPUS_MAX: usize = 60;

/// How many of the pods that kubelets had to align they refused.
pub(super) fn kubelets(report: &KubeletReport) -> String {
    let reasons =
        report.reasons.iter().map(|(reason, pods)| format!("{reason} {}", grouped(*pods)));
    let reasons: Vec<String> = reasons.collect();
    let reasons =
        if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join(", ")) };
    format!(
        "Kubelets\n  had to align {} pods and rejected {} of them, {}{reasons}\n",
        grouped(report.aligned),
        grouped(report.rejected),
        percent(report.rejected_permille),
    )
}

/// Who holds what.
pub(super) fn held(report: &HeldReport) -> String {
    let mut table = Table::new(&[
        ("node", Left),
        ("pod", Left),
        ("zones", Left),
        ("devices", Left),
        ("CPUs", Wrap),
        ("known by", Left),
    ]);
    let all = || report.nodes.iter().flat_map(|node| node.pods.iter().map(move |pod| (node, pod)));
    for (node, pod) in all().take(ROWS_MAX) {
        let mut cells = vec![cut(&node.node, NODE_MAX)];
        cells.extend(cells_of(pod));
        table.row(cells);
    }
    let left_out: u64 = report.nodes.iter().map(|node| node.pods_left_out).sum();
    let left_out = left_out + all().count().saturating_sub(ROWS_MAX) as u64;
    let mut text = section("Inside nodes at the end: what pods have to themselves", &table);
    if left_out > 0 || report.nodes_left_out > 0 {
        let (pods, nodes) = (grouped(left_out), grouped(report.nodes_left_out));
        text += &format!("  and {pods} pods, and {nodes} nodes that are not listed\n");
    }
    text
}

fn cells_of(pod: &PodHeld) -> [String; 5] {
    let zones: Vec<String> = pod.zones.iter().map(ToString::to_string).collect();
    // The domain of a resource says less than its name.
    let devices = pod.devices.iter().map(|of| {
        let name = of.resource.rsplit('/').next().unwrap_or(&of.resource);
        format!("{name} {}", of.numbers())
    });
    let devices = devices.collect::<Vec<_>>().join("; ");
    [
        cut(&format!("{}/{}", pod.tenant, pod.pod), POD_MAX),
        cut(&zones.join(","), ZONES_MAX),
        cut(&devices, DEVICES_MAX),
        // Broken at spaces where it is too long.
        cut(&pod.cpus.replace(',', ", "), CPUS_MAX),
        pod.source.word().to_owned(),
    ]
}

/// A text of a bounded length, with dots where it was cut.
fn cut(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
