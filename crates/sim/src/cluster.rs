//! The nodes of the demo: five groups, of which a few nodes come late, close for a while or leave.

use model::{Effect, Millis, NodeFacts, Taint, Time};

use crate::dice::{Dice, Stream};
use crate::plan::{Fate, NodePlan};
use crate::quantities::{GIB_IN_MIB, amounts};
use crate::scenario::machines::Machine;

pub(crate) const POOL: &str = "pool";
pub(crate) const DISK: &str = "disk";
pub(crate) const ZONE: &str = "topology.kubernetes.io/zone";
pub(crate) const ZONES: [&str; 3] = ["zone-a", "zone-b", "zone-c"];
/// Zones are not of one size.
const ZONE_OF: [&str; 7] = ["zone-a", "zone-b", "zone-b", "zone-c", "zone-c", "zone-c", "zone-c"];
/// The taint that keeps pods without GPUs off the expensive nodes.
pub(crate) const GPU_TAINT: &str = "nvidia.com/gpu";
/// The taint of nodes that may be taken away at any time.
pub(crate) const SPOT_TAINT: &str = "spot";

/// Nodes that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    General,
    Memory,
    GpuA100,
    GpuL4,
    Spot,
}

impl Group {
    pub(crate) const ALL: [Self; 5] =
        [Self::General, Self::Memory, Self::GpuA100, Self::GpuL4, Self::Spot];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Memory => "memory",
            Self::GpuA100 => "gpu-a100",
            Self::GpuL4 => "gpu-l4",
            Self::Spot => "spot",
        }
    }

    /// How many of a hundred nodes belong to it; general nodes make up the rest.
    fn percent(self) -> u32 {
        match self {
            Self::General => 0,
            Self::Memory => 15,
            Self::GpuA100 => 6,
            Self::GpuL4 => 9,
            Self::Spot => 15,
        }
    }

    /// What its nodes are, and what their kubelets insist on, where it is told what is inside.
    fn machine(self) -> Option<Machine> {
        match self {
            Self::GpuA100 => Machine::aligned("dgx-a100", "best-effort"),
            Self::General | Self::Memory | Self::GpuL4 | Self::Spot => None,
        }
    }

    /// CPUs, GiB of memory and GPUs of a node that is no machine of a type.
    fn size(self) -> (i64, i64, i64) {
        match self {
            Self::General => (16, 64, 0),
            Self::Memory => (16, 256, 0),
            Self::GpuA100 => (254, 1020, 8),
            Self::GpuL4 => (48, 192, 4),
            Self::Spot => (8, 32, 0),
        }
    }

    fn taint(self) -> Option<Taint<String>> {
        let taint = |key: &str, value: &str, effect| {
            Some(Taint { key: key.to_owned(), value: value.to_owned(), effect })
        };
        match self {
            Self::General | Self::Memory => None,
            Self::GpuA100 | Self::GpuL4 => taint(GPU_TAINT, "present", Effect::NoSchedule),
            Self::Spot => taint(SPOT_TAINT, "true", Effect::PreferNoSchedule),
        }
    }
}

/// How long after a node is closed its pods are evicted, and how long after that it is gone.
const DRAIN: Millis = Millis::seconds(30);

/// All nodes of a cluster, present and future.
pub(crate) fn plan(seed: u64, nodes: u32, span: Millis) -> Vec<NodePlan> {
    let mut dice = Dice::new(seed, Stream::Cluster);
    let share = |group: &Group| (*group, nodes * group.percent() / 100);
    let mut sizes = Group::ALL.map(|group| share(&group));
    let others: u32 = sizes.iter().map(|(_, count)| count).sum();
    sizes[0].1 = nodes - others;
    let mut plans = Vec::new();
    for (group, count) in sizes {
        for number in 1..=count {
            let (joins, fates) = fates(&mut dice, group, span);
            let facts = facts(&mut dice, group, number);
            plans.push(NodePlan { joins, fates, ..NodePlan::new(group.name(), facts) });
        }
    }
    plans
}

/// When a node joins, and what becomes of it.
fn fates(dice: &mut Dice, group: Group, span: Millis) -> (Time, Vec<(Time, Fate)>) {
    // Spot nodes leave more often: that is why they are cheap.
    let leaving = if group == Group::Spot { 12 } else { 1 };
    let at = Time(dice.between(span.0 / 10, span.0 * 8 / 10));
    let start = Time::default();
    match dice.between(0, 99) {
        draw if draw < 4 => (at, Vec::new()),
        draw if draw < 6 => {
            (start, vec![(at, Fate::Closes), (at + Millis(span.0 / 10), Fate::Opens)])
        }
        draw if draw < 6 + leaving => {
            let gone = at + DRAIN + DRAIN;
            (start, vec![(at, Fate::Closes), (at + DRAIN, Fate::Drains), (gone, Fate::Leaves)])
        }
        _ => (start, Vec::new()),
    }
}

fn facts(dice: &mut Dice, group: Group, number: u32) -> NodeFacts {
    let name = format!("{}-{number:03}", group.name());
    let disk = if dice.percent(50) { "ssd" } else { "hdd" };
    let labels = [
        ("kubernetes.io/hostname", name.as_str()),
        (POOL, group.name()),
        (DISK, disk),
        (ZONE, dice.pick(&ZONE_OF)),
    ];
    let mut labels: Vec<_> = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let taints = group.taint().into_iter().collect();
    if let Some(machine) = group.machine().map(|machine| machine.facts()) {
        labels.extend(machine.labels);
        return NodeFacts { labels, taints, name, ..machine };
    }
    let (cpus, memory_gib, gpus) = group.size();
    NodeFacts {
        labels,
        taints,
        allocatable: amounts(cpus * 1000, memory_gib * GIB_IN_MIB, gpus),
        pods_max: 110,
        name,
        ..NodeFacts::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_share_all_nodes() {
        for nodes in [0, 1, 7, 20, 200, 5000] {
            let plans = plan(1, nodes, Millis::seconds(60));
            assert_eq!(plans.len() as u32, nodes);
        }
        let plans = plan(1, 200, Millis::seconds(60));
        let of = |group: Group| plans.iter().filter(move |plan| *plan.pool == *group.name());
        assert_eq!(Group::ALL.map(|group| of(group).count()), [110, 30, 12, 18, 30]);
    }

    #[test]
    fn a_pool_is_machines_of_a_type() {
        let plans = plan(1, 200, Millis::seconds(60));
        let mut known = plans.iter().filter(|plan| plan.facts.hardware.is_some());
        assert!(known.clone().all(|plan| &*plan.pool == Group::GpuA100.name()));
        let facts = &known.next().expect("nodes with GPUs").facts;
        let (cpus, memory_gib, gpus) = Group::GpuA100.size();
        let expected = amounts(cpus * 1000, memory_gib * GIB_IN_MIB, gpus);
        assert_eq!(facts.allocatable, expected);
    }

    #[test]
    fn some_nodes_come_late_close_and_leave() {
        let plans = plan(42, 200, Millis::seconds(3600));
        let has = |fate| plans.iter().any(|plan| plan.fates.iter().any(|(_, f)| *f == fate));
        assert!(plans.iter().any(|plan| plan.joins > Time::default()));
        assert!(has(Fate::Opens));
        assert!(has(Fate::Leaves));
    }
}
