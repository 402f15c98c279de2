//! Arguments of the plugins for gangs, as they are written.

use framework::{ClassifierArgs, CoschedulingArgs, NamespaceOffset, Namespaces, Tenant};
use model::LabelOperator;
use serde_json::{Value, json};

use super::requirement;
use crate::config::sections::API_VERSION;
use crate::config::write::seconds;

pub(super) fn coscheduling(args: &CoschedulingArgs) -> Value {
    let boosts = &args.tier_boosts;
    let offset = |each: &NamespaceOffset| {
        let mut value = json!({"offset": each.offset});
        add(&each.namespaces, &mut value);
        value
    };
    json!({
        "apiVersion": API_VERSION,
        "kind": "CoschedulingArgs",
        "permitWaitingTimeSeconds": seconds(args.permit_timeout),
        "bindRetries": args.bind_retries,
        "onPartialFailure": args.on_partial_failure.word(),
        "keepRoomSeconds": seconds(args.room_kept),
        "podGroupBackoffSeconds": seconds(args.group_backoff),
        "starvation": {"orderAfterSeconds": seconds(args.starving_after)},
        "tierOrderBoost": {
            "gold": boosts.gold,
            "silver": boosts.silver,
            "bronze": boosts.bronze,
        },
        "namespacePriority": args.offsets.iter().map(offset).collect::<Vec<_>>(),
    })
}

pub(super) fn classifier(args: &ClassifierArgs) -> Value {
    let class = |(name, tier): &(String, model::Tier)| json!({"name": name, "tier": tier.word()});
    json!({
        "apiVersion": API_VERSION,
        "kind": "ProfileClassifierArgs",
        "tenants": args.tenants.iter().map(tenant).collect::<Vec<_>>(),
        "priorityClasses": args.tiers_by_class.iter().map(class).collect::<Vec<_>>(),
        "preemptiblePriorityClasses": args.preemptible_classes,
    })
}

fn tenant(tenant: &Tenant) -> Value {
    let mut value =
        json!({"name": tenant.name, "mayRefusePreemption": tenant.may_refuse_preemption});
    add(&tenant.namespaces, &mut value);
    if !tenant.cluster_queues.is_empty() {
        value["clusterQueues"] = json!(tenant.cluster_queues);
    }
    if let Some(tier) = tenant.tier {
        value["tier"] = tier.word().into();
    }
    value
}

/// Writes which namespaces an entry is about.
fn add(namespaces: &Namespaces, value: &mut Value) {
    if !namespaces.names.is_empty() || namespaces.selector.is_none() {
        value["namespaces"] = json!(namespaces.names);
    }
    if let Some(selector) = &namespaces.selector {
        let requirements = selector.requirements.iter();
        let requirements = requirements.map(|one| requirement(one, &LabelOperator::WORDS));
        value["namespaceSelector"] = json!({"matchExpressions": requirements.collect::<Vec<_>>()});
    }
}
