//! `conformance`: runs the scheduling specs of Kubernetes' own end-to-end suite with KubeNexus, or
//! with kube-scheduler, as the only scheduler of a cluster.

mod cluster;
mod expected;
mod report;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use control_plane::{Process, User};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use crate::cluster::Cluster;
use crate::expected::Expected;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// What the names of all scheduling specs begin with, as a regular expression.
const FOCUS: &str = r"\[sig-scheduling\]";

/// When ginkgo gives up, in its own notation: several times what a run takes.
const SUITE_WITHIN: &str = "2h";

/// Runs the `[sig-scheduling]` specs, with one line for each.
///
/// Exits with 1 if a spec fails that is not expected to, or passes that is expected to fail, and
/// with 2 if the run itself does not work.
#[derive(Clone, Debug, Parser)]
struct Args {
    /// The folder `provide.sh --with-suite` prints.
    #[arg(long, value_name = "FOLDER")]
    control_plane: PathBuf,
    /// The `kubenexus` program.
    #[arg(long, value_name = "FILE", required_unless_present = "reference")]
    kubenexus: Option<PathBuf>,
    /// Run kube-scheduler in place of KubeNexus: what fails then is wrong with the harness.
    #[arg(long, conflicts_with = "kubenexus")]
    reference: bool,
    /// Only the specs whose name matches this regular expression.
    #[arg(long, value_name = "REGEX")]
    only: Option<String>,
    /// Leave the folder with logs and data there.
    #[arg(long)]
    keep: bool,
    /// Where `deploy` and `tests` are.
    #[arg(long, value_name = "FOLDER", default_value = REPOSITORY)]
    repository: PathBuf,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("conformance: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<bool> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Whoever interrupts gets what a finished run leaves: nothing. Dropping the cluster ends every
    // process it has started.
    let ended = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            is_as_expected = run_suite(args) => is_as_expected,
            _ = interrupt.recv() => Err(anyhow::anyhow!("interrupted")),
            _ = terminate.recv() => Err(anyhow::anyhow!("terminated")),
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    ended
}

async fn run_suite(args: &Args) -> Result<bool> {
    let expected = match args.reference {
        true => Expected::default(),
        false => Expected::read(&args.repository.join("tests/conformance/expected-failures.txt"))?,
    };
    let mut cluster = Cluster::start(args).await?;
    let file = cluster.plane.folder().join("report.json");
    let mut suite = start_suite(args, &cluster, &file)?;
    // A folder that is asked about is kept: a run that breaks off has its logs there as well.
    let ended = follow(&mut suite, &mut cluster).await;
    if let Err(error) = ended {
        cluster.plane.keep_folder();
        let folder = cluster.plane.folder().display();
        return Err(error.context(format!("running the suite; logs and data: {folder}")));
    }
    let specs = report::read(&file)?;
    if specs.is_empty() {
        bail!("no spec was run: none has a name that matches {}", focus(args));
    }
    let verdict = report::judge(&specs, &expected, args.only.is_some());
    print!("{}", verdict.text);
    if !verdict.is_as_expected {
        cluster.plane.keep_folder();
        println!("logs and data: {}", cluster.plane.folder().display());
    }
    Ok(verdict.is_as_expected)
}

fn focus(args: &Args) -> String {
    match &args.only {
        Some(only) => format!("{FOCUS}.*{only}"),
        None => FOCUS.into(),
    }
}

fn start_suite(args: &Args, cluster: &Cluster, report: &Path) -> Result<Process> {
    let folder = cluster.plane.folder();
    let arguments = [
        format!("--kubeconfig={}", cluster.plane.kubeconfig(User::Admin).display()),
        format!("--kubectl-path={}", args.control_plane.join("kubectl").display()),
        "--provider=skeleton".into(),
        format!("--num-nodes={}", cluster::NODES),
        format!("--e2e-output-dir={}", folder.display()),
        // There are no machines to gather logs from.
        "--disable-log-dump".into(),
        "--max-nodes-to-gather-from=0".into(),
        format!("--ginkgo.focus={}", focus(args)),
        format!("--ginkgo.timeout={SUITE_WITHIN}"),
        format!("--ginkgo.json-report={}", report.display()),
        // The order of the specs is drawn: always the same, so that a failure can be repeated.
        "--ginkgo.seed=1".into(),
        "--ginkgo.v".into(),
        "--ginkgo.no-color".into(),
    ];
    let program = args.control_plane.join("e2e.test");
    Process::start("suite", &program, &arguments, &folder.join("suite.log"))
}

/// Waits for the end of the suite, and says how far it is. Whether specs failed is in the report.
async fn follow(suite: &mut Process, cluster: &mut Cluster) -> Result<()> {
    let mut told = 0;
    while suite.ended()?.is_none() {
        cluster.scheduler.must_run()?;
        sleep(Duration::from_millis(500)).await;
        let log = std::fs::read(suite.log()).context("reading the log of the suite")?;
        let done = report::count_done(&String::from_utf8_lossy(&log));
        if done > told {
            told = done;
            eprintln!("{done} specs done");
        }
    }
    Ok(())
}
