//! Volumes of users' files: where they are, pods go; and what stays when pods are made again.

use super::{HEAD, plan, read, scenario, source};
use crate::report::Report;
use crate::run::Run;
use crate::world::Phase;

const CLAIM: &str = "kind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: \
                     [ReadWriteOnce], resources: {requests: {storage: 1Gi}}";
const LATE: &str = "kind: StorageClass\nmetadata: {name: late}\nprovisioner: d.example\n\
                    volumeBindingMode: WaitForFirstConsumer\n";
const NOW: &str = "kind: StorageClass\nmetadata: {name: now}\nprovisioner: d.example\n";

/// A node in a zone with room for four pods of one CPU.
fn node(name: &str, zone: &str) -> String {
    format!(
        "kind: Node\nmetadata: {{name: {name}, labels: {{zone: {zone}}}}}\n\
         status: {{allocatable: {{cpu: 4, memory: 8Gi}}}}\n"
    )
}

fn volume(name: &str, class: &str, zone: &str, more: &str) -> String {
    format!(
        "kind: PersistentVolume\nmetadata: {{name: {name}}}\nspec: {{capacity: {{storage: 5Gi}}, \
         accessModes: [ReadWriteOnce], storageClassName: {class}, nodeAffinity: {{required: \
         {{nodeSelectorTerms: [{{matchExpressions: [{{key: zone, operator: In, values: \
         [{zone}]}}]}}]}}}}, {more}}}\n"
    )
}

fn claim(class: &str, more: &str) -> String {
    format!("{CLAIM}, storageClassName: {class}, {more}}}\n")
}

const POD_SPEC: &str = "containers: [{name: c, resources: {requests: {cpu: 1}}}], \
                        volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]";

fn deployment() -> String {
    format!(
        "kind: Deployment\nmetadata: {{name: web}}\nspec: {{replicas: 1, template: {{spec: \
         {{{POD_SPEC}}}}}}}\n"
    )
}

fn pod(name: &str, more: &str) -> String {
    format!("kind: Pod\nmetadata: {{name: {name}}}\nspec: {{{POD_SPEC}, {more}}}\n")
}

fn files(parts: &[&str]) -> String {
    parts.join("---\n")
}

/// The nodes of pods that run at the end, by the names of pods, and what came of it all.
fn outcome(text: &str) -> (Vec<(String, String)>, Report) {
    let scenario = scenario(text);
    let run = Run::new(scenario.plan(None).expect("every profile is there").0);
    let mut run = if scenario.is_open_ended() { run.until_settled() } else { run };
    run.run_until(model::Time(u64::MAX)).expect("no rule is broken");
    let world = run.world();
    let on = |(_, pod): (_, &crate::world::PodRecord)| match pod.phase {
        Phase::Running(node) => {
            Some((pod.key.name.to_string(), world.node(node).facts.name.clone()))
        }
        Phase::Waiting | Phase::Ordered(_) | Phase::Finished | Phase::Evicted | Phase::Deleted => {
            None
        }
    };
    let mut pods: Vec<_> = world.pods().filter_map(on).collect();
    pods.sort();
    (pods, run.finish().expect("no rule is broken"))
}

fn nodes_of(text: &str) -> Vec<String> {
    outcome(text).0.into_iter().map(|(_, node)| node).collect()
}

#[test]
fn a_pod_goes_where_its_volume_is() {
    let bound = claim("x", "volumeName: pv");
    for zone in ["a", "b"] {
        let held = volume("pv", "x", zone, "claimRef: {namespace: default, name: data}");
        let text = files(&[&node("n1", "a"), &node("n2", "b"), &held, &bound, &pod("p", "")]);
        let expected = if zone == "a" { "n1" } else { "n2" };
        assert_eq!(nodes_of(&text), [expected], "{zone}");
        // With the annotation that says so the claim need not be looked at.
        let done = bound.replace(
            "metadata: {name: data}",
            "metadata: {name: data, annotations: {pv.kubernetes.io/bind-completed: 'yes'}}",
        );
        assert_eq!(nodes_of(&text.replace(&bound, &done)), [expected], "{zone}");
    }
    let nowhere = volume("pv", "x", "c", "claimRef: {namespace: default, name: data}");
    let (pods, report) = outcome(&files(&[&node("n1", "a"), &nowhere, &bound, &pod("p", "")]));
    assert_eq!(pods, []);
    let said = "node(s) didn't match PersistentVolume's node affinity";
    assert!(report.waiting[0].message.contains(said), "{:?}", report.waiting);
}

/// A pod that is sent away comes back to where its volume was made.
#[test]
fn a_volume_that_was_made_for_a_pod_stays_where_it_is() {
    let csi = |node: &str| {
        format!(
            "kind: CSINode\nmetadata: {{name: {node}}}\nspec: {{drivers: [{{name: d.example, \
             nodeID: x, topologyKeys: [zone]}}]}}\n"
        )
    };
    let script = |first: &str| {
        format!(
            "{HEAD}span: 1h\nnodes:\n- {{at: 10m, do: drain, node: {first}}}\n\
             - {{at: 30m, do: open, node: {first}}}\n"
        )
    };
    let claim = claim("late", "");
    let text = |first: &str| {
        files(&[
            &node("n1", "a"),
            &node("n2", "b"),
            &csi("n1"),
            &csi("n2"),
            LATE,
            &claim,
            &deployment(),
            &script(first),
        ])
    };
    let first = nodes_of(&text("n1").replace("drain", "close").replace("10m", "59m"))[0].clone();
    let (pods, report) = outcome(&text(&first));
    assert_eq!(pods.iter().map(|(_, node)| node).collect::<Vec<_>>(), [&first]);
    assert_eq!((report.pods.placed, report.pods.evicted), (2, 1));
    // Not before the node is open again: 20 minutes after the drain.
    let longest = report.placement.unwrap().max_ms;
    assert!((1_190_000..1_260_000).contains(&longest), "{longest}");
    // Where the driver says that its volumes can be used everywhere, the pod moves.
    let free = text(&first).replace("topologyKeys: [zone]", "topologyKeys: []");
    assert_ne!(nodes_of(&free)[0], first);
    // Where nothing is said, the volume is its node's, and a note says so.
    let unsaid = files(&[&node("n1", "a"), &node("n2", "b"), LATE, &claim, &deployment()]);
    let is_noted = |text: &str| plan(text).1.iter().any(|note| note.contains("volumes of late"));
    assert!(is_noted(&unsaid) && !is_noted(&text("n1")));
    let first = nodes_of(&unsaid)[0].clone();
    assert_eq!(nodes_of(&files(&[&unsaid, &script(&first)])), [first]);
}

#[test]
fn claims_that_wait_for_no_pod_get_their_volumes_at_once() {
    let own = [node("n1", "a"), node("n2", "b"), pod("p", "")].join("---\n");
    let found = volume("pv", "now", "b", "");
    let nobody = NOW.replace("d.example", "kubernetes.io/no-provisioner");
    let text = files(&[&own, &nobody, &claim("now", ""), &found]);
    assert_eq!(nodes_of(&text), ["n2"], "the volume that is there");
    let small = found.replace("storage: 5Gi", "storage: 1Mi");
    let (pods, report) = outcome(&text.replace(&found, &small));
    assert_eq!(pods, []);
    let said = "pod has unbound immediate PersistentVolumeClaims";
    assert!(report.waiting[0].message.contains(said), "{:?}", report.waiting);
    let made = text.replace(&found, &small).replace("kubernetes.io/no-provisioner", "d.example");
    assert_eq!(nodes_of(&made).len(), 1, "one is made");
    let default = NOW.replace(
        "metadata: {name: now}",
        "metadata: {name: now, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}",
    );
    let unnamed = claim("now", "").replace("storageClassName: now, ", "");
    assert_eq!(nodes_of(&files(&[&own, &default, &unnamed])).len(), 1, "of the default class");
    assert_eq!(nodes_of(&files(&[&own, NOW, &unnamed])).len(), 0, "of no class");
}

#[test]
fn a_volume_that_says_for_whom_it_is_is_for_nobody_else() {
    let other = claim("x", "").replace("name: data", "name: other");
    let held = volume("pv", "x", "a", "claimRef: {namespace: default, name: other}");
    let class = LATE.replace("late", "x").replace("d.example", "kubernetes.io/no-provisioner");
    let text = files(&[&node("n1", "a"), &class, &held, &claim("x", ""), &other, &pod("p", "")]);
    let (pods, report) = outcome(&text);
    assert_eq!(pods, []);
    let said = "didn't find available persistent volumes to bind";
    assert!(report.waiting[0].message.contains(said), "{:?}", report.waiting);
    let named = text.replace("claimName: data", "claimName: other");
    assert_eq!(nodes_of(&named), ["n1"]);
}

#[test]
fn pods_of_a_statefulset_have_claims_of_their_own_which_they_keep() {
    let set = "kind: StatefulSet\nmetadata: {name: db}\nspec:\n  replicas: 3\n  \
               volumeClaimTemplates:\n  - metadata: {name: disk}\n    spec: {storageClassName: \
               late, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n  \
               template: {spec: {containers: [{name: c, resources: {requests: {cpu: 3}}}]}}\n";
    let text = files(&[&node("n1", "a"), &node("n2", "b"), &node("n3", "c"), LATE, set]);
    let (before, _) = outcome(&text);
    let names: Vec<_> = before.iter().map(|(pod, _)| pod.as_str()).collect();
    assert_eq!(names, ["db-0", "db-1", "db-2"]);
    let (plan, _) = plan(&text);
    let claims: Vec<String> =
        plan.storage.claims.iter().map(|claim| claim.facts.key().to_string()).collect();
    assert_eq!(claims, ["default/disk-db-0", "default/disk-db-1", "default/disk-db-2"]);
    // All are sent away; each can only go back to where its volume is.
    let events = ["n1", "n2", "n3"].map(|node| {
        format!("- {{at: 10m, do: drain, node: {node}}}\n- {{at: 20m, do: open, node: {node}}}\n")
    });
    let drained = files(&[&text, &format!("{HEAD}span: 1h\nnodes:\n{}", events.concat())]);
    let (after, report) = outcome(&drained);
    let stem = |(pod, node): &(String, String)| (pod[..4].to_owned(), node.clone());
    assert_eq!(
        after.iter().map(stem).collect::<Vec<_>>(),
        before.iter().map(stem).collect::<Vec<_>>()
    );
    assert_eq!(report.pods.evicted, 3);
    // One that is there already has its claim.
    let one = "kind: Pod\nmetadata: {name: db-1, ownerReferences: [{apiVersion: apps/v1, kind: \
               StatefulSet, name: db, controller: true}]}\nspec: {nodeName: n2, containers: []}\n";
    let names: Vec<String> =
        super::plan(&files(&[&text, one])).0.jobs.into_iter().map(|job| job.name).collect();
    assert_eq!(names, ["db-0", "db-2", "db-1"]);
}

#[test]
fn ephemeral_volumes_are_made_for_each_pod_and_go_with_it() {
    let spec = "{containers: [], volumes: [{name: s, ephemeral: {volumeClaimTemplate: {spec: \
                {storageClassName: late, accessModes: [ReadWriteOnce], resources: {requests: \
                {storage: 1Gi}}}}}}]}";
    let job = format!(
        "kind: Job\nmetadata: {{name: j}}\nspec: {{parallelism: 2, completions: 6, template: \
         {{metadata: {{annotations: {{simulate.kubenexus.io/duration: 1m}}}}, spec: {spec}}}}}\n"
    );
    let (_, report) = outcome(&files(&[&node("n1", "a"), LATE, &job]));
    assert_eq!((report.pods.placed, report.pods.finished), (6, 6));
    assert_eq!(report.pods.waiting, 0);
    // A claim that was made for the pod before is its own, one of somebody else is not.
    let made = |uid: &str| {
        let owner =
            format!("ownerReferences: [{{kind: Pod, name: p, uid: {uid}, controller: true}}]");
        claim("late", "").replace("name: data", &format!("name: p-s, {owner}"))
    };
    let pod = format!("kind: Pod\nmetadata: {{name: p, uid: mine}}\nspec: {spec}\n");
    let of = |uid: &str| outcome(&files(&[&node("n1", "a"), LATE, &made(uid), &pod]));
    assert_eq!(of("mine").0.len(), 1);
    let (pods, report) = of("theirs");
    assert_eq!(pods, []);
    assert!(report.waiting[0].message.contains("was not created for"), "{:?}", report.waiting);
}

#[test]
fn what_drivers_say_of_nodes_counts_with_what_is_left_attached() {
    let csi = "kind: CSINode\nmetadata: {name: n1}\nspec: {drivers: [{name: d.example, nodeID: x, \
               allocatable: {count: 1}, topologyKeys: []}]}\n";
    let base = files(&[&node("n1", "a"), LATE, csi, &claim("late", ""), &pod("p", "")]);
    assert_eq!(nodes_of(&base), ["n1"]);
    let left = "kind: PersistentVolume\nmetadata: {name: old}\nspec: {capacity: {storage: 1Gi}, \
                csi: {driver: d.example, volumeHandle: h}}\n---\nkind: VolumeAttachment\n\
                metadata: {name: a}\nspec: {attacher: d.example, nodeName: n1, source: \
                {persistentVolumeName: old}}\n";
    let (pods, report) = outcome(&files(&[&base, left]));
    assert_eq!(pods, []);
    let said = "exceed max volume count";
    assert!(report.waiting[0].message.contains(said), "{:?}", report.waiting);
    // What a pod of the node has attached is not left, and goes with the pod.
    let used = claim("late", "volumeName: old").replace("name: data", "name: used");
    let user = pod("u", "nodeName: n1").replace("claimName: data", "claimName: used");
    let user = user.replace(
        "metadata: {name: u}",
        "metadata: {name: u, annotations: {simulate.kubenexus.io/duration: 10m}}",
    );
    let text = files(&[&base, left, &used, &user]);
    let (pods, report) = outcome(&text);
    assert_eq!(pods.len(), 1, "{:?}", report.waiting);
    assert!(report.placement.unwrap().max_ms >= 600_000, "once the other one is gone");
}

/// Rules that only a whole cluster needs, of which the checkers know nothing.
#[test]
fn disks_that_cannot_be_shared_and_drivers_that_took_over_count() {
    let disk = "volumes: [{name: d, gcePersistentDisk: {pdName: d}}]";
    let pod = |name: &str, priority: u32| {
        format!(
            "kind: Pod\nmetadata: {{name: {name}, ownerReferences: [{{kind: Job, name: j, \
             controller: true}}]}}\nspec: {{priority: {priority}, containers: [], {disk}}}\n"
        )
    };
    let held = pod("low", 1).replace("containers", "nodeName: n1, containers");
    let text = files(&[&node("n1", "a"), LATE, &held, &pod("high", 9)]);
    let (pods, report) = outcome(&text);
    assert_eq!(pods, [("high".to_owned(), "n1".to_owned())]);
    assert_eq!((report.pods.evicted, report.pods.waiting), (1, 1));
    // By its own label the node is nowhere; by that of the driver it is where the volume is.
    let far = node("n1", "a").replace("zone: a", "topology.gke.io/zone: east");
    let affinity = "{required: {nodeSelectorTerms: [{matchExpressions: [{key: \
                    topology.kubernetes.io/zone, operator: In, values: [east]}]}]}}";
    let old = format!(
        "kind: PersistentVolume\nmetadata: {{name: pv}}\nspec: {{capacity: {{storage: 1Gi}}, \
         gcePersistentDisk: {{pdName: d}}, nodeAffinity: {affinity}, \
         claimRef: {{namespace: default, name: data}}}}\n"
    );
    let csi = "kind: CSINode\nmetadata: {name: n1, annotations: \
               {storage.alpha.kubernetes.io/migrated-plugins: kubernetes.io/gce-pd}}\n\
               spec: {drivers: [{name: pd.csi.storage.gke.io, nodeID: x}]}\n";
    let claim = claim("''", "volumeName: pv").replace("accessModes: [ReadWriteOnce], ", "");
    assert_eq!(nodes_of(&files(&[&far, &old, csi, &claim, &self::pod("p", "")])), ["n1"]);
}

#[test]
fn without_objects_of_storage_volumes_do_not_count() {
    let (plan, notes) = plan(&files(&[&node("n1", "a"), &pod("p", "")]));
    assert!(plan.storage.is_empty() && plan.jobs[0].life.mounts.is_empty());
    assert_eq!(
        notes,
        ["not simulated: volumes of 1 pods, because no PersistentVolumes, claims or \
          StorageClasses are among the files"]
    );
    assert_eq!(nodes_of(&files(&[&node("n1", "a"), &pod("p", "")])), ["n1"]);
    let (pods, report) = outcome(&files(&[&node("n1", "a"), LATE, &pod("p", "")]));
    assert_eq!(pods, []);
    let said = "persistentvolumeclaim \"data\" not found";
    assert!(report.waiting[0].message.contains(said), "{:?}", report.waiting);
}

#[test]
fn mistakes_in_objects_of_storage_are_named() {
    let table = [
        ("kind: PersistentVolume\nspec: {}\n", "a.yaml:5: metadata.name: required, but missing"),
        (
            "kind: PersistentVolume\nmetadata: {name: v}\nspec:\n  capacity:\n    storage: much\n",
            "a.yaml:9: spec.capacity.storage: \"much\" is not a quantity \
             (expected a number such as 500m, 2, 1.5Gi or 1e3)",
        ),
        (
            "kind: PersistentVolumeClaim\nmetadata: {name: c}\nspec:\n  accessModes: all\n",
            "a.yaml:8: spec.accessModes: expected a list, found string \"all\"",
        ),
        (
            "kind: StorageClass\nmetadata: {name: s}\n---\nkind: StorageClass\n\
             metadata: {name: s}\n",
            "a.yaml:9: metadata.name: StorageClass \"s\" is given twice, first at a.yaml:5",
        ),
        (
            "kind: StatefulSet\nmetadata: {name: s}\nspec:\n  volumeClaimTemplates:\n  \
             - spec: {}\n  template: {spec: {containers: []}}\n",
            "a.yaml:9: spec.volumeClaimTemplates[0].metadata.name: required, but missing",
        ),
        (
            "kind: Pod\nmetadata: {name: p}\nspec:\n  volumes:\n  - name: v\n    ephemeral:\n      \
             volumeClaimTemplate:\n        spec: {resources: {requests: {storage: x}}}\n",
            "a.yaml:12: spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests.\
             storage: \"x\" is not a quantity (expected a number such as 500m, 2, 1.5Gi or 1e3)",
        ),
    ];
    for (text, expected) in table {
        let text = format!("{}---\n{text}", super::NODE);
        let found = read(&[source("a.yaml", &text)]).unwrap_err().to_string();
        assert_eq!(found, expected, "{text}");
    }
}
