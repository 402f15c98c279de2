//! How much each namespace has of the cluster.

use std::collections::BTreeSet;

use crate::amounts::Amounts;
use crate::catalog::nodes::Offer;
use crate::ids::ResourceId;
use crate::map::Map;
use crate::symbol::Symbol;

/// A share of everything.
const WHOLE: i128 = 1 << 32;

/// Amounts by resource, and pods.
#[derive(Default)]
struct Sum {
    amounts: Vec<i128>,
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
            let at = resource.index();
            if self.amounts.len() <= at {
                self.amounts.resize(at + 1, 0);
            }
            self.amounts[at] += sign * i128::from(*amount);
        }
        self.pods += sign * i128::from(pods);
    }
}

/// What the pods of every namespace take, and what all nodes offer.
#[derive(Default)]
pub(super) struct Tenants {
    taken: Map<Symbol, Sum>,
    offered: Sum,
    /// Namespaces whose share may be another one.
    moved: BTreeSet<Symbol>,
    are_all_moved: bool,
}

impl Tenants {
    /// A pod of a namespace came to a node, or left it.
    pub(super) fn charge(
        &mut self,
        namespace: Symbol,
        amounts: &Amounts<ResourceId>,
        is_placed: bool,
    ) {
        let sign = if is_placed { 1 } else { -1 };
        self.taken.entry(namespace).or_default().add(amounts, 1, sign);
        self.moved.insert(namespace);
    }

    /// A node came, or went.
    pub(super) fn offer(&mut self, offer: &Offer, is_there: bool) {
        let sign = if is_there { 1 } else { -1 };
        self.offered.add(&offer.amounts, offer.pods_max, sign);
        self.are_all_moved = true;
    }

    /// The largest part that a namespace has of any resource, or of room for pods.
    pub(super) fn share(&self, namespace: Symbol) -> u64 {
        let Some(taken) = self.taken.get(&namespace) else { return 0 };
        let part = |taken: i128, offered: i128| match (taken, offered) {
            (..=0, _) => 0,
            (_, ..=0) => u64::MAX,
            (taken, offered) => u64::try_from(taken * WHOLE / offered).unwrap_or(u64::MAX),
        };
        let offered = |at: usize| self.offered.amounts.get(at).copied().unwrap_or(0);
        let amounts = taken.amounts.iter().enumerate();
        let parts = amounts.map(|(at, amount)| part(*amount, offered(at)));
        parts.chain([part(taken.pods, self.offered.pods)]).max().unwrap_or(0)
    }

    /// The namespaces whose share may have changed since this was last asked.
    pub(super) fn take_moved(&mut self) -> BTreeSet<Symbol> {
        let mut moved = std::mem::take(&mut self.moved);
        if std::mem::take(&mut self.are_all_moved) {
            moved.extend(self.taken.keys());
        }
        moved
    }
}
