//! What is taken inside nodes: by whoever is there and asks for something, nothing twice, and what
//! is free is what nobody has. Added up from what each pod takes, not as the engine keeps it.

mod reports;

use engine::Scheduler;
use model::topology::{CpuSet, State};
use model::{ClassId, Inside, NodeId, PodId};

use super::Violation;
pub(super) use reports::Reports;

/// Looks at the insides of all nodes.
pub(super) fn check_insides(scheduler: &Scheduler) -> Result<(), Violation> {
    let catalog = scheduler.catalog();
    for node in catalog.nodes() {
        let fault = match (scheduler.usage().inside(*node), catalog.machine(*node)) {
            (Some(inside), Some(_)) => fault(scheduler, *node, inside),
            (None, None) => None,
            (Some(_), None) => Some("it is not known what is inside".into()),
            (None, Some(_)) => Some("what is inside is not kept".into()),
        };
        if let Some(why) = fault {
            return Err(Violation::Inside { node: catalog.node_name(*node).into(), why });
        }
    }
    Ok(())
}

fn fault(scheduler: &Scheduler, node: NodeId, inside: &Inside) -> Option<String> {
    let guests: Vec<_> = inside.guests().iter().map(|guest| (guest.pod, guest.class)).collect();
    let expected = expected(scheduler, node);
    if sorted(guests.clone()) != sorted(expected.clone()) {
        return Some(format!("{guests:?} are inside, and {expected:?} should be"));
    }
    let mut cpus = CpuSet::EMPTY;
    let mut devices = vec![0_u128; inside.machine().device_resources().count()];
    for guest in inside.guests() {
        if cpus.count_in(&guest.taken.cpus) > 0 {
            return Some(format!("a CPU of {:?} is given twice", guest.pod));
        }
        cpus.add(&guest.taken.cpus);
        for of in &guest.taken.devices {
            if devices[of.resource] & of.devices != 0 {
                return Some(format!("a device of {:?} is given twice", guest.pod));
            }
            devices[of.resource] |= of.devices;
        }
    }
    let mut free = *State::new(inside.machine()).free_cpus();
    free.remove(&cpus);
    if *inside.state().free_cpus() != free {
        return Some("CPUs are neither free nor taken, or both".into());
    }
    let mut devices = devices.iter().enumerate();
    let is_other = devices.any(|(at, taken)| inside.state().taken_devices(at) != *taken);
    if is_other {
        return Some("devices are neither free nor taken, or both".into());
    }
    memory_fault(inside)
}

/// Memory is given back to other zones than it was taken from, so only its sum must be right.
fn memory_fault(inside: &Inside) -> Option<String> {
    let machine = inside.machine();
    let empty = State::new(machine);
    let sum = |state: &State, kind: usize| -> u64 {
        let zones = 0..machine.zone_ids().len();
        zones.filter_map(|zone| state.memory(kind, zone)).map(|(free, _)| free).sum()
    };
    let blocks = || inside.guests().iter().flat_map(|guest| &guest.taken.blocks);
    let is_other = |kind: &usize| {
        let taken: u64 =
            blocks().filter(|block| block.kind == *kind).map(|block| block.amount).sum();
        sum(inside.state(), *kind) + taken != sum(&empty, *kind)
    };
    let mut kinds = 0..machine.memory_kinds().len();
    kinds.find(is_other).map(|_| "memory is neither free nor taken, or both".into())
}

/// Who is there, or is to be there, and asks for something.
fn expected(scheduler: &Scheduler, node: NodeId) -> Vec<(Option<PodId>, ClassId)> {
    let catalog = scheduler.catalog();
    let pods = catalog.pods_on(node).iter().map(|pod| (Some(*pod), catalog.pod(*pod).class));
    let holds = scheduler.usage().holds().charged_on(node).iter();
    let all = pods.chain(holds.map(|hold| (None, hold.occupant.class)));
    all.filter(|(_, class)| catalog.class(*class).alignment.is_some()).collect()
}

fn sorted(mut guests: Vec<(Option<PodId>, ClassId)>) -> Vec<(Option<PodId>, ClassId)> {
    guests.sort_unstable();
    guests
}

#[cfg(test)]
mod tests {
    use engine::{Checkpoint, Options};
    use model::Catalog;
    use testkit::Script;

    use super::*;

    const NODE: &str = "node a cpu=8 zones=2x4 gpus=0,1 nvidia.com/gpu=2 policy=restricted";

    /// What is found after a checkpoint was tampered with.
    fn found(tamper: impl Fn(&mut Checkpoint)) -> Option<String> {
        let profiles = [testkit::default_profile()];
        let mut run = Script::new(&profiles, Options::default());
        run.command(NODE);
        for pod in ["p", "q"] {
            run.command(&format!("pod {pod} on=a cpu=2 memory=1Gi nvidia.com/gpu=1 exclusive"));
        }
        let mut checkpoint = run.scheduler.checkpoint();
        tamper(&mut checkpoint);
        let mut catalog = Catalog::default();
        let profile = plugins::build(&profiles[0], &mut catalog).expect("a profile");
        let resumed = Scheduler::resume(catalog, vec![profile], Options::default(), checkpoint);
        let violation = check_insides(&resumed.expect("a checkpoint")).err()?;
        Some(violation.to_string())
    }

    #[test]
    fn what_is_given_twice_or_lost_inside_a_node_is_found() {
        assert_eq!(found(|_| {}), None);
        let cpu = |checkpoint: &mut Checkpoint| {
            let guests = &mut checkpoint.insides[0].guests;
            guests[1].taken.cpus = guests[0].taken.cpus;
        };
        let device = |checkpoint: &mut Checkpoint| {
            let guests = &mut checkpoint.insides[0].guests;
            guests[1].taken.devices = guests[0].taken.devices.clone();
        };
        let lost = |checkpoint: &mut Checkpoint| {
            checkpoint.insides[0].guests[0].taken.cpus = CpuSet::EMPTY;
        };
        let kept = |checkpoint: &mut Checkpoint| checkpoint.insides[0].state.set_devices(0, 0);
        for (tamper, why) in [
            (&cpu as &dyn Fn(&mut Checkpoint), "a CPU of"),
            (&device, "a device of"),
            (&lost, "CPUs are neither free nor taken"),
            (&kept, "devices are neither free nor taken"),
        ] {
            let found = found(tamper).expect(why);
            assert!(found.starts_with("inside node a: ") && found.contains(why), "{found}");
        }
    }
}
