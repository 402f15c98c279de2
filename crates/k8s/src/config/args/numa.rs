//! Arguments of `NUMATopology`.

use std::collections::BTreeSet;

use framework::{Args, NumaArgs};
use model::{is_extended_resource, is_subdomain};

use crate::config::sections::check_args_type;
use crate::document::{Fields, Problems, Spot};

/// How many drivers may be listed.
const DRIVERS_MAX: usize = 64;

/// `NUMATopologyArgs`, if they differ from the defaults.
pub(in crate::config) fn numa(spot: Spot<'_>, problems: &mut Problems) -> Option<Args> {
    const UNKNOWN: &str = "unknownTopology";
    const DRIVERS: &str = "deviceDrivers";
    const WORDS: [(&str, bool); 2] = [("reject", false), ("allow", true)];
    let fields = spot.fields(&["apiVersion", "kind", UNKNOWN, DRIVERS], problems)?;
    check_args_type(&fields, "NUMATopology", problems);
    let allows_unknown = fields.get(UNKNOWN).and_then(|spot| spot.word(&WORDS, problems));
    let listed = fields.items(DRIVERS, problems);
    if listed.len() > DRIVERS_MAX {
        let message = format!("expected at most {DRIVERS_MAX} drivers, found {}", listed.len());
        problems.report(&fields.place_at(DRIVERS), message);
    }
    let mut args = NumaArgs::default();
    args.allows_unknown = allows_unknown.unwrap_or(args.allows_unknown);
    if fields.get(DRIVERS).is_some() {
        let drivers = listed.into_iter().take(DRIVERS_MAX);
        args.drivers = drivers.filter_map(|spot| driver(spot, problems)).collect();
        let names: BTreeSet<&String> = args.drivers.iter().map(|(driver, _)| driver).collect();
        if names.len() < args.drivers.len() {
            let message = "expected every driver once, found one twice".to_owned();
            problems.report(&fields.place_at(DRIVERS), message);
        }
    }
    (args != NumaArgs::default()).then_some(Args::Numa(args))
}

/// A driver of devices, and the resource as which nodes count the same devices.
fn driver(spot: Spot<'_>, problems: &mut Problems) -> Option<(String, String)> {
    let fields = spot.fields(&["driver", "resource"], problems)?;
    let driver = name(
        &fields,
        "driver",
        "the name of a driver, such as gpu.nvidia.com",
        is_subdomain,
        problems,
    );
    let expected = "the name of an extended resource, such as nvidia.com/gpu";
    let resource = name(&fields, "resource", expected, is_extended_resource, problems);
    Some((driver?, resource?))
}

fn name(
    fields: &Fields<'_>,
    key: &str,
    expected: &str,
    is_sound: fn(&str) -> bool,
    problems: &mut Problems,
) -> Option<String> {
    let spot = fields.required(key, problems)?;
    let text = spot.text(problems)?;
    if !is_sound(text) {
        spot.expected(expected, problems);
    }
    Some(text.to_owned())
}
