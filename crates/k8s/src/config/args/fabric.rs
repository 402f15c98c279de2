//! Arguments of `NetworkFabric`.

use std::collections::BTreeSet;

use framework::{Args, FabricArgs};
use model::{FabricLevel, is_label_value, is_qualified_name};

use crate::config::sections::check_args_type;
use crate::document::{Problems, Spot};

/// How many levels a network may have.
const LEVELS_MAX: usize = 16;
/// How many labels may stand for a level.
const LABELS_MAX: usize = 8;

/// `NetworkFabricArgs`, if they differ from the defaults.
pub(in crate::config) fn fabric(spot: Spot<'_>, problems: &mut Problems) -> Option<Args> {
    const LEVELS: &str = "levels";
    let fields = spot.fields(&["apiVersion", "kind", LEVELS], problems)?;
    check_args_type(&fields, "NetworkFabric", problems);
    fields.get(LEVELS)?;
    let listed = fields.items(LEVELS, problems);
    if listed.is_empty() || listed.len() > LEVELS_MAX {
        let message = format!("expected 1 to {LEVELS_MAX} levels, found {}", listed.len());
        problems.report(&fields.place_at(LEVELS), message);
    }
    let levels = listed.into_iter().take(LEVELS_MAX);
    let levels: Vec<FabricLevel> = levels.filter_map(|spot| level(spot, problems)).collect();
    let mut seen = BTreeSet::new();
    let names = levels.iter().flat_map(|level| level.labels.iter().chain([&level.name]));
    if let Some(twice) = names.into_iter().find(|name| !seen.insert(name.to_string())) {
        let message = format!("expected every name and every label once, found {twice:?} twice");
        problems.report(&fields.place_at(LEVELS), message);
    }
    let args = FabricArgs { levels };
    (args != FabricArgs::default()).then_some(Args::Fabric(args))
}

/// A level of the network.
fn level(spot: Spot<'_>, problems: &mut Problems) -> Option<FabricLevel> {
    const LABELS: &str = "labels";
    let fields = spot.fields(&["name", LABELS], problems)?;
    let spot = fields.required("name", problems)?;
    let name = spot.text(problems)?;
    if name.is_empty() || !is_label_value(name) {
        spot.expected("a name of at most 63 letters, digits, '-', '_' or '.'", problems);
    }
    fields.required(LABELS, problems)?;
    let listed = fields.items(LABELS, problems);
    if listed.is_empty() || listed.len() > LABELS_MAX {
        let message = format!("expected 1 to {LABELS_MAX} labels, found {}", listed.len());
        problems.report(&fields.place_at(LABELS), message);
    }
    let mut label = |spot: Spot<'_>| {
        let text = spot.text(problems)?;
        if !is_qualified_name(text) {
            spot.expected("the key of a label of nodes", problems);
        }
        Some(text.into())
    };
    let labels = listed.into_iter().take(LABELS_MAX).filter_map(&mut label).collect();
    Some(FabricLevel { name: name.into(), labels })
}
