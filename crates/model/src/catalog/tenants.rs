//! How much each namespace has of the cluster, and those who do not take turns by namespace.

use std::collections::BTreeSet;

use crate::amounts::Amounts;
use crate::catalog::nodes::Offer;
use crate::ids::ResourceId;
use crate::map::Map;
use crate::symbol::Symbol;

/// A share of everything.
const WHOLE: i128 = 1 << 32;

/// Amounts by resource, sorted and without those that are nothing, and pods.
#[derive(Default)]
struct Sum {
    amounts: Vec<(ResourceId, i128)>,
    pods: i128,
}

impl Sum {
    fn add(&mut self, amounts: &Amounts<ResourceId>, pods: i64, sign: i128) {
        let fixed = [
            (ResourceId::CPU, amounts.cpu),
            (ResourceId::MEMORY, amounts.memory),
            (ResourceId::EPHEMERAL, amounts.ephemeral),
        ];
        for (resource, amount) in fixed.iter().chain(&amounts.scalars) {
            self.add_one(*resource, sign * i128::from(*amount));
        }
        self.pods += sign * i128::from(pods);
    }

    fn add_one(&mut self, resource: ResourceId, amount: i128) {
        if amount == 0 {
            return;
        }
        match self.amounts.binary_search_by_key(&resource, |(id, _)| *id) {
            Err(at) => self.amounts.insert(at, (resource, amount)),
            Ok(at) => {
                self.amounts[at].1 += amount;
                if self.amounts[at].1 == 0 {
                    self.amounts.remove(at);
                }
            }
        }
    }

    fn of(&self, resource: ResourceId) -> i128 {
        let found = self.amounts.binary_search_by_key(&resource, |(id, _)| *id);
        found.map_or(0, |at| self.amounts[at].1)
    }
}

/// Who takes turns with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tenant {
    /// The units of a namespace, in profiles whose namespaces take turns.
    Namespace(Symbol),
    /// The units of all other profiles together.
    Others,
}

/// Whose share may be another one.
#[derive(Debug, PartialEq, Eq)]
pub enum Moved {
    /// Everybody's: the cluster is larger or smaller.
    All,
    /// That of these.
    Some(BTreeSet<Tenant>),
}

/// What the pods of every namespace take, and what all nodes offer.
#[derive(Default)]
pub(super) struct Tenants {
    /// Of namespaces that have pods on nodes.
    taken: Map<Symbol, Sum>,
    /// Profiles whose units take no turns, and what the pods of these take.
    other_schedulers: Box<[String]>,
    taken_by_others: Sum,
    offered: Sum,
    moved: BTreeSet<Tenant>,
    are_all_moved: bool,
    /// Whether nobody takes turns, so that no share matters.
    is_unused: bool,
}

impl Tenants {
    /// Notes whose units take no turns with those of namespaces, and whether nobody else is there.
    pub(super) fn set_others(&mut self, schedulers: Box<[String]>, are_all: bool) {
        (self.other_schedulers, self.is_unused) = (schedulers, are_all);
    }

    /// A pod of a namespace came to a node, or left it.
    pub(super) fn charge(
        &mut self,
        (namespace, scheduler): (Symbol, &str),
        amounts: &Amounts<ResourceId>,
        is_placed: bool,
    ) {
        if self.is_unused {
            return;
        }
        let sign = if is_placed { 1 } else { -1 };
        let taken = self.taken.entry(namespace).or_default();
        taken.add(amounts, 1, sign);
        if taken.pods == 0 {
            self.taken.remove(&namespace);
        }
        self.moved.insert(Tenant::Namespace(namespace));
        if self.other_schedulers.iter().any(|other| other == scheduler) {
            self.taken_by_others.add(amounts, 1, sign);
            self.moved.insert(Tenant::Others);
        }
    }

    /// A node came, or went.
    pub(super) fn offer(&mut self, offer: &Offer, is_there: bool) {
        if self.is_unused {
            return;
        }
        let sign = if is_there { 1 } else { -1 };
        self.offered.add(&offer.amounts, offer.pods_max, sign);
        self.are_all_moved = true;
    }

    /// The largest part that a tenant has of any resource, or of room for pods.
    pub(super) fn share(&self, tenant: Tenant) -> u64 {
        let taken = match tenant {
            Tenant::Namespace(namespace) => self.taken.get(&namespace),
            Tenant::Others => Some(&self.taken_by_others),
        };
        let Some(taken) = taken else { return 0 };
        let part = |taken: i128, offered: i128| match (taken, offered) {
            (..=0, _) => 0,
            (_, ..=0) => u64::MAX,
            (taken, offered) => u64::try_from(taken * WHOLE / offered).unwrap_or(u64::MAX),
        };
        let amounts = taken.amounts.iter();
        let parts = amounts.map(|(resource, amount)| part(*amount, self.offered.of(*resource)));
        parts.chain([part(taken.pods, self.offered.pods)]).max().unwrap_or(0)
    }

    /// Whose share may have changed since this was last asked.
    pub(super) fn take_moved(&mut self) -> Moved {
        let moved = std::mem::take(&mut self.moved);
        if std::mem::take(&mut self.are_all_moved) { Moved::All } else { Moved::Some(moved) }
    }

    /// How many namespaces are kept.
    pub(super) fn count(&self) -> usize {
        self.taken.len()
    }
}
