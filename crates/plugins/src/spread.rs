//! Spreads the pods of services and inference over zones, then racks, then hosts.
//!
//! Speaks of pods that do one of these by what the classifier says, have no
//! `topologySpreadConstraints` and name no gang; and of any pod whose annotation
//! `topology.kubenexus.io/spread-zones` is `"true"`. With `"false"` it never speaks of a pod. Pods
//! are counted that a service or the controller makes alike with it, as for the default constraints
//! of kube-scheduler; for annotated pods without either, those whose labels name the same job or
//! gang. Pods that are on their way to a node count, those that are being deleted do not.
//!
//! Levels are compared one after the other: zones by their counts; racks by theirs among the zones
//! that have as many; hosts among the racks of such zones that have as many. So the zone with the
//! fewest pods always has a node with the best score. On each level whoever has the fewest gets the
//! whole weight of the level, and any other at most a tenth of it: 10 x (max - count) / (max - min)
//! per cent. One pod more than the fewest so costs the same however far apart counts are. Only
//! domains count that have a node which fits; a pod counts in them whatever node it is on. A level
//! with one domain says nothing and has no weight; what is left of the weights makes up the score.
//!
//! The zone of a node is its label `topology.kubernetes.io/zone`. Its rack is
//! `topology.kubernetes.io/rack`, or else `network.kubenexus.io/rack-id`. Nodes without a label are
//! one domain together. Every node is a host.
//!
//! Arguments: [`LevelArgs`]. Cost: three looks at every node that fits, a few nanoseconds each;
//! what is counted is brought up to date by the nodes that were touched.

mod levels;

use framework::{FINE, LevelArgs, MAX_SCORE, Plugin, Rank, Reach, Scores, View};
use model::{Catalog, Class, CrowdId, KeyId, NodeId, Said, Touch, Workload};

use crate::profile_classifier::{names_gang, workload_of};
use levels::Levels;

/// Labels whose value names the job or gang of a pod, the one that counts most first.
const KIN: [&str; 10] = [
    "batch.kubernetes.io/controller-uid",
    "controller-uid",
    "batch.kubernetes.io/job-name",
    "job-name",
    "training.kubeflow.org/job-name",
    "spark-app-selector",
    "pod-group.scheduling.kubenexus.io/name",
    "pod-group.scheduling.sigs.k8s.io/name",
    "gang.scheduling.kubenexus.io/name",
    "scheduling.kubenexus.io/gang-group",
];
const ZONE: &str = "topology.kubernetes.io/zone";
/// The labels of racks; the first that a node has counts.
const RACKS: [&str; 2] = ["topology.kubernetes.io/rack", "network.kubenexus.io/rack-id"];

/// The best score.
const BEST: i32 = MAX_SCORE * FINE;

/// How many crowds of a class have their counts kept, as for default constraints.
const KEPT_MAX: usize = 4;

#[derive(Clone, Copy)]
pub(crate) struct TopologySpread {
    args: LevelArgs,
    keys: Keys,
}

/// The labels that make domains.
#[derive(Clone, Copy)]
struct Keys {
    zone: KeyId,
    racks: [KeyId; 2],
}

impl TopologySpread {
    pub(crate) fn new(args: LevelArgs, catalog: &mut Catalog) -> Self {
        catalog.set_kin_labels(&KIN);
        let zone = catalog.alike_key(ZONE);
        Self { args, keys: Keys { zone, racks: RACKS.map(|label| catalog.alike_key(label)) } }
    }
}

impl Plugin for TopologySpread {
    fn name(&self) -> &'static str {
        "TopologySpread"
    }
}

impl Rank for TopologySpread {
    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Scores>> {
        let spread = Spread { plugin: *self, places: Vec::new(), kept: Vec::new() };
        is_spread(class).then(|| Box::new(spread) as _)
    }
}

/// Whether pods of a class are spread.
fn is_spread(class: &Class) -> bool {
    let said = class.spec.hints.as_ref().and_then(|hints| hints.spread.as_ref());
    match said {
        Some(Said::Known(is_spread)) => *is_spread,
        Some(Said::Unknown(_)) | None => {
            let is_served = match workload_of(class) {
                Workload::Service | Workload::Inference => true,
                Workload::Training | Workload::Batch | Workload::Interactive => false,
            };
            is_served && class.spec.spread.is_empty() && !names_gang(class)
        }
    }
}

/// Where a node is. Domains are numbered from 1; 0 stands for nodes without the label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    zone: u32,
    rack: u32,
}

impl Keys {
    fn place(&self, catalog: &Catalog, node: NodeId) -> Place {
        let domain = |key: KeyId| catalog.domain(key, node).map(|domain| domain.index());
        let zone = domain(self.zone).map_or(0, |at| at + 1);
        // Numbers of both labels side by side, so that they stay when there are more of either.
        let [first, second] = self.racks;
        let rack = domain(first).map(|at| 2 * at + 1);
        let rack = rack.or_else(|| domain(second).map(|at| 2 * at + 2)).unwrap_or(0);
        let number = |at: usize| u32::try_from(at).expect("there are fewer domains than nodes");
        Place { zone: number(zone), rack: number(rack) }
    }
}

/// The pods of a class.
struct Spread {
    plugin: TopologySpread,
    /// By place of the node.
    places: Vec<Place>,
    /// The crowd that was asked about last comes first.
    kept: Vec<Counts>,
}

/// How many pods of a crowd are where.
struct Counts {
    crowd: CrowdId,
    generation: u32,
    hosts: Vec<u32>,
    zones: Vec<u32>,
    racks: Vec<u32>,
}

/// The pods that are counted for the one that is asked about.
fn crowd(view: View<'_>) -> Option<CrowdId> {
    let tags = view.catalog.tags(view.tags);
    tags.alike.or(tags.kin)
}

impl Counts {
    fn new(crowd: CrowdId, view: View<'_>, places: &[Place]) -> Self {
        let generation = view.catalog.crowd(crowd).generation;
        let hosts = vec![0; places.len()];
        let mut made = Self { crowd, generation, hosts, zones: Vec::new(), racks: Vec::new() };
        for node in view.catalog.nodes() {
            made.give(*node, places[node.index()], view.usage.in_crowd(crowd, *node));
        }
        made
    }

    fn give(&mut self, node: NodeId, place: Place, pods: u32) {
        self.hosts[node.index()] = pods;
        *at(&mut self.zones, place.zone) += pods;
        *at(&mut self.racks, place.rack) += pods;
    }

    fn take(&mut self, node: NodeId, place: Place) {
        let pods = std::mem::take(&mut self.hosts[node.index()]);
        *at(&mut self.zones, place.zone) -= pods;
        *at(&mut self.racks, place.rack) -= pods;
    }
}

fn at(counts: &mut Vec<u32>, number: u32) -> &mut u32 {
    let number = number as usize;
    if counts.len() <= number {
        counts.resize(number + 1, 0);
    }
    &mut counts[number]
}

impl Spread {
    /// Takes in that nodes are not what they were.
    fn touch(&mut self, view: View<'_>, touched: &[Touch]) {
        let places = view.catalog.node_places();
        self.places.resize(places, Place::default());
        self.kept.iter_mut().for_each(|kept| kept.hosts.resize(places, 0));
        for Touch { node, is_facts } in touched {
            let before = self.places[node.index()];
            // A node that is gone is touched again when its pods go.
            let is_there = view.catalog.has_node(*node);
            let place = match (is_there, *is_facts) {
                (true, true) => self.plugin.keys.place(view.catalog, *node),
                (true, false) => before,
                (false, _) => Place::default(),
            };
            self.places[node.index()] = place;
            for kept in &mut self.kept {
                kept.take(*node, before);
                let pods = if is_there { view.usage.in_crowd(kept.crowd, *node) } else { 0 };
                kept.give(*node, place, pods);
            }
        }
    }

    fn rebuild(&mut self, view: View<'_>) {
        self.places.clear();
        self.places.resize(view.catalog.node_places(), Place::default());
        for node in view.catalog.nodes() {
            self.places[node.index()] = self.plugin.keys.place(view.catalog, *node);
        }
        for kept in &mut self.kept {
            *kept = Counts::new(kept.crowd, view, &self.places);
        }
    }
}

impl Scores for Spread {
    fn reach(&self) -> Reach {
        Reach::Around
    }

    fn applies(&self, view: View<'_>) -> bool {
        crowd(view).is_some()
    }

    fn is_fine(&self) -> bool {
        true
    }

    fn refresh(&mut self, view: View<'_>, touched: Option<&[Touch]>) {
        let is_it = |kept: &Counts| {
            let found = view.catalog.find_crowd(kept.crowd);
            found.is_some_and(|crowd| crowd.generation == kept.generation)
        };
        self.kept.retain(is_it);
        match touched {
            Some(touched) => self.touch(view, touched),
            None => self.rebuild(view),
        }
        let Some(crowd) = crowd(view) else { return };
        if let Some(at) = self.kept.iter().position(|kept| kept.crowd == crowd) {
            self.kept[..=at].rotate_right(1);
            return;
        }
        self.kept.truncate(KEPT_MAX - 1);
        self.kept.insert(0, Counts::new(crowd, view, &self.places));
    }

    // Hot: all nodes that fit, for every pod that is spread.
    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        let Some(crowd) = crowd(view) else { return out.fill(0) };
        let counts = self.kept.iter().find(|kept| kept.crowd == crowd);
        let counts = counts.expect("counts are brought up to date before nodes are asked about");
        match Levels::of(self, counts, nodes) {
            Some(levels) => levels.score(nodes, out),
            None => out.fill(0),
        }
    }
}
