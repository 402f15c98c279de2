//! What is known of a pod, in words: where it comes from, and what it says in vain.

use model::hardware::Unread;
use model::{Ignored, Known, Source, Tier};

/// Where something that is known of a pod came from.
#[must_use]
pub fn source_text(source: &Source) -> String {
    const TIERS: &str = "expected gold, silver or bronze";
    match source {
        Source::Tenant(name) => format!("tenant {name:?} of the configuration"),
        Source::ClusterQueue(name, queue) => format!(
            "tenant {name:?} of the configuration, by ClusterQueue {queue:?} to which LocalQueues \
             of the namespace lead"
        ),
        Source::NamespaceLabel => "label tenant.kubenexus.io/tier of the namespace".into(),
        Source::NamespaceName => "name of the namespace".into(),
        Source::NamespaceUnknown => "the namespace is not known, so the lowest".into(),
        Source::NamespaceUnreadable(word) => format!(
            "label tenant.kubenexus.io/tier of the namespace is {word:?}, {TIERS}, so the lowest"
        ),
        Source::PriorityClass(name) => {
            format!("what the configuration says of priority class {name:?}")
        }
        Source::Pod => "what the pod says itself".into(),
        Source::PodUnreadable(word) => {
            format!("tenant.kubenexus.io/tier of the pod is {word:?}, {TIERS}, so the lowest")
        }
        Source::Owner(kind) => format!("controller of kind {kind}"),
        Source::Label(key) => format!("label {key} of the pod"),
        Source::Gang => "the pod is one of a gang".into(),
        Source::BatchWithGpus => "batch that asks for GPUs".into(),
        Source::Requests => "what the pod asks for".into(),
        Source::RequestsAndGang => "what the pod asks for, together with its gang".into(),
        Source::Nothing => "nothing says otherwise".into(),
    }
}

/// Which tier a pod has and why, if that is the lowest because something is not known or means
/// nothing.
#[must_use]
pub fn tier_note(tier: &Known<Tier>) -> Option<String> {
    match &tier.source {
        Source::NamespaceUnknown | Source::NamespaceUnreadable(_) | Source::PodUnreadable(_) => {
            Some(format!("tier {}: {}", tier.value.word(), source_text(&tier.source)))
        }
        Source::Tenant(_)
        | Source::ClusterQueue(..)
        | Source::NamespaceLabel
        | Source::NamespaceName
        | Source::PriorityClass(_)
        | Source::Pod
        | Source::Owner(_)
        | Source::Label(_)
        | Source::Gang
        | Source::BatchWithGpus
        | Source::Requests
        | Source::RequestsAndGang
        | Source::Nothing => None,
    }
}

/// What a node says of its inside and means nothing.
#[must_use]
pub fn unread_text(unread: &Unread) -> String {
    let Unread { key, value, expected } = unread;
    format!("{key} is {value:?}; expected {expected}")
}

/// A word of a pod that is not followed, and why.
#[must_use]
pub fn ignored_text(ignored: &Ignored) -> String {
    match ignored {
        Ignored::Tier(tier) => {
            let tier = tier.word();
            format!(
                "the pod asks for tier {tier}; a pod can only ask for a lower tier than its own"
            )
        }
        Ignored::Workload(word) => format!(
            "workload.kubenexus.io/type is {word:?}; expected training, inference, batch, service \
             or interactive"
        ),
        Ignored::Spread(word) => format!(
            "topology.kubenexus.io/spread-zones is {word:?}; expected \"true\" or \"false\""
        ),
        Ignored::Preemptible(word) => format!(
            "scheduling.kubenexus.io/preemptible is {word:?}; expected \"true\" or \"false\""
        ),
        Ignored::Numa(Unread { key, value, expected }) => {
            format!("{key} is {value:?}; expected {expected}")
        }
        Ignored::NotPreemptible => {
            "scheduling.kubenexus.io/preemptible is \"false\"; only pods of \
                                    tenants with mayRefusePreemption can say so"
                .into()
        }
    }
}
