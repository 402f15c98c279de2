//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Publishes what a node's machine consists of.
///
/// Reads NUMA nodes, CPUs, GPUs and networks from /sys, GPUs also from NVIDIA's library if it is
/// there, and from the kubelet which pod holds what. Writes labels and annotations of its own node
/// below numa.kubenexus.io, gpu.kubenexus.io, network.kubenexus.io and device.kubenexus.io, and
/// NUMA nodes as a NodeResourceTopology where that exists and is nobody else's. What it does not
/// find is left out; what is gone is removed; keys that others hold are left to them. Every 60 s,
/// and within 5 s of a change. See docs/NODE_SETUP_GUIDE.md.
#[derive(Clone, Debug, Parser)]
#[command(name = "kubenexus-agent", version, max_term_width = 100, args_override_self = true)]
pub struct Options {
    /// The node this runs on
    #[arg(long, env = "NODE_NAME", value_name = "NAME", value_parser = node_name)]
    pub node_name: Option<String>,
    /// How the API server is reached; inside a pod the pod's own service account is used
    #[arg(long, env = "KUBECONFIG", value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Print what would be written, and end; needs no API server
    ///
    /// Prints YAML documents in JSON notation. `--publish auto` prints labels, because who owns the
    /// NodeResourceTopology is not asked.
    #[arg(long)]
    pub dry_run: bool,
    /// Write once and end, with 1 if that failed
    #[arg(long)]
    pub once: bool,
    /// Where NUMA nodes and other short values go
    #[arg(long, value_enum, default_value_t = Publish::Auto)]
    pub publish: Publish,
    /// The feature file of `--publish nfd`
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/etc/kubernetes/node-feature-discovery/features.d/kubenexus"
    )]
    pub nfd_features: PathBuf,
    /// Where the machine is described
    #[arg(long, value_name = "FOLDER", default_value = "/sys")]
    pub sysfs_root: PathBuf,
    /// NVIDIA's management library; GPUs are described without it, but in less detail
    #[arg(long, value_name = "FILE", default_value = "libnvidia-ml.so.1")]
    pub nvml: PathBuf,
    /// The kubelet's PodResources socket
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/var/lib/kubelet/pod-resources/kubelet.sock"
    )]
    pub kubelet_socket: PathBuf,
    /// The kubelet's configuration, which says how it aligns pods with NUMA nodes
    #[arg(long, value_name = "FILE", default_value = "/var/lib/kubelet/config.yaml")]
    pub kubelet_config: PathBuf,
    /// Where the kubelet keeps logs of pods; the names of its folders say which uid a pod has
    #[arg(long, value_name = "FOLDER", default_value = "/var/log/pods")]
    pub pod_logs: PathBuf,
    /// How much is logged
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log_level: tracing::Level,
}

/// Where short values go. Lists are annotations of the node in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Publish {
    /// NUMA nodes in a NodeResourceTopology if the API server knows that kind, nobody else writes
    /// the node's, and the kubelet says what it has given; otherwise as labels
    Auto,
    /// Labels of the node
    Labels,
    /// NUMA nodes in a NodeResourceTopology, or it is an error
    Nrt,
    /// Labels as a local feature file, from which Node Feature Discovery makes them
    Nfd,
}

/// Names of nodes become part of paths.
fn node_name(text: &str) -> Result<String, String> {
    let is_name = (1..=253).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.')
        && !text.starts_with(['-', '.'])
        && !text.ends_with(['-', '.']);
    if is_name { Ok(text.into()) } else { Err("expected the name of a node".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_nodes_are_names() {
        assert!(node_name("ip-10-0-0-1.ec2.internal").is_ok());
        for text in ["", "a/b", "A", "-a", "a.", "a?b", "a b"] {
            assert!(node_name(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory as _;
        Options::command().debug_assert();
    }
}
