//! What several sources tell of a node, as one. A NodeResourceTopology counts more than labels and
//! annotations; where the two contradict each other, that is told.

use std::borrow::Cow;

use crate::hardware::{CpuRanges, HardwareFacts, KubeletFacts, NumaZone, ReservedMemory, Unread};
use crate::node_resource_topology::{NodeResourceTopologyFacts, ToldZone};
use crate::resources::is_huge_page;
use crate::topology::{CPUS_MAX, CpuManagerFacts, CpuSet, TopologyPolicy, TopologyScope};

/// How many contradictions are told.
const DOUBTS_MAX: usize = 16;

/// What is told of a node; nothing if nobody tells anything.
pub(super) fn merged<'a>(
    labels: Option<&'a HardwareFacts>,
    object: Option<&NodeResourceTopologyFacts>,
) -> Option<Cow<'a, HardwareFacts>> {
    let Some(object) = object else { return labels.map(Cow::Borrowed) };
    let mut told = labels.cloned().unwrap_or_default();
    if !object.zones.is_empty() {
        take_zones(&mut told, object);
    }
    match (&mut told.kubelet, object.policy) {
        (Some(kubelet), policy) => {
            kubelet.policy = policy.unwrap_or(kubelet.policy);
            kubelet.scope = object.scope.unwrap_or(kubelet.scope);
        }
        (None, Some(policy)) => told.kubelet = Some(kubelet(policy, object)),
        (None, None) => {}
    }
    if let Some(kubelet) = &mut told.kubelet {
        reserve_cpus(kubelet, &told.zones, object);
        reserve_memory(kubelet, &told.zones, object);
    }
    Some(Cow::Owned(told))
}

/// Where a NodeResourceTopology contradicts labels and annotations, which count less.
pub(super) fn doubts(labels: &HardwareFacts, object: &NodeResourceTopologyFacts) -> Box<[Unread]> {
    const SAYS: &str = "as the node's NodeResourceTopology says";
    let doubt = |key: &str, value: String, expected: String| {
        let expected = format!("{expected}, {SAYS}").into();
        Unread { key: key.into(), value: value.into(), expected }
    };
    let mut doubts = Vec::new();
    let count = labels.zone_count.map_or(labels.zones.len(), |count| count as usize);
    if count > 0 && !object.zones.is_empty() && count != object.zones.len() {
        let expected = object.zones.len().to_string();
        doubts.push(doubt("numa.kubenexus.io/node-count", count.to_string(), expected));
    }
    for zone in &object.zones {
        let told = labels.zones.iter().find(|told| told.id == zone.id);
        let Some(told) = told.and_then(|told| told.cpus.as_ref()) else { continue };
        let (here, there) = (u64::from(told.count()), cpu_count(zone));
        if here != there && doubts.len() < DOUBTS_MAX {
            let key = format!("numa.kubenexus.io/node-{}-cpus", zone.id);
            doubts.push(doubt(&key, format!("{here} CPUs"), there.to_string()));
        }
    }
    if let Some(kubelet) = &labels.kubelet {
        const KEY: &str = "numa.kubenexus.io/kubelet";
        if let Some(policy) = object.policy.filter(|policy| *policy != kubelet.policy) {
            let value = format!("topologyManagerPolicy {}", policy_word(kubelet.policy));
            doubts.push(doubt(KEY, value, policy_word(policy).into()));
        }
        if let Some(scope) = object.scope.filter(|scope| *scope != kubelet.scope) {
            let value = format!("topologyManagerScope {}", scope_word(kubelet.scope));
            doubts.push(doubt(KEY, value, scope_word(scope).into()));
        }
    }
    doubts.into()
}

fn policy_word(policy: TopologyPolicy) -> &'static str {
    match policy {
        TopologyPolicy::None => "none",
        TopologyPolicy::BestEffort => "best-effort",
        TopologyPolicy::Restricted => "restricted",
        TopologyPolicy::SingleNumaNode => "single-numa-node",
    }
}

fn scope_word(scope: TopologyScope) -> &'static str {
    match scope {
        TopologyScope::Container => "container",
        TopologyScope::Pod => "pod",
    }
}

/// What is assumed of a kubelet of which only a NodeResourceTopology tells.
fn kubelet(policy: TopologyPolicy, object: &NodeResourceTopologyFacts) -> KubeletFacts {
    let has_alignment = policy != TopologyPolicy::None;
    KubeletFacts {
        policy,
        scope: object.scope.unwrap_or_default(),
        cpu_manager: has_alignment.then(CpuManagerFacts::default),
        is_memory_static: object.tells("memory"),
        ..KubeletFacts::default()
    }
}

/// Puts the zones of the object in the place of those of labels.
fn take_zones(told: &mut HardwareFacts, object: &NodeResourceTopologyFacts) {
    let before = std::mem::take(&mut told.zones);
    let known = |zone: &ToldZone| before.iter().find(|known| known.id == zone.id);
    let numbers: Vec<_> = object.zones.iter().map(|zone| numbers(zone, known(zone))).collect();
    let is_numbered = numbers.iter().all(Option::is_some);
    let mut rest = Unused::new(&numbers);
    let tells_memory = object.tells("memory");
    let zone = |(zone, numbers): (&ToldZone, Option<CpuRanges>)| {
        let known = known(zone);
        let own = zone.amount("memory").map(|_| memory(zone));
        NumaZone {
            id: zone.id,
            cpus: numbers.or_else(|| rest.take(cpu_count(zone))),
            memory: match tells_memory {
                // Zones without memory say nothing about it.
                true => Some(own.unwrap_or(0)),
                false => known.and_then(|known| known.memory),
            },
            huge_pages: huge_pages(zone).collect(),
            bandwidth: known.and_then(|known| known.bandwidth),
            socket: known.and_then(|known| known.socket),
            distances: match (&*zone.distances, known) {
                ([], Some(known)) => known.distances.clone(),
                (own, _) => own.into(),
            },
        }
    };
    told.zones = object.zones.iter().zip(numbers).map(zone).collect();
    told.zone_count = u32::try_from(told.zones.len()).ok();
    if !is_numbered {
        // What is told of CPUs by their numbers is not about these.
        told.cores = Box::default();
        if let Some(kubelet) = &mut told.kubelet {
            let reserved = std::mem::take(&mut kubelet.reserved_cpus);
            kubelet.reserved_cpu_count = kubelet.reserved_cpu_count.max(reserved.count());
        }
    }
}

fn cpu_count(zone: &ToldZone) -> u64 {
    zone.amount("cpu").map_or(0, |amount| amount.capacity.max(amount.allocatable))
}

/// The CPUs of a zone where somebody tells as many as there are.
fn numbers(zone: &ToldZone, known: Option<&NumaZone>) -> Option<CpuRanges> {
    let known = known.and_then(|known| known.cpus.as_ref());
    let mut told = zone.cpus.iter().chain(known);
    told.find(|cpus| u64::from(cpus.count()) == cpu_count(zone)).cloned()
}

/// CPUs that nobody numbers get the lowest numbers that are left, zone by zone.
struct Unused {
    used: CpuSet,
    next: u32,
}

impl Unused {
    fn new(numbers: &[Option<CpuRanges>]) -> Self {
        let mut used = CpuSet::EMPTY;
        let all = numbers.iter().flatten().flat_map(CpuRanges::iter);
        all.for_each(|cpu| _ = used.insert(cpu));
        Self { used, next: 0 }
    }

    /// Nothing if there are more than any machine has.
    fn take(&mut self, count: u64) -> Option<CpuRanges> {
        let count = usize::try_from(count).ok().filter(|count| *count <= CPUS_MAX)?;
        let free = (self.next..).filter(|cpu| !self.used.has(*cpu)).take(count);
        let taken: Vec<_> = free.map(|cpu| (cpu, cpu)).collect();
        self.next = taken.last().map_or(self.next, |(last, _)| last + 1);
        CpuRanges::new(taken)
    }
}

/// Huge pages of a zone, by resource.
fn huge_pages(zone: &ToldZone) -> impl Iterator<Item = (Box<str>, u64)> {
    let amounts = zone.amounts.iter().filter(|amount| is_huge_page(&amount.resource));
    amounts.map(|amount| (amount.resource.clone(), amount.capacity.max(amount.allocatable)))
}

fn all_pages(zone: &ToldZone) -> u64 {
    huge_pages(zone).fold(0, |sum, (_, bytes)| sum.saturating_add(bytes))
}

/// All memory of a zone. Some updaters count huge pages as part of it, others do not.
fn memory(zone: &ToldZone) -> u64 {
    let Some(memory) = zone.amount("memory") else { return 0 };
    memory.capacity.max(memory.allocatable.saturating_add(all_pages(zone)))
}

/// What pods cannot have of a zone's CPUs is reserved: those that are told to be, if they are as
/// many, else the first ones.
fn reserve_cpus(
    kubelet: &mut KubeletFacts,
    zones: &[NumaZone],
    object: &NodeResourceTopologyFacts,
) {
    let kept = |zone: &ToldZone| {
        let amount = zone.amount("cpu");
        amount.map_or(0, |amount| amount.capacity.saturating_sub(amount.allocatable))
    };
    // An object that lets pods have everything does not know what is reserved.
    if object.zones.iter().all(|zone| kept(zone) == 0) {
        return;
    }
    let mut reserved = CpuSet::EMPTY;
    kubelet.reserved_cpus.iter().for_each(|cpu| _ = reserved.insert(cpu));
    let of_zone = |(zone, told): (&NumaZone, &ToldZone)| {
        let cpus: Vec<u32> = zone.cpus.iter().flat_map(CpuRanges::iter).collect();
        let count = usize::try_from(kept(told)).unwrap_or(usize::MAX).min(cpus.len());
        let named: Vec<u32> = cpus.iter().copied().filter(|cpu| reserved.has(*cpu)).collect();
        if named.len() == count { named } else { cpus[..count].to_vec() }
    };
    let all = zones.iter().zip(&object.zones).flat_map(of_zone);
    let all = CpuRanges::new(all.map(|cpu| (cpu, cpu)).collect());
    kubelet.reserved_cpus = all.unwrap_or_default();
    kubelet.reserved_cpu_count = 0;
}

/// What pods cannot have of a zone's memory is reserved.
fn reserve_memory(
    kubelet: &mut KubeletFacts,
    zones: &[NumaZone],
    object: &NodeResourceTopologyFacts,
) {
    if !object.tells("memory") {
        return;
    }
    let of_zone = |(zone, told): (&NumaZone, &ToldZone)| {
        let id = zone.id;
        let kept = |resource: &str, bytes: u64| ReservedMemory {
            zone: id,
            resource: resource.into(),
            bytes,
        };
        let allocatable =
            |resource: &str| told.amount(resource).map_or(0, |amount| amount.allocatable);
        let plain = memory(told).saturating_sub(all_pages(told));
        let plain = kept("memory", plain.saturating_sub(allocatable("memory")));
        let pages = zone.huge_pages.iter();
        let pages = pages.map(|(name, all)| kept(name, all.saturating_sub(allocatable(name))));
        pages.chain([plain]).collect::<Vec<_>>()
    };
    let all = zones.iter().zip(&object.zones).flat_map(of_zone);
    kubelet.reserved_memory = all.filter(|kept| kept.bytes > 0).collect();
}
