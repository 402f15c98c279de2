//! How many pods of a crowd are in every domain of a key, kept up to date by the nodes that were
//! touched.

use framework::View;
use model::{CrowdId, DomainId, KeyId, NodeId, Touch};

/// What a domain has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    /// Pods of the crowd on nodes that count.
    pub(crate) pods: u32,
    /// Nodes that count.
    pub(crate) nodes: u32,
}

/// What a node counted with when it was last looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Given {
    domain: Option<DomainId>,
    pods: u32,
}

/// The sums of all domains.
pub(crate) struct Sums {
    key: KeyId,
    /// No pods if there is none.
    crowd: Option<CrowdId>,
    domains: Vec<Sum>,
    /// By place.
    given: Vec<Given>,
}

impl Sums {
    pub(crate) fn new(crowd: Option<CrowdId>, key: KeyId) -> Self {
        Self { key, crowd, domains: Vec::new(), given: Vec::new() }
    }

    /// Takes in that nodes are not what they were; all nodes if none are named. `counts` tells
    /// whether a node that is there counts, which follows from its facts.
    pub(crate) fn refresh(
        &mut self,
        view: View<'_>,
        touched: Option<&[Touch]>,
        counts: impl Fn(NodeId) -> bool,
    ) {
        self.domains.resize(view.catalog.domain_places(self.key), Sum::default());
        self.given.resize(view.catalog.node_places(), Given::default());
        let Some(touched) = touched else {
            self.domains.fill(Sum::default());
            self.given.fill(Given::default());
            for node in view.catalog.nodes() {
                let domain = view.catalog.domain(self.key, *node).filter(|_| counts(*node));
                self.give(view, *node, domain);
            }
            return;
        };
        for Touch { node, is_facts } in touched {
            let given = std::mem::take(&mut self.given[node.index()]);
            if let Some(domain) = given.domain {
                let sum = &mut self.domains[domain.index()];
                sum.pods -= given.pods;
                sum.nodes -= 1;
            }
            let domain = if *is_facts {
                let there = Some(*node).filter(|node| view.catalog.has_node(*node));
                let domain = there.and_then(|node| view.catalog.domain(self.key, node));
                domain.filter(|_| counts(*node))
            } else {
                given.domain
            };
            self.give(view, *node, domain);
        }
    }

    fn give(&mut self, view: View<'_>, node: NodeId, domain: Option<DomainId>) {
        let Some(domain) = domain else { return };
        let pods = self.crowd.map_or(0, |crowd| view.usage.in_crowd(crowd, node));
        let sum = &mut self.domains[domain.index()];
        sum.pods += pods;
        sum.nodes += 1;
        self.given[node.index()] = Given { domain: Some(domain), pods };
    }

    /// What the domain of a node has; nothing if the node lacks the label.
    pub(crate) fn of(&self, view: View<'_>, node: NodeId) -> Option<Sum> {
        self.by_node(view).of(node)
    }

    /// The sums by node, to be asked about many.
    pub(crate) fn by_node<'a>(&'a self, view: View<'a>) -> ByNode<'a> {
        ByNode { domains: view.catalog.domains(self.key), sums: &self.domains }
    }

    /// How many pods a node counts with.
    pub(crate) fn on_node(&self, node: NodeId) -> u32 {
        self.given[node.index()].pods
    }

    /// What a domain has.
    pub(crate) fn in_domain(&self, domain: DomainId) -> Sum {
        self.domains[domain.index()]
    }

    /// Domains with a node that counts.
    pub(crate) fn present(&self) -> impl Iterator<Item = Sum> {
        self.domains.iter().copied().filter(|sum| sum.nodes > 0)
    }
}

/// Sums with the domain of every node at hand.
#[derive(Clone, Copy)]
pub(crate) struct ByNode<'a> {
    domains: &'a [Option<DomainId>],
    sums: &'a [Sum],
}

impl ByNode<'_> {
    /// Hot: what the domain of a node has; nothing if the node lacks the label.
    pub(crate) fn of(&self, node: NodeId) -> Option<Sum> {
        let domain = (*self.domains.get(node.index())?)?;
        Some(self.sums[domain.index()])
    }
}
