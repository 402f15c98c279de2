//! In-tree volumes as the CSI drivers see them that took over from the plugins: what the driver
//! knows the volume by, and where it can be used.

use std::collections::{BTreeMap, BTreeSet};

use model::{CsiVolume, LabelOperator, NodeTerm, RequirementSpec};

use crate::ingest::view::{AzureDisk, ById, GceDisk};

/// What the API has of a volume in place of a project, a zone or a region that is not known.
const UNKNOWN: &str = "UNSPECIFIED";
/// What stands between the zones of a label.
const BETWEEN_ZONES: &str = "__";

const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";
const OLD_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const OLD_REGION: &str = "failure-domain.beta.kubernetes.io/region";

/// An in-tree plugin, and the driver that took over from it.
pub(super) struct Plugin {
    /// The name of the plugin.
    pub(super) name: &'static str,
    driver: &'static str,
    /// The label by which nodes of the driver say their zone, where volumes are bound to zones.
    zone: Option<&'static str>,
}

pub(super) const EBS: Plugin = Plugin {
    name: "kubernetes.io/aws-ebs",
    driver: "ebs.csi.aws.com",
    zone: Some("topology.ebs.csi.aws.com/zone"),
};
pub(super) const GCE: Plugin = Plugin {
    name: "kubernetes.io/gce-pd",
    driver: "pd.csi.storage.gke.io",
    zone: Some("topology.gke.io/zone"),
};
pub(super) const AZURE: Plugin =
    Plugin { name: "kubernetes.io/azure-disk", driver: "disk.csi.azure.com", zone: None };
pub(super) const CINDER: Plugin = Plugin {
    name: "kubernetes.io/cinder",
    driver: "cinder.csi.openstack.org",
    zone: Some("topology.cinder.csi.openstack.org/zone"),
};
pub(super) const PORTWORX: Plugin =
    Plugin { name: "kubernetes.io/portworx-volume", driver: "pxd.portworx.com", zone: None };

/// All of them.
pub(super) const PLUGINS: [&Plugin; 5] = [&EBS, &GCE, &AZURE, &CINDER, &PORTWORX];

impl Plugin {
    /// The volume that its driver knows by this handle.
    pub(super) fn volume(&self, handle: impl Into<Box<str>>) -> CsiVolume {
        CsiVolume { driver: self.driver.into(), handle: handle.into() }
    }
}

// === What the driver knows a volume by ===

/// An EBS volume, whose id may be written as `aws://zone/vol-1`.
pub(super) fn ebs(source: &ById) -> Option<CsiVolume> {
    let id = source.volume_id.as_str();
    let Some(rest) = id.strip_prefix("aws://") else { return Some(EBS.volume(id)) };
    let path = url_path(rest)?;
    let id = path.trim_matches('/');
    (id.starts_with("vol-") && !id.contains('/')).then(|| EBS.volume(id))
}

/// The path of a URL of which the scheme is cut off; nothing if it is no URL.
fn url_path(rest: &str) -> Option<String> {
    if rest.bytes().any(|byte| byte.is_ascii_control()) {
        return None;
    }
    let rest = rest.split('#').next().unwrap_or_default();
    let rest = rest.split('?').next().unwrap_or_default();
    let (place, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let (user, host) = place.rsplit_once('@').unwrap_or(("", place));
    let is_place = is_host(host) && is_user(user);
    is_place.then(|| unescaped(path)).flatten()
}

/// Whether a text is the host of a URL, by a name.
fn is_host(text: &str) -> bool {
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let is_known = |byte: u8| {
        byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"-_.~!$&'()*+,;=:]<>\"".contains(&byte)
    };
    text.bytes().all(is_known) && text.rsplit_once(':').is_none_or(|(_, port)| is_port(port))
}

/// Whether a text is what may stand before a host.
fn is_user(text: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:%@".contains(&byte);
    text.bytes().all(is_known) && unescaped(text).is_some()
}

/// A text in which `%2d` is a dash.
fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        let is_code = code.bytes().all(|byte| byte.is_ascii_hexdigit());
        bytes.push(u8::from_str_radix(code, 16).ok().filter(|_| is_code)?);
        bytes.extend(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

/// A GCE disk, of one zone or of a region, by the labels of its PersistentVolume.
pub(super) fn gce(source: &GceDisk, labels: &BTreeMap<String, String>) -> Option<CsiVolume> {
    let label = |key| labels.get(key).filter(|zones: &&String| !zones.is_empty());
    let zones = label(OLD_ZONE).or_else(|| label(ZONE)).map(String::as_str).unwrap_or_default();
    let (sort, place) = match zones {
        "" => ("zones", UNKNOWN.to_owned()),
        zones if zones.contains(BETWEEN_ZONES) => ("regions", region(zones)?),
        zone => ("zones", zone.to_owned()),
    };
    let name = &source.pd_name;
    Some(GCE.volume(format!("projects/{UNKNOWN}/{sort}/{place}/disks/{name}")))
}

/// The region of all zones, such as `us-west1` of `us-west1-a__us-west1-b`.
fn region(zones: &str) -> Option<String> {
    let mut regions = zones.split(BETWEEN_ZONES).map(|zone| {
        let (region, _) = zone.rsplit_once('-')?;
        (region.split('-').count() == 2).then_some(region)
    });
    let first = regions.next()??;
    regions.all(|other| other == Some(first)).then(|| first.to_owned())
}

/// An Azure disk, if it is a managed one.
pub(super) fn azure(source: &AzureDisk) -> Option<CsiVolume> {
    let is_managed = source.kind.as_ref().is_none_or(|kind| kind.eq_ignore_ascii_case("Managed"));
    is_managed.then(|| AZURE.volume(source.disk_uri.as_str()))
}

// === Where it can be used ===

/// The node affinity of a volume as the driver of a plugin sees it: where the affinity speaks of
/// zones, by the label of the driver; where it does not, it has the zones of the volume's labels.
pub(super) fn affinity(
    plugin: &Plugin,
    affinity: Option<&[NodeTerm]>,
    labels: &BTreeMap<String, String>,
) -> Option<Vec<NodeTerm>> {
    let Some(key) = plugin.zone else { return affinity.map(<[NodeTerm]>::to_vec) };
    let mut terms = affinity.unwrap_or_default().to_vec();
    let (zone, region) = keys(&terms, labels);
    if has_values(&terms, zone) {
        rename(&mut terms, zone, key);
    } else if let Some(zones) = labels.get(zone).and_then(|zones| one_of(key, zones)) {
        if terms.is_empty() {
            terms.push(NodeTerm { expressions: Vec::new(), fields: Vec::new() });
        }
        terms.iter_mut().for_each(|term| term.expressions.push(zones.clone()));
    }
    if region == OLD_REGION && has_values(&terms, region) {
        rename(&mut terms, region, REGION);
    }
    (affinity.is_some() || !terms.is_empty()).then_some(terms)
}

/// A requirement on a label.
type In = RequirementSpec<LabelOperator>;

/// The keys of labels by which a volume says its zone and its region.
fn keys(terms: &[NodeTerm], labels: &BTreeMap<String, String>) -> (&'static str, &'static str) {
    let has_key = |key: &str| expressions(terms).any(|it| it.key == key);
    let is_new = has_key(ZONE) || !has_key(OLD_ZONE) && labels.contains_key(ZONE);
    let is_old = has_key(OLD_ZONE) || labels.contains_key(OLD_ZONE);
    if is_old && !is_new { (OLD_ZONE, OLD_REGION) } else { (ZONE, REGION) }
}

/// That a label has one of the zones that a label of a volume lists; nothing if it lists none.
fn one_of(key: &str, zones: &str) -> Option<In> {
    let zones = zones.split(BETWEEN_ZONES).map(str::trim).filter(|zone| !zone.is_empty());
    let zones: BTreeSet<&str> = zones.collect();
    let values: Vec<String> = zones.into_iter().map(str::to_owned).collect();
    let operator = LabelOperator::In;
    (!values.is_empty()).then(|| In { key: key.to_owned(), operator, values })
}

fn expressions(terms: &[NodeTerm]) -> impl Iterator<Item = &In> {
    terms.iter().flat_map(|term| &term.expressions)
}

fn has_values(terms: &[NodeTerm], key: &str) -> bool {
    expressions(terms).any(|it| it.key == key && !it.values.is_empty())
}

fn rename(terms: &mut [NodeTerm], from: &str, to: &str) {
    let all = terms.iter_mut().flat_map(|term| &mut term.expressions);
    all.filter(|it| it.key == from).for_each(|it| it.key = to.to_owned());
}
