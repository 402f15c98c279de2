//! Starts everything, and ends it in order.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use engine::{Backoff, Scheduler};
use journal::{Closer, Journal};
use k8s::config::Settings;
use model::{Catalog, Millis};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, Semaphore, mpsc, oneshot};
use tracing::{info, warn};

use crate::client::{Writer, configuration, connect};
use crate::core::{Core, State, unix_ms};
use crate::discovery::Discovery;
use crate::dispatch::{self, Dispatch};
use crate::feed::{Feed, Input, feed};
use crate::lease::{Candidate, Leadership, Loss, hostname};
use crate::limit::Limiter;
use crate::metrics::Metrics;
use crate::outage::Outage;
use crate::serve::{self, Health, Server};
use crate::watch::{
    BUDGETS, GROUPINGS, JOBS, NAMESPACES, NODES, OptionalWatches, PODS, Progress, STORAGE,
    SUCCEEDED, Watched, Watcher,
};
use crate::writes::Writes;
use crate::{beside, order};

/// How long bindings that are out may take to end after a signal.
const DRAIN_MAX: Duration = Duration::from_secs(18);
/// How long events may be written after that.
const FLUSH_MAX: Duration = Duration::from_secs(8);
/// How long the end of the journal may take after that.
const CLOSE_MAX: Duration = Duration::from_secs(2);

/// What a scheduler runs with.
#[derive(Debug)]
pub struct Options {
    /// The configuration.
    pub settings: Settings,
    /// A kubeconfig file; without one, the service account of the pod is used.
    pub kubeconfig: Option<PathBuf>,
    /// The address of the API server, instead of the one that the kubeconfig names.
    pub master: Option<String>,
    /// Health and metrics; nothing serves none.
    pub serving: Option<serve::Options>,
    /// A pod that waits for a change is tried again after this, whatever happened.
    pub flush: Millis,
    /// Where everything that goes in and comes out is written down, if anywhere.
    pub journal: Option<JournalOptions>,
    /// How many log lines were lost so far.
    pub lost_lines: Arc<AtomicU64>,
}

/// A journal that is kept.
#[derive(Clone, Debug)]
pub struct JournalOptions {
    /// Its folder.
    pub folder: PathBuf,
    /// How large it may be, in bytes.
    pub bytes_max: u64,
    /// How large a segment of it may be, in bytes.
    pub segment_bytes: u64,
}

/// Runs until a signal or until the lease is lost.
///
/// # Errors
/// When it cannot start, or when the lease is lost.
pub fn run(options: Options) -> Result<()> {
    // Fails only if somebody was faster, which is just as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("starting the runtime")?;
    runtime.block_on(start(options))
}

async fn start(options: Options) -> Result<()> {
    let server = options.serving.as_ref().map(serve::bind).transpose()?;
    let config = configuration(options.kubeconfig.as_deref(), options.master.as_deref()).await?;
    let outage = Outage::default();
    let client = connect(&config, &outage)?;
    let settings = &options.settings;
    let profiles: Vec<Arc<str>> =
        settings.profiles.iter().map(|profile| profile.scheduler.as_str().into()).collect();
    let metrics = Arc::new(metrics(&options, &config));
    let (candidate, leadership) = candidate(settings, &config, &outage)?;
    let health = Arc::new(Health::new(watchdog(&leadership, settings)));
    let (start, started_unix_ms) = (Instant::now(), unix_ms());
    let (journal, closer) = open_journal(&options, started_unix_ms)?.unzip();
    let (feed, inbox) = feed();
    let (orders, taken) = mpsc::unbounded_channel();
    let scheduler = scheduler(&options)?;
    // What services and controllers say matters only for spread that pods do not ask for.
    let asks_alike = scheduler.catalog().asks_alike();
    let groupings = GROUPINGS.iter().filter(|_| asks_alike);
    let others: Vec<&'static Watched> = groupings.chain(&STORAGE).collect();
    let core = Core {
        scheduler,
        profiles,
        inbox,
        orders,
        metrics: metrics.clone(),
        health: health.clone(),
        journal,
        start,
        started_unix_ms,
        state: State::awaiting(others.clone()),
    };
    let binder = Writer::connect(&config, Some(leadership.clone()), &outage)?;
    let writer = Writer::connect(&config, None, &outage)?;
    let has_queues = settings.names_cluster_queues();
    let live = Live {
        client,
        binder,
        writer,
        feed,
        metrics,
        health,
        leadership,
        outage,
        limiter: Arc::new(limiter_of(settings)),
        others,
        has_queues,
    };
    if let Some(server) = server {
        live.serve(server, settings);
    }
    let ended = engine_thread(core)?;
    let writes = live.carry_out(settings, taken);
    let progress = Progress::default();
    if !settings.delay_cache_until_active {
        live.watch(&progress);
    }
    tokio::spawn(live.clone().take_the_lead(progress, settings.delay_cache_until_active));
    let (version, server) = (env!("CARGO_PKG_VERSION"), &config.cluster_url);
    let served: Vec<_> = settings.profiles.iter().map(|it| it.scheduler.as_str()).collect();
    info!(version, %server, profiles = served.join(" "), "started");
    tokio::spawn(beside::look(live.client.clone(), settings.clone()));
    let result = live.until_the_end(candidate, ended, &writes).await;
    if closer.is_some_and(|closer| !closer.close(CLOSE_MAX)) {
        warn!("the end of the journal is left unwritten");
    }
    result
}

fn metrics(options: &Options, config: &kube::Config) -> Metrics {
    let settings = &options.settings;
    let host = config.cluster_url.authority().map(ToString::to_string).unwrap_or_default();
    let lease = &settings.leader_election.resource_name;
    let names = settings.profiles.iter().map(|profile| profile.scheduler.as_str());
    Metrics::new(names, &host, lease).counting_lost_lines(&options.lost_lines)
}

/// Who stands for election, if anybody has to, and whether we may bind.
fn candidate(
    settings: &Settings,
    config: &kube::Config,
    outage: &Outage,
) -> Result<(Option<Candidate>, Leadership)> {
    if !settings.leader_election.leader_elect {
        return Ok((None, Leadership::always()));
    }
    // A renewal must not wait behind bindings: it has connections of its own.
    let candidate = Candidate::new(connect(config, outage)?, &settings.leader_election)
        .context("making a name for the lease")?;
    let leadership = candidate.leadership();
    Ok((Some(candidate), leadership))
}

/// The rate of requests that the configuration allows.
fn limiter_of(settings: &Settings) -> Limiter {
    let connection = &settings.client_connection;
    Limiter::new(connection.qps_milli, connection.burst)
}

/// Fails when we claim to lead but have not renewed for much longer than the lease lasts.
fn watchdog(
    leadership: &Leadership,
    settings: &Settings,
) -> impl Fn() -> bool + Send + Sync + use<> {
    const GRACE: Duration = Duration::from_secs(20);
    let limit = Duration::from_millis(settings.leader_election.lease_duration.0) + GRACE;
    let leadership = leadership.clone();
    move || {
        let is_late = |renewed: Instant| renewed.elapsed() > limit;
        !leadership.is_leader() || !leadership.last_renewal().is_some_and(is_late)
    }
}

fn scheduler(options: &Options) -> Result<Scheduler> {
    let settings = &options.settings;
    let mut catalog = Catalog::default();
    let profiles = settings.profiles.iter().map(|profile| plugins::build(profile, &mut catalog));
    let profiles = profiles.collect::<Result<Vec<_>, _>>().context("making the profiles")?;
    Ok(Scheduler::new(catalog, profiles, engine_options(options)))
}

fn engine_options(options: &Options) -> engine::Options {
    let settings = &options.settings;
    let backoff = Backoff {
        initial: settings.initial_backoff,
        max: settings.max_backoff,
        flush: options.flush,
    };
    let engine = engine::Options { backoff, ..Default::default() };
    engine.with_gangs(&settings.gang_args())
}

fn open_journal(options: &Options, started_unix_ms: u64) -> Result<Option<(Journal, Closer)>> {
    let Some(JournalOptions { folder, bytes_max, segment_bytes }) = options.journal.clone() else {
        return Ok(None);
    };
    let opened = Journal::open(journal::Options {
        folder,
        bytes_max,
        segment_bytes,
        version: env!("CARGO_PKG_VERSION").into(),
        started_unix_ms,
        engine: engine_options(options),
        config: k8s::config::write(&options.settings, plugins::known()),
    });
    opened.map(Some).context("opening the journal")
}

/// Starts the engine's thread; what is returned speaks up if it ends.
fn engine_thread(core: Core) -> Result<oneshot::Receiver<()>> {
    let (alive, ended) = oneshot::channel::<()>();
    let thread = std::thread::Builder::new().name("engine".into());
    let spawned = thread.spawn(move || {
        // Dropped when the thread ends, however it does.
        let _alive = alive;
        core.run();
    });
    spawned.context("starting the engine's thread")?;
    Ok(ended)
}

/// What all parts share.
#[derive(Clone)]
struct Live {
    client: kube::Client,
    /// Sends only while we lead.
    binder: Writer,
    /// For everything else that is written.
    writer: Writer,
    feed: Feed,
    metrics: Arc<Metrics>,
    health: Arc<Health>,
    leadership: Leadership,
    outage: Outage,
    /// The rate of bindings, conditions and single reads.
    limiter: Arc<Limiter>,
    /// Services and controllers, if they matter, and storage.
    others: Vec<&'static Watched>,
    /// Whether queues of Kueue matter.
    has_queues: bool,
}

impl Live {
    fn serve(&self, server: Server, settings: &Settings) {
        let configz = k8s::config::write(settings, plugins::known());
        let (client, health) = (self.client.clone(), self.health.clone());
        tokio::spawn(server.run(client, health, self.metrics.clone(), configz));
    }

    fn carry_out(
        &self,
        settings: &Settings,
        orders: mpsc::UnboundedReceiver<order::Order>,
    ) -> Arc<Writes> {
        let limiter = self.limiter.clone();
        let in_flight = Arc::new(AtomicUsize::new(0));
        let writes = Arc::new(Writes::new(
            self.writer.clone(),
            self.feed.clone(),
            self.metrics.clone(),
            (limiter.clone(), limiter_of(settings)),
            in_flight.clone(),
            hostname(),
        ));
        tokio::spawn(writes.clone().run());
        let dispatch = Dispatch {
            client: self.client.clone(),
            binder: self.binder.clone(),
            feed: self.feed.clone(),
            metrics: self.metrics.clone(),
            leadership: self.leadership.clone(),
            limiter,
            writes: writes.clone(),
            evictions: Arc::new(Semaphore::new(dispatch::EVICTIONS_MAX)),
            in_flight,
        };
        tokio::spawn(dispatch::run(dispatch, orders));
        writes
    }

    fn watch(&self, progress: &Progress) {
        let ends = Arc::new(Notify::new());
        let first = [&NAMESPACES, &BUDGETS, &NODES, &PODS];
        for watched in self.others.iter().copied().chain(first) {
            let (client, feed) = (self.client.clone(), self.feed.clone());
            let watcher =
                Watcher::new(watched, client, feed, self.metrics.clone(), progress.clone());
            let watcher = watcher.telling(ends.clone()).limited(self.limiter.clone());
            tokio::spawn(watcher.run());
        }
        let (client, feed, metrics) =
            (self.client.clone(), self.feed.clone(), self.metrics.clone());
        let watches = OptionalWatches::new(client.clone(), feed.clone(), metrics.clone());
        let asking = Discovery {
            client: client.clone(),
            metrics: metrics.clone(),
            health: self.health.clone(),
            outage: self.outage.clone(),
            has_queues: self.has_queues,
        };
        tokio::spawn(asking.run(watches));
        // There can be many pods that ran to a good end and many Jobs, and few clusters in which
        // that matters.
        let watchers = [&SUCCEEDED, &JOBS].map(|watched| {
            let (client, feed, metrics) = (client.clone(), feed.clone(), metrics.clone());
            Watcher::new(watched, client, feed, metrics, progress.clone())
        });
        tokio::spawn(async move {
            ends.notified().await;
            watchers.into_iter().for_each(|watcher| _ = tokio::spawn(watcher.run()));
        });
    }

    /// Lets the engine decide once this replica leads.
    async fn take_the_lead(self, progress: Progress, is_delayed: bool) {
        let began = Instant::now();
        let mut leads = self.leadership.watch();
        if leads.wait_for(|leads| *leads).await.is_err() {
            return;
        }
        self.metrics.leading(true);
        if is_delayed {
            self.watch(&progress);
        } else if began.elapsed() > STANDBY_MIN {
            progress.catch_up(&self.client).await;
        }
        info!("leading");
        let _ = self.feed.send(Input::Lead).await;
    }

    /// Waits for the end, and ends in order.
    async fn until_the_end(
        self,
        candidate: Option<Candidate>,
        ended: oneshot::Receiver<()>,
        writes: &Writes,
    ) -> Result<()> {
        let mut terminated = signal(SignalKind::terminate()).context("listening for signals")?;
        let mut interrupted = signal(SignalKind::interrupt()).context("listening for signals")?;
        let (release, released) = oneshot::channel();
        let campaign = campaign(candidate, released);
        tokio::pin!(campaign);
        tokio::pin!(ended);
        tokio::select! {
            _ = terminated.recv() => {}
            _ = interrupted.recv() => {}
            loss = &mut campaign => return Err(lost(loss)),
            _ = &mut ended => bail!("the engine's thread ended"),
        }
        info!("ending: no more decisions, bindings that are out are finished");
        self.health.set_stopping();
        let drained = async {
            let (done, drained) = oneshot::channel();
            let _ = self.feed.send(Input::Drain(done)).await;
            if tokio::time::timeout(DRAIN_MAX, drained).await.is_err() {
                warn!("bindings are still out, leaving them to whoever leads next");
            }
            let _ = release.send(());
        };
        let in_order = async {
            // The lease is renewed until the last binding has ended.
            let (loss, ()) = tokio::join!(&mut campaign, drained);
            if let Some(loss) = loss {
                return Err(lost(Some(loss)));
            }
            if tokio::time::timeout(FLUSH_MAX, writes.flushed()).await.is_err() {
                warn!("events are left unwritten");
            }
            Ok(())
        };
        tokio::select! {
            result = in_order => result,
            _ = terminated.recv() => bail!("a second signal: ending at once"),
            _ = interrupted.recv() => bail!("a second signal: ending at once"),
        }
    }
}

/// A replica that has stood by for this long has to make sure of what the leader did last.
const STANDBY_MIN: Duration = Duration::from_secs(1);

/// Leads, or tries to, until told to release the lease; says how it was lost if it was.
async fn campaign(candidate: Option<Candidate>, released: oneshot::Receiver<()>) -> Option<Loss> {
    let Some(mut candidate) = candidate else {
        let _ = released.await;
        return None;
    };
    tokio::select! {
        loss = candidate.campaign() => return Some(loss),
        _ = released => {}
    }
    candidate.release().await;
    None
}

fn lost(loss: Option<Loss>) -> anyhow::Error {
    match loss {
        Some(loss) => anyhow!("the lease is lost: {loss}"),
        None => anyhow!("nobody renews the lease any more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_configuration_says_reaches_the_engine() {
        let text = "
            apiVersion: kubescheduler.config.k8s.io/v1
            kind: KubeSchedulerConfiguration
            podMaxBackoffSeconds: 7
            profiles:
              - schedulerName: kubenexus-scheduler
                pluginConfig:
                  - name: Coscheduling
                    args:
                      permitWaitingTimeSeconds: 30
                      onPartialFailure: requeue
                      bindRetries: 7
                      keepRoomSeconds: 40
        ";
        let settings = k8s::config::load(text, plugins::known()).expect("valid");
        let options = engine_options(&Options {
            settings,
            kubeconfig: None,
            master: None,
            serving: None,
            flush: Millis::seconds(9),
            journal: None,
            lost_lines: Arc::default(),
        });
        assert_eq!(options.permit_timeout, Millis::seconds(30));
        assert_eq!(options.on_partial_failure, model::OnPartialFailure::Requeue);
        assert_eq!((options.bind_retries, options.room_kept), (7, Millis::seconds(40)));
        assert_eq!(options.backoff.max, Millis::seconds(7));
        assert_eq!(options.backoff.flush, Millis::seconds(9));
    }
}
