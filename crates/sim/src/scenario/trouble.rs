//! What goes wrong in a scenario: nodes that close, drain or leave, and faults between the
//! scheduler and the API server. The words of the file become [`Fate`]s and [`Faults`] here.

use k8s::document::{Fields, Place, Problems, Spot};
use model::{Millis, Time};

use super::script::{millis, range};
use crate::plan::{Fate, Faults, NodePlan};

/// Something that is done to nodes.
#[derive(Clone, Debug)]
pub(super) struct NodeEvent {
    pub(super) place: Place,
    pub(super) at: Time,
    pub(super) deed: Deed,
    pub(super) whom: Whom,
}

/// The nodes it is done to.
#[derive(Clone, Debug)]
pub(super) enum Whom {
    Node(String),
    /// The first nodes of a pool; all without a number.
    Pool(String, Option<u64>),
}

impl Whom {
    /// Whether a node is among them.
    pub(super) fn means(&self, node: &NodePlan) -> bool {
        match self {
            Self::Node(name) => node.facts.name == *name,
            Self::Pool(pool, _) => *node.pool == **pool,
        }
    }

    /// How many of them at most.
    pub(super) fn count_max(&self) -> usize {
        match self {
            Self::Node(_) | Self::Pool(_, None) => usize::MAX,
            Self::Pool(_, Some(count)) => usize::try_from(*count).unwrap_or(usize::MAX),
        }
    }
}

/// What can be done to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    Joins,
    Closes,
    Opens,
    Drains,
    Leaves,
    Dies,
    Returns,
}

const DEEDS: [(&str, Deed); 7] = [
    ("join", Deed::Joins),
    ("close", Deed::Closes),
    ("open", Deed::Opens),
    ("drain", Deed::Drains),
    ("leave", Deed::Leaves),
    ("die", Deed::Dies),
    ("return", Deed::Returns),
];

impl NodeEvent {
    pub(super) fn read(spot: Spot<'_>, problems: &mut Problems) -> Option<Self> {
        let place = spot.place.clone();
        let fields = spot.fields(&["at", "do", "node", "pool", "count"], problems)?;
        let at = fields.required("at", problems).and_then(|spot| millis(&spot, problems));
        let deed = fields.required("do", problems).and_then(|spot| spot.word(&DEEDS, problems));
        let text = |name: &str, problems: &mut Problems| {
            fields.get(name).and_then(|spot| spot.text(problems)).map(str::to_owned)
        };
        let (node, pool) = (text("node", problems), text("pool", problems));
        let count = fields.integer("count", 1..=i64::MAX, problems).map(i64::unsigned_abs);
        let whom = match (node, pool) {
            (Some(node), None) if count.is_none() => Whom::Node(node),
            (None, Some(pool)) => Whom::Pool(pool, count),
            (Some(_), None) => {
                problems.report(&fields.place_at("count"), "expected pool beside it, found node");
                return None;
            }
            (Some(_), Some(_)) | (None, None) => {
                problems.report(&fields.place, "expected either node or pool");
                return None;
            }
        };
        Some(Self { place, at: Time(at?.0), deed: deed?, whom })
    }

    /// Adds what happens to the fates of a node. Events come in the order of their times.
    pub(super) fn befall(&self, node: &mut NodePlan) -> Result<(), String> {
        let name = &node.facts.name;
        if node.fates.iter().any(|(_, fate)| *fate == Fate::Leaves) {
            return Err(format!("node {name} has left by then"));
        }
        if self.deed == Deed::Joins {
            if !node.fates.is_empty() {
                return Err(format!("node {name} is there by then"));
            }
            node.joins = self.at;
            return Ok(());
        }
        if self.at < node.joins {
            return Err(format!("node {name} has not joined by then"));
        }
        let fates: &[Fate] = match self.deed {
            Deed::Joins => &[],
            Deed::Closes => &[Fate::Closes],
            Deed::Opens => &[Fate::Opens],
            Deed::Drains => &[Fate::Closes, Fate::Drains],
            Deed::Leaves => &[Fate::Leaves],
            Deed::Dies => &[Fate::Dies],
            Deed::Returns => &[Fate::Returns],
        };
        node.fates.extend(fates.iter().map(|fate| (self.at, fate.clone())));
        Ok(())
    }
}

/// How many faults that happen once in a while a run has at most. Every one leads to a list of
/// everything, or to a scheduler that begins with one.
pub(super) const FAULTS_MAX: u64 = 100_000;

/// How many faults happen once in a while within a span, on average.
pub(super) fn faults_in(faults: &Faults, span: Millis) -> u64 {
    let within = |every: Option<Millis>| every.map_or(0, |every| span.0 / every.0);
    // Where leaders are lost, another replica stands by, with watches of its own.
    let replicas = if faults.leader_lost_every.is_some() { 2 } else { 1 };
    let cuts = within(faults.watch_cut_every).saturating_mul(replicas);
    cuts.saturating_add(within(faults.leader_lost_every))
}

/// Reads `faults`.
pub(super) fn faults(spot: Spot<'_>, problems: &mut Problems) -> Option<Faults> {
    const KNOWN: [&str; 7] = [
        "requestTime",
        "watchDelay",
        "refusedPercent",
        "lostPercent",
        "unansweredPercent",
        "watchCutEvery",
        "leaderLostEvery",
    ];
    let fields = spot.fields(&KNOWN, problems)?;
    let none = Faults::NONE;
    let times = |name: &str, default, problems: &mut Problems| {
        fields.get(name).and_then(|spot| range(&spot, problems)).unwrap_or(default)
    };
    Some(Faults {
        request: times("requestTime", none.request, problems),
        watch: times("watchDelay", none.watch, problems),
        refused_percent: percent(&fields, "refusedPercent", problems),
        lost_percent: percent(&fields, "lostPercent", problems),
        unanswered_percent: percent(&fields, "unansweredPercent", problems),
        watch_cut_every: every(&fields, "watchCutEvery", problems),
        broken_list_percent: 0,
        leader_lost_every: every(&fields, "leaderLostEvery", problems),
        second_scheduler: None,
    })
}

fn percent(fields: &Fields<'_>, name: &str, problems: &mut Problems) -> u64 {
    fields.integer(name, 0..=100, problems).map_or(0, i64::unsigned_abs)
}

/// A mean time between two faults, which is not zero.
fn every(fields: &Fields<'_>, name: &str, problems: &mut Problems) -> Option<Millis> {
    let spot = fields.get(name)?;
    let found = millis(&spot, problems)?;
    if found.0 == 0 {
        spot.expected("a time above zero", problems);
        return None;
    }
    Some(found)
}
