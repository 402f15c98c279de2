//! PodDisruptionBudget objects to facts.

use model::{BudgetFacts, Event};

use super::company::label_selector;
use super::seen::read_text;
use super::view::BudgetView;
use super::{IngestError, read};

/// The event that a disruption budget is there.
///
/// # Errors
/// When the object does not have the shape of a PodDisruptionBudget.
pub fn budget(object: &serde_json::Value) -> Result<Event, IngestError> {
    Ok(Event::seen(facts(read("PodDisruptionBudget", object)?)))
}

/// Reads the text of a disruption budget: its `resourceVersion`, and that it is there.
///
/// # Errors
/// When it is no JSON, or does not have the shape of a PodDisruptionBudget.
pub fn read_budget(text: &[u8]) -> Result<(String, Event), IngestError> {
    let mut view: BudgetView = read_text("PodDisruptionBudget", text)?;
    let version = std::mem::take(&mut view.metadata.resource_version);
    Ok((version, Event::seen(facts(view))))
}

fn facts(view: BudgetView) -> BudgetFacts {
    let selector = view.spec.selector.as_ref().map(label_selector);
    BudgetFacts {
        namespace: view.metadata.namespace.into(),
        name: view.metadata.name.into(),
        // A selector that makes no sense means no pod.
        selector: selector.filter(model::LabelSelector::is_sound),
        allowed: view.status.disruptions_allowed,
        disrupted: view.status.disrupted_pods.into_keys().map(Into::into).collect(),
    }
}
