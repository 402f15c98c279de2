//! What is promised of islands of GPUs: in which order nodes of one machine type are taken, and
//! that a pristine island is left to large requests by the whole default profile.

use std::fmt::Write;

use kubenexus_engine::Options;
use model::GpuRoom;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use testkit::{Script, only, own_profile};

/// How a node would fare, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Exact,
    /// No larger slot is lost; so many GPUs are left over.
    Spared(u32),
    /// A larger slot is lost.
    Broken,
    Pristine,
}

fn state(all: u32, free: u32, asked: u32) -> State {
    let larger = [2, 4, 8].into_iter().filter(|size| *size > asked);
    let lost = |size: u32| free / size > (free - asked) / size;
    if free == asked {
        State::Exact
    } else if free == all {
        State::Pristine
    } else if larger.into_iter().any(lost) {
        State::Broken
    } else {
        State::Spared(free - asked)
    }
}

/// The score of a node in an answer, below zero for a last resort.
fn score(answer: &str) -> i64 {
    let (_, score) = answer.split_once("ResourceFragmentation=").expect("a score");
    let score: String = score.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let score: f64 = score.parse().expect("a number");
    let is_last = answer.contains("last resort");
    (score * 1000.0).round() as i64 - if is_last { 1_000_000 } else { 0 }
}

#[test]
fn nodes_of_one_type_are_taken_in_the_promised_order() {
    for (all, words) in [(8, "link=nvswitch model=H"), (8, "link=pcie model=L"), (4, "")] {
        let mut script = Script::new(&[only("ResourceFragmentation")], Options::default());
        for free in 1..=all {
            let gpus = format!("nvidia.com/gpu={all}");
            script.command(&format!("node n{free} cpu=64 memory=512Gi {gpus} {words}"));
            // One by one, so that nobody is known to ask for other sizes.
            for taken in free..all {
                script.command(&format!("pod p{free}-{taken} on=n{free} nvidia.com/gpu=1"));
            }
        }
        script.command("step");
        for asked in 1..=all {
            let answers = script.command(&format!("judge p nvidia.com/gpu={asked}"));
            let states: Vec<(State, i64)> = (asked..=all)
                .map(|free| {
                    let begin = format!("n{free} fits");
                    let answer = answers.iter().find(|answer| answer.starts_with(&begin));
                    (state(all, free, asked), score(answer.expect("it fits")))
                })
                .collect();
            for (one, better) in &states {
                for (other, worse) in states.iter().filter(|(other, _)| one < other) {
                    let what = format!("{asked} of {all} {words}: {one:?} and {other:?}");
                    assert!(better > worse, "{what}: {better} and {worse} in {states:?}");
                }
            }
        }
    }
}

/// Where a pod goes that comes now.
fn placed(script: &mut Script, pod: &str) -> String {
    script.command(&format!("pod {pod}"));
    let placed = script.command("step");
    let (_, node) = placed.first().and_then(|it| it.split_once(" -> ")).expect("a node");
    node.to_owned()
}

#[test]
fn whole_nodes_are_taken_where_the_fewest_are_left_together() {
    for key in ["nvidia.com/gpu.clique", "topology.kubernetes.io/rack"] {
        let mut script = Script::new(&[own_profile()], Options::default());
        // Eight whole nodes in one rack, five in another, of which two are broken, and one alone.
        for (rack, nodes) in [("a", 8), ("b", 5), ("c", 1)] {
            for at in 0..nodes {
                let node = format!("node {rack}{at} cpu=64 memory=512Gi nvidia.com/gpu=4");
                script.command(&format!("{node} link=nvlink model=G label={key}:{rack}"));
            }
        }
        for node in ["b0", "b1"] {
            script.command(&format!("pod on-{node} on={node} cpu=1 nvidia.com/gpu=1"));
        }
        let mut taken: Vec<String> = Vec::new();
        for at in 0..4 {
            // What is left together is counted once a minute.
            script.command("after 61s");
            taken.push(placed(&mut script, &format!("p{at} cpu=1 nvidia.com/gpu=4")));
        }
        let racks: String = taken.iter().map(|node| &node[..1]).collect();
        assert_eq!(racks, "cbbb", "{key}: {taken:?}");
    }
}

#[test]
fn room_counts_islands_whole_nodes_and_racks() {
    let mut script = Script::new(&[own_profile()], Options::default());
    for (at, rack) in ["a", "a", "a", "b", "b"].into_iter().enumerate() {
        let node = format!("node n{at} cpu=64 memory=512Gi nvidia.com/gpu=8 link=nvswitch model=H");
        script.command(&format!("{node} label=topology.kubernetes.io/rack:{rack}"));
    }
    script.command("pod p on=n0 cpu=1 nvidia.com/gpu=3");
    let room = GpuRoom::new(script.scheduler.catalog(), script.scheduler.usage());
    assert_eq!(room.gpus, [37, 18, 9, 4], "five are free of n0, eight of each other node");
    assert_eq!(room.nodes, [4, 2, 1, 0]);
    assert_eq!(room.nodes_of_rack, [4, 2, 0, 0], "two in each rack");
}

#[test]
fn the_guard_holds_until_large_jobs_are_known_to_be_few() {
    let mut script = Script::new(&[own_profile()], Options::default());
    for at in 0..20 {
        let node = format!("node island{at} cpu=64 memory=512Gi nvidia.com/gpu=8 link=nvswitch");
        script.command(&format!("{node} model=H"));
    }
    for at in 0..260 {
        script.command(&format!("node card{at} cpu=2 memory=8Gi nvidia.com/gpu=1 model=T"));
    }
    let small = "cpu=1 memory=1Gi nvidia.com/gpu=1";
    for at in 0..250 {
        script.command(&format!("pod s{at} {small}"));
    }
    script.command("after 61s");
    let is_guarding = |script: &mut Script| {
        let answers = script.command(&format!("judge p {small}"));
        answers.iter().any(|it| it.starts_with("island") && it.contains("last resort"))
    };
    script.command("step");
    assert_eq!(placed(&mut script, &format!("s250 {small}")).get(..4), Some("card"));
    assert!(is_guarding(&mut script), "nobody asked for more yet");
    // One large job among so many small pods: it is known what to expect.
    assert_eq!(placed(&mut script, "large cpu=8 nvidia.com/gpu=8").get(..6), Some("island"));
    script.command("after 61s");
    placed(&mut script, &format!("s251 {small}"));
    assert!(!is_guarding(&mut script), "nineteen islands for one job in 250");
}

/// What is drawn of a node: GPUs, how many of them are taken, CPUs that are, whether it has a taint
/// that makes it worse, whether pods prefer it.
type Drawn = (usize, u32, u32, bool, bool);

const KINDS: [(u32, &str); 4] = [
    (8, "link=nvswitch model=H"),
    (8, "link=nvlink model=A"),
    (4, "link=pcie model=L"),
    (2, "model=T"),
];

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(11), cases: 64, ..ProptestConfig::default()
    })]

    #[test]
    fn a_guarded_island_is_taken_only_if_no_other_node_fits(
        drawn in prop::collection::vec(
            (0_usize..4, 0_u32..9, 0_u32..60, any::<bool>(), any::<bool>()), 1..8),
        pods in prop::collection::vec((1_u32..=2, any::<bool>()), 1..12),
    ) {
        let drawn: Vec<Drawn> = drawn;
        let mut script = Script::new(&[own_profile()], Options::default());
        for (at, (kind, taken, cpus, is_tainted, is_liked)) in drawn.iter().enumerate() {
            let (gpus, words) = KINDS[*kind];
            let mut node =
                format!("node n{at} cpu=64 memory=512Gi nvidia.com/gpu={gpus} {words}");
            if *is_tainted {
                node.push_str(" taint=slow:PreferNoSchedule");
            }
            if *is_liked {
                node.push_str(" label=liked:yes");
            }
            script.command(&node);
            let taken = taken % (gpus + 1);
            let mut pod = format!("pod t{at} on=n{at} cpu={cpus}");
            if taken > 0 {
                write!(pod, " nvidia.com/gpu={taken}").expect("text");
            }
            script.command(&pod);
        }
        for (at, (gpus, is_batch)) in pods.iter().enumerate() {
            let mut pod = format!("p{at} cpu=1 nvidia.com/gpu={gpus} prefer=100:liked:in:yes");
            if *is_batch {
                pod.push_str(" workload=batch");
            }
            let answers = script.command(&format!("judge {pod}"));
            let fits: Vec<&String> = answers.iter().filter(|it| it.contains(" fits")).collect();
            let is_guarded = |name: &str| {
                let begin = format!("{name} fits");
                let answer = fits.iter().find(|it| it.starts_with(&begin));
                answer.is_some_and(|it| it.contains("last resort"))
            };
            for (node, (kind, ..)) in drawn.iter().enumerate() {
                let name = format!("n{node}");
                let taken = script.command(&format!("gpus {name}"));
                let is_pristine = KINDS[*kind].0 >= 8 && taken.iter().all(|it| it.ends_with(": "));
                let is_fit = fits.iter().any(|it| it.starts_with(&format!("{name} fits")));
                prop_assert_eq!(is_guarded(&name), is_fit && is_pristine, "{} {:?}", name, taken);
            }
            script.command(&format!("pod {pod}"));
            let placed = script.command("step");
            let Some((_, node)) = placed.first().and_then(|it| it.split_once(" -> ")) else {
                prop_assert!(fits.is_empty(), "{placed:?}");
                continue;
            };
            let all_guarded = fits.iter().all(|it| it.contains("last resort"));
            prop_assert!(!is_guarded(node) || all_guarded, "{pod} -> {node}: {answers:?}");
        }
    }
}
