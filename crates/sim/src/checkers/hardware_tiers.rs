//! Which nodes tenants may use, written down a second time: for every question everything is read
//! anew from what was delivered, in the plainest way there is.

use framework::{Args, ClassifierArgs, Point, ProfileSettings, TenantHardwareArgs};
use k8s::config::Settings;
use model::{HardwareTier, NodeFacts, PodFacts, ReservedFor, Tier};

use super::ledger::Ledger;
use super::tiers::{TIER, classifier, granted_to, tier};

/// What an administrator says in a profile.
pub(crate) struct Law {
    scheduler: String,
    /// Nobody has a tier without it.
    tiers: Option<ClassifierArgs>,
    args: TenantHardwareArgs,
}

/// What the profiles say that look at tiers of hardware.
pub(crate) fn laws(settings: &Settings) -> Vec<Law> {
    let law = |profile: &ProfileSettings| {
        let mut filters = profile.at(Point::Filter).iter();
        filters.find(|choice| choice.name == "TenantHardware")?;
        let args = match profile.args_of("TenantHardware") {
            Some(Args::TenantHardware(args)) => args.clone(),
            Some(_) | None => TenantHardwareArgs::default(),
        };
        Some(Law { scheduler: profile.scheduler.clone(), tiers: classifier(profile), args })
    };
    settings.profiles.iter().filter_map(law).collect()
}

/// Whether tiers may have a say about a pod.
pub(super) fn matter(ledger: &Ledger, laws: &[Law], pod: &PodFacts) -> bool {
    let Some(law) = laws.iter().find(|law| law.scheduler == pod.spec.scheduler) else {
        return false;
    };
    let rules = [&law.args.rules.gold, &law.args.rules.silver, &law.args.rules.bronze];
    let is_reserved = |node: &NodeFacts| {
        node.hardware.as_ref().is_some_and(|hardware| hardware.tiers.reserved.is_some())
    };
    law.args.reserves_accelerators
        || rules.iter().any(|rule| !rule.overflows)
        || ledger.nodes().any(|(node, _)| is_reserved(node))
}

/// What a node has against a pod because of tiers, in the word for it.
pub(super) fn objection(
    ledger: &Ledger,
    laws: &[Law],
    pod: &PodFacts,
    node: &NodeFacts,
) -> Option<&'static str> {
    let law = laws.iter().find(|law| law.scheduler == pod.spec.scheduler)?;
    if law.args.system_namespaces.iter().any(|name| **name == *pod.key.namespace) {
        return None;
    }
    let asks = has_gpus(&pod.spec.requests.charge.amounts.scalars);
    let tenants = tenants(ledger, law, pod);
    let labels = node.hardware.as_ref().map(|hardware| &hardware.tiers);
    if let Some(both) = tenants {
        match labels.and_then(|labels| labels.reserved) {
            Some(ReservedFor::System) => return Some("NodeReservedForTier"),
            Some(ReservedFor::Tenants(own)) if both != [own, own] => {
                return Some("NodeReservedForTier");
            }
            Some(ReservedFor::Tenants(_)) | None => {}
        }
    }
    if !asks {
        let is_kept = law.args.reserves_accelerators && has_gpus(&node.allocatable.scalars);
        return is_kept.then_some("AcceleratorNodeReserved");
    }
    let worth = worth(law, node)?;
    for tenant in tenants? {
        let rule = match tenant {
            Tier::Gold => &law.args.rules.gold,
            Tier::Silver => &law.args.rules.silver,
            Tier::Bronze => &law.args.rules.bronze,
        };
        if !rule.overflows && rule.allowed.iter().all(|allowed| *allowed != worth) {
            return Some("HardwareTierNotAllowed");
        }
    }
    None
}

fn has_gpus(scalars: &[(String, i64)]) -> bool {
    scalars.iter().any(|(name, amount)| name.starts_with("nvidia.com/gpu") && *amount > 0)
}

/// What a pod is granted, and what it keeps of that; nothing if nobody is granted anything.
fn tenants(ledger: &Ledger, law: &Law, pod: &PodFacts) -> Option<[Tier; 2]> {
    let args = law.tiers.as_ref()?;
    let is_by_file = args.tenants.iter().any(|tenant| tenant.tier.is_some());
    let is_by_class = !args.tiers_by_class.is_empty();
    let is_by_label =
        || ledger.has_namespace(|labels| labels.iter().any(|(key, _)| **key == *TIER));
    if !is_by_file && !is_by_class && !is_by_label() {
        return None;
    }
    let namespace = ledger.namespace(&pod.key.namespace);
    Some([granted_to(args, namespace, pod), tier(args, namespace, pod)])
}

/// What the hardware of a node is worth, if anybody tells.
fn worth(law: &Law, node: &NodeFacts) -> Option<HardwareTier> {
    let hardware = node.hardware.as_ref()?;
    if let Some(tier) = hardware.tiers.tier {
        return Some(tier);
    }
    let models = hardware.gpus.iter().filter_map(|gpu| gpu.model.as_deref());
    let models = models.chain(hardware.all_gpus.model.as_deref());
    let known = models.flat_map(|model| model.split('-')).flat_map(|word| {
        let listed = law.args.models.iter();
        listed.filter(move |(name, _)| name == word).map(|(_, tier)| *tier)
    });
    let dearest = known.max();
    let cost = hardware.tiers.cost_milli;
    dearest.or(cost.map(|cost| match cost {
        _ if cost >= law.args.costs.premium_milli => HardwareTier::Premium,
        _ if cost >= law.args.costs.standard_milli => HardwareTier::Standard,
        _ => HardwareTier::Economy,
    }))
}
