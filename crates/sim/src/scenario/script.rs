//! The scenario file: what happens when, to what the manifests describe.

use k8s::config::{Settings, parse_span};
use k8s::document::{Fields, Place, Problems, Spot, Value, quoted};
use k8s::manifest::Manifest;
use model::Millis;

use super::arrivals::Arrivals;
use super::length::{self, Length};
use super::mistakes::Mistakes;
use super::pools::Pool;
use super::trouble::{self, NodeEvent};
use super::{API_VERSION, KIND, Origin};
use crate::plan::Faults;

/// The seed of a scenario that names none.
const SEED: u64 = 42;

/// A scenario file, read.
#[derive(Clone, Debug)]
pub(super) struct Script {
    /// The file it stands in, and where; empty if there is none.
    pub(super) file: String,
    line: usize,
    pub(super) seed: u64,
    pub(super) span: Option<Millis>,
    pub(super) config: Option<Config>,
    /// With the line it stands on.
    pub(super) scheduler_name: Option<(String, usize)>,
    /// How long pods run that do not say so themselves and belong to no service.
    pub(super) length: Length,
    /// The label of nodes that names their pool.
    pub(super) pool_label: Option<String>,
    pub(super) pools: Vec<Pool>,
    pub(super) arrivals: Vec<Arrivals>,
    pub(super) events: Vec<NodeEvent>,
    pub(super) faults: Faults,
}

/// How the scheduler is configured.
#[derive(Clone, Debug)]
pub(super) enum Config {
    /// By a file, named relative to the scenario's.
    File(String),
    /// Within the scenario.
    Inline(Box<Settings>),
}

impl Default for Script {
    fn default() -> Self {
        Self {
            file: String::new(),
            line: 0,
            seed: SEED,
            span: None,
            config: None,
            scheduler_name: None,
            length: Length::Forever,
            pool_label: None,
            pools: Vec::new(),
            arrivals: Vec::new(),
            events: Vec::new(),
            faults: Faults::NONE,
        }
    }
}

impl Script {
    pub(super) fn read(file: &str, manifest: &Manifest, mistakes: &mut Mistakes) -> Self {
        let base = Self { file: file.to_owned(), line: manifest.line, ..Self::default() };
        let tree = match manifest.tree() {
            Ok(tree) => tree,
            Err(problem) => {
                mistakes.problem(file, problem);
                return base;
            }
        };
        let mut problems = Problems::default();
        let script = base.filled(Spot::document(&tree), &mut problems);
        if let Err(error) = problems.or_value(()) {
            for problem in error.problems() {
                let mut problem = problem.clone();
                // JSON has no lines; the object's own is the nearest.
                problem.line = problem.line.or(Some(manifest.line));
                mistakes.problem(file, problem);
            }
        }
        script
    }

    /// Where the scenario stands, for what is wrong with all of it.
    pub(super) fn origin(&self) -> Origin<'_> {
        Origin { file: &self.file, line: self.line }
    }

    /// A place in the scenario.
    pub(super) fn at(&self, place: &Place) -> Origin<'_> {
        Origin { file: &self.file, line: place.line.unwrap_or(self.line) }
    }

    /// The objects that stand inside it: where, of which kind if they do not say, and what.
    pub(super) fn templates(&self) -> impl Iterator<Item = (&str, &'static str, &Manifest)> {
        let nodes = self.pools.iter().filter_map(|pool| {
            pool.template().map(|template| (&*pool.place.path, "Node", template))
        });
        let jobs = self.arrivals.iter().filter_map(|arrivals| {
            arrivals.template().map(|template| (&*arrivals.place.path, "", template))
        });
        nodes.chain(jobs)
    }

    /// What is written down for a time when the run is over.
    pub(super) fn late_notes(&self) -> Vec<String> {
        let Some(span) = self.span else { return Vec::new() };
        let pools = self.pools.iter().map(|pool| (&pool.place, "joins", Millis(pool.joins.0)));
        let jobs = self.arrivals.iter().map(|one| (&one.place, "at", one.first()));
        let nodes = self.events.iter().map(|event| (&event.place, "at", Millis(event.at.0)));
        let late = pools.chain(jobs).chain(nodes).filter(|(.., at)| *at > span);
        let note = |(place, key, _): (&Place, &str, Millis)| {
            let Origin { file, line } = self.at(place);
            format!(
                "{file}:{line}: {}.{key}: after the end of the span, so it never happens",
                place.path
            )
        };
        late.map(note).collect()
    }

    fn filled(self, root: Spot<'_>, problems: &mut Problems) -> Self {
        const KNOWN: [&str; 13] = [
            "apiVersion",
            "kind",
            "metadata",
            "seed",
            "span",
            "config",
            "schedulerName",
            "duration",
            "poolLabel",
            "pools",
            "jobs",
            "nodes",
            "faults",
        ];
        let Some(fields) = root.fields(&KNOWN, problems) else { return self };
        for (name, expected) in [("apiVersion", API_VERSION), ("kind", KIND)] {
            if let Some(spot) = fields.required(name, problems) {
                spot.word(&[(expected, ())], problems);
            }
        }
        let seed = fields.integer("seed", 0..=i64::MAX, problems).map(i64::unsigned_abs);
        let script = Self {
            seed: seed.unwrap_or(self.seed),
            span: fields.get("span").and_then(|spot| millis(&spot, problems)),
            config: fields.get("config").and_then(|spot| config(&spot, problems)),
            scheduler_name: scheduler_name(&fields, problems),
            length: length(&fields, problems).unwrap_or(self.length),
            pool_label: fields
                .get("poolLabel")
                .and_then(|spot| spot.text(problems).map(Into::into)),
            pools: each(&fields, "pools", Pool::read, problems),
            arrivals: each(&fields, "jobs", Arrivals::read, problems),
            events: each(&fields, "nodes", NodeEvent::read, problems),
            faults: fields
                .get("faults")
                .and_then(|spot| trouble::faults(spot, problems))
                .unwrap_or(self.faults),
            ..self
        };
        if script.span.is_none() && fields.get("span").is_none() && script.faults != Faults::NONE {
            let message = "faults need a span: without one a run ends when nothing moves any more";
            problems.report(&fields.place_at("faults"), message);
        }
        let faults = script.span.map_or(0, |span| trouble::faults_in(&script.faults, span));
        if faults > trouble::FAULTS_MAX {
            let most = trouble::FAULTS_MAX;
            let message = format!(
                "watchCutEvery and leaderLostEvery make {faults} faults within span; at most \
                 {most} are run"
            );
            problems.report(&fields.place_at("faults"), message);
        }
        if let Some(repeated) = repeated_name(&script.pools) {
            let message = format!("pool {} is given twice", quoted(repeated));
            problems.report(&fields.place_at("pools"), message);
        }
        script
    }
}

fn each<'a, T>(
    fields: &Fields<'a>,
    name: &str,
    read: impl Fn(Spot<'a>, &mut Problems) -> Option<T>,
    problems: &mut Problems,
) -> Vec<T> {
    let items = fields.items(name, problems);
    items.into_iter().filter_map(|spot| read(spot, problems)).collect()
}

fn repeated_name(pools: &[Pool]) -> Option<&str> {
    let mut seen = std::collections::BTreeSet::new();
    pools.iter().map(|pool| &*pool.name).find(|name| !seen.insert(*name))
}

fn scheduler_name(fields: &Fields<'_>, problems: &mut Problems) -> Option<(String, usize)> {
    let spot = fields.get("schedulerName")?;
    let name = spot.text(problems)?;
    Some((name.to_owned(), spot.place.line.unwrap_or(1)))
}

fn config(spot: &Spot<'_>, problems: &mut Problems) -> Option<Config> {
    if !matches!(spot.node().value, Value::Map(_)) {
        return spot.text(problems).map(|path| Config::File(path.to_owned()));
    }
    match k8s::config::settings(spot.node(), plugins::known()) {
        Ok(settings) => Some(Config::Inline(Box::new(settings))),
        Err(error) => {
            problems.take(error);
            None
        }
    }
}

/// The text of a scalar, quoted or not: `0` is a time as good as `0s`.
fn scalar<'a>(spot: &Spot<'a>, wanted: &str, problems: &mut Problems) -> Option<&'a str> {
    if let Value::Scalar(scalar) = &spot.node().value {
        return Some(&scalar.text);
    }
    spot.expected(wanted, problems);
    None
}

/// A span of time.
pub(super) fn millis(spot: &Spot<'_>, problems: &mut Problems) -> Option<Millis> {
    let text = scalar(spot, "a duration such as 15s, 1m30s or 500ms", problems)?;
    let found = parse_span(text).map_err(|error| error.to_string());
    reported(found, spot, problems)
}

/// Two spans of time, such as `1h..2h`.
pub(super) fn range(spot: &Spot<'_>, problems: &mut Problems) -> Option<(Millis, Millis)> {
    let text = scalar(spot, "two durations such as 1h..2h", problems)?;
    reported(length::range(text), spot, problems)
}

/// `duration`, if it is there.
pub(super) fn length(fields: &Fields<'_>, problems: &mut Problems) -> Option<Length> {
    let spot = fields.get("duration")?;
    let text = scalar(&spot, "a duration such as 10m, 5m..15m, ~10m or forever", problems)?;
    reported(Length::parse(text), &spot, problems)
}

fn reported<T>(found: Result<T, String>, spot: &Spot<'_>, problems: &mut Problems) -> Option<T> {
    found.map_err(|message| problems.report(&spot.place, message)).ok()
}
