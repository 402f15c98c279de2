//! The plugins for gangs in words: what they do, and what their arguments change.

use framework::{
    ClassifierArgs, CoschedulingArgs, Namespaces, PluginChoice, Point, ProfileSettings, Tenant,
};
use model::{LabelSelector, OnPartialFailure};

use super::{row, span};

/// What the plugins of a profile mean for gangs and for the order of its pods.
pub(super) fn meaning(profile: &ProfileSettings, text: &mut String) {
    let has = |point: Point, name: &str| {
        profile.at(point).iter().any(|choice: &PluginChoice| choice.name == name)
    };
    let is_ordered = has(Point::QueueSort, "Coscheduling");
    let is_classified = has(Point::PreFilter, "ProfileClassifier");
    text.push_str(&format!("pods of {} in words\n", profile.scheduler));
    let gangs = if plugins::reads_gang_keys(profile) {
        "planned and bound whole, by PodGroups of Kubernetes, by labels and by annotations"
    } else {
        "planned and bound whole, by PodGroups of Kubernetes only; labels and annotations count \
         where Coscheduling is at preFilter, filter or permit"
    };
    row("gangs", gangs, text);
    if is_ordered {
        let order = "priority; then, inside it, those that have waited for too long, tier and \
                     namespace, the namespace with the smallest share of the cluster, age";
        row("order", order, text);
    }
    if is_ordered && !is_classified {
        row("tiers", "all bronze, since ProfileClassifier is not among the plugins", text);
    }
    text.push('\n');
}

pub(super) fn coscheduling(args: &CoschedulingArgs) -> Vec<String> {
    let boosts = &args.tier_boosts;
    let permit = span(args.permit_timeout);
    let mut lines = vec![
        format!("a gang may be on nodes in part for {permit}"),
        match args.on_partial_failure {
            OnPartialFailure::EvictBound => "then its pods that are made again are evicted".into(),
            OnPartialFailure::Requeue => "then its pods stay, and the rest is tried on".into(),
        },
        format!("a refused binding is tried elsewhere {} times at once", args.bind_retries),
        format!("room is kept for pods to come for {}", span(args.room_kept)),
        format!("pods starve after {}", span(args.starving_after)),
        format!(
            "tiers go sooner by gold {}, silver {}, bronze {}",
            boosts.gold, boosts.silver, boosts.bronze
        ),
    ];
    lines.extend(
        args.offsets.iter().map(|each| {
            format!("{} go sooner by {}", joined(&parts(&each.namespaces)), each.offset)
        }),
    );
    lines
}

pub(super) fn classifier(args: &ClassifierArgs) -> Vec<String> {
    let tenants = args.tenants.iter().map(tenant);
    let classes = args.tiers_by_class.iter();
    let classes = classes.map(|(name, tier)| format!("priority class {name} is {}", tier.word()));
    let preemptible = args.preemptible_classes.iter();
    let preemptible = preemptible.map(|name| format!("priority class {name} is preemptible"));
    tenants.chain(classes).chain(preemptible).collect()
}

fn tenant(tenant: &Tenant) -> String {
    let mut parts = parts(&tenant.namespaces);
    if !tenant.cluster_queues.is_empty() {
        let queues = tenant.cluster_queues.join(", ");
        parts.push(format!("namespaces whose LocalQueues all lead to {queues}"));
    }
    let mut text = format!("tenant {} has {}", tenant.name, joined(&parts));
    if let Some(tier) = tenant.tier {
        text.push_str(&format!(", is {}", tier.word()));
    }
    if tenant.may_refuse_preemption {
        text.push_str(", may say that pods are not preemptible");
    }
    text
}

fn parts(namespaces: &Namespaces) -> Vec<String> {
    let names = namespaces.names.join(", ");
    let names = (!names.is_empty()).then(|| format!("namespaces {names}"));
    names.into_iter().chain(namespaces.selector.as_ref().map(selector)).collect()
}

fn joined(parts: &[String]) -> String {
    if parts.is_empty() { "no namespaces".into() } else { parts.join(" and ") }
}

fn selector(selector: &LabelSelector) -> String {
    if selector.requirements.is_empty() {
        return "all namespaces".into();
    }
    let shown = selector.requirements.iter().map(|one| match &one.values[..] {
        [] => format!("{} {:?}", one.key, one.operator),
        values => format!("{} {:?} [{}]", one.key, one.operator, values.join(", ")),
    });
    format!("namespaces with {}", shown.collect::<Vec<_>>().join(" and "))
}
