//! Reports as one page that needs nothing else: text, tables, plots and maps, in light and dark.
//!
//! Everything that comes from files is escaped where it is written, in `markup`.

mod bars;
mod held;
mod maps;
mod markup;
mod plot;
mod tables;

use crate::history::{Level, Levels, Sample};
use crate::map::ClusterMap;
use crate::report::Report;
use crate::text::{grouped, percent, span};
use markup::escape;
use plot::{Line, Plot, Unit};

/// A run on the page.
#[derive(Clone, Debug)]
pub struct Part {
    /// What it is called; empty if nobody gave it a name.
    pub name: String,
    /// What its reader should know.
    pub notes: Vec<String>,
    /// What came of it.
    pub report: Report,
    /// Who was where, at some moments.
    pub maps: Vec<ClusterMap>,
}

/// The page: one run, or several beside each other.
#[must_use]
pub fn page(parts: &[Part]) -> String {
    let mut body = header(parts);
    body += &section("Utilisation over time", USED, &columns(parts, utilisation));
    body += &section(
        "Pods that wait",
        "Pods without a node, over time.",
        &columns(parts, |part| queue(part, parts)),
    );
    body += &section("Fragmentation over time", FRAGMENTED, &columns(parts, fragmentation));
    body += &section(
        "Time to placement",
        WAITED,
        &columns(parts, |part| bars::waits(&part.report) + &tables::placement(&part.report)),
    );
    body += &section(
        "Pods",
        "What became of them, by namespace.",
        &columns(parts, |part| tables::pods(&part.report)),
    );
    body += &section(
        "Waiting at the end, and why",
        WHY,
        &columns(parts, |part| bars::reasons(&part.report)),
    );
    if parts.iter().any(|part| part.report.held.is_some() || part.report.kubelets.is_some()) {
        let about = "What pods have to themselves inside nodes at the end.";
        body += &section("Inside nodes", about, &columns(parts, |part| held::all(&part.report)));
    }
    if parts.iter().any(|part| !part.maps.is_empty()) {
        let colours = maps::Colours::of(parts);
        let about = format!("{}{}", maps::about(parts), colours.legend());
        let maps = columns(parts, |part| maps::all(part, &colours));
        body += &format!("<section><h2>Who is where</h2>{about}{maps}</section>\n");
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>KubeNexus simulation</title>\n<style>\n{}</style>\n</head>\n\
         <body class=\"of-{}\">\n{body}</body>\n</html>\n",
        include_str!("page/style.css"),
        parts.len().min(2),
    )
}

const USED: &str = "Requested of allocatable, by pool of nodes.";
const FRAGMENTED: &str = "Of what is free, the part that is of no use: the chance that a pod of \
                          this workload does not fit where a free unit is.";
const WAITED: &str = "Virtual time from the moment a pod may be scheduled to its accepted binding.";
const WHY: &str = "What the pod of each group that waits longest was told.";

fn section(title: &str, about: &str, content: &str) -> String {
    format!("<section><h2>{title}</h2><p class=\"about\">{about}</p>{content}</section>\n")
}

/// The same of every run, side by side.
fn columns(parts: &[Part], content: impl Fn(&Part) -> String) -> String {
    let column = |(at, part): (usize, &Part)| {
        let name = match parts {
            [_] => String::new(),
            _ => format!("<h3>{}</h3>", letter(at)),
        };
        format!("<div class=\"column\">{name}{}</div>", content(part))
    };
    let columns: String = parts.iter().enumerate().map(column).collect();
    format!("<div class=\"columns\">{columns}</div>")
}

fn letter(at: usize) -> char {
    char::from(b'A' + u8::try_from(at.min(25)).expect("it was just bounded"))
}

fn header(parts: &[Part]) -> String {
    let mut text = String::from("<header><h1>Simulation</h1>");
    if let Some(part) = parts.first() {
        let report = &part.report;
        text += &format!(
            "<p class=\"about\">{} nodes, {} of virtual time, seed {}.</p>",
            grouped(report.nodes),
            span(report.span_ms),
            report.seed
        );
    }
    for (at, part) in parts.iter().enumerate() {
        if parts.len() > 1 {
            let (letter, name) = (letter(at), escape(&part.name));
            text += &format!("<p class=\"about\"><b>{letter}</b> {name}</p>");
        }
        text.extend(
            part.notes.iter().map(|note| format!("<p class=\"note\">{}</p>", escape(note))),
        );
    }
    text + "</header>\n" + &columns(parts, |part| tiles(&part.report))
}

/// The figures that most people look for first.
fn tiles(report: &Report) -> String {
    let wait = report.placement.map_or("-".to_owned(), |one| span(one.p50_ms));
    let long = report.placement.map_or("-".to_owned(), |one| span(one.p99_ms));
    let (resource, used, fragmented) = match (report.cluster.gpu, report.cluster.fragmentation) {
        (Some(gpu), fragmentation) => ("GPUs", gpu, fragmentation.gpu),
        (None, fragmentation) => ("CPU", report.cluster.cpu, fragmentation.cpu),
    };
    let fragmented = fragmented.map_or("-".to_owned(), |share| percent(share.mean_permille));
    let tiles = [
        (grouped(report.pods.placed), "pods placed".to_owned()),
        (grouped(report.pods.waiting), "waiting at the end".to_owned()),
        (wait, "half waited no longer".to_owned()),
        (long, "99 of 100 waited no longer".to_owned()),
        (percent(used.mean_permille), format!("of {resource} used on average")),
        (fragmented, format!("of free {resource} fragmented on average")),
    ];
    let tiles = tiles.map(|(value, label)| {
        format!("<div class=\"tile\"><b>{value}</b><span>{label}</span></div>")
    });
    format!("<div class=\"tiles\">{}</div>", tiles.concat())
}

/// A level of one resource among all.
type Pick = fn(&Levels) -> Option<Level>;

const RESOURCES: [(&str, Pick); 3] = [
    ("GPUs", |levels| levels.gpu),
    ("CPU", |levels| Some(levels.cpu)),
    ("Memory", |levels| Some(levels.memory)),
];

fn utilisation(part: &Part) -> String {
    let history = &part.report.history;
    let mut text = String::new();
    for (name, pick) in RESOURCES {
        let lines = part.report.pools.iter().enumerate().map(|(at, pool)| {
            let value =
                |sample: &Sample| pick(&sample.pools[at]).map(|one| one.used_permille.into());
            Line {
                name: pool.pool.clone(),
                colour: at,
                values: history.iter().map(value).collect(),
            }
        });
        text += &Plot { title: name, unit: Unit::Permille, at_least: 1000, lines: lines.collect() }
            .svg(history);
    }
    text
}

fn queue(part: &Part, parts: &[Part]) -> String {
    let most = |part: &Part| part.report.history.iter().map(|sample| sample.waiting).max();
    // One scale for all, so that heights can be compared.
    let at_least = parts.iter().filter_map(most).max().unwrap_or(0).max(4);
    let history = &part.report.history;
    let values = history.iter().map(|sample| Some(sample.waiting)).collect();
    let lines = vec![Line { name: "waiting".to_owned(), colour: 0, values }];
    Plot { title: "Pods", unit: Unit::Pods, at_least, lines }.svg(history)
}

fn fragmentation(part: &Part) -> String {
    let history = &part.report.history;
    let lines = RESOURCES.iter().enumerate().map(|(at, (name, pick))| {
        let value = |sample: &Sample| pick(&sample.all)?.fragmented_permille.map(u64::from);
        let values = history.iter().map(value).collect();
        Line { name: (*name).to_owned(), colour: at, values }
    });
    Plot { title: "Whole cluster", unit: Unit::Permille, at_least: 1000, lines: lines.collect() }
        .svg(history)
}

#[cfg(test)]
mod tests;
