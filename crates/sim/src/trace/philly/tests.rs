//! A small cluster and a few jobs whose times can be worked out by hand.

use model::Millis;

use super::*;

const JOBS: &str = include_str!("../../../../../tests/traces/philly-jobs.csv");
const NODES: &str = include_str!("../../../../../tests/traces/philly-cluster.yaml");

const PROFILES: [Profile; 2] = [Profile::Kubenexus, Profile::Kube];

fn replay(jobs: &str, nodes: &str, profile: Profile) -> Replay {
    let jobs = read_jobs("jobs.csv", jobs).unwrap();
    let nodes = read_nodes("nodes.yaml", nodes).unwrap();
    let mut replay = Replay::new(jobs, nodes, profile).unwrap();
    while replay.advance().unwrap() {}
    replay
}

fn replayed(jobs: &str, nodes: &str) -> Report {
    replay(jobs, nodes, Profile::Kubenexus).report()
}

/// Bindings take milliseconds of virtual time, and a second try a few seconds.
fn is_about(found_ms: u64, expected_seconds: u64) -> bool {
    let expected_ms = expected_seconds * 1000;
    (expected_ms..expected_ms + 11_000).contains(&found_ms)
}

#[test]
fn jobs_come_in_order_of_arrival_counted_from_the_first() {
    let jobs = read_jobs("jobs.csv", JOBS).unwrap();
    let table: Vec<(u64, Millis, u64, &str)> =
        jobs.iter().map(|job| (job.at.0 / 1000, job.runs, job.gpus, &*job.cluster)).collect();
    let expected = [
        (0, Millis::seconds(3600), 6, "vc-a"),
        (10, Millis::seconds(60), 1, "vc-b"),
        (600, Millis::seconds(600), 1, "vc-a"),
        (1200, Millis::seconds(120), 8, "vc-b"),
    ];
    assert_eq!(table, expected);
}

#[test]
fn a_large_job_waits_until_whole_nodes_are_free() {
    // Two nodes of four GPUs and one of one. The job of six holds both large ones for an hour, so
    // the job of eight, which comes after 20 minutes, starts 40 minutes later.
    let report = replayed(JOBS, NODES);
    assert_eq!((report.nodes, report.gpus, report.arrivals_ms), (3, 9, 1_200_000));
    let [a, b] = &report.virtual_clusters[..] else { panic!("{report:?}") };
    assert_eq!((&*a.name, a.jobs, a.started, &*b.name, b.jobs), ("vc-a", 2, 2, "vc-b", 2));
    let (wait, completion) = (b.wait.unwrap(), b.completion.unwrap());
    assert!(wait.p50_ms < 1000, "the small job does not wait: {wait:?}");
    assert!(is_about(wait.max_ms, 2400), "{wait:?}");
    assert!(is_about(completion.max_ms, 2520), "{completion:?}");
    assert_eq!(a.gpu_seconds + b.gpu_seconds, report.overall.gpu_seconds);
    assert_eq!(report.overall.gpu_seconds, 6 * 3600 + 60 + 600 + 8 * 120);
    assert!(is_about(report.makespan_ms, 3720), "{report:?}");
    // While jobs arrived: six GPUs for 20 minutes, one for one minute and one for ten.
    let expected = (6 * 1200 + 60 + 600) * 1000 / (9 * 1200);
    assert!(report.overall.gpu_permille.abs_diff(expected) <= 1, "{report:?}");
}

#[test]
fn a_job_larger_than_a_node_starts_whole_or_not_at_all_in_every_profile() {
    // Two nodes of four GPUs, one of which is taken for an hour: the job of eight waits for it,
    // although four of its GPUs are there, and the job of four behind it does not wait.
    let jobs = "timestamp,duration,num_gpus,cluster\n\
                2017-10-01 00:00:00,3600,3,a\n2017-10-01 00:01:00,600,8,a\n\
                2017-10-01 00:02:00,60,4,a\n";
    for profile in PROFILES {
        let replay = replay(jobs, NODES, profile);
        let starts = |at: usize| -> Vec<u64> {
            let is_of = |job: &str| replay.owners.get(job).is_some_and(|(job, _)| *job == at);
            let pods = replay.run.pods().filter(|pod| is_of(pod.job));
            pods.map(|pod| pod.placed.unwrap().0).collect()
        };
        let large = starts(1);
        assert_eq!(large.len(), 2, "{profile:?}");
        // The world answers each binding by itself.
        assert!(large[0].abs_diff(large[1]) <= 100, "{profile:?}: {large:?}");
        assert!(is_about(large[0] - 60_000, 3540), "{profile:?}: {large:?}");
        assert!(starts(2)[0] < 121_000, "{profile:?}");
        let report = replay.report();
        assert_eq!(report.profile, profile.scheduler());
        let expected = Islands { gpus: 4, pods: 3, started: 3, started_within_minute: 1 };
        assert_eq!(report.islands, expected, "{profile:?}");
    }
}

#[test]
fn the_rest_of_a_job_belongs_to_its_gang() {
    // Six GPUs are a pod of four and one of two. With the small node alone free for the second,
    // neither starts.
    let jobs = "timestamp,duration,num_gpus,cluster\n\
                2017-10-01 00:00:00,600,3,a\n2017-10-01 00:00:30,60,6,a\n";
    for profile in PROFILES {
        let report = replay(jobs, NODES, profile).report();
        let wait = report.overall.wait.unwrap();
        assert!(is_about(wait.max_ms, 570), "{profile:?}: {wait:?}");
    }
}

#[test]
fn the_same_files_give_the_same_report() {
    assert_eq!(replayed(JOBS, NODES), replayed(JOBS, NODES));
}

#[test]
fn jobs_that_never_find_a_node_do_not_start_and_the_run_ends() {
    let node = |name: &str, spec: &str, gpus: u32| {
        let allocatable = format!("{{pods: 9, nvidia.com/gpu: {gpus}}}");
        let head = format!("kind: Node\nmetadata: {{name: {name}}}\nspec: {spec}\n");
        format!("{head}status:\n  allocatable: {allocatable}\n---\n")
    };
    // Pods of large jobs are sized for the closed node, and only the small one takes pods.
    let nodes = node("large", "{unschedulable: true}", 4) + &node("small", "{}", 1);
    let report = replayed(JOBS, &nodes);
    assert_eq!((report.overall.jobs, report.overall.started), (4, 2));
}

#[test]
fn a_count_makes_nodes_and_a_list_is_told_one_by_one() {
    let nodes = read_nodes("nodes.yaml", NODES).unwrap();
    let names: Vec<(&str, &str)> =
        nodes.iter().map(|plan| (&*plan.pool, &*plan.facts.name)).collect();
    let expected = [("large", "large-0001"), ("large", "large-0002"), ("nodes", "small")];
    assert_eq!(names, expected);
    assert_eq!(columns(&nodes[2].facts.allocatable)[2], 1);
}

#[test]
fn a_cluster_without_gpus_runs_no_jobs() {
    let nodes = NODES.replace("nvidia.com/gpu", "example.com/fpga");
    let nodes = read_nodes("nodes.yaml", &nodes).unwrap();
    let jobs = read_jobs("jobs.csv", JOBS).unwrap();
    assert!(Replay::new(jobs, nodes, Profile::Kubenexus).is_none());
}

#[test]
fn bad_files_are_refused_with_their_place() {
    const HEAD: &str = "timestamp,duration,num_gpus,cluster\n";
    // (jobs, refusal)
    let jobs = [
        (
            "yesterday,1.0,1,a",
            "timestamp: expected a time such as 2017-10-09 07:01:55, found \"yesterday\"",
        ),
        ("2017-10-09 07:01:55,-1,1,a", "duration: expected seconds such as 66.0, found \"-1\""),
        (
            "2017-10-09 07:01:55,1,0,a",
            "num_gpus: expected a whole number from 1 to 65536, found \"0\"",
        ),
        ("2017-10-09 07:01:55,1,1,", "cluster: expected a name, found \"\""),
    ];
    for (row, expected) in jobs {
        let error = read_jobs("jobs.csv", &format!("{HEAD}{row}\n")).unwrap_err();
        assert_eq!(error.to_string(), format!("jobs.csv:2: {expected}"));
    }
    let count = "kind: Node\nmetadata: {name: a, annotations: {simulate.kubenexus.io/count: 3}}\n";
    let node = "kind: Node\nmetadata: {name: a}\n";
    let pods = "status: {allocatable: {pods: 1}}\n";
    // (nodes, refusal)
    let nodes = [
        (String::new(), "n.yaml: expected Nodes, found none".to_owned()),
        ("a: [1\n".into(), "n.yaml:2: not valid YAML: ".into()),
        ("a: 1\na: 2\n".into(), "n.yaml:2: key \"a\" is given twice".into()),
        ("kind: Pod\n".into(), "n.yaml:1: kind: expected Node, found \"Pod\"".into()),
        (
            "# none\n---\n---\nkind: Pod\n".into(),
            "n.yaml:4: kind: expected Node, found \"Pod\"".into(),
        ),
        ("- 1\n".into(), "n.yaml:1: expected an object".into()),
        ("kind: Node\n".into(), "n.yaml:1: metadata.name: expected a name, found none".into()),
        (
            "kind: Node\nmetadata: {name: a}\n".into(),
            "n.yaml:1: Node a: status.allocatable.pods: expected 1 or more".into(),
        ),
        (
            format!("{count}{pods}"),
            "n.yaml:1: Node a: simulate.kubenexus.io/count: expected a quoted number from 1 to \
             100000, found 3"
                .into(),
        ),
        (format!("{node}{pods}---\n{node}{pods}"), "n.yaml:5: two nodes named \"a\"".into()),
        (
            "kind: Node\nmetadata: {name: a}\nstatus: {allocatable: {cpu: lots, pods: 1}}\n".into(),
            "n.yaml:1: Node: status.allocatable.cpu: ".into(),
        ),
        ("a: &x 1\nb: *x\n".into(), "n.yaml:1: YAML anchors and aliases are not supported".into()),
    ];
    for (text, expected) in nodes {
        let error = read_nodes("n.yaml", &text).unwrap_err().to_string();
        assert!(error.starts_with(&expected), "{text:?}: {error}");
    }
}
