//! What tenants have of the cluster, added up over all pods on nodes.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use model::Amounts;

use super::super::ledger::Ledger;
use super::standing::{Rules, Tenant};

/// A share of everything.
const WHOLE: i128 = 1 << 32;

/// Amounts by name, and pods.
#[derive(Default)]
struct Sum<'a> {
    amounts: BTreeMap<&'a str, i128>,
    pods: i128,
}

impl<'a> Sum<'a> {
    fn add(&mut self, amounts: &'a Amounts<String>, pods: i64) {
        let fixed = [
            ("cpu", amounts.cpu),
            ("memory", amounts.memory),
            ("ephemeral-storage", amounts.ephemeral),
        ];
        let scalars = amounts.scalars.iter().map(|(name, amount)| (&**name, *amount));
        for (name, amount) in fixed.into_iter().chain(scalars) {
            *self.amounts.entry(name).or_default() += i128::from(amount);
        }
        self.pods += i128::from(pods);
    }
}

/// What everybody has, worked out once somebody asks.
pub(super) struct Shares<'a> {
    ledger: &'a Ledger,
    rules: &'a [Rules],
    sums: OnceCell<BTreeMap<Tenant<'a>, Sum<'a>>>,
    offered: OnceCell<Sum<'a>>,
}

impl<'a> Shares<'a> {
    pub(super) fn new(ledger: &'a Ledger, rules: &'a [Rules]) -> Self {
        Self { ledger, rules, sums: OnceCell::new(), offered: OnceCell::new() }
    }

    /// The largest part that a tenant has of any resource, or of room for pods, in parts of 2^32.
    pub(super) fn of(&self, tenant: Tenant<'a>) -> i128 {
        let sums = self.sums.get_or_init(|| self.taken());
        let offered = self.offered.get_or_init(|| self.offered());
        let Some(taken) = sums.get(&tenant) else { return 0 };
        let part = |taken: i128, offered: i128| match (taken, offered) {
            (..=0, _) => 0,
            (_, ..=0) => i128::MAX,
            (taken, offered) => taken * WHOLE / offered,
        };
        let all = |name: &str| offered.amounts.get(name).copied().unwrap_or(0);
        let parts = taken.amounts.iter().map(|(name, amount)| part(*amount, all(name)));
        parts.chain([part(taken.pods, offered.pods)]).max().unwrap_or(0)
    }

    /// Pods of all schedulers count in their namespace.
    fn taken(&self) -> BTreeMap<Tenant<'a>, Sum<'a>> {
        let mut sums: BTreeMap<Tenant<'a>, Sum<'a>> = BTreeMap::new();
        for facts in self.ledger.placed() {
            let amounts = &facts.spec.requests.charge.amounts;
            let namespace = Tenant::Namespace(&facts.key.namespace);
            sums.entry(namespace).or_default().add(amounts, 1);
            let rules = self.rules.iter().find(|rules| rules.scheduler == facts.spec.scheduler);
            if rules.is_some_and(|rules| rules.turns.is_none()) {
                sums.entry(Tenant::Others).or_default().add(amounts, 1);
            }
        }
        sums
    }

    fn offered(&self) -> Sum<'a> {
        let mut sum = Sum::default();
        for (facts, _) in self.ledger.nodes() {
            sum.add(&facts.allocatable, facts.pods_max);
        }
        sum
    }
}
