//! The `kubenexus` command.

// They panic when the reader of a pipe is gone; `cmd::out` does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod cmd;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use cmd::out;

/// A Kubernetes scheduler for clusters that run everything at once.
#[derive(Parser)]
#[command(name = "kubenexus", version, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Schedule the pods of a cluster
    ///
    /// Watches nodes and pods, and binds the pods whose schedulerName is that of a profile. Started
    /// under the name kubenexus-scheduler, the command is this one.
    Scheduler(Box<cmd::scheduler::SchedulerArgs>),
    /// Watch pods being placed on an embedded cluster; nothing to install
    Demo(cmd::demo::DemoArgs),
    /// Run the scheduler in a simulated cluster, in virtual time
    Simulate(Box<cmd::simulate::SimulateArgs>),
    /// Run a journal of the scheduler again
    ///
    /// Reads what `kubenexus scheduler --journal FOLDER` wrote, and decides anew. The decisions
    /// must be the same: the first that is not is shown. With --config, shows what another
    /// configuration would have decided instead. Ends with 0 if all is the same, 2 if not, 1 if
    /// the journal cannot be read, 3 if there is none.
    Replay(cmd::replay::ReplayArgs),
    /// Write what the scheduler sees in a live cluster into one file
    ///
    /// Lists nodes, pods and all else that decides where pods go (volumes and their claims,
    /// budgets, services and controllers, namespaces, PodGroups, queues, PriorityClasses), keeps
    /// what scheduling reads, and writes a Kubernetes List as JSON, which `kubenexus simulate`
    /// takes as its starting point. Pods that have run to their end are left out. The rights of
    /// the scheduler suffice; a kind that may not be listed is left out, with a note.
    Snapshot(cmd::snapshot::SnapshotArgs),
    /// Say what the scheduler thinks of a pod on every node
    ///
    /// Reads cases as JSON lines and prints one verdict as a JSON line for each, in the same order.
    /// A case has "objects" (the cluster), "pod" (the pod to judge), and optionally "id" and
    /// "config" (a KubeSchedulerConfiguration). No cluster is needed. Ends with 1 if no case could
    /// be judged.
    Verdict {
        /// The file to read; standard input if it is left out
        file: Option<PathBuf>,
        /// Also say what the pod is: tenant, tier, workload and hardware, and how that is known
        #[arg(long)]
        profile: bool,
    },
    /// Check a configuration file and say what would run
    ///
    /// Says which plugins run where, which of them are not built yet, and which settings have no
    /// effect. Warns where a file may not mean what its author thinks, and where it serves
    /// default-scheduler, as a file without profiles does, beside the cluster's own scheduler.
    CheckConfig {
        /// A KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1)
        file: PathBuf,
    },
}

fn main() -> ExitCode {
    let done = |result: anyhow::Result<()>| result.map(|()| ExitCode::SUCCESS);
    let result = match Cli::parse_from(words(std::env::args_os().collect())).command {
        Command::Scheduler(args) => done(cmd::scheduler::run(&args)),
        Command::Demo(args) => done(cmd::demo::run(&args)),
        Command::Simulate(args) => cmd::simulate::run(&args),
        Command::Replay(args) => cmd::replay::run(&args),
        Command::Snapshot(args) => done(cmd::snapshot::run(&args)),
        Command::Verdict { file, profile } => done(cmd::verdict::run(file.as_deref(), profile)),
        Command::CheckConfig { file } => done(cmd::check_config::run(&file)),
    };
    result.unwrap_or_else(|error| {
        if error.is::<out::Closed>() {
            return ExitCode::SUCCESS;
        }
        out::remark(format_args!("kubenexus: {error:#}"));
        ExitCode::FAILURE
    })
}

/// The command line, with the subcommand that the program's own name stands for.
fn words(mut words: Vec<OsString>) -> Vec<OsString> {
    let name = words.first().and_then(|path| Path::new(path).file_name());
    if name.is_some_and(|name| name == "kubenexus-scheduler") {
        words.insert(1, "scheduler".into());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_name_can_stand_for_a_subcommand() {
        let given = |words: &[&str]| words.iter().map(Into::into).collect::<Vec<OsString>>();
        let found = words(given(&["./kubenexus-scheduler", "--config=a"]));
        assert_eq!(found, given(&["./kubenexus-scheduler", "scheduler", "--config=a"]));
        let plain = given(&["bin/kubenexus", "demo"]);
        assert_eq!(words(plain.clone()), plain);
    }
}
