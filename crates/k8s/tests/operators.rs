//! Pods as operators and other schedulers' tools really make them, and the gangs they belong to;
//! and that the example files lead to the same. Where each shape is from is said in its file.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use kubenexus_k8s::{ingest, manifest};
use model::{Event, Fact, GangClaim, PodFacts, PodGroupFacts};
use serde_json::{Value, json};

const SCHEDULER: &str = "kubenexus-scheduler";

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The objects of a file.
fn objects(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let found = manifest::split(&text).unwrap_or_else(|problem| panic!("{path:?}: {problem:?}"));
    found.iter().map(|object| object.json().into_owned()).collect()
}

fn word<'a>(object: &'a Value, path: &str) -> &'a str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn number(object: &Value, path: &str) -> u32 {
    let found = object.pointer(path).and_then(Value::as_u64);
    let found = found.unwrap_or_else(|| panic!("no number at {path} of {object}"));
    u32::try_from(found).expect("a small number")
}

fn pod(object: &Value) -> PodFacts {
    let seen = ingest::read_pod(object.to_string().as_bytes()).expect("a pod");
    let Event::Seen(Fact::Pod(facts)) = seen.event else { panic!("not a pod: {object}") };
    *facts
}

fn pod_group(object: &Value) -> PodGroupFacts {
    let (group, _) = word(object, "/apiVersion").split_once('/').expect("a group and a version");
    let kind = ingest::pod_group_kind(group, word(object, "/kind")).expect("a kind that is known");
    match ingest::pod_group(kind, object) {
        Ok(Event::Seen(Fact::PodGroup(facts))) => *facts,
        other => panic!("{other:?}"),
    }
}

/// A claim in a line: the fault alone if there is one.
fn shown(claim: Option<&GangClaim>) -> String {
    let Some(claim) = claim else { return "no gang".into() };
    if let Some(fault) = &claim.fault {
        return fault.to_string();
    }
    let mut text = format!("gang {}", claim.name);
    if let Some(min) = claim.min {
        let _ = write!(text, ", min {min}");
    }
    for (kind, name, part) in &claim.objects {
        let _ = write!(text, ", by {kind:?} {name}");
        let _ = if part.is_empty() { Ok(()) } else { write!(text, " {part}") };
    }
    for workers in &claim.workers {
        let fit = &workers.requests.fit;
        let _ = write!(text, ", makes {} of {}m {}Mi", workers.count, fit.cpu, fit.memory >> 20);
    }
    text
}

fn shown_group(facts: &PodGroupFacts) -> String {
    let mut text = format!("{:?} {}:", facts.key.kind, facts.key.name);
    for (part, min) in &facts.mins {
        let space = if part.is_empty() { "" } else { " " };
        let _ = write!(text, "{space}{part} min {min}");
    }
    if let Some(timeout) = facts.timeout {
        let _ = write!(text, ", {timeout} s");
    }
    if let Some(priority) = facts.priority {
        let _ = write!(text, ", priority {priority}");
    }
    for label in &facts.topology {
        let _ = write!(text, ", in one {label}");
    }
    if facts.is_evicted_whole {
        text.push_str(", evicted whole");
    }
    if let Some(parent) = &facts.parent {
        let _ = write!(text, ", part of {parent}");
    }
    text
}

/// The pods of a file, which are what it says, and whose groups are in the file as well.
#[track_caller]
fn check(file: &str, expected: &str) -> Vec<PodFacts> {
    let (mut lines, mut pods, mut groups) = (Vec::new(), Vec::new(), BTreeSet::new());
    for object in objects(&in_repository(&format!("crates/k8s/tests/operators/{file}"))) {
        if word(&object, "/kind") != "Pod" {
            let facts = pod_group(&object);
            lines.push(shown_group(&facts));
            groups.insert((facts.key.kind, facts.key.namespace, facts.key.name));
            continue;
        }
        let facts = pod(&object);
        let remade = if facts.rest.is_remade { ", remade" } else { "" };
        lines.push(format!("{}: {}{remade}", facts.key.name, shown(facts.gang.as_deref())));
        assert_eq!(facts.spec.scheduler, SCHEDULER, "{object}");
        // Nothing of it is lost in a snapshot.
        assert_eq!(pod(&ingest::slim_pod(object.clone())).gang, facts.gang, "{object}");
        pods.push(facts);
    }
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
    assert_eq!(lines, expected, "{file}");
    for facts in &pods {
        for (kind, name, _) in facts.gang.iter().flat_map(|claim| &claim.objects) {
            let key = (*kind, facts.key.namespace.clone(), name.clone());
            assert!(groups.contains(&key), "{file}: no {key:?} for {}", facts.key.name);
        }
    }
    pods
}

/// The one gang of all pods: its name and how many of it start together.
#[track_caller]
fn gang_of(pods: &[PodFacts]) -> (String, u32) {
    let claims = pods.iter().map(|pod| pod.gang.as_deref().expect("a pod of a gang"));
    let all: BTreeSet<(String, u32)> =
        claims.map(|claim| (claim.name.to_string(), claim.min.expect("a minimum"))).collect();
    assert_eq!(all.len(), 1, "{all:?}");
    all.into_iter().next().expect("one")
}

/// Checks the pods that an operator makes of an example, and that the example's own templates say
/// the same of their gang.
#[track_caller]
fn check_with_example(file: &str, example: &str, expected: &str) {
    let made = check(file, expected);
    let templates = templates(example);
    let planned: Vec<PodFacts> = templates.iter().map(|(_, object)| pod(object)).collect();
    let (name, min) = gang_of(&planned);
    assert_eq!((name, min), gang_of(&made), "{example}");
    assert_eq!(templates.iter().map(|(count, _)| count).sum::<u32>(), min, "{example}");
    let workers = |pods: &[PodFacts]| -> Vec<_> {
        let claims = pods.iter().filter_map(|pod| pod.gang.as_deref());
        claims.flat_map(|claim| claim.workers.to_vec()).collect()
    };
    assert_eq!(workers(&planned), workers(&made), "{example}");
}

/// The pod templates of an example, each with how many pods of it are in the gang.
fn templates(example: &str) -> Vec<(u32, Value)> {
    let found = objects(&in_repository(&format!("examples/{example}")));
    let [object] = &found[..] else { panic!("{example} has {} objects", found.len()) };
    let spec = &object["spec"];
    let found: Vec<(u32, Value)> = match word(object, "/kind") {
        "Job" => vec![(number(spec, "/parallelism"), spec["template"].clone())],
        "PyTorchJob" => replicas(&spec["pytorchReplicaSpecs"]),
        "TFJob" => replicas(&spec["tfReplicaSpecs"]),
        "MPIJob" => replicas(&spec["mpiReplicaSpecs"]),
        "RayCluster" => {
            let head = (1, spec["headGroupSpec"]["template"].clone());
            let groups = spec["workerGroupSpecs"].as_array().expect("groups of workers").iter();
            let groups = groups.map(|it| (number(it, "/minReplicas"), it["template"].clone()));
            [head].into_iter().chain(groups).collect()
        }
        "JobSet" => {
            let jobs = spec["replicatedJobs"].as_array().expect("jobs").iter();
            let pods = |job| number(job, "/replicas") * number(job, "/template/spec/parallelism");
            let template = |job: &Value| job["template"]["spec"]["template"].clone();
            jobs.map(|job| (pods(job), template(job))).collect()
        }
        "SparkApplication" => {
            let (driver, executor) = (&spec["driver"], &spec["executor"]);
            let executors = (number(executor, "/instances"), spark_template(executor, "executor"));
            vec![(1, spark_template(driver, "driver")), executors]
        }
        other => panic!("{example}: a {other}"),
    };
    for (_, template) in &found {
        assert_eq!(word(template, "/spec/schedulerName"), SCHEDULER, "{example}: {template}");
    }
    found
}

/// The templates of a job of Kubeflow.
fn replicas(specs: &Value) -> Vec<(u32, Value)> {
    let specs = specs.as_object().expect("kinds of replicas").values();
    specs.map(|spec| (number(spec, "/replicas"), spec["template"].clone())).collect()
}

/// What Spark makes of the part of a SparkApplication that is about a role.
fn spark_template(part: &Value, role: &str) -> Value {
    let mut labels = part["labels"].clone();
    labels["spark-role"] = role.into();
    json!({
        "metadata": {"labels": labels, "annotations": part["annotations"].as_object()},
        "spec": {"schedulerName": part["schedulerName"], "containers": [{"name": "spark"}]},
    })
}

#[test]
fn pytorch() {
    check_with_example(
        "pytorch.yaml",
        "pytorch-training.yaml",
        "
        mnist-master-0: gang mnist, min 4, remade
        mnist-worker-0: gang mnist, min 4, remade
        mnist-worker-1: gang mnist, min 4, remade
        mnist-worker-2: gang mnist, min 4, remade
        ",
    );
}

#[test]
fn tensorflow() {
    check_with_example(
        "tensorflow.yaml",
        "tensorflow-training.yaml",
        "
        dist-mnist-chief-0: gang dist-mnist, min 7, remade
        dist-mnist-ps-0: gang dist-mnist, min 7, remade
        dist-mnist-ps-1: gang dist-mnist, min 7, remade
        dist-mnist-worker-0: gang dist-mnist, min 7, remade
        dist-mnist-worker-3: gang dist-mnist, min 7, remade
        ",
    );
}

/// The launcher belongs to a Job, the workers to the MPIJob.
#[test]
fn mpi() {
    check_with_example(
        "mpi.yaml",
        "mpi-job.yaml",
        "
        benchmarks-launcher-x7k2p: gang benchmarks, min 5, remade
        benchmarks-worker-0: gang benchmarks, min 5, remade
        benchmarks-worker-1: gang benchmarks, min 5, remade
        benchmarks-worker-2: gang benchmarks, min 5, remade
        benchmarks-worker-3: gang benchmarks, min 5, remade
        ",
    );
}

#[test]
fn spark() {
    check_with_example(
        "spark.yaml",
        "spark-job.yaml",
        "
        spark-pi-driver: gang spark-pi, min 4, makes 3 of 2000m 4608Mi, remade
        spark-pi-exec-1: gang spark-pi, min 4, remade
        spark-pi-exec-2: gang spark-pi, min 4, remade
        spark-pi-exec-3: gang spark-pi, min 4, remade
        ",
    );
}

/// What the annotation of the example says of executors is what Spark will ask for.
#[test]
fn the_spark_example_says_how_large_its_executors_are() {
    let made = check_files("spark.yaml");
    let driver = made[0].gang.as_deref().expect("a driver of a gang");
    for executor in &made[1..] {
        assert_eq!(driver.workers[0].requests, executor.spec.requests);
    }
    let object = &objects(&in_repository("examples/spark-job.yaml"))[0];
    let executor = &object["spec"]["executor"];
    assert_eq!(driver.workers[0].count, number(executor, "/instances"));
    assert_eq!(driver.workers[0].requests.fit.cpu, 1000 * i64::from(number(executor, "/cores")));
    let sizes = (word(executor, "/memory"), word(executor, "/memoryOverhead"));
    assert_eq!((sizes, driver.workers[0].requests.fit.memory), (("4g", "512m"), 4608 << 20));
}

fn check_files(file: &str) -> Vec<PodFacts> {
    let found = objects(&in_repository(&format!("crates/k8s/tests/operators/{file}")));
    found.iter().map(pod).collect()
}

/// Without the annotation the driver of an operator says nothing of its executors.
#[test]
fn a_spark_driver_that_hides_its_executors_is_told_what_to_add() {
    let file = in_repository("crates/k8s/tests/operators/spark.yaml");
    let mut driver = objects(&file).swap_remove(0);
    driver["metadata"]["annotations"] = json!({});
    let claim = pod(&driver).gang.expect("a claim");
    let fault = claim.fault.clone().expect("a fault");
    assert!(fault.contains("add annotation scheduling.kubenexus.io/members"), "{fault}");
}

#[test]
fn spark_in_client_mode() {
    check(
        "spark-client.yaml",
        "
        report-driver: gang report, min 4, makes 3 of 2000m 4505Mi
        report-exec-1: gang report, min 4, remade
        ",
    );
}

#[test]
fn ray() {
    check_with_example(
        "ray.yaml",
        "ray-cluster.yaml",
        "
        ray-head: gang ray, min 5, remade
        ray-gpu-worker-2kd8q: gang ray, min 5, remade
        ray-gpu-worker-zz9w1: gang ray, min 5, remade
        ",
    );
}

/// Every pod belongs to another Job.
#[test]
fn jobset() {
    check_with_example(
        "jobset.yaml",
        "jobset.yaml",
        "
        pretrain-leader-0-0-ab0cd: gang pretrain, min 9, remade
        pretrain-workers-0-0-ab1cd: gang pretrain, min 9, remade
        pretrain-workers-1-3-ab2cd: gang pretrain, min 9, remade
        ",
    );
}

/// The gangs that an operator knows by itself.
#[test]
fn an_operator_that_makes_pod_groups() {
    check(
        "training-operator-gang.yaml",
        "
        Coscheduling bert: min 3, 120 s
        bert-master-0: gang bert, by Coscheduling bert, remade
        bert-worker-0: gang bert, by Coscheduling bert, remade
        bert-worker-1: gang bert, by Coscheduling bert, remade
        ",
    );
}

#[test]
fn scheduler_plugins() {
    check(
        "scheduler-plugins.yaml",
        "
        Coscheduling nginx: min 3, 10 s
        nginx-4jw2e: gang nginx, by Coscheduling nginx, remade
        nginx-n7k2d: gang nginx, by Coscheduling nginx, remade
        nginx-pp3r5: gang nginx, by Coscheduling nginx, remade
        ",
    );
}

#[test]
fn volcano() {
    check(
        "volcano.yaml",
        "
        Volcano lm-mpi-uid-lm-mpi: min 3
        lm-mpi-mpimaster-0: gang lm-mpi-uid-lm-mpi, by Volcano lm-mpi-uid-lm-mpi, remade
        lm-mpi-mpiworker-0: gang lm-mpi-uid-lm-mpi, by Volcano lm-mpi-uid-lm-mpi, remade
        lm-mpi-mpiworker-1: gang lm-mpi-uid-lm-mpi, by Volcano lm-mpi-uid-lm-mpi, remade
        ",
    );
}

#[test]
fn kai() {
    check(
        "kai.yaml",
        "
        Kai pg-llm-uid-llm: min 2
        llm-master-0: gang pg-llm-uid-llm, by Kai pg-llm-uid-llm, remade
        llm-worker-0: gang pg-llm-uid-llm, by Kai pg-llm-uid-llm, remade
        ",
    );
}

#[test]
fn kubernetes_itself() {
    let job = "train-67f8d-train-pgt-0-5c9b7";
    check(
        "native.yaml",
        &format!(
            "
            Native {job}: min 2
            train-0-q2w0e: gang {job}, by Native {job}, remade
            train-1-q2w1e: gang {job}, by Native {job}, remade
            Native rack-bound: min 4, priority 1000, in one topology.kubernetes.io/rack, \
                evicted whole, part of both
            Composite both: min 2
            Native one-by-one: min 1
            Workload lws: leaders min 1 workers min 3
            rack-bound-0: gang rack-bound, by Native rack-bound
            one-by-one-0: gang one-by-one, by Native one-by-one
            lws-0-1: gang lws/workers/0, by Workload lws workers, remade
            "
        ),
    );
}

/// A Job whose pods Kubernetes puts into a PodGroup by itself cannot be in another gang by labels.
#[test]
fn labels_beside_a_pod_group_of_another_name_are_a_fault() {
    let mut found = objects(&in_repository("crates/k8s/tests/operators/native.yaml"));
    let mut object = found.swap_remove(1);
    object["metadata"]["labels"]["pod-group.scheduling.kubenexus.io/name"] = "train".into();
    object["metadata"]["labels"]["pod-group.scheduling.kubenexus.io/min-available"] = "2".into();
    let expected = "spec.schedulingGroup.podGroupName is \"train-67f8d-train-pgt-0-5c9b7\", label \
        pod-group.scheduling.kubenexus.io/name is \"train\": expected one gang";
    assert_eq!(shown(pod(&object).gang.as_deref()), expected);
}

/// The gang of the README: eight pods of 4 CPUs, 16 GiB and a GPU.
#[test]
fn the_gang_of_the_readme() {
    let templates = templates("gang-job.yaml");
    let [(count, template)] = &templates[..] else { panic!("{templates:?}") };
    assert_eq!((*count, shown(pod(template).gang.as_deref())), (8, "gang training, min 8".into()));
    let resources = &template["spec"]["containers"][0]["resources"];
    let expected = json!({"requests": {"cpu": "4", "memory": "16Gi"},
        "limits": {"nvidia.com/gpu": "1"}});
    assert_eq!(*resources, expected);
    let example = objects(&in_repository("examples/gang-job.yaml"));
    assert!(blocks("README.md").contains(&example));
}

/// The objects of every block of YAML in a page; of those that hold no objects, nothing.
fn blocks(page: &str) -> Vec<Vec<Value>> {
    let text = std::fs::read_to_string(in_repository(page)).expect("a page");
    let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let objects = blocks.map(|block| match manifest::split(block) {
        Ok(found) => found.iter().map(|object| object.json().into_owned()).collect(),
        Err(problem) => panic!("{page}: {problem:?} in\n{block}"),
    });
    objects.collect()
}

/// The pods that users are shown are in gangs, and their objects can be read.
#[test]
fn pods_in_the_guide_are_in_gangs() {
    let mut count = 0;
    for object in blocks("docs/gangs.md").into_iter().flatten() {
        match word(&object, "/kind") {
            "Pod" => {
                let claim = pod(&object).gang.expect("a pod of a gang");
                assert_eq!((claim.fault.as_deref(), claim.objects.len()), (None, 1), "{object}");
                count += 1;
            }
            "" => {}
            _ => assert!(pod_group(&object).mins.iter().any(|(_, min)| *min == 8), "{object}"),
        }
    }
    assert_eq!(count, 3);
}

/// Every file in the folder of examples can be read, and those with a gang are tested here.
#[test]
fn every_example_is_known() {
    let folder = std::fs::read_dir(in_repository("examples")).expect("there are examples");
    let files = folder.map(|entry| entry.expect("an entry").path());
    let mut gangs = BTreeSet::new();
    for path in files.filter(|path| path.extension().is_some_and(|it| it == "yaml")) {
        let found = objects(&path);
        assert!(!found.is_empty(), "{path:?}");
        if found.iter().any(|object| object.to_string().contains("pod-group.scheduling")) {
            gangs.insert(path.file_name().and_then(|it| it.to_str()).expect("a name").to_owned());
        }
    }
    let expected = [
        "gang-job.yaml",
        "jobset.yaml",
        "mpi-job.yaml",
        "pytorch-training.yaml",
        "ray-cluster.yaml",
        "spark-job.yaml",
        "tensorflow-training.yaml",
    ];
    assert_eq!(gangs, expected.map(String::from).into());
}
