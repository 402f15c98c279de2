//! Pods that a scheduler placed with an eye on what is inside nodes: their kubelets admit them.
//!
//! What the scheduler could know of a node when it decided is kept for every pod that it sends
//! there. When the kubelet refuses the pod, this is compared with what was so by then. Where both
//! are the same, the scheduler should have known. Where they differ, it could not: another pod was
//! faster, the kubelet chose other devices than were foreseen, or the machine became another one.

use std::collections::BTreeMap;

use engine::Scheduler;
use model::hardware::HardwareFacts;
use model::topology::{CpuSet, Machine, State, ZoneMemory};
use model::{Amounts, Guest, NodeFacts};

use super::Violation;
use super::ledger::Ledger;

/// What schedulers could know of nodes when they sent pods there, by the uid of the pod.
#[derive(Default)]
pub(crate) struct Alignment(BTreeMap<Box<str>, Known>);

/// What a scheduler could know of a node.
struct Known {
    hardware: Option<Box<HardwareFacts>>,
    allocatable: Amounts<String>,
    /// Nothing if it did not keep what is taken inside.
    taken: Option<Digest>,
}

/// What is taken of a machine, as far as it matters to what the kubelet does next: which of several
/// devices in the same zones are taken does not.
#[derive(Debug, PartialEq, Eq)]
struct Digest {
    free_cpus: CpuSet,
    /// For every resource how many devices are free, by the zones that they are in.
    free_devices: Vec<BTreeMap<Vec<usize>, u32>>,
    memory: Vec<(u64, ZoneMemory)>,
}

impl Alignment {
    /// Takes note of what a scheduler knows that sends a pod to a node.
    pub(crate) fn note(&mut self, ledger: &Ledger, scheduler: &Scheduler, uid: &str, node: &str) {
        let Some((facts, _)) = ledger.node(node) else { return };
        if facts.hardware.is_none() {
            return;
        }
        let id = scheduler.catalog().find_node(node);
        let inside = id.and_then(|id| scheduler.usage().inside(id));
        let taken = inside.map(|inside| {
            let is_it = |guest: &&Guest| {
                guest.pod.is_some_and(|pod| *scheduler.catalog().pod(pod).key.uid == *uid)
            };
            // As it was before the pod itself took anything.
            let mut state = inside.state().clone();
            if let Some(guest) = inside.guests().iter().find(is_it) {
                state.release(inside.machine(), &guest.taken);
            }
            Digest::of(inside.machine(), &state)
        });
        let (hardware, allocatable) = (facts.hardware.clone(), facts.allocatable.clone());
        self.0.insert(uid.into(), Known { hardware, allocatable, taken });
    }

    /// Judges that a kubelet refused a pod; `machine` and `state` are how things really are.
    pub(crate) fn check(
        &mut self,
        uid: &str,
        facts: &NodeFacts,
        (machine, state): (&Machine, &State),
    ) -> Result<(), Violation> {
        let Some(known) = self.0.remove(uid) else { return Ok(()) };
        let is_same = known.hardware == facts.hardware && known.allocatable == facts.allocatable;
        let taken = known.taken.unwrap_or_else(|| Digest::of(machine, &State::new(machine)));
        if is_same && taken == Digest::of(machine, state) {
            return Err(Violation::Unaligned { pod: uid.to_owned(), node: facts.name.clone() });
        }
        Ok(())
    }
}

impl Digest {
    fn of(machine: &Machine, state: &State) -> Self {
        let zones = machine.zone_ids().len();
        let site = |resource: usize, device: u32| -> Vec<usize> {
            let is_in = |zone: &usize| machine.devices_of(resource, *zone) >> device & 1 == 1;
            (0..zones).filter(is_in).collect()
        };
        let free = |resource: usize| {
            let mut free: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
            for device in crate::world::bits(state.free_devices(machine, resource)) {
                *free.entry(site(resource, device)).or_default() += 1;
            }
            free
        };
        let kinds = 0..machine.memory_kinds().len();
        let memory =
            kinds.flat_map(|kind| (0..zones).filter_map(move |zone| state.memory(kind, zone)));
        Self {
            free_cpus: *state.free_cpus(),
            free_devices: (0..machine.device_resources().count()).map(free).collect(),
            memory: memory.collect(),
        }
    }
}
