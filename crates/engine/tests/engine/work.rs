//! What events cost, counted in looks and not in time: the same whatever the size of the cluster,
//! of a gang, or of the crowd that waits.

use kubenexus_engine::Options;
use testkit::{Script, default_profile, own_profile};

/// What an event that concerns nobody else may cost.
const FEW: u64 = 16;

fn script() -> Script {
    Script::new(&[default_profile()], Options::default())
}

/// What a command costs.
fn cost(run: &mut Script, line: &str) -> u64 {
    let before = run.scheduler.looks();
    run.command(line);
    run.scheduler.looks() - before
}

/// What the dearest of some commands costs.
fn dearest(run: &mut Script, lines: impl IntoIterator<Item = String>) -> u64 {
    lines.into_iter().map(|line| cost(run, &line)).max().unwrap_or_default()
}

fn each(range: std::ops::Range<usize>, line: impl Fn(usize) -> String) -> Vec<String> {
    range.map(line).collect()
}

fn nodes(run: &mut Script, count: usize) {
    each(0..count, |at| format!("node n{at} cpu=4 host=h{at} zone=z{}", at % 3))
        .iter()
        .for_each(|line| _ = run.command(line));
}

#[test]
fn pods_of_a_gang_arrive_at_the_same_cost_however_many_there_are() {
    for words in ["gang=g", "gang=g/8", "gang=g/10000"] {
        let mut run = script();
        let pods = |range| each(range, |at| format!("pod g{at} cpu=1 created={at} {words}"));
        assert!(dearest(&mut run, pods(0..100)) <= FEW, "{words}");
        assert!(dearest(&mut run, pods(100..30_000)) <= FEW, "{words}");
        assert!(dearest(&mut run, pods(29_000..29_100)) <= FEW, "{words}: said again");
        let gone = each(15_000..15_100, |at| format!("gone pod g{at}"));
        assert!(dearest(&mut run, gone) <= FEW, "{words}");
    }
}

#[test]
fn pods_beyond_the_minimum_cost_the_same_once_the_gang_runs() {
    let mut run = script();
    run.command("node a cpu=9 pods=20");
    let pods = |range| each(range, |at| format!("pod g{at} cpu=1 gang=g/8"));
    pods(0..9).iter().for_each(|line| _ = run.command(line));
    run.command("step");
    let confirmed = each(0..9, |at| format!("confirm g{at}"));
    assert!(dearest(&mut run, confirmed) <= FEW);
    pods(9..2_000).iter().for_each(|line| _ = run.command(line));
    run.command("step");
    assert_eq!(run.command("queue"), ["1991 parked"]);
    assert!(dearest(&mut run, pods(2_000..2_100)) <= FEW);
    // One of those that run leaves: the class that waits is asked once.
    assert!(cost(&mut run, "gone pod g0") <= FEW);
    // With the next one it has too few: those that wait are tried together from now on.
    let together = cost(&mut run, "gone pod g1");
    assert!((2_000..8 * 2_100).contains(&together), "{together}");
}

/// Each level is another part of another one, and all of them are tried together.
#[test]
fn a_tree_of_gangs_is_brought_in_line_once_when_all_of_it_comes() {
    let cost_of = |levels: usize| {
        let mut run = script();
        run.command("podgroup native/g min=1 parent=c1");
        for at in 1..levels - 1 {
            run.command(&format!("podgroup composite/c{at} min=1 parent=c{}", at + 1));
        }
        run.command(&format!("podgroup composite/c{} min=1", levels - 1));
        cost(&mut run, "pod g1 group=native/g")
    };
    let (four, eight) = (cost_of(4), cost_of(8));
    assert!(eight <= 2 * four + FEW, "{four} looks for four levels, {eight} for eight");
}

/// All of it has started, and a part waits for another pod.
#[test]
fn a_tree_of_gangs_that_is_mended_costs_its_levels_once() {
    let cost_of = |levels: usize| {
        let mut run = script();
        run.command("podgroup native/g min=2 parent=c1 started");
        for at in 1..levels - 1 {
            run.command(&format!("podgroup composite/c{at} min=1 parent=c{} started", at + 1));
        }
        run.command(&format!("podgroup composite/c{} min=2 started", levels - 1));
        cost(&mut run, "pod g1 group=native/g")
    };
    let (four, eight) = (cost_of(4), cost_of(8));
    assert!(eight <= 2 * four + FEW, "{four} looks for four levels, {eight} for eight");
}

#[test]
fn a_gang_that_is_evicted_whole_leaves_at_the_same_cost_however_large_it_is() {
    let mut run = script();
    run.command("podgroup native/g min=3000 whole");
    nodes(&mut run, 300);
    let pods = each(0..3_000, |at| format!("pod g{at} group=native/g on=n{}", at % 300));
    assert!(dearest(&mut run, pods) <= FEW);
    run.command("step");
    let evicted = each(0..3_000, |at| {
        format!("pod g{at} group=native/g on=n{} terminating preempted", at % 300)
    });
    assert!(dearest(&mut run, evicted) <= FEW);
    assert!(dearest(&mut run, each(0..3_000, |at| format!("gone pod g{at}"))) <= FEW);
}

/// Whoever led before left pods on nodes, and nobody knows whether the gang ever was whole.
#[test]
fn a_gang_that_is_found_on_nodes_is_taken_in_at_the_same_cost_however_large_it_is() {
    let mut run = script();
    nodes(&mut run, 300);
    let pods = |range| {
        each(range, |at| format!("pod g{at} gang=g/3000 started=50 created=9 on=n{}", at % 300))
    };
    assert!(dearest(&mut run, pods(0..2_900)) <= FEW);
    let waiting = each(2_900..2_950, |at| format!("pod g{at} gang=g/3000 created=9"));
    assert!(dearest(&mut run, waiting) <= FEW);
    assert!(dearest(&mut run, each(2_000..2_100, |at| format!("gone pod g{at}"))) <= FEW);
}

#[test]
fn a_gang_that_ends_costs_nothing_for_those_who_wait_for_others() {
    let mut run = script();
    nodes(&mut run, 3);
    let end = |run: &mut Script| {
        run.command("pod g1 gang=g on=n1");
        run.command("succeeded g1 g");
        cost(run, "gone pod g1")
    };
    let alone = end(&mut run);
    for at in 0..4_000 {
        run.command(&format!("pod p{at} after=other{at}"));
    }
    run.command("step");
    assert_eq!(run.command("queue"), ["4000 parked"]);
    assert_eq!(end(&mut run), alone);
    run.command("pod q after=g gang=h");
    run.command("pod g2 gang=g on=n1");
    run.command("step");
    run.command("after 10s");
    assert_eq!(run.command("queue"), ["4001 parked"]);
    assert_eq!(cost(&mut run, "gone pod g2"), alone);
    assert_eq!(run.command("queue"), ["1 active, 4000 parked"], "the one that waited for it");
}

/// What a pod that leaves costs while a gang waits for something of the cluster as a whole.
#[test]
fn what_all_nodes_have_free_is_not_added_up_for_every_pod_that_leaves() {
    let costs = [10, 1_000].map(|count| {
        let mut run = script();
        run.command("podgroup coscheduling/g min=2 minres=cpu:9000");
        nodes(&mut run, count);
        let pods = each(0..10, |at| format!("pod q{at} cpu=1 on=n{at}"));
        pods.iter().for_each(|line| _ = run.command(line));
        run.command("pod g1 group=coscheduling/g");
        run.command("pod g2 group=coscheduling/g");
        run.command("step");
        assert_eq!(run.command("queue"), ["1 parked"]);
        let gone = dearest(&mut run, each(0..10, |at| format!("gone pod q{at}")));
        let again = cost(&mut run, "pod g2 group=coscheduling/g label=a:b");
        [gone, again]
    });
    assert_eq!(costs[0], costs[1]);
    assert!(costs[0][0] <= FEW && costs[0][1] <= 2 * FEW, "{costs:?}");
}

/// Those in time are not looked at.
#[test]
fn a_step_looks_only_at_gangs_whose_time_is_over() {
    let mut run = script();
    nodes(&mut run, 3);
    for at in 0..2_000 {
        run.command(&format!("pod g{at} gang=g{at}/2 on=n{}", at % 3));
    }
    run.command("step");
    run.command("after 1s");
    assert_eq!(cost(&mut run, "step"), 0);
    run.command("after 20s");
    assert!(cost(&mut run, "step") >= 2_000);
}

#[test]
fn a_namespace_without_pods_costs_nothing() {
    let mut run = script();
    nodes(&mut run, 30);
    run.command("namespace front team:a");
    for at in 0..200 {
        run.command(&format!("pod f{at} namespace=front label=app:a{at} on=n{}", at % 30));
        run.command(&format!("pod r{at} namespace=back far=host,app:a{at},team:a on=n{}", at % 30));
    }
    for line in ["namespace empty team:a", "namespace empty team:b", "gone namespace empty"] {
        assert_eq!(cost(&mut run, line), 0, "{line}");
    }
    // Labels of 200 kinds, 200 rules that ask for labels of namespaces, each meant and held; and
    // one pod for each label.
    assert_eq!(cost(&mut run, "namespace front team:b"), 200 * 400 + 200);
}

#[test]
fn a_topology_key_that_no_node_has_costs_the_same_with_any_number_of_nodes() {
    let costs = [10, 1_000].map(|count| {
        let mut run = script();
        nodes(&mut run, count);
        let keys = each(0..50, |at| format!("pod p{at} label=app:a far=key{at},app:b"));
        dearest(&mut run, keys)
    });
    assert_eq!(costs[0], costs[1]);
    assert!(costs[0] <= FEW, "{costs:?}");
}

/// A pod that leaves a node asks only those who wait and for whom enough is free there.
#[test]
fn those_for_whom_too_little_is_free_are_not_asked() {
    let costs = [1, 300].map(|count| {
        let mut run = script();
        nodes(&mut run, 4);
        let pods = each(0..4, |at| format!("pod q{at} cpu=4 on=n{at}"));
        pods.iter().for_each(|line| _ = run.command(line));
        run.command("pod small on=n1");
        for at in 0..count {
            run.command(&format!("pod p{at} cpu={}m memory={}Mi", 2_000 + at, 1 + at));
            run.command(&format!("pod g{at} cpu={}m gang=g{at}/2", 2_000 + at));
            run.command(&format!("pod h{at} cpu={}m gang=g{at}/2", 2_000 + at));
        }
        run.command("step");
        assert_eq!(run.command("queue"), [format!("{} parked", 2 * count)]);
        let gone = cost(&mut run, "gone pod small");
        let again = cost(&mut run, "pod q1 cpu=3 on=n1");
        assert_eq!(run.command("queue"), [format!("{} parked", 2 * count)]);
        [gone, again]
    });
    assert_eq!(costs[0], costs[1]);
    assert!(costs[0].into_iter().all(|looks| looks <= FEW), "{costs:?}");
}

/// Though nothing that was worked out for those who wait could be kept.
#[test]
fn nothing_is_prepared_for_those_for_whom_too_little_is_free() {
    let mut run =
        Script::new(&[default_profile()], Options { board_bytes_max: 0, ..Options::default() });
    nodes(&mut run, 4);
    let pods = each(0..4, |at| format!("pod q{at} cpu={} on=n{at}", if at == 1 { 3 } else { 4 }));
    pods.iter().for_each(|line| _ = run.command(line));
    run.command("pod small cpu=1 on=n1");
    // For each of the first only cpu is short, for the others memory as well, and one is covered.
    for at in 0..500 {
        run.command(&format!("pod p{at} cpu={}m", 1_001 + at));
        run.command(&format!("pod m{at} cpu={}m memory={}Gi", 1_501 + at, 100 + at));
        run.command(&format!("pod high{at} cpu={}m priority=5", 5_000 + at));
    }
    run.command("pod covered cpu=1");
    run.command("step");
    let queue = run.command("queue");
    assert_eq!(queue, ["1501 parked"]);
    // A little more than nothing: everybody is left alone.
    run.command("pod small cpu=900m on=n1");
    assert_eq!(run.command("queue"), queue);
    let looks = cost(&mut run, "gone pod small");
    assert!(looks <= FEW, "{looks}");
    assert_eq!(run.command("queue"), ["1 backoff, 1500 parked"], "the one that is covered");
}

/// Though a label could have been what they wait for.
#[test]
fn nothing_is_prepared_for_those_who_select_other_labels() {
    let mut run =
        Script::new(&[default_profile()], Options { board_bytes_max: 0, ..Options::default() });
    nodes(&mut run, 2);
    for at in 0..500 {
        run.command(&format!("pod p{at} cpu={}m select=disk:tape", 100 + at));
    }
    run.command("pod found select=disk:ssd");
    run.command("step");
    assert_eq!(run.command("queue"), ["501 parked"]);
    let looks = cost(&mut run, "node n1 cpu=4 host=h1 zone=z1 label=disk:ssd");
    assert!(looks <= FEW, "{looks}");
    assert_eq!(run.command("queue"), ["1 backoff, 500 parked"], "the one that is matched");
}

#[test]
fn what_all_pods_of_a_gang_say_differently_is_not_compared_one_by_one() {
    let mut run = script();
    run.command("node a");
    let pods = |range| each(range, |at| format!("pod g{at} gang=g/2 after=a{at}"));
    assert!(dearest(&mut run, pods(0..2_000)) <= 64 + FEW);
    run.command("after 1s");
    let said = run.command("step 1");
    assert_eq!(said[0], "g0 waits: gang: its pods say more than 64 different things of it");
    assert!(dearest(&mut run, each(0..1_936, |at| format!("gone pod g{at}"))) <= 64 + FEW);
}

/// The same events, in clusters that differ only in their size.
#[test]
fn events_cost_the_same_in_clusters_of_any_size() {
    let costs = [100, 1_000, 5_000].map(|count| {
        let mut run = Script::new(&[default_profile(), own_profile()], Options::default());
        run.command("namespace front team:a");
        nodes(&mut run, count);
        for at in 0..count {
            run.command(&format!("pod q{at} cpu=3 label=app:q on=n{at}"));
        }
        for at in 0..5 {
            run.command(&format!("pod wide{at} cpu={}m", 1_500 + at));
            run.command(&format!("pod gang{at} cpu={}m gang=g/5", 2_500 + at));
            run.command(&format!("pod far{at} cpu=100m far=zone,app:q label=at:{at}"));
        }
        run.command("step");
        run.command("after 1s");
        let events = [
            "pod new cpu=500m label=app:new",
            "pod bound cpu=500m label=app:new on=n7",
            "gone pod bound",
            "gone pod q9",
            "pod q8 cpu=2 label=app:q on=n8",
            "pod q7 cpu=3 label=app:q on=n7 terminating",
            "node n5 cpu=4 host=h5 zone=z2 label=new:one",
            "node n5 cpu=8 host=h5 zone=z2",
            "node n5 cpu=8 host=h5 zone=z2 taint=spot:NoSchedule",
            "gone node n6",
            "gone pod gang0",
            "pod gang9 cpu=2 gang=g/5",
            "pod wide0 cpu=100m",
            "namespace other team:b",
            "gone pod new",
        ];
        events.map(|line| (line, cost(&mut run, line)))
    });
    assert_eq!(costs[0], costs[1]);
    assert_eq!(costs[0], costs[2]);
    for (line, looks) in costs[0] {
        assert!(looks <= 64 + 8 * 15, "{line}: {looks}");
    }
}

/// What would help is found by counts that are kept: nodes are not asked again for every gang.
#[test]
fn a_gang_without_room_costs_the_same_in_clusters_of_any_size() {
    let costs = [2_000, 8_000].map(|count| {
        let mut run = script();
        nodes(&mut run, count);
        let pods = each(0..count, |at| format!("pod q{at} cpu=3 on=n{at}"));
        pods.iter().for_each(|line| _ = run.command(line));
        let gang = |run: &mut Script, name: &str, sizes: [u32; 2]| {
            for at in 0..8 {
                let cpu = sizes[at % 2];
                run.command(&format!("pod {name}{at} cpu={cpu}m gang={name}/8"));
            }
            cost(run, "step")
        };
        // The first of its kind is asked about on every node.
        gang(&mut run, "first", [2_000, 2_500]);
        gang(&mut run, "other", [1_500, 1_500]);
        let unlike = gang(&mut run, "second", [2_000, 2_500]);
        let alike = gang(&mut run, "third", [1_500, 1_500]);
        [unlike, alike]
    });
    assert_eq!(costs[0], costs[1]);
    assert!(costs[0].into_iter().all(|looks| looks <= 4_000), "{costs:?}");
}
