//! Where a gang may be whose pods must be close to each other.

use std::hash::Hash;

use framework::Closeness;
use model::{Catalog, FabricId, GangId, Map, NodeId};

use super::{Arranger, Short};
use crate::cycle::Within;

/// What nodes must have in common for a gang to be on them.
struct Common {
    /// Labels with the same values.
    labels: Box<[Box<str>]>,
    /// A domain of a level of a network.
    domain: Option<(FabricId, usize)>,
}

impl Common {
    fn is_anything(&self) -> bool {
        self.labels.is_empty() && self.domain.is_none()
    }

    /// What a node has of it: values of labels, then the names of its domain and of those around
    /// that. Nothing if it lacks one.
    fn of<'a>(&self, catalog: &'a Catalog, node: NodeId) -> Option<Vec<&'a str>> {
        let symbols = catalog.symbols();
        let facts = catalog.has_node(node).then(|| catalog.node(node))?;
        let value = |label: &str| Some(symbols.text(facts.label(symbols.find(label)?)?));
        let values: Option<Vec<&str>> = self.labels.iter().map(|label| value(label)).collect();
        let mut values = values?;
        if let Some((fabric, level)) = self.domain {
            let fabric = catalog.fabric(fabric);
            let path = fabric.path(node);
            path.get(level).copied().flatten()?;
            let name = |id| symbols.text(fabric.domain(id).value);
            values.extend(path[level..].iter().map(|domain| domain.map_or("", name)));
        }
        Some(values)
    }

    /// Nodes by what they have of it; those that lack something are in no group.
    // Hot: once per try of a gang, for all nodes.
    fn groups(&self, catalog: &Catalog, nodes: &[NodeId]) -> Vec<Vec<NodeId>> {
        let mut groups = vec![nodes.to_vec()];
        for label in &self.labels {
            let label = catalog.symbols().find(label);
            groups = split(&groups, |node| catalog.node(node).label(label?));
        }
        if let Some((fabric, level)) = self.domain {
            let fabric = catalog.fabric(fabric);
            groups = split(&groups, |node| fabric.path(node).get(level).copied().flatten());
        }
        groups
    }
}

/// Divides groups of nodes further, by something that each node has.
fn split<T: Eq + Hash>(
    groups: &[Vec<NodeId>],
    of: impl Fn(NodeId) -> Option<T>,
) -> Vec<Vec<NodeId>> {
    let mut found: Vec<Vec<NodeId>> = Vec::new();
    for group in groups {
        let mut places: Map<T, usize> = Map::default();
        for node in group {
            let Some(value) = of(*node) else { continue };
            let at = *places.entry(value).or_insert(found.len());
            if at == found.len() {
                found.push(Vec::new());
            }
            found[at].push(*node);
        }
    }
    found
}

impl Arranger<'_> {
    fn common(&self, gang: GangId) -> Common {
        let row = self.txn.catalog().gang(gang);
        let labels = row.terms.as_ref().map_or(&[][..], |terms| &terms.topology);
        // Parts of a gang of gangs say for themselves what they must be within.
        let network = if row.is_composite() { None } else { self.network(gang) };
        let domain = network.and_then(|(network, closeness)| match closeness {
            Closeness::Within(level) => Some((network.fabric(), level)),
            Closeness::Preferred | Closeness::Any => None,
        });
        Common { labels: labels.into(), domain }
    }

    /// Whether the nodes of a gang must have something in common.
    pub(super) fn is_confined(&self, gang: GangId) -> bool {
        !self.common(gang).is_anything()
    }

    /// The sets of nodes that a gang may be on, the smallest first. Pods that are on nodes decide.
    pub(super) fn domains(&self, gang: GangId, within: &Within) -> Vec<Within> {
        let catalog = self.txn.catalog();
        let common = self.common(gang);
        if common.is_anything() {
            return vec![within.clone()];
        }
        let all = within.nodes.as_deref().unwrap_or(catalog.nodes());
        let mut domains = common.groups(catalog, all);
        if let Some(node) = placed_node(catalog, gang) {
            let own = common.of(catalog, node);
            domains.retain(|nodes| own.is_some() && common.of(catalog, nodes[0]) == own);
        }
        domains.sort_by_cached_key(|nodes| (nodes.len(), common.of(catalog, nodes[0])));
        if domains.is_empty() {
            domains.push(Vec::new());
        }
        let avoided = &within.avoided;
        let domain =
            |nodes: Vec<NodeId>| Within { nodes: Some(nodes.into()), avoided: avoided.clone() };
        domains.into_iter().map(domain).collect()
    }

    /// Places a gang in the first of the domains that can hold it.
    pub(super) fn in_first(
        &mut self,
        gang: GangId,
        domains: &[Within],
        limit: usize,
    ) -> Result<(), Short> {
        let start = self.moment();
        let row = self.txn.catalog().gang(gang);
        let needed = if row.min() <= 1 { 0 } else { row.lacking().min(row.waiting()) };
        let mut first = None;
        for domain in domains {
            // Of domains that are too small only the first is told of.
            let room = first.as_ref().and_then(|_| self.room_in(gang, domain));
            if room.is_some_and(|room| room < needed) {
                continue;
            }
            let Err(short) = self.in_domain(gang, domain, limit) else { return Ok(()) };
            self.back_to(start);
            first.get_or_insert(short);
        }
        first.map_or(Ok(()), Err)
    }
}

/// A node that pods of a gang are on.
fn placed_node(catalog: &Catalog, gang: GangId) -> Option<NodeId> {
    let row = catalog.gang(gang);
    let mut nodes = row.members.iter().filter_map(|pod| catalog.pod(*pod).state.node());
    let own = nodes.find(|node| catalog.has_node(*node));
    own.or_else(|| row.parts.iter().find_map(|part| placed_node(catalog, *part)))
}
