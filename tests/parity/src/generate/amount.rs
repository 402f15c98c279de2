//! Quantities and lists of resources, in all their spellings.

use serde_json::{Map, Value, json};

use super::theme::Theme;
use crate::draw::Draw;

/// Who the amounts are for; they are chosen so that a judged pod fits on some nodes only.
#[derive(Debug, Clone, Copy)]
pub(super) enum Size {
    /// What a node offers.
    Node,
    /// What one container of a pod that is already there takes.
    Running,
    /// What one container of the pod to judge asks for.
    Judged,
}

/// Resources beyond cpu, memory and ephemeral storage that are compared with what a node offers.
pub(super) const SCALARS: [&str; 6] = [
    "nvidia.com/gpu",
    "example.com/foo",
    "hugepages-2Mi",
    "hugepages-1Gi",
    "attachable-volumes-csi-disk.example.com",
    "kubernetes.io/batch-cpu",
];

/// Names that look like resources and count for nothing.
const UNCOUNTED: [&str; 3] = ["foo", "storage", "requests.example.com/foo"];

/// Spellings of cpu, the last rows too small for a thousandth.
const ODD_CPU: [&str; 12] =
    ["0.1", "0.25", ".5", "1.", "+1", "1e-1", "5E-1", "100000u", "0", "0.0015", "1n", "1500u"];

/// Spellings of memory, from less than a byte to more than any node has.
const ODD_MEMORY: [&str; 14] = [
    "128974848",
    "129e6",
    "1E8",
    "1e3",
    "1k",
    "1Ki",
    "0.1Gi",
    "1.5Gi",
    "500m",
    "1n",
    "0",
    "0.5Ki",
    "+64Mi",
    "2E",
];

/// A list of resources that a container, a pod or an overhead may carry.
pub(super) fn requests(draw: &mut Draw, theme: &Theme, size: Size) -> Value {
    let mut list = Map::new();
    if draw.chance(75) {
        list.insert("cpu".to_owned(), cpu(draw, theme, size));
    }
    if draw.chance(75) {
        list.insert("memory".to_owned(), memory(draw, theme, size));
    }
    if draw.chance(20) {
        list.insert("ephemeral-storage".to_owned(), memory(draw, theme, size));
    }
    if theme.rare_resources {
        for name in draw.subset(&SCALARS, 20) {
            list.insert((*name).to_owned(), scalar(draw, theme, name, size));
        }
        for name in draw.subset(&UNCOUNTED, 5) {
            list.insert((*name).to_owned(), json!("7"));
        }
    }
    Value::Object(list)
}

/// What a node offers: some resources missing, some none left.
pub(super) fn allocatable(draw: &mut Draw, theme: &Theme) -> Value {
    let mut list = Map::new();
    if draw.chance(98) {
        list.insert("cpu".to_owned(), cpu(draw, theme, Size::Node));
    }
    if draw.chance(98) {
        list.insert("memory".to_owned(), memory(draw, theme, Size::Node));
    }
    if draw.chance(75) {
        list.insert("ephemeral-storage".to_owned(), memory(draw, theme, Size::Node));
    }
    if theme.rare_resources {
        for name in draw.subset(&SCALARS, 60) {
            list.insert((*name).to_owned(), scalar(draw, theme, name, Size::Node));
        }
        for name in draw.subset(&UNCOUNTED, 5) {
            list.insert((*name).to_owned(), json!("1"));
        }
    }
    let pods = match (theme.crowded, draw.chance(3)) {
        (_, true) => None,
        (true, false) => Some(draw.pick(&["0", "1", "2", "3", "4"])),
        (false, false) => Some(draw.pick(&["10", "110", "2e1"])),
    };
    if let Some(pods) = pods {
        list.insert("pods".to_owned(), json!(pods));
    }
    Value::Object(list)
}

/// An amount of cpu.
pub(super) fn cpu(draw: &mut Draw, theme: &Theme, size: Size) -> Value {
    if theme.odd_amounts && draw.chance(40) {
        return match draw.between(0, 7) {
            0 => json!(1),
            1 => json!(0.5),
            _ => json!(draw.pick(&ODD_CPU)),
        };
    }
    let usual: &[&str] = match size {
        Size::Node => &["1", "2", "2", "4", "1500m", "8"],
        Size::Running => &["50m", "100m", "250m", "500m", "1"],
        Size::Judged => &["50m", "100m", "500m", "700m", "1", "1500m", "2"],
    };
    json!(draw.pick(usual))
}

/// An amount of memory or storage.
pub(super) fn memory(draw: &mut Draw, theme: &Theme, size: Size) -> Value {
    if theme.odd_amounts && draw.chance(40) {
        // A node with exabytes would only show how 64-bit products overflow.
        let odd = if matches!(size, Size::Judged) { &ODD_MEMORY[..] } else { &ODD_MEMORY[..13] };
        return if draw.chance(15) { json!(134_217_728) } else { json!(draw.pick(odd)) };
    }
    let usual: &[&str] = match size {
        Size::Node => &["1Gi", "2Gi", "2Gi", "4Gi", "3000Mi", "2G", "16Gi"],
        Size::Running => &["64Mi", "100M", "256Mi", "512Mi", "1Gi"],
        Size::Judged => &["64Mi", "128Mi", "500M", "512Mi", "1Gi", "2Gi"],
    };
    json!(draw.pick(usual))
}

fn scalar(draw: &mut Draw, theme: &Theme, name: &str, size: Size) -> Value {
    let is_huge_page = name.starts_with("hugepages-");
    if theme.odd_amounts && draw.chance(20) {
        return json!(draw.pick(&["0", "1500m", "1e0", "1k"]));
    }
    let usual: &[&str] = match (is_huge_page, size) {
        (true, Size::Node) => &["0", "64Mi", "128Mi", "1Gi", "4Gi"],
        (true, Size::Running | Size::Judged) => &["2Mi", "32Mi", "64Mi", "1Gi"],
        (false, Size::Node) => &["0", "1", "2", "4", "8"],
        (false, Size::Running | Size::Judged) => &["0", "1", "1", "2", "3"],
    };
    json!(draw.pick(usual))
}
