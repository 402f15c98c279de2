//! Workloads as files: what is created, what is measured, and what must come of it. README.md in
//! this folder explains how to write one.
//!
//! A file is refused as a whole when anything in it is unknown or does not add up; the message
//! names file, line and key.

mod check;
mod number;
#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::Deserialize;
use serde_json::{Map, Value};
use serde_saphyr::Spanned;

use crate::metric::Metric;
pub(crate) use number::{Number, Size};

/// One file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Workload {
    /// The file's name without its ending.
    pub(crate) name: Spanned<String>,
    /// One or two sentences, printed above the figures.
    pub(crate) description: String,
    /// How often each size is run; what counts is the median.
    #[serde(default = "five")]
    pub(crate) runs: usize,
    /// Numbers that steps name. Each size has `nodes`, by which it is told from the others.
    pub(crate) sizes: Vec<Spanned<Size>>,
    /// A size that takes a moment: it shows that the workload runs, and measures nothing.
    pub(crate) quick: Spanned<Size>,
    /// Numbers that are others in the run that each run is compared with.
    pub(crate) baseline: Option<Spanned<Size>>,
    /// Whether kube-scheduler places the same pods.
    #[serde(default)]
    pub(crate) peer: bool,
    /// The profile that places the pods.
    #[serde(default)]
    pub(crate) profile: Profile,
    /// What happens, in order.
    pub(crate) steps: Vec<Spanned<Step>>,
    /// What is printed for machines.
    #[serde(default)]
    pub(crate) figures: Vec<Spanned<Figure>>,
    /// What must hold.
    #[serde(default)]
    pub(crate) thresholds: Vec<Spanned<Threshold>>,
    /// Where it was read from.
    #[serde(skip)]
    pub(crate) file: String,
}

fn five() -> usize {
    5
}

/// Something that is done to the cluster.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Step {
    /// Nodes join.
    CreateNodes(CreateNodes),
    /// Pods arrive, and are placed or put aside.
    CreatePods(Box<CreatePods>),
    /// A scheduler that knows nothing is told everything there is, and places one pod. Measured.
    Restart(Restart),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateNodes {
    pub(crate) count: Number,
    /// What is told of the inside of each.
    #[serde(default)]
    pub(crate) machine: Machine,
    /// How many nodes in a row are in one rack; in none without it.
    #[serde(default)]
    pub(crate) rack: Number,
}

/// What is told of the inside of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Machine {
    /// Nothing.
    #[default]
    Untold,
    /// Two sockets with a zone each, eight GPUs, and a kubelet that gives CPUs of one zone or none.
    TwoSockets,
    /// The same, and nothing of the kubelet.
    TwoSocketsKubeletUntold,
}

/// Profiles that pods can ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Profile {
    /// kube-scheduler's, in which labels make gangs.
    #[default]
    DefaultScheduler,
    /// Our own.
    KubenexusScheduler,
}

impl Profile {
    /// The name by which pods ask for it.
    pub(crate) fn scheduler(self) -> &'static str {
        match self {
            Self::DefaultScheduler => "default-scheduler",
            Self::KubenexusScheduler => "kubenexus-scheduler",
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct CreatePods {
    pub(crate) count: Number,
    /// How many shapes arrive in turns.
    pub(crate) shapes: Number,
    /// What the pods are made from: shape after shape takes the next one.
    pub(crate) templates: Vec<Template>,
    /// How many namespaces they are in, in turns; all are in `default` without it.
    #[serde(default)]
    pub(crate) namespaces: Number,
    /// How many pods in a row are of one job, whose name they have as a label; of none without it.
    #[serde(default)]
    pub(crate) job: Number,
    /// Whether the pods of a job are a gang, which starts whole; not if it is 0.
    #[serde(default)]
    pub(crate) gang: Number,
    /// The label of nodes whose value is one for all pods of a gang. Gangs are native then.
    pub(crate) within: Option<String>,
    /// Whether they are on nodes already when they arrive.
    #[serde(default)]
    pub(crate) bound: bool,
    /// Whether the API server says of each placed pod that it is bound.
    #[serde(default)]
    pub(crate) confirm: bool,
    #[serde(default)]
    pub(crate) measure: bool,
    /// How fast the scheduler's clock goes. Without it time stands still.
    pub(crate) pods_per_second: Option<Number>,
    /// What else happens while they arrive.
    #[serde(default)]
    pub(crate) meanwhile: Meanwhile,
}

/// Pods of one kind.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Template {
    #[serde(default)]
    pub(crate) from: Family,
    /// Requests beside, or instead of, those of the shape.
    #[serde(default)]
    pub(crate) requests: Map<String, Value>,
    /// Labels of the pod. `{shape}` in them, and in the spec, becomes the number of the shape.
    #[serde(default)]
    pub(crate) labels: Map<String, Value>,
    #[serde(default)]
    pub(crate) annotations: Map<String, Value>,
    /// Whether limits are as high as requests.
    #[serde(default)]
    pub(crate) guaranteed: bool,
    /// Fields of the pod's spec beside, or instead of, those of the shape.
    #[serde(default)]
    pub(crate) spec: Map<String, Value>,
    /// No node takes them when they arrive.
    #[serde(default)]
    pub(crate) fits_nowhere: bool,
}

/// What shapes differ in.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Family {
    /// What they ask for.
    #[default]
    Plain,
    /// That, and zones, disks and taints.
    Mixed,
    /// What they ask for, which stays small however many shapes there are.
    Sizes,
}

/// Events beside arrivals, each as a number per 1,000 pods that arrive.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Meanwhile {
    /// The pod that was placed first is gone.
    pub(crate) pods_finish: Number,
    pub(crate) nodes_join: Number,
    /// The oldest node is gone, after its pods.
    pub(crate) nodes_leave: Number,
    /// A node has other labels, more memory, or other taints.
    pub(crate) nodes_change: Number,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Restart {}

/// A metric that is printed under a name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Figure {
    pub(crate) metric: Metric,
    /// `{nodes}` in it becomes the number of nodes.
    pub(crate) name: String,
    /// The size for which it is printed; without it, every size.
    pub(crate) nodes: Option<usize>,
}

/// What a metric must be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Threshold {
    pub(crate) metric: Metric,
    pub(crate) at_least: Option<f64>,
    pub(crate) at_most: Option<f64>,
    /// What we would like it to be. Nothing fails that is short of it.
    pub(crate) goal: Option<f64>,
    /// The size for which it holds; without it, every size.
    pub(crate) nodes: Option<usize>,
    /// Why it is as it is.
    pub(crate) because: String,
}

impl Workload {
    /// Reads a text that came from `file`.
    pub(crate) fn read(file: &str, text: &str) -> Result<Self> {
        let mut track = serde_path_to_error::Track::new();
        let read = serde_saphyr::with_deserializer_from_str(text, |document| {
            Self::deserialize(serde_path_to_error::Deserializer::new(document, &mut track))
        });
        let mut workload = read.map_err(|error| {
            let line = error.location().map_or(1, |location| location.line().max(1));
            let key = key_of(&track.path());
            let found = usize::try_from(line).ok().and_then(|line| text.lines().nth(line - 1));
            let found = found.unwrap_or_default().trim();
            anyhow!("{file}:{line}: {key}: {} in `{found}`", message_of(&error))
        })?;
        workload.file = file.into();
        check::check(&workload)?;
        Ok(workload)
    }

    /// Reads a file.
    pub(crate) fn read_file(path: &Path) -> Result<Self> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {file}"))?;
        Self::read(&file, &text)
    }

    /// Reads every file of a folder, in the order of their names.
    pub(crate) fn read_folder(folder: &Path) -> Result<Vec<Self>> {
        let entries = std::fs::read_dir(folder)
            .with_context(|| format!("cannot read the folder {}", folder.display()))?;
        let mut paths = entries
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<Vec<_>, std::io::Error>>()
            .with_context(|| format!("cannot read the folder {}", folder.display()))?;
        paths.retain(|path| path.extension().is_some_and(|ending| ending == "yaml"));
        paths.sort();
        ensure!(!paths.is_empty(), "{}: there is no file NAME.yaml", folder.display());
        let workloads = paths.iter().map(|path| Self::read_file(path));
        let workloads = workloads.collect::<Result<Vec<_>>>()?;
        check::check_figures(&workloads)?;
        Ok(workloads)
    }

    /// The size of the run that a run at `size` is compared with.
    pub(crate) fn baseline_of(&self, size: &Size) -> Option<Size> {
        let mut numbers = size.clone();
        numbers.extend(self.baseline.as_ref()?.value.iter().map(|(name, n)| (name.clone(), *n)));
        Some(numbers)
    }

    /// Whether it measures a restart: nothing is told to a scheduler before.
    pub(crate) fn is_restart(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.value, Step::Restart(_)))
    }

    /// Whether its pods are in native PodGroups.
    pub(crate) fn has_pod_groups(&self) -> bool {
        let is_within = |step: &Spanned<Step>| match &step.value {
            Step::CreatePods(pods) => pods.within.is_some(),
            Step::CreateNodes(_) | Step::Restart(_) => false,
        };
        self.steps.iter().any(is_within)
    }

    /// How its nodes are made.
    pub(crate) fn nodes(&self) -> &CreateNodes {
        let nodes = self.steps.iter().find_map(|step| match &step.value {
            Step::CreateNodes(nodes) => Some(nodes),
            Step::CreatePods(_) | Step::Restart(_) => None,
        });
        nodes.expect("the first step was checked when it was read")
    }

    /// Whether a figure or a threshold is about a metric.
    pub(crate) fn asks_for(&self, metric: Metric) -> bool {
        self.figures.iter().any(|figure| figure.value.metric == metric)
            || self.thresholds.iter().any(|threshold| threshold.value.metric == metric)
    }

    /// Says that something on a line is wrong.
    fn refuse<T>(&self, line: u64, text: impl std::fmt::Display) -> Result<T> {
        bail!("{}:{line}: {text}", self.file)
    }
}

/// A path without the steps that [`Spanned`] puts into it.
fn key_of(path: &serde_path_to_error::Path) -> String {
    let path = path.to_string().replace(".value.", ".").replace(".value[", "[");
    path.strip_suffix(".value").map_or(path.clone(), Into::into)
}

/// What is wrong, without the place.
fn message_of(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    text.to_owned()
}

impl CreatePods {
    /// What a shape is made from.
    pub(crate) fn template(&self, shape: usize) -> &Template {
        &self.templates[shape % self.templates.len()]
    }
}
