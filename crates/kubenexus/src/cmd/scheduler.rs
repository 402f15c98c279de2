//! `kubenexus scheduler`: schedules the pods of a cluster, with the flags kube-scheduler has.

mod flags;
mod log;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use k8s::config::{self, Settings};
use live::{CertificateSource, JournalOptions, Options, ServeOptions};
use model::Millis;

pub(crate) use flags::SchedulerArgs;

use crate::cmd::check_config;

/// The only profile that runs when no configuration is given: pods of others are left alone.
const OWN: &str = "kubenexus-scheduler";

/// How long the last log lines may take.
const LOG_END_MAX: Duration = Duration::from_secs(1);

/// Runs until a signal or until the lease is lost.
pub(crate) fn run(args: &SchedulerArgs) -> Result<()> {
    let log = log::start(args.verbosity, args.logging_format)?;
    let result = run_logged(args, log.lost());
    log.finish(LOG_END_MAX);
    result
}

fn run_logged(args: &SchedulerArgs, lost_lines: Arc<AtomicU64>) -> Result<()> {
    let settings = settings(args)?;
    for flag in args.without_effect() {
        tracing::info!(flag, "this flag has no effect");
    }
    if let Some(path) = &args.write_config_to {
        return write_config(&settings, path);
    }
    let kubeconfig = settings.client_connection.kubeconfig.as_ref().map(PathBuf::from);
    live::run(Options {
        kubeconfig,
        master: args.master.clone(),
        serving: serving(args)?,
        flush: args.pod_max_in_unschedulable_pods_duration.unwrap_or(Millis::seconds(300)),
        journal: args.journal.clone().map(|folder| JournalOptions {
            folder,
            bytes_max: args.journal_max_size,
            segment_bytes: args.journal_segment_size,
        }),
        lost_lines,
        settings,
    })
}

/// What the configuration file says, or the defaults, and then what the flags say.
fn settings(args: &SchedulerArgs) -> Result<Settings> {
    let mut settings = match &args.config {
        Some(path) => {
            let (settings, warnings) = check_config::read_with_warnings(path)?;
            warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
            settings
        }
        None => {
            let mut settings = config::defaults(plugins::known());
            settings.profiles.retain(|profile| profile.scheduler == OWN);
            settings
        }
    };
    let client = &mut settings.client_connection;
    if let Some(path) = &args.kubeconfig {
        client.kubeconfig = Some(path.display().to_string());
    }
    client.qps_milli = args.kube_api_qps.map_or(client.qps_milli, |qps| (qps * 1000.0) as i64);
    client.burst = args.kube_api_burst.unwrap_or(client.burst);
    let election = &mut settings.leader_election;
    election.leader_elect = args.leader_elect.unwrap_or(election.leader_elect);
    let spans = [
        (&mut election.lease_duration, args.leader_elect_lease_duration),
        (&mut election.renew_deadline, args.leader_elect_renew_deadline),
        (&mut election.retry_period, args.leader_elect_retry_period),
    ];
    for (setting, flag) in spans {
        *setting = flag.unwrap_or(*setting);
    }
    let names = [
        (&mut election.resource_name, &args.leader_elect_resource_name),
        (&mut election.resource_namespace, &args.leader_elect_resource_namespace),
    ];
    for (setting, flag) in names {
        if let Some(name) = flag {
            setting.clone_from(name);
        }
    }
    check_election(&settings)?;
    Ok(settings)
}

/// The file was checked by itself; flags can still make nonsense of it.
fn check_election(settings: &Settings) -> Result<()> {
    let election = &settings.leader_election;
    let (lease, renew, retry) =
        (election.lease_duration.0, election.renew_deadline.0, election.retry_period.0);
    if election.leader_elect && !(lease > renew && renew as f64 > 1.2 * retry as f64 && retry > 0) {
        bail!(
            "leader election: expected lease duration > renew deadline > 1.2 x retry period > 0, \
             found {lease} ms, {renew} ms and {retry} ms"
        );
    }
    Ok(())
}

fn write_config(settings: &Settings, path: &Path) -> Result<()> {
    let value = config::write(settings, plugins::known());
    let text = serde_json::to_string_pretty(&value).context("writing JSON")?;
    fs::write(path, text + "\n").with_context(|| format!("writing {}", path.display()))
}

fn serving(args: &SchedulerArgs) -> Result<Option<ServeOptions>> {
    if args.secure_port == 0 {
        return Ok(None);
    }
    let certificate = match (&args.tls_cert_file, &args.tls_private_key_file, &args.cert_dir) {
        (Some(certificate), Some(key), _) => {
            CertificateSource::Files { certificate: certificate.clone(), key: key.clone() }
        }
        (None, None, Some(folder)) => CertificateSource::Folder(folder.clone()),
        (None, None, None) => CertificateSource::Memory,
        (Some(_), None, _) => bail!("--tls-cert-file needs --tls-private-key-file"),
        (None, Some(_), _) => bail!("--tls-private-key-file needs --tls-cert-file"),
    };
    Ok(Some(ServeOptions {
        address: SocketAddr::new(args.bind_address, args.secure_port),
        certificate,
        always_allow: args.authorization_always_allow_paths.clone(),
    }))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Cli {
        #[command(flatten)]
        args: SchedulerArgs,
    }

    fn parsed(flags: &[&str]) -> Result<Settings> {
        let words = ["kubenexus-scheduler"].iter().chain(flags);
        settings(&Cli::try_parse_from(words)?.args)
    }

    #[test]
    fn without_a_file_only_pods_that_ask_for_us_are_scheduled() {
        let settings = parsed(&[]).unwrap();
        let names: Vec<_> = settings.profiles.iter().map(|p| p.scheduler.as_str()).collect();
        assert_eq!(names, ["kubenexus-scheduler"]);
        assert!(settings.leader_election.leader_elect);
    }

    #[test]
    fn flags_go_before_the_file() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/config.yaml");
        let config = format!("--config={file}");
        let settings = parsed(&[
            &config,
            "--leader-elect=false",
            "--leader-elect-lease-duration=1m",
            "--kube-api-qps=12.5",
            "--kubeconfig=a.conf",
            "-v=4",
            "--leader-elect-resource-name=other",
        ]);
        let settings = settings.unwrap();
        assert!(!settings.leader_election.leader_elect);
        assert_eq!(settings.leader_election.lease_duration, Millis(60_000));
        assert_eq!(settings.leader_election.resource_name, "other");
        assert_eq!(settings.client_connection.qps_milli, 12_500);
        assert_eq!(settings.client_connection.kubeconfig.as_deref(), Some("a.conf"));
        assert_eq!(parsed(&[&config]).unwrap().client_connection.burst, 100);
    }

    #[test]
    fn the_flags_of_kubeadm_are_accepted() {
        let flags = "k --authentication-kubeconfig=/s --authorization-kubeconfig=/s \
                     --kubeconfig=/s --bind-address=127.0.0.1 --leader-elect --profiling=false";
        let args = Cli::try_parse_from(flags.split_whitespace()).unwrap().args;
        let expected = ["--authentication-kubeconfig", "--authorization-kubeconfig", "--profiling"];
        assert_eq!(args.without_effect(), expected);
    }

    #[test]
    fn a_lease_that_ends_before_its_renewal_is_refused() {
        let error = parsed(&["--leader-elect-renew-deadline=20s"]).unwrap_err().to_string();
        assert!(error.contains("found 15000 ms, 20000 ms and 2000 ms"), "{error}");
    }

    #[test]
    fn sizes_of_the_journal_are_quantities() {
        let args =
            Cli::try_parse_from(["k", "--journal=a", "--journal-max-size=2Gi"]).unwrap().args;
        assert_eq!((args.journal_max_size, args.journal_segment_size), (2 << 30, 64 << 20));
        for size in ["0", "-1", "many"] {
            let flag = format!("--journal-segment-size={size}");
            assert!(Cli::try_parse_from(["k", &flag]).is_err(), "{size}");
        }
    }

    #[test]
    fn half_a_certificate_is_refused() {
        let args = Cli::try_parse_from(["k", "--tls-cert-file=a"]).unwrap().args;
        let error = serving(&args).unwrap_err().to_string();
        assert_eq!(error, "--tls-cert-file needs --tls-private-key-file");
    }
}
