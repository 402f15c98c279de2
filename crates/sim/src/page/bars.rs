//! Bars: how long placed pods waited, and why others still wait.

use super::markup::{cut, escape};
use crate::report::{Report, WaitBucket};
use crate::text::{grouped, span};

/// The most groups of waiting pods that are shown.
const GROUPS_MAX: usize = 20;

/// How many pods waited how long.
pub(super) fn waits(report: &Report) -> String {
    const ROW: usize = 20;
    let buckets = &report.waits_ms;
    let used = |bucket: &WaitBucket| bucket.pods > 0;
    let Some(first) = buckets.iter().position(used) else {
        return "<p class=\"about\">No pod was placed.</p>".to_owned();
    };
    let last = buckets.iter().rposition(used).unwrap_or(first);
    let most = buckets.iter().map(|bucket| bucket.pods).max().unwrap_or(1).max(1);
    let height = (last - first + 1) * ROW + 4;
    let mut svg = format!(
        "<figure><figcaption>Pods by how long they waited</figcaption><svg viewBox=\"0 0 640 \
         {height}\" role=\"img\" aria-label=\"Pods by how long they waited\">"
    );
    for (at, bucket) in buckets.iter().enumerate().take(last + 1).skip(first) {
        let y = (at - first) * ROW;
        let label = match bucket.up_to_ms {
            Some(bound) => format!("up to {}", whole(bound)),
            None => "longer".to_owned(),
        };
        let width =
            (bucket.pods as f64 / most as f64 * 440.0).max(if bucket.pods > 0 { 1.0 } else { 0.0 });
        svg += &format!(
            "<text class=\"mark\" x=\"96\" y=\"{}\" text-anchor=\"end\">{label}</text>\
             <rect class=\"bar\" x=\"104\" y=\"{}\" width=\"{width:.1}\" height=\"14\" rx=\"2\">\
             <title>{label}: {2} pods</title></rect>\
             <text class=\"mark\" x=\"{3:.1}\" y=\"{0}\">{2}</text>",
            y + 14,
            y + 3,
            grouped(bucket.pods),
            110.0 + width,
        );
    }
    svg + "</svg></figure>"
}

/// A bound of a bucket, all of which are whole units.
fn whole(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{} s", ms / 1_000),
        60_000..3_600_000 => format!("{} min", ms / 60_000),
        3_600_000.. => format!("{} h", ms / 3_600_000),
    }
}

/// Groups of waiting pods, with a bar each.
pub(super) fn reasons(report: &Report) -> String {
    if report.waiting.is_empty() {
        return "<p class=\"about\">Nothing waits.</p>".to_owned();
    }
    let most = report.waiting.iter().map(|group| group.pods).max().unwrap_or(1).max(1);
    let mut rows = String::new();
    for group in report.waiting.iter().take(GROUPS_MAX) {
        let width = (group.pods * 100).div_ceil(most);
        rows += &format!(
            "<tr><td class=\"n\">{}</td><td class=\"strip\"><i style=\"width:{width}%\"></i></td>\
             <td>{}</td><td class=\"n\">{}</td><td class=\"why\">{}</td></tr>",
            grouped(group.pods),
            escape(&cut(&group.tenant, 40)),
            span(group.longest_ms),
            escape(&group.message),
        );
    }
    let more = report.waiting.len().saturating_sub(GROUPS_MAX);
    let more =
        if more > 0 { format!("<p class=\"about\">and {more} more</p>") } else { String::new() };
    format!(
        "<div class=\"scroll\"><table><thead><tr><th class=\"n\">pods</th><th></th>\
         <th>namespace</th><th class=\"n\">longest</th><th>why</th></tr></thead>\
         <tbody>{rows}</tbody></table></div>{more}"
    )
}
