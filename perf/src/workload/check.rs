//! Whether what a workload says adds up.

use std::collections::BTreeSet;

use anyhow::Result;
use serde_saphyr::Spanned;

use super::{CreatePods, Figure, Meanwhile, Number, Profile, Step, Threshold, Workload};
use crate::metric::Metric;

/// Looks at one file by itself.
pub(super) fn check(workload: &Workload) -> Result<()> {
    let name = &workload.name;
    let stem = std::path::Path::new(&workload.file).file_stem();
    if stem.is_none_or(|stem| stem != name.value.as_str()) {
        return workload.refuse(line(name), format!("name: {:?} is not the file's", name.value));
    }
    check_sizes(workload)?;
    check_steps(workload)?;
    check_peer(workload)?;
    for (at, threshold) in workload.thresholds.iter().enumerate() {
        check_threshold(workload, &threshold.value).or_else(|text| {
            workload.refuse(line(threshold), format!("thresholds[{at}]: {text}"))
        })?;
    }
    for (at, figure) in workload.figures.iter().enumerate() {
        check_figure(workload, &figure.value)
            .or_else(|text| workload.refuse(line(figure), format!("figures[{at}]: {text}")))?;
    }
    Ok(())
}

/// Looks for figures that would be printed twice.
pub(super) fn check_figures(workloads: &[Workload]) -> Result<()> {
    let mut seen = BTreeSet::new();
    for workload in workloads {
        for (at, figure) in workload.figures.iter().enumerate() {
            let name = &figure.value.name;
            if !seen.insert(name) {
                let text = format!("figures[{at}].name: there is another figure {name}");
                return workload.refuse(line(figure), text);
            }
        }
    }
    Ok(())
}

/// Every size gives the same numbers, and nodes tell them apart.
fn check_sizes(workload: &Workload) -> Result<()> {
    if workload.sizes.is_empty() || workload.runs == 0 {
        return workload.refuse(1, "sizes, runs: at least one is needed");
    }
    let sizes = workload.sizes.iter().enumerate().map(|(at, size)| (format!("sizes[{at}]"), size));
    let sizes: Vec<_> = sizes.chain([("quick".into(), &workload.quick)]).collect();
    let mut names = BTreeSet::from(["nodes"]);
    names.extend(sizes.iter().flat_map(|(_, size)| size.value.keys().map(String::as_str)));
    for (key, size) in &sizes {
        if let Some(name) = names.iter().find(|name| !size.value.contains_key(**name)) {
            return workload.refuse(line(size), format!("{key}.{name}: required, but missing"));
        }
    }
    let mut seen = BTreeSet::new();
    for (key, size) in &sizes[..workload.sizes.len()] {
        let nodes = size.value["nodes"];
        if !seen.insert(nodes) {
            let text = format!("{key}.nodes: two sizes have {nodes} nodes");
            return workload.refuse(line(size), text);
        }
    }
    if let Some(baseline) = &workload.baseline {
        let mut changed = baseline.value.keys();
        if let Some(name) = changed.find(|name| !names.contains(name.as_str())) {
            let text = format!("baseline.{name}: the sizes have no such number");
            return workload.refuse(line(baseline), text);
        }
    }
    Ok(())
}

fn check_steps(workload: &Workload) -> Result<()> {
    let mut measured = 0;
    let mut may_restart = true;
    for (at, step) in workload.steps.iter().enumerate() {
        let refuse = |text: &str| workload.refuse(line(step), format!("steps[{at}]: {text}"));
        if (at == 0) != matches!(step.value, Step::CreateNodes(_)) {
            return refuse("the first step, and no other, must be createNodes");
        }
        for (key, number) in numbers(&step.value) {
            if !number.is_known(&workload.quick.value) {
                let text = format!("steps[{at}].{key}: the sizes have no number {number}");
                return workload.refuse(line(step), text);
            }
        }
        match &step.value {
            Step::CreateNodes(_) => {}
            Step::CreatePods(pods) => {
                may_restart &= pods.bound;
                measured += usize::from(pods.measure);
                if let Some(text) = wrong_pods(pods) {
                    return refuse(text);
                }
            }
            Step::Restart(_) if !may_restart || at + 1 != workload.steps.len() => {
                return refuse("a restart is the last step, after nodes and bound pods");
            }
            Step::Restart(_) => measured += 1,
        }
    }
    if measured != 1 {
        let text = format!("steps: {measured} are measured, and one should be");
        return workload.refuse(1, text);
    }
    Ok(())
}

fn wrong_pods(pods: &CreatePods) -> Option<&'static str> {
    if pods.templates.is_empty() {
        return Some("templates: at least one is needed");
    }
    if pods.shapes == Number::Fixed(0) {
        return Some("shapes: at least one is needed");
    }
    if pods.within.is_some() && (pods.job == Number::Fixed(0) || pods.gang == Number::Fixed(0)) {
        return Some("within: only gangs are somewhere together; job and gang are needed");
    }
    if pods.bound && (pods.measure || pods.confirm) {
        return Some("bound pods are not scheduled: neither measure nor confirm them");
    }
    None
}

fn check_peer(workload: &Workload) -> Result<()> {
    let is_simple = |step: &Step| match step {
        Step::CreateNodes(_) => true,
        Step::CreatePods(pods) => {
            let none = Number::default();
            let Meanwhile { pods_finish, nodes_join, nodes_leave, nodes_change } = &pods.meanwhile;
            let mut others = [pods_finish, nodes_join, nodes_leave, nodes_change].into_iter();
            (pods.bound || pods.measure) && others.all(|number| *number == none)
        }
        Step::Restart(_) => false,
    };
    if workload.peer && !workload.steps.iter().all(|step| is_simple(&step.value)) {
        let text = "peer: kube-scheduler can be given nodes, bound pods and pods that arrive, \
                    no more";
        return workload.refuse(line(&workload.steps[0]), text);
    }
    let is_native = |step: &Spanned<Step>| match &step.value {
        Step::CreatePods(pods) => pods.bound || pods.within.is_some(),
        Step::CreateNodes(_) | Step::Restart(_) => true,
    };
    let is_own = workload.profile != Profile::default();
    if workload.peer && is_own && !workload.steps.iter().all(is_native) {
        let text = "profile: kube-scheduler has none but its own, and does the same only for gangs \
                    within something";
        return workload.refuse(1, text);
    }
    Ok(())
}

fn check_figure(workload: &Workload, figure: &Figure) -> Result<(), String> {
    check_metric(workload, figure.metric, figure.nodes)?;
    let is_one_size = workload.sizes.len() == 1 || figure.nodes.is_some();
    if !is_one_size && !figure.name.contains("{nodes}") {
        return Err("name: there are several sizes, so that {nodes} must be in it".into());
    }
    Ok(())
}

fn check_threshold(workload: &Workload, threshold: &Threshold) -> Result<(), String> {
    check_metric(workload, threshold.metric, threshold.nodes)?;
    if threshold.at_least.is_some() == threshold.at_most.is_some() {
        return Err("one of atLeast and atMost is needed".into());
    }
    if threshold.because.trim().is_empty() {
        return Err("because: a threshold needs a reason".into());
    }
    Ok(())
}

fn check_metric(workload: &Workload, metric: Metric, nodes: Option<usize>) -> Result<(), String> {
    if !is_measured(workload, metric) {
        return Err(format!("metric: {} is not measured by this workload", metric.word()));
    }
    let is_size = |nodes: &usize| workload.sizes.iter().any(|size| size.value["nodes"] == *nodes);
    match nodes.filter(|nodes| !is_size(nodes)) {
        Some(nodes) => Err(format!("nodes: no size has {nodes} of them")),
        None => Ok(()),
    }
}

fn is_measured(workload: &Workload, metric: Metric) -> bool {
    match metric {
        Metric::PodsPerSecond
        | Metric::UsPerPod
        | Metric::BytesPerNode
        | Metric::BytesPerPod
        | Metric::Mebibytes => true,
        Metric::DecisionsPerSecond
        | Metric::UsP50
        | Metric::UsP99
        | Metric::CoreUsP99
        | Metric::LongestMs
        | Metric::RetriesPerPod
        | Metric::TriesPerCure => !workload.is_restart(),
        Metric::Seconds | Metric::OverBareRead => workload.is_restart(),
        Metric::RateOverBaseline => workload.baseline.is_some(),
        Metric::DecisionsOverBaseline | Metric::P99OverBaseline => {
            workload.baseline.is_some() && !workload.is_restart()
        }
        Metric::CostOverFirstSize => workload.sizes.len() > 1,
        Metric::PeerAllScored | Metric::TimesFasterAllScored => workload.peer,
        Metric::PeerDefaultSampling | Metric::TimesFasterDefaultSampling => {
            workload.peer && !workload.has_pod_groups()
        }
    }
}

/// The numbers of a step, with their keys.
fn numbers(step: &Step) -> Vec<(&'static str, &Number)> {
    match step {
        Step::CreateNodes(nodes) => {
            vec![("createNodes.count", &nodes.count), ("createNodes.rack", &nodes.rack)]
        }
        Step::CreatePods(pods) => {
            let Meanwhile { pods_finish, nodes_join, nodes_leave, nodes_change } = &pods.meanwhile;
            let mut numbers = vec![
                ("createPods.count", &pods.count),
                ("createPods.shapes", &pods.shapes),
                ("createPods.namespaces", &pods.namespaces),
                ("createPods.job", &pods.job),
                ("createPods.gang", &pods.gang),
                ("createPods.meanwhile.podsFinish", pods_finish),
                ("createPods.meanwhile.nodesJoin", nodes_join),
                ("createPods.meanwhile.nodesLeave", nodes_leave),
                ("createPods.meanwhile.nodesChange", nodes_change),
            ];
            let rate = pods.pods_per_second.as_ref();
            numbers.extend(rate.map(|rate| ("createPods.podsPerSecond", rate)));
            numbers
        }
        Step::Restart(_) => Vec::new(),
    }
}

fn line<T>(value: &Spanned<T>) -> u64 {
    value.referenced.line()
}
