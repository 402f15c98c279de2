//! Gangs as one decision, and the order that goes with it.
//!
//! At `queueSort` it orders the queue: higher priority first; inside a priority, pods that have
//! waited for too long, then by tier and namespace, then by turns between namespaces, of which the
//! one with the smallest share of the cluster goes first, then by age. Neither tier nor namespace
//! nor age lets a pod pass one of higher priority.
//!
//! The engine plans every gang whole, whatever a configuration says, so that at the other points
//! there is nothing to ask: `preEnqueue` and `preFilter` stand for waiting until a gang is
//! complete, `filter` and `postFilter` for its plan, `reserve` and `permit` for all or nothing.
//!
//! Arguments: [`CoschedulingArgs`]. Cost: nothing per step; the boost is worked out per class.

use framework::{CoschedulingArgs, Order, Plugin, Sharing};
use model::{Catalog, Class, Tier, WorkloadProfile};

pub(crate) struct Coscheduling {
    args: CoschedulingArgs,
}

impl Coscheduling {
    pub(crate) fn new(args: CoschedulingArgs) -> Self {
        Self { args }
    }
}

impl Plugin for Coscheduling {
    fn name(&self) -> &'static str {
        "Coscheduling"
    }
}

impl Order for Coscheduling {
    fn rank(&self, priority: i32) -> i64 {
        -i64::from(priority)
    }

    fn sharing(&self) -> Option<Sharing> {
        Some(Sharing { starving_after: self.args.starving_after })
    }

    fn boost(&self, catalog: &Catalog, class: &Class, profile: Option<&WorkloadProfile>) -> i32 {
        let boosts = &self.args.tier_boosts;
        // What nobody classifies is of the lowest tier.
        let of_tier = match profile.map_or(Tier::Bronze, |profile| profile.tier.value) {
            Tier::Gold => boosts.gold,
            Tier::Silver => boosts.silver,
            Tier::Bronze => boosts.bronze,
        };
        of_tier.saturating_add(self.offset(catalog, &class.spec.namespace))
    }
}

impl Coscheduling {
    /// How much sooner pods of a namespace go than others.
    fn offset(&self, catalog: &Catalog, namespace: &str) -> i32 {
        let labels = catalog.namespace_labels(namespace);
        let mut offsets = self.args.offsets.iter();
        let found = offsets.find(|each| each.namespaces.contains(namespace, labels));
        found.map_or(0, |each| each.offset)
    }
}
