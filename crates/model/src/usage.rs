//! What is taken of every node. Changes only inside a [`crate::Txn`].
//!
//! Every change is written to a short log of touched nodes, so that whoever keeps results per node
//! can bring them up to date by looking at those nodes alone.

use crate::amounts::Charge;
use crate::catalog::Class;
use crate::ids::{NodeId, ResourceId};
use crate::map::Map;
use crate::spec::{HostPort, Repels};
use crate::symbol::Symbol;

/// What the pods on one node take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Thousandths of a CPU.
    pub cpu: i64,
    /// Bytes of memory.
    pub memory: i64,
    /// Bytes of local storage.
    pub ephemeral: i64,
    /// CPU as scores count it.
    pub scored_cpu: i64,
    /// Memory as scores count it.
    pub scored_memory: i64,
    /// How many pods.
    pub pods: i64,
    scalars: Vec<(ResourceId, i64)>,
    ports: Vec<(HostPort<Symbol>, u32)>,
}

impl Load {
    /// How much of a counted resource is taken.
    #[must_use]
    pub fn scalar(&self, resource: ResourceId) -> i64 {
        self.scalars.iter().find(|(id, _)| *id == resource).map_or(0, |(_, amount)| *amount)
    }

    /// Whether a port of `wanted` is taken.
    #[must_use]
    pub fn has_port_conflict(&self, wanted: &[HostPort<Symbol>]) -> bool {
        self.ports.iter().any(|(taken, _)| wanted.iter().any(|port| port.conflicts(taken)))
    }

    fn add(&mut self, charge: &Charge<ResourceId>, sign: i64) {
        let amounts = &charge.amounts;
        // Absurd requests wrap around, as they do in kube-scheduler, and come back when undone.
        let add = |total: &mut i64, amount: i64| {
            *total = total.wrapping_add(sign.wrapping_mul(amount));
        };
        add(&mut self.cpu, amounts.cpu);
        add(&mut self.memory, amounts.memory);
        add(&mut self.ephemeral, amounts.ephemeral);
        add(&mut self.scored_cpu, charge.scored_cpu);
        add(&mut self.scored_memory, charge.scored_memory);
        self.pods += sign;
        if amounts.scalars.is_empty() {
            return;
        }
        for (resource, amount) in &amounts.scalars {
            match self.scalars.iter_mut().find(|(id, _)| id == resource) {
                Some((_, total)) => add(total, *amount),
                None => self.scalars.push((*resource, sign.wrapping_mul(*amount))),
            }
        }
        self.scalars.retain(|(_, amount)| *amount != 0);
    }

    fn add_port(&mut self, port: &HostPort<Symbol>) {
        match self.ports.iter_mut().find(|(taken, _)| taken == port) {
            Some((_, count)) => *count += 1,
            None => self.ports.push((port.clone(), 1)),
        }
    }

    fn remove_port(&mut self, port: &HostPort<Symbol>) {
        let at = self.ports.iter().position(|(taken, _)| taken == port);
        let at = at.expect("a port that a pod gives up was taken");
        self.ports[at].1 -= 1;
        if self.ports[at].1 == 0 {
            self.ports.swap_remove(at);
        }
    }
}

/// A node that is not what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Which node.
    pub node: NodeId,
    /// Whether its facts changed, and not only what is taken of it.
    pub is_facts: bool,
}

/// What is taken, node by node.
#[derive(Default)]
pub struct Usage {
    loads: Vec<Load>,
    touched: Vec<Touch>,
    /// How many log entries were dropped before the first that is kept.
    touched_before: u64,
    repelling: Map<Symbol, u32>,
    repelling_any: u32,
    /// Scratch of transactions, kept so that a placement allocates nothing.
    pub(crate) undo: Vec<crate::txn::Step>,
}

impl Usage {
    /// What is taken of a node.
    #[must_use]
    pub fn load(&self, node: NodeId) -> &Load {
        &self.loads[node.index()]
    }

    /// Whether a pod of this namespace may be kept away by the anti-affinity of a pod on a node.
    #[must_use]
    pub fn may_be_repelled(&self, namespace: Symbol) -> bool {
        self.repelling_any > 0 || self.repelling.contains_key(&namespace)
    }

    /// Makes room for places of nodes.
    pub fn grow(&mut self, places: usize) {
        if self.loads.len() < places {
            self.loads.resize(places, Load::default());
        }
    }

    /// Notes that the facts of a node changed.
    pub fn touch_facts(&mut self, node: NodeId) {
        self.touch(Touch { node, is_facts: true });
    }

    fn touch(&mut self, touch: Touch) {
        // Readers that are further behind than this look at all nodes anew, which is cheaper.
        let keep = self.loads.len().max(1024);
        if self.touched.len() >= 2 * keep {
            let dropped = self.touched.len() - keep;
            self.touched.drain(..dropped);
            self.touched_before += dropped as u64;
        }
        self.touched.push(touch);
    }

    /// The mark of the log's end, to be given to [`Usage::touched_since`] later.
    #[must_use]
    pub fn mark(&self) -> u64 {
        self.touched_before + self.touched.len() as u64
    }

    /// Nodes touched since a mark, or nothing if the log does not reach back that far.
    #[must_use]
    pub fn touched_since(&self, mark: u64) -> Option<&[Touch]> {
        let dropped = mark.checked_sub(self.touched_before)?;
        usize::try_from(dropped).ok().and_then(|at| self.touched.get(at..))
    }

    pub(crate) fn place(&mut self, class: &Class, node: NodeId) {
        let load = &mut self.loads[node.index()];
        load.add(&class.requests.charge, 1);
        class.ports.iter().for_each(|port| load.add_port(port));
        match class.spec.repels {
            None => {}
            Some(Repels::OwnNamespace) => {
                *self.repelling.entry(class.namespace).or_default() += 1;
            }
            Some(Repels::AnyNamespace) => self.repelling_any += 1,
        }
        self.touch(Touch { node, is_facts: false });
    }

    pub(crate) fn evict(&mut self, class: &Class, node: NodeId) {
        let load = &mut self.loads[node.index()];
        load.add(&class.requests.charge, -1);
        assert!(load.pods >= 0, "a pod that leaves a node was on it");
        class.ports.iter().for_each(|port| load.remove_port(port));
        match class.spec.repels {
            None => {}
            Some(Repels::OwnNamespace) => {
                let count = self.repelling.get_mut(&class.namespace);
                let count = count.expect("a repelling pod that leaves was counted");
                *count -= 1;
                if *count == 0 {
                    self.repelling.remove(&class.namespace);
                }
            }
            Some(Repels::AnyNamespace) => self.repelling_any -= 1,
        }
        self.touch(Touch { node, is_facts: false });
    }
}
