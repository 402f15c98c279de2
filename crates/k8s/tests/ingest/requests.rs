//! What a pod asks for, by table. The sums are worked out by hand from the rules Kubernetes
//! documents for init containers, sidecars, pod-level resources, overhead and in-place resize.

use serde_json::{Value, json};

use crate::pod_facts;

/// Thousandths of a CPU and MiB of memory.
type Sum = (i64, i64);

fn requests(cpu: &str, memory: &str) -> Value {
    json!({"requests": {"cpu": cpu, "memory": memory}})
}

fn container(name: &str, cpu: &str, memory: &str) -> Value {
    json!({"name": name, "resources": requests(cpu, memory)})
}

fn sidecar(name: &str, cpu: &str, memory: &str) -> Value {
    let mut container = container(name, cpu, memory);
    container["restartPolicy"] = json!("Always");
    container
}

/// A container's status: what is set aside for it, and what it runs with.
fn status(name: &str, granted: &str, used: &str) -> Value {
    let granted = json!({"cpu": granted, "memory": "100Mi"});
    json!({"name": name, "allocatedResources": granted, "resources": requests(used, "100Mi")})
}

fn pending(reason: &str) -> Value {
    json!([{"type": "PodResizePending", "status": "True", "reason": reason}])
}

/// Checks rows of (what, spec, what a node must have free).
fn check(rows: Vec<(&str, Value, Sum)>) {
    for (what, spec, expected) in rows {
        let row = (what, spec, json!({}), expected, expected);
        check_with_status(vec![row]);
    }
}

/// Checks rows of (what, spec, status, what a node must have free, what the pod is charged with).
fn check_with_status(rows: Vec<(&str, Value, Value, Sum, Sum)>) {
    for (what, spec, status, fit, charge) in rows {
        let facts = pod_facts(&json!({"spec": spec, "status": status}));
        let requests = facts.spec.requests;
        let sum = |cpu, memory| (cpu, memory / (1 << 20));
        assert_eq!(sum(requests.fit.cpu, requests.fit.memory), fit, "fit: {what}");
        let amounts = requests.charge.amounts;
        assert_eq!(sum(amounts.cpu, amounts.memory), charge, "charge: {what}");
    }
}

#[test]
fn containers_add_up_and_init_containers_peak() {
    let main = || container("main", "200m", "100Mi");
    let init = |cpu, memory| container("init", cpu, memory);
    check(vec![
        ("nothing at all", json!({}), (0, 0)),
        ("one container", json!({"containers": [main()]}), (200, 100)),
        (
            "two containers",
            json!({"containers": [main(), container("other", "0.5", "1Gi")]}),
            (700, 1124),
        ),
        (
            "a small init container runs before",
            json!({"containers": [main()], "initContainers": [init("100m", "50Mi")]}),
            (200, 100),
        ),
        (
            "each resource has its own peak",
            json!({"containers": [main()], "initContainers": [init("1", "50Mi")]}),
            (1000, 100),
        ),
        (
            "init containers run one by one",
            json!({"containers": [main()],
                   "initContainers": [init("300m", "10Mi"), init("250m", "300Mi")]}),
            (300, 300),
        ),
        (
            "limits are no requests",
            json!({"containers": [{"name": "main", "resources": {"limits": {"cpu": "4"}}}]}),
            (0, 0),
        ),
        (
            "ephemeral containers ask for nothing",
            json!({"containers": [main()], "ephemeralContainers": [init("1", "1Gi")]}),
            (200, 100),
        ),
        (
            "overhead comes on top of the peak",
            json!({"containers": [main()], "initContainers": [init("500m", "10Mi")],
                   "overhead": {"cpu": "50m", "memory": "20Mi"}}),
            (550, 120),
        ),
    ]);
}

#[test]
fn sidecars_keep_running() {
    let main = || container("main", "200m", "100Mi");
    let init = || container("init", "500m", "10Mi");
    let proxy = || sidecar("proxy", "100m", "64Mi");
    check(vec![
        (
            "a sidecar adds to the containers",
            json!({"containers": [main()], "initContainers": [proxy()]}),
            (300, 164),
        ),
        (
            "an init container after a sidecar runs beside it",
            json!({"containers": [main()], "initContainers": [proxy(), init()]}),
            (600, 164),
        ),
        (
            "an init container before a sidecar runs alone",
            json!({"containers": [main()], "initContainers": [init(), proxy()]}),
            (500, 164),
        ),
        (
            "between two sidecars it runs beside the first",
            // cpu: max(200 + 100 + 300, 100 + 500, 100 + 300)
            json!({"containers": [main()],
                   "initContainers": [proxy(), init(), sidecar("log", "300m", "1Mi")]}),
            (600, 165),
        ),
        (
            "sidecars alone",
            json!({"initContainers": [proxy(), sidecar("log", "300m", "1Mi")]}),
            (400, 65),
        ),
        (
            "another restart policy makes no sidecar",
            json!({"containers": [main()], "initContainers": [
                {"restartPolicy": "OnFailure", "resources": requests("100m", "1Mi")}]}),
            (200, 100),
        ),
    ]);
}

#[test]
fn resources_of_the_pod_replace_the_sum() {
    let main = || container("main", "200m", "100Mi");
    check(vec![
        ("both", json!({"containers": [main()], "resources": requests("2", "1Gi")}), (2000, 1024)),
        (
            "one, the other is summed",
            json!({"containers": [main()], "resources": {"requests": {"cpu": "2"}}}),
            (2000, 100),
        ),
        (
            "less than the sum",
            json!({"containers": [main()], "resources": {"requests": {"cpu": "50m"}}}),
            (50, 100),
        ),
        (
            "they replace the peak of init containers, too",
            json!({"containers": [main()], "initContainers": [container("init", "4", "1Mi")],
                   "resources": {"requests": {"cpu": "1"}}}),
            (1000, 100),
        ),
        (
            "overhead still comes on top",
            json!({"containers": [main()], "resources": requests("2", "1Gi"),
                   "overhead": {"cpu": "100m", "memory": "1Mi"}}),
            (2100, 1025),
        ),
        (
            "limits are no requests",
            json!({"containers": [main()], "resources": {"limits": {"cpu": "2"}}}),
            (200, 100),
        ),
        (
            "a resource that cannot be set for the pod",
            json!({"containers": [main()], "resources": {"requests": {"example.com/gpu": "1"}}}),
            (200, 100),
        ),
    ]);
}

#[test]
fn a_resize_counts_with_the_most_that_is_wanted_granted_or_used() {
    let spec = |cpu| json!({"containers": [container("main", cpu, "100Mi")]});
    let statuses = |granted, used| json!({"containerStatuses": [status("main", granted, used)]});
    let infeasible = |granted, used| {
        let mut status = statuses(granted, used);
        status["conditions"] = pending("Infeasible");
        status
    };
    let deferred = |granted, used| {
        let mut status = statuses(granted, used);
        status["conditions"] = pending("Deferred");
        status
    };
    let no_used = json!({"containerStatuses": [
        {"name": "main", "allocatedResources": {"cpu": "500m", "memory": "100Mi"}}]});
    check_with_status(vec![
        ("settled", spec("200m"), statuses("200m", "200m"), (200, 100), (200, 100)),
        ("up, wanted", spec("800m"), statuses("500m", "500m"), (800, 100), (800, 100)),
        ("up, deferred", spec("800m"), deferred("500m", "500m"), (800, 100), (800, 100)),
        ("up, infeasible", spec("800m"), infeasible("500m", "500m"), (800, 100), (500, 100)),
        ("down, still granted", spec("200m"), statuses("500m", "300m"), (200, 100), (500, 100)),
        ("down, still in use", spec("200m"), statuses("200m", "500m"), (200, 100), (500, 100)),
        ("nothing said of use", spec("200m"), no_used, (200, 100), (500, 100)),
        ("no status yet", spec("200m"), json!({}), (200, 100), (200, 100)),
        (
            "the status of another container",
            spec("200m"),
            json!({"containerStatuses": [status("gone", "4", "4")]}),
            (200, 100),
            (200, 100),
        ),
    ]);
}

#[test]
fn a_resize_of_sidecars_and_of_the_pod_counts() {
    let main = || container("main", "200m", "100Mi");
    check_with_status(vec![
        (
            "a sidecar",
            json!({"containers": [main()], "initContainers": [sidecar("proxy", "100m", "0")]}),
            json!({"initContainerStatuses": [
                {"name": "proxy", "allocatedResources": {"cpu": "400m"},
                 "resources": {"requests": {"cpu": "100m"}}}]}),
            (300, 100),
            (600, 100),
        ),
        (
            "the pod as a whole, down",
            json!({"containers": [main()], "resources": {"requests": {"cpu": "1"}}}),
            json!({"resources": {"requests": {"cpu": "2"}},
                   "allocatedResources": {"cpu": "1500m"}}),
            (1000, 100),
            (2000, 100),
        ),
        (
            "the pod as a whole, infeasible",
            json!({"containers": [main()], "resources": {"requests": {"cpu": "8"}}}),
            json!({"resources": requests("2", "100Mi"), "conditions": pending("Infeasible"),
                   "allocatedResources": {"cpu": "1500m", "memory": "100Mi"}}),
            (8000, 100),
            (2000, 100),
        ),
    ]);
}

#[test]
fn quantities_are_rounded_up() {
    // (cpu, memory in bytes as text, thousandths, bytes)
    let table = [
        ("1n", "1m", 1, 1),
        ("0.0015", "1500m", 2, 2),
        ("1e-1", "1e3", 100, 1000),
        (".5", "1Ki", 500, 1024),
        ("1.5", "0.5Ki", 1500, 512),
        ("+2", "123456789", 2000, 123_456_789),
    ];
    for (cpu, memory, milli, bytes) in table {
        let facts = pod_facts(&json!({"spec": {"containers": [container("main", cpu, memory)]}}));
        let fit = facts.spec.requests.fit;
        assert_eq!((fit.cpu, fit.memory), (milli, bytes), "{cpu} {memory}");
    }
    let numbers = json!({"requests": {"cpu": 2, "memory": 1.5, "ephemeral-storage": null}});
    let facts = pod_facts(&json!({"spec": {"containers": [{"resources": numbers}]}}));
    let fit = facts.spec.requests.fit;
    assert_eq!((fit.cpu, fit.memory, fit.ephemeral), (2000, 2, 0), "bare numbers");
}

#[test]
fn counted_resources_are_named_and_sorted() {
    let main = json!({"resources": {"requests": {
        "nvidia.com/gpu": "1", "hugepages-2Mi": "4Mi", "ephemeral-storage": "1Gi", "pods": "5",
        "example.com/fpga": "2", "storage": "1Gi"}}});
    let init = json!({"resources": {"requests": {"nvidia.com/gpu": "3"}}});
    let spec = json!({"containers": [main.clone(), main], "initContainers": [init],
                      "resources": {"requests": {"hugepages-2Mi": "2Mi"}}});
    let fit = pod_facts(&json!({"spec": spec})).spec.requests.fit;
    assert_eq!(fit.ephemeral, 2 << 30);
    let expected: [(String, i64); 3] = [
        ("example.com/fpga".into(), 4),
        ("hugepages-2Mi".into(), 2 << 20),
        ("nvidia.com/gpu".into(), 3),
    ];
    assert_eq!(*fit.scalars, expected);
}

/// Scores count a container that asks for nothing as 100 thousandths and 200 MiB.
#[test]
fn scores_count_containers_that_ask_for_nothing() {
    let none = || json!({"name": "none"});
    let main = || container("main", "300m", "50Mi");
    let cpu = json!({"name": "cpu", "resources": {"requests": {"cpu": "1"}}});
    // (what, spec, as scored once placed, as fullness adds it)
    let table: [(&str, Value, Sum, Sum); 7] = [
        ("one that asks", json!({"containers": [main()]}), (300, 50), (300, 50)),
        ("one that does not", json!({"containers": [none()]}), (100, 200), (100, 200)),
        ("one of each", json!({"containers": [main(), none()]}), (400, 250), (400, 250)),
        ("half a request", json!({"containers": [cpu]}), (1000, 200), (1000, 200)),
        (
            "an init container",
            json!({"containers": [main()], "initContainers": [none()]}),
            (300, 200),
            (300, 200),
        ),
        (
            "the pod as a whole asks",
            json!({"containers": [none()], "resources": requests("2", "1Gi")}),
            (2000, 1024),
            (100, 200),
        ),
        (
            "the pod as a whole asks for cpu",
            json!({"containers": [none()], "resources": {"requests": {"cpu": "2"}}}),
            (2000, 200),
            (100, 200),
        ),
    ];
    for (what, spec, scored, fullness) in table {
        let requests = pod_facts(&json!({"spec": spec})).spec.requests;
        let mib = |bytes| bytes / (1 << 20);
        let charge = &requests.charge;
        assert_eq!((charge.scored_cpu, mib(charge.scored_memory)), scored, "scored: {what}");
        let full = (requests.fullness.cpu, mib(requests.fullness.memory));
        assert_eq!(full, fullness, "fullness: {what}");
    }
}
