//! Keeps nodes from having more volumes of a CSI driver than they can.

use std::collections::{BTreeMap, BTreeSet};

use framework::{Feasible, Narrow, Parts, Plugin, Reach, View};
use model::{
    Catalog, Class, CsiNodeFacts, CsiVolume, NodeId, PodVolume, Reason, TagsId, VolumeFault,
};

use super::reasons;

/// In-tree plugins that CSI drivers stand in for, and these drivers.
const MIGRATED: [(&str, &str); 5] = [
    ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
    ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
    ("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    ("kubernetes.io/cinder", "cinder.csi.openstack.org"),
    ("kubernetes.io/portworx-volume", "pxd.portworx.com"),
];

/// In-tree plugins that are known, and that no driver stands in for here.
const UNCOUNTED: [&str; 2] = ["kubernetes.io/azure-file", "kubernetes.io/vsphere-volume"];

pub(crate) struct NodeVolumeLimits;

impl Plugin for NodeVolumeLimits {
    fn name(&self) -> &'static str {
        "NodeVolumeLimits"
    }
}

impl Feasible for NodeVolumeLimits {
    fn reads(&self) -> Parts {
        Parts::NEEDS
    }

    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Narrow>> {
        class.has_volumes().then(|| Box::new(Prepared) as _)
    }
}

struct Prepared;

/// Volumes as their drivers count them.
type Counted<'a> = BTreeSet<(&'a str, Handle<'a>)>;

/// What a driver knows a volume by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Handle<'a> {
    Of(&'a str),
    /// None yet: the volume of this claim is still to be made.
    Unmade(&'a str),
}

impl Narrow for Prepared {
    fn reach(&self) -> Reach {
        Reach::Around
    }

    fn why_not(&self, view: View<'_>, node: NodeId) -> Vec<Reason> {
        reasons(fault(view, node).err())
    }
}

fn fault(view: View<'_>, node: NodeId) -> Result<(), VolumeFault> {
    let catalog = view.catalog;
    let name = catalog.node_name(node);
    let csi_node = catalog.csi_node(name);
    let mut asked = Counted::new();
    count(catalog, view.tags, csi_node, true, &mut asked)?;
    for (driver, _) in &asked {
        let is_required = catalog.csi_driver(driver).is_some_and(|driver| driver.is_required);
        let has = |it: &CsiNodeFacts| it.drivers.iter().any(|(name, _)| **name == **driver);
        if is_required && !csi_node.is_some_and(has) {
            return Err(VolumeFault::NoDriver((*driver).into()));
        }
    }
    let limits = csi_node.map_or(&[][..], |it| &it.drivers);
    let limit = |driver: &str| {
        let of_driver =
            limits.iter().rev().find(|(name, limit)| **name == *driver && limit.is_some());
        of_driver.and_then(|(_, limit)| *limit)
    };
    if limits.iter().all(|(_, limit)| limit.is_none()) || asked.is_empty() {
        return Ok(());
    }
    let mut there = Counted::new();
    for tags in view.usage.mounted(node) {
        count(catalog, tags, csi_node, false, &mut there)?;
    }
    asked.retain(|volume| !there.contains(volume));
    for attachment in catalog.attachments(name) {
        let volume = attachment.volume.as_ref().and_then(|volume| catalog.volume(volume));
        let volume = volume.filter(|_| !attachment.attacher.is_empty());
        // Without migration in-tree volumes are not counted.
        if let Some(volume) = volume.and_then(|volume| volume.csi(None)) {
            there.insert((&attachment.attacher, Handle::Of(&volume.handle)));
        }
    }
    let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
    asked.iter().for_each(|(driver, _)| *sums.entry(driver).or_default() += 1);
    let is_beyond = |(driver, count): (&str, i64)| {
        let taken = there.iter().filter(|(of, _)| *of == driver).count();
        let taken = i64::try_from(taken).unwrap_or(i64::MAX);
        limit(driver).is_some_and(|limit| taken.saturating_add(count) > i64::from(limit))
    };
    if sums.into_iter().any(is_beyond) { Err(VolumeFault::TooMany) } else { Ok(()) }
}

/// Adds the volumes of pods with these tags. A claim that is not there is only missed where the pod
/// is one that is to be placed.
fn count<'a>(
    catalog: &'a Catalog,
    tags: TagsId,
    csi_node: Option<&CsiNodeFacts>,
    is_new: bool,
    counted: &mut Counted<'a>,
) -> Result<(), VolumeFault> {
    for (volume, key) in catalog.tags(tags).mounts() {
        match volume {
            PodVolume::Inline { csi, is_broken, .. } => {
                if *is_broken && csi_node.is_some() {
                    let why = "a disk of a pod means nothing to its CSI driver";
                    return Err(VolumeFault::Uncountable(why.into()));
                }
                let csi = csi.as_ref().filter(|_| csi_node.is_some());
                counted.extend(csi.map(|csi| (&*csi.driver, Handle::Of(&csi.handle))));
                continue;
            }
            PodVolume::Claim(name) if name.is_empty() => {
                let why = "PersistentVolumeClaim had no name";
                return Err(VolumeFault::Uncountable(why.into()));
            }
            PodVolume::Claim(_) | PodVolume::Ephemeral { .. } => {}
        }
        let Some(key) = key else { continue };
        match catalog.volume_claim(key) {
            Some(claim) => {
                claim.check_owner(volume).map_err(|fault| unowned(&fault))?;
                counted.extend(of_claim(catalog, key, csi_node));
            }
            None if is_new => return Err(VolumeFault::Uncounted(key.into())),
            None => {}
        }
    }
    Ok(())
}

/// That a claim belongs to somebody else, where volumes are counted.
fn unowned(fault: &VolumeFault) -> VolumeFault {
    let VolumeFault::NotOwned { claim, pod } = fault else { return fault.clone() };
    let why = format!("PVC {claim} was not created for pod {pod} (pod is not owner)");
    VolumeFault::Uncountable(why.into())
}

/// What a claim counts as on a node.
fn of_claim<'a>(
    catalog: &'a Catalog,
    key: &'a str,
    csi_node: Option<&CsiNodeFacts>,
) -> Option<(&'a str, Handle<'a>)> {
    let claim = catalog.volume_claim(key)?;
    if let Some(volume) = catalog.volume(&claim.volume).filter(|_| !claim.volume.is_empty()) {
        let CsiVolume { driver, handle } = volume.csi(csi_node)?;
        let is_known = !driver.is_empty() && !handle.is_empty();
        return is_known.then_some((&**driver, Handle::Of(handle)));
    }
    let provisioner = &*catalog.storage_class(&claim.class)?.facts.provisioner;
    if UNCOUNTED.contains(&provisioner) || provisioner.is_empty() {
        return None;
    }
    let migrated = MIGRATED.iter().find(|(plugin, _)| *plugin == provisioner);
    let driver = match migrated {
        Some((_, driver)) => csi_node.map(|_| *driver)?,
        None => provisioner,
    };
    Some((driver, Handle::Unmade(key)))
}
