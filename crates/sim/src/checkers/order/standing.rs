//! Where a unit stands, and which of two goes first.

use std::cmp::Ordering;

use framework::{Args, ClassifierArgs, CoschedulingArgs, Point, ProfileSettings};
use model::{Eligible, PodFacts, Tier, Time};

use super::super::ledger::Ledger;
use super::super::roster::gang_of;
use super::super::tiers::{classifier, tier};
use super::shares::Shares;
use super::unit::{Mends, Unit};
use super::{Noted, Order};

/// What a profile says of the order.
pub(super) struct Rules {
    pub(super) scheduler: String,
    /// How its units take turns, if they do.
    pub(super) turns: Option<CoschedulingArgs>,
    classifier: Option<ClassifierArgs>,
}

impl Rules {
    pub(super) fn of(profile: &ProfileSettings) -> Self {
        let mut sorts = profile.at(Point::QueueSort).iter();
        let has_turns = sorts.any(|choice| choice.name == "Coscheduling");
        let args = || match profile.args_of("Coscheduling") {
            Some(Args::Coscheduling(args)) => args.clone(),
            Some(_) | None => CoschedulingArgs::default(),
        };
        let turns = has_turns.then(args);
        Self { scheduler: profile.scheduler.clone(), turns, classifier: classifier(profile) }
    }

    /// How much sooner a pod goes than others of its priority.
    fn boost(&self, ledger: &Ledger, facts: &PodFacts) -> i32 {
        let Some(turns) = &self.turns else { return 0 };
        let (namespace, boosts) = (&facts.key.namespace, &turns.tier_boosts);
        let labels = ledger.namespace(namespace);
        let tier = self.classifier.as_ref().map(|args| tier(args, labels, facts));
        let of_tier = match tier.unwrap_or(Tier::Bronze) {
            Tier::Gold => boosts.gold,
            Tier::Silver => boosts.silver,
            Tier::Bronze => boosts.bronze,
        };
        let mut offsets = turns.offsets.iter();
        let offset = offsets.find(|each| {
            let selector = each.namespaces.selector.as_ref().zip(labels);
            each.namespaces.names.iter().any(|name| **name == **namespace)
                || selector.is_some_and(|(selector, labels)| selector.matches(labels))
        });
        of_tier.saturating_add(offset.map_or(0, |each| each.offset))
    }
}

/// Who takes turns with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tenant<'a> {
    Namespace(&'a str),
    /// The units of all profiles without turns.
    Others,
}

/// Who goes first among units of the same priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    Mends,
    Starves,
    Waits,
}

/// Where a unit stands.
pub(super) struct Standing<'a> {
    facts: &'a PodFacts,
    priority: i32,
    /// At the most, and at the least: where it is not known whether it mends or starves they
    /// differ.
    urgency: (Urgency, Urgency),
    boost: i32,
    tenant: Tenant<'a>,
    /// When its oldest pod was made, in seconds.
    age: i64,
    /// Since when it waits for its turn, at the earliest, and at the latest if that is known.
    since: (Time, Option<Time>),
    /// When it was first heard of, for pods by themselves.
    number: Option<u64>,
}

impl Order {
    /// Where a unit stands, if its pods are of profiles that are known.
    pub(super) fn standing<'a>(
        &self,
        ledger: &'a Ledger,
        unit: &Unit<'a>,
        now: Time,
    ) -> Option<Standing<'a>> {
        if unit.is_unclear() {
            return None;
        }
        let rules = |facts: &PodFacts| {
            self.rules.iter().find(|rules| rules.scheduler == facts.spec.scheduler)
        };
        let pods = || unit.pods.iter().map(|pod| pod.facts());
        let facts = pods().next()?;
        let lowest = pods().map(|facts| facts.rest.priority).min()?;
        // A gang takes no turns if one of its pods does not.
        let turns: Option<Vec<&CoschedulingArgs>> =
            pods().map(|facts| rules(facts)?.turns.as_ref()).collect();
        let starving_after = turns.and_then(|all| all.iter().map(|one| one.starving_after).min());
        let is_alone = gang_of(facts).is_none();
        let eligible: Option<Vec<Time>> =
            pods().map(|facts| self.eligible(facts, is_alone)).collect();
        let eligible = eligible.and_then(|all| all.into_iter().max());
        let urgency = match (starving_after, eligible) {
            _ if unit.mends == Mends::Surely => (Urgency::Mends, Urgency::Mends),
            _ if unit.mends == Mends::Maybe => (Urgency::Mends, Urgency::Waits),
            (None, _) => (Urgency::Waits, Urgency::Waits),
            (Some(_), None) => (Urgency::Starves, Urgency::Waits),
            (Some(after), Some(since)) if since + after <= now => {
                (Urgency::Starves, Urgency::Starves)
            }
            (Some(_), Some(_)) => (Urgency::Waits, Urgency::Waits),
        };
        let namespace = &facts.key.namespace;
        Some(Standing {
            facts,
            priority: unit.priority().unwrap_or(lowest),
            urgency,
            boost: pods().filter_map(|facts| Some(rules(facts)?.boost(ledger, facts))).min()?,
            tenant: starving_after.map_or(Tenant::Others, |_| Tenant::Namespace(namespace)),
            age: pods().map(|facts| facts.rest.created).min()?,
            since: self.since(unit),
            number: unit.pods.first().filter(|_| is_alone).map(|pod| pod.number),
        })
    }

    /// Since when a pod can be placed. Where its object does not say it, a pod by itself can since
    /// it was heard of without gates; when its gang could first be tried is not known.
    fn eligible(&self, facts: &PodFacts, is_alone: bool) -> Option<Time> {
        match facts.rest.eligible {
            Eligible::Created if facts.rest.created > 0 => {
                Some(Time(facts.rest.created.unsigned_abs() * 1000))
            }
            Eligible::Since(seconds) => Some(Time(u64::from(seconds) * 1000)),
            // Second 0 is what is not known, though some pods of simulated worlds are made in it.
            Eligible::Created | Eligible::Ungated => self.noted(facts).free.filter(|_| is_alone),
        }
    }

    /// Since when a unit waits for its turn, at the earliest and at the latest.
    fn since(&self, unit: &Unit<'_>) -> (Time, Option<Time>) {
        let noted = || unit.pods.iter().map(|pod| self.noted(pod.facts()));
        let earliest = noted().map(|noted| noted.back).min().unwrap_or_default();
        let all: Option<Vec<Time>> = noted().map(|noted| noted.ready).collect();
        let latest = all.and_then(|all| all.into_iter().max());
        // What becomes of one part of a tree may make the units of all others anew.
        if unit.is_in_tree {
            return (Time::default(), None);
        }
        // What is said of a gang by others may have made its unit anew.
        let is_known = |at: &Time| !unit.is_gathered() || *at > self.objects;
        (earliest, latest.filter(is_known))
    }

    fn noted(&self, facts: &PodFacts) -> Noted {
        self.pods.get(&facts.key.uid).copied().unwrap_or_default()
    }
}

impl<'a> Standing<'a> {
    pub(super) fn name(&self) -> String {
        let name = &self.facts.key.name;
        match gang_of(self.facts) {
            Some((_, gang)) => format!("pod {name} of gang {gang}"),
            None => format!("pod {name}"),
        }
    }

    /// Why it goes before another one, if it is certain that it does.
    pub(super) fn goes_before(&self, other: &Self, shares: &Shares<'a>) -> Option<String> {
        let ((own_best, own_worst), (best, worst)) = (self.urgency, other.urgency);
        let by_urgency = if own_worst < best {
            Ordering::Less
        } else if own_best == own_worst && best == worst && own_best == best {
            Ordering::Equal
        } else {
            Ordering::Greater
        };
        let by_priority = other.priority.cmp(&self.priority);
        match by_priority.then(by_urgency).then(other.boost.cmp(&self.boost)) {
            Ordering::Less => {
                let what = |one: &Self| (one.priority, one.urgency, one.boost);
                let (own, others) = (what(self), what(other));
                return Some(format!("priority, urgency and boost {own:?} before {others:?}"));
            }
            Ordering::Greater => return None,
            Ordering::Equal => {}
        }
        if self.tenant == other.tenant {
            return self.is_older(other).then(|| "of one tenant, it is older".to_owned());
        }
        let (own, others) = (shares.of(self.tenant), shares.of(other.tenant));
        match own.cmp(&others) {
            Ordering::Less => Some(format!("shares {own} and {others} of 2^32")),
            Ordering::Greater => None,
            // Age counts between namespaces; the others do not go by it.
            Ordering::Equal => {
                let has_others = [self, other].iter().any(|one| one.tenant == Tenant::Others);
                let is_older = !has_others && self.age < other.age;
                is_older.then(|| "of equal shares, it is older".to_owned())
            }
        }
    }

    /// Whether it goes before another one of its tenant.
    fn is_older(&self, other: &Self) -> bool {
        let first = match self.tenant {
            Tenant::Namespace(_) => self.age.cmp(&other.age),
            Tenant::Others => {
                let exactly = |one: &Self| one.since.1.filter(|at| *at == one.since.0);
                match (self.since.1, other.since.0) {
                    (Some(latest), earliest) if latest < earliest => Ordering::Less,
                    _ if exactly(self).is_some() && exactly(self) == exactly(other) => {
                        Ordering::Equal
                    }
                    _ => Ordering::Greater,
                }
            }
        };
        let came_first = self.number.zip(other.number).is_some_and(|(own, others)| own < others);
        first == Ordering::Less || (first == Ordering::Equal && came_first)
    }
}
