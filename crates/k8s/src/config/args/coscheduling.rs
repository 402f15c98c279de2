//! Arguments of `Coscheduling`: those of the plugin of that name in scheduler-plugins, and ours.

use framework::{Args, CoschedulingArgs, NamespaceOffset, TierBoosts};
use model::{Millis, OnPartialFailure};

use super::namespaces::{NAMES, SELECTOR, namespaces};
use crate::config::sections::{check_args_type, note_without_effect};
use crate::document::{Fields, Problems, Spot};

/// Nobody waits for longer than a year.
const SECONDS_MAX: i64 = 365 * 24 * 3600;
/// A pod that so many nodes refused is not helped by another one.
const RETRIES_MAX: i64 = 100;
/// What tiers and namespaces can be apart; only the order of the sums matters.
const BOOST_MAX: i64 = 1_000_000;

/// `CoschedulingArgs`, if they differ from the defaults.
pub(in crate::config) fn coscheduling(spot: Spot<'_>, problems: &mut Problems) -> Option<Args> {
    const PERMIT: &str = "permitWaitingTimeSeconds";
    const RETRIES: &str = "bindRetries";
    const PARTIAL: &str = "onPartialFailure";
    const ROOM: &str = "keepRoomSeconds";
    const BACKOFF: &str = "podGroupBackoffSeconds";
    const STARVATION: &str = "starvation";
    const BOOSTS: &str = "tierOrderBoost";
    const OFFSETS: &str = "namespacePriority";
    const FIELDS: [&str; 10] = [
        "apiVersion",
        "kind",
        PERMIT,
        RETRIES,
        PARTIAL,
        ROOM,
        BACKOFF,
        STARVATION,
        BOOSTS,
        OFFSETS,
    ];
    let fields = spot.fields(&FIELDS, problems)?;
    check_args_type(&fields, "Coscheduling", problems);
    let idle = [(BACKOFF, "gangs wait after a failure as other pods do")];
    note_without_effect(&fields, &idle, problems);
    let defaults = CoschedulingArgs::default();
    let starvation = fields.get(STARVATION);
    let starvation = starvation.and_then(|spot| spot.fields(&["orderAfterSeconds"], problems));
    let starving_after = starvation
        .and_then(|fields| seconds(&fields, "orderAfterSeconds", 1, SECONDS_MAX, problems));
    let retries = fields.integer(RETRIES, 0..=RETRIES_MAX, problems);
    let retries = retries.map(|count| u32::try_from(count).expect("read within the range"));
    let partial = fields.get(PARTIAL);
    let partial = partial.and_then(|spot| spot.word(&OnPartialFailure::WORDS, problems));
    let args = CoschedulingArgs {
        permit_timeout: seconds(&fields, PERMIT, 1, 3600, problems)
            .unwrap_or(defaults.permit_timeout),
        bind_retries: retries.unwrap_or(defaults.bind_retries),
        on_partial_failure: partial.unwrap_or(defaults.on_partial_failure),
        room_kept: seconds(&fields, ROOM, 1, 3600, problems).unwrap_or(defaults.room_kept),
        group_backoff: seconds(&fields, BACKOFF, 0, SECONDS_MAX, problems)
            .unwrap_or(defaults.group_backoff),
        starving_after: starving_after.unwrap_or(defaults.starving_after),
        tier_boosts: boosts(fields.get(BOOSTS), problems),
        offsets: offsets(fields.items(OFFSETS, problems), problems),
    };
    (args != CoschedulingArgs::default()).then_some(Args::Coscheduling(args))
}

fn seconds(
    fields: &Fields<'_>,
    name: &str,
    min: i64,
    max: i64,
    problems: &mut Problems,
) -> Option<Millis> {
    let seconds = fields.integer(name, min..=max, problems)?;
    Some(Millis::seconds(u64::try_from(seconds).expect("read within the range")))
}

fn boosts(spot: Option<Spot<'_>>, problems: &mut Problems) -> TierBoosts {
    let defaults = TierBoosts::default();
    let fields = spot.and_then(|spot| spot.fields(&["gold", "silver", "bronze"], problems));
    let Some(fields) = fields else { return defaults };
    let mut of = |tier: &str, default: i32| boost(&fields, tier, problems).unwrap_or(default);
    TierBoosts {
        gold: of("gold", defaults.gold),
        silver: of("silver", defaults.silver),
        bronze: of("bronze", defaults.bronze),
    }
}

fn boost(fields: &Fields<'_>, name: &str, problems: &mut Problems) -> Option<i32> {
    let boost = fields.integer(name, -BOOST_MAX..=BOOST_MAX, problems)?;
    Some(i32::try_from(boost).expect("read within the range"))
}

fn offsets(items: Vec<Spot<'_>>, problems: &mut Problems) -> Vec<NamespaceOffset> {
    let mut offsets = Vec::new();
    for item in items {
        let Some(fields) = item.fields(&[NAMES, SELECTOR, "offset"], problems) else { continue };
        let namespaces = namespaces(&fields, problems);
        if fields.get(NAMES).is_none() && fields.get(SELECTOR).is_none() {
            let message = "expected namespaces or a namespaceSelector, found neither";
            problems.report(&fields.place, message);
        }
        fields.required("offset", problems);
        let offset = boost(&fields, "offset", problems);
        offsets.extend(offset.map(|offset| NamespaceOffset { namespaces, offset }));
    }
    offsets
}
