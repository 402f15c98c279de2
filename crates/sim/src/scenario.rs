//! Scenarios: manifests of a cluster and of what runs on it, and a file that says what happens.
//!
//! Texts come in, a [`Plan`] comes out; nothing here opens a file. Nodes and pods are read by
//! `k8s::ingest`, as they are on a real cluster, after what the API server would have filled in is
//! filled in. What is wrong is told with file, line and key.

mod arrivals;
mod budgets;
mod complete;
mod draft;
mod fixed;
mod groupings;
mod length;
pub(crate) mod machines;
mod manifests;
mod mistakes;
mod mounts;
mod namespaces;
mod owners;
mod pod_groups;
mod pools;
mod script;
mod storage;
#[cfg(test)]
mod tests;
mod trouble;
mod warnings;

use std::sync::Arc;

use k8s::config::Settings;
use k8s::manifest;
use model::{Fact, GangClaim, GroupingFacts, Millis, PodSpec, Workers};

use crate::plan::{
    Budget, Fate, Job, Membership, NamespacePlan, NodePlan, Plan, PodGroupPlan, StoragePlan,
};
use complete::Defaults;
use draft::Draft;
use manifests::Manifests;
pub use mistakes::{Mistake, Mistakes};
use script::{Config, Script};
use warnings::Warnings;

/// The version of scenario files.
pub const API_VERSION: &str = "simulate.kubenexus.io/v1alpha1";
/// The kind of scenario files.
pub const KIND: &str = "Scenario";
/// An annotation of pods and pod templates: how long a pod runs.
pub const DURATION: &str = "simulate.kubenexus.io/duration";

/// A run that ends when nothing moves any more has this span until then.
const OPEN_END: Millis = Millis(u64::MAX / 4);
/// How long after it started a pod makes those that it says it makes.
const WORKERS_MADE: (Millis, Millis) = (Millis::seconds(5), Millis::seconds(5));
/// The scheduler of a pod that names none.
const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// A file.
#[derive(Clone, Debug)]
pub struct Source {
    /// What it is called in messages.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// Something written in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin<'a> {
    file: &'a str,
    line: usize,
}

/// A scenario that was read, and is complete but for the scheduler's configuration.
#[derive(Clone, Debug)]
pub struct Scenario {
    seed: u64,
    span: Option<Millis>,
    file: String,
    config: Option<Config>,
    scheduler_name: Option<(String, usize)>,
    faults: crate::plan::Faults,
    nodes: Vec<NodePlan>,
    jobs: Vec<Job>,
    budgets: Vec<Budget>,
    groupings: Vec<GroupingFacts>,
    namespaces: Vec<NamespacePlan>,
    pod_groups: Vec<PodGroupPlan>,
    storage: StoragePlan,
    fixed: Vec<Fact>,
    notes: Vec<String>,
    warnings: Mistakes,
}

/// Reads files in any order.
///
/// # Errors
/// When anything in them is unknown, invalid or not simulated; all that was found is named.
pub fn read(sources: &[Source]) -> Result<Scenario, Mistakes> {
    let mut mistakes = Mistakes::default();
    let mut manifests = Manifests::default();
    let mut warnings = Warnings::default();
    for (at, source) in sources.iter().enumerate() {
        if sources[..at].iter().any(|other| other.name == source.name) {
            let origin = Origin { file: &source.name, line: 1 };
            mistakes.add(origin, "", "the file is given twice".to_owned());
            continue;
        }
        match manifest::split(&source.text) {
            Ok(found) => {
                for one in found {
                    warnings.look(&source.name, &one);
                    manifests.add(&source.name, one);
                }
            }
            Err(problem) => mistakes.problem(&source.name, problem),
        }
    }
    manifests.check_kinds(&mut mistakes);
    let script = manifests.script(&mut mistakes);
    mistakes.check()?;
    warnings.look_at_templates(&script);
    let mut scenario = assembled(&manifests, script, &mut mistakes);
    mistakes.check()?;
    scenario.warnings = warnings.found;
    Ok(scenario)
}

fn assembled(manifests: &Manifests<'_>, script: Script, mistakes: &mut Mistakes) -> Scenario {
    let mut storage = storage::read(&manifests.storage, mistakes);
    let default_class = storage.default_class.take();
    let defaults = Defaults::read(&manifests.priorities, default_class, mistakes);
    storage.complete(&defaults);
    let nodes = pools::nodes(&manifests.nodes, &script, mistakes);
    let mut notes = Vec::new();
    let drafts = manifests.workload.iter();
    let drafts: Vec<Draft<'_>> = drafts
        .filter_map(|(file, one)| draft::read(file, one, &defaults, &script, mistakes))
        .collect();
    draft::check_names(&drafts, mistakes);
    notes.extend(script.late_notes());
    let mut made = Vec::new();
    let mut jobs = owners::jobs(&drafts, &script, &nodes, &mut made, &mut notes);
    let mut controllers = drafts.iter().filter_map(|draft| draft.grouping.clone()).collect();
    let read = (&script, &defaults);
    jobs.extend(arrivals::jobs(&drafts, read, (&mut controllers, &mut made), mistakes));
    jobs.extend(jobs.iter().flat_map(workers).collect::<Vec<_>>());
    // Stable: what arrives together stays in the order of the files.
    jobs.sort_by_key(|job| job.at);
    let (storage, mut fixed) = storage.plan(made, &drafts, &mut jobs, &mut notes);
    fixed.extend(fixed::read(manifests, mistakes));
    let pod_groups = pod_groups::read(&manifests.groups, mistakes);
    let namespaces = namespaces::read(&manifests.namespaces, &jobs, mistakes);
    let groupings = groupings::all(&manifests.groupings, controllers, mistakes);
    let budgets = budgets::read(&manifests.budgets, mistakes);
    notes.extend(manifests.ignored_notes());
    notes.extend(groupings::unknown_note(&jobs, &groupings));
    let drains = |node: &NodePlan| node.fates.iter().any(|(_, fate)| *fate == Fate::Drains);
    if !budgets.is_empty() && nodes.iter().any(drains) {
        let note = "not simulated: a drain does not wait for PodDisruptionBudgets";
        notes.push(note.to_owned());
    }
    notes.extend(draft::endless_note(&jobs, &drafts));
    let pods = jobs
        .iter()
        .fold(0u64, |sum, job| sum.saturating_add(job.pods).saturating_add(job.followers));
    if pods > arrivals::PODS_MAX {
        let message = format!("{pods} pods are too many; at most {} are run", arrivals::PODS_MAX);
        mistakes.add(script.origin(), "", message);
    }
    if nodes.is_empty() {
        mistakes.add(script.origin(), "", "no nodes: give Node manifests, or pools".to_owned());
    }
    Scenario {
        seed: script.seed,
        span: script.span,
        file: script.file,
        config: script.config,
        scheduler_name: script.scheduler_name,
        faults: script.faults,
        nodes,
        jobs,
        budgets,
        groupings,
        namespaces,
        pod_groups,
        storage,
        fixed,
        notes,
        warnings: Mistakes::default(),
    }
}

/// The pods that those of a job make once they run, as these say.
fn workers(job: &Job) -> Vec<Job> {
    let claim = job.gang.as_ref().and_then(|gang| Some((gang, gang.claim.as_ref()?)));
    let Some((gang, claim)) = claim else { return Vec::new() };
    let worker = |(number, shape): (usize, &Workers)| {
        let claim = GangClaim { workers: Box::default(), ..(**claim).clone() };
        Job {
            name: format!("{}-worker-{number}", job.name),
            pods: u64::from(shape.count),
            followers: 0,
            spec: PodSpec {
                requests: shape.requests.clone(),
                scheduler: job.spec.scheduler.clone(),
                namespace: job.spec.namespace.clone(),
                node_selector: job.spec.node_selector.clone(),
                required: job.spec.required.clone(),
                tolerations: job.spec.tolerations.clone(),
                ..PodSpec::default()
            },
            node: None,
            gates: None,
            gang: Some(Membership {
                made_by: Some((job.name.clone(), WORKERS_MADE)),
                claim: Some(Arc::new(claim)),
                ..gang.clone()
            }),
            ..job.clone()
        }
    };
    claim.workers.iter().enumerate().map(worker).collect()
}

impl Scenario {
    /// The configuration file it names, and the file in which it is named: the path is relative to
    /// that one.
    #[must_use]
    pub fn config_file(&self) -> Option<(&str, &str)> {
        match &self.config {
            Some(Config::File(path)) => Some((path, &self.file)),
            Some(Config::Inline(_)) | None => None,
        }
    }

    /// What is probably not meant as it is written: fields and keys that nobody reads.
    #[must_use]
    pub fn warnings(&self) -> &Mistakes {
        &self.warnings
    }

    /// Whether it ends when nothing moves any more, rather than at a given time.
    #[must_use]
    pub fn is_open_ended(&self) -> bool {
        self.span.is_none()
    }

    /// The plan to run with a configuration; without one, with that of the scenario, or the
    /// defaults. Beside it what its reader should know.
    ///
    /// # Errors
    /// When the scenario names a scheduler that the configuration does not have.
    pub fn plan(&self, settings: Option<Settings>) -> Result<(Plan, Vec<String>), Mistakes> {
        let inline = match &self.config {
            Some(Config::Inline(settings)) => Some((**settings).clone()),
            Some(Config::File(_)) | None => None,
        };
        let settings = settings.or(inline);
        let settings = settings.unwrap_or_else(|| k8s::config::defaults(plugins::known()));
        let mut jobs = self.jobs.clone();
        let mut notes = self.notes.clone();
        notes.extend(self.assign(&mut jobs, &settings)?);
        notes.extend(leave_unread(&mut jobs, &settings));
        let plan = Plan {
            seed: self.seed,
            span: self.span.unwrap_or(OPEN_END),
            nodes: self.nodes.clone(),
            jobs,
            budgets: self.budgets.clone(),
            pod_groups: self.pod_groups.clone(),
            groupings: self.groupings.clone(),
            namespaces: self.namespaces.clone(),
            storage: self.storage.clone(),
            fixed: self.fixed.clone(),
            settings,
            faults: self.faults,
        };
        Ok((plan, notes))
    }

    /// Gives every pod a scheduler that there is.
    fn assign(&self, jobs: &mut [Job], settings: &Settings) -> Result<Option<String>, Mistakes> {
        let has = |name: &str| settings.profiles.iter().any(|profile| &*profile.scheduler == name);
        let first = &settings.profiles.first().expect("there is a profile").scheduler;
        if let Some((name, line)) = self.scheduler_name.as_ref().filter(|(name, _)| !has(name)) {
            let names: Vec<&str> = settings.profiles.iter().map(|one| &*one.scheduler).collect();
            let message = format!("expected one of {}, found {name:?}", names.join(", "));
            let mut mistakes = Mistakes::default();
            mistakes.add(Origin { file: &self.file, line: *line }, "schedulerName", message);
            mistakes.check()?;
        }
        let mut adopted = 0;
        for job in jobs.iter_mut() {
            let scheduler = &mut job.spec.scheduler;
            if scheduler.is_empty() {
                *scheduler = DEFAULT_SCHEDULER.to_owned();
            }
            if let Some((name, _)) = &self.scheduler_name {
                scheduler.clone_from(name);
            } else if !has(scheduler) {
                adopted += if job.node.is_none() { job.pods + job.followers } else { 0 };
                *scheduler = first.to_string();
            }
        }
        let note = || {
            format!(
                "{adopted} pods ask for a scheduler that the configuration does not \
                               have; they run with its first profile, {first}"
            )
        };
        Ok((adopted > 0).then(note))
    }
}

/// Takes gangs apart that pods claim by keys which their profile does not read; says how many pods
/// that are.
fn leave_unread(jobs: &mut [Job], settings: &Settings) -> Option<String> {
    let is_unread = |scheduler: &str| {
        let profile = settings.profiles.iter().find(|profile| profile.scheduler == scheduler);
        profile.is_some_and(|profile| !plugins::reads_gang_keys(profile))
    };
    let mut pods = 0;
    for job in jobs.iter_mut().filter(|job| is_unread(&job.spec.scheduler)) {
        let Some(gang) = &mut job.gang else { continue };
        // What fields say counts in every profile.
        if let Some(native) = gang.claim.as_ref().and_then(|claim| claim.native()) {
            gang.claim = Some(Arc::new(native));
            continue;
        }
        pods += job.pods + job.followers;
        *gang = Membership {
            every: gang.every,
            is_bare: gang.is_bare,
            made_by: gang.made_by.take(),
            claim: Some(Arc::default()),
            ..Membership::default()
        };
    }
    (pods > 0).then(|| {
        format!(
            "{pods} pods say by labels or annotations that they are a gang, or wait for one, which \
             their profile does not read; give them schedulerName: kubenexus-scheduler, or enable \
             Coscheduling at permit"
        )
    })
}
