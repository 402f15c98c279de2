//! What pods say about their gangs, with the keys of all tools that have some.

use kubenexus_k8s::anonymise::Anonymiser;
use kubenexus_k8s::ingest::slim_pod;
use model::GangClaim;
use serde_json::{Value, json};

use crate::pod_facts;

fn pod(labels: Value, annotations: Value, spec: Value) -> Value {
    let mut spec = spec;
    if spec["containers"].is_null() {
        spec["containers"] = json!([{"name": "main", "image": "app:1"}]);
    }
    json!({
        "metadata": {"name": "w-0", "namespace": "team", "uid": "u", "labels": labels,
            "annotations": annotations, "creationTimestamp": "2026-11-16T06:30:00Z"},
        "spec": spec,
    })
}

/// A claim in a line: the fault alone if there is one.
fn shown(claim: Option<&GangClaim>) -> String {
    let Some(claim) = claim else { return "none".into() };
    if let Some(fault) = &claim.fault {
        return fault.to_string();
    }
    let mut text = claim.name.to_string();
    let mut add = |word: String| text.push_str(&format!(" {word}"));
    claim.min.into_iter().for_each(|min| add(format!("min={min}")));
    for (kind, name, part) in &claim.objects {
        let slash = if part.is_empty() { "" } else { "/" };
        add(format!("{kind:?}={name}{slash}{part}"));
    }
    let priority = claim.priority.filter(|priority| *priority != 0);
    priority.into_iter().for_each(|priority| add(format!("priority={priority}")));
    claim.timeout.into_iter().for_each(|timeout| add(format!("timeout={timeout}")));
    for workers in &claim.workers {
        let fit = &workers.requests.fit;
        add(format!("{}x{}m,{}Mi", workers.count, fit.cpu, fit.memory >> 20));
        fit.scalars.iter().for_each(|(name, amount)| add(format!("{name}={amount}")));
    }
    claim.after.iter().for_each(|gang| add(format!("after={gang}")));
    text.trim_start().into()
}

fn check(labels: Value, annotations: Value, spec: Value, expected: &str) {
    let object = pod(labels, annotations, spec);
    let claim = pod_facts(&object).gang;
    assert_eq!(shown(claim.as_deref()), expected, "{object}");
    // Nothing of it is lost in a snapshot.
    assert_eq!(pod_facts(&slim_pod(object.clone())).gang, claim, "{object}");
}

const NAME: &str = "pod-group.scheduling.kubenexus.io/name";
const MIN: &str = "pod-group.scheduling.kubenexus.io/min-available";
const TIMEOUT: &str = "pod-group.scheduling.kubenexus.io/timeout-seconds";
const SIGS_NAME: &str = "pod-group.scheduling.sigs.k8s.io/name";
const SIGS_MIN: &str = "pod-group.scheduling.sigs.k8s.io/min-available";
const GANG_NAME: &str = "gang.scheduling.kubenexus.io/name";
const GANG_MIN: &str = "scheduling.kubenexus.io/min-available";
const GROUP: &str = "scheduling.kubenexus.io/gang-group";
const MEMBERS: &str = "scheduling.kubenexus.io/members";
const AFTER: &str = "scheduling.kubenexus.io/depends-on";
const COSCHEDULING: &str = "scheduling.x-k8s.io/pod-group";
const VOLCANO: &str = "scheduling.k8s.io/group-name";

#[test]
fn every_key_is_read() {
    let native = json!({"schedulingGroup": {"podGroupName": "train"}});
    let important = json!({"schedulingGroup": {"podGroupName": "train"}, "priority": 7});
    let workload = json!({"workloadRef": {"name": "job", "podGroup": "workers"}});
    let copy = json!({"workloadRef":
        {"name": "job", "podGroup": "workers", "podGroupReplicaKey": "1"}});
    let plain = || json!({});
    let table = [
        (json!({}), json!({}), plain(), "none"),
        (json!({"app": "web"}), json!({"kubectl.kubernetes.io/x": "{}"}), plain(), "none"),
        (json!({}), json!({}), native.clone(), "train Native=train"),
        // An object of another kind says nothing about priorities.
        (json!({}), json!({}), important, "train Native=train priority=7"),
        (json!({COSCHEDULING: "pg"}), json!({}), json!({"priority": 7}), "pg Coscheduling=pg"),
        (json!({}), json!({}), workload, "job/workers Workload=job/workers"),
        (json!({}), json!({}), copy, "job/workers/1 Workload=job/workers"),
        (json!({COSCHEDULING: "pg"}), json!({}), plain(), "pg Coscheduling=pg"),
        (json!({NAME: "g", MIN: "3"}), json!({}), plain(), "g min=3"),
        (json!({}), json!({NAME: "g", MIN: "3"}), plain(), "g min=3"),
        (json!({NAME: "g"}), json!({MIN: "3", TIMEOUT: "60"}), plain(), "g min=3 timeout=60"),
        (json!({SIGS_NAME: "g", SIGS_MIN: "2"}), json!({}), plain(), "g min=2"),
        (json!({}), json!({SIGS_NAME: "g", SIGS_MIN: "2"}), plain(), "g min=2"),
        (json!({GANG_NAME: "g", GANG_MIN: "4"}), json!({}), plain(), "g min=4"),
        (json!({GANG_NAME: "g"}), json!({GANG_MIN: "4"}), plain(), "g min=4"),
        (json!({}), json!({GROUP: "near"}), plain(), "near"),
        (json!({}), json!({VOLCANO: "podgroup-1"}), plain(), "podgroup-1 Volcano=podgroup-1"),
        (json!({}), json!({"pod-group-name": "pg-7"}), plain(), "pg-7 Kai=pg-7"),
        // Keys that agree.
        (json!({NAME: "g", MIN: "3"}), json!({NAME: "g", SIGS_MIN: "3"}), plain(), "g min=3"),
        (json!({NAME: "train", MIN: "3"}), json!({}), native, "train min=3 Native=train"),
        (json!({NAME: "g", COSCHEDULING: "g"}), json!({}), plain(), "g Coscheduling=g"),
        // Of other schedulers' keys nobody knows whether they mean anything.
        (json!({NAME: "g", MIN: "3"}), json!({VOLCANO: "podgroup-1"}), plain(), "g min=3"),
        (json!({COSCHEDULING: "g"}), json!({"pod-group-name": "x"}), plain(), "g Coscheduling=g"),
        // Not in a gang, and yet after one.
        (json!({}), json!({AFTER: "a, b,,a"}), plain(), "after=a after=b"),
        (json!({NAME: "g", MIN: "1"}), json!({AFTER: "a"}), plain(), "g min=1 after=a"),
    ];
    for (labels, annotations, spec, expected) in table {
        check(labels, annotations, spec, expected);
    }
}

#[test]
fn what_does_not_agree_is_told_with_keys_and_values() {
    let native = json!({"schedulingGroup": {"podGroupName": "train"}});
    let plain = || json!({});
    let gangs = [
        (
            json!({NAME: "a", MIN: "3"}),
            json!({SIGS_NAME: "b"}),
            plain(),
            format!("label {NAME} is \"a\", annotation {SIGS_NAME} is \"b\""),
        ),
        (
            json!({NAME: "a"}),
            json!({NAME: "b", MIN: "3"}),
            plain(),
            format!("label {NAME} is \"a\", annotation {NAME} is \"b\""),
        ),
        (
            json!({COSCHEDULING: "b"}),
            json!({}),
            native,
            format!(
                "spec.schedulingGroup.podGroupName is \"train\", label {COSCHEDULING} is \"b\""
            ),
        ),
        (
            json!({}),
            json!({VOLCANO: "a", "pod-group-name": "b"}),
            plain(),
            format!("annotation {VOLCANO} is \"a\", annotation pod-group-name is \"b\""),
        ),
    ];
    for (labels, annotations, spec, expected) in gangs {
        check(labels, annotations, spec, &format!("{expected}: expected one gang"));
    }
    let labels = json!({NAME: "a", MIN: "3"});
    let expected =
        format!("label {MIN} is \"3\", annotation {GANG_MIN} is \"4\": expected one number");
    check(labels, json!({GANG_MIN: "4"}), plain(), &expected);
}

#[test]
fn what_makes_no_sense_or_lacks_its_companion_is_told_with_key_and_value() {
    let table = [
        (
            json!({SIGS_NAME: "a"}),
            json!({}),
            format!(
                "label {SIGS_NAME} is \"a\", but no key says how many of it start together: \
                 add {SIGS_MIN}"
            ),
        ),
        (
            json!({GANG_MIN: "2"}),
            json!({}),
            format!("label {GANG_MIN} is \"2\", but no key names the gang: add {NAME}"),
        ),
        (
            json!({NAME: "", MIN: "2"}),
            json!({}),
            format!("label {NAME} is \"\": expected the name of a gang, of at most 253 characters"),
        ),
        (
            json!({NAME: "a", MIN: "2"}),
            json!({TIMEOUT: "3601"}),
            format!("annotation {TIMEOUT} is \"3601\": expected a number from 1 to 3600"),
        ),
    ];
    for (labels, annotations, expected) in table {
        check(labels, annotations, json!({}), &expected);
    }
    for min in ["0", "-1", "10001", "many", "", " 3", "3.0", "99999999999999999999"] {
        let expected = format!("label {MIN} is {min:?}: expected a number from 1 to 10000");
        check(json!({NAME: "a", MIN: min}), json!({}), json!({}), &expected);
    }
    check(json!({NAME: "a", MIN: "10000"}), json!({}), json!({}), "a min=10000");
    let long = "x".repeat(254);
    let claim = pod_facts(&pod(json!({}), json!({GROUP: long}), json!({}))).gang.unwrap();
    let fault = claim.fault.clone().unwrap();
    assert!(fault.contains("253") && fault.len() < 250, "{fault}");
}

/// One limit for all keys: the claim says which, how it begins and how long it may be.
#[test]
fn no_annotation_about_a_gang_is_read_beyond_the_limit() {
    let (volcano, kai) = ("scheduling.k8s.io/group-name", "pod-group-name");
    let timeout = "pod-group.scheduling.kubenexus.io/timeout-seconds";
    let text = "7".repeat(4097);
    let fault = |pod: &Value| {
        let claim = pod_facts(pod).gang.expect("a claim");
        claim.fault.clone().unwrap_or_default().to_string()
    };
    for key in [NAME, MIN, timeout, GROUP, AFTER, volcano, kai] {
        let found = fault(&pod(json!({}), json!({key: text}), json!({})));
        let begins =
            format!("annotation {key} has 4097 bytes and begins with \"{}", "7".repeat(80));
        let expected = format!("{begins}...\": expected at most 4096 bytes");
        assert_eq!(found, expected);
    }
    let beside = pod(json!({NAME: "a", MIN: "2"}), json!({volcano: text, kai: text}), json!({}));
    assert_eq!(fault(&beside), "", "keys of others are not looked at");
}

#[test]
fn what_is_too_long_is_not_taken_apart() {
    let names = |count: usize| (0..count).map(|at| format!("g{at}")).collect::<Vec<_>>().join(",");
    let fault = |annotations: Value| {
        let claim = pod_facts(&pod(json!({NAME: "a", MIN: "2"}), annotations, json!({}))).gang;
        claim.expect("a claim").fault.clone().unwrap_or_default().to_string()
    };
    assert_eq!(fault(json!({AFTER: names(64)})), "");
    let many = fault(json!({AFTER: names(65)}));
    let begins = format!("annotation {AFTER} is \"g0,g1,");
    let ends = "...\": expected the names of at most 64 gangs";
    assert!(many.starts_with(&begins) && many.ends_with(ends), "{many}");
    let text = names(30_000);
    let long = fault(json!({AFTER: text}));
    let begins = format!("annotation {AFTER} has {} bytes and begins with \"g0,g1,", text.len());
    assert!(long.starts_with(&begins) && long.len() < 300, "{long}");
    assert!(long.ends_with("...\": expected at most 4096 bytes"), "{long}");
    let name = fault(json!({AFTER: format!("b,{}", "x".repeat(254))}));
    assert!(name.ends_with("expected names of gangs, of at most 253 characters"), "{name}");
    let shape = r#"{"count":1,"resources":{"cpu":"1"}}"#;
    let list = |count: usize| format!("[{}]", vec![shape; count].join(","));
    assert_eq!(fault(json!({MEMBERS: list(1_000)})), "");
    let long = fault(json!({MEMBERS: list(2_000)}));
    assert!(long.contains(MEMBERS) && long.ends_with("expected at most 65536 bytes"), "{long}");
    // No more of it is kept than is told.
    let long = pod(json!({}), json!({GROUP: "x".repeat(200_000), AFTER: names(30_000)}), json!({}));
    let claim = pod_facts(&long).gang.expect("a claim");
    assert!(claim.name.is_empty() && claim.after.is_empty() && claim.objects.is_empty());
}

fn driver(command: Value, env: Value) -> Value {
    json!({"containers": [{"name": "driver", "image": "spark:4", "args": command, "env": env}]})
}

#[test]
fn workers_are_listed_or_follow_from_what_a_spark_driver_is_started_with() {
    let labels = || json!({NAME: "g", MIN: "4", "spark-role": "driver"});
    let list = r#"[{"count":3,"resources":{"cpu":"1","memory":"2Gi"}},
        {"count":1,"resources":{"nvidia.com/gpu":2}}]"#;
    let listed = "g min=4 3x1000m,2048Mi 1x0m,0Mi nvidia.com/gpu=2";
    check(json!({NAME: "g", MIN: "4"}), json!({MEMBERS: list}), json!({}), listed);
    // What is listed counts more than settings.
    let instances = driver(json!(["--conf", "spark.executor.instances=9"]), json!([]));
    check(labels(), json!({MEMBERS: list}), instances, listed);
    let table = [
        (json!(["driver", "--conf", "spark.executor.instances=3"]), "3x1000m,1408Mi"),
        (
            json!(["spark-submit --conf spark.executor.instances=3 \\\n  --conf \
                'spark.executor.cores=2' --conf spark.executor.memory=8g local:///app.jar"]),
            "3x2000m,9011Mi",
        ),
        (
            json!([
                "--conf",
                "spark.executor.instances=2",
                "--conf",
                "spark.kubernetes.executor.request.cores=500m",
                "--conf",
                "spark.executor.cores=4",
                "--conf",
                "spark.executor.memory=512m",
                "--conf",
                "spark.executor.memoryOverhead=1g"
            ]),
            "2x500m,1536Mi",
        ),
        (
            json!([
                "spark.executor.instances=2",
                "spark.executor.memory=10240",
                "spark.kubernetes.memoryOverheadFactor=0.4",
                "spark.executor.resource.gpu.amount=2",
                "spark.executor.resource.gpu.vendor=nvidia.com"
            ]),
            "2x1000m,14336Mi nvidia.com/gpu=2",
        ),
    ];
    for (args, expected) in table {
        check(labels(), json!({}), driver(args, json!([])), &format!("g min=4 {expected}"));
    }
    let env = json!([{"name": "PASSWORD", "value": "x=y"}, {"name": "FROM", "valueFrom": {}},
        {"name": "SPARK_JAVA_OPT_0", "value": "-Dspark.executor.instances=5"}]);
    check(labels(), json!({}), driver(json!([]), env), "g min=4 5x1000m,1408Mi");
    // A pod that is no driver makes nobody, and a driver alone needs nobody.
    let args = json!(["spark.executor.instances=3"]);
    check(json!({NAME: "g", MIN: "4"}), json!({}), driver(args.clone(), json!([])), "g min=4");
    let alone = json!({NAME: "g", MIN: "1", "spark-role": "driver"});
    check(alone, json!({}), driver(args.clone(), json!([])), "g min=1");
    let grouped = json!({COSCHEDULING: "g", "spark-role": "driver"});
    let expected = "g Coscheduling=g 3x1000m,1408Mi";
    check(grouped, json!({}), driver(args, json!([])), expected);
}

#[test]
fn workers_that_cannot_be_told_are_asked_for() {
    let labels = || json!({NAME: "g", MIN: "4", "spark-role": "driver"});
    let example = r#"[{"count":3,"resources":{"cpu":"1","memory":"2Gi"}}]"#;
    let asked = format!(
        "a Spark driver makes its executors itself, and nothing says how large they are: \
         add annotation {MEMBERS}, such as {example}"
    );
    let unreadable = [
        json!(["driver", "--properties-file", "/opt/spark/conf/spark.properties"]),
        json!(["spark.executor.instances=$COUNT"]),
        json!(["spark.executor.instances=0"]),
        json!(["spark.executor.instances=2", "spark.executor.memory=2x"]),
        json!(["spark.executor.instances=2", "spark.executor.memory=99999999999999999g"]),
        json!(["spark.executor.instances=2", "spark.executor.cores=-1"]),
        json!(["spark.executor.instances=2", "spark.executor.resource.gpu.amount=1"]),
    ];
    for args in unreadable {
        check(labels(), json!({}), driver(args, json!([])), &asked);
    }
    let mistakes = [
        ("3", "expected a list, found integer `3`"),
        ("[]", "the list is empty"),
        ("[{}]", "[0]: missing field `count`"),
        (r#"[{"count":0}]"#, "count is 0, not from 1 to 10000"),
        (r#"[{"count":-2}]"#, "count is -2, not from 1 to 10000"),
        (r#"[{"count":9000},{"count":1001}]"#, "these are more than 10000 pods"),
        (
            r#"[{"count":1,"resources":{"cpu":"-1"}}]"#,
            "[0].resources.cpu: \"-1\" is negative (expected 0 or more)",
        ),
        (
            r#"[{"count":1,"size":2}]"#,
            "[0].size: unknown field `size`, expected `count` or `resources`",
        ),
        ("[", "EOF while parsing a list at line 1 column 1"),
    ];
    for (text, why) in mistakes {
        let expected = format!("annotation {MEMBERS}: {why}: expected {example}");
        check(json!({NAME: "g", MIN: "4"}), json!({MEMBERS: text}), json!({}), &expected);
    }
    let expected = format!(
        "annotation {MEMBERS} is \"[{{\\\"count\\\":1}}]\", but no key names the gang: add {NAME}"
    );
    check(json!({}), json!({MEMBERS: "[{\"count\":1}]"}), json!({}), &expected);
}

#[test]
fn age_and_whether_a_controller_makes_another_are_read() {
    let mut object = pod(json!({}), json!({}), json!({}));
    let facts = pod_facts(&object);
    assert_eq!((facts.rest.created, facts.rest.is_remade), (1_794_810_600, false));
    let owner = |controller: bool| {
        json!([{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "j", "uid": "o",
            "controller": controller}])
    };
    object["metadata"]["ownerReferences"] = owner(false);
    assert!(!pod_facts(&object).rest.is_remade);
    object["metadata"]["ownerReferences"] = owner(true);
    object["metadata"]["creationTimestamp"] = Value::Null;
    let facts = pod_facts(&object);
    assert_eq!((facts.rest.created, facts.rest.is_remade, facts.owner), (0, true, None));
}

#[test]
fn without_names_it_is_the_same_gang() {
    let secret = Anonymiser::new(|text: &str| model::hash_of(&("key", text)));
    let list = r#"[{"count":3,"resources":{"cpu":"1"},"note":"payroll"}]"#;
    let annotations = json!({NAME: "payroll", MIN: "4", AFTER: "payroll-1,payroll", "jane": "x",
        "kubectl.kubernetes.io/last-applied-configuration": "payroll"});
    let args = json!(["payroll.jar", "--conf", "spark.executor.instances=3"]);
    let env = json!([{"name": "DB", "value": "payroll spark.executor.cores=2"}]);
    let mut object = pod(
        json!({SIGS_NAME: "payroll", "spark-role": "driver", COSCHEDULING: "payroll"}),
        annotations,
        driver(args, env),
    );
    object["spec"]["schedulingGroup"] = json!({"podGroupName": "payroll"});
    object["metadata"]["ownerReferences"] = json!([{"apiVersion": "acme.example/v1",
        "kind": "PayrollJob", "name": "payroll", "controller": true}]);
    let anonymous = secret.object(slim_pod(object.clone()));
    let text = anonymous.to_string();
    for name in ["payroll", "Payroll", "acme", "jane", "jar"] {
        assert!(!text.contains(name), "{name} in {text}");
    }
    let (facts, named) = (pod_facts(&anonymous), pod_facts(&object));
    assert_eq!((facts.rest.created, facts.rest.is_remade), (named.rest.created, true));
    let (claim, named) = (facts.gang.unwrap(), named.gang.unwrap());
    assert_eq!((claim.min, claim.fault.clone(), &claim.workers), (Some(4), None, &named.workers));
    assert_eq!(named.workers.len(), 1);
    assert_eq!(claim.after[1], claim.name);
    assert_eq!(claim.objects.len(), 2);
    object["metadata"]["annotations"][MEMBERS] = json!(list);
    let listed = pod_facts(&secret.object(object)).gang.unwrap();
    assert_eq!((listed.workers.len(), listed.workers[0].count), (1, 3));
}
