//! Who holds what inside nodes, and how many pods kubelets refused.

use super::markup::{cut, escape};
use crate::held::{HeldReport, NodeHeld, PodHeld};
use crate::report::{KubeletReport, Report};
use crate::text::{grouped, percent};

/// The most rows that are shown.
const ROWS_MAX: usize = 400;
/// The longest list of CPUs or devices that is shown.
const LIST_MAX: usize = 80;

pub(super) fn all(report: &Report) -> String {
    let mut text = report.kubelets.as_ref().map_or(String::new(), kubelets);
    match &report.held {
        Some(held) => text += &table(held),
        None => text += "<p class=\"about\">Nobody holds anything.</p>",
    }
    text
}

fn kubelets(report: &KubeletReport) -> String {
    let reasons = report.reasons.iter().map(|(reason, pods)| format!(", {reason} {pods}"));
    format!(
        "<p class=\"about\">Kubelets had to align {} pods and refused {} of them, {}{}.</p>",
        grouped(report.aligned),
        grouped(report.rejected),
        percent(report.rejected_permille),
        reasons.collect::<String>(),
    )
}

fn table(held: &HeldReport) -> String {
    let all = held.nodes.iter().flat_map(|node| node.pods.iter().map(move |pod| (node, pod)));
    let count = all.clone().count();
    let rows: String = all.take(ROWS_MAX).map(|(node, pod)| row(node, pod)).collect();
    let left_out: u64 = held.nodes.iter().map(|node| node.pods_left_out).sum();
    let left_out = left_out + count.saturating_sub(ROWS_MAX) as u64;
    let mut more = String::new();
    if left_out > 0 || held.nodes_left_out > 0 {
        let (pods, nodes) = (grouped(left_out), grouped(held.nodes_left_out));
        more = format!("<p class=\"about\">Not shown: {pods} pods, and {nodes} more nodes.</p>");
    }
    let heads = ["node", "pod", "zones", "devices", "CPUs", "known by"];
    let heads: String = heads.iter().map(|head| format!("<th>{head}</th>")).collect();
    format!(
        "<div class=\"scroll\"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>\
         </div>{more}"
    )
}

fn row(node: &NodeHeld, pod: &PodHeld) -> String {
    let cells = [
        node.node.clone(),
        format!("{}/{}", pod.tenant, pod.pod),
        numbers(&pod.zones),
        pod.devices_text(),
        pod.cpus.clone(),
        pod.source.word().to_owned(),
    ];
    let cell = |text: &String| format!("<td>{}</td>", escape(&cut(text, LIST_MAX)));
    format!("<tr>{}</tr>", cells.iter().map(cell).collect::<String>())
}

fn numbers(numbers: &[u32]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}
