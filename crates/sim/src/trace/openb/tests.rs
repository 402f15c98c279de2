//! Small traces whose allocation can be worked out by hand.

use super::baseline::Chooser;
use super::fgd::Fgd;
use super::node::Choice;
use super::*;

const NODES: &str = include_str!("../../../../../tests/traces/openb-nodes.csv");
const PODS: &str = include_str!("../../../../../tests/traces/openb-pods.csv");

const POLICIES: [Baseline; 3] = [Baseline::Random, Baseline::BestFit, Baseline::Fgd];

fn trace(nodes: &str, pods: &str) -> Trace {
    read(("nodes.csv", nodes), ("pods.csv", pods)).unwrap()
}

/// A trace of nodes `(cpu_milli, gpus, model)` and pods
/// `(cpu_milli, num_gpu, gpu_milli, gpu_spec)`.
fn made(nodes: &[(u64, u64, &str)], pods: &[(u64, u64, u64, &str)]) -> Trace {
    let mut files = [
        "sn,cpu_milli,memory_mib,gpu,model\n",
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n",
    ]
    .map(String::from);
    for (at, (cpu, gpus, model)) in nodes.iter().enumerate() {
        files[0] += &format!("node-{at},{cpu},1000,{gpus},{model}\n");
    }
    for (at, (cpu, gpus, gpu, spec)) in pods.iter().enumerate() {
        files[1] += &format!("pod-{at},{cpu},1,{gpus},{gpu},{spec}\n");
    }
    trace(&files[0], &files[1])
}

/// Allocation up to 100 % when the pods arrive in the order of the file.
fn in_order(trace: &Trace, policy: Baseline, seed: u64) -> Vec<f64> {
    let mut cluster = Cluster::new(policy, trace, seed);
    let capacity = trace.capacity_milli() as f64;
    let used = trace.used_milli(&trace.pods, 100, |at| cluster.place(trace, at).is_some());
    used.into_iter().map(|used| round(used as f64 * 100.0 / capacity)).collect()
}

/// One GPU beside much CPU, two GPUs beside little; a pod of one GPU, then a pod of two.
fn pair() -> Trace {
    made(&[(64_000, 1, "T4"), (4_000, 2, "T4")], &[(1000, 1, 1000, ""), (1000, 2, 1000, "")])
}

#[test]
fn bestfit_takes_the_node_with_least_left_and_strands_the_larger_pod() {
    // node-0 would have 63 CPUs left: (256,000 - 63,000) / 2,560 = 75 points. node-1 would have 3
    // CPUs and a GPU left: (256,000 - 3,000 - 16 * 1,000) / 2,560 = 92 points.
    let allocation = in_order(&pair(), Baseline::BestFit, 0);
    let third = 33.3333;
    assert_eq!(allocation[..34], [0.0; 34]);
    assert_eq!(allocation[34..], [third; 67]);
}

#[test]
fn fgd_takes_the_node_of_no_use_to_the_larger_pod() {
    // One GPU on node-0 is a fragment to the pod of two GPUs, which is half of all pods: taking it
    // gains half a GPU. Taking one of node-1 makes the other a fragment and loses half a GPU.
    let allocation = in_order(&pair(), Baseline::Fgd, 0);
    assert_eq!(allocation[..34], [0.0; 34]);
    assert_eq!(allocation[34..100], [33.3333; 66]);
    assert_eq!(allocation[100], 100.0);
}

#[test]
fn random_takes_either_node() {
    let trace = pair();
    let ends: Vec<f64> =
        (0..20).map(|seed| in_order(&trace, Baseline::Random, seed)[100]).collect();
    assert!(ends.iter().all(|end| *end == 33.3333 || *end == 100.0), "{ends:?}");
    assert!(ends.contains(&33.3333) && ends.contains(&100.0), "{ends:?}");
}

#[test]
fn bestfit_and_fgd_choose_the_gpu_of_which_least_is_left() {
    // 600 and 300 share a GPU, so that 800 finds a whole one; 300 beside it would leave 700.
    let trace = made(&[(8000, 2, "T4")], &[(0, 1, 600, ""), (0, 1, 300, ""), (0, 1, 800, "")]);
    assert_eq!(in_order(&trace, Baseline::BestFit, 0)[100], 85.0);
    assert_eq!(in_order(&trace, Baseline::Fgd, 0)[100], 85.0);
    let ends: Vec<f64> =
        (0..20).map(|seed| in_order(&trace, Baseline::Random, seed)[100]).collect();
    assert!(ends.contains(&45.0) && ends.contains(&85.0), "{ends:?}");
}

#[test]
fn a_tie_goes_to_the_smallest_name() {
    // Three equal nodes, not in the order of their names.
    let nodes =
        "sn,cpu_milli,memory_mib,gpu,model\nc,1000,10,1,T4\na,1000,10,1,T4\nb,2000,10,1,T4\n";
    let pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1000,1,1,1000\n";
    let trace = trace(nodes, pods);
    assert_eq!(
        trace.nodes.iter().map(|node| node.cpu_milli).collect::<Vec<_>>(),
        [1000, 2000, 1000]
    );
    let at = trace.pods[0];
    for policy in [Baseline::BestFit, Baseline::Fgd] {
        let choice = Chooser::new(policy, &trace, 0).choose(&trace.nodes, at, &trace.shapes[at.0]);
        assert_eq!(choice, Some(Choice { node: 0, gpu: None }), "{policy:?}");
    }
}

#[test]
fn what_a_pod_asks_for_is_there_under_every_policy() {
    // (nodes, pods, allocation at 100 %)
    type Case<'a> = (&'a [(u64, u64, &'a str)], &'a [(u64, u64, u64, &'a str)], f64);
    let table: [Case<'_>; 6] = [
        // The model: one of two GPUs will do for both pods.
        (&[(8000, 1, "T4"), (8000, 1, "P100")], &[(0, 1, 1000, "T4"), (0, 1, 1000, "T4")], 50.0),
        // Several models.
        (
            &[(8000, 1, "T4"), (8000, 1, "P100")],
            &[(0, 1, 1000, "P100|T4"), (0, 1, 1000, "T4|P100")],
            100.0,
        ),
        // CPU: there is enough for one.
        (&[(1000, 2, "T4")], &[(600, 1, 1000, ""), (600, 1, 1000, "")], 50.0),
        // A part of a GPU does not spread over two.
        (&[(8000, 2, "T4")], &[(0, 1, 700, ""), (0, 1, 700, ""), (0, 1, 600, "")], 70.0),
        // Whole GPUs are whole.
        (&[(8000, 2, "T4"), (8000, 2, "P100")], &[(0, 1, 100, "T4"), (0, 2, 1000, "T4")], 2.5),
        // A pod without GPUs takes CPU, and its model means nothing.
        (&[(1000, 1, "T4")], &[(600, 0, 0, "P100"), (600, 1, 1000, "")], 0.0),
    ];
    for (nodes, pods, expected) in table {
        let trace = made(nodes, pods);
        for policy in POLICIES {
            assert_eq!(
                *in_order(&trace, policy, 1).last().unwrap(),
                expected,
                "{policy:?} {pods:?}"
            );
        }
    }
}

#[test]
fn memory_is_counted_as_well() {
    let nodes = "sn,cpu_milli,memory_mib,gpu,model\na,1000,100,2,T4\n";
    let pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,0,60,1,1000\nq,0,60,1,1000\n";
    for policy in POLICIES {
        assert_eq!(in_order(&trace(nodes, pods), policy, 0)[100], 50.0, "{policy:?}");
    }
}

#[test]
fn what_fgd_remembers_is_what_it_would_find() {
    let trace = trace(NODES, PODS);
    let mut kept = Fgd::new(&trace);
    let mut nodes = trace.nodes.clone();
    let mut placed = 0;
    for at in trace.arrivals(42, 130) {
        let shape = &trace.shapes[at.0];
        let mut fresh = Fgd::new(&Trace { nodes: nodes.clone(), ..trace.clone() });
        let choice = kept.choose(&nodes, at, shape);
        assert_eq!(choice, fresh.choose(&nodes, at, shape), "after {placed} pods");
        if let Some(Choice { node, gpu }) = choice {
            nodes[node].place(shape, gpu);
            kept.changed(node, &nodes[node]);
            placed += 1;
        }
    }
    assert!(placed > trace.pods.len());
}

#[test]
fn a_seed_decides_everything() {
    let trace = trace(NODES, PODS);
    for policy in POLICIES {
        let run = |seed| trace.allocation(Policy::Published(policy), seed, 130).unwrap();
        assert_eq!(run(42), run(42), "{policy:?}");
        assert_ne!(run(42), run(43), "{policy:?}");
    }
}

#[test]
fn allocation_follows_arrivals_and_never_falls() {
    let trace = trace(NODES, PODS);
    for policy in POLICIES {
        for percent in [0, 50, 100, 130] {
            let allocation = trace.allocation(Policy::Published(policy), 42, percent).unwrap();
            assert_eq!(allocation.len(), percent as usize + 1);
            assert!(allocation.is_sorted(), "{policy:?}");
            let arrived = |(at, percent): (usize, &f64)| *percent <= at as f64;
            assert!(allocation.iter().enumerate().all(arrived), "{policy:?}");
        }
    }
}

#[test]
fn pods_are_appended_until_the_percentage_is_reached_and_all_are_shuffled() {
    let trace = trace(NODES, PODS);
    let demand = |pods: &[ShapeAt]| -> u64 {
        pods.iter().map(|pod| trace.shapes[pod.0].demand_milli()).sum()
    };
    let target = trace.capacity_milli() * 130 / 100;
    let arrivals = trace.arrivals(42, 130);
    assert!(demand(&arrivals) <= target && demand(&arrivals) + 8 * WHOLE_GPU > target);
    assert!(arrivals.len() > trace.pods.len());
    assert_ne!(arrivals[..trace.pods.len()], trace.pods);
    let mut counts = vec![0_i64; trace.shapes.len()];
    arrivals.iter().for_each(|pod| counts[pod.0] += 1);
    trace.pods.iter().for_each(|pod| counts[pod.0] -= 1);
    assert!(counts.iter().all(|count| *count >= 0), "every pod of the trace arrives");
}

#[test]
fn the_mean_is_taken_place_by_place() {
    assert_eq!(mean(&[vec![0.0, 1.0], vec![1.0, 4.0]]), [0.5, 2.5]);
    assert_eq!(mean(&[]), Vec::<f64>::new());
}

#[test]
fn bad_files_are_refused_with_their_place() {
    const NODE: &str = "sn,cpu_milli,memory_mib,gpu,model\na,1000,100,2,T4\n";
    const POD: &str = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,1,500\n";
    // (nodes, pods, refusal)
    let table = [
        (
            "sn,cpu_milli,memory_mib,gpu\na,1,1,1\n",
            POD,
            "nodes.csv:1: expected a column \"model\", found sn, cpu_milli, memory_mib, gpu",
        ),
        (
            "sn,cpu_milli,memory_mib,gpu,model\na,1,1,1,T4\na,1,1,1,T4\n",
            POD,
            "nodes.csv:3: sn: expected a name that no node above has, found \"a\"",
        ),
        (
            "sn,cpu_milli,memory_mib,gpu,model\n,1,1,1,T4\n",
            POD,
            "nodes.csv:2: sn: expected a name, found \"\"",
        ),
        ("sn,cpu_milli,memory_mib,gpu,model\na,1,1,0,\n", POD, "nodes.csv: no node has a GPU"),
        (
            NODE,
            "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,0,0\n",
            "pods.csv: no pod asks for a GPU",
        ),
        (
            NODE,
            "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,1,0\n",
            "pods.csv:2: gpu_milli: expected a whole number from 1 to 1000, found \"0\"",
        ),
        (
            NODE,
            "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,2,500\n",
            "pods.csv:2: gpu_milli: expected 1000, found \"500\"",
        ),
        (
            NODE,
            "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1.5,1,1,500\n",
            "pods.csv:2: cpu_milli: expected a whole number from 0 to 1099511627776, found \"1.5\"",
        ),
    ];
    for (nodes, pods, expected) in table {
        let error = read(("nodes.csv", nodes), ("pods.csv", pods)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    assert!(read(("nodes.csv", NODE), ("pods.csv", POD)).is_ok());
}
