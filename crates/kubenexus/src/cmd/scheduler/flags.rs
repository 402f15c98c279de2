//! The flags, by the names that users of kube-scheduler know.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use model::{Millis, Quantity};

/// Runs the scheduler.
#[derive(Args)]
pub(crate) struct SchedulerArgs {
    /// A KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1); flags go before it
    ///
    /// Without a file only pods with schedulerName kubenexus-scheduler are scheduled. A file
    /// without profiles means the profile default-scheduler, as for kube-scheduler. `kubenexus
    /// check-config` says what a file means, and what to be warned of.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// How to reach the API server; without it, the service account of the pod
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The address of the API server, instead of the kubeconfig's
    #[arg(long, value_name = "URL")]
    pub(crate) master: Option<String>,
    /// Write the configuration that would run to a file, and end
    #[arg(long, value_name = "FILE")]
    pub(crate) write_config_to: Option<PathBuf>,

    /// Requests per second to the API server; negative: no limit
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "API server")]
    pub(crate) kube_api_qps: Option<f64>,
    /// Requests at once to the API server
    #[arg(long, value_name = "N", help_heading = "API server")]
    pub(crate) kube_api_burst: Option<u32>,
    /// After this long a pod that waits for a change is tried again anyway
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "API server")]
    pub(crate) pod_max_in_unschedulable_pods_duration: Option<Millis>,

    /// Whether only the holder of the lease schedules
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        help_heading = "Leader election"
    )]
    pub(crate) leader_elect: Option<bool>,
    /// How long others wait after the last renewal before they take over
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Leader election")]
    pub(crate) leader_elect_lease_duration: Option<Millis>,
    /// How long the leader tries to renew before it gives up
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Leader election")]
    pub(crate) leader_elect_renew_deadline: Option<Millis>,
    /// The time between attempts
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Leader election")]
    pub(crate) leader_elect_retry_period: Option<Millis>,
    /// The name of the lease
    #[arg(long, value_name = "NAME", help_heading = "Leader election")]
    pub(crate) leader_elect_resource_name: Option<String>,
    /// The namespace of the lease
    #[arg(long, value_name = "NAME", help_heading = "Leader election")]
    pub(crate) leader_elect_resource_namespace: Option<String>,
    /// The kind of lock; there is one
    #[arg(
        long,
        value_name = "KIND",
        value_parser = ["leases"],
        default_value = "leases",
        help_heading = "Leader election"
    )]
    pub(crate) leader_elect_resource_lock: String,

    /// Write all that goes into the engine and all it decides to this folder, for replay
    ///
    /// A journal has the names of nodes and workloads in it. See docs/journal.md.
    #[arg(long, value_name = "FOLDER", help_heading = "Journal")]
    pub(crate) journal: Option<PathBuf>,
    /// How large the journal may be; the oldest segments are deleted
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = size,
        default_value = "1Gi",
        help_heading = "Journal"
    )]
    pub(crate) journal_max_size: u64,
    /// How large a segment may be before the next is begun, at most a quarter of all
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = size,
        default_value = "64Mi",
        help_heading = "Journal"
    )]
    pub(crate) journal_segment_size: u64,

    /// Port for health and metrics over HTTPS; 0: none
    #[arg(long, value_name = "PORT", default_value_t = 10259, help_heading = "Serving")]
    pub(crate) secure_port: u16,
    /// Address to listen on
    #[arg(long, value_name = "IP", default_value = "0.0.0.0", help_heading = "Serving")]
    pub(crate) bind_address: IpAddr,
    /// Folder for a self-signed certificate; without it, the certificate is kept in memory
    #[arg(long, value_name = "FOLDER", help_heading = "Serving")]
    pub(crate) cert_dir: Option<PathBuf>,
    /// Certificate, with its chain; read again when it changes
    #[arg(long, value_name = "FILE", help_heading = "Serving")]
    pub(crate) tls_cert_file: Option<PathBuf>,
    /// Its key
    #[arg(long, value_name = "FILE", help_heading = "Serving")]
    pub(crate) tls_private_key_file: Option<PathBuf>,
    /// Paths that need no token; a * at the end stands for anything
    #[arg(
        long,
        value_name = "PATHS",
        value_delimiter = ',',
        default_value = "/healthz,/readyz,/livez",
        help_heading = "Serving"
    )]
    pub(crate) authorization_always_allow_paths: Vec<String>,

    /// Callers of /metrics are reviewed with the credentials of --kubeconfig
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Accepted from kube-scheduler, without effect"
    )]
    pub(crate) authentication_kubeconfig: Option<PathBuf>,
    /// Callers of /metrics are reviewed with the credentials of --kubeconfig
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Accepted from kube-scheduler, without effect"
    )]
    pub(crate) authorization_kubeconfig: Option<PathBuf>,
    /// No profiles of the running process are served
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        help_heading = "Accepted from kube-scheduler, without effect"
    )]
    pub(crate) profiling: Option<bool>,

    /// How much to log: 0 to 3 what happens, 4 and 5 each decision, 6 and more everything
    ///
    /// The environment variable RUST_LOG goes before it.
    #[arg(
        short = 'v',
        long = "v",
        value_name = "LEVEL",
        default_value_t = 2,
        help_heading = "Log"
    )]
    pub(crate) verbosity: u8,
    /// How log lines are written
    #[arg(long, value_enum, default_value_t = LogFormat::Text, help_heading = "Log")]
    pub(crate) logging_format: LogFormat,
}

impl SchedulerArgs {
    /// The flags that were given and do nothing.
    pub(crate) fn without_effect(&self) -> Vec<&'static str> {
        let flags = [
            ("--authentication-kubeconfig", self.authentication_kubeconfig.is_some()),
            ("--authorization-kubeconfig", self.authorization_kubeconfig.is_some()),
            ("--profiling", self.profiling.is_some()),
        ];
        flags.into_iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| flag).collect()
    }
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// One JSON object per line
    Json,
}

/// A span of time as kube-scheduler's flags have it.
fn span(text: &str) -> Result<Millis, String> {
    k8s::config::parse_span(text).map_err(|error| error.to_string())
}

/// A size in bytes, such as 64Mi.
fn size(text: &str) -> Result<u64, String> {
    let quantity = Quantity::parse(text).map_err(|error| error.to_string())?;
    let bytes = u64::try_from(quantity.units()).ok().filter(|bytes| *bytes > 0);
    bytes.ok_or_else(|| "expected more than 0".into())
}
