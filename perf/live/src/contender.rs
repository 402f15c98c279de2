//! What is measured: a process that binds pods.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use control_plane::{Process, User};
use http::Request;
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tokio::time::sleep;

use crate::stage::Stage;
use crate::{client, null_binder, objects, usage};

/// How long a contender may take to start.
const READY_WITHIN: Duration = Duration::from_secs(90);
/// How often it is asked whether it is ready.
const ASK_EVERY: Duration = Duration::from_millis(5);
/// Requests per second, and at once: more than the API server can answer here.
const QPS: u32 = 5_000;

/// Who binds the pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Contender {
    /// Knows pods and nodes, and only posts bindings.
    NullBinder,
    /// Learns of pods by a watch, posts bindings, and writes an event for each.
    WatchingNullBinder,
    /// kube-scheduler.
    KubeScheduler,
    /// KubeNexus.
    KubeNexus,
}

impl Contender {
    pub(crate) const ALL: [Self; 4] =
        [Self::NullBinder, Self::WatchingNullBinder, Self::KubeScheduler, Self::KubeNexus];

    /// As figures spell it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::NullBinder => "null_binder",
            Self::WatchingNullBinder => "watching_null_binder",
            Self::KubeScheduler => "kube_scheduler",
            Self::KubeNexus => "kubenexus",
        }
    }

    /// The end of the names of its figures, where a name without one means ours.
    pub(crate) fn suffix(self) -> String {
        match self {
            Self::KubeNexus => String::new(),
            Self::NullBinder | Self::WatchingNullBinder | Self::KubeScheduler => {
                format!("_{}", self.name())
            }
        }
    }

    /// As tables spell it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::NullBinder => "null binder",
            Self::WatchingNullBinder => "null binder, watch, events",
            Self::KubeScheduler => "kube-scheduler",
            Self::KubeNexus => "KubeNexus",
        }
    }

    /// Whether it writes an event for every pod.
    pub(crate) fn has_events(self) -> bool {
        match self {
            Self::NullBinder => false,
            Self::WatchingNullBinder | Self::KubeScheduler | Self::KubeNexus => true,
        }
    }
}

/// A contender at work. It ends when it is dropped.
pub(crate) struct Running {
    contender: Contender,
    process: Process,
    /// When the process was started.
    pub(crate) began: Instant,
    /// For its health and metrics, as somebody with all rights.
    client: Client,
}

impl Running {
    /// Starts a contender for the pods of a namespace, and does not wait.
    pub(crate) async fn start(
        stage: &Stage,
        contender: Contender,
        namespace: &str,
    ) -> Result<Self> {
        let port = free_port()?;
        let client = client::of_port(port, &User::Admin.token()).await?;
        let (program, args) = command(stage, contender, namespace, port)?;
        let name = format!("{}-{namespace}", contender.name());
        let log = stage.plane.folder().join(format!("{name}.log"));
        let began = Instant::now();
        let process = Process::start(&name, &program, &args, &log)?;
        Ok(Self { contender, process, began, client })
    }

    /// Waits until it says that it is ready.
    pub(crate) async fn ready(&mut self) -> Result<()> {
        loop {
            self.must_run()?;
            if self.is_ready().await? {
                return Ok(());
            }
            if self.began.elapsed() > READY_WITHIN {
                let (name, tail) = (self.contender.title(), self.process.tail());
                bail!("{name} is not ready after {READY_WITHIN:?}:\n{tail}");
            }
            sleep(ASK_EVERY).await;
        }
    }

    async fn is_ready(&self) -> Result<bool> {
        match self.contender {
            Contender::NullBinder | Contender::WatchingNullBinder => {
                Ok(fs::read_to_string(self.process.log())?.contains(null_binder::READY))
            }
            Contender::KubeScheduler | Contender::KubeNexus => {
                let request = Request::get("/readyz").body(Body::empty())?;
                // Nobody listens at first.
                let answer = client::send(&self.client, request).await;
                Ok(answer.is_ok_and(|(status, _)| status.is_success()))
            }
        }
    }

    /// Its metrics, in the text form.
    pub(crate) async fn metrics(&self) -> Result<String> {
        let (status, body) =
            client::send(&self.client, Request::get("/metrics").body(Body::empty())?).await?;
        if !status.is_success() {
            return Err(client::refusal("/metrics", status, &body));
        }
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// CPU time it has used.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        usage::cpu(self.process.pid())
    }

    /// The most memory it has had.
    pub(crate) fn peak_mib(&self) -> Result<f64> {
        usage::peak_mib(self.process.pid())
    }

    /// The last lines of its log.
    pub(crate) fn tail(&self) -> String {
        self.process.tail()
    }

    /// Fails with the end of its log if it has ended.
    pub(crate) fn must_run(&mut self) -> Result<()> {
        self.process.must_run()
    }

    /// Ends it at once.
    pub(crate) fn kill(&mut self) -> Result<()> {
        self.process.kill()
    }
}

fn command(
    stage: &Stage,
    contender: Contender,
    namespace: &str,
    port: u16,
) -> Result<(PathBuf, Vec<String>)> {
    let programs = &stage.programs;
    let kubeconfig = stage.plane.kubeconfig(User::Reference).display().to_string();
    let null = |is_watching: bool| {
        let mut args = vec![
            "null-binder".into(),
            format!("--kubeconfig={kubeconfig}"),
            format!("--namespace={namespace}"),
            format!("--in-flight={}", programs.in_flight),
        ];
        args.extend(is_watching.then(|| "--watch".into()));
        args
    };
    let serving = [format!("--secure-port={port}"), "--bind-address=127.0.0.1".into()];
    let scheduler = || Ok::<_, anyhow::Error>(format!("--config={}", config(stage, &kubeconfig)?));
    Ok(match contender {
        Contender::NullBinder => (std::env::current_exe()?, null(false)),
        Contender::WatchingNullBinder => (std::env::current_exe()?, null(true)),
        Contender::KubeScheduler => {
            let mut args = vec![scheduler()?, format!("--authentication-kubeconfig={kubeconfig}")];
            args.push(format!("--authorization-kubeconfig={kubeconfig}"));
            args.push("--authentication-tolerate-lookup-failure".into());
            args.extend(stage.gates().map(Into::into));
            args.extend(serving);
            (programs.control_plane.join("kube-scheduler"), args)
        }
        Contender::KubeNexus => {
            let program = programs.kubenexus.clone().context("no --kubenexus FILE is given")?;
            let mut args = vec!["scheduler".into(), scheduler()?];
            args.extend(serving);
            (program, args)
        }
    })
}

/// The same file for both schedulers: their defaults, and no limit that could be reached.
fn config(stage: &Stage, kubeconfig: &str) -> Result<String> {
    let file = stage.plane.folder().join("scheduler.yaml");
    let config = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": kubeconfig, "qps": QPS, "burst": QPS},
        "leaderElection": {"leaderElect": false},
        "profiles": [{"schedulerName": objects::SCHEDULER}],
    });
    // JSON is YAML.
    fs::write(&file, config.to_string()).with_context(|| format!("writing {}", file.display()))?;
    Ok(file.display().to_string())
}

/// A port below those that outgoing connections and the control plane are given.
fn free_port() -> Result<u16> {
    (12_000..20_000)
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .context("no port from 12000 to 19999 is free")
}
