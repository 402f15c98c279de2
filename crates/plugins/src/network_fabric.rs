//! Keeps the pods of a gang close to each other in the network, and slow networks from pods that
//! ask for a fast one.
//!
//! Levels of the network are labels of nodes. The engine plans gangs by them: into the tightest
//! domain that holds them. A pod that joins a gang later is drawn to where most of the others are.
//! Training on several nodes, and pods that say that they talk a lot, prefer faster networks;
//! other pods that ask for GPUs leave these to them, where nothing else matters more.
//!
//! Arguments: [`FabricArgs`]. Cost: pods that are in no gang, ask for no GPU and say nothing of
//! networks are not looked at. A pod that joins a gang looks at all nodes and at a bounded number
//! of the others.

use framework::{
    Closeness, FINE, FabricArgs, Feasible, MAX_SCORE, Narrow, Network, Plugin, Rank, Reach, Scores,
    Verdict, View,
};
use model::{
    Catalog, Class, CoLocation, FabricDomainId, FabricFault, FabricId, FabricTier, FabricWish,
    GangId, Node, NodeId, Reason, Symbol, Workload,
};

use crate::profile_classifier::workload_of;

/// Labels that name the network of a node.
const TIER: [&str; 2] = ["network.kubenexus.io/fabric", "network.kubenexus.io/fabric-type"];
/// Labels that only nodes have whose GPUs reach those of other nodes by NVLink.
const CLIQUE: [&str; 2] = ["nvidia.com/gpu.clique", "gpu.kubenexus.io/clique"];
/// The label that tells how fast the network of a node is.
const BANDWIDTH: &str = "network.kubenexus.io/bandwidth";
/// What a node is called that is faster than any network known, in Gbit/s.
const BANDWIDTH_MAX: i32 = 10_000;
/// How many pods of a gang are looked at to tell where most of them are.
const MEMBERS_MAX: usize = 256;
/// How much those count that leave fast networks to others, in percent.
const LEAVING: i32 = 10;

/// Labels that say which of several alike pods a pod is, the one that counts most first.
const RANKS: [&str; 7] = [
    "jobset.sigs.k8s.io/job-global-index",
    "leaderworkerset.sigs.k8s.io/group-index",
    "leaderworkerset.sigs.k8s.io/worker-index",
    "training.kubeflow.org/replica-index",
    "batch.kubernetes.io/job-completion-index",
    "apps.kubernetes.io/pod-index",
    "kueue.x-k8s.io/pod-group-pod-index",
];

pub(crate) struct NetworkFabric {
    fabric: FabricId,
    tier: [Symbol; 2],
    clique: [Symbol; 2],
    bandwidth: Symbol,
}

impl NetworkFabric {
    pub(crate) fn new(args: &FabricArgs, catalog: &mut Catalog) -> Self {
        Self {
            fabric: catalog.add_fabric(&args.levels),
            tier: TIER.map(|label| catalog.hold_symbol(label)),
            clique: CLIQUE.map(|label| catalog.hold_symbol(label)),
            bandwidth: catalog.hold_symbol(BANDWIDTH),
        }
    }

    /// The level that a pod names; what it is called otherwise.
    fn level(&self, catalog: &Catalog, wish: &FabricWish) -> Result<usize, String> {
        let levels = catalog.fabric(self.fabric).levels();
        let Some(name) = &wish.level else { return Ok(0) };
        levels.iter().position(|level| level.is_called(name)).ok_or_else(|| {
            let names: Vec<&str> = levels.iter().map(|level| &*level.name).collect();
            let names = names.join(", ");
            format!("topology level {name:?} is none of those configured: {names}")
        })
    }

    fn labels(&self) -> Labels {
        Labels { tier: self.tier, clique: self.clique, bandwidth: self.bandwidth }
    }
}

/// Labels of nodes that tell of their network.
#[derive(Clone, Copy)]
struct Labels {
    tier: [Symbol; 2],
    clique: [Symbol; 2],
    bandwidth: Symbol,
}

impl Labels {
    /// The network of a node; nothing if it is not known.
    fn tier(self, catalog: &Catalog, node: &Node) -> Option<FabricTier> {
        let is_in_clique = self.clique.iter().any(|label| node.label(*label).is_some());
        if is_in_clique {
            return Some(FabricTier::Nvswitch);
        }
        let word = self.tier.iter().find_map(|label| node.label(*label))?;
        FabricTier::read(catalog.symbols().text(word))
    }

    /// From 0 for a network that is not known to 100 for the fastest, with a part of a point for
    /// its bandwidth; in fine points.
    fn speed(self, catalog: &Catalog, node: NodeId) -> i32 {
        let node = catalog.node(node);
        let tier = match self.tier(catalog, node) {
            // What is inside a node says nothing of the network between nodes.
            None | Some(FabricTier::Nvlink) => return 0,
            Some(FabricTier::Ethernet) => 24,
            Some(FabricTier::Roce) => 49,
            Some(FabricTier::Infiniband) => 74,
            Some(FabricTier::Nvswitch) => 99,
        };
        let bandwidth = node.label(self.bandwidth).map(|word| catalog.symbols().text(word));
        let bandwidth = bandwidth.and_then(gigabits).unwrap_or(0);
        tier * FINE + bandwidth * FINE / BANDWIDTH_MAX
    }
}

/// The gigabits per second that a label tells, such as `200Gbps` or `400Gb/s`; at most
/// [`BANDWIDTH_MAX`].
fn gigabits(text: &str) -> Option<i32> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let is_known = ["g", "gb", "gbps", "gb/s", "gbit", "gbit/s", "gbits", ""]
        .iter()
        .any(|known| unit.trim().trim_start_matches(['-', '_']).eq_ignore_ascii_case(known));
    let number: i32 = number.get(..number.len().min(9))?.parse().ok()?;
    is_known.then(|| number.min(BANDWIDTH_MAX))
}

/// What a pod thinks of fast networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taste {
    Faster,
    Slower,
    Any,
}

fn taste(class: &Class) -> Taste {
    let is_said = class.spec.fabric.as_ref().and_then(|wish| wish.is_network_intensive);
    let is_training = workload_of(class) == Workload::Training;
    match is_said {
        Some(true) => Taste::Faster,
        None if is_training && is_in_gang(class) => Taste::Faster,
        // Only pods that compete with these for their nodes.
        None | Some(false) if class.gpus.is_some() => Taste::Slower,
        None | Some(false) => Taste::Any,
    }
}

fn is_in_gang(class: &Class) -> bool {
    class.spec.hints.as_ref().is_some_and(|hints| hints.is_in_gang)
}

/// The score of a network that is so fast, in fine points.
fn liked(taste: Taste, speed: i32) -> i32 {
    match taste {
        Taste::Faster => speed,
        Taste::Slower => (MAX_SCORE * FINE - speed) * LEAVING / 100,
        Taste::Any => 0,
    }
}

impl Plugin for NetworkFabric {
    fn name(&self) -> &'static str {
        "NetworkFabric"
    }
}

impl Network for NetworkFabric {
    fn fabric(&self) -> FabricId {
        self.fabric
    }

    fn closeness(&self, catalog: &Catalog, class: &Class) -> Closeness {
        let Some(wish) = &class.spec.fabric else { return Closeness::Preferred };
        match wish.co_location {
            CoLocation::None => Closeness::Any,
            CoLocation::Preferred => Closeness::Preferred,
            // A pod that names a level which is not known is refused, and says nothing for others.
            CoLocation::Strict => {
                self.level(catalog, wish).map_or(Closeness::Preferred, Closeness::Within)
            }
        }
    }

    fn scores<'a>(
        &'a self,
        catalog: &'a Catalog,
        class: &Class,
    ) -> Option<Box<dyn Fn(NodeId) -> i32 + 'a>> {
        let (taste, labels) = (taste(class), self.labels());
        let score = move |node| liked(taste, labels.speed(catalog, node)) / FINE;
        (taste != Taste::Any).then(|| Box::new(score) as _)
    }

    fn ranks(&self) -> &'static [&'static str] {
        &RANKS
    }
}

impl Feasible for NetworkFabric {
    fn prepare(&self, catalog: &Catalog, class: &Class) -> Option<Box<dyn Narrow>> {
        let wish = class.spec.fabric.as_ref()?;
        let fault = wish.fault.clone().or_else(|| Some(self.level(catalog, wish).err()?.into()));
        if let Some(fault) = fault {
            return Some(Box::new(Broken { fault: FabricFault::Invalid(fault) }));
        }
        let (least, is_alone) = (wish.min_tier?, !is_in_gang(class));
        Some(Box::new(AtLeast { labels: self.labels(), least, is_alone }))
    }
}

impl Rank for NetworkFabric {
    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Scores>> {
        let is_close = |wish: &FabricWish| wish.co_location != CoLocation::None;
        if is_in_gang(class) && class.spec.fabric.as_deref().is_none_or(is_close) {
            return Some(Box::new(Drawn { fabric: self.fabric, most: Vec::new(), of: None }));
        }
        let taste = taste(class);
        let labels = self.labels();
        (taste != Taste::Any).then(|| Box::new(BySpeed { taste, labels }) as _)
    }
}

/// A class that says something that means nothing.
struct Broken {
    fault: FabricFault,
}

impl Narrow for Broken {
    fn reach(&self) -> Reach {
        Reach::Facts
    }

    fn before(&self, _: View<'_>) -> Verdict {
        Verdict::Refused(Reason::Fabric(self.fault.clone()))
    }

    fn why_not(&self, _: View<'_>, _: NodeId) -> Vec<Reason> {
        vec![Reason::Fabric(self.fault.clone())]
    }
}

/// A class that asks for a fast network.
struct AtLeast {
    labels: Labels,
    least: FabricTier,
    is_alone: bool,
}

impl Narrow for AtLeast {
    fn reach(&self) -> Reach {
        Reach::Facts
    }

    fn why_not(&self, view: View<'_>, node: NodeId) -> Vec<Reason> {
        let tier = self.labels.tier(view.catalog, view.catalog.node(node));
        let is_enough = tier.is_some_and(|tier| tier.satisfies(self.least, self.is_alone));
        if is_enough { Vec::new() } else { vec![Reason::Fabric(FabricFault::TooSlow)] }
    }
}

/// Pods that are in no gang, by how fast networks are.
struct BySpeed {
    taste: Taste,
    labels: Labels,
}

impl Scores for BySpeed {
    /// Facts would do, but answers by facts alone are shared only by pods whose specs are alike.
    fn reach(&self) -> Reach {
        Reach::Load
    }

    fn is_fine(&self) -> bool {
        true
    }

    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        for (node, out) in nodes.iter().zip(out) {
            *out = liked(self.taste, self.labels.speed(view.catalog, *node));
        }
    }
}

/// Pods of gangs that others are on nodes of, by how close nodes are to most of these.
struct Drawn {
    fabric: FabricId,
    /// For each level the domain of most of the pods, from the tightest on; of this gang.
    most: Vec<Option<FabricDomainId>>,
    of: Option<GangId>,
}

impl Scores for Drawn {
    fn reach(&self) -> Reach {
        Reach::Around
    }

    fn applies(&self, view: View<'_>) -> bool {
        let is_begun = |gang| view.catalog.gang(gang).placed > 0;
        view.gang.is_some_and(is_begun) && !view.catalog.fabric(self.fabric).is_empty()
    }

    fn refresh(&mut self, view: View<'_>, _: Option<&[model::Touch]>) {
        self.of = view.gang;
        self.most = view.gang.map_or_else(Vec::new, |gang| {
            view.catalog.most_of_gang(self.fabric, gang, MEMBERS_MAX)
        });
    }

    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        let fabric = view.catalog.fabric(self.fabric);
        let levels = i32::try_from(fabric.levels().len()).unwrap_or(i32::MAX).max(1);
        for (node, out) in nodes.iter().zip(out) {
            let mut both = fabric.path(*node).iter().zip(&self.most);
            let shared = both.position(|(own, most)| own.is_some() && own == most);
            let up = shared.map_or(levels, |up| i32::try_from(up).unwrap_or(levels));
            *out = MAX_SCORE - MAX_SCORE * up / levels;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidths_by_table() {
        let table = [
            ("200Gbps", Some(200)),
            ("400Gb/s", Some(400)),
            ("400Gb_s", None),
            ("100", Some(100)),
            ("800-gbps", Some(800)),
            ("99999999999999Gbps", Some(BANDWIDTH_MAX)),
            ("10Mbps", None),
            ("", None),
            ("fast", None),
        ];
        for (text, expected) in table {
            assert_eq!(gigabits(text), expected, "{text}");
        }
    }
}
