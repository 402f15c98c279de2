//! The network between nodes, by rules that are written down a second time: what nodes must have
//! in common for a gang to be on them, and how fast a network is.

use model::{CoLocation, FabricLevel, FabricTier, FabricWish, NodeFacts, PodFacts};

use super::ledger::Ledger;
use super::members::Closeness;
use super::roster::Gang;

/// Labels that name the network of a node; the first counts that it has.
const NETWORK: [&str; 2] = ["network.kubenexus.io/fabric", "network.kubenexus.io/fabric-type"];
/// Labels of nodes whose GPUs reach those of other nodes by NVLink.
const CLIQUE: [&str; 2] = ["nvidia.com/gpu.clique", "gpu.kubenexus.io/clique"];

/// A profile that knows the network, and the levels it has, the tightest first.
pub(crate) type Networked = (String, Vec<FabricLevel>);

/// What nodes must have in common for a gang to be on them.
#[derive(Debug, Default)]
pub(super) struct Bounds<'a> {
    /// The same values of these labels.
    labels: &'a [Box<str>],
    /// The same names of these levels. They must have the first, which is the tightest.
    levels: &'a [FabricLevel],
}

impl<'a> Bounds<'a> {
    /// What the object of a gang says, and the tightest level that one of its pods insists on.
    pub(super) fn of(ledger: &'a Ledger, gang: &'a Gang<'_>) -> Self {
        let labels = gang.terms.as_ref().map_or(&[][..], |terms| &terms.topology);
        let (mut tightest, mut known): (Option<usize>, Option<&[FabricLevel]>) = (None, None);
        // Pods of other schedulers say nothing to us.
        let ours = |said: &&Closeness| ledger.is_ours(&said.scheduler);
        for Closeness { scheduler, level } in gang.members.closeness().filter(ours) {
            let Some(levels) = ledger.levels(scheduler) else {
                return Self { labels, levels: &[] };
            };
            known = Some(levels);
            // A level that is not there confines nobody else.
            let own = level.as_ref().and_then(|name| at(levels, name.as_deref()));
            tightest = own.into_iter().chain(tightest).min();
        }
        let levels = known.zip(tightest).map_or(&[][..], |(levels, at)| &levels[at..]);
        Self { labels, levels }
    }

    /// Whether any nodes will do.
    pub(super) fn is_anything(&self) -> bool {
        self.labels.is_empty() && self.levels.is_empty()
    }

    /// What a node has of it; nothing if it lacks what it must have.
    pub(super) fn values<'n>(&self, node: &'n NodeFacts) -> Option<Vec<Option<&'n str>>> {
        let labels = self.labels.iter().map(|key| label(node, key));
        let names = self.levels.iter().map(|level| name(node, level));
        let values: Vec<Option<&str>> = labels.chain(names).collect();
        let needed = self.labels.len() + usize::from(!self.levels.is_empty());
        values[..needed].iter().all(Option::is_some).then_some(values)
    }
}

fn label<'a>(node: &'a NodeFacts, key: &str) -> Option<&'a str> {
    node.labels.iter().find(|(other, _)| other == key).map(|(_, value)| &**value)
}

/// What a node's domain of a level is called.
fn name<'a>(node: &'a NodeFacts, level: &FabricLevel) -> Option<&'a str> {
    level.labels.iter().find_map(|key| label(node, key))
}

/// Which level is meant by a name; the tightest without one, none if there is no such level.
fn at(levels: &[FabricLevel], name: Option<&str>) -> Option<usize> {
    let Some(name) = name else { return Some(0) };
    levels.iter().position(|level| {
        let mut names = [&level.name].into_iter().chain(&level.labels);
        names.any(|own| **own == *name)
    })
}

/// What a pod says of the network, if that is heard.
fn wish<'a>(ledger: &'a Ledger, pod: &'a PodFacts) -> Option<(&'a FabricWish, &'a [FabricLevel])> {
    Some((pod.spec.fabric.as_deref()?, ledger.levels(&pod.spec.scheduler)?))
}

/// The level that a pod insists on, by its name if it has one; nothing if it insists on none.
pub(super) fn insists(pod: &PodFacts) -> Option<Option<Box<str>>> {
    let wish = pod.spec.fabric.as_deref()?;
    (wish.co_location == CoLocation::Strict).then(|| wish.level.clone())
}

/// Why a pod can be nowhere by what it says of the network.
pub(super) fn refusal(ledger: &Ledger, pod: &PodFacts) -> Option<Box<str>> {
    let (wish, levels) = wish(ledger, pod)?;
    if let Some(fault) = &wish.fault {
        return Some(fault.clone());
    }
    let name = wish.level.as_deref().filter(|name| at(levels, Some(name)).is_none())?;
    let known: Vec<&str> = levels.iter().map(|level| &*level.name).collect();
    let known = known.join(", ");
    Some(format!("topology level {name:?} is none of those configured: {known}").into())
}

/// Whether the network of a node is slower than a pod asks for, or unknown.
pub(super) fn is_too_slow(ledger: &Ledger, pod: &PodFacts, node: &NodeFacts) -> bool {
    let Some((wish, _)) = wish(ledger, pod) else { return false };
    let Some(least) = wish.min_tier else { return false };
    let is_alone = pod.gang.as_ref().is_none_or(|claim| claim.name.is_empty());
    !network(node).is_some_and(|has| has.does(least, is_alone))
}

/// What connects the GPUs of a node with others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Network {
    /// Other nodes, so fast.
    Outside(u8),
    /// NVLink, but no other node.
    Inside,
}

const FASTEST: u8 = 3;

impl Network {
    fn does(self, least: FabricTier, is_alone: bool) -> bool {
        let least = match least {
            FabricTier::Ethernet => 0,
            FabricTier::Roce => 1,
            FabricTier::Infiniband => 2,
            FabricTier::Nvlink | FabricTier::Nvswitch => FASTEST,
        };
        match self {
            // As fast as any, for those who talk to nobody else.
            Self::Inside => is_alone,
            Self::Outside(speed) => speed >= least,
        }
    }
}

fn network(node: &NodeFacts) -> Option<Network> {
    if CLIQUE.iter().any(|key| label(node, key).is_some()) {
        return Some(Network::Outside(FASTEST));
    }
    let word = NETWORK.iter().find_map(|key| label(node, key))?;
    match &*word.to_ascii_lowercase() {
        "ethernet" => Some(Network::Outside(0)),
        "roce" => Some(Network::Outside(1)),
        "infiniband" => Some(Network::Outside(2)),
        "nvswitch" => Some(Network::Outside(FASTEST)),
        "nvlink" => Some(Network::Inside),
        _ => None,
    }
}

/// Why a pod must not be on a node by what it says of the network.
pub(super) fn objection(ledger: &Ledger, pod: &PodFacts, node: &NodeFacts) -> Option<&'static str> {
    if refusal(ledger, pod).is_some() {
        return Some("what it says of the network makes no sense");
    }
    is_too_slow(ledger, pod, node).then_some("the node's network is slower than it asks for")
}
