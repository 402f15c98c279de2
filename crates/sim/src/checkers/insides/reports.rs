//! Reported facts win over foreseen ones: whoever was inside a node when a report came that names
//! him holds what it says, and nobody counts as reported whom the last report does not name.

use std::collections::{BTreeMap, BTreeSet};

use engine::Scheduler;
use model::hardware::{HeldByPod, HeldFacts};
use model::topology::CpuSet;
use model::{Guest, Inside};

use super::super::Violation;
use super::super::ledger::Ledger;
use crate::world::bits;

/// What was seen when everything was last looked at, by the name of the node.
#[derive(Default)]
pub(in super::super) struct Reports(BTreeMap<Box<str>, Seen>);

struct Seen {
    held: HeldFacts,
    /// Who was inside, by uid.
    guests: BTreeSet<Box<str>>,
}

impl Reports {
    /// Looks at all nodes of which it was told what pods hold inside.
    pub(in super::super) fn check(
        &mut self,
        ledger: &Ledger,
        scheduler: &Scheduler,
    ) -> Result<(), Violation> {
        let mut seen = BTreeMap::new();
        for (facts, _) in ledger.nodes() {
            let Some(held) = facts.held.as_deref() else { continue };
            let node = scheduler.catalog().find_node(&facts.name);
            let inside = node.and_then(|node| scheduler.usage().inside(node));
            let Some(inside) = inside else { continue };
            let before = self.0.remove(&*facts.name);
            if let Some(why) = fault(scheduler, inside, held, before.as_ref()) {
                return Err(Violation::Inside { node: facts.name.clone(), why });
            }
            let guests = inside.guests().iter().filter_map(|guest| uid(scheduler, guest));
            let guests = guests.map(Into::into).collect();
            let held = before.map(|before| before.held).filter(|before| before == held);
            let held = held.unwrap_or_else(|| facts.held.as_deref().cloned().unwrap_or_default());
            seen.insert(facts.name.as_str().into(), Seen { held, guests });
        }
        self.0 = seen;
        Ok(())
    }
}

fn uid<'a>(scheduler: &'a Scheduler, guest: &Guest) -> Option<&'a str> {
    guest.pod.map(|pod| &*scheduler.catalog().pod(pod).key.uid)
}

fn fault(
    scheduler: &Scheduler,
    inside: &Inside,
    held: &HeldFacts,
    before: Option<&Seen>,
) -> Option<String> {
    let is_news = before.is_some_and(|before| before.held != *held);
    for guest in inside.guests() {
        let Some(uid) = uid(scheduler, guest) else { continue };
        let told = held.pods.iter().find(|told| *told.uid == *uid);
        let was_there = before.is_some_and(|before| before.guests.contains(uid));
        match told {
            None if guest.is_reported => return Some(format!("nobody reported what {uid} holds")),
            Some(told) if guest.is_reported && !is_what(scheduler, inside, guest, told) => {
                return Some(format!("{uid} holds something else than was reported"));
            }
            Some(_) if is_news && was_there && !guest.is_reported => {
                return Some(format!("it was reported what {uid} holds, and it is still foreseen"));
            }
            None | Some(_) => {}
        }
    }
    None
}

/// Whether a pod holds what was told of it, as far as the machine has it.
fn is_what(scheduler: &Scheduler, inside: &Inside, guest: &Guest, told: &HeldByPod) -> bool {
    let machine = inside.machine();
    let cpus: CpuSet = told.cpus.iter().collect();
    let cpus = cpus.common(machine.cpus());
    let mut resources = inside.machine().device_resources().enumerate();
    let is_same = |(place, resource)| {
        let name = scheduler.catalog().resource_name(resource);
        let told = told.devices.iter().find(|of| *of.resource == *name);
        let told: BTreeSet<u32> =
            told.into_iter().flat_map(|of| of.indices.iter().copied().flatten()).collect();
        let told: BTreeSet<u32> =
            told.into_iter().filter(|index| *index < machine.device_count(place)).collect();
        let taken = guest.taken.devices.iter().filter(|of| of.resource == place);
        let taken: BTreeSet<u32> = taken.flat_map(|of| bits(of.devices)).collect();
        taken == told
    };
    guest.taken.cpus == cpus && resources.all(is_same)
}
