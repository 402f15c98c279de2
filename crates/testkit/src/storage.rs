//! Objects of storage by their words.
//!
//! ```text
//! pv NAME size=10Gi class=fast on=NODE version=3 claim=NAMESPACE/NAME[/UID] mode=ReadWriteOncePod
//!         driver=DRIVER handle=H label=KEY:VALUE taken block terminating
//! pvc NAME size=10Gi class=fast volume=PV bound lost terminating selected=NODE version=3
//!         namespace=NAMESPACE mode=ReadWriteOncePod owner=UID label=KEY:VALUE
//! storageclass NAME by=PROVISIONER immediate at=KEY:VALUE
//! csinode NODE driver=NAME[:LIMIT] migrated=PLUGIN
//! csidriver NAME tells required
//! capacity NAME class=fast size=10Gi at=KEY:VALUE
//! attachment NAME node=NODE by=DRIVER volume=PV
//! ```
//!
//! A claim has its key as its uid. A volume is available unless it is taken, and can be used from
//! everywhere unless it says where; a class waits for the first consumer unless it is immediate.

use model::{
    AccessModes, BindingMode, ClaimRef, CsiDriverFacts, CsiNodeFacts, CsiStorageCapacityFacts,
    CsiVolume, Event, Kind, LabelOperator, LabelSelector, NodeTerm, PersistentVolumeFacts,
    Quantity, RequirementSpec, StorageClassFacts, StorageFacts, StorageKind, VolumeAttachmentFacts,
    VolumeClaimFacts, VolumeSource,
};

use crate::terms;

/// The kind of object behind a word.
#[must_use]
pub fn storage_kind(word: &str) -> Option<StorageKind> {
    Some(match word {
        "pv" => StorageKind::Volume,
        "pvc" => StorageKind::Claim,
        "storageclass" => StorageKind::Class,
        "csinode" => StorageKind::CsiNode,
        "csidriver" => StorageKind::CsiDriver,
        "capacity" => StorageKind::Capacity,
        "attachment" => StorageKind::Attachment,
        _ => return None,
    })
}

/// That an object is there, or is gone.
pub(crate) fn event(words: &[&str], rest: &str) -> Event {
    match (storage_kind(words[0]), words) {
        (Some(kind), _) => Event::seen(storage(kind, rest)),
        (None, [_, kind, name]) => {
            let kind = storage_kind(kind).expect("a kind of storage");
            Event::gone(Kind::Storage(kind), *name)
        }
        (None, _) => panic!("nothing is known of {words:?}"),
    }
}

/// An object by its words.
///
/// # Panics
/// When a word makes no sense.
#[must_use]
pub fn storage(kind: StorageKind, words: &str) -> StorageFacts {
    let mut words = words.split_whitespace();
    let name = words.next().expect("an object has a name");
    let words = words.map(|word| word.split_once('=').unwrap_or((word, "")));
    match kind {
        StorageKind::Volume => StorageFacts::Volume(volume(name, words)),
        StorageKind::Claim => StorageFacts::Claim(claim(name, words)),
        StorageKind::Class => StorageFacts::Class(class(name, words)),
        StorageKind::CsiNode => StorageFacts::CsiNode(csi_node(name, words)),
        StorageKind::CsiDriver => {
            let words: Vec<_> = words.map(|(word, _)| word).collect();
            StorageFacts::CsiDriver(CsiDriverFacts {
                name: name.into(),
                tells_capacity: words.contains(&"tells"),
                is_required: words.contains(&"required"),
            })
        }
        StorageKind::Capacity => StorageFacts::Capacity(capacity(name, words)),
        StorageKind::Attachment => {
            let mut facts = VolumeAttachmentFacts { name: name.into(), ..Default::default() };
            for (key, value) in words {
                match key {
                    "node" => facts.node = value.into(),
                    "by" => facts.attacher = value.into(),
                    "volume" => facts.volume = Some(value.into()),
                    _ => panic!("an attachment does not know the word {key}"),
                }
            }
            StorageFacts::Attachment(facts)
        }
    }
}

fn volume<'a>(
    name: &str,
    words: impl Iterator<Item = (&'a str, &'a str)>,
) -> PersistentVolumeFacts {
    let mut facts = PersistentVolumeFacts {
        name: name.into(),
        uid: name.into(),
        modes: AccessModes::named(["ReadWriteOnce"]),
        is_available: true,
        ..Default::default()
    };
    let mut csi = CsiVolume::default();
    for (key, value) in words {
        match key {
            "size" => facts.capacity = quantity(value),
            "class" => (facts.class, facts.scored_class) = (value.into(), value.into()),
            "on" => facts.affinity = Some(vec![term("host", value)]),
            "version" => facts.version = value.into(),
            "claim" => facts.claim = Some(claim_ref(value)),
            "mode" => facts.modes = AccessModes::named([value]),
            "driver" => csi.driver = value.into(),
            "handle" => csi.handle = value.into(),
            "label" => {
                let (key, value) = terms::pair(value);
                let mut labels = facts.labels.to_vec();
                labels.push((key.into(), value.into()));
                labels.sort();
                facts.labels = labels.into();
            }
            "taken" => facts.is_available = false,
            "block" => facts.is_block = true,
            "terminating" => facts.is_terminating = true,
            _ => panic!("a volume does not know the word {key}"),
        }
    }
    if !csi.driver.is_empty() {
        facts.source = VolumeSource::Csi(csi);
    }
    facts
}

fn claim<'a>(name: &str, words: impl Iterator<Item = (&'a str, &'a str)>) -> VolumeClaimFacts {
    let mut facts = VolumeClaimFacts {
        namespace: "default".into(),
        name: name.into(),
        modes: AccessModes::named(["ReadWriteOnce"]),
        ..Default::default()
    };
    for (key, value) in words {
        match key {
            "size" => facts.size = Some(quantity(value)),
            "class" => facts.class = value.into(),
            "volume" => facts.volume = value.into(),
            "bound" => facts.is_bind_completed = true,
            "lost" => facts.is_lost = true,
            "terminating" => facts.is_terminating = true,
            "selected" => facts.selected_node = Some(value.into()),
            "version" => facts.version = value.into(),
            "namespace" => facts.namespace = value.into(),
            "mode" => facts.modes = AccessModes::named([value]),
            "owner" => facts.owner = Some(value.into()),
            "label" => facts.selector = Some(terms::selector(value)),
            _ => panic!("a claim does not know the word {key}"),
        }
    }
    facts.uid = facts.key();
    facts
}

fn class<'a>(name: &str, words: impl Iterator<Item = (&'a str, &'a str)>) -> StorageClassFacts {
    let mode = Some(BindingMode::WaitForFirstConsumer);
    let mut facts = StorageClassFacts { name: name.into(), mode, ..Default::default() };
    for (key, value) in words {
        match key {
            "by" => facts.provisioner = value.into(),
            "immediate" => facts.mode = Some(BindingMode::Immediate),
            "at" => {
                let (key, value) = terms::pair(value);
                facts.topologies.get_or_insert_default().push(term(&key, &value));
            }
            _ => panic!("a class does not know the word {key}"),
        }
    }
    facts
}

fn csi_node<'a>(name: &str, words: impl Iterator<Item = (&'a str, &'a str)>) -> CsiNodeFacts {
    let mut facts = CsiNodeFacts { name: name.into(), ..Default::default() };
    for (key, value) in words {
        match key {
            "driver" => {
                let (driver, limit) = value.split_once(':').unwrap_or((value, ""));
                facts.drivers.push((driver.into(), limit.parse().ok()));
            }
            "migrated" => facts.migrated.push(value.into()),
            _ => panic!("a CSINode does not know the word {key}"),
        }
    }
    facts
}

fn capacity<'a>(
    name: &str,
    words: impl Iterator<Item = (&'a str, &'a str)>,
) -> CsiStorageCapacityFacts {
    let mut facts = CsiStorageCapacityFacts {
        namespace: "default".into(),
        name: name.into(),
        topology: Some(LabelSelector::default()),
        ..Default::default()
    };
    for (key, value) in words {
        match key {
            "class" => facts.class = value.into(),
            "size" => facts.capacity = Some(quantity(value).units()),
            "at" => {
                let (key, value) = terms::pair(value);
                let requirements = term(&key, &value).expressions;
                facts.topology = Some(LabelSelector { requirements });
            }
            _ => panic!("a capacity does not know the word {key}"),
        }
    }
    facts
}

fn term(key: &str, value: &str) -> NodeTerm {
    let (operator, values) = (LabelOperator::In, vec![value.into()]);
    let expressions = vec![RequirementSpec { key: key.into(), operator, values }];
    NodeTerm { expressions, fields: Vec::new() }
}

fn claim_ref(words: &str) -> ClaimRef {
    let mut parts = words.splitn(3, '/').map(Box::from);
    let mut next = || parts.next().unwrap_or_default();
    let (namespace, name): (Box<str>, Box<str>) = (next(), next());
    let uid = match next() {
        uid if &*uid == "own" => format!("{namespace}/{name}").into(),
        uid => uid,
    };
    ClaimRef { namespace, name, uid }
}

fn quantity(text: &str) -> Quantity {
    Quantity::parse(text).expect("a quantity")
}
