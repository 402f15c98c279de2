//! Arguments of `ProfileClassifier`: who belongs to whom, as an administrator says.

use framework::{Args, ClassifierArgs, Tenant};
use model::{Tier, is_subdomain};

use super::namespaces::{NAMES, SELECTOR, namespaces};
use crate::config::sections::check_args_type;
use crate::document::{Fields, Problems, Spot, quoted};

/// `ProfileClassifierArgs`, if they differ from the defaults.
pub(in crate::config) fn classifier(spot: Spot<'_>, problems: &mut Problems) -> Option<Args> {
    const TENANTS: &str = "tenants";
    const CLASSES: &str = "priorityClasses";
    const PREEMPTIBLE: &str = "preemptiblePriorityClasses";
    let fields = spot.fields(&["apiVersion", "kind", TENANTS, CLASSES, PREEMPTIBLE], problems)?;
    check_args_type(&fields, "ProfileClassifier", problems);
    let mut args = ClassifierArgs::default();
    for item in fields.items(TENANTS, problems) {
        let place = item.place.clone();
        let Some(tenant) = tenant(item, problems) else { continue };
        if args.tenants.iter().any(|other| other.name == tenant.name) {
            let name = quoted(&tenant.name);
            problems.report(&place, format!("another tenant is named {name} already"));
        }
        args.tenants.push(tenant);
    }
    for item in fields.items(CLASSES, problems) {
        let Some(fields) = item.fields(&["name", "tier"], problems) else { continue };
        let name = name(&fields, problems);
        let tier = fields.required("tier", problems);
        let tier = tier.and_then(|spot| spot.word(&Tier::WORDS, problems));
        let Some((name, tier)) = name.zip(tier) else { continue };
        if args.tiers_by_class.iter().any(|(other, _)| *other == name) {
            let message = format!("priority class {} has a tier already", quoted(&name));
            problems.report(&fields.place, message);
        }
        args.tiers_by_class.push((name, tier));
    }
    for item in fields.items(PREEMPTIBLE, problems) {
        args.preemptible_classes.extend(filled(&item, problems));
    }
    (args != ClassifierArgs::default()).then_some(Args::Classifier(args))
}

fn tenant(item: Spot<'_>, problems: &mut Problems) -> Option<Tenant> {
    const REFUSES: &str = "mayRefusePreemption";
    const QUEUES: &str = "clusterQueues";
    let fields = item.fields(&["name", NAMES, SELECTOR, QUEUES, "tier", REFUSES], problems)?;
    if [NAMES, SELECTOR, QUEUES].into_iter().all(|key| fields.get(key).is_none()) {
        let message = "expected namespaces, a namespaceSelector or clusterQueues, found none";
        problems.report(&fields.place, message);
    }
    let mut cluster_queues = Vec::new();
    for item in fields.items(QUEUES, problems) {
        let Some(name) = item.text(problems) else { continue };
        if !is_subdomain(name) {
            item.expected("the name of a ClusterQueue", problems);
        }
        cluster_queues.push(name.to_owned());
    }
    let name = name(&fields, problems);
    let tier = fields.get("tier").and_then(|spot| spot.word(&Tier::WORDS, problems));
    Some(Tenant {
        namespaces: namespaces(&fields, problems),
        cluster_queues,
        tier,
        may_refuse_preemption: fields.boolean(REFUSES, problems).unwrap_or(false),
        name: name?,
    })
}

fn name(fields: &Fields<'_>, problems: &mut Problems) -> Option<String> {
    filled(&fields.required("name", problems)?, problems)
}

/// A text that is not empty.
fn filled(spot: &Spot<'_>, problems: &mut Problems) -> Option<String> {
    let text = spot.text(problems)?;
    if text.is_empty() {
        spot.expected("a name", problems);
    }
    Some(text.to_owned())
}
