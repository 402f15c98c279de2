//! Arguments of `DefaultPreemption`.

use framework::{Args, PreemptionArgs};

use crate::config::sections::{check_args_type, note_without_effect};
use crate::document::{Fields, Problems, Spot};

const PERCENTAGE: &str = "minCandidateNodesPercentage";
const ABSOLUTE: &str = "minCandidateNodesAbsolute";

/// `DefaultPreemptionArgs`, if they differ from the defaults.
pub(in crate::config) fn preemption(spot: Spot<'_>, problems: &mut Problems) -> Option<Args> {
    let fields = spot.fields(&["apiVersion", "kind", PERCENTAGE, ABSOLUTE], problems)?;
    check_args_type(&fields, "DefaultPreemption", problems);
    let idle = [PERCENTAGE, ABSOLUTE].map(|name| (name, "preemption looks at every node"));
    note_without_effect(&fields, &idle, problems);
    let defaults = PreemptionArgs::default();
    let args = PreemptionArgs {
        candidates_percentage: number(&fields, PERCENTAGE, 100, problems)
            .unwrap_or(defaults.candidates_percentage),
        candidates_min: number(&fields, ABSOLUTE, i32::MAX, problems)
            .unwrap_or(defaults.candidates_min),
    };
    if (args.candidates_percentage, args.candidates_min) == (0, 0) {
        let message = format!("expected more than 0, unless {ABSOLUTE} is more than 0, found 0");
        problems.report(&fields.place_at(PERCENTAGE), message);
    }
    (args != defaults).then_some(Args::Preemption(args))
}

/// A number of nodes.
fn number(fields: &Fields<'_>, name: &str, max: i32, problems: &mut Problems) -> Option<i32> {
    let number = fields.integer(name, 0..=i64::from(max), problems)?;
    Some(i32::try_from(number).expect("read within the range"))
}
