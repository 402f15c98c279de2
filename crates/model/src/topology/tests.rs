//! Facts about single pods, and what the merge of hints rests on.

use proptest::prelude::*;

use super::zones::MaskSet;
use super::*;
use crate::ids::ResourceId;
use crate::resources::Resources;

const GIB: u64 = 1 << 30;

fn gpu() -> ResourceId {
    Resources::default().hold("nvidia.com/gpu")
}

/// Two zones with 16 cores of two threads, 128 GiB and four GPUs each; CPUs 0 and 32 are reserved.
fn two_sockets(policy: TopologyPolicy) -> MachineFacts {
    let zone = |id: u32| ZoneFacts {
        id,
        cpus: (0..32)
            .map(|n| CpuFacts {
                id: id * 16 + n % 16 + n / 16 * 32,
                core: n % 16,
                socket: id,
                cache: id,
            })
            .collect(),
        memory: Some(128 * GIB),
        memory_reserved: GIB,
        distances: vec![10, 21],
        ..ZoneFacts::default()
    };
    let device = |n: u32| DeviceFacts { zones: Some(vec![n / 4]), is_healthy: true };
    MachineFacts {
        zones: vec![zone(0), zone(1)],
        reserved_cpus: vec![0, 32],
        devices: vec![DevicesFacts { resource: gpu(), devices: (0..8).map(device).collect() }],
        policy,
        cpu_manager: Some(CpuManagerFacts::default()),
        is_memory_static: true,
        ..MachineFacts::default()
    }
}

fn ask(cpus: u64, gib: u64, gpus: u32) -> PodAsk {
    let container = ContainerAsk {
        role: ContainerRole::App,
        cpu_milli: cpus * 1_000,
        memory: Box::new([(ResourceId::MEMORY, gib * GIB)]),
        devices: if gpus > 0 { Box::new([(gpu(), gpus)]) } else { Box::default() },
    };
    PodAsk { is_exclusive: true, containers: Box::new([container]) }
}

#[test]
fn a_pod_is_aligned_with_the_zone_that_has_all_of_it() {
    let machine = Machine::new(&two_sockets(TopologyPolicy::SingleNumaNode)).unwrap();
    let mut state = State::new(&machine);
    // 30 CPUs of zone 0 are free and 32 of zone 1, so the second pod goes to zone 1.
    for zone in [0, 1] {
        let taken = predict(&machine, &state, &ask(16, 64, 2)).unwrap();
        assert_eq!(taken.masks, [Some(ZoneMask::of(zone))]);
        assert_eq!(taken.cpus_in(&machine, zone), 16);
        assert_eq!(taken.devices_in(&machine, 0, zone), 2);
        assert_eq!(taken.memory_in(0, zone), 64 * GIB);
        state.apply(&taken);
    }
    let refused = predict(&machine, &state, &ask(17, 1, 0)).unwrap_err();
    assert_eq!(refused.cause.reason(), "TopologyAffinityError");
}

#[test]
fn restricted_refuses_what_not_all_resources_prefer() {
    let facts = two_sockets(TopologyPolicy::Restricted);
    let machine = Machine::new(&facts).unwrap();
    let state = State::new(&machine);
    // Eight GPUs need both zones, four CPUs prefer one.
    let refused = predict(&machine, &state, &ask(4, 1, 8)).unwrap_err();
    assert_eq!(refused.cause, RejectionCause::TopologyAffinity);
    assert_eq!(refused.container, Some(0));
    let facts = MachineFacts { policy: TopologyPolicy::BestEffort, ..facts };
    let machine = Machine::new(&facts).unwrap();
    let taken = predict(&machine, &state, &ask(4, 1, 8)).unwrap();
    assert_eq!(taken.devices[0].devices, 0xff);
}

#[test]
fn a_pod_without_whole_cpus_and_devices_is_admitted_unseen() {
    let machine = Machine::new(&two_sockets(TopologyPolicy::SingleNumaNode)).unwrap();
    let state = State::new(&machine);
    let plain = PodAsk { is_exclusive: false, ..ask(1_000, 1_000, 0) };
    assert!(plain.is_plain());
    let taken = predict(&machine, &state, &plain).unwrap();
    assert!(taken.is_empty());
    assert_eq!(taken.masks, [None]);
}

#[test]
fn what_is_undone_leaves_nothing() {
    let machine = Machine::new(&two_sockets(TopologyPolicy::BestEffort)).unwrap();
    let mut state = State::new(&machine);
    let mut applied = Vec::new();
    for _ in 0..3 {
        let before = state.clone();
        let taken = predict(&machine, &state, &ask(6, 50, 1)).unwrap();
        state.apply(&taken);
        assert_ne!(state, before);
        applied.push((taken, before));
    }
    while let Some((taken, before)) = applied.pop() {
        state.undo(&taken);
        assert_eq!(state, before);
    }
}

#[test]
fn devices_at_several_zones_are_a_guess() {
    let facts = MachineFacts { policy: TopologyPolicy::None, ..two_sockets(TopologyPolicy::None) };
    let machine = Machine::new(&facts).unwrap();
    let state = State::new(&machine);
    assert_eq!(predict(&machine, &state, &ask(1, 1, 1)).unwrap().guess, Some(0));
    assert_eq!(predict(&machine, &state, &ask(1, 1, 8)).unwrap().guess, None);
}

#[test]
fn devices_elsewhere_come_before_those_of_which_nothing_is_said() {
    let mut facts = two_sockets(TopologyPolicy::BestEffort);
    let device = |zones| DeviceFacts { zones, is_healthy: true };
    facts.devices[0].devices = vec![device(None), device(Some(vec![0])), device(Some(vec![1]))];
    let machine = Machine::new(&facts).unwrap();
    let mut state = State::new(&machine);
    // All 30 free CPUs of zone 0 are taken, so the pod is aligned with zone 1.
    state.assume_cpus(&machine, 0, 30);
    let taken = predict(&machine, &state, &ask(2, 1, 2)).unwrap();
    assert_eq!((taken.devices[0].devices, taken.guess), (0b110, None));
}

#[test]
fn cpus_known_by_number_are_taken_by_whole_cores() {
    let machine = Machine::new(&two_sockets(TopologyPolicy::None)).unwrap();
    let mut state = State::new(&machine);
    let taken = state.assume_cpus(&machine, 1, 4);
    assert_eq!(taken.iter().collect::<Vec<_>>(), [16, 17, 48, 49]);
    assert_eq!(state.assume_cpus(&machine, 1, 100).count(), 28);
}

#[test]
fn machines_that_cannot_be_predicted_say_why() {
    let facts = || two_sockets(TopologyPolicy::None);
    let check = |facts: MachineFacts, fault| assert_eq!(Machine::new(&facts), Err(fault));
    check(MachineFacts { zones: Vec::new(), ..facts() }, MachineFault::NoZone);
    let zones = (0..9).map(|id| ZoneFacts { id, ..ZoneFacts::default() }).collect();
    check(MachineFacts { zones, ..facts() }, MachineFault::TooManyZones);
    check(MachineFacts { reserved_cpus: vec![500], ..facts() }, MachineFault::ReservedCpuUnknown);
    let mut twice = facts();
    twice.zones[1].id = 0;
    check(twice, MachineFault::ZoneTwice);
    let mut far = facts();
    (far.zones[1].id, far.prefers_closest) = (5, true);
    check(far, MachineFault::DistanceMissing);
    let mut many = facts();
    many.devices[0].devices = vec![DeviceFacts::default(); DEVICES_MAX + 1];
    check(many, MachineFault::TooManyDevices);
    let mut full = facts();
    full.zones[0].memory_reserved = 129 * GIB;
    check(full, MachineFault::MemoryOverReserved);
}

proptest! {
    #[test]
    fn intersections_are_those_of_all_pairs(
        zones in 1_usize..=8,
        one in prop::collection::vec(1_u8.., 0..40),
        other in prop::collection::vec(1_u8.., 0..40),
    ) {
        let all = ZoneMask::first(zones).bits();
        let set = |masks: &[u8]| {
            let mut set = MaskSet::EMPTY;
            masks.iter().for_each(|bits| set.insert(ZoneMask::from_bits(bits & all)));
            set
        };
        let (one, other) = (set(&one), set(&other));
        let mut pairs = MaskSet::EMPTY;
        for ours in one.iter() {
            for theirs in other.iter() {
                pairs.insert(ZoneMask::from_bits(ours.bits() & theirs.bits()));
            }
        }
        prop_assert_eq!(one.intersections(&other, zones), pairs);
    }
}
