//! Says what a pod is: its tenant and tier, what it does, and what hardware it wants.
//!
//! The tier comes from what an administrator owns: tenants of the configuration, then a label of
//! the namespace, then priority classes that the configuration names. A tenant has namespaces by
//! name, by labels, or by Kueue: all LocalQueues of a namespace lead to its ClusterQueues. Which of
//! them a pod names does not matter, for that is the pod's own word. What a pod says can only lower
//! the tier. Whatever is not known or not understood makes it the lowest one, so that neither a
//! user nor an API server that does not answer raises anything.
//!
//! What a pod does is what it declares; then what its controller is known for; then batch if it is
//! one of a gang; then what a controller of services is known for; then what its labels tell; else
//! a service. Batch that asks for GPUs is training. Names are compared whole, never in part.
//!
//! Arguments: [`ClassifierArgs`]. Cost: once per class, and again when a namespace or its
//! LocalQueues change.

use framework::{ClassifierArgs, Classify, Plugin, Tenant};
use model::{
    Bond, Catalog, Class, Hardware, Hints, Ignored, Known, Labels, Said, Source, TENANT_TIER_LABEL,
    Tier, Workload, WorkloadProfile, is_gpu,
};

pub(crate) struct ProfileClassifier {
    args: ClassifierArgs,
}

impl ProfileClassifier {
    pub(crate) fn new(args: ClassifierArgs) -> Self {
        Self { args }
    }
}

impl Plugin for ProfileClassifier {
    fn name(&self) -> &'static str {
        "ProfileClassifier"
    }
}

impl Classify for ProfileClassifier {
    fn classify(&self, catalog: &Catalog, class: &Class, bond: Bond) -> WorkloadProfile {
        let silent = Hints::default();
        let hints = class.spec.hints.as_deref().unwrap_or(&silent);
        let name = &*class.spec.namespace;
        let labels = catalog.namespace_labels(name);
        // Even a tenant that lists namespaces by name has none that is not known.
        let owner = labels.and_then(|labels| self.owner(catalog, name, labels));
        let tenant = owner.as_ref().map(|owner| owner.tenant);
        let gpus = gpus(class);
        let wish = class.spec.numa.as_deref();
        let unread = wish.map_or(&[][..], |wish| &wish.unread);
        let mut ignored: Vec<Ignored> = unread.iter().cloned().map(Ignored::Numa).collect();
        if let Some(Said::Unknown(word)) = &hints.spread {
            ignored.push(Ignored::Spread(word.clone()));
        }
        WorkloadProfile {
            tenant: match &owner {
                Some(Owner { tenant, source }) => {
                    Known { value: (*tenant.name).into(), source: source.clone() }
                }
                None => Known { value: name.into(), source: Source::NamespaceName },
            },
            tier: lowered(self.granted(owner.as_ref(), labels, hints), hints, &mut ignored),
            workload: workload(hints, bond, gpus, &mut ignored),
            hardware: hardware(bond, gpus),
            is_preemptible: self.is_preemptible(tenant, hints, &mut ignored),
            ignored: ignored.into(),
        }
    }
}

/// The tenant that a namespace belongs to, and how that is known.
struct Owner<'a> {
    tenant: &'a Tenant,
    source: Source,
}

impl ProfileClassifier {
    /// Whether the configuration gives a tier to anybody.
    pub(crate) fn gives_tiers(&self) -> bool {
        let tenants = self.args.tenants.iter();
        !self.args.tiers_by_class.is_empty() || tenants.into_iter().any(|it| it.tier.is_some())
    }

    /// The tier that an administrator gives pods of a class, and the one that is left of it by what
    /// they say themselves.
    pub(crate) fn tiers(&self, catalog: &Catalog, class: &Class) -> (Tier, Tier) {
        let silent = Hints::default();
        let hints = class.spec.hints.as_deref().unwrap_or(&silent);
        let name = &*class.spec.namespace;
        let labels = catalog.namespace_labels(name);
        let owner = labels.and_then(|labels| self.owner(catalog, name, labels));
        let granted = self.granted(owner.as_ref(), labels, hints);
        (granted.value, lowered(granted, hints, &mut Vec::new()).value)
    }

    /// The first tenant that has a namespace.
    fn owner(&self, catalog: &Catalog, name: &str, labels: &Labels) -> Option<Owner<'_>> {
        self.args.tenants.iter().find_map(|tenant| {
            let source = if tenant.namespaces.contains(name, Some(labels)) {
                Source::Tenant((*tenant.name).into())
            } else {
                let queue = common_queue(catalog.cluster_queues(name), &tenant.cluster_queues)?;
                Source::ClusterQueue((*tenant.name).into(), queue.into())
            };
            Some(Owner { tenant, source })
        })
    }

    /// The tier that an administrator gives.
    fn granted(
        &self,
        owner: Option<&Owner<'_>>,
        labels: Option<&Labels>,
        hints: &Hints,
    ) -> Known<Tier> {
        let lowest = |source| Known { value: Tier::default(), source };
        let Some(labels) = labels else { return lowest(Source::NamespaceUnknown) };
        if let Some((owner, value)) = owner.and_then(|owner| Some((owner, owner.tenant.tier?))) {
            return Known { value, source: owner.source.clone() };
        }
        if let Some((_, word)) = labels.iter().find(|(key, _)| **key == *TENANT_TIER_LABEL) {
            return match Said::read(word, &Tier::WORDS) {
                Said::Known(value) => Known { value, source: Source::NamespaceLabel },
                Said::Unknown(word) => lowest(Source::NamespaceUnreadable(word)),
            };
        }
        let class = hints.priority_class.as_deref();
        let found = self.args.tiers_by_class.iter().find(|(name, _)| Some(&**name) == class);
        match found {
            Some((name, value)) => {
                Known { value: *value, source: Source::PriorityClass((**name).into()) }
            }
            None => lowest(Source::Nothing),
        }
    }

    fn is_preemptible(
        &self,
        tenant: Option<&Tenant>,
        hints: &Hints,
        ignored: &mut Vec<Ignored>,
    ) -> Known<bool> {
        let may_refuse = tenant.is_some_and(|tenant| tenant.may_refuse_preemption);
        match &hints.preemptible {
            Some(Said::Known(true)) => return Known { value: true, source: Source::Pod },
            Some(Said::Known(false)) if may_refuse => {
                return Known { value: false, source: Source::Pod };
            }
            Some(Said::Known(false)) => ignored.push(Ignored::NotPreemptible),
            Some(Said::Unknown(word)) => ignored.push(Ignored::Preemptible(word.clone())),
            None => {}
        }
        let class = hints.priority_class.as_ref();
        match class.filter(|name| self.args.preemptible_classes.iter().any(|n| **n == ***name)) {
            Some(name) => Known { value: true, source: Source::PriorityClass(name.clone()) },
            None => Known { value: false, source: Source::Nothing },
        }
    }
}

/// The first of the queues of a namespace, if there is one and all are the tenant's. One that leads
/// nowhere is nobody's.
fn common_queue<'a>(
    queues: impl Iterator<Item = Option<&'a str>>,
    own: &[String],
) -> Option<&'a str> {
    let is_own = |queue: &str| own.iter().any(|other| other == queue);
    let mut queues = queues.map(|queue| queue.filter(|queue| is_own(queue)));
    let first = queues.next()??;
    queues.all(|queue| queue.is_some()).then_some(first)
}

/// A tier, or the lower one that the pod asks for.
fn lowered(granted: Known<Tier>, hints: &Hints, ignored: &mut Vec<Ignored>) -> Known<Tier> {
    let (asked, source) = match &hints.tier {
        None => return granted,
        Some(Said::Known(tier)) => (*tier, Source::Pod),
        Some(Said::Unknown(word)) => (Tier::default(), Source::PodUnreadable(word.clone())),
    };
    if asked > granted.value {
        ignored.push(Ignored::Tier(asked));
    }
    if asked < granted.value { Known { value: asked, source } } else { granted }
}

/// Whether pods of a class name a gang.
pub(crate) fn names_gang(class: &Class) -> bool {
    let was_in_gang = class.spec.numa.as_ref().is_some_and(|wish| wish.is_in_gang);
    was_in_gang || class.spec.hints.as_ref().is_some_and(|hints| hints.is_in_gang)
}

/// What pods of a class do. How many of a gang start together is not known here: whoever names one
/// counts as one of it.
pub(crate) fn workload_of(class: &Class) -> Workload {
    let silent = Hints::default();
    let hints = class.spec.hints.as_deref().unwrap_or(&silent);
    let bond = if names_gang(class) { Bond::Gang } else { Bond::Alone };
    workload(hints, bond, gpus(class), &mut Vec::new()).value
}

fn workload(hints: &Hints, bond: Bond, gpus: i64, ignored: &mut Vec<Ignored>) -> Known<Workload> {
    match &hints.declared {
        Some(Said::Known(value)) => return Known { value: *value, source: Source::Pod },
        Some(Said::Unknown(word)) => ignored.push(Ignored::Workload(word.clone())),
        None => {}
    }
    let owner = hints.made_by.as_ref().map(|(value, kind)| (*value, Source::Owner(kind.clone())));
    let is_service = |(value, _): &(Workload, Source)| *value == Workload::Service;
    let gang = match bond {
        Bond::Alone => None,
        Bond::Loose | Bond::Gang => Some((Workload::Batch, Source::Gang)),
    };
    let label = hints.labelled.as_ref().map(|(value, key)| (*value, Source::Label(key.clone())));
    let (value, source) = match owner {
        Some(owner) if !is_service(&owner) => owner,
        // A controller of services may well run gangs.
        owner => gang.or(owner).or(label).unwrap_or((Workload::Service, Source::Nothing)),
    };
    if value == Workload::Batch && gpus > 0 {
        return Known { value: Workload::Training, source: Source::BatchWithGpus };
    }
    Known { value, source }
}

fn hardware(bond: Bond, gpus: i64) -> Known<Hardware> {
    let requested = |value| Known { value, source: Source::Requests };
    match (gpus, bond) {
        (i64::MIN..=0, Bond::Alone | Bond::Loose | Bond::Gang) => requested(Hardware::None),
        (1.., Bond::Gang) => Known { value: Hardware::MultiNode, source: Source::RequestsAndGang },
        (1, Bond::Alone | Bond::Loose) => requested(Hardware::SingleGpu),
        (2.., Bond::Alone | Bond::Loose) => requested(Hardware::MultiGpu),
    }
}

/// How many GPUs pods of a class ask for.
fn gpus(class: &Class) -> i64 {
    let amounts = class.spec.requests.fit.scalars.iter();
    let amounts = amounts.filter(|(name, _)| is_gpu(name)).map(|(_, amount)| *amount);
    amounts.fold(0, i64::saturating_add)
}
