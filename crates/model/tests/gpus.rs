//! Sets of GPUs against exhaustive search, on machines that exist and on random ones, and what
//! pods have of GPUs in transactions that are undone.

use kubenexus_model as model;
use model::device::{ResourceSliceFacts, SliceDevice};
use model::hardware::{AllGpus, Gpu, HardwareFacts, SharedGpus};
use model::{
    Amounts, Catalog, Charge, GpuLayout, GpuPool, GpuShare, GpuWish, NodeFacts, NodeId, Occupant,
    PodFacts, PodKey, PodRest, PodSpec, Requests, Txn, Usage, WHOLE_MILLI,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use testkit::gpus;

const GPU: &str = "nvidia.com/gpu";

fn config() -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(7), cases: 96, ..ProptestConfig::default() }
}

struct World {
    catalog: Catalog,
    usage: Usage,
    node: NodeId,
    pods: usize,
}

impl World {
    fn new(hardware: HardwareFacts, offered: i64) -> Self {
        let scalars = [(GPU.to_owned(), offered)].into();
        let facts = NodeFacts {
            name: "n".into(),
            allocatable: Amounts { scalars, ..Amounts::default() },
            hardware: Some(Box::new(hardware)),
            ..NodeFacts::default()
        };
        let mut catalog = Catalog::default();
        let (node, _) = catalog.apply_node(&facts);
        let mut usage = Usage::default();
        usage.grow(&catalog);
        usage.touch_facts(&catalog, node);
        Self { catalog, usage, node, pods: 0 }
    }

    fn pool(&self) -> &GpuPool {
        &self.usage.gpus(self.node)[0]
    }

    fn add(&mut self, count: u32, share: Option<u16>) -> Occupant {
        self.pods += 1;
        let uid: Box<str> = format!("p{}", self.pods).into();
        let amounts =
            Amounts { scalars: [(GPU.to_owned(), count.into())].into(), ..Amounts::default() };
        let charge = Charge { amounts: amounts.clone(), ..Charge::default() };
        let wish = GpuWish { share: share.map(GpuShare::Milli), ..GpuWish::default() };
        let spec = PodSpec {
            requests: Requests { fit: amounts, charge, ..Requests::default() },
            gpu: Some(Box::new(wish)),
            ..PodSpec::default()
        };
        let id = self.catalog.add_pod(&PodFacts {
            volumes: [].into(),
            key: PodKey { uid: uid.clone(), namespace: "default".into(), name: uid },
            spec,
            labels: Default::default(),
            owner: None,
            node: None,
            nominated: None,
            is_finished: false,
            gang: None,
            rest: PodRest::default(),
        });
        self.catalog.pod(id).occupant(id)
    }

    fn place(&mut self, occupant: Occupant) {
        let mut txn = Txn::begin(&self.catalog, &mut self.usage);
        txn.place(occupant, self.node);
        txn.commit();
    }

    fn evict(&mut self, occupant: Occupant) {
        let mut txn = Txn::begin(&self.catalog, &mut self.usage);
        txn.evict(occupant, self.node);
        txn.commit();
    }
}

/// All sets of so many GPUs of some.
fn sets(of: u128, count: u32) -> Vec<u128> {
    let all = (0_u128..1 << (128 - of.leading_zeros())).filter(|set| set & !of == 0);
    all.filter(|set| set.count_ones() == count).collect()
}

/// How good a set is, by what is promised: nearness first, then what is left.
fn rank(layout: &GpuLayout, free: u128, set: u128) -> (i32, u32) {
    (layout.nearness(set).points(), layout.worth(free & !set))
}

/// A machine of which GPUs are taken and given back: every set that is given is the best there is.
fn check_machine(hardware: HardwareFacts, moves: &[(u32, usize)]) {
    let count = hardware.gpus.len();
    let mut world = World::new(hardware, i64::try_from(count).expect("few GPUs"));
    let mut here: Vec<Occupant> = Vec::new();
    for (asked, leaver) in moves {
        let free = world.pool().free();
        if free.count_ones() < *asked {
            if !here.is_empty() {
                let leaver = here.remove(leaver % here.len());
                world.evict(leaver);
            }
            continue;
        }
        let occupant = world.add(*asked, None);
        world.place(occupant);
        here.push(occupant);
        let pool = world.pool();
        let got = pool.devices_of(occupant.pod.expect("a pod")).expect("there was room");
        assert_eq!((got & !free, got.count_ones()), (0, *asked));
        let layout = pool.layout();
        let best = sets(free, *asked).into_iter().map(|set| rank(layout, free, set)).max();
        assert_eq!(Some(rank(layout, free, got)), best, "{asked} of {free:b}: {got:b}");
        let taken: u128 = pool.guests().iter().map(|guest| guest.devices).sum();
        assert_eq!(taken, layout.all() & !pool.free(), "no GPU is given twice");
    }
}

fn moves() -> impl Strategy<Value = Vec<(u32, usize)>> {
    prop::collection::vec((1_u32..=8, any::<usize>()), 1..40)
}

/// A machine of sixteen GPUs in groups of random sizes.
fn sixteen() -> impl Strategy<Value = HardwareFacts> {
    let gpu = (0_u32..4, 0_u32..6, 0_u32..5);
    prop::collection::vec(gpu, 16).prop_map(|drawn| {
        let gpu = |(index, (zone, root, domain)): (u32, (u32, u32, u32))| Gpu {
            index,
            zone: Some(zone),
            root: Some(format!("pci{root}").into()),
            nvlink_domain: (domain > 0).then_some(domain),
            ..Gpu::default()
        };
        HardwareFacts { gpus: (0..).zip(drawn).map(gpu).collect(), ..HardwareFacts::default() }
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn sets_of_machines_that_exist_are_those_of_exhaustive_search(moves in moves()) {
        let machines = [
            gpus::hgx_h100(),
            gpus::dgx_a100(),
            gpus::pcie_8(),
            gpus::bridged_a100(),
            gpus::l40s_4(),
            gpus::gb200_tray("cluster.7"),
        ];
        for machine in machines {
            check_machine(machine, &moves);
        }
    }

    #[test]
    fn sets_of_sixteen_are_as_near_and_leave_nearly_as_much(
        hardware in sixteen(), taken in any::<u16>(), count in 1_u32..=8,
    ) {
        let world = World::new(hardware, 16);
        let layout = world.pool().layout();
        let free = layout.all() & !u128::from(taken);
        prop_assume!(free.count_ones() >= count);
        let got = layout.best_set(free, u128::MAX, count, 0).expect("there are enough");
        let best = sets(free, count).into_iter().map(|set| rank(layout, free, set)).max();
        let best = best.expect("there are enough");
        let (near, left) = rank(layout, free, got);
        prop_assert!(f64::from(near) >= 0.9 * f64::from(best.0), "{near} of {}", best.0);
        let is_left = near > best.0 || f64::from(left) >= 0.9 * f64::from(best.1);
        prop_assert!(is_left, "{left} of {} is left", best.1);
    }

    #[test]
    fn what_is_undone_was_never_there(
        steps in prop::collection::vec((1_u32..=3, 1_u16..=20, any::<bool>()), 1..30),
    ) {
        let shared = SharedGpus { resource: GPU.into(), replicas: 10, is_mps: true };
        let model = Some("L40S".into());
        let all_gpus =
            AllGpus { count: Some(4), model, shared: [shared].into(), ..AllGpus::default() };
        let hardware = HardwareFacts { all_gpus, ..HardwareFacts::default() };
        let mut world = World::new(hardware, 40);
        let mut here: Vec<Occupant> = Vec::new();
        for (count, share, stays) in steps {
            let before = world.pool().clone();
            let occupant = world.add(count, Some((share * 50).min(WHOLE_MILLI)));
            let first = here.first().copied();
            let mut txn = Txn::begin(&world.catalog, &mut world.usage);
            txn.place(occupant, world.node);
            if let Some(first) = first {
                txn.evict(first, world.node);
                txn.place(first, world.node);
            }
            drop(txn);
            prop_assert_eq!(world.pool(), &before);
            if stays {
                world.place(occupant);
                here.push(occupant);
            } else if let Some(first) = first {
                world.evict(first);
                here.remove(0);
            }
            let pool = world.pool();
            for at in 0..4 {
                let on = pool.guests().iter().filter(|guest| guest.devices >> at & 1 == 1);
                let used: u32 = on.clone().map(|guest| u32::from(guest.milli)).sum();
                prop_assert!(used <= WHOLE_MILLI.into(), "{used} of a GPU is given");
                prop_assert_eq!(u32::from(pool.left(at)), u32::from(WHOLE_MILLI) - used);
            }
        }
    }
}

#[test]
fn a_pod_with_a_nic_gets_gpus_at_its_pcie_root() {
    const NIC: &str = "example.com/nic";
    let mut catalog = Catalog::default();
    assert!(catalog.set_device_drivers(vec![("nic.example.com".into(), NIC.into())]));
    let gpu = |index: u32| Gpu {
        index,
        root: Some(format!("pci{}", index / 2).into()),
        ..Gpu::default()
    };
    let hardware = HardwareFacts { gpus: (0..4).map(gpu).collect(), ..HardwareFacts::default() };
    let scalars: Box<[(String, i64)]> = [(NIC.to_owned(), 1), (GPU.to_owned(), 4)].into();
    let (node, _) = catalog.apply_node(&NodeFacts {
        name: "n".into(),
        allocatable: Amounts { scalars: scalars.clone(), ..Amounts::default() },
        hardware: Some(Box::new(hardware)),
        ..NodeFacts::default()
    });
    let device =
        SliceDevice { name: "nic-0".into(), root: Some("pci1".into()), ..Default::default() };
    catalog.set_resource_slice(&ResourceSliceFacts {
        name: "s".into(),
        node: "n".into(),
        driver: "nic.example.com".into(),
        pool: "n".into(),
        generation: 1,
        slice_count: 1,
        devices: [device].into(),
        ..ResourceSliceFacts::default()
    });
    let mut usage = Usage::default();
    usage.grow(&catalog);
    usage.touch_facts(&catalog, node);
    let mut chosen = |asked: &[(&str, i64)]| {
        let scalars = asked.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect();
        let amounts = Amounts { scalars, ..Amounts::default() };
        let charge = Charge { amounts: amounts.clone(), ..Charge::default() };
        let requests = Requests { fit: amounts, charge, ..Requests::default() };
        let class = catalog.class_of(&PodSpec { requests, ..PodSpec::default() });
        let ask = catalog.class(class).gpus.clone().expect("it asks");
        usage.gpus_for(&ask, node).expect("a pool").chosen(&ask, WHOLE_MILLI, None)
    };
    assert_eq!(chosen(&[(GPU, 1)]), Some(0b0001));
    assert_eq!(chosen(&[(NIC, 1), (GPU, 1)]), Some(0b0100));
    assert_eq!(chosen(&[(NIC, 1), (GPU, 2)]), Some(0b1100));
}
