//! The plan of the demo: a cluster of five pools, and a workload that keeps it busy.

use model::Millis;

use crate::plan::{Faults, Plan};
use crate::{cluster, workload};

/// What the demo is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demo {
    /// Decides everything that chance decides.
    pub seed: u64,
    /// How many nodes there are, those that join later included.
    pub nodes: u32,
    /// How many minutes of virtual time pass.
    pub minutes: u32,
}

impl Demo {
    /// Nodes and jobs that follow from the seed, and the scheduler as it runs without a
    /// configuration file.
    #[must_use]
    pub fn plan(self) -> Plan {
        let span = Millis::seconds(u64::from(self.minutes) * 60);
        let nodes = cluster::plan(self.seed, self.nodes, span);
        let jobs = workload::plan(self.seed, &nodes, span);
        let settings = k8s::config::defaults(plugins::known());
        let faults = Faults { refused_percent: 1, ..Faults::NONE };
        let budgets = Vec::new();
        Plan {
            seed: self.seed,
            span,
            nodes,
            jobs,
            budgets,
            pod_groups: Vec::new(),
            groupings: Vec::new(),
            namespaces: Vec::new(),
            storage: Default::default(),
            fixed: Vec::new(),
            settings,
            faults,
        }
    }
}
