//! Whether a pod fits a node's resources, and how full or even it would make the node.

use framework::{
    Args, BalancedArgs, FitArgs, ProfileSettings, ResourceWeight, ShapePoint, Strategy,
};
use testkit::{check_with, only, with_args};

const FIT: &str = "NodeResourcesFit";
const BALANCED: &str = "NodeResourcesBalancedAllocation";

/// Names of resources with their weights.
type Weights = &'static [(&'static str, i64)];

fn fit(args: FitArgs) -> ProfileSettings {
    with_args(only(FIT), FIT, Args::Fit(args))
}

fn weights(resources: &[(&str, i64)]) -> Vec<ResourceWeight> {
    let weight =
        |(name, weight): &(&str, i64)| ResourceWeight { name: (*name).into(), weight: *weight };
    resources.iter().map(weight).collect()
}

#[test]
fn shortages_are_named_in_order_with_their_codes() {
    // (the node, the pod on it, the pod that is judged, what is said)
    let table = [
        ("cpu=4 memory=8Gi", "cpu=1", "cpu=3", "fits"),
        ("cpu=4 memory=8Gi", "cpu=1", "cpu=3001m", "Unschedulable: Insufficient cpu"),
        ("cpu=4", "cpu=4", "", "fits"),
        ("cpu=4", "cpu=4", "cpu=1m", "Unschedulable: Insufficient cpu"),
        // What the empty node could not hold, no eviction helps.
        ("cpu=4", "", "cpu=5", "UnschedulableAndUnresolvable: Insufficient cpu"),
        ("cpu=4", "cpu=4", "cpu=4", "Unschedulable: Insufficient cpu"),
        ("memory=1Gi", "memory=1Gi", "memory=1", "Unschedulable: Insufficient memory"),
        ("", "", "storage=1", "UnschedulableAndUnresolvable: Insufficient ephemeral-storage"),
        ("storage=2", "storage=1", "storage=2", "Unschedulable: Insufficient ephemeral-storage"),
        ("gpu=2", "gpu=1", "gpu=1", "fits"),
        ("gpu=2", "gpu=2", "gpu=1", "Unschedulable: Insufficient nvidia.com/gpu"),
        ("", "", "gpu=1", "UnschedulableAndUnresolvable: Insufficient nvidia.com/gpu"),
        ("", "", "gpu=0", "fits"),
        ("pods=1", "", "", "Unschedulable: Too many pods"),
        ("pods=1", "cpu=1", "cpu=4", "Unschedulable: Too many pods, Insufficient cpu"),
        ("pods=0", "", "", "Unschedulable: Too many pods"),
        (
            "cpu=1 memory=1Gi pods=1 storage=1 gpu=1",
            "cpu=1 memory=1Gi storage=1 gpu=1 overhead=100m",
            "cpu=1 memory=1Gi storage=1 gpu=1 example.com/a=1",
            "UnschedulableAndUnresolvable: Too many pods, Insufficient cpu, Insufficient memory, \
             Insufficient ephemeral-storage, Insufficient example.com/a, Insufficient \
             nvidia.com/gpu",
        ),
        ("cpu=1", "", "cpu=950m overhead=100m", "UnschedulableAndUnresolvable: Insufficient cpu"),
    ];
    for (node, placed, judged, said) in table {
        let mut run = testkit::Script::new(&[only(FIT)], Default::default());
        run.command(&format!("node a {node}"));
        run.command(&format!("pod q on=a {placed}"));
        let answer = run.command(&format!("judge p {judged}")).concat();
        let answer = answer.split(" NodeResourcesFit=").next().unwrap_or_default().to_owned();
        let expected = match said {
            "fits" => "a fits".to_owned(),
            said => format!("a NodeResourcesFit {said}"),
        };
        assert_eq!(answer, expected, "{node} / {placed} / {judged}");
    }
}

#[test]
fn ignored_resources_are_not_checked() {
    let ignored = FitArgs {
        ignored_resources: vec!["example.com/a".into(), "hugepages-2Mi".into()],
        ignored_groups: vec!["nvidia.com".into()],
        ..FitArgs::default()
    };
    check_with(
        &[fit(ignored)],
        "
        node n cpu=4 memory=8Gi
        judge p example.com/a=1 nvidia.com/gpu=1 nvidia.com/mig=1 cpu=4 memory=8Gi
        > n fits NodeResourcesFit=0
        judge p example.com/b=1
        > n NodeResourcesFit UnschedulableAndUnresolvable: Insufficient example.com/b
        # Only extended resources can be ignored.
        judge p hugepages-2Mi=1
        > n NodeResourcesFit UnschedulableAndUnresolvable: Insufficient hugepages-2Mi
        ",
    );
}

#[test]
fn strategies_by_table() {
    let shape = [(0, 0), (50, 10), (100, 4)];
    let shape = shape.map(|(utilization, score)| ShapePoint { utilization, score });
    let ratio = Strategy::RequestedToCapacityRatio(shape.into());
    let both: Weights = &[("cpu", 1), ("memory", 1)];
    // (strategy, weights of resources, the pod, its score on a node of 4 CPUs, 8 GiB and 2 GPUs)
    let cases: [(Strategy, Weights, &str, i32); 15] = [
        (Strategy::LeastAllocated, both, "cpu=1 memory=2Gi", 75),
        (Strategy::LeastAllocated, both, "cpu=4 memory=8Gi", 0),
        (Strategy::LeastAllocated, both, "cpu=1 memory=6Gi", 50),
        (Strategy::LeastAllocated, &[("cpu", 3), ("memory", 1)], "cpu=1 memory=6Gi", 62),
        // Cpu and memory that are not asked for count as 100m and 200Mi.
        (Strategy::LeastAllocated, both, "", 97),
        (Strategy::LeastAllocated, &[("cpu", 1), ("nvidia.com/gpu", 1)], "cpu=2", 50),
        (Strategy::LeastAllocated, &[("cpu", 1), ("nvidia.com/gpu", 1)], "cpu=2 gpu=2", 25),
        (Strategy::LeastAllocated, &[("example.com/none", 1)], "cpu=2", 0),
        (Strategy::MostAllocated, both, "cpu=1 memory=2Gi", 25),
        (Strategy::MostAllocated, both, "cpu=1 memory=6Gi", 50),
        (Strategy::MostAllocated, &[("nvidia.com/gpu", 1)], "gpu=1", 50),
        (ratio.clone(), both, "cpu=2 memory=4Gi", 100),
        (ratio.clone(), both, "cpu=4 memory=4Gi", 70),
        // A resource whose score is 0 is left out.
        (ratio.clone(), &[("cpu", 1), ("nvidia.com/gpu", 9)], "cpu=1", 50),
        (ratio, &[("cpu", 1), ("memory", 2)], "cpu=1 memory=8Gi", 43),
    ];
    for (strategy, resources, words, score) in cases {
        let resources = weights(resources);
        let name = format!("{strategy:?} {resources:?} {words}");
        let args = FitArgs { strategy, resources, ..FitArgs::default() };
        let mut run = testkit::Script::new(&[fit(args)], Default::default());
        run.command("node a cpu=4 memory=8Gi gpu=2");
        let answer = run.command(&format!("judge p {words}"));
        assert_eq!(answer, [format!("a fits NodeResourcesFit={score}")], "{name}");
    }
}

#[test]
fn what_is_taken_counts_for_fullness() {
    check_with(
        &[only(FIT)],
        "
        node a cpu=4 memory=8Gi
        node b cpu=4 memory=8Gi
        node c cpu=8 memory=16Gi
        pod q on=a cpu=2 memory=4Gi
        judge p cpu=1 memory=2Gi
        > a fits NodeResourcesFit=25
        > b fits NodeResourcesFit=75
        > c fits NodeResourcesFit=87
        # A pod that asks for nothing counts with 100m and 200Mi.
        pod r on=b
        judge p cpu=1 memory=2Gi
        > a fits NodeResourcesFit=25
        > b fits NodeResourcesFit=72
        > c fits NodeResourcesFit=87
        ",
    );
}

#[test]
fn balanced_allocation() {
    check_with(
        &[only(BALANCED)],
        "
        node a cpu=4 memory=8Gi
        node b cpu=4 memory=8Gi
        node c cpu=16 memory=8Gi
        # As even as before, on every node: in the middle of the upper half.
        judge p cpu=1 memory=2Gi
        > a fits NodeResourcesBalancedAllocation=75
        > b fits NodeResourcesBalancedAllocation=75
        > c fits NodeResourcesBalancedAllocation=70
        # A pod that makes up for what is uneven is welcome.
        pod q on=a cpu=4
        pod r on=b memory=8Gi
        judge p memory=8Gi
        > a fits NodeResourcesBalancedAllocation=100
        > b fits NodeResourcesBalancedAllocation=75
        > c fits NodeResourcesBalancedAllocation=50
        # One that asks for nothing is not scored.
        judge p
        > a fits
        > b fits
        > c fits
        ",
    );
}

#[test]
fn balanced_allocation_looks_at_the_configured_resources() {
    let resources = weights(&[("cpu", 1), ("memory", 1), ("nvidia.com/gpu", 1)]);
    let args = Args::Balanced(BalancedArgs { resources });
    check_with(
        &[with_args(only(BALANCED), BALANCED, args)],
        "
        node a cpu=4 memory=8Gi gpu=2
        node b cpu=4 memory=8Gi
        judge p cpu=2 memory=4Gi gpu=1
        > a fits NodeResourcesBalancedAllocation=75
        > b fits NodeResourcesBalancedAllocation=75
        judge p cpu=2 memory=4Gi gpu=2
        > a fits NodeResourcesBalancedAllocation=63
        > b fits NodeResourcesBalancedAllocation=75
        judge p gpu=1
        > a fits NodeResourcesBalancedAllocation=63
        > b fits NodeResourcesBalancedAllocation=75
        ",
    );
}
