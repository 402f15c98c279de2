//! Cases about volumes repeat themselves by seed and use every field that plugins read.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::Value;

use super::super::tests::collect;
use super::{case, source};

const CASES: u64 = 2_000;

static FACTS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let mut facts = BTreeSet::new();
    for case in (0..CASES).map(|number| case(11, number)) {
        collect("pod", &case["pod"], &mut facts);
        if let Some(config) = case.get("config") {
            collect("config", config, &mut facts);
        }
        for object in case["objects"].as_array().into_iter().flatten() {
            collect(object["kind"].as_str().unwrap_or_default(), object, &mut facts);
        }
    }
    facts
});

/// Asserts that `path` occurs, with each of `values`; with any value if there are none.
fn check(path: &str, values: &[&str]) {
    assert!(FACTS.contains(path), "{path} never occurs");
    for value in values {
        let fact = format!("{path}={value}");
        assert!(FACTS.contains(&fact), "{fact} never occurs");
    }
}

#[test]
fn same_seed_gives_the_same_case() {
    assert_eq!(case(5, 17), case(5, 17));
    assert_ne!(case(5, 17)["objects"], case(5, 18)["objects"]);
    assert_ne!(case(5, 17)["objects"], case(6, 17)["objects"]);
}

#[test]
fn a_turned_case_differs_in_the_order_of_its_objects_alone() {
    let (case, mut turned) = (case(5, 17), super::super::turned_volume_case(5, 17));
    assert_ne!(case["id"], turned["id"]);
    assert_ne!(case["objects"], turned["objects"]);
    turned["id"] = case["id"].clone();
    turned["objects"].as_array_mut().unwrap().reverse();
    assert_eq!(case, turned);
}

#[test]
fn objects_are_as_an_api_server_serves_them() {
    for case in (0..300).map(|number| case(3, number)) {
        let objects = case["objects"].as_array().into_iter().flatten();
        let mut uids = BTreeSet::new();
        for object in objects.chain([&case["pod"]]) {
            assert!(object["apiVersion"].is_string() && object["kind"].is_string(), "{object}");
            let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
            assert!(!uid.is_empty() && uids.insert(uid), "{object}");
        }
    }
}

/// kube-scheduler takes such a claim for free as soon as one of its holders is evicted.
#[test]
fn no_claim_for_one_pod_has_two_holders() {
    let mut holders = 0;
    for case in (0..500).map(|number| case(3, number)) {
        let objects = || case["objects"].as_array().into_iter().flatten();
        let names: BTreeSet<&str> = objects()
            .filter(|object| object["spec"]["accessModes"].to_string().contains("OncePod"))
            .filter(|object| object["kind"] == "PersistentVolumeClaim")
            .filter_map(|object| object["metadata"]["name"].as_str())
            .collect();
        let mut held = BTreeSet::new();
        for pod in objects().filter(|object| object["spec"]["nodeName"].is_string()) {
            for volume in pod["spec"]["volumes"].as_array().into_iter().flatten() {
                let claim = volume["persistentVolumeClaim"]["claimName"].as_str();
                if let Some(claim) = claim.filter(|claim| names.contains(claim)) {
                    assert!(held.insert(claim), "{claim} has two holders in {}", case["id"]);
                    holders += 1;
                }
            }
        }
    }
    assert!(holders > 50, "{holders}");
}

/// kube-scheduler would take the first source that it finds in a map.
#[test]
fn no_volume_has_two_sources() {
    let ours = ["name", "capacity", "accessModes", "storageClassName", "volumeMode", "claimRef"];
    let others = ["nodeAffinity", "volumeAttributesClassName"];
    for case in (0..300).map(|number| case(3, number)) {
        let objects = case["objects"].as_array().into_iter().flatten();
        for object in objects.chain([&case["pod"]]) {
            let volumes = object["spec"]["volumes"].as_array().into_iter().flatten();
            let is_persistent = object["kind"] == "PersistentVolume";
            for volume in volumes.chain(is_persistent.then_some(&object["spec"])) {
                let keys = volume.as_object().into_iter().flat_map(|fields| fields.keys());
                let is_source = |key: &&str| !ours.contains(key) && !others.contains(key);
                let sources = keys.map(String::as_str).filter(is_source).count();
                assert_eq!(sources, 1, "{volume}");
            }
        }
    }
}

#[test]
fn every_field_of_pods_volumes_is_drawn() {
    for of in ["pod.spec.volumes", "Pod.spec.volumes"] {
        let claims = ["c0", "c1", "c2", "c3", "c-absent", "c-elsewhere"];
        check(&format!("{of}.persistentVolumeClaim.claimName"), &claims);
        check(&format!("{of}.ephemeral.volumeClaimTemplate"), &[]);
        check(&format!("{of}.csi.driver"), &["disk.csi.example.com"]);
        check(&format!("{of}.gcePersistentDisk.pdName"), &["d1", "d2"]);
        check(&format!("{of}.awsElasticBlockStore.volumeID"), &["d1", "aws:///vol-d1"]);
        check(&format!("{of}.iscsi.iqn"), &["d1", "d2"]);
        check(&format!("{of}.rbd.monitors"), &["[]", "m1", "m2", "m3"]);
        check(&format!("{of}.rbd.pool"), &["rbd", "other"]);
        check(&format!("{of}.azureDisk.kind"), &["Managed", "Dedicated"]);
        for disk in ["cinder", "portworxVolume", "azureFile", "vsphereVolume", "emptyDir"] {
            check(&format!("{of}.{disk}"), &[]);
        }
        for disk in ["gcePersistentDisk", "iscsi", "rbd", "awsElasticBlockStore"] {
            check(&format!("{of}.{disk}.readOnly"), &["true", "false"]);
        }
    }
    check("pod.spec.volumes.persistentVolumeClaim.claimName", &[""]);
    let claims = |pod: &Value| -> Vec<Value> {
        let volumes = pod["spec"]["volumes"].as_array().cloned().unwrap_or_default();
        volumes.iter().map(|volume| volume["persistentVolumeClaim"]["claimName"].clone()).collect()
    };
    let is_twice = |case: Value| {
        let claims = claims(&case["pod"]);
        claims.len() > 1 && claims[0] == "c0" && claims[1] == "c0"
    };
    assert!((0..CASES).map(|number| case(11, number)).any(is_twice));
}

#[test]
fn every_field_of_claims_is_drawn() {
    let claim = |field: &str| format!("PersistentVolumeClaim.{field}");
    let annotation = |key: &str| claim(&format!("metadata.annotations.{key}"));
    check(&annotation("pv.kubernetes.io/bind-completed"), &["yes", ""]);
    check(&annotation("volume.beta.kubernetes.io/storage-class"), &["first", "second"]);
    check(&annotation("volume.kubernetes.io/selected-node"), &["n0", "n1", "n-absent"]);
    check(&claim("metadata.ownerReferences.uid"), &["pod-judged", "somebody-else"]);
    check(&claim("metadata.ownerReferences.controller"), &["true", "false"]);
    check(&claim("metadata.deletionTimestamp"), &[]);
    check(&claim("status.phase"), &["Bound", "Pending", "Lost"]);
    check(&claim("spec.storageClassName"), &["first", "second", "absent", ""]);
    let modes = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"];
    check(&claim("spec.accessModes"), &modes);
    check(&claim("spec.accessModes"), &["[]"]);
    check(&claim("spec.volumeMode"), &["Filesystem", "Block"]);
    check(&claim("spec.volumeName"), &["pv-default-c0"]);
    let sizes = ["1Gi", "500Mi", "1G", "1.5Gi", "1e9", "0", "100m", "1Ti"];
    check(&claim("spec.resources.requests.storage"), &sizes);
    check(&claim("spec.volumeAttributesClassName"), &["slow", "fast", ""]);
    check(&claim("spec.selector.matchLabels.tier"), &["gold", "silver"]);
    let operators = ["In", "NotIn", "Exists", "DoesNotExist", "Near"];
    check(&claim("spec.selector.matchExpressions.operator"), &operators);
}

#[test]
fn every_field_of_volumes_is_drawn() {
    let volume = |field: &str| format!("PersistentVolume.{field}");
    check(&volume("metadata.annotations.volume.beta.kubernetes.io/storage-class"), &["first"]);
    check(&volume("metadata.deletionTimestamp"), &[]);
    check(&volume("metadata.labels.tier"), &["gold", "silver"]);
    let sets = ["us-east1-a", "us-east1-a__us-east1-b", "us-east1-a__us-west1-a", "", "x__y"];
    for key in ["topology.kubernetes.io", "failure-domain.beta.kubernetes.io"] {
        check(&volume(&format!("metadata.labels.{key}/zone")), &sets);
        check(&volume(&format!("metadata.labels.{key}/region")), &["us-east1", "us-west1"]);
    }
    check(&volume("spec.capacity.storage"), &["1Gi", "50Gi", "10G"]);
    check(&volume("spec.claimRef.name"), &["c0", "other"]);
    check(&volume("spec.claimRef.uid"), &["claim-default-c0", "somebody-else"]);
    check(&volume("status.phase"), &["Available", "Bound", "Released", "Failed", "Pending"]);
    check(&volume("spec.volumeMode"), &["Filesystem", "Block"]);
    check(&volume("spec.volumeAttributesClassName"), &["slow", "fast", ""]);
    let term = "spec.nodeAffinity.required.nodeSelectorTerms";
    let operators = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Near"];
    check(&volume(&format!("{term}.matchExpressions.operator")), &operators);
    check(&volume(&format!("{term}.matchFields.operator")), &["In", "NotIn"]);
    check(&volume(term), &["[]"]);
    check(&volume("spec.csi.driver"), &["disk.csi.example.com", "ebs.csi.aws.com"]);
    check(&volume("spec.csi.volumeHandle"), &["pv0", "shared", ""]);
    for source in [
        "gcePersistentDisk.pdName",
        "awsElasticBlockStore.volumeID",
        "azureDisk.diskURI",
        "cinder.volumeID",
        "portworxVolume.volumeID",
        "azureFile.shareName",
        "vsphereVolume.volumePath",
        "local.path",
        "hostPath.path",
    ] {
        check(&volume(&format!("spec.{source}")), &[]);
    }
}

#[test]
fn every_field_of_classes_and_drivers_is_drawn() {
    let modes = ["WaitForFirstConsumer", "Immediate", ""];
    check("StorageClass.volumeBindingMode", &modes);
    check("StorageClass.provisioner", &["", "kubernetes.io/no-provisioner"]);
    check("StorageClass.provisioner", &source::PLUGINS);
    check("StorageClass.provisioner", &super::DRIVERS);
    check("StorageClass.allowedTopologies.matchLabelExpressions.values", &["us-east1-a", "[]"]);
    let default = "storageclass.kubernetes.io/is-default-class";
    check(&format!("StorageClass.metadata.annotations.{default}"), &["true", "false"]);
    check("CSIDriver.spec.storageCapacity", &["true", "false"]);
    check("CSIDriver.spec.preventPodSchedulingIfMissing", &["true", "false"]);
    let capacity = |field: &str| format!("CSIStorageCapacity.{field}");
    check(&capacity("storageClassName"), &["first", "absent"]);
    check(&capacity("capacity"), &["0", "1Gi", "100Gi"]);
    check(&capacity("maximumVolumeSize"), &["0", "1Gi", "100Gi"]);
    check(&capacity("nodeTopology.matchLabels"), &[]);
    let operators = ["In", "NotIn", "Exists", "DoesNotExist", "Near"];
    check(&capacity("nodeTopology.matchExpressions.operator"), &operators);
}

#[test]
fn every_field_about_nodes_is_drawn() {
    for key in ["topology.kubernetes.io", "failure-domain.beta.kubernetes.io"] {
        check(&format!("Node.metadata.labels.{key}/zone"), &super::ZONES);
        check(&format!("Node.metadata.labels.{key}/region"), &["us-east1", "us-west1"]);
    }
    check("CSINode.spec.drivers.name", &super::DRIVERS);
    check("CSINode.spec.drivers.name", &source::DRIVERS_OF_PLUGINS);
    check("CSINode.spec.drivers.allocatable.count", &["0", "1", "2", "3", "4"]);
    check("CSINode.metadata.annotations.storage.alpha.kubernetes.io/migrated-plugins", &[]);
    let attachment = |field: &str| format!("VolumeAttachment.{field}");
    check(&attachment("spec.attacher"), &["disk.csi.example.com", "pd.csi.storage.gke.io", ""]);
    check(&attachment("spec.nodeName"), &["n0", "n-absent"]);
    check(&attachment("spec.source.persistentVolumeName"), &["pv-absent", "pv0"]);
    check(&attachment("spec.source.inlineVolumeSpec.csi"), &[]);
    check(&attachment("status.attached"), &["true", "false"]);
}

#[test]
fn every_part_of_the_configuration_is_drawn() {
    let args = "config.profiles.pluginConfig.VolumeBinding";
    check(&format!("{args}.bindTimeoutSeconds"), &["-1", "0", "1", "30", "600"]);
    check(&format!("{args}.shape.utilization"), &["0", "50", "100"]);
    check(&format!("{args}.shape"), &["[]"]);
    check("config.profiles.plugins.score.enabled.weight", &["1", "2", "7", "50"]);
    for plugin in ["VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"] {
        for list in ["multiPoint.enabled", "multiPoint.disabled", "filter.disabled"] {
            check(&format!("config.profiles.plugins.{list}.name"), &[plugin]);
        }
    }
}
