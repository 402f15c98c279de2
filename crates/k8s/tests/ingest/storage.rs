//! Objects of storage.

use kubenexus_k8s::ingest::{read_storage, storage, storage_kind};
use model::{
    AccessModes, BindingMode, ClaimRef, CsiDriverFacts, CsiNodeFacts, CsiStorageCapacityFacts,
    CsiVolume, Event, Fact, Migrated, PersistentVolumeFacts, Quantity, StorageClassFacts,
    StorageFacts, StorageKind, VolumeAttachmentFacts, VolumeClaimFacts, VolumeSource,
};
use serde_json::{Value, json};

/// What an object says, or what is wrong with it; the same whether it is read as a value or as
/// text.
fn read(kind: StorageKind, object: &Value) -> Result<StorageFacts, String> {
    let text = read_storage(kind, object.to_string().as_bytes());
    let text = text.map_err(|error| error.to_string());
    let event = storage(kind, object).map_err(|error| error.to_string());
    let version = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    assert_eq!(text, event.clone().map(|event| (version.to_owned(), event)));
    let Event::Seen(Fact::Storage(facts)) = event? else { panic!("not of storage: {object}") };
    Ok(*facts)
}

fn volume(object: Value) -> PersistentVolumeFacts {
    match read(StorageKind::Volume, &object) {
        Ok(StorageFacts::Volume(facts)) => facts,
        other => panic!("not a volume: {other:?}"),
    }
}

fn claim(object: Value) -> VolumeClaimFacts {
    match read(StorageKind::Claim, &object) {
        Ok(StorageFacts::Claim(facts)) => facts,
        other => panic!("not a claim: {other:?}"),
    }
}

#[test]
fn kinds_are_known_by_group_and_name() {
    let names = [
        ("", "PersistentVolume"),
        ("", "PersistentVolumeClaim"),
        ("storage.k8s.io", "StorageClass"),
        ("storage.k8s.io", "CSINode"),
        ("storage.k8s.io", "CSIDriver"),
        ("storage.k8s.io", "CSIStorageCapacity"),
        ("storage.k8s.io", "VolumeAttachment"),
    ];
    let kinds = names.map(|(group, name)| storage_kind(group, name));
    assert_eq!(kinds, StorageKind::ALL.map(Some));
    assert_eq!(storage_kind("example.com", "StorageClass"), None);
    assert_eq!(storage_kind("", "StorageClass"), None);
    assert_eq!(storage_kind("storage.k8s.io", "PersistentVolume"), None);
}

#[test]
fn all_of_a_volume_that_counts_is_read() {
    let object = json!({
        "metadata": {"name": "pv-1", "uid": "u", "resourceVersion": "7",
            "deletionTimestamp": "2026-01-01T00:00:00Z", "labels": {"b": "2", "a": "1"},
            "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}},
        "spec": {"capacity": {"storage": "10Gi", "iops": "many"},
            "accessModes": ["ReadWriteOnce", "ReadOnlyMany"], "volumeMode": "Block",
            "storageClassName": "fast", "volumeAttributesClassName": "gold",
            "persistentVolumeReclaimPolicy": "Delete",
            "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "team", "name": "data",
                "uid": "c", "resourceVersion": "5"},
            "csi": {"driver": "d.example.com", "volumeHandle": "h-1", "fsType": "ext4"}},
        "status": {"phase": "Available"},
    });
    let expected = PersistentVolumeFacts {
        name: "pv-1".into(),
        uid: "u".into(),
        version: "7".into(),
        labels: [("a".into(), "1".into()), ("b".into(), "2".into())].into(),
        class: "fast".into(),
        scored_class: "fast".into(),
        capacity: Quantity::parse("10Gi").unwrap(),
        modes: AccessModes::named(["ReadWriteOnce", "ReadOnlyMany"]),
        is_block: true,
        attributes_class: "gold".into(),
        claim: Some(ClaimRef { namespace: "team".into(), name: "data".into(), uid: "c".into() }),
        is_available: true,
        is_terminating: true,
        affinity: None,
        source: VolumeSource::Csi(csi("d.example.com", "h-1")),
    };
    assert_eq!(volume(object), expected);
    let least = volume(json!({"metadata": {"name": "pv-2"}, "spec": {"nfs": {"path": "/"}}}));
    assert_eq!(least, PersistentVolumeFacts { name: "pv-2".into(), ..Default::default() });
}

fn csi(driver: &str, handle: &str) -> CsiVolume {
    CsiVolume { driver: driver.into(), handle: handle.into() }
}

#[test]
fn all_of_a_claim_that_counts_is_read() {
    let object = json!({
        "metadata": {"name": "data", "namespace": "team", "uid": "c", "resourceVersion": "5",
            "annotations": {"pv.kubernetes.io/bind-completed": "yes",
                "volume.kubernetes.io/selected-node": "n1"},
            "ownerReferences": [{"kind": "Other", "uid": "o"},
                {"kind": "Pod", "name": "p", "uid": "p-1", "controller": true}]},
        "spec": {"accessModes": ["ReadWriteOncePod"], "volumeMode": "Filesystem",
            "resources": {"requests": {"storage": "1500M"}}, "volumeName": "pv-1",
            "storageClassName": "fast", "volumeAttributesClassName": "gold",
            "selector": {"matchLabels": {"a": "1"}}},
        "status": {"phase": "Lost"},
    });
    let facts = claim(object);
    let selector = facts.selector.clone().unwrap();
    assert!(selector.matches(&[("a".into(), "1".into())]) && !selector.matches(&[]));
    let expected = VolumeClaimFacts {
        namespace: "team".into(),
        name: "data".into(),
        uid: "c".into(),
        version: "5".into(),
        volume: "pv-1".into(),
        is_bind_completed: true,
        is_lost: true,
        is_terminating: false,
        class: "fast".into(),
        size: Some(Quantity::from_units(1_500_000_000)),
        modes: AccessModes::ONCE_POD,
        is_block: false,
        attributes_class: "gold".into(),
        selector: Some(selector),
        selected_node: Some("n1".into()),
        owner: Some("p-1".into()),
    };
    assert_eq!(facts, expected);
    let least = claim(json!({"metadata": {"name": "data", "namespace": "team"}}));
    let names = ("team".into(), "data".into());
    let (namespace, name) = names;
    assert_eq!(least, VolumeClaimFacts { namespace, name, ..Default::default() });
}

#[test]
fn the_old_annotation_of_a_class_counts_first_and_a_name_that_is_too_long_is_nobodys() {
    let class = |annotations: Value, name: Value| {
        let object = json!({"metadata": {"name": "x", "annotations": annotations},
            "spec": {"storageClassName": name}});
        let (claim, volume) = (claim(object.clone()).class, volume(object).class);
        assert_eq!(claim, volume);
        claim.to_string()
    };
    let old = "volume.beta.kubernetes.io/storage-class";
    assert_eq!(class(json!({}), json!("new")), "new");
    assert_eq!(class(json!({old: "old"}), json!("new")), "old");
    assert_eq!(class(json!({old: ""}), json!("new")), "");
    assert_eq!(class(json!(null), json!(null)), "");
    let long = class(json!({old: "n".repeat(9_000)}), json!(null));
    assert!(long.len() > 253 && long.len() < 300, "{long}");
    let key = "volume.kubernetes.io/selected-node";
    let node = |name: String| {
        claim(json!({"metadata": {"name": "x", "annotations": {key: name}}})).selected_node.unwrap()
    };
    assert_eq!(*node("n".repeat(253)), *"n".repeat(253));
    let long = node("n".repeat(9_000));
    assert!(long.len() < 300 && !"n".repeat(9_000).starts_with(&*long), "{long}");
    assert_eq!(&*node(String::new()), "");
}

/// The requirements of each term of an affinity, or that there is none.
fn shown(affinity: Option<&[model::NodeTerm]>) -> Value {
    let term = |term: &model::NodeTerm| {
        let all = term.expressions.iter();
        let all = all.map(|it| format!("{} {:?} {}", it.key, it.operator, it.values.join(" ")));
        let fields = term.fields.iter();
        let fields =
            fields.map(|it| format!("{} {:?} {}", it.key, it.operator, it.values.join(" ")));
        json!(all.chain(fields).collect::<Vec<_>>())
    };
    affinity.map_or(Value::Null, |terms| terms.iter().map(term).collect())
}

fn expression(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({"key": key, "operator": operator, "values": values})
}

#[test]
fn the_terms_of_a_volume_are_read_as_those_of_pods() {
    let read = |affinity: Value| {
        let object = json!({"metadata": {"name": "x"}, "spec": {"nodeAffinity": affinity}});
        shown(volume(object).affinity.as_deref())
    };
    let required = |terms: Value| read(json!({"required": {"nodeSelectorTerms": terms}}));
    let zone = expression("zone", "In", &["a", "b"]);
    let name = expression("metadata.name", "NotIn", &["n1"]);
    let terms = json!([{"matchExpressions": [zone], "matchFields": [name]}, {}]);
    assert_eq!(required(terms), json!([["zone In a b", "metadata.name NotIn n1"], []]));
    assert_eq!(required(json!([])), json!([]), "no node");
    assert_eq!(read(json!({})), Value::Null, "any node");
}

/// What a driver makes of an in-tree volume: its plugin, its handle and its affinity.
fn migrated(source: Value, labels: Value, affinity: Value) -> (String, Option<String>, Value) {
    let mut spec = source;
    spec["nodeAffinity"] = affinity;
    let object = json!({"metadata": {"name": "x", "labels": labels}, "spec": spec});
    let VolumeSource::InTree(Migrated { plugin, volume, affinity }) = volume(object).source else {
        panic!("not in-tree: {spec}");
    };
    let handle = volume.map(|it| format!("{} {}", it.driver, it.handle));
    (plugin.into(), handle, shown(affinity.as_deref()))
}

const ZONE: &str = "topology.kubernetes.io/zone";
const OLD_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";
const OLD_REGION: &str = "failure-domain.beta.kubernetes.io/region";

#[test]
fn an_in_tree_volume_has_a_plugin_and_a_handle_of_the_driver() {
    let read = |source: Value, labels: Value| {
        let (plugin, handle, _) = migrated(source, labels, Value::Null);
        (plugin, handle.unwrap_or_else(|| "none".to_owned()))
    };
    let ebs = |id: &str| read(json!({"awsElasticBlockStore": {"volumeID": id}}), json!({})).1;
    for (id, handle) in [
        ("vol-1", "vol-1"),
        ("anything", "anything"),
        ("aws://us-east-1a/vol-1", "vol-1"),
        ("aws:///vol-1/", "vol-1"),
        ("aws:///vol%2d1?a#b", "vol-1"),
        ("aws://a:80/vol-1", "vol-1"),
        ("aws://a@b]/vol-1", "vol-1"),
    ] {
        assert_eq!(ebs(id), format!("ebs.csi.aws.com {handle}"), "{id}");
    }
    for id in [
        "aws://",
        "aws://vol-1",
        "aws:///disk-1",
        "aws:///a/vol-1",
        "aws://a b/vol-1",
        "aws:///vol-%2",
        "aws:///vol-%zz",
        "aws://a:b/vol-1",
        "aws://[a]/vol-1",
        "aws://a<b@c/vol-1",
        "aws://a%zz@c/vol-1",
        "aws:///vol-\n",
    ] {
        assert_eq!(ebs(id), "none", "{id}");
    }
    let gce = |labels: Value| read(json!({"gcePersistentDisk": {"pdName": "d"}}), labels).1;
    for (labels, place) in [
        (json!({}), "zones/UNSPECIFIED"),
        (json!({ZONE: "us-west1-a"}), "zones/us-west1-a"),
        (json!({ZONE: "us-west1-a", OLD_ZONE: "us-west1-b"}), "zones/us-west1-b"),
        (json!({ZONE: "us-west1-a", OLD_ZONE: ""}), "zones/us-west1-a"),
        (json!({ZONE: "us-west1-a__us-west1-b"}), "regions/us-west1"),
    ] {
        let expected = format!("pd.csi.storage.gke.io projects/UNSPECIFIED/{place}/disks/d");
        assert_eq!(gce(labels.clone()), expected, "{labels}");
    }
    for zones in ["us-west1-a__us-east1-b", "a__b", "__", "us-west1-a__"] {
        assert_eq!(gce(json!({ZONE: zones})), "none", "{zones}");
    }
    let azure = |kind: Value| {
        read(json!({"azureDisk": {"diskName": "n", "diskURI": "/d", "kind": kind}}), json!({})).1
    };
    assert_eq!(azure(Value::Null), "disk.csi.azure.com /d");
    assert_eq!(azure(json!("managed")), "disk.csi.azure.com /d");
    assert_eq!(azure(json!("Dedicated")), "none");
    let plugin = |source: Value| read(source, json!({})).0;
    assert_eq!(plugin(json!({"awsElasticBlockStore": {}})), "kubernetes.io/aws-ebs");
    assert_eq!(plugin(json!({"gcePersistentDisk": {}})), "kubernetes.io/gce-pd");
    assert_eq!(plugin(json!({"azureDisk": {}})), "kubernetes.io/azure-disk");
    let cinder = read(json!({"cinder": {"volumeID": "c"}}), json!({}));
    assert_eq!(cinder, ("kubernetes.io/cinder".into(), "cinder.csi.openstack.org c".into()));
    let portworx = read(json!({"portworxVolume": {"volumeID": "p"}}), json!({}));
    assert_eq!(portworx, ("kubernetes.io/portworx-volume".into(), "pxd.portworx.com p".into()));
    // Migration of these is off in kube-scheduler.
    for source in ["vsphereVolume", "azureFile", "nfs", "hostPath"] {
        let object = json!({"metadata": {"name": "x"}, "spec": {source: {}}});
        assert_eq!(volume(object).source, VolumeSource::Other, "{source}");
    }
}

#[test]
fn the_zones_of_an_in_tree_volume_are_zones_of_the_driver() {
    let ebs = json!({"awsElasticBlockStore": {"volumeID": "vol-1"}});
    let affinity = |terms: Value| json!({"required": {"nodeSelectorTerms": terms}});
    let one = |it: Value| affinity(json!([{"matchExpressions": [it]}]));
    let csi = "topology.ebs.csi.aws.com/zone";
    let zones = |key: &str| expression(key, "In", &["a", "b"]);
    let table = [
        (json!({}), Value::Null, Value::Null),
        // Labels stand in for an affinity that does not speak of zones.
        (json!({ZONE: "a"}), Value::Null, json!([[format!("{csi} In a")]])),
        (json!({OLD_ZONE: "b__a__ b"}), Value::Null, json!([[format!("{csi} In a b")]])),
        (json!({ZONE: "a", OLD_ZONE: "b"}), Value::Null, json!([[format!("{csi} In a")]])),
        (json!({ZONE: " __ "}), Value::Null, Value::Null),
        (json!({ZONE: "c"}), one(zones("disk")), json!([["disk In a b", format!("{csi} In c")]])),
        (
            json!({ZONE: "c"}),
            affinity(json!([{"matchExpressions": [zones("disk")]}, {}])),
            json!([["disk In a b", format!("{csi} In c")], [format!("{csi} In c")]]),
        ),
        // One that does is taken over.
        (json!({ZONE: "c"}), one(zones(ZONE)), json!([[format!("{csi} In a b")]])),
        (json!({ZONE: "c"}), one(zones(OLD_ZONE)), json!([[format!("{csi} In a b")]])),
        (
            json!({ZONE: "c"}),
            one(expression(ZONE, "Exists", &[])),
            json!([[format!("{ZONE} Exists "), format!("{csi} In c")]]),
        ),
        (
            json!({}),
            affinity(json!([{"matchExpressions": [zones(OLD_ZONE), zones(OLD_REGION)]}])),
            json!([[format!("{csi} In a b"), format!("{REGION} In a b")]]),
        ),
        // Beside new labels, old ones mean nothing.
        (
            json!({}),
            affinity(json!([{"matchExpressions": [zones(ZONE), zones(OLD_REGION)]}])),
            json!([[format!("{csi} In a b"), format!("{OLD_REGION} In a b")]]),
        ),
    ];
    for (labels, affinity, expected) in table {
        let (_, _, found) = migrated(ebs.clone(), labels.clone(), affinity.clone());
        assert_eq!(found, expected, "{labels} {affinity}");
    }
    let of = |source: Value| migrated(source, json!({ZONE: "c"}), one(zones(ZONE))).2;
    let gce = of(json!({"gcePersistentDisk": {"pdName": "d"}}));
    assert_eq!(gce, json!([["topology.gke.io/zone In a b"]]));
    let cinder = of(json!({"cinder": {"volumeID": "c"}}));
    assert_eq!(cinder, json!([["topology.cinder.csi.openstack.org/zone In a b"]]));
    for source in [json!({"azureDisk": {}}), json!({"portworxVolume": {}})] {
        assert_eq!(of(source), json!([[format!("{ZONE} In a b")]]), "as it is");
    }
}

#[test]
fn a_class_says_when_and_where_volumes_are_made() {
    let class = |object: Value| match read(StorageKind::Class, &object) {
        Ok(StorageFacts::Class(facts)) => facts,
        other => panic!("not a class: {other:?}"),
    };
    let least = class(json!({"metadata": {"name": "fast"}}));
    assert_eq!(least, StorageClassFacts { name: "fast".into(), ..Default::default() });
    let mode = |mode: &str| class(json!({"volumeBindingMode": mode})).mode;
    assert_eq!(mode("WaitForFirstConsumer"), Some(BindingMode::WaitForFirstConsumer));
    assert_eq!(mode("Immediate"), Some(BindingMode::Immediate));
    assert_eq!(mode("Soon"), Some(BindingMode::Immediate), "whatever does not wait");
    let facts = class(json!({"metadata": {"name": "fast"}, "provisioner": "d.example.com",
        "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]},
            {"key": "rack", "values": ["1"]}]}, {}]}));
    assert_eq!(&*facts.provisioner, "d.example.com");
    let expected = json!([["zone In a b", "rack In 1"], []]);
    assert_eq!(shown(facts.topologies.as_deref()), expected);
    assert_eq!(class(json!({"allowedTopologies": []})).topologies, None, "any node");
}

#[test]
fn drivers_say_what_a_node_takes_and_what_they_ask() {
    let annotations = json!({"storage.alpha.kubernetes.io/migrated-plugins":
        "kubernetes.io/cinder,kubernetes.io/vsphere-volume,kubernetes.io/aws-ebs"});
    let object = json!({"metadata": {"name": "n1", "annotations": annotations},
        "spec": {"drivers": [{"name": "d.example.com", "nodeID": "i", "allocatable": {"count": 25},
            "topologyKeys": ["zone"]}, {"name": "e.example.com"}]}});
    let expected = CsiNodeFacts {
        name: "n1".into(),
        drivers: vec![("d.example.com".into(), Some(25)), ("e.example.com".into(), None)],
        migrated: vec!["kubernetes.io/aws-ebs".into(), "kubernetes.io/cinder".into()],
    };
    assert_eq!(read(StorageKind::CsiNode, &object), Ok(StorageFacts::CsiNode(expected)));
    let driver = |spec: Value| {
        let object = json!({"metadata": {"name": "d.example.com"}, "spec": spec});
        match read(StorageKind::CsiDriver, &object) {
            Ok(StorageFacts::CsiDriver(CsiDriverFacts { tells_capacity, is_required, .. })) => {
                (tells_capacity, is_required)
            }
            other => panic!("not a driver: {other:?}"),
        }
    };
    assert_eq!(driver(json!({"attachRequired": true})), (false, false));
    assert_eq!(driver(json!({"storageCapacity": true})), (true, false));
    assert_eq!(driver(json!({"preventPodSchedulingIfMissing": true})), (false, true));
}

#[test]
fn a_capacity_says_how_much_is_left_and_for_whom() {
    let capacity = |object: Value| match read(StorageKind::Capacity, &object) {
        Ok(StorageFacts::Capacity(facts)) => facts,
        other => panic!("not a capacity: {other:?}"),
    };
    let metadata = json!({"name": "c", "namespace": "kube-system"});
    let least = capacity(json!({"metadata": metadata}));
    let (namespace, name) = ("kube-system".into(), "c".into());
    assert_eq!(least, CsiStorageCapacityFacts { namespace, name, ..Default::default() });
    let facts = capacity(json!({"metadata": metadata, "storageClassName": "fast",
        "nodeTopology": {"matchLabels": {"zone": "a"}}, "capacity": "1500m",
        "maximumVolumeSize": "1Gi"}));
    let topology = facts.topology.unwrap();
    assert!(topology.matches(&[("zone".into(), "a".into())]) && !topology.matches(&[]));
    assert_eq!((&*facts.class, facts.capacity, facts.volume_max), ("fast", Some(2), Some(1 << 30)));
    let all = capacity(json!({"nodeTopology": {}})).topology;
    assert!(all.is_some_and(|all| all.matches(&[])), "an empty selector means every node");
    let unsound = json!({"matchExpressions": [expression("zone", "In", &[])]});
    assert_eq!(capacity(json!({"nodeTopology": unsound})).topology, None, "no node");
}

#[test]
fn an_attachment_is_of_a_volume_or_of_none() {
    let attachment = |source: Value| {
        let object = json!({"metadata": {"name": "a"}, "spec": {"attacher": "d.example.com",
            "nodeName": "n1", "source": source}, "status": {"attached": true}});
        read(StorageKind::Attachment, &object)
    };
    let facts = |volume: Option<&str>| {
        Ok(StorageFacts::Attachment(VolumeAttachmentFacts {
            name: "a".into(),
            node: "n1".into(),
            attacher: "d.example.com".into(),
            volume: volume.map(Into::into),
        }))
    };
    assert_eq!(attachment(json!({"persistentVolumeName": "pv-1"})), facts(Some("pv-1")));
    assert_eq!(attachment(json!({"inlineVolumeSpec": {}})), facts(None));
}

#[test]
fn a_mistake_in_an_object_of_storage_names_its_place() {
    let table = [
        (
            StorageKind::Volume,
            json!({"spec": {"capacity": {"storage": "much"}}}),
            "PersistentVolume: spec.capacity.storage: \"much\" is not a quantity \
             (expected a number such as 500m, 2, 1.5Gi or 1e3)",
        ),
        (
            StorageKind::Claim,
            json!({"spec": {"accessModes": "ReadWriteOnce"}}),
            "PersistentVolumeClaim: spec.accessModes: expected a list, \
             found string \"ReadWriteOnce\"",
        ),
        (
            StorageKind::Class,
            json!({"allowedTopologies": [[]]}),
            "StorageClass: allowedTopologies[0]: expected an object, found a list",
        ),
        (
            StorageKind::CsiNode,
            json!({"spec": {"drivers": [{"allocatable": {"count": "3"}}]}}),
            "CSINode: spec.drivers[0].allocatable.count: expected an integer of 32 bits, \
             found string \"3\"",
        ),
    ];
    for (kind, object, expected) in table {
        assert_eq!(read(kind, &object), Err(expected.to_owned()));
    }
}
