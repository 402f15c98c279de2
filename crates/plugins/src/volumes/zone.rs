//! Keeps pods in the zones and regions that the labels of their volumes name.

use std::collections::BTreeSet;

use framework::{Feasible, Narrow, Parts, Plugin, Reach, Verdict, View};
use model::{BindingMode, Catalog, Class, NodeId, Reason, VolumeFault};

use super::{claim, named_claims, reasons};

/// Labels of volumes that name zones and regions, each with the newer name of it.
const LABELS: [(&str, &str); 4] = [
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
    ("topology.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("topology.kubernetes.io/region", "topology.kubernetes.io/region"),
];

/// What stands between the zones of a volume that is in several.
const DELIMITER: &str = "__";

pub(crate) struct VolumeZone;

impl Plugin for VolumeZone {
    fn name(&self) -> &'static str {
        "VolumeZone"
    }
}

impl Feasible for VolumeZone {
    fn reads(&self) -> Parts {
        Parts::NEEDS
    }

    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Narrow>> {
        class.has_volumes().then(|| Box::new(Prepared) as _)
    }
}

struct Prepared;

/// A label that a node must have, its newer name, and the values that will do.
type Place<'a> = (&'static str, &'static str, BTreeSet<&'a str>);

impl Narrow for Prepared {
    fn reach(&self) -> Reach {
        Reach::Around
    }

    fn applies(&self, view: View<'_>) -> bool {
        named_claims(view.catalog.tags(view.tags)).next().is_some()
    }

    fn before(&self, view: View<'_>) -> Verdict {
        places(view).err().map_or(Verdict::Open, |fault| Verdict::Refused(Reason::Volume(fault)))
    }

    fn narrow(&self, view: View<'_>, nodes: &mut Vec<NodeId>) {
        let Ok(places) = places(view) else { return nodes.clear() };
        if !places.is_empty() {
            nodes.retain(|node| is_there(view, *node, &places));
        }
    }

    fn why_not(&self, view: View<'_>, node: NodeId) -> Vec<Reason> {
        match places(view) {
            Ok(places) => {
                reasons((!is_there(view, node, &places)).then_some(VolumeFault::OtherZone))
            }
            Err(fault) => reasons([fault]),
        }
    }
}

/// Where the volumes of the pod are.
fn places(view: View<'_>) -> Result<Vec<Place<'_>>, VolumeFault> {
    let catalog = view.catalog;
    let mut places = Vec::new();
    for (name, key) in named_claims(catalog.tags(view.tags)) {
        if name.is_empty() {
            return Err(VolumeFault::Nameless);
        }
        let claim = claim(view, (name, key))?;
        if claim.volume.is_empty() {
            if claim.class.is_empty() {
                return Err(VolumeFault::NoClassNamed);
            }
            let class = catalog.storage_class(&claim.class);
            let class = class.ok_or_else(|| VolumeFault::NoClass(claim.class.clone()))?;
            match class.facts.mode {
                None => return Err(VolumeFault::NoMode(claim.class.clone())),
                Some(BindingMode::WaitForFirstConsumer) => continue,
                Some(BindingMode::Immediate) => return Err(VolumeFault::NoVolumeNamed),
            }
        }
        let volume = catalog.volume(&claim.volume);
        let volume = volume.ok_or_else(|| VolumeFault::NoVolume(claim.volume.clone()))?;
        for (label, newer) in LABELS {
            let found = volume.facts.labels.binary_search_by(|(key, _)| (**key).cmp(label));
            let Ok(at) = found else { continue };
            let zones = zones(&volume.facts.labels[at].1);
            places.extend(zones.map(|zones| (label, newer, zones)));
        }
    }
    Ok(places)
}

/// The zones that a label names; nothing if one of them is empty.
fn zones(value: &str) -> Option<BTreeSet<&str>> {
    let zones = value.split(DELIMITER).map(str::trim);
    zones.map(|zone| Some(zone).filter(|zone| !zone.is_empty())).collect()
}

/// Whether a node is in all places. One that names neither zone nor region is everywhere.
fn is_there(view: View<'_>, node: NodeId, places: &[Place<'_>]) -> bool {
    let symbols = view.catalog.symbols();
    let node = view.catalog.node(node);
    let value = |label: &str| node.label(symbols.find(label)?).map(|value| symbols.text(value));
    let is_somewhere = LABELS.iter().any(|(label, _)| value(label).is_some());
    !is_somewhere
        || places.iter().all(|(label, newer, zones)| {
            value(label).or_else(|| value(newer)).is_some_and(|zone| zones.contains(zone))
        })
}
