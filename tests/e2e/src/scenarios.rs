//! The scenarios, in the order in which they run.

mod agent;
mod binds;
mod circles;
mod fabric;
mod faults;
mod gangs;
mod gpus;
mod groups;
mod journal;
mod numa;
mod others;
mod plain;
mod replicas;
mod rights;
mod serving;
mod spread;
mod tenants;
mod tiers;
mod volumes;
mod waiting;

use crate::suite::{Run, Scenario};
use crate::world::World;

/// As it comes.
const STANDARD: &[&str] = &[];

/// Without the optional APIs a scheduler may read.
const APIS_OFF: &[&str] =
    &["--runtime-config=resource.k8s.io/v1=false,scheduling.k8s.io/v1beta1=false"];

/// With the native API for gangs.
const GANGS: &[&str] =
    &["--feature-gates=GenericWorkload=true", "--runtime-config=scheduling.k8s.io/v1beta1=true"];

/// The same with groups of groups.
const COMPOSITES: &[&str] = &[
    "--feature-gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true,\
     CompositePodGroup=true",
    "--runtime-config=scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true",
];

/// Lists are not streamed.
const NO_STREAMS: &[&str] = &["--feature-gates=WatchList=false"];

/// All of them. Those of a control plane stand together; the last one looks back at all.
pub(crate) const ALL: &[Scenario] = &[
    standard("deployment", plain::deployment),
    standard("job", plain::job),
    standard("streaming-lists", plain::streaming_lists),
    standard("fits-nowhere", waiting::fits_nowhere),
    standard("gated", waiting::gated),
    ours("gates-gone", waiting::gates_gone, STANDARD),
    standard("told-late", waiting::told_late),
    standard("waits-for-node", waiting::waits_for_node),
    standard("taints", waiting::taints),
    standard("other-schedulers", others::other_schedulers),
    standard("profiles", others::profiles),
    ours("beside-default", others::beside_default, STANDARD),
    standard("nominated", others::nominated),
    standard("evictions-end", circles::evictions_end),
    standard("serving", serving::serving),
    ours("kubelet-rejects", serving::kubelet_rejects, STANDARD),
    standard("watches-cut", faults::watches_cut),
    ours("cut-off", faults::cut_off, STANDARD),
    standard("bind-409", binds::answered_409),
    standard("bind-404", binds::answered_404),
    standard("bind-429", binds::answered_429),
    standard("bind-500", binds::answered_500),
    ours("bind-silence-before", binds::silence_before, STANDARD),
    ours("bind-silence-after", binds::silence_after, STANDARD),
    ours("bind-cut-after", binds::cut_after, STANDARD),
    standard("bound-by-others", binds::bound_by_others),
    standard("node-deleted", binds::node_deleted),
    standard("killed-halfway", binds::killed_halfway),
    standard("volume-409", volumes::write_409),
    standard("volume-500", volumes::write_500),
    standard("volume-cut", volumes::write_cut),
    ours("volume-silence", volumes::write_silence, STANDARD),
    standard("volume-killed", volumes::killed),
    standard("leader-killed", replicas::leader_killed),
    standard("leader-frozen", replicas::leader_frozen),
    ours("leader-ends", replicas::leader_ends, STANDARD),
    ours("journal", journal::journal, STANDARD),
    ours("snapshot", journal::snapshot, STANDARD),
    ours("tier-unknown", tiers::unknown, STANDARD),
    ours("tier-queue", tiers::queue, STANDARD),
    ours("agent-own-node", agent::own_node, STANDARD),
    ours("agent-topology", agent::topology, STANDARD),
    ours("numa-single", numa::single, STANDARD),
    ours("numa-restricted", numa::restricted, STANDARD),
    ours("numa-isolated", numa::isolated, STANDARD),
    ours("numa-kubelet", numa::kubelet, STANDARD),
    ours("numa-gang", numa::gang, STANDARD),
    ours("numa-unknown", numa::unknown, STANDARD),
    ours("numa-topology", numa::topology, STANDARD),
    ours("numa-slices", numa::slices, STANDARD),
    ours("numa-restart", numa::restart, STANDARD),
    ours("gpu-memory", gpus::memory, STANDARD),
    ours("gpu-islands", gpus::islands, STANDARD),
    ours("gpu-fractions", gpus::fractions, STANDARD),
    ours("gpu-invalid", gpus::invalid, STANDARD),
    ours("spread-zones", spread::zones, STANDARD),
    ours("spread-mixed", spread::mixed, STANDARD),
    ours("tenants", tenants::tenants, STANDARD),
    ours("tenants-none", tenants::untiered, STANDARD),
    ours("fabric-rack", fabric::rack, STANDARD),
    ours("fabric-spine", fabric::spine, STANDARD),
    ours("fabric-ranks", fabric::ranks, STANDARD),
    ours("fabric-tiers", fabric::tiers, STANDARD),
    standard("apiserver-restart", faults::apiserver_restart),
    standard("compaction", faults::compaction),
    ours("gang-waits-whole", gangs::waits_whole, GANGS),
    ours("gang-one-of-two", gangs::one_of_two, GANGS),
    ours("gang-killed-between", gangs::killed_between, GANGS),
    ours("gang-taken-back", gangs::taken_back, GANGS),
    ours("gang-after", gangs::after, GANGS),
    ours("gang-tier", gangs::tier, GANGS),
    ours("gang-asked-alike", gangs::asked_alike, GANGS),
    ours("gang-drivers", gangs::drivers, GANGS),
    ours("gang-example", gangs::example, GANGS),
    ours("gang-volumes", volumes::gang_volumes, GANGS),
    ours("gang-foreign", groups::foreign, GANGS),
    Scenario {
        name: "gang-one-by-one",
        run: groups::one_by_one,
        apiserver_flags: GANGS,
        suits_reference: true,
    },
    Scenario {
        name: "gang-priorities",
        run: groups::priorities,
        apiserver_flags: GANGS,
        suits_reference: true,
    },
    ours("gang-composite", groups::composite, COMPOSITES),
    ours("fabric-two-levels", fabric::two_levels, COMPOSITES),
    ours("apis-off-deployment", plain::deployment, APIS_OFF),
    ours("apis-off-job", plain::job, APIS_OFF),
    ours("apis-off-waits-for-node", waiting::waits_for_node, APIS_OFF),
    ours("apis-off-gated", waiting::gated, APIS_OFF),
    ours("apis-off-taints", waiting::taints, APIS_OFF),
    ours("paged-lists", plain::paged_lists, NO_STREAMS),
    ours("paged-deployment", plain::deployment, NO_STREAMS),
    ours("rights", rights::rights, NO_STREAMS),
];

type Function = for<'a> fn(&'a mut World) -> Run<'a>;

const fn standard(name: &'static str, run: Function) -> Scenario {
    Scenario { name, run, apiserver_flags: STANDARD, suits_reference: true }
}

/// Not for kube-scheduler: it waits for ever for DRA and for answers to binds, gives the room of a
/// pod away when the answer to its bind is lost, does not page what it lists first, loses
/// events when it ends or is cut off, has rights of its own, and neither journal nor snapshot.
const fn ours(name: &'static str, run: Function, flags: &'static [&'static str]) -> Scenario {
    Scenario { name, run, apiserver_flags: flags, suits_reference: false }
}
