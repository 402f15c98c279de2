//! The control plane: etcd, kube-apiserver, kube-controller-manager and kwok.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use http::Request;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::audit::{self, Call};
use crate::process::Process;
use crate::{flags, http as wire, kubeconfig, ports};

/// What kwok does with nodes and pods.
const STAGES: &str = include_str!("../stages.yaml");

const READY_WITHIN: Duration = Duration::from_secs(60);

/// Who may ask the API server, besides service accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// May do everything.
    Admin,
    /// kwok; may do everything.
    Kwok,
    /// The controller manager, with its own rights.
    ControllerManager,
    /// kube-scheduler where it stands in for ours; may do everything.
    Reference,
    /// Has no right until a test gives it one.
    Reader,
    /// Has no right at all.
    Nobody,
}

impl User {
    const ALL: [Self; 6] = [
        Self::Admin,
        Self::Kwok,
        Self::ControllerManager,
        Self::Reference,
        Self::Reader,
        Self::Nobody,
    ];

    /// The user's name in roles and in the audit log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Kwok => "kwok",
            Self::ControllerManager => "system:kube-controller-manager",
            Self::Reference => "reference",
            Self::Reader => "reader",
            Self::Nobody => "nobody",
        }
    }

    /// The bearer token that proves it.
    pub fn token(self) -> String {
        format!("token-of-{}", self.name().replace(':', "-"))
    }

    fn line(self) -> String {
        let group = match self {
            Self::Admin | Self::Kwok | Self::Reference => ",\"system:masters\"",
            Self::ControllerManager | Self::Reader | Self::Nobody => "",
        };
        format!("{},{},{}{group}\n", self.token(), self.name(), self.name())
    }
}

/// What is started, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Start kube-controller-manager. Without it, the API server does not insist on service
    /// accounts and does not taint nodes.
    pub has_controllers: bool,
    /// Start kwok, which makes nodes ready and runs their pods.
    pub has_kwok: bool,
    /// More flags for the API server.
    pub apiserver_flags: Vec<String>,
    /// More flags for the controller manager.
    pub controllers_flags: Vec<String>,
    /// Whose requests are in the audit log.
    pub audited: Vec<String>,
    /// Leave the folder with logs and data there.
    pub keeps_folder: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            has_controllers: true,
            has_kwok: true,
            apiserver_flags: Vec::new(),
            controllers_flags: Vec::new(),
            audited: Vec::new(),
            keeps_folder: false,
        }
    }
}

/// A running control plane. Its processes end and its folder goes away when it is dropped.
pub struct ControlPlane {
    // In the order in which they end.
    kwok: Option<Process>,
    controllers: Option<Process>,
    apiserver: Process,
    _etcd: Process,
    folder: Folder,
    binaries: PathBuf,
    apiserver_flags: Vec<String>,
    apiserver_port: u16,
    etcd_port: u16,
    client: Client,
    /// Lines of the audit log that were written while the API server started again.
    starts: Vec<Range<usize>>,
}

impl ControlPlane {
    /// Starts what is in `binaries` and waits until pods can be created.
    pub async fn start(binaries: &Path, options: Options) -> Result<Self> {
        // Two providers of cryptography could be compiled in; the first one wins.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = Folder::make(options.keeps_folder)?;
        let at = folder.path.clone();
        let (etcd_port, apiserver_port) = (ports::free()?, ports::free()?);
        fs::create_dir(at.join("pki"))?;
        fs::write(at.join("tokens.csv"), User::ALL.map(User::line).concat())?;
        fs::write(at.join("stages.yaml"), STAGES)?;
        fs::write(at.join("audit-policy.json"), audit::policy(&options.audited))?;
        fs::write(at.join("audit.log"), "")?;

        let arguments = flags::etcd(&at, etcd_port);
        let mut etcd = start(binaries, &at, "etcd", &arguments)?;
        until(&mut etcd, "etcd to answer", || async move {
            wire::post(etcd_port, "/v3/maintenance/status", "{}".into()).await.map(drop)
        })
        .await?;

        let mut apiserver_flags = flags::apiserver(&at, apiserver_port, etcd_port);
        if !options.has_controllers {
            apiserver_flags.push(flags::WITHOUT_CONTROLLERS.into());
        }
        apiserver_flags.extend(options.apiserver_flags);
        let mut apiserver = start(binaries, &at, "kube-apiserver", &apiserver_flags)?;
        let ca = at.join("pki/ca.crt");
        let (crt, copy) = (at.join("pki/apiserver.crt"), ca.clone());
        until(&mut apiserver, "kube-apiserver's certificate", || async {
            copy_authority(&crt, &copy)
        })
        .await?;
        for user in User::ALL {
            let server = format!("https://127.0.0.1:{apiserver_port}");
            kubeconfig::write(&file_of(&at, user), &server, Some(&ca), &user.token())?;
        }
        let client = kubeconfig::client(&file_of(&at, User::Admin)).await?;
        until(&mut apiserver, "kube-apiserver to be ready", || is_ready(client.clone())).await?;

        let mut plane = Self {
            kwok: None,
            controllers: None,
            apiserver,
            _etcd: etcd,
            folder,
            binaries: binaries.into(),
            apiserver_flags,
            apiserver_port,
            etcd_port,
            client,
            starts: Vec::new(),
        };
        let flags = options.has_controllers.then_some(options.controllers_flags);
        plane.start_others(flags, options.has_kwok).await?;
        Ok(plane)
    }

    /// Starts kwok, and the controller manager if there are flags for it.
    async fn start_others(&mut self, flags: Option<Vec<String>>, has_kwok: bool) -> Result<()> {
        let at = self.folder.path.clone();
        if has_kwok {
            self.restrain_kwok().await?;
            let arguments = flags::kwok(&at.join("stages.yaml"), &file_of(&at, User::Kwok));
            self.kwok = Some(start(&self.binaries, &at, "kwok", &arguments)?);
        }
        if let Some(more) = flags {
            let file = file_of(&at, User::ControllerManager);
            let arguments = [flags::controller_manager(&at, &file), more].concat();
            let process = start(&self.binaries, &at, "kube-controller-manager", &arguments)?;
            self.controllers = Some(process);
            self.wait_for_service_account("default").await?;
        }
        Ok(())
    }

    /// Waits until pods can be created in a namespace.
    pub async fn wait_for_service_account(&mut self, namespace: &str) -> Result<()> {
        let Some(controllers) = &mut self.controllers else { return Ok(()) };
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), namespace);
        let what = format!("the service account default in {namespace}");
        until(controllers, &what, || async { Ok(accounts.get("default").await.map(drop)?) }).await
    }

    /// The folder with logs, kubeconfig files and data.
    pub fn folder(&self) -> &Path {
        &self.folder.path
    }

    /// Leaves the folder there when the control plane ends.
    pub fn keep_folder(&mut self) {
        self.folder.is_kept = true;
    }

    /// A client that may do everything.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The port the API server listens on, with TLS.
    pub fn apiserver_port(&self) -> u16 {
        self.apiserver_port
    }

    /// The process ids, by name: of etcd, kube-apiserver and what else runs.
    pub fn pids(&self) -> Vec<(&'static str, u32)> {
        let mut pids = vec![("etcd", self._etcd.pid()), ("kube-apiserver", self.apiserver.pid())];
        pids.extend(self.controllers.iter().map(|p| ("kube-controller-manager", p.pid())));
        pids.extend(self.kwok.iter().map(|p| ("kwok", p.pid())));
        pids
    }

    /// The kubeconfig file of a user.
    pub fn kubeconfig(&self, user: User) -> PathBuf {
        file_of(&self.folder.path, user)
    }

    /// Writes a kubeconfig file for a token. `server` is where to find the API server, if that is
    /// a proxy.
    pub fn kubeconfig_for(&self, name: &str, token: &str, server: Option<&str>) -> Result<PathBuf> {
        let file = self.folder.path.join(format!("{name}.kubeconfig"));
        match server {
            Some(server) => kubeconfig::write(&file, server, None, token)?,
            None => {
                let server = format!("https://127.0.0.1:{}", self.apiserver_port);
                let ca = self.folder.path.join("pki/ca.crt");
                kubeconfig::write(&file, &server, Some(&ca), token)?;
            }
        }
        Ok(file)
    }

    /// Runs kubectl as the admin and gives what it prints.
    pub async fn kubectl(&self, args: &[&str]) -> Result<String> {
        let mut command = Command::new(self.binaries.join("kubectl"));
        command
            .arg(format!("--kubeconfig={}", self.kubeconfig(User::Admin).display()))
            .arg(format!("--cache-dir={}", self.folder.path.join("kubectl").display()))
            .arg("--request-timeout=20s")
            .args(args);
        let output = tokio::task::spawn_blocking(move || command.output()).await?;
        let output = output.context("starting kubectl")?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            bail!("kubectl {}: {}: {}", args.join(" "), output.status, error.trim());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Kills the API server without warning.
    pub fn kill_apiserver(&mut self) -> Result<()> {
        self.apiserver.kill()
    }

    /// Starts the API server again on the same port, and waits until it is ready.
    pub async fn start_apiserver(&mut self) -> Result<()> {
        let at = &self.folder.path;
        let log = at.join("audit.log");
        let before = audit::lines(&log)?;
        self.apiserver = start(&self.binaries, at, "kube-apiserver", &self.apiserver_flags)?;
        let what = "kube-apiserver to be ready again";
        until(&mut self.apiserver, what, || is_ready(self.client.clone())).await?;
        self.starts.push(before..audit::lines(&log)?);
        Ok(())
    }

    /// Kills the API server and starts it again.
    pub async fn restart_apiserver(&mut self) -> Result<()> {
        self.kill_apiserver()?;
        self.start_apiserver().await
    }

    /// Makes etcd forget everything before its present revision, which is returned.
    pub async fn compact_etcd(&self) -> Result<u64> {
        let status = self.ask_etcd("/v3/maintenance/status", json!({})).await?;
        let revision = &status["header"]["revision"];
        let request = json!({"revision": revision, "physical": true});
        self.ask_etcd("/v3/kv/compaction", request).await?;
        let revision = revision.as_str().and_then(|text| text.parse().ok());
        revision.ok_or_else(|| anyhow!("etcd names no revision: {status}"))
    }

    async fn ask_etcd(&self, path: &str, body: Value) -> Result<Value> {
        let answer = wire::post(self.etcd_port, path, body.to_string()).await?;
        if answer.code != 200 {
            bail!("etcd answered {path} with {}: {}", answer.code, answer.body);
        }
        Ok(serde_json::from_str(&answer.body)?)
    }

    /// Everything the audited users asked so far.
    pub fn audit(&self) -> Result<Vec<Call>> {
        audit::read(&self.folder.path.join("audit.log"), &self.starts)
    }
}

/// A folder that goes away, unless it is worth looking at.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    is_kept: bool,
}

impl Folder {
    fn make(is_kept: bool) -> Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("kubenexus-control-plane-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).with_context(|| format!("making {}", path.display()))?;
        Ok(Self { path, is_kept })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_kept
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            eprintln!("removing {}: {error}", self.path.display());
        }
    }
}

fn file_of(folder: &Path, user: User) -> PathBuf {
    folder.join(format!("{}.kubeconfig", user.name().replace(':', "-")))
}

fn start(binaries: &Path, folder: &Path, name: &str, args: &[String]) -> Result<Process> {
    Process::start(name, &binaries.join(name), args, &folder.join(format!("{name}.log")))
}

/// The second certificate the API server made for itself is the authority that signed the first.
fn copy_authority(from: &Path, to: &Path) -> Result<()> {
    const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
    let chain = fs::read_to_string(from)?;
    let authority = chain.rsplit(BEGIN).next().filter(|pem| pem.contains("END CERTIFICATE"));
    let authority = authority.ok_or_else(|| anyhow!("{} is not complete", from.display()))?;
    Ok(fs::write(to, format!("{BEGIN}{authority}"))?)
}

async fn is_ready(client: Client) -> Result<()> {
    client.request_text(Request::get("/readyz").body(Vec::new())?).await?;
    Ok(())
}

/// Tries until it works, while the process it depends on lives.
async fn until<F>(process: &mut Process, what: &str, mut attempt: impl FnMut() -> F) -> Result<()>
where
    F: Future<Output = Result<()>>,
{
    let start = Instant::now();
    loop {
        let Err(error) = attempt().await else { return Ok(()) };
        process.must_run()?;
        if start.elapsed() > READY_WITHIN {
            let tail = process.tail();
            return Err(error.context(format!("waited {READY_WITHIN:?} for {what}:\n{tail}")));
        }
        sleep(Duration::from_millis(50)).await;
    }
}
