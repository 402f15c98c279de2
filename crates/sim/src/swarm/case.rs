//! A seed, and the part of what it draws that takes place.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use model::{GroupingFacts, Millis, PodGroupKind, StorageFacts};

use super::draw::{self, storage::more};
use crate::plan::{
    Budget, ClaimPlan, Faults, Job, Mount, NamespacePlan, NodePlan, Plan, PodGroupPlan,
    StorageChange, StoragePlan,
};

/// A world to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Draws everything.
    pub seed: u64,
    /// Which part of it takes place.
    pub only: Only,
}

/// A part of what a seed draws; everything where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Only {
    /// Nodes, by number.
    pub nodes: Option<BTreeSet<usize>>,
    /// Jobs, by number.
    pub jobs: Option<BTreeSet<usize>>,
    /// What becomes of nodes: the number of the node, and of its fate.
    pub fates: Option<BTreeSet<(usize, usize)>>,
    /// Kinds of faults.
    pub faults: Option<BTreeSet<Fault>>,
    /// How many pods a job has at most.
    pub pods: Option<u64>,
    /// How many seconds pass at most before everything calms down.
    pub seconds: Option<u64>,
}

/// A kind of fault that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Requests and answers take long.
    Slow,
    /// Watches show changes late.
    Lag,
    /// Bindings are refused for no reason of the pod's.
    Refused,
    /// Requests do not arrive, or late.
    Lost,
    /// Answers do not arrive.
    Unanswered,
    /// Watches are cut.
    Cut,
    /// Lists break off.
    Lists,
    /// Leaders are lost.
    Leader,
    /// Another scheduler binds pods of its own.
    Second,
}

impl Fault {
    /// All of them, with the words for them.
    pub const WORDS: [(&'static str, Self); 9] = [
        ("slow", Self::Slow),
        ("lag", Self::Lag),
        ("refused", Self::Refused),
        ("lost", Self::Lost),
        ("unanswered", Self::Unanswered),
        ("cut", Self::Cut),
        ("lists", Self::Lists),
        ("leader", Self::Leader),
        ("second", Self::Second),
    ];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(_, fault)| *fault == self);
        found.expect("every fault has a word").0
    }

    /// The faults without this one.
    fn off(self, faults: &mut Faults) {
        let none = Faults::NONE;
        match self {
            Self::Slow => faults.request = none.request,
            Self::Lag => faults.watch = none.watch,
            Self::Refused => faults.refused_percent = 0,
            Self::Lost => faults.lost_percent = 0,
            Self::Unanswered => faults.unanswered_percent = 0,
            Self::Cut => faults.watch_cut_every = None,
            Self::Lists => faults.broken_list_percent = 0,
            Self::Leader => faults.leader_lost_every = None,
            Self::Second => faults.second_scheduler = None,
        }
    }

    fn is_on(self, faults: &Faults) -> bool {
        let mut without = *faults;
        self.off(&mut without);
        without != *faults
    }
}

impl Case {
    /// Everything that a seed draws.
    #[must_use]
    pub fn whole(seed: u64) -> Self {
        Self { seed, only: Only::default() }
    }

    /// What happens.
    #[must_use]
    pub fn plan(&self) -> Plan {
        let mut plan = draw::plan(self.seed);
        let only = &self.only;
        for (number, node) in plan.nodes.iter_mut().enumerate() {
            let mut fate = 0;
            node.fates.retain(|_| {
                fate += 1;
                is_in(only.fates.as_ref(), &(number, fate - 1))
            });
        }
        plan.nodes = part(plan.nodes, only.nodes.as_ref());
        plan.jobs = part(plan.jobs, only.jobs.as_ref());
        let is_named = |group: &PodGroupPlan| {
            let names = |job: &Job| {
                let gang = job.gang.as_ref();
                gang.is_some_and(|gang| gang.gang == group.facts.key.name)
            };
            plan.jobs.iter().any(names)
        };
        let mut named: Vec<PodGroupPlan> =
            plan.pod_groups.extract_if(.., |one| is_named(one)).collect();
        named.extend(above(&named, plan.pod_groups));
        plan.pod_groups = named;
        let is_used = |name: &str| plan.jobs.iter().any(|job| job.spec.namespace == name);
        // Where nobody is in a namespace, it is there for rules that select some.
        let has_rule = plan.jobs.iter().any(selects_namespaces);
        let is_meant = |name: &str| has_rule && name.starts_with(draw::shapes::NAMESPACE);
        plan.namespaces.retain(|one| is_used(&one.name) || is_meant(&one.name));
        for job in &mut plan.jobs {
            job.pods = job.pods.min(only.pods.unwrap_or(u64::MAX));
        }
        keep_storage(&mut plan);
        for (_, fault) in Fault::WORDS {
            if !is_in(only.faults.as_ref(), &fault) {
                fault.off(&mut plan.faults);
            }
        }
        let span = only.seconds.map_or(plan.span, Millis::seconds);
        plan.span = plan.span.min(span);
        plan
    }

    /// The same, with everything that takes place named.
    pub(super) fn spelled_out(&self) -> Self {
        let drawn = draw::plan(self.seed);
        let fates = drawn.nodes.iter().enumerate();
        let fates = fates.flat_map(|(node, plan)| (0..plan.fates.len()).map(move |at| (node, at)));
        let faults = Fault::WORDS.map(|(_, fault)| fault);
        let faults = faults.into_iter().filter(|fault| fault.is_on(&drawn.faults));
        let most = drawn.jobs.iter().map(|job| job.pods).max().unwrap_or(0);
        let Only { nodes, jobs, fates: own, faults: wanted, pods, seconds } = self.only.clone();
        Self {
            seed: self.seed,
            only: Only {
                nodes: Some(nodes.unwrap_or_else(|| (0..drawn.nodes.len()).collect())),
                jobs: Some(jobs.unwrap_or_else(|| (0..drawn.jobs.len()).collect())),
                fates: Some(own.unwrap_or_else(|| fates.collect())),
                faults: Some(wanted.unwrap_or_else(|| faults.collect())),
                pods: Some(pods.unwrap_or(most)),
                seconds: Some(seconds.unwrap_or(drawn.span.0.div_ceil(1000))),
            },
        }
    }

    /// The arguments of `kubenexus simulate` that lead to it.
    #[must_use]
    pub fn arguments(&self) -> String {
        let mut text = format!("--swarm --seed {}", self.seed);
        let only = &self.only;
        let numbers = |set: &BTreeSet<usize>| joined(set.iter().map(usize::to_string));
        let lists = [
            ("nodes", only.nodes.as_ref().map(numbers)),
            ("jobs", only.jobs.as_ref().map(numbers)),
            ("fates", only.fates.as_ref().map(|set| joined(set.iter().map(fate_word)))),
            (
                "faults",
                only.faults.as_ref().map(|set| joined(set.iter().map(|f| f.word().to_owned()))),
            ),
        ];
        for (name, list) in lists {
            if let Some(list) = list {
                let list = if list.is_empty() { "none".to_owned() } else { list };
                let _ = write!(text, " --only-{name} {list}");
            }
        }
        if let Some(pods) = only.pods {
            let _ = write!(text, " --pods-per-job {pods}");
        }
        if let Some(seconds) = only.seconds {
            let _ = write!(text, " --seconds {seconds}");
        }
        text
    }

    /// What happens, in words.
    #[must_use]
    pub fn describe(&self) -> String {
        let plan = self.plan();
        let seconds = plan.span.0.div_ceil(1000);
        let mut text = format!("{seconds} s of virtual time, then faults are off\n");
        let words = Fault::WORDS.iter().filter(|(_, fault)| fault.is_on(&plan.faults));
        let words: Vec<&str> = words.map(|(word, _)| *word).collect();
        let faults = if words.is_empty() { "none".to_owned() } else { words.join(", ") };
        let _ = writeln!(text, "faults: {faults}");
        plan.nodes.iter().for_each(|node| describe_node(&mut text, node));
        plan.jobs.iter().for_each(|job| describe_job(&mut text, job));
        for PodGroupPlan { facts, at, deleted, later } in &plan.pod_groups {
            let (key, mins, timeout) = (&facts.key, &facts.mins, facts.timeout);
            let _ = write!(text, "{:?} {} in {} at {} ms", key.kind, key.name, key.namespace, at.0);
            let _ = write!(text, ", deleted {deleted:?}: {mins:?}, timeout {timeout:?}");
            let asked: Vec<_> = facts.min_resources.named().collect();
            let _ = write!(text, ", topology {:?}, asks for {asked:?}", facts.topology);
            let _ = writeln!(text, ", part of {:?}", facts.parent);
            for (at, facts) in later {
                let said = facts.as_ref().map(|facts| (&facts.mins, &facts.parent));
                let _ = writeln!(text, "  at {} ms: {said:?}", at.0);
            }
        }
        for NamespacePlan { name, states } in &plan.namespaces {
            let _ = writeln!(text, "namespace {name}: {states:?}");
        }
        for profile in plan.settings.profiles.iter().filter(|profile| !profile.args.is_empty()) {
            let _ = writeln!(text, "profile {}: {:?}", profile.scheduler, profile.args);
        }
        for GroupingFacts { key, selector } in &plan.groupings {
            let (kind, requirements) = (key.kind, &selector.requirements);
            let _ = write!(text, "{kind:?} {} in {}: ", key.name, key.namespace);
            let _ = writeln!(text, "{requirements:?}");
        }
        describe_storage(&mut text, &plan.storage);
        for Budget { name, namespace, selector, stay } in &plan.budgets {
            let _ = write!(text, "budget {name} in {namespace}: {stay:?} of ");
            let _ = writeln!(text, "{:?}", selector.requirements);
        }
        text
    }
}

/// Keeps the storage that pods use.
fn keep_storage(plan: &mut Plan) {
    let mounts = || plan.jobs.iter().flat_map(|job| &job.life.mounts);
    if mounts().next().is_none() {
        plan.storage = StoragePlan::default();
        return;
    }
    let is_shared =
        |claim: &ClaimPlan| mounts().any(|mount| *mount == Mount::Shared(claim.facts.name.clone()));
    plan.storage.claims.retain(is_shared);
    let is_there = |name: &str| plan.nodes.iter().any(|node| *node.facts.name == *name);
    plan.storage.csi_nodes.retain(|(_, facts)| is_there(&facts.name));
    if !mounts().any(|mount| more::is_more(mount, &plan.storage.claims)) {
        return more::remove(&mut plan.storage);
    }
    let is_about = |change: &StorageChange| {
        let StorageChange::Is(facts) = change else { return true };
        match &**facts {
            StorageFacts::CsiNode(facts) => is_there(&facts.name),
            StorageFacts::Attachment(facts) => is_there(&facts.node),
            StorageFacts::Volume(_)
            | StorageFacts::Claim(_)
            | StorageFacts::Class(_)
            | StorageFacts::CsiDriver(_)
            | StorageFacts::Capacity(_) => true,
        }
    };
    plan.storage.objects.retain(|(_, change)| is_about(change));
}

fn describe_storage(text: &mut String, storage: &StoragePlan) {
    for (at, class) in &storage.classes {
        let (name, by) = (&class.name, &class.provisioner);
        let _ = writeln!(text, "storage class {name} at {} ms: by {by}", at.0);
    }
    for (at, volume) in &storage.volumes {
        let gib = volume.capacity.units() >> 30;
        let _ = write!(text, "volume {} at {} ms: {gib} GiB", volume.name, at.0);
        let _ = writeln!(text, " for {:?}", volume.affinity);
    }
    for ClaimPlan { facts, times } in &storage.claims {
        let gib = facts.size.unwrap_or_default().units() >> 30;
        let _ = write!(text, "claim {} of class {}: {gib} GiB", facts.key(), facts.class);
        let _ = writeln!(text, ", {:?}, comes and goes at {times:?}", facts.modes);
    }
    for (at, facts) in &storage.csi_nodes {
        let _ = writeln!(text, "drivers of {} at {} ms: {:?}", facts.name, at.0, facts.drivers);
    }
    for (at, change) in &storage.objects {
        let _ = writeln!(text, "at {} ms: {change:?}", at.0);
    }
    if !storage.is_empty() {
        let (controller, provisioner) = (storage.controller, storage.provisioner);
        let _ = writeln!(text, "controller {controller:?}, {provisioner:?}");
    }
}

/// The composites that groups are parts of at any time, and those above these.
fn above(groups: &[PodGroupPlan], mut others: Vec<PodGroupPlan>) -> Vec<PodGroupPlan> {
    let mut found: Vec<PodGroupPlan> = Vec::new();
    loop {
        let states = |plan: &PodGroupPlan| {
            let later = plan.later.iter().filter_map(|(_, facts)| facts.as_ref());
            later.chain([&plan.facts]).filter_map(|facts| facts.parent.clone()).collect::<Vec<_>>()
        };
        let parents: BTreeSet<Box<str>> = groups.iter().chain(&found).flat_map(states).collect();
        let before = found.len();
        let is_above = |plan: &mut PodGroupPlan| {
            let key = &plan.facts.key;
            key.kind == PodGroupKind::Composite && parents.contains(&key.name)
        };
        found.extend(others.extract_if(.., is_above));
        if found.len() == before {
            return found;
        }
    }
}

/// Whether a job's pods have a rule about namespaces by their labels.
fn selects_namespaces(job: &Job) -> bool {
    let spec = &job.spec;
    let terms = spec.near.iter().chain(&spec.far).chain(spec.prefers.iter().map(|(_, term)| term));
    let mut selectors = terms.filter_map(|term| term.target.namespace_selector.as_ref());
    selectors.any(|selector| !selector.requirements.is_empty())
}

fn describe_node(text: &mut String, node: &NodePlan) {
    let facts = &node.facts;
    let _ = write!(text, "node {}: {}", facts.name, amounts(&facts.allocatable));
    let _ = write!(text, ", {} pods", facts.pods_max);
    for (key, value) in &facts.labels {
        let _ = write!(text, ", {key}={value}");
    }
    for taint in &facts.taints {
        let _ = write!(text, ", taint {}={}:{:?}", taint.key, taint.value, taint.effect);
    }
    if facts.is_closed {
        text.push_str(", closed");
    }
    if node.joins.0 > 0 {
        let _ = write!(text, ", joins at {} ms", node.joins.0);
    }
    for (at, fate) in &node.fates {
        let _ = write!(text, "\n  at {} ms: {fate:?}", at.0);
    }
    text.push('\n');
}

fn describe_job(text: &mut String, job: &Job) {
    let spec = &job.spec;
    let _ = write!(text, "job {} at {} ms: {} pods of ", job.name, job.at.0, job.pods);
    let _ = write!(text, "{}, scheduler {}", amounts(&spec.requests.fit), spec.scheduler);
    let _ = write!(text, ", namespace {}, priority {}", spec.namespace, job.priority);
    let said = [
        job.node.as_ref().map(|node| format!("on {node}")),
        (job.followers > 0).then(|| format!("{} follow", job.followers)),
        job.runs.map(|(low, high)| format!("runs {} to {} ms", low.0, high.0)),
        job.gates.as_ref().map(|gates| format!("gated, {:?}", gates.lifted_after)),
        spec.target.as_ref().map(|name| format!("for node {name}")),
        (!spec.node_selector.is_empty()).then(|| format!("selector {:?}", spec.node_selector)),
        spec.required.as_ref().map(|terms| format!("required {terms:?}")),
        (!spec.preferred.is_empty()).then(|| format!("preferred {:?}", spec.preferred)),
        (!spec.tolerations.is_empty()).then(|| format!("tolerates {:?}", spec.tolerations)),
        (!spec.ports.is_empty()).then(|| format!("ports {:?}", spec.ports)),
        (!spec.needs.is_empty()).then(|| format!("needs {:?}", spec.needs)),
        (!job.labels.is_empty()).then(|| format!("labels {:?}", job.labels)),
        (!spec.spread.is_empty()).then(|| format!("spread {:?}", spec.spread)),
        (!spec.near.is_empty()).then(|| format!("near {:?}", spec.near)),
        (!spec.far.is_empty()).then(|| format!("far {:?}", spec.far)),
        spec.hints.as_ref().map(|hints| format!("{hints:?}")),
        spec.fabric.as_ref().map(|wish| format!("{wish:?}")),
        (!spec.prefers.is_empty()).then(|| format!("prefers {:?}", spec.prefers)),
        job.gang.as_ref().map(|gang| format!("{gang:?}")),
        (job.life != Default::default()).then(|| format!("{:?}", job.life)),
    ];
    for part in said.into_iter().flatten() {
        let _ = write!(text, ", {part}");
    }
    text.push('\n');
}

fn amounts(amounts: &model::Amounts<String>) -> String {
    let mut text = format!("cpu {}m, memory {} MiB", amounts.cpu, amounts.memory >> 20);
    if amounts.ephemeral > 0 {
        let _ = write!(text, ", ephemeral-storage {} MiB", amounts.ephemeral >> 20);
    }
    for (name, amount) in &amounts.scalars {
        let _ = write!(text, ", {name} {amount}");
    }
    text
}

fn is_in<T: Ord>(set: Option<&BTreeSet<T>>, one: &T) -> bool {
    set.is_none_or(|set| set.contains(one))
}

fn part<T>(all: Vec<T>, only: Option<&BTreeSet<usize>>) -> Vec<T> {
    let all = all.into_iter().enumerate();
    all.filter(|(number, _)| is_in(only, number)).map(|(_, one)| one).collect()
}

fn joined(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(",")
}

fn fate_word((node, fate): &(usize, usize)) -> String {
    format!("{node}:{fate}")
}
