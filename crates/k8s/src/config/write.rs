//! Settings in the form they are read in: what is shown as the configuration that runs.
//!
//! Reading it again gives the same settings. All plugins that run are named under `multiPoint`; a
//! point that has others, or has them in another order, has a section that is complete.

mod args;

use framework::{Args, PluginChoice, PluginInfo, Point, ProfileSettings};
use model::Millis;
use serde_json::{Map, Value, json};

use super::defaults::starting_set;
use super::merge::{Enabled, PluginSets};
use super::sections::{API_VERSION, KIND};
use super::settings::{ClientConnection, LeaderElection, Settings};
use crate::document::Place;

/// Writes settings as a `KubeSchedulerConfiguration`.
///
/// # Panics
/// When `known` lacks a plugin of the default profiles.
#[must_use]
pub fn write(settings: &Settings, known: &[PluginInfo]) -> Value {
    let profiles = settings.profiles.iter().map(|profile| write_profile(profile, known));
    let mut value = json!({
        "apiVersion": API_VERSION,
        "kind": KIND,
        "parallelism": settings.parallelism,
        "leaderElection": leader_election(&settings.leader_election),
        "clientConnection": client_connection(&settings.client_connection),
        "enableProfiling": settings.enable_profiling,
        "enableContentionProfiling": settings.enable_contention_profiling,
        "podInitialBackoffSeconds": seconds(settings.initial_backoff),
        "podMaxBackoffSeconds": seconds(settings.max_backoff),
        "delayCacheUntilActive": settings.delay_cache_until_active,
        "profiles": profiles.collect::<Vec<_>>(),
    });
    if let Some(percentage) = settings.percentage_of_nodes_to_score {
        value["percentageOfNodesToScore"] = percentage.into();
    }
    value
}

fn leader_election(election: &LeaderElection) -> Value {
    json!({
        "leaderElect": election.leader_elect,
        "leaseDuration": duration(election.lease_duration),
        "renewDeadline": duration(election.renew_deadline),
        "retryPeriod": duration(election.retry_period),
        "resourceLock": election.resource_lock,
        "resourceName": election.resource_name,
        "resourceNamespace": election.resource_namespace,
    })
}

fn client_connection(connection: &ClientConnection) -> Value {
    json!({
        "kubeconfig": connection.kubeconfig.as_deref().unwrap_or_default(),
        "acceptContentTypes": connection.accept_content_types,
        "contentType": connection.content_type,
        "qps": qps(connection.qps_milli),
        "burst": connection.burst,
    })
}

fn duration(Millis(millis): Millis) -> String {
    if millis % 1000 == 0 { format!("{}s", millis / 1000) } else { format!("{millis}ms") }
}

/// Whole seconds are all that can be configured; the longest time there is stands for longer ones.
fn seconds(Millis(millis): Millis) -> u64 {
    millis.div_ceil(1000)
}

/// Requests per second. Readers round away from zero, so that the number must not be a bit larger.
fn qps(milli: i64) -> Value {
    if milli % 1000 == 0 {
        return (milli / 1000).into();
    }
    let sign = if milli < 0 { -1.0 } else { 1.0 };
    let milli = milli.unsigned_abs() as f64;
    let mut qps = milli / 1000.0;
    while (qps * 1000.0).ceil() > milli {
        qps = qps.next_down();
    }
    (sign * qps).into()
}

fn write_profile(profile: &ProfileSettings, known: &[PluginInfo]) -> Value {
    let written = Profile { profile, known };
    let args = written
        .args()
        .into_iter()
        .map(|(name, args)| json!({"name": name, "args": args::write(&args)}));
    json!({
        "schedulerName": profile.scheduler,
        "plugins": written.plugins(),
        "pluginConfig": args.collect::<Vec<_>>(),
    })
}

/// A profile and the plugins there are.
struct Profile<'a> {
    profile: &'a ProfileSettings,
    known: &'a [PluginInfo],
}

impl Profile<'_> {
    /// The sections: all plugins under `multiPoint`, and a point where it has others.
    fn plugins(&self) -> Value {
        let everywhere = self.everywhere();
        let mut sections = Map::new();
        sections.insert("multiPoint".into(), self.multi_point(&everywhere));
        for (point, word) in Point::ALL {
            if let Some(section) = self.at(point, &everywhere) {
                sections.insert(word.into(), section);
            }
        }
        sections.into()
    }

    /// The plugins that run somewhere, in the order in which readers have them.
    fn everywhere(&self) -> Vec<(PluginInfo, i64)> {
        // What is written there runs at all of its points, whatever it would start with.
        let known = |name| self.known.iter().find(|info| info.name == name).copied();
        let defaults: Vec<PluginInfo> =
            self.starting_set().iter().filter_map(|entry| known(entry.info.name)).collect();
        let is_default = |info: &&PluginInfo| defaults.iter().any(|other| other.name == info.name);
        let others = self.known.iter().filter(|info| !is_default(info));
        let all = defaults.iter().chain(others).filter(|info| self.runs(info.name));
        all.map(|info| (*info, self.weight(info.name))).collect()
    }

    fn starting_set(&self) -> Vec<Enabled> {
        let nothing = PluginSets::none(Place::file());
        starting_set(&self.profile.scheduler, &nothing, self.known)
    }

    fn runs(&self, name: &str) -> bool {
        let mut choices = self.profile.points.iter().flat_map(|(_, choices)| choices);
        choices.any(|choice| choice.name == name)
    }

    /// What a plugin's score counts; one if it has none.
    fn weight(&self, name: &str) -> i64 {
        let scoring = [Point::Score, Point::PlacementScore].into_iter();
        let mut choices = scoring.flat_map(|point| self.profile.at(point));
        choices.find(|choice| choice.name == name).map_or(1, |choice| choice.weight)
    }

    fn multi_point(&self, everywhere: &[(PluginInfo, i64)]) -> Value {
        let enabled = everywhere.iter().map(|(info, weight)| {
            let has_score = info.points.has(Point::Score) || info.points.has(Point::PlacementScore);
            entry(info.name, has_score.then_some(*weight))
        });
        let defaults = self.starting_set().into_iter();
        let disabled = defaults.filter(|default| !self.runs(default.info.name));
        let disabled = disabled.map(|default| entry(default.info.name, None));
        section(enabled.collect(), disabled.collect())
    }

    /// What a point has to say beyond `multiPoint`, if anything.
    fn at(&self, point: Point, everywhere: &[(PluginInfo, i64)]) -> Option<Value> {
        let choices = self.profile.at(point);
        let is_scoring = matches!(point, Point::Score | Point::PlacementScore);
        let shown = |choice: &PluginChoice| entry(choice.name, is_scoring.then_some(choice.weight));
        let spread = everywhere.iter().filter(|(info, _)| info.points.has(point));
        let spread: Vec<PluginChoice> = spread
            .map(|(info, weight)| PluginChoice {
                name: info.name,
                weight: if is_scoring { *weight } else { 1 },
            })
            .collect();
        // Several profiles have to write the order of their queue in the same words.
        if choices == spread && point != Point::QueueSort {
            return None;
        }
        let enabled = choices.iter().map(shown);
        Some(section(enabled.collect(), vec![entry("*", None)]))
    }

    /// The arguments that are given, then those of the other plugins that run and take any.
    fn args(&self) -> Vec<(&'static str, Args)> {
        let mut all = self.profile.args.clone();
        for (name, args) in args::defaults() {
            if self.runs(name) && self.profile.args_of(name).is_none() {
                all.push((name, args));
            }
        }
        all
    }
}

fn section(enabled: Vec<Value>, disabled: Vec<Value>) -> Value {
    let mut section = Map::new();
    for (word, entries) in [("enabled", enabled), ("disabled", disabled)] {
        if !entries.is_empty() {
            section.insert(word.into(), entries.into());
        }
    }
    section.into()
}

fn entry(name: &str, weight: Option<i64>) -> Value {
    match weight {
        Some(weight) => json!({"name": name, "weight": weight}),
        None => json!({"name": name}),
    }
}
