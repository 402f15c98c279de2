//! A scheduler process: ours or kube-scheduler.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use tokio::time::sleep;

use crate::http::{self, Answer};
use crate::plane::ControlPlane;
use crate::ports;
use crate::process::{Process, Signal};

/// Which scheduler a program is; they differ in their command lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `kubenexus scheduler`.
    KubeNexus,
    /// `kube-scheduler`.
    KubeScheduler,
}

/// How a scheduler is started.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// Which scheduler it is.
    pub kind: Kind,
    /// The program.
    pub program: &'a Path,
    /// Names its files.
    pub name: &'a str,
    /// Where its configuration and its log go.
    pub folder: &'a Path,
    /// How it reaches the API server.
    pub kubeconfig: &'a Path,
    /// A KubeSchedulerConfiguration; the kubeconfig file is put into it.
    pub config: Value,
    /// More flags.
    pub flags: Vec<String>,
}

impl ControlPlane {
    /// Applies the manifest of `deploy/`, and gives a token of its service account. The
    /// Deployment's pods are not wanted: tests run the scheduler themselves.
    pub async fn install_scheduler(&self, manifest: &Path) -> Result<String> {
        self.kubectl(&["apply", "-f", &manifest.display().to_string()]).await?;
        let within = ["-n", "kube-system"];
        let delete = ["delete", "deployment", "kubenexus-scheduler"];
        self.kubectl(&[within.as_slice(), &delete].concat()).await?;
        let create = ["create", "token", "kubenexus-scheduler"];
        let token = self.kubectl(&[within.as_slice(), &create].concat()).await?;
        Ok(token.trim().to_owned())
    }
}

/// A scheduler that runs. It ends when it is dropped.
#[derive(Debug)]
pub struct Scheduler {
    process: Process,
    port: u16,
}

impl Scheduler {
    /// Starts a scheduler, and does not wait.
    pub fn start(setup: Setup<'_>) -> Result<Self> {
        let Setup { kind, program, name, folder, kubeconfig, mut config, flags } = setup;
        let port = ports::free()?;
        config["clientConnection"]["kubeconfig"] = kubeconfig.display().to_string().into();
        // Bodies that a proxy can read.
        config["clientConnection"]["contentType"] = "application/json".into();
        let file = folder.join(format!("{name}.config.yaml"));
        fs::write(&file, config.to_string()).with_context(|| format!("writing {file:?}"))?;

        let mut args = match kind {
            Kind::KubeNexus => vec!["scheduler".into()],
            Kind::KubeScheduler => vec![
                format!("--authentication-kubeconfig={}", kubeconfig.display()),
                format!("--authorization-kubeconfig={}", kubeconfig.display()),
                "--authentication-tolerate-lookup-failure".into(),
            ],
        };
        args.extend([
            format!("--config={}", file.display()),
            format!("--secure-port={port}"),
            "--bind-address=127.0.0.1".into(),
            "-v=2".into(),
        ]);
        args.extend(flags);
        let log = folder.join(format!("{name}.log"));
        Ok(Self { process: Process::start(name, program, &args, &log)?, port })
    }

    /// Waits until `/readyz` says so.
    pub async fn ready(&mut self, within: Duration) -> Result<()> {
        let start = Instant::now();
        loop {
            self.process.must_run()?;
            let last = self.get("/readyz?verbose", None).await;
            if last.as_ref().is_ok_and(|answer| answer.code == 200) {
                return Ok(());
            }
            if start.elapsed() > within {
                bail!("the scheduler is not ready after {within:?}: {last:?}");
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Asks for a path of its HTTPS server.
    pub async fn get(&self, path: &str, token: Option<&str>) -> Result<Answer> {
        http::get_tls(self.port, path, token).await
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Its log file.
    pub fn log(&self) -> PathBuf {
        self.process.log().into()
    }

    /// The last lines of its log.
    pub fn tail(&self) -> String {
        self.process.tail()
    }

    /// Sends it a signal.
    pub fn signal(&mut self, signal: Signal) -> Result<()> {
        self.process.signal(signal)
    }

    /// Fails with the end of its log if it has ended.
    pub fn must_run(&mut self) -> Result<()> {
        self.process.must_run()
    }

    /// Waits for its end, and gives its exit code.
    pub async fn exit_code(&mut self, within: Duration) -> Result<i32> {
        let status = self.process.wait(within).await?;
        status.code().with_context(|| format!("the scheduler ended by a signal: {status}"))
    }

    /// Kills it without warning.
    pub fn kill(&mut self) -> Result<()> {
        self.process.kill()
    }
}
