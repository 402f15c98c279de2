//! Arguments of `TopologySpread`.

use framework::{Args, LevelArgs};

use crate::config::sections::check_args_type;
use crate::document::{Problems, Spot};

/// `TopologySpreadArgs`, if they differ from the defaults.
pub(in crate::config) fn levels(spot: Spot<'_>, problems: &mut Problems) -> Option<Args> {
    const WEIGHTS: [&str; 3] = ["zoneWeight", "rackWeight", "hostWeight"];
    let [zone, rack, host] = WEIGHTS;
    let fields = spot.fields(&["apiVersion", "kind", zone, rack, host], problems)?;
    check_args_type(&fields, "TopologySpread", problems);
    let mut weight = |name: &str, default: u8| {
        let found = fields.integer(name, 0..=100, problems);
        found.map_or(default, |weight| u8::try_from(weight).expect("read within the range"))
    };
    let default = LevelArgs::default();
    let args = LevelArgs {
        zone: weight(zone, default.zone),
        rack: weight(rack, default.rack),
        host: weight(host, default.host),
    };
    if args == (LevelArgs { zone: 0, rack: 0, host: 0 }) {
        problems.report(&fields.place_at(zone), "expected a weight above 0 on one level at least");
    }
    (args != default).then_some(Args::Levels(args))
}
