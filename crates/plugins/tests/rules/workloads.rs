//! How pods are packed or spread by what they do, by table; and that no two plugins of the default
//! profile cancel each other out.

use std::collections::BTreeMap;

use framework::{
    Args, FitArgs, PluginChoice, Point, ProfileSettings, ResourceWeight, Strategy, WorkloadArgs,
};
use testkit::{Script, check_with, draw, only, own_profile, with_args};

#[test]
fn pods_are_packed_or_spread_by_what_they_do() {
    check_with(
        &[only("WorkloadAware")],
        "
        node a cpu=4 memory=8Gi
        node b cpu=16 memory=8Gi
        pod x on=a cpu=1 memory=1Gi
        judge p cpu=1 memory=1Gi workload=batch
        > a fits WorkloadAware=40
        > b fits WorkloadAware=8.75
        judge p cpu=1 memory=1Gi workload=training
        > a fits WorkloadAware=40
        > b fits WorkloadAware=8.75
        judge p cpu=1 memory=1Gi
        > a fits WorkloadAware=4
        > b fits WorkloadAware=0.875
        judge p cpu=1 memory=1Gi workload=inference
        > a fits WorkloadAware=4
        > b fits WorkloadAware=0.875
        judge p cpu=1 memory=1Gi workload=interactive
        > a fits WorkloadAware=60
        > b fits WorkloadAware=91.25
        # Whoever names a gang is batch.
        judge p cpu=1 memory=1Gi gang=g
        > a fits WorkloadAware=40
        > b fits WorkloadAware=8.75
        # Only what is asked for counts.
        judge p cpu=1 workload=batch
        > a fits WorkloadAware=50
        > b fits WorkloadAware=6.25
        judge p memory=1Gi workload=batch
        > a fits WorkloadAware=25
        > b fits WorkloadAware=12.5
        judge p example.com/nic=1 workload=batch
        > a fits
        > b fits
        judge p workload=batch
        > a fits
        > b fits
        ",
    );
}

#[test]
fn gpus_dominate_for_pods_that_ask_for_them() {
    check_with(
        &[only("WorkloadAware")],
        "
        node a cpu=4 memory=8Gi gpu=4
        node b cpu=4 memory=8Gi gpu=4
        pod x on=a cpu=3 memory=7Gi
        pod y on=b gpu=2
        judge p cpu=1 memory=1Gi gpu=1
        > a fits WorkloadAware=3.333
        > b fits WorkloadAware=6.888
        judge p cpu=1 memory=1Gi
        > a fits WorkloadAware=10
        > b fits WorkloadAware=2
        ",
    );
}

#[test]
fn weights_are_arguments() {
    let weight = |(name, weight): (&str, i64)| ResourceWeight { name: name.into(), weight };
    let weights = [("cpu", 0), ("memory", 1), ("example.com/nic", 3)].map(weight).into();
    let args = Args::Workload(WorkloadArgs { weights });
    check_with(
        &[with_args(only("WorkloadAware"), "WorkloadAware", args)],
        "
        node a cpu=4 memory=8Gi example.com/nic=2
        node b cpu=4 memory=4Gi
        judge p cpu=4 memory=4Gi example.com/nic=1 workload=batch
        > a fits WorkloadAware=50
        > b fits WorkloadAware=100
        judge p cpu=4 memory=4Gi workload=batch gpu=1
        > a fits WorkloadAware=50
        > b fits WorkloadAware=100
        judge p cpu=4 gpu=1 workload=batch
        > a fits
        > b fits
        ",
    );
}

#[test]
fn interactive_pods_stay_away_from_pods_with_cpus_of_their_own() {
    check_with(
        &[only("WorkloadAware")],
        "
        node a cpu=4 memory=8Gi zones=2x2 policy=restricted
        node b cpu=4 memory=8Gi zones=2x2 policy=restricted
        pod x on=a cpu=1 memory=1Gi exclusive
        pod y on=b cpu=1500m memory=1Gi
        judge p cpu=1 workload=interactive
        > a fits WorkloadAware=0
        > b fits WorkloadAware=37.5
        judge p cpu=1 workload=batch
        > a fits WorkloadAware=50
        > b fits WorkloadAware=62.5
        ",
    );
}

/// How far apart scores are.
fn range(scores: &[f64]) -> f64 {
    let most = scores.iter().copied().fold(f64::MIN, f64::max);
    most - scores.iter().copied().fold(f64::MAX, f64::min)
}

/// Weighted scores of each plugin on the nodes that fit, in a drawn cluster.
fn scores(profile: &ProfileSettings, workload: &str, seed: u64) -> BTreeMap<String, Vec<f64>> {
    let mut state = seed;
    let mut dice = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        state ^ state >> 29
    };
    let mut run = Script::new(std::slice::from_ref(profile), Default::default());
    run.command("grouping service/web app:web");
    for at in 0..8 {
        // Most nodes have room: where few fit, nobody tells them apart.
        let (cpu, memory) = ([4, 4, 8, 16][dice() as usize % 4], 8 + dice() % 57);
        let size = format!("cpu={cpu} memory={memory}Gi pods=110");
        run.command(&format!("{} {size}", draw::node(at, dice())));
    }
    let mut pod = |at, node| {
        // Of pods that ask for nothing, plugins count different things.
        let (cpu, memory) = (100 + dice() % 900, 100 + dice() % 2000);
        format!("{} cpu={cpu}m memory={memory}Mi", draw::pod(at, node, dice()))
    };
    (0..16).for_each(|at| drop(run.command(&pod(at, Some(at / 2)))));
    let judged = pod(99, None);
    let more = ["", "label=app:web image=web", "label=app:db image=db"][dice() as usize % 3];
    let judged = format!("{judged} {more}");
    let answers = run.command(&format!("judge {} workload={workload}", &judged[4..]));
    let mut scores: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for answer in answers.iter().filter(|answer| answer.contains(" fits")) {
        for (plugin, score) in answer.split(' ').filter_map(|word| word.split_once('=')) {
            scores.entry(plugin.into()).or_default().push(score.parse().expect("a score"));
        }
    }
    scores
}

/// Two plugins, by name.
type Pair = (String, String);

/// In how many clusters both of two plugins tell nodes apart, and in how many their sum does.
fn pairs(profile: &ProfileSettings, workload: &str) -> BTreeMap<Pair, (usize, usize)> {
    let mut pairs: BTreeMap<Pair, (usize, usize)> = BTreeMap::new();
    for scores in (0..250).map(|seed| scores(profile, workload, seed)) {
        for (one, ours) in &scores {
            for (other, theirs) in scores.iter().filter(|(other, _)| *other > one) {
                let least = range(ours).min(range(theirs));
                if least < 1.0 {
                    continue;
                }
                let sums: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a + b).collect();
                let counts = pairs.entry((one.clone(), other.clone())).or_default();
                counts.0 += 1;
                // Whole points are rounded, so that a sum is hardly ever the same everywhere.
                counts.1 += usize::from(range(&sums) * 10.0 > least);
            }
        }
    }
    // What is seen less often says nothing.
    pairs.retain(|_, (both, _)| *both >= 5);
    assert!(pairs.len() > 5, "too few plugins tell nodes apart: {pairs:?}");
    pairs
}

/// Pairs of plugins that both tell nodes apart, and together mostly do not.
fn cancelling(profile: &ProfileSettings, workload: &str) -> Vec<Pair> {
    let pairs = pairs(profile, workload).into_iter();
    pairs.filter(|(_, (both, sum))| sum * 2 < *both).map(|(pair, _)| pair).collect()
}

#[test]
fn no_two_plugins_of_the_default_profile_cancel_each_other_out() {
    for workload in ["training", "inference", "batch", "service", "interactive"] {
        assert_eq!(cancelling(&own_profile(), workload), [], "{workload}");
    }
    // Those that could: how services are spread, packed and started.
    let seen = pairs(&own_profile(), "service");
    for (one, other) in [
        ("TopologySpread", "WorkloadAware"),
        ("ImageLocality", "TopologySpread"),
        ("TaintToleration", "TopologySpread"),
    ] {
        let is_seen = seen.contains_key(&(one.to_owned(), other.to_owned()));
        assert!(is_seen, "{one} and {other}: {seen:?}");
    }
}

/// The test above sees it when two do.
#[test]
fn packing_and_spreading_cancel_each_other_out() {
    let mut profile = own_profile();
    for (point, choices) in &mut profile.points {
        if *point == Point::Score {
            // Where it ranks GPUs, WorkloadAware has nothing to say of nodes that have some.
            choices.retain(|choice| choice.name != "ResourceFragmentation");
            let fit = PluginChoice { name: "NodeResourcesFit", weight: 5 };
            choices.push(fit);
        }
    }
    let weight = |(name, weight): (&str, i64)| ResourceWeight { name: name.into(), weight };
    let resources = [("cpu", 6), ("memory", 4)].map(weight).to_vec();
    let args = FitArgs { strategy: Strategy::LeastAllocated, resources, ..FitArgs::default() };
    let profile = with_args(profile, "NodeResourcesFit", Args::Fit(args));
    let pair = ("NodeResourcesFit".to_owned(), "WorkloadAware".to_owned());
    assert!(cancelling(&profile, "batch").contains(&pair));
    assert!(!cancelling(&profile, "interactive").contains(&pair));
}
