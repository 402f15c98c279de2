//! What a waiting pod was told is so: the nodes it counts, and why each of them does not take it.

use std::collections::BTreeMap;

use model::{
    Catalog, Diagnosis, FabricFault, GangClaim, GpuFault, Need, NodeFacts, PodFacts, Reason,
};

use super::Violation;
use super::company::{self, Scene};
use super::fabric::{self, Bounds};
use super::gangs::{domains, free, pieces};
use super::gpus;
use super::ledger::Ledger;
use super::roster::{Gang, Terms, Trouble, gang_of};
use super::rules::{self, Objection};
use super::trees::{Top, Tree};
use super::volumes;

/// Everything that can keep a pod waiting, without numbers of any catalog.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Why {
    NoNodes,
    /// Its terms exclude each other.
    Conflict,
    /// No node is named by everybody who names nodes.
    NoneNamed,
    NotSupported(Need),
    /// A node takes it, but nodes cannot be ranked.
    Unrankable,
    Node(Objection),
    /// The others of its gang are elsewhere.
    OtherDomain,
    /// What it wants of GPUs, in the word for what is wrong with it or with a node's.
    Gpu(&'static str),
    /// What it says of the network means nothing; in words.
    Network(Box<str>),
    /// Nothing that a pod of the default profile is told.
    Strange(Reason),
}

/// Checks what a pod was told against what is delivered.
pub(crate) fn check_told(
    ledger: &Ledger,
    catalog: &Catalog,
    facts: &PodFacts,
    told: &Diagnosis,
) -> Result<(), Violation> {
    if let Some(claim) = facts.gang.as_deref().filter(|claim| is_refused(ledger, facts, claim)) {
        return check_refused(ledger, facts, claim, told);
    }
    if let Some(key) = gang_of(facts) {
        let gang = Gang::of(ledger, &key);
        if gang.top == Top::Unclear {
            return Ok(());
        }
        if let Some(tree) = Tree::around(ledger, &gang) {
            return check_part(ledger, &tree, facts, told);
        }
        if let Some(checked) = check_gang(ledger, &gang, facts, told) {
            return checked;
        }
    }
    let said = said(told, catalog);
    let gang = gang_of(facts).map(|key| Gang::of(ledger, &key));
    let domains = gang.map(|gang| allowed(ledger, &gang)).unwrap_or_else(|| vec![None]);
    let nodes = ledger.nodes().count();
    let so = domains.iter().map(|domain| so(ledger, facts, domain.as_deref()));
    let so: Vec<BTreeMap<Why, usize>> = so.collect();
    if so.contains(&said) && told.nodes == nodes {
        return Ok(());
    }
    if told.nodes == nodes && so.iter().any(|so| is_inside_so(ledger, facts, (&said, so))) {
        return Ok(());
    }
    let text = format!("of {} nodes: {said:?}; so it is, of {nodes}: {so:?}", told.nodes);
    Err(Violation::Untrue { pod: facts.key.name.to_string(), text })
}

/// Whether what a pod was told is so, but for nodes that are said to be in its way by what is
/// inside them: no more of them than could be. What else they have against it is not looked at.
fn is_inside_so(
    ledger: &Ledger,
    facts: &PodFacts,
    (said, so): (&BTreeMap<Why, usize>, &BTreeMap<Why, usize>),
) -> bool {
    let aligned = ledger.nodes().filter(|(node, _)| ledger.is_aligned(facts, node)).count();
    let (mut inside, mut is_so) = (0, true);
    for (why, count) in said {
        match why {
            Why::Strange(Reason::Numa(_)) => {
                is_so &= *count <= aligned;
                inside += count;
            }
            Why::Gpu(word) => {
                is_so &= *count <= with_gpu_fault(ledger, facts, word);
                inside += count;
            }
            Why::NoNodes
            | Why::Conflict
            | Why::NoneNamed
            | Why::NotSupported(_)
            | Why::Unrankable
            | Why::Node(_)
            | Why::OtherDomain
            | Why::Network(_)
            | Why::Strange(_) => is_so &= so.get(why).is_some_and(|so| count <= so),
        }
    }
    is_so && inside > 0 && inside <= ledger.nodes().count()
}

/// How many nodes may have this against a pod: what nodes tell of their GPUs decides, or leaves it
/// open whether enough of them is left.
fn with_gpu_fault(ledger: &Ledger, pod: &PodFacts, word: &str) -> usize {
    let is_about_load =
        [GpuFault::NoneFree, GpuFault::ShareFull].iter().any(|fault| fault.word() == word);
    let may_say = |node: &NodeFacts| match gpus::fault_of(&pod.spec, node) {
        Some(fault) => fault.word() == word,
        None => is_about_load && ledger.is_uncertain(pod, node),
    };
    let nodes = ledger.nodes().filter(|_| ledger.is_picky(pod));
    nodes.filter(|(node, _)| may_say(node)).count()
}

/// Whether a pod without a gang is not looked at by what it says of gangs, or any by what it says
/// that makes no sense.
fn is_refused(ledger: &Ledger, facts: &PodFacts, claim: &GangClaim) -> bool {
    let is_over = |name: &str| ledger.is_gang_over(&facts.key.namespace, name);
    let is_early = claim.name.is_empty() && claim.after.iter().any(|name| !is_over(name));
    claim.fault.is_some() || is_early
}

fn check_refused(
    ledger: &Ledger,
    facts: &PodFacts,
    claim: &GangClaim,
    told: &Diagnosis,
) -> Result<(), Violation> {
    let is_over = |name: &str| ledger.is_gang_over(&facts.key.namespace, name);
    let said = told.rejection.as_ref();
    let is_so = said.is_some_and(|said| match &claim.fault {
        Some(fault) => *said == Reason::GangFault(fault.clone()) && is_limit(fault),
        None => matches!(said, Reason::After(name) if claim.after.contains(name) && !is_over(name)),
    });
    if is_so {
        return Ok(());
    }
    let text = format!("{told:?}; it says {claim:?}");
    Err(Violation::Untrue { pod: facts.key.name.to_string(), text })
}

/// Whether a text names the key and the limit that something is beyond.
fn is_limit(text: &str) -> bool {
    let limits = ["at most 64 gangs", "at most 4096 bytes"];
    text.contains("scheduling.kubenexus.io/depends-on")
        && limits.iter().any(|limit| text.contains(limit))
}

/// Checks what a pod was told whose gang is tried with others.
fn check_part(
    ledger: &Ledger,
    tree: &Tree<'_>,
    facts: &PodFacts,
    told: &Diagnosis,
) -> Result<(), Violation> {
    let gangs = tree.gangs();
    let mut waiting = gangs.iter().flat_map(|gang| gang.waiting());
    let is_so = match &told.rejection {
        Some(Reason::GangIncomplete { there, min }) => {
            let is_own = tree.mins().contains(&(*min as usize));
            is_own && there < min
        }
        Some(Reason::MemberGated(name)) => {
            waiting.any(|one| one.facts().key.name == *name && !one.facts().rest.gates.is_empty())
        }
        Some(Reason::GangFault(_) | Reason::NoPodGroup(_)) => {
            gangs.iter().any(|gang| gang.terms.is_err())
        }
        Some(_) => true,
        None => told.nodes == ledger.nodes().count(),
    };
    if is_so {
        return Ok(());
    }
    let text = format!("{told:?}; it is a part of {}, {:?}", tree.name, tree.mins());
    Err(Violation::Untrue { pod: facts.key.name.to_string(), text })
}

/// Checks what a pod was told of its gang; none if it was told what a pod without one is told.
fn check_gang(
    ledger: &Ledger,
    gang: &Gang<'_>,
    facts: &PodFacts,
    told: &Diagnosis,
) -> Option<Result<(), Violation>> {
    let is_over = |name: &str| ledger.is_gang_over(&gang.key.0, name);
    let terms = gang.terms.as_ref();
    let is_member = |name: &str| gang.waiting().find(|one| &*one.facts().key.name == name);
    let is_so = match &told.rejection {
        Some(Reason::GangFault(said)) => terms.is_err_and(|troubles| {
            troubles.iter().any(|trouble| match trouble {
                Trouble::Contradiction | Trouble::Claims => true,
                Trouble::Fault(fault) => fault == said,
                Trouble::Circle => said.contains("parts of each other"),
                Trouble::Depth => said.contains("levels of groups: expected at most 8"),
                Trouble::NoGroup(_) => false,
            })
        }),
        Some(Reason::NoPodGroup(name)) => {
            terms.is_err_and(|troubles| troubles.contains(&Trouble::NoGroup(name.clone())))
        }
        Some(Reason::GangIncomplete { there, min }) => {
            let really = gang.members.count() + gang.missing();
            !gang.is_surely_reached
                && really == *there as usize
                && terms.is_ok_and(|terms| terms.min == *min as usize)
        }
        Some(Reason::MemberGated(name)) => {
            is_member(name).is_some_and(|one| !one.facts().rest.gates.is_empty())
        }
        Some(Reason::After(name)) => {
            terms.is_ok_and(|terms| terms.after.contains(name)) && !is_over(name)
        }
        Some(Reason::AfterCycle(names)) => names.iter().all(|name| !is_over(name)),
        Some(Reason::ClusterShort { resource, asked, free: told, .. }) => {
            let is_asked = |terms: &Terms| {
                terms.min_resources.named().any(|said| said == (&**resource, *asked))
            };
            terms.is_ok_and(is_asked) && told < asked && free(ledger, resource, true) == *told
        }
        Some(_) | None => {
            let shortfall = told.shortfall.as_ref()?;
            let has_room = shortfall.fitting as usize + gang.missing() >= shortfall.min as usize;
            // How many nodes give which reason depends on where the others of the gang are put.
            told.nodes == ledger.nodes().count()
                && terms.is_ok_and(|terms| terms.min == shortfall.min as usize)
                && !gang.is_whole()
                && (is_member(&shortfall.member).is_some() || gang.missing() > 0)
                && !(has_room && told.rejection.is_none() && gang.missing() == 0)
        }
    };
    if is_so {
        return Some(Ok(()));
    }
    let text = format!("{told:?}; so it is: {:?} of {}", gang.terms, gang.members.count());
    Some(Err(Violation::Untrue { pod: facts.key.name.to_string(), text }))
}

/// What was told: reasons, and how many nodes give each. One that speaks for all nodes has none.
fn said(told: &Diagnosis, catalog: &Catalog) -> BTreeMap<Why, usize> {
    let why = |reason: &Reason| match reason {
        Reason::NoNodes => Why::NoNodes,
        Reason::AffinityConflict => Why::Conflict,
        Reason::NoneNamed(_) => Why::NoneNamed,
        Reason::NotSupported(need) => Why::NotSupported(*need),
        Reason::BrokenPreference => Why::Unrankable,
        Reason::NotNamed(_) => Why::Node(Objection::NotNamed),
        Reason::Closed => Why::Node(Objection::Closed),
        Reason::UntoleratedTaint => Why::Node(Objection::Tainted),
        Reason::NodeAffinity => Why::Node(Objection::Affinity),
        Reason::HostPort => Why::Node(Objection::Port),
        Reason::TooManyPods => Why::Node(Objection::Pods),
        Reason::MissingFeature => Why::Node(Objection::Feature),
        Reason::SpreadLabel => Why::Node(Objection::SpreadLabel),
        Reason::SpreadSkew => Why::Node(Objection::SpreadSkew),
        Reason::NotNear => Why::Node(Objection::NotNear),
        Reason::NotFar => Why::Node(Objection::NotFar),
        Reason::OtherDomain => Why::OtherDomain,
        Reason::Unwelcome => Why::Node(Objection::Unwelcome),
        Reason::Insufficient { resource, is_beyond_node } => Why::Node(Objection::Lack {
            resource: catalog.resource_name(*resource).to_owned(),
            is_beyond_node: *is_beyond_node,
        }),
        Reason::Volume(fault) => Why::Node(Objection::Volume(fault.word())),
        Reason::Gpu(fault) => Why::Gpu(fault.word()),
        Reason::Tier(fault) => Why::Node(Objection::Tier(fault.word())),
        Reason::Fabric(FabricFault::TooSlow) => Why::Node(Objection::Slow),
        Reason::Fabric(FabricFault::Invalid(text)) => Why::Network(text.clone()),
        Reason::Gated(_)
        | Reason::OtherNode
        | Reason::AddedAffinity
        | Reason::BrokenSpread
        | Reason::BrokenTerm
        | Reason::GangFault(_)
        | Reason::NoPodGroup(_)
        | Reason::GangIncomplete { .. }
        | Reason::MemberGated(_)
        | Reason::After(_)
        | Reason::AfterCycle(_)
        | Reason::Numa(_)
        | Reason::ClusterShort { .. } => Why::Strange(reason.clone()),
    };
    let rejection = told.rejection.iter().map(|reason| (why(reason), 0));
    let counts = told.counts.iter().map(|(reason, count)| (why(reason), *count));
    let mut said = BTreeMap::new();
    // Reasons that differ in what they name are one here.
    rejection.chain(counts).for_each(|(why, count)| *said.entry(why).or_default() += count);
    said
}

/// Nodes on which a pod may be; none where all are.
pub(super) type Allowed<'a> = Option<Vec<&'a NodeFacts>>;

/// The nodes on which pods of a gang may be. Of a gang that nodes with other labels have torn apart
/// any domain counts that it has pods in.
pub(super) fn allowed<'a>(ledger: &'a Ledger, gang: &Gang<'_>) -> Vec<Allowed<'a>> {
    let bounds = Bounds::of(ledger, gang);
    if bounds.is_anything() {
        return vec![None];
    }
    let all = domains(ledger, gang, &bounds).into_iter().flatten().collect();
    [all].into_iter().chain(pieces(ledger, gang, &bounds)).map(Some).collect()
}

/// What is so, if a pod may only be on some nodes.
fn so(ledger: &Ledger, facts: &PodFacts, allowed: Option<&[&NodeFacts]>) -> BTreeMap<Why, usize> {
    let only = |why| BTreeMap::from([(why, 0)]);
    let spec = &facts.spec;
    if ledger.nodes().next().is_none() {
        return only(Why::NoNodes);
    }
    if rules::names_of_terms(spec).is_some_and(|names| names.is_empty()) {
        return only(Why::Conflict);
    }
    if let Some((first, others)) = rules::names(spec).split_first()
        && !first.iter().any(|name| others.iter().all(|set| set.contains(name)))
    {
        return only(Why::NoneNamed);
    }
    // Whoever guards volumes is asked before whoever guards claims.
    if let Some(word) = volumes::refusal(ledger, facts) {
        return only(Why::Node(Objection::Volume(word)));
    }
    if let Some(need) = rules::unsupported(spec) {
        return only(Why::NotSupported(need));
    }
    if let Some(text) = fabric::refusal(ledger, facts) {
        return only(Why::Network(text));
    }
    let wish = spec.gpu.as_ref().filter(|_| ledger.is_picky(facts));
    if let Some(fault) = wish.and_then(|wish| wish.fault.as_ref()) {
        return only(Why::Gpu(fault.word()));
    }
    let is_allowed = |node: &NodeFacts| {
        allowed.is_none_or(|allowed| allowed.iter().any(|other| other.name == node.name))
    };
    let (mut counts, scene) = (BTreeMap::new(), Scene::of(ledger));
    for (node, _) in ledger.nodes() {
        let objections = company::objections(&scene, facts, node);
        if objections.is_empty() && is_allowed(node) && rules::cannot_be_ranked(spec) {
            return only(Why::Unrankable);
        }
        // What else its surroundings have against it is not looked at.
        let is_itself_fine =
            objections.iter().all(is_around) && spec.features.is_within(node.features);
        let is_itself_fine = is_itself_fine
            && !fabric::is_too_slow(ledger, facts, node)
            && ledger.tier_objection(facts, node).is_none();
        if is_itself_fine && !is_allowed(node) {
            *counts.entry(Why::OtherDomain).or_default() += 1;
            continue;
        }
        if objections.is_empty()
            && ledger.is_picky(facts)
            && let Some(fault) = gpus::fault_of(spec, node)
        {
            *counts.entry(Why::Gpu(fault.word())).or_default() += 1;
        }
        for objection in objections {
            *counts.entry(Why::Node(objection)).or_default() += 1;
        }
    }
    counts
}

/// Whether it is not the node itself that objects, but what is around it.
fn is_around(objection: &Objection) -> bool {
    match objection {
        Objection::SpreadLabel
        | Objection::SpreadSkew
        | Objection::NotNear
        | Objection::NotFar
        | Objection::Volume(_)
        | Objection::Unwelcome => true,
        Objection::NotNamed
        | Objection::Closed
        | Objection::Tainted
        | Objection::Affinity
        | Objection::Port
        | Objection::Pods
        | Objection::Lack { .. }
        | Objection::Tier(_)
        | Objection::Feature
        | Objection::Slow => false,
    }
}
