//! What a pod says of other pods: spread constraints, affinity and anti-affinity; and the labels by
//! which others speak of it.

use std::collections::BTreeMap;

use model::{
    Event, LabelOperator, LabelSelector, Labels, NamespaceFacts, PodTerm, RequirementSpec,
    SpreadSpec, Target,
};

use super::terms::label_requirements;
use super::view::{
    LabelSelectorView, NamespaceView, PodMeta, PodSpecView, PodTermView, SpreadView,
    WeightedPodTerm,
};
use super::{IngestError, read};

/// The event that a namespace is there.
///
/// # Errors
/// When the object does not have the shape of a Namespace.
pub fn namespace(object: &serde_json::Value) -> Result<Event, IngestError> {
    let view: NamespaceView = read("Namespace", object)?;
    Ok(Event::seen(namespace_facts(view)))
}

/// A namespace's facts.
pub(super) fn namespace_facts(view: NamespaceView) -> NamespaceFacts {
    NamespaceFacts { name: view.metadata.name.into(), labels: labels(&view.metadata.labels) }
}

/// Labels, sorted by key.
pub(super) fn labels(labels: &BTreeMap<String, String>) -> Labels {
    labels.iter().map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect()
}

/// The rules of a pod about others.
pub(super) struct Company {
    pub(super) spread: Vec<SpreadSpec>,
    pub(super) near: Vec<PodTerm>,
    pub(super) far: Vec<PodTerm>,
    pub(super) prefers: Vec<(i32, PodTerm)>,
}

pub(super) fn company(meta: &PodMeta, spec: &PodSpecView) -> Company {
    let (near, far) = (&spec.affinity.pod_affinity, &spec.affinity.pod_anti_affinity);
    let required = |terms: &[PodTermView]| -> Vec<PodTerm> {
        terms.iter().map(|view| term(view, &meta.namespace)).collect()
    };
    let preferred = |terms: &[WeightedPodTerm], sign: i32| -> Vec<(i32, PodTerm)> {
        let weighted = |view: &WeightedPodTerm| {
            (view.weight.saturating_mul(sign), term(&view.pod_affinity_term, &meta.namespace))
        };
        terms.iter().map(weighted).collect()
    };
    let mut prefers = preferred(&near.preferred_during_scheduling_ignored_during_execution, 1);
    prefers.extend(preferred(&far.preferred_during_scheduling_ignored_during_execution, -1));
    Company {
        spread: spread(&spec.topology_spread_constraints, &meta.labels),
        near: required(&near.required_during_scheduling_ignored_during_execution),
        far: required(&far.required_during_scheduling_ignored_during_execution),
        prefers,
    }
}

/// Constraints, with the values that the pod itself has for the keys that must match.
fn spread(views: &[SpreadView], labels: &BTreeMap<String, String>) -> Vec<SpreadSpec> {
    let constraint = |view: &SpreadView| {
        let is_required = match view.when_unsatisfiable.as_str() {
            "DoNotSchedule" => true,
            "ScheduleAnyway" => false,
            _ => return None,
        };
        let mut selector = view.label_selector.as_ref().map(label_selector);
        if let Some(selector) = &mut selector {
            let own = view.match_label_keys.iter().filter_map(|key| labels.get_key_value(key));
            selector.requirements.extend(own.map(|(key, value)| equal(key, value)));
        }
        let honours = |policy: &Option<String>, default: bool| {
            policy.as_ref().map_or(default, |policy| policy == "Honor")
        };
        Some(SpreadSpec {
            key: view.topology_key.clone(),
            selector,
            max_skew: view.max_skew,
            min_domains: view.min_domains.unwrap_or(1),
            is_required,
            honours_affinity: honours(&view.node_affinity_policy, true),
            honours_taints: honours(&view.node_taints_policy, false),
        })
    };
    views.iter().filter_map(constraint).collect()
}

fn term(view: &PodTermView, namespace: &str) -> PodTerm {
    let namespace_selector = view.namespace_selector.as_ref().map(label_selector);
    let mut namespaces = view.namespaces.clone();
    if namespaces.is_empty() && namespace_selector.is_none() {
        namespaces.push(namespace.to_owned());
    }
    namespaces.sort();
    namespaces.dedup();
    let selector = view.label_selector.as_ref().map(label_selector);
    let target = Target { namespaces, namespace_selector, selector };
    PodTerm { key: view.topology_key.clone(), target }
}

pub(super) fn label_selector(view: &LabelSelectorView) -> LabelSelector {
    let labels = view.match_labels.iter().map(|(key, value)| equal(key, value));
    let requirements = labels.chain(label_requirements(&view.match_expressions)).collect();
    LabelSelector { requirements }
}

pub(super) fn equal(key: &str, value: &str) -> RequirementSpec<LabelOperator> {
    let (key, values) = (key.to_owned(), vec![value.to_owned()]);
    RequirementSpec { key, operator: LabelOperator::In, values }
}
