//! What a saved cluster has beside nodes, pods and volumes.

use model::Fact;

use super::{NODE, plan, read, report, source};

/// Five pods of one CPU each, of which the node takes four, in a gang by a field.
fn gang(scheduler: &str, field: &str) -> String {
    let pod = |number: u32| {
        format!(
            "---\nkind: Pod\nmetadata: {{name: p{number}}}\nspec: {{schedulerName: {scheduler}, \
             {field}, containers: [{{name: c, resources: {{requests: {{cpu: 1}}}}}}]}}\n"
        )
    };
    (0..5).map(pod).collect()
}

#[test]
fn pods_wait_for_as_many_as_their_pod_group_says() {
    let field = "schedulingGroup: {podGroupName: g}";
    let group = |min: u32| {
        format!(
            "---\napiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {{name: g}}\n\
             spec: {{schedulingPolicy: {{gang: {{minCount: {min}}}}}}}\n"
        )
    };
    for scheduler in ["default-scheduler", "kubenexus-scheduler"] {
        let pods = gang(scheduler, field);
        let placed = |more: &str| report(&format!("{NODE}{pods}{more}")).pods.placed;
        assert_eq!(placed(&group(5)), 0, "{scheduler}");
        assert_eq!(placed(&group(4)), 4, "{scheduler}");
        assert_eq!(placed(""), 0, "{scheduler}: there is no such group");
    }
}

#[test]
fn pod_groups_of_other_projects_count_where_they_are_read() {
    let table = [
        ("scheduling.x-k8s.io/v1alpha1", "labels: {scheduling.x-k8s.io/pod-group: g}"),
        ("scheduling.volcano.sh/v1beta1", "annotations: {scheduling.k8s.io/group-name: g}"),
        ("scheduling.run.ai/v2alpha2", "annotations: {pod-group-name: g}"),
    ];
    for (version, said) in table {
        let pods = gang("kubenexus-scheduler", "restartPolicy: Never");
        let pods = pods.replace("metadata: {", &format!("metadata: {{{said}, "));
        for (min, placed) in [(5, 0), (4, 4)] {
            let group = format!(
                "---\napiVersion: {version}\nkind: PodGroup\nmetadata: {{name: g}}\n\
                 spec: {{minMember: {min}}}\n"
            );
            assert_eq!(report(&format!("{NODE}{pods}{group}")).pods.placed, placed, "{version}");
        }
    }
}

#[test]
fn mistakes_in_pod_groups_and_queues_are_named() {
    let table = [
        (
            "kind: PodGroup\nmetadata: {name: g}\n",
            "a.yaml:5: apiVersion: expected a version of scheduling.k8s.io, scheduling.x-k8s.io, \
             scheduling.volcano.sh or scheduling.run.ai that has PodGroup, found nothing",
        ),
        (
            "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nspec: {minMember: 2}\n",
            "a.yaml:5: metadata.name: required, but missing",
        ),
        (
            "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: g}\n\
             spec:\n  minMember: many\n",
            "a.yaml:9: spec.minMember: expected an integer of 32 bits, found string \"many\"",
        ),
        (
            "kind: LocalQueue\nmetadata: {name: q}\nspec:\n  clusterQueue: [a]\n",
            "a.yaml:8: spec.clusterQueue: expected a string, found a list",
        ),
        (
            "kind: NodeResourceTopology\nmetadata: {name: n1}\nzones:\n  name: node-0\n",
            "a.yaml:7: zones: expected a list, found an object",
        ),
        (
            "kind: ResourceSlice\nmetadata: {name: s}\nspec:\n  devices: {}\n",
            "a.yaml:8: spec.devices: expected a list, found an object",
        ),
    ];
    for (text, expected) in table {
        let text = format!("{NODE}---\n{text}");
        let found = read(&[source("a.yaml", &text)]).unwrap_err().to_string();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn controllers_of_a_snapshot_make_no_pods_and_spread_those_there_are() {
    let sets: String = ["ReplicaSet", "StatefulSet", "ReplicationController"]
        .map(|kind| {
            format!(
                "---\nkind: {kind}\nmetadata: {{name: web}}\nspec: {{selector: {{matchLabels: \
                 {{app: web}}}}}}\n"
            )
        })
        .concat();
    let sets = sets.replacen(
        "kind: ReplicationController\nmetadata: {name: web}\nspec: {selector: {matchLabels: {app: \
         web}}}",
        "kind: ReplicationController\nmetadata: {name: web}\nspec: {selector: {app: web}}",
        1,
    );
    let pod = "---\nkind: Pod\nmetadata: {name: web-1, labels: {app: web}, ownerReferences: \
               [{apiVersion: apps/v1, kind: ReplicaSet, name: web, controller: true}]}\n\
               spec: {containers: []}\n";
    let (plan, notes) = plan(&format!("{NODE}{sets}{pod}"));
    assert_eq!(plan.jobs.len(), 1);
    assert_eq!(plan.groupings.len(), 3);
    assert!(plan.groupings.iter().all(|it| it.selector.matches(&plan.jobs[0].labels)));
    assert_eq!(notes, Vec::<String>::new(), "the controller is known");
}

#[test]
fn queues_are_told_as_they_are() {
    let text = format!(
        "{NODE}---\nkind: LocalQueue\nmetadata: {{name: q}}\nspec: {{clusterQueue: all}}\n---\n\
         kind: ClusterQueue\nmetadata: {{name: all}}\nspec: {{namespaceSelector: {{}}}}\n"
    );
    let keys: Vec<String> =
        plan(&text).0.fixed.iter().map(|fact| fact.key().name.to_string()).collect();
    assert_eq!(keys, ["default/q", "all"]);
    assert_eq!(report(&text).pods.created, 0);
}

#[test]
fn of_what_is_told_of_zones_pods_take_what_they_take_here() {
    let zones = "---\napiVersion: topology.node.k8s.io/v1alpha2\nkind: NodeResourceTopology\n\
                 metadata: {name: n1}\nattributes: [{name: nodeTopologyPodsFingerprint, value: \
                 pfp0v001567144e4a561bb5a}]\nzones: [{name: node-0, type: Node, resources: \
                 [{name: cpu, capacity: 4, allocatable: 4, available: 1}]}]\n";
    let (found, _) = plan(&format!("{NODE}{zones}"));
    let [Fact::NodeResourceTopology(facts)] = &found.fixed[..] else { panic!("{:?}", found.fixed) };
    assert_eq!((&*facts.node, facts.pods), ("n1", None));
    assert_eq!(facts.zones[0].amounts[0].available, 4, "nobody updates it");
    assert_eq!(report(&format!("{NODE}{zones}")).pods.created, 0);
}

#[test]
fn devices_that_drivers_tell_of_are_told_as_they_are() {
    let text = format!(
        "{NODE}---\napiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {{name: s}}\n\
         spec: {{driver: gpu.nvidia.com, nodeName: a, pool: {{name: a, generation: 1, \
         resourceSliceCount: 1}}, devices: [{{name: gpu-0}}]}}\n---\nkind: ResourceClaim\n\
         metadata: {{name: c}}\nstatus: {{allocation: {{devices: {{results: [{{driver: \
         gpu.nvidia.com, pool: a, device: gpu-0}}]}}}}}}\n"
    );
    let keys: Vec<String> =
        plan(&text).0.fixed.iter().map(|fact| fact.key().name.to_string()).collect();
    assert_eq!(keys, ["s", "default/c"]);
    assert_eq!(report(&text).pods.created, 0);
}

#[test]
fn a_job_that_is_complete_makes_no_pods_and_is_waited_for_no_longer() {
    let labels = "labels: {scheduling.kubenexus.io/gang-group: first}";
    let ended = format!(
        "---\nkind: Job\nmetadata: {{name: j, uid: u}}\nspec: {{parallelism: 1}}\n\
         status: {{succeeded: 1, conditions: [{{type: Complete, status: 'True'}}]}}\n---\n\
         kind: Pod\nmetadata: {{name: j-1, uid: p, {labels}, ownerReferences: [{{apiVersion: \
         batch/v1, kind: Job, name: j, uid: u, controller: true}}]}}\nspec: {{containers: []}}\n\
         status: {{phase: Succeeded}}\n"
    );
    let next = "---\nkind: Pod\nmetadata: {name: next, annotations: \
                {scheduling.kubenexus.io/depends-on: first}}\nspec: {schedulerName: \
                kubenexus-scheduler, containers: []}\n";
    let placed = |text: &str| report(text).pods.placed;
    assert_eq!(placed(&format!("{NODE}{next}")), 0, "nobody knows of the first");
    assert_eq!(placed(&format!("{NODE}{next}{ended}")), 1);
    let (plan, _) = plan(&format!("{NODE}{ended}"));
    assert_eq!((plan.jobs.len(), plan.fixed.len()), (0, 2));
}
