//! GPUs, by rules that are written down a second time: what a node tells of them, what a pod wants
//! of them, and who has which. No GPU is given twice, parts of one do not add up to more than one,
//! and whoever is there and asks for some is counted.
//!
//! Pods that others placed may find too little. They have nothing then, and take nothing from
//! anybody.

mod told;

use engine::Scheduler;
use model::{ClassId, GpuFault, GpuGuest, GpuPool, NodeFacts, NodeId, PodFacts, PodId, PodState};

use super::Violation;
use super::ledger::Ledger;
use told::{TellsOf, WHOLE};
pub(super) use told::{Wanted, fault_of, is_certain};

/// Looks at the GPUs of all nodes.
pub(crate) fn check_gpus(ledger: &Ledger, scheduler: &Scheduler) -> Result<(), Violation> {
    let catalog = scheduler.catalog();
    for node in catalog.nodes() {
        for pool in scheduler.usage().gpus(*node) {
            let name = catalog.node_name(*node);
            let Some((facts, _)) = ledger.node(name) else { continue };
            if let Some(why) = fault(ledger, scheduler, (*node, facts), pool) {
                return Err(Violation::Inside { node: name.into(), why });
            }
        }
    }
    Ok(())
}

fn fault(
    ledger: &Ledger,
    scheduler: &Scheduler,
    (node, facts): (NodeId, &NodeFacts),
    pool: &GpuPool,
) -> Option<String> {
    let resource = scheduler.catalog().resource_name(pool.layout().resource);
    let Some(tells) = TellsOf::of(facts, resource) else {
        return Some(format!("GPUs of {resource} are counted, and none are offered"));
    };
    let layout = pool.layout();
    let is_known = (0..layout.count()).all(|at| tells.memory.get(at) == Some(&layout.memory(at)));
    if layout.count() != tells.memory.len() || !is_known {
        return Some(format!("{} GPUs are counted, and {tells:?} are told", layout.count()));
    }
    if layout.sharing.replicas() != tells.replicas {
        return Some(format!("GPUs are offered {} times each", tells.replicas));
    }
    let mut expected = expected(scheduler, node, pool);
    let mut guests: Vec<_> = pool.guests().iter().map(|guest| (guest.pod, guest.class)).collect();
    expected.sort_unstable();
    guests.sort_unstable();
    if guests != expected {
        return Some(format!("{guests:?} have GPUs, and {expected:?} should"));
    }
    taken_fault(ledger, scheduler, (facts, &tells), pool)
}

/// Who is there, or is to be there, and asks for these GPUs.
fn expected(scheduler: &Scheduler, node: NodeId, pool: &GpuPool) -> Vec<(Option<PodId>, ClassId)> {
    let catalog = scheduler.catalog();
    let pods = catalog.pods_on(node).iter().map(|pod| (Some(*pod), catalog.pod(*pod).class));
    let holds = scheduler.usage().holds().charged_on(node).iter();
    let all = pods.chain(holds.map(|hold| (None, hold.occupant.class)));
    let resource = catalog.resource_name(pool.layout().resource);
    let asks = |class: ClassId| {
        Wanted::of(&catalog.class(class).spec).is_some_and(|wanted| wanted.resource == resource)
    };
    all.filter(|(_, class)| asks(*class)).collect()
}

/// What is wrong with who has what.
fn taken_fault(
    ledger: &Ledger,
    scheduler: &Scheduler,
    (facts, tells): (&NodeFacts, &TellsOf<'_>),
    pool: &GpuPool,
) -> Option<String> {
    let count = tells.memory.len();
    let (mut used, mut told) = (vec![0_u32; count], vec![0_u32; count]);
    let mut other = None;
    for guest in pool.guests() {
        let spec = &scheduler.catalog().class(guest.class).spec;
        let Some(known) = known(ledger, scheduler, guest) else { continue };
        let spec = known.map_or(spec, |pod| &pod.spec);
        let Some(wanted) = Wanted::of(spec) else {
            return Some(format!("{:?} has GPUs, and asks for none", guest.pod));
        };
        // Whoever is here against the rules has whole ones.
        let part = tells.part(&wanted).unwrap_or(WHOLE);
        if u32::from(guest.milli) != part {
            return Some(format!("{:?} counts for {}, and takes {part}", guest.pod, guest.milli));
        }
        if count < 128 && guest.devices >> count != 0 {
            return Some(format!("{:?} has a GPU that is not there", guest.pod));
        }
        let reported = known.map_or(0, |pod| reported(facts, pod, wanted.resource));
        let is_told = reported != 0 && (count >= 128 || reported >> count == 0);
        if is_told && guest.devices != reported {
            other = other.or(guest.pod);
        }
        if guest.devices != 0 && !is_told && guest.devices.count_ones() != wanted.count {
            return Some(format!("{:?} has not as many GPUs as it asks for", guest.pod));
        }
        for at in crate::world::bits(guest.devices) {
            used[at as usize] += part;
            told[at as usize] += if is_told && reported >> at & 1 == 1 { part } else { 0 };
        }
    }
    // What several are told to hold at once is not for us to judge.
    let mut all = used.iter().zip(&told);
    if let Some(at) = all.position(|(used, told)| *used > WHOLE && *told <= WHOLE) {
        return Some(format!("GPU {at} is given twice: {} of it", used[at]));
    }
    if let Some(pod) = other {
        return Some(format!("{pod:?} has something else than was reported"));
    }
    let is_other = |at: &usize| {
        let (is_free, left) = (pool.free() >> at & 1 == 1, u32::from(pool.left(*at)));
        is_free != (used[*at] == 0) || left != WHOLE.saturating_sub(used[*at])
    };
    (0..count).find(is_other).map(|at| format!("GPU {at} is neither free nor taken, or both"))
}

/// What was delivered of a guest; nothing at all if it is not clear what that is, which is so while
/// an event is on its way.
fn known<'a>(
    ledger: &'a Ledger,
    scheduler: &Scheduler,
    guest: &GpuGuest,
) -> Option<Option<&'a PodFacts>> {
    let Some(pod) = guest.pod else { return Some(None) };
    let known = ledger.pod(&scheduler.catalog().pod(pod).key.uid)?;
    Some(Some(known.facts()))
}

/// The GPUs that the node's agent tells a pod to hold, if it knows all of them by their numbers.
fn reported(node: &NodeFacts, pod: &PodFacts, resource: &str) -> u128 {
    let mut held = node.held.iter().flat_map(|held| &held.pods);
    let held = held.find(|held| held.uid == pod.key.uid);
    let mut devices = held.iter().flat_map(|held| &held.devices);
    let Some(of) = devices.find(|of| *of.resource == *resource) else { return 0 };
    let bit = |index: Option<u32>| index.filter(|at| *at < 128).map(|at| 1_u128 << at);
    let bits: Option<Vec<u128>> = of.indices.iter().map(|index| bit(*index)).collect();
    bits.unwrap_or_default().into_iter().fold(0, |all, one| all | one)
}

/// Whether a node has no GPUs left for a pod, as far as the scheduler knows who has which.
pub(super) fn is_refused(
    scheduler: &Scheduler,
    ledger: &Ledger,
    pod: &PodFacts,
    node: &NodeFacts,
) -> bool {
    if !ledger.is_picky(pod) {
        return false;
    }
    if pod.spec.gpu.as_ref().is_some_and(|wish| wish.fault.is_some()) {
        return true;
    }
    let Some(wanted) = Wanted::of(&pod.spec) else { return false };
    if fault_of(&pod.spec, node).is_some() {
        return true;
    }
    let Some(tells) = TellsOf::of(node, wanted.resource) else { return false };
    // Where another pod has to fit beside it, this is not certain.
    if !is_certain(&pod.spec, node) && ledger.rivals(&node.name, pod).next().is_some() {
        return true;
    }
    let catalog = scheduler.catalog();
    let id = catalog.find_node(&node.name);
    let pools = id.map_or(&[][..], |id| scheduler.usage().gpus(id));
    let is_it = |pool: &&GpuPool| catalog.resource_name(pool.layout().resource) == wanted.resource;
    let Some(pool) = pools.iter().find(is_it) else { return false };
    let mut used = vec![0_u32; tells.memory.len()];
    for guest in pool.guests() {
        for at in crate::world::bits(guest.devices) {
            used[at as usize] += u32::from(guest.milli);
        }
    }
    !tells.has_room(&wanted, &used)
}

/// Checks that a pod which is on its way has the GPUs that it asks for, as soon as it is sent.
pub(crate) fn check_given_gpus(
    ledger: &Ledger,
    scheduler: &Scheduler,
    uid: &str,
) -> Result<(), Violation> {
    let catalog = scheduler.catalog();
    let facts = ledger.pod(uid).map(super::ledger::Known::facts);
    let Some(facts) = facts.filter(|facts| ledger.is_picky(facts)) else { return Ok(()) };
    let Some(pod) = catalog.find_pod(uid) else { return Ok(()) };
    let (Some(wanted), PodState::Assumed(node, _)) =
        (Wanted::of(&facts.spec), catalog.pod(pod).state)
    else {
        return Ok(());
    };
    for pool in scheduler.usage().gpus(node) {
        if catalog.resource_name(pool.layout().resource) != wanted.resource {
            continue;
        }
        let devices = pool.devices_of(pod).unwrap_or(0);
        if devices.count_ones() != wanted.count {
            let why = format!("{uid} was sent there, and has GPUs {devices:b} of {}", wanted.count);
            return Err(Violation::Inside { node: catalog.node_name(node).into(), why });
        }
    }
    Ok(())
}

/// Why a pod must not be on a node by what it asks of GPUs and what the node tells of them.
pub(super) fn objection(ledger: &Ledger, pod: &PodFacts, node: &NodeFacts) -> Option<&'static str> {
    if !ledger.is_picky(pod) {
        return None;
    }
    if pod.spec.gpu.as_ref().is_some_and(|wish| wish.fault.is_some()) {
        return Some("what it asks of GPUs makes no sense");
    }
    fault_of(&pod.spec, node).map(|fault| match fault {
        GpuFault::NoSharing => "nothing there lets pods share a GPU",
        GpuFault::MemoryUnknown => "nobody tells how much memory its GPUs have",
        GpuFault::MemoryTooSmall => "its GPUs have too little memory",
        GpuFault::InvalidMemory(_)
        | GpuFault::InvalidShare(_)
        | GpuFault::NoneFree
        | GpuFault::ShareFull => "its GPUs are not for it",
    })
}
