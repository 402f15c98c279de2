//! Arguments of `WorkloadAware`.

use framework::{Args, ResourceWeight, WorkloadArgs};
use model::{is_extended_resource, is_huge_page};

use crate::config::sections::check_args_type;
use crate::document::{Problems, Spot, quoted};

/// How many resources may be listed.
const WEIGHTS_MAX: usize = 16;

/// `WorkloadAwareArgs`, if they differ from the defaults.
pub(in crate::config) fn workload(spot: Spot<'_>, problems: &mut Problems) -> Option<Args> {
    const WEIGHTS: &str = "weights";
    let fields = spot.fields(&["apiVersion", "kind", WEIGHTS], problems)?;
    check_args_type(&fields, "WorkloadAware", problems);
    let (listed, place) = (fields.items(WEIGHTS, problems), fields.place_at(WEIGHTS));
    if listed.is_empty() {
        return None;
    }
    if listed.len() > WEIGHTS_MAX {
        let message = format!("expected at most {WEIGHTS_MAX} resources, found {}", listed.len());
        problems.report(&place, message);
        return None;
    }
    let mut weights: Vec<ResourceWeight> = Vec::new();
    let mut is_sound = true;
    for spot in listed {
        let at = spot.place.clone();
        match weight(spot, problems) {
            Some(found) if weights.iter().any(|other| other.name == found.name) => {
                let message = format!("resource {} is given twice", quoted(&found.name));
                problems.report(&at, message);
            }
            Some(found) => weights.push(found),
            None => is_sound = false,
        }
    }
    if is_sound && weights.iter().all(|entry| entry.weight == 0) {
        problems.report(&place, "expected a weight above 0, found none");
    }
    let args = WorkloadArgs { weights };
    (args != WorkloadArgs::default()).then_some(Args::Workload(args))
}

fn weight(spot: Spot<'_>, problems: &mut Problems) -> Option<ResourceWeight> {
    let fields = spot.fields(&["name", "weight"], problems)?;
    let weight = fields.required("weight", problems);
    let weight = weight.and_then(|spot| spot.integer(0..=100, problems));
    let name = fields.required("name", problems)?;
    let text = name.text(problems)?;
    let is_plain = matches!(text, "cpu" | "memory" | "ephemeral-storage" | WorkloadArgs::GPUS);
    if !is_plain && !is_huge_page(text) && !is_extended_resource(text) {
        name.expected("a resource, such as cpu or example.com/nic, or gpu for all GPUs", problems);
        return None;
    }
    Some(ResourceWeight { name: text.to_owned(), weight: weight? })
}
