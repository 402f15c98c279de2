//! Maps: every GPU and the pod that holds it; without GPUs, every node and how full it is.

use std::collections::BTreeMap;

use super::Part;
use super::markup::{cut, escape};
use super::plot::COLOURS;
use crate::map::{ClusterMap, GpuHolder, NodeOnMap};
use crate::text::{grouped, percent, span};

/// The most nodes that are drawn.
const NODES_MAX: usize = 2_000;
/// The side of a GPU, its gap included.
const CELL: u64 = 14;
/// The most GPUs of a node that are drawn.
const GPUS_MAX: u64 = 16;
/// How wide a map is.
const WIDTH: u64 = 640;

/// A colour for each namespace that holds GPUs, the same on all maps.
pub(super) struct Colours(Vec<String>);

impl Colours {
    /// Those that hold most come first; beyond the colours there are, all share the last.
    pub(super) fn of(parts: &[Part]) -> Self {
        let mut held: BTreeMap<&str, u64> = BTreeMap::new();
        let nodes = parts.iter().flat_map(|part| &part.maps).flat_map(|map| &map.nodes);
        for holder in nodes.flat_map(|node| &node.holders) {
            *held.entry(&holder.tenant).or_default() += holder.gpus;
        }
        let mut tenants: Vec<(&str, u64)> = held.into_iter().collect();
        // Stable: those that hold as much stay in the order of their names.
        tenants.sort_by_key(|(_, gpus)| std::cmp::Reverse(*gpus));
        Self(tenants.into_iter().map(|(tenant, _)| tenant.to_owned()).collect())
    }

    fn colour(&self, tenant: &str) -> usize {
        let at = self.0.iter().position(|one| one == tenant).unwrap_or(COLOURS);
        at.min(COLOURS - 1)
    }

    pub(super) fn legend(&self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        let named = self.0.iter().take(COLOURS - 1).enumerate();
        let entry = |(at, name): (usize, &String)| {
            let name = escape(&cut(name, 40));
            format!("<span class=\"key\"><i class=\"c{at}\"></i>{name}</span>")
        };
        let mut entries: String = named.map(entry).collect();
        if self.0.len() >= COLOURS {
            entries +=
                &format!("<span class=\"key\"><i class=\"c{}\"></i>others</span>", COLOURS - 1);
        }
        entries += "<span class=\"key\"><i class=\"free\"></i>free</span>";
        format!("<p class=\"legend\">{entries}</p>")
    }
}

/// What the maps show.
pub(super) fn about(parts: &[Part]) -> &'static str {
    if parts.iter().flat_map(|part| &part.maps).any(has_gpus) {
        "<p class=\"about\">Every node with GPUs; a bar is a pod, as long as the GPUs it holds, \
         at the numbers of these GPUs where they are known. \
         A dashed frame is a node closed to new pods.</p>"
    } else {
        "<p class=\"about\">Every node; the darker, the more of its CPU or memory is requested, \
         whichever is more. A dashed frame is a node closed to new pods.</p>"
    }
}

/// All maps of a run.
pub(super) fn all(part: &Part, colours: &Colours) -> String {
    part.maps.iter().map(|map| one(part, map, colours)).collect()
}

fn has_gpus(map: &ClusterMap) -> bool {
    map.nodes.iter().any(|node| node.gpus > 0)
}

fn one(part: &Part, map: &ClusterMap, colours: &Colours) -> String {
    let is_of_gpus = has_gpus(map);
    let mut text = format!("<h4>After {}</h4>", span(map.at_ms));
    let shown = |node: &&NodeOnMap| node.gpus > 0 || !is_of_gpus;
    for (at, pool) in part.report.pools.iter().enumerate() {
        let nodes = map.nodes.iter().filter(shown).filter(|node| node.pool == at);
        let nodes: Vec<&NodeOnMap> = nodes.collect();
        if nodes.is_empty() {
            continue;
        }
        let drawn = &nodes[..nodes.len().min(NODES_MAX)];
        let svg = if is_of_gpus { gpus(drawn, colours) } else { squares(drawn) };
        let more = nodes.len() - drawn.len();
        let more = if more > 0 { format!(", {more} of them not drawn") } else { String::new() };
        text += &format!(
            "<figure><figcaption>{} <small>{} nodes{more}</small></figcaption>{svg}</figure>",
            escape(&cut(&pool.pool, 60)),
            grouped(nodes.len() as u64),
        );
    }
    text
}

/// Nodes in rows, each with its GPUs.
fn gpus(nodes: &[&NodeOnMap], colours: &Colours) -> String {
    const LABEL: u64 = 12;
    const GAP: u64 = 10;
    let widest = nodes.iter().map(|node| node.gpus.min(GPUS_MAX)).max().unwrap_or(1);
    let width = widest * CELL + 4;
    let columns = ((WIDTH + GAP) / (width + GAP)).max(1);
    let rows = (nodes.len() as u64).div_ceil(columns);
    let pitch = LABEL + CELL + 12;
    let mut svg = open(rows * pitch);
    for (at, node) in (0u64..).zip(nodes) {
        let (x, y) = (at % columns * (width + GAP), at / columns * pitch);
        let length = usize::try_from(width / 6).expect("a few dozen").max(6);
        svg += &format!(
            "<g transform=\"translate({x} {y})\"><text class=\"node\" x=\"0\" y=\"9\">{}</text>\
             <rect class=\"frame{}\" x=\"0\" y=\"{LABEL}\" width=\"{}\" height=\"{}\" rx=\"3\">\
             <title>{}</title></rect>",
            escape(&cut(&node.name, length)),
            if node.is_closed { " closed" } else { "" },
            node.gpus.min(GPUS_MAX) * CELL + 4,
            CELL + 4,
            escape(&about_node(node)),
        );
        svg += &cells(node, LABEL + 3, colours);
        svg += "</g>";
    }
    svg + "</svg>"
}

/// The pods of a node that hold GPUs, and the GPUs that are free.
fn cells(node: &NodeOnMap, y: u64, colours: &Colours) -> String {
    let side = CELL - 2;
    let mut text = String::new();
    let mut from = 0;
    for run in holders(node).chunk_by(|one, other| one == other && one.is_some()) {
        let (x, count) = (from * CELL + 3, run.len() as u64);
        from += count;
        text += &match run[0] {
            Some(at) => format!(
                "<rect class=\"held c{}\" x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{side}\" \
                 rx=\"2\"><title>{}</title></rect>",
                colours.colour(&node.holders[at].tenant),
                count * CELL - 2,
                escape(&about_holder(node, &node.holders[at])),
            ),
            None => format!(
                "<rect class=\"free\" x=\"{x}\" y=\"{y}\" width=\"{side}\" height=\"{side}\" \
                 rx=\"2\"/>"
            ),
        };
    }
    text
}

/// For each GPU that is drawn who holds it, by the place among the holders: where it is known which
/// they hold, that one, else the first that are left.
fn holders(node: &NodeOnMap) -> Vec<Option<usize>> {
    let mut cells = vec![None; usize::try_from(node.gpus.min(GPUS_MAX)).unwrap_or(0)];
    let mut unknown = Vec::new();
    for (at, holder) in node.holders.iter().enumerate() {
        for index in &holder.indices {
            if let Some(cell) = cells.get_mut(*index as usize) {
                *cell = cell.or(Some(at));
            }
        }
        if holder.indices.is_empty() {
            let gpus = usize::try_from(holder.gpus).unwrap_or(usize::MAX).min(cells.len());
            unknown.extend(std::iter::repeat_n(at, gpus));
        }
    }
    let free = cells.iter_mut().filter(|cell| cell.is_none());
    free.zip(unknown).for_each(|(cell, at)| *cell = Some(at));
    cells
}

fn about_holder(node: &NodeOnMap, holder: &GpuHolder) -> String {
    let GpuHolder { tenant, pod, gpus, indices, source } = holder;
    let which = source.map_or(String::new(), |source| {
        let indices: Vec<_> = indices.iter().map(ToString::to_string).collect();
        format!("\nGPU {}, {}", indices.join(", "), source.word())
    });
    format!("{tenant}/{pod}: {gpus} GPUs{which}\n{}", node.name)
}

/// Nodes as squares, shaded by how full they are.
fn squares(nodes: &[&NodeOnMap]) -> String {
    const SIDE: u64 = 18;
    let columns = WIDTH / SIDE;
    let mut svg = open((nodes.len() as u64).div_ceil(columns) * SIDE);
    for (at, node) in (0u64..).zip(nodes) {
        let (x, y) = (at % columns * SIDE + 1, at / columns * SIDE + 1);
        let full = node.cpu_permille.max(node.memory_permille).min(1000);
        svg += &format!(
            "<rect class=\"full{}\" x=\"{x}\" y=\"{y}\" width=\"{1}\" height=\"{1}\" rx=\"3\" \
             fill-opacity=\"{2:.2}\"><title>{3}</title></rect>",
            if node.is_closed { " closed" } else { "" },
            SIDE - 3,
            0.06 + 0.94 * f64::from(full) / 1000.0,
            escape(&about_node(node)),
        );
    }
    svg + "</svg>"
}

fn about_node(node: &NodeOnMap) -> String {
    let held: u64 = node.holders.iter().map(|holder| holder.gpus).sum();
    let gpus =
        if node.gpus > 0 { format!("\nGPUs: {held} of {}", node.gpus) } else { String::new() };
    format!(
        "{}\ncpu: {}\nmemory: {}{gpus}\npods: {}{}",
        node.name,
        percent(node.cpu_permille),
        percent(node.memory_permille),
        grouped(node.pods),
        if node.is_closed { "\nclosed to new pods" } else { "" },
    )
}

fn open(height: u64) -> String {
    format!(
        "<svg class=\"map\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"map of \
         nodes\">"
    )
}
