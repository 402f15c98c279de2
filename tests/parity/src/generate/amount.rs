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

/// Spellings of cpu that a pod may use, some too small for a thousandth.
const ODD_CPU: [&str; 12] =
    ["0.1", "0.25", ".5", "1.", "+1", "1e-1", "5E-1", "100000u", "0", "0.0015", "1n", "1500u"];

/// Spellings of memory that a pod may use, from less than a byte to more than any node has.
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

/// Spellings of a node's cpu.
const ODD_NODE_CPU: [&str; 6] = ["0", "4.5", "+8", "4e0", "3500000u", "2.0005"];

/// Spellings of a node's memory. Exabytes would only show how 64-bit products overflow.
const ODD_NODE_MEMORY: [&str; 6] = ["0", "4294967297", "4e9", "5E9", "6.5Gi", "3000000000500m"];

/// A list of resources that a container, a pod or an overhead may carry.
pub(super) fn requests(draw: &mut Draw, theme: &Theme, size: Size) -> Value {
    let mut list = Map::new();
    if draw.chance(75) {
        list.insert("cpu".to_owned(), cpu(draw, theme, size));
    }
    if draw.chance(75) {
        list.insert("memory".to_owned(), memory(draw, theme, size));
    }
    if draw.chance(12) {
        list.insert("ephemeral-storage".to_owned(), memory(draw, theme, size));
    }
    if theme.rare_resources {
        for name in draw.subset(&SCALARS, 10) {
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
    if draw.chance(85) {
        list.insert("ephemeral-storage".to_owned(), memory(draw, theme, Size::Node));
    }
    if theme.rare_resources {
        for name in draw.subset(&SCALARS, 85) {
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
    let (usual, odd): (&[&str], &[&str]) = match size {
        Size::Node => (&["2", "4", "4", "8", "3500m", "16"], &ODD_NODE_CPU),
        Size::Running => (&["50m", "100m", "250m", "500m", "1"], &ODD_CPU),
        Size::Judged => (&["50m", "100m", "500m", "700m", "1", "1500m"], &ODD_CPU),
    };
    match theme.odd_amounts && draw.chance(40) {
        true if draw.chance(20) => draw.pick(&[json!(1), json!(0.5), json!(2)]).clone(),
        true => json!(draw.pick(odd)),
        false => json!(draw.pick(usual)),
    }
}

/// An amount of memory or storage.
pub(super) fn memory(draw: &mut Draw, theme: &Theme, size: Size) -> Value {
    let (usual, odd): (&[&str], &[&str]) = match size {
        Size::Node => (&["2Gi", "4Gi", "4Gi", "8Gi", "5000Mi", "4G", "16Gi"], &ODD_NODE_MEMORY),
        // Sums over many pods must stay within 64 bits.
        Size::Running => (&["64Mi", "100M", "256Mi", "512Mi", "1Gi"], &ODD_MEMORY[..13]),
        Size::Judged => (&["64Mi", "128Mi", "500M", "512Mi", "1Gi"], &ODD_MEMORY),
    };
    match theme.odd_amounts && draw.chance(40) {
        true if draw.chance(20) => draw.pick(&[json!(134_217_728), json!(1e9)]).clone(),
        true => json!(draw.pick(odd)),
        false => json!(draw.pick(usual)),
    }
}

fn scalar(draw: &mut Draw, theme: &Theme, name: &str, size: Size) -> Value {
    let is_huge_page = name.starts_with("hugepages-");
    if theme.odd_amounts && draw.chance(20) {
        return json!(draw.pick(&["0", "1500m", "1e0", "1k"]));
    }
    let usual: &[&str] = match (is_huge_page, size) {
        (true, Size::Node) => &["0", "64Mi", "1Gi", "4Gi", "4Gi"],
        (true, Size::Running | Size::Judged) => &["2Mi", "32Mi", "64Mi", "1Gi"],
        (false, Size::Node) => &["0", "2", "4", "8", "8"],
        (false, Size::Running | Size::Judged) => &["0", "1", "1", "2"],
    };
    json!(draw.pick(usual))
}
