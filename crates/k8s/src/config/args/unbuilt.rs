//! Arguments of plugins that every profile has and that are not built yet: they must be valid, and
//! nothing reads them.

use crate::config::duration;
use crate::config::sections::{check_args_type, note_without_effect};
use crate::document::{Problems, Spot};

const WHY: &str = "the plugin is not built yet";

/// `DynamicResourcesArgs`.
pub(in crate::config) fn dynamic_resources(spot: Spot<'_>, problems: &mut Problems) {
    const SECOND: u64 = 1_000_000_000;
    // (field, the least in nanoseconds, in words)
    const TIMEOUTS: [(&str, u64, &str); 2] =
        [("filterTimeout", 0, ""), ("bindingTimeout", SECOND, "at least 1s")];
    let names = TIMEOUTS.map(|(name, ..)| name);
    let fields = spot.fields(&["apiVersion", "kind", names[0], names[1]], problems);
    let Some(fields) = fields else { return };
    check_args_type(&fields, "DynamicResources", problems);
    note_without_effect(&fields, &names.map(|name| (name, WHY)), problems);
    for (name, least, wanted) in TIMEOUTS {
        let Some(spot) = fields.get(name) else { continue };
        let Some(text) = spot.text(problems) else { continue };
        match duration::parse(text) {
            Ok(found) if found < least => spot.expected(wanted, problems),
            Ok(_) => {}
            Err(error) => problems.report(&spot.place, error.to_string()),
        }
    }
}
