//! Everything a configuration says, after defaults: what the scheduler starts with.

use framework::{Args, CoschedulingArgs, ProfileSettings};
use model::Millis;

use super::checks::{gang_args, runs_gangs};

/// A configuration, checked and complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The profiles, at least one, with different names.
    pub profiles: Vec<ProfileSettings>,
    /// How long a unit waits after its first failed attempt; the wait doubles with each.
    pub initial_backoff: Millis,
    /// How long it waits at most.
    pub max_backoff: Millis,
    /// Who leads when several replicas run.
    pub leader_election: LeaderElection,
    /// How the API server is reached.
    pub client_connection: ClientConnection,
    /// How many nodes kube-scheduler would score. Accepted; every node is scored.
    pub percentage_of_nodes_to_score: Option<u8>,
    /// How many goroutines kube-scheduler would use. Accepted; the engine needs none.
    pub parallelism: u32,
    /// Whether profiles of the running process can be taken.
    pub enable_profiling: bool,
    /// Whether they tell who waits for locks.
    pub enable_contention_profiling: bool,
    /// Whether a replica starts to watch only once it leads.
    pub delay_cache_until_active: bool,
}

/// Leader election by lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderElection {
    /// Whether only the holder of the lease schedules.
    pub leader_elect: bool,
    /// How long others wait after the last renewal before they take over.
    pub lease_duration: Millis,
    /// How long the leader tries to renew before it gives up.
    pub renew_deadline: Millis,
    /// The time between attempts.
    pub retry_period: Millis,
    /// The kind of lock; `leases` is the only one.
    pub resource_lock: String,
    /// The lease's name.
    pub resource_name: String,
    /// The lease's namespace.
    pub resource_namespace: String,
}

/// How the API server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientConnection {
    /// A kubeconfig file; without one, the service account of the pod is used.
    pub kubeconfig: Option<String>,
    /// The Accept header; empty means the client's own.
    pub accept_content_types: String,
    /// The content type of what is sent.
    pub content_type: String,
    /// Thousandths of requests per second; below zero there is no limit.
    pub qps_milli: i64,
    /// How many requests may be made at once.
    pub burst: u32,
}

impl Settings {
    /// The arguments of `Coscheduling` that count for gangs of all profiles.
    #[must_use]
    pub fn gang_args(&self) -> CoschedulingArgs {
        let profile = self.profiles.iter().find(|profile| runs_gangs(profile));
        profile.map_or_else(CoschedulingArgs::default, gang_args)
    }

    /// Whether a tenant has namespaces by ClusterQueues of Kueue.
    #[must_use]
    pub fn names_cluster_queues(&self) -> bool {
        self.profiles.iter().any(|profile| match profile.args_of("ProfileClassifier") {
            Some(Args::Classifier(args)) => {
                args.tenants.iter().any(|tenant| !tenant.cluster_queues.is_empty())
            }
            _ => false,
        })
    }

    /// kube-scheduler's defaults, around the given profiles.
    pub(super) fn around(profiles: Vec<ProfileSettings>) -> Self {
        Self {
            profiles,
            initial_backoff: Millis::seconds(1),
            max_backoff: Millis::seconds(10),
            leader_election: LeaderElection::default(),
            client_connection: ClientConnection::default(),
            percentage_of_nodes_to_score: None,
            parallelism: 16,
            enable_profiling: true,
            enable_contention_profiling: true,
            delay_cache_until_active: false,
        }
    }
}

impl Default for LeaderElection {
    fn default() -> Self {
        Self {
            leader_elect: true,
            lease_duration: Millis::seconds(15),
            renew_deadline: Millis::seconds(10),
            retry_period: Millis::seconds(2),
            resource_lock: "leases".into(),
            // Not kube-scheduler's name: both may run in one cluster, each with a leader.
            resource_name: "kubenexus-scheduler".into(),
            resource_namespace: "kube-system".into(),
        }
    }
}

impl Default for ClientConnection {
    fn default() -> Self {
        Self {
            kubeconfig: None,
            accept_content_types: String::new(),
            content_type: "application/vnd.kubernetes.protobuf".into(),
            qps_milli: 50_000,
            burst: 100,
        }
    }
}
