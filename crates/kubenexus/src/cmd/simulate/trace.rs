//! `kubenexus simulate --trace`: public traces, from files of the user.

mod openb;
mod philly;
mod seeds;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::ValueEnum;

/// Which trace, and how to run it.
#[derive(clap::Args)]
#[command(next_help_heading = "Traces")]
pub(crate) struct TraceArgs {
    /// Run a public trace: openb needs --nodes and --pods, philly --jobs and --nodes-file
    #[arg(long, value_name = "NAME", conflicts_with = "swarm")]
    trace: Option<Name>,
    /// openb: its nodes (CSV with sn, cpu_milli, memory_mib, gpu, model)
    #[arg(long, value_name = "FILE", required_if_eq("trace", "openb"), requires = "trace")]
    nodes: Option<PathBuf>,
    /// openb: its pods (CSV with cpu_milli, memory_mib, num_gpu, gpu_milli and perhaps gpu_spec,
    /// creation_time, deletion_time)
    #[arg(long, value_name = "FILE", required_if_eq("trace", "openb"), requires = "trace")]
    pods: Option<PathBuf>,
    /// openb: who places the pods [default: kubenexus]
    #[arg(long, requires = "trace")]
    policy: Option<openb::PolicyName>,
    /// openb: let pods arrive until they ask for this percentage of all GPUs
    /// [default: 130]
    #[arg(long, value_name = "PERCENT", requires = "trace")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    arrivals: Option<u32>,
    /// openb: let pods run as long as they did and leave, and those that do not fit wait
    #[arg(long, requires = "trace", conflicts_with = "arrivals")]
    departures: bool,
    /// openb with --departures: the GPU time that pods would use until the last arrival if none
    /// had to wait, as a multiple of what there is [default: 1.2]
    #[arg(long, value_name = "LOAD", requires = "departures", value_parser = openb::load)]
    load: Option<u64>,
    /// openb with --policy kubenexus, and only there: whether the scheduler learns what pods ask
    /// for as they come, or is told before the first does [default: learnt]
    #[arg(long, value_name = "KIND", requires = "trace")]
    demand: Option<openb::DemandName>,
    /// philly: its jobs (CSV with timestamp, duration, num_gpus, cluster)
    #[arg(long, value_name = "FILE", required_if_eq("trace", "philly"), requires = "trace")]
    jobs: Option<PathBuf>,
    /// philly: the nodes to run the jobs on (YAML with Nodes; examples/simulate has some)
    #[arg(long, value_name = "FILE", required_if_eq("trace", "philly"), requires = "trace")]
    nodes_file: Option<PathBuf>,
    /// philly: the profile that places the pods [default: kubenexus-scheduler]
    #[arg(long, value_name = "NAME", requires = "trace")]
    profile: Option<philly::ProfileName>,
    /// philly: run only the first jobs
    #[arg(long, value_name = "N", requires = "trace")]
    limit: Option<usize>,
}

/// The traces there are.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Name {
    /// Alibaba's GPU cluster, with the method of the FGD paper
    Openb,
    /// Microsoft's GPU cluster, with its own arrivals and durations
    Philly,
}

impl TraceArgs {
    /// Whether a trace is asked for.
    pub(crate) fn is_asked(&self) -> bool {
        self.trace.is_some()
    }

    /// Refuses what the trace does not look at.
    fn check(&self, name: Name, seeds: Option<&str>) -> anyhow::Result<()> {
        let flags = [
            ("--nodes", Name::Openb, self.nodes.is_some()),
            ("--pods", Name::Openb, self.pods.is_some()),
            ("--policy", Name::Openb, self.policy.is_some()),
            ("--arrivals", Name::Openb, self.arrivals.is_some()),
            ("--departures", Name::Openb, self.departures),
            ("--demand", Name::Openb, self.demand.is_some()),
            ("--seeds", Name::Openb, seeds.is_some()),
            ("--jobs", Name::Philly, self.jobs.is_some()),
            ("--nodes-file", Name::Philly, self.nodes_file.is_some()),
            ("--profile", Name::Philly, self.profile.is_some()),
            ("--limit", Name::Philly, self.limit.is_some()),
        ];
        match flags.iter().find(|(_, of, is_given)| *of != name && *is_given) {
            Some((flag, of, _)) => bail!("{flag}: only --trace {} has it", of.word()),
            None => Ok(()),
        }
    }
}

impl Name {
    fn word(self) -> &'static str {
        match self {
            Self::Openb => "openb",
            Self::Philly => "philly",
        }
    }
}

/// Runs the trace. Seeds are those of the command line, if there are any.
pub(crate) fn run(args: &TraceArgs, seeds: Option<&str>, json: bool) -> anyhow::Result<ExitCode> {
    let name = args.trace.context("no trace is named")?;
    args.check(name, seeds)?;
    match name {
        Name::Openb => openb::run(args, seeds, json)?,
        Name::Philly => philly::run(args, json)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The text of a file, and its name for messages.
fn text_of(file: Option<&Path>) -> anyhow::Result<(String, String)> {
    let path = file.context("a file is missing")?;
    let name = path.display().to_string();
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    Ok((name, text))
}
