//! The scheduling-relevant part of a pod, as it arrives. Pods with equal specs share a class.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::amounts::Requests;
use crate::fabric::FabricWish;
use crate::gpu::GpuWish;
use crate::names::{is_label_value, is_qualified_name};
use crate::need::{Features, Need};
use crate::numa::NumaWish;
use crate::profile::{Hints, Said};
use crate::taint::Toleration;
use crate::topology::PodAsk;

/// Everything about a pod that decides where it may go. Nothing here names a single pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PodSpec {
    /// The scheduler profile it asks for.
    pub scheduler: String,
    /// Its namespace: other pods' affinity terms speak of it.
    pub namespace: String,
    /// The one node it must go to, if it names one.
    pub target: Option<String>,
    /// Resources.
    pub requests: Requests<String>,
    /// Labels its node must have.
    pub node_selector: Vec<(String, String)>,
    /// Terms of which its node must match one; none means any node, no terms means no node.
    pub required: Option<Vec<NodeTerm>>,
    /// Terms that make a node better.
    pub preferred: Vec<Preference>,
    /// Taints that do not keep it away.
    pub tolerations: Vec<Toleration<String>>,
    /// Ports of the host it occupies.
    pub ports: Vec<HostPort<String>>,
    /// Images it starts, each as often as it is named.
    pub images: Vec<String>,
    /// Features its node must declare.
    pub features: Features,
    /// What it asks for beyond a node with room for it.
    pub needs: Vec<Need>,
    /// How evenly it and its like must be, or had better be, spread over topology domains.
    pub spread: Vec<SpreadSpec>,
    /// Pods that must be in its domain, each in the domain of its own key.
    pub near: Vec<PodTerm>,
    /// Pods that must not be in its domain.
    pub far: Vec<PodTerm>,
    /// Pods it had better be close to, or, with a negative weight, away from.
    pub prefers: Vec<(i32, PodTerm)>,
    /// What it says of itself, by which it is classified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hints: Option<Box<Hints>>,
    /// What its containers ask a kubelet for that aligns them with zones; nothing if none would.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<Box<PodAsk<String>>>,
    /// What it says of the zones it wants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numa: Option<Box<NumaWish>>,
    /// What it says of the GPUs it wants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<Box<GpuWish>>,
    /// What it says of the network it wants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fabric: Option<Box<FabricWish>>,
}

impl PodSpec {
    /// Whether it says nothing at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it says that its pods are to be spread over zones.
    #[must_use]
    pub fn asks_spread(&self) -> bool {
        let said = self.hints.as_ref().and_then(|hints| hints.spread.as_ref());
        matches!(said, Some(Said::Known(true)))
    }
}

/// How evenly pods are spread over the domains of a topology key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpreadSpec {
    /// The label of nodes that makes the domains.
    pub key: String,
    /// The pods that are counted; none means no pod.
    pub selector: Option<LabelSelector>,
    /// How far a domain may be above the emptiest.
    pub max_skew: i32,
    /// With fewer domains than this, the emptiest counts as empty.
    pub min_domains: i32,
    /// Whether a node that breaks it is ruled out, or only worse.
    pub is_required: bool,
    /// Whether nodes that the pod's selector and affinity exclude do not count.
    pub honours_affinity: bool,
    /// Whether nodes with taints that the pod does not tolerate do not count.
    pub honours_taints: bool,
}

/// Pods somewhere in the domain of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PodTerm {
    /// The label of nodes that makes the domains.
    pub key: String,
    /// Which pods.
    pub target: Target,
}

/// Pods that a rule is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Target {
    /// Namespaces by name.
    pub namespaces: Vec<String>,
    /// Namespaces by their labels.
    pub namespace_selector: Option<LabelSelector>,
    /// Pods of these namespaces; none means no pod.
    pub selector: Option<LabelSelector>,
}

/// Requirements on labels, all of which must hold; none of them means that anything will do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LabelSelector {
    /// The requirements.
    pub requirements: Vec<RequirementSpec<LabelOperator>>,
}

/// Labels, sorted by key. Whoever keeps them shares them.
pub type Labels = Arc<[(Box<str>, Box<str>)]>;

impl LabelSelector {
    /// Whether all requirements hold. Labels are sorted by key.
    #[must_use]
    pub fn matches(&self, labels: &[(Box<str>, Box<str>)]) -> bool {
        let value = |key: &str| {
            let found = labels.binary_search_by(|(other, _)| (**other).cmp(key));
            found.ok().map(|at| &*labels[at].1)
        };
        self.requirements.iter().all(|requirement| {
            let value = value(&requirement.key);
            let is_listed = || {
                let value = value.unwrap_or_default();
                requirement.values.iter().any(|listed| listed == value)
            };
            match requirement.operator {
                LabelOperator::In => value.is_some() && is_listed(),
                LabelOperator::NotIn => value.is_none() || !is_listed(),
                LabelOperator::Exists => value.is_some(),
                LabelOperator::DoesNotExist => value.is_none(),
                LabelOperator::Gt | LabelOperator::Lt | LabelOperator::Unknown => false,
            }
        })
    }

    /// Whether Kubernetes would take it for a selector.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.requirements.iter().all(|requirement| {
            let values = &requirement.values;
            let fits = match requirement.operator {
                LabelOperator::In | LabelOperator::NotIn => !values.is_empty(),
                LabelOperator::Exists | LabelOperator::DoesNotExist => values.is_empty(),
                LabelOperator::Gt | LabelOperator::Lt | LabelOperator::Unknown => false,
            };
            fits && is_qualified_name(&requirement.key)
                && values.iter().all(|value| is_label_value(value))
        })
    }
}

/// A term of a node selector: all of its requirements must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NodeTerm {
    /// About labels.
    pub expressions: Vec<RequirementSpec<LabelOperator>>,
    /// About fields, of which there is one: `metadata.name`.
    pub fields: Vec<RequirementSpec<FieldOperator>>,
}

/// A term with the weight it adds to a node that matches.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preference {
    /// 1 to 100; a term of weight 0 says nothing.
    pub weight: i32,
    /// What must hold.
    pub term: NodeTerm,
}

/// One requirement on a label or a field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequirementSpec<O> {
    /// The label or field.
    pub key: String,
    /// How it is compared.
    pub operator: O,
    /// What it is compared with.
    pub values: Vec<String>,
}

/// Comparisons of labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum LabelOperator {
    /// Has the label, with one of the values.
    In,
    /// Lacks the label, or has another value.
    NotIn,
    /// Has the label.
    Exists,
    /// Lacks the label.
    DoesNotExist,
    /// Has the label, with a greater number.
    Gt,
    /// Has the label, with a smaller number.
    Lt,
    /// A word that is no operator: the term is broken and matches nothing.
    Unknown,
}

impl LabelOperator {
    /// The words that are operators.
    pub const WORDS: [(&'static str, Self); 6] = [
        ("In", Self::In),
        ("NotIn", Self::NotIn),
        ("Exists", Self::Exists),
        ("DoesNotExist", Self::DoesNotExist),
        ("Gt", Self::Gt),
        ("Lt", Self::Lt),
    ];
}

/// Comparisons of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FieldOperator {
    /// Is the value.
    In,
    /// Is not the value.
    NotIn,
    /// A word that is no operator for fields: the term is broken and matches nothing.
    Unknown,
}

impl FieldOperator {
    /// The words that are operators for fields.
    pub const WORDS: [(&'static str, Self); 2] = [("In", Self::In), ("NotIn", Self::NotIn)];
}

/// Protocols a host port can be taken for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Protocol {
    /// The default.
    Tcp,
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
    /// Anything else, by name.
    Other(Box<str>),
}

/// A port of the host. `S` is a string in facts, a symbol in the catalog.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostPort<S> {
    /// The address it is taken on; none means all addresses.
    pub address: Option<S>,
    /// The protocol.
    pub protocol: Protocol,
    /// The port, above 0.
    pub port: u32,
}

impl<S: PartialEq> HostPort<S> {
    /// Whether both cannot be taken on one node.
    #[must_use]
    pub fn conflicts(&self, other: &Self) -> bool {
        let is_same_address = match (&self.address, &other.address) {
            (Some(own), Some(others)) => own == others,
            (None, _) | (_, None) => true,
        };
        is_same_address && self.port == other.port && self.protocol == other.protocol
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_conflict_by_table() {
        let port =
            |address: Option<&'static str>, protocol, port| HostPort { address, protocol, port };
        let web = port(None, Protocol::Tcp, 80);
        // (port, conflicts with 80/TCP on all addresses)
        let table = [
            (port(None, Protocol::Tcp, 80), true),
            (port(Some("10.0.0.1"), Protocol::Tcp, 80), true),
            (port(None, Protocol::Udp, 80), false),
            (port(None, Protocol::Tcp, 81), false),
        ];
        for (other, expected) in table {
            assert_eq!(web.conflicts(&other), expected, "{other:?}");
            assert_eq!(other.conflicts(&web), expected, "{other:?}");
        }
        let one = port(Some("10.0.0.1"), Protocol::Tcp, 80);
        assert!(!one.conflicts(&port(Some("10.0.0.2"), Protocol::Tcp, 80)));
        assert!(one.conflicts(&port(Some("10.0.0.1"), Protocol::Tcp, 80)));
    }
}
