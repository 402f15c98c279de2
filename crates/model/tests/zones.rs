//! The orders that docs/numa.md promises, on random machines: all else being equal, one zone comes
//! before two, near zones before far ones, preferred ones before others; and what a node says of a
//! pod is what the pod gets.

use kubenexus_model as model;
use model::hardware::{CpuRanges, Gpu, HardwareFacts, KubeletFacts, NumaZone};
use model::topology::{ContainerAsk, ContainerRole, PodAsk, Predictor, TopologyPolicy};
use model::{
    Amounts, Catalog, NodeFacts, NodeId, NumaPolicy, NumaWish, Occupant, PodFacts, PodKey, PodRest,
    PodSpec, Requests, Txn, Usage,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const GIB: u64 = 1 << 30;

/// What is drawn of a machine.
#[derive(Clone, Debug)]
struct Drawn {
    zones: u32,
    cpus: u32,
    gib: u64,
    far: u32,
    kubelet: Option<TopologyPolicy>,
    taken: Vec<(u32, u64)>,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let kubelet = prop_oneof![
        Just(None),
        Just(Some(TopologyPolicy::None)),
        Just(Some(TopologyPolicy::BestEffort)),
        Just(Some(TopologyPolicy::Restricted)),
        Just(Some(TopologyPolicy::SingleNumaNode)),
    ];
    let taken = prop::collection::vec((1_u32..6, 1_u64..16), 0..8);
    (1_u32..=8, 2_u32..16, 8_u64..64, 11_u32..40, kubelet, taken).prop_map(
        |(zones, cpus, gib, far, kubelet, taken)| Drawn { zones, cpus, gib, far, kubelet, taken },
    )
}

impl Drawn {
    fn node(&self) -> NodeFacts {
        let zone = |id: u32| NumaZone {
            id,
            cpus: CpuRanges::new(vec![(id * self.cpus, (id + 1) * self.cpus - 1)]),
            memory: Some(self.gib * GIB),
            distances: (0..self.zones)
                .map(|to| (to, if to == id { 10 } else { self.far }))
                .collect(),
            ..NumaZone::default()
        };
        let kubelet = self.kubelet.map(|policy| KubeletFacts { policy, ..KubeletFacts::assumed() });
        let gpus: Box<[Gpu]> =
            (0..self.zones).map(|n| Gpu { index: n, zone: Some(n), ..Gpu::default() }).collect();
        let facts = HardwareFacts {
            zones: (0..self.zones).map(zone).collect(),
            gpus,
            kubelet,
            ..HardwareFacts::default()
        };
        let scalars = [("nvidia.com/gpu".to_owned(), i64::from(self.zones))].into();
        NodeFacts {
            name: "n".into(),
            allocatable: Amounts { scalars, ..Amounts::default() },
            hardware: Some(Box::new(facts)),
            ..NodeFacts::default()
        }
    }
}

/// A pod with whole CPUs, memory and devices.
fn spec(cpus: u32, gib: u64, gpus: u32, wish: NumaWish) -> PodSpec {
    let devices = (gpus > 0).then(|| ("nvidia.com/gpu".to_owned(), gpus));
    let container = ContainerAsk {
        role: ContainerRole::App,
        cpu_milli: u64::from(cpus) * 1_000,
        memory: [("memory".to_owned(), gib * GIB)].into(),
        devices: devices.into_iter().collect(),
    };
    PodSpec {
        requests: Requests::default(),
        ask: Some(Box::new(PodAsk { is_exclusive: true, containers: [container].into() })),
        numa: Some(Box::new(wish)),
        ..PodSpec::default()
    }
}

struct World {
    catalog: Catalog,
    usage: Usage,
    node: NodeId,
    pods: usize,
}

impl World {
    fn new(drawn: &Drawn) -> Self {
        let mut catalog = Catalog::default();
        let (node, _) = catalog.apply_node(&drawn.node());
        let mut usage = Usage::default();
        usage.grow(&catalog);
        usage.touch_facts(&catalog, node);
        let mut world = Self { catalog, usage, node, pods: 0 };
        for (cpus, gib) in &drawn.taken {
            world.place(spec(*cpus, *gib, 0, NumaWish::default()));
        }
        world
    }

    /// Places a pod, and returns the zones it gets.
    fn place(&mut self, spec: PodSpec) -> Vec<u32> {
        self.pods += 1;
        let uid: Box<str> = format!("p{}", self.pods).into();
        let key = PodKey { uid: uid.clone(), namespace: "default".into(), name: uid };
        let id = self.catalog.add_pod(&PodFacts {
            volumes: [].into(),
            key,
            spec,
            labels: Default::default(),
            owner: None,
            node: None,
            nominated: None,
            is_finished: false,
            gang: None,
            rest: PodRest::default(),
        });
        let occupant: Occupant = self.catalog.pod(id).occupant(id);
        let mut txn = Txn::begin(&self.catalog, &mut self.usage);
        txn.place(occupant, self.node);
        txn.commit();
        self.usage.inside(self.node).expect("a machine").zones_of(id).expect("a guest")
    }

    /// How good the node is for a pod, and the best zones by id; nothing if it does not take it.
    fn best(&mut self, spec: &PodSpec, asked: NumaPolicy) -> Option<(i32, Vec<u32>)> {
        let class = self.catalog.class_of(spec);
        let alignment = self.catalog.class(class).alignment.clone().expect("it asks");
        let inside = self.usage.inside(self.node).expect("a machine");
        let mut predictor = Predictor::default();
        let ways = inside.ways(&alignment, asked, &mut predictor).ok()?;
        let (worth, zones) = ways.best(&self.catalog, None)?;
        let ids = zones.places().map(|place| inside.machine().zone_ids()[place]).collect();
        self.catalog.release_class(class);
        Some((worth, ids))
    }
}

/// The same cases in every run.
fn config() -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(17);
    ProptestConfig { rng_seed, failure_persistence: None, ..ProptestConfig::with_cases(512) }
}

proptest! {
    #![proptest_config(config())]

    /// Where no kubelet decides, a pod gets the best zones of those the node was ranked by.
    #[test]
    fn a_pod_is_charged_with_the_zones_that_its_node_was_ranked_by(
        drawn in drawn(), cpus in 1_u32..8, gib in 1_u64..32, gpus in 0_u32..3,
        asked in prop_oneof![
            Just(NumaPolicy::BestEffort), Just(NumaPolicy::Restricted),
            Just(NumaPolicy::SingleNuma), Just(NumaPolicy::Isolated),
        ],
        preferred in 0_u64..256, avoided in 0_u64..8,
    ) {
        let mut world = World::new(&drawn);
        let wish = NumaWish { policy: Some(asked), preferred, avoided, ..NumaWish::default() };
        let spec = spec(cpus, gib, gpus, wish);
        if let Some((worth, zones)) = world.best(&spec, asked) {
            prop_assert!((0..=100).contains(&worth), "{worth}");
            if asked >= NumaPolicy::SingleNuma {
                prop_assert_eq!(zones.len(), 1);
            }
            prop_assert!(zones.iter().all(|zone| avoided >> zone & 1 == 0));
            prop_assert_eq!(world.place(spec), zones);
        }
    }

    /// A machine with one zone that has all is never worse than the same split in two that are as
    /// full together, and the nearer the two the better.
    #[test]
    fn one_zone_comes_before_two_and_near_ones_before_far(
        cpus in 1_u32..12, gib in 2_u64..64, near in 11_u32..30, further in 0_u32..30,
        share in 1_u64..=100,
    ) {
        // Too much for one of the two halves, and not for both.
        let asked = u32::try_from(u64::from(cpus) * share / 100).expect("few") + cpus;
        prop_assume!(asked <= 2 * cpus && asked > cpus);
        let machine = |zones: u32, cpus, gib, far| {
            Drawn { zones, cpus, gib, far, kubelet: None, taken: Vec::new() }
        };
        let pod = spec(asked, gib, 0, NumaWish::default());
        let worth = |drawn: Drawn| {
            World::new(&drawn).best(&pod, NumaPolicy::BestEffort).map(|(worth, zones)| {
                (worth, zones.len())
            })
        };
        let one = worth(machine(1, 2 * cpus, 2 * gib, 10)).expect("it fits");
        let two = worth(machine(2, cpus, gib, near)).expect("it fits");
        let far = worth(machine(2, cpus, gib, near + further)).expect("it fits");
        prop_assert_eq!((one.1, two.1, far.1), (1, 2, 2));
        prop_assert!(one.0 > two.0, "{one:?} {two:?}");
        prop_assert!(two.0 >= far.0, "{two:?} {far:?}");
        if further >= 1 && near + further <= 29 {
            prop_assert!(two.0 > far.0, "{two:?} {far:?}");
        }
    }

    /// Preferred zones are taken wherever others are not better for another reason.
    #[test]
    fn preferred_zones_come_before_others(
        zones in 1_u32..=8, cpus in 2_u32..16, asked in 0_u32..16, prefers in 0_u32..8,
    ) {
        let (asked, prefers) = (1 + asked % cpus, prefers % zones);
        let drawn = Drawn { zones, cpus, gib: 64, far: 21, kubelet: None, taken: Vec::new() };
        let mut world = World::new(&drawn);
        let plain = spec(asked, 1, 0, NumaWish::default());
        let wish = NumaWish { preferred: 1 << prefers, ..NumaWish::default() };
        let picky = spec(asked, 1, 0, wish);
        let (worth, _) = world.best(&plain, NumaPolicy::BestEffort).expect("it fits");
        let (better, chosen) = world.best(&picky, NumaPolicy::BestEffort).expect("it fits");
        prop_assert_eq!(chosen, vec![prefers]);
        prop_assert!(better >= worth, "{better} {worth}");
    }
}
