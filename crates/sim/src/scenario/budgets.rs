//! PodDisruptionBudgets: how many pods must stay when others need their room.

use k8s::ingest;
use k8s::manifest::Manifest;
use model::{Event, Fact};
use serde_json::Value as Json;

use super::Origin;
use super::complete::shown;
use super::mistakes::Mistakes;
use crate::plan::{Budget, Stay};

/// All budgets that are about any pods.
pub(super) fn read(manifests: &[(&str, Manifest)], mistakes: &mut Mistakes) -> Vec<Budget> {
    let mut budgets = Vec::new();
    for (file, manifest) in manifests {
        match budget(&manifest.json()) {
            Ok(found) => budgets.extend(found),
            Err((path, message)) => {
                mistakes.add(Origin { file, line: manifest.line_at(&path) }, &path, message);
            }
        }
    }
    budgets
}

/// A budget; nothing if it has no selector, which means no pods.
fn budget(object: &Json) -> Result<Option<Budget>, (String, String)> {
    let event = ingest::budget(object);
    let event = event.map_err(|error| (error.path().to_owned(), error.message().to_owned()))?;
    let Event::Seen(Fact::Budget(facts)) = event else {
        unreachable!("a budget is read as a budget")
    };
    if facts.name.is_empty() {
        return Err(("metadata.name".to_owned(), "required, but missing".to_owned()));
    }
    let stay = stay(&object["spec"]["minAvailable"], &object["spec"]["maxUnavailable"])?;
    let namespace = if facts.namespace.is_empty() { "default" } else { &facts.namespace };
    let (name, namespace) = (facts.name.to_string(), namespace.to_owned());
    Ok(facts.selector.map(|selector| Budget { name, namespace, selector, stay }))
}

/// A budget that says neither lets nobody go.
fn stay(min: &Json, max: &Json) -> Result<Stay, (String, String)> {
    let fail = |path: &str, message: String| (path.to_owned(), message);
    match (min.is_null(), max.is_null()) {
        (false, false) => {
            let message = "expected only one of minAvailable and maxUnavailable";
            Err(fail("spec", message.to_owned()))
        }
        (true, true) => Ok(Stay::AllBut(0)),
        (false, true) => amount(min, Stay::AtLeast, Stay::AtLeastPercent)
            .map_err(|message| fail("spec.minAvailable", message)),
        (true, false) => amount(max, Stay::AllBut, Stay::AllButPercent)
            .map_err(|message| fail("spec.maxUnavailable", message)),
    }
}

fn amount(value: &Json, count: fn(i32) -> Stay, part: fn(i32) -> Stay) -> Result<Stay, String> {
    let wanted = || {
        let found = shown(value);
        format!("expected a number of pods, or a percentage such as 50%, found {found}")
    };
    let number = value.as_u64().and_then(|number| i32::try_from(number).ok());
    let percent = value.as_str().and_then(|text| text.strip_suffix('%'));
    let percent = percent.and_then(|text| text.parse::<u8>().ok()).filter(|part| *part <= 100);
    let percent = percent.map(|percent| part(percent.into()));
    number.map(count).or(percent).ok_or_else(wanted)
}
