//! Leader election by Lease: of several replicas one binds, the others keep their state warm.
//!
//! What to do next is decided in `election`, which knows neither clock nor network; this file asks
//! the API server and waits. Whether this replica may bind at this moment is answered by
//! [`Leadership`].
//!
//! Leases need a client of their own: a renewal must never wait for its turn behind binds.

mod election;
mod identity;
mod leadership;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s::config::LeaderElection;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::PostParams;

pub(crate) use self::election::Loss;
use self::election::{Election, Step, Timing};
pub(crate) use self::identity::hostname;
pub(crate) use self::leadership::Leadership;
use crate::client;
use crate::outage::Repeats;

/// How often a write that lost a race is tried again before the next period.
const RACES_MAX: u32 = 3;

/// A replica that wants to lead.
pub(crate) struct Candidate {
    leases: Api<Lease>,
    name: String,
    timing: Timing,
    election: Election,
    leadership: Leadership,
    /// The holder that was last written to the log.
    logged_holder: Option<String>,
    /// What went wrong the last time.
    repeats: Repeats,
    /// State of the sequence that spreads the attempts of several replicas.
    jitter: u64,
}

/// What became of a request.
enum Answer {
    /// The lease, if it is there.
    Read(Option<Box<Lease>>),
    Written(Box<Lease>),
    /// Somebody else wrote first.
    Raced,
    Failed(Failure),
}

enum Failure {
    Error(kube::Error),
    Silence(Duration),
}

impl Candidate {
    /// A candidate for the lease of the settings, under a name of its own.
    pub(crate) fn new(client: kube::Client, settings: &LeaderElection) -> io::Result<Self> {
        let unique = identity::random()?;
        let identity = identity::identity(&hostname(), unique);
        Ok(Self::named(client, settings, identity, unique))
    }

    fn named(
        client: kube::Client,
        settings: &LeaderElection,
        identity: String,
        unique: u128,
    ) -> Self {
        let (namespace, name) = (&settings.resource_namespace, &settings.resource_name);
        let timing = Timing::of(settings);
        Self {
            leases: Api::namespaced(client, namespace),
            name: name.clone(),
            timing,
            election: Election::new(identity, namespace, name, timing),
            leadership: Leadership::none(),
            logged_holder: None,
            repeats: Repeats::default(),
            jitter: unique as u64,
        }
    }

    /// The right to bind, for everybody who needs to know.
    pub(crate) fn leadership(&self) -> Leadership {
        self.leadership.clone()
    }

    /// Acquires the lease and renews it. Returns when it is lost, and this replica must not go on.
    /// May be dropped at any moment; [`Candidate::release`] then gives the lease away.
    pub(crate) async fn campaign(&mut self) -> Loss {
        tracing::info!(
            lease = %self.name,
            identity = self.election.identity(),
            "standing for leader"
        );
        loop {
            let began = Instant::now();
            if let Some(loss) = self.attempt().await {
                self.leadership.end();
                tracing::error!(lease = %self.name, reason = %loss, "lost the lease");
                return loss;
            }
            let pause = match self.election.right_ends() {
                // A try that took long is followed by the next at once; at the deadline it is over.
                Some(ends) => (began + self.timing.retry_period).min(ends),
                None => Instant::now() + self.standby_pause(),
            };
            tokio::time::sleep_until(pause.into()).await;
        }
    }

    /// Ends the right to bind and gives the lease away, so that another replica takes over at its
    /// next try. Binds in flight must be finished before. Failing is not an error: the lease then
    /// expires by itself.
    pub(crate) async fn release(&mut self) {
        self.leadership.end();
        match tokio::time::timeout(self.timing.renew_deadline, self.give_away()).await {
            Ok(Ok(true)) => tracing::info!(lease = %self.name, "released the lease"),
            Ok(Ok(false)) => {}
            Ok(Err(failure)) => {
                tracing::warn!(lease = %self.name, error = %failure, "cannot release the lease");
            }
            Err(_) => tracing::warn!(lease = %self.name, "no time left to release the lease"),
        }
    }

    /// Whether the lease was ours and is free.
    async fn give_away(&self) -> Result<bool, Failure> {
        // A renewal that was dropped half way can still arrive: then the write loses the race.
        for _ in 0..=RACES_MAX {
            let lease = match self.read().await {
                Answer::Read(Some(lease)) => lease,
                Answer::Failed(failure) => return Err(failure),
                Answer::Read(None) | Answer::Written(_) | Answer::Raced => return Ok(false),
            };
            let Some(released) = self.election.released(*lease, Timestamp::now()) else {
                return Ok(false);
            };
            match self.replace(&released).await {
                Answer::Failed(failure) => return Err(failure),
                Answer::Raced => {}
                Answer::Read(_) | Answer::Written(_) => return Ok(true),
            }
        }
        Ok(false)
    }

    /// One try to acquire or to renew.
    async fn attempt(&mut self) -> Option<Loss> {
        let mut races = 0;
        loop {
            let started = Instant::now();
            let answer = match self.election.step(started, Timestamp::now()) {
                Step::Rest => return None,
                Step::Lost(loss) => return Some(loss),
                Step::Read => self.read().await,
                Step::Create(lease) => self.create(&lease).await,
                Step::Replace(lease) => self.replace(&lease).await,
            };
            match answer {
                Answer::Read(lease) => {
                    self.election.found(lease.map(|lease| *lease), Instant::now());
                    self.log_holder();
                }
                Answer::Written(lease) => {
                    self.election.written(*lease, started, Instant::now());
                    self.lead(started);
                    return None;
                }
                Answer::Raced => {
                    races += 1;
                    if races > RACES_MAX {
                        return None;
                    }
                }
                Answer::Failed(failure) => {
                    self.log_failure(&failure);
                    return None;
                }
            }
        }
    }

    fn log_failure(&mut self, failure: &Failure) {
        let (lease, leading) = (&self.name, self.leadership.is_leader());
        let error = failure.to_string();
        // That the server is not reached is said where all requests go through.
        if failure.is_answered() && self.repeats.is_news(&error) {
            tracing::warn!(%lease, leading, error, "cannot read or write the lease");
        } else {
            tracing::debug!(%lease, leading, error, "cannot read or write the lease");
        }
    }

    /// After a write: extends the right to bind, if there is one.
    fn lead(&mut self, started: Instant) {
        self.repeats.end();
        let Some(ends) = self.election.right_ends() else { return };
        if self.leadership.extend(started, ends) {
            tracing::info!(
                lease = %self.name,
                identity = self.election.identity(),
                "acquired the lease"
            );
            self.logged_holder = Some(self.election.identity().to_owned());
        }
    }

    fn log_holder(&mut self) {
        let Some(holder) = self.election.holder() else { return };
        if self.logged_holder.as_deref() != Some(holder) {
            tracing::info!(lease = %self.name, %holder, "another replica leads");
            self.logged_holder = Some(holder.to_owned());
        }
    }

    async fn read(&self) -> Answer {
        match self.in_time(self.leases.get(&self.name)).await {
            Ok(lease) => Answer::Read(Some(Box::new(lease))),
            Err(failure) if failure.code() == Some(404) => Answer::Read(None),
            Err(failure) => Answer::Failed(failure),
        }
    }

    async fn create(&self, lease: &Lease) -> Answer {
        let params = PostParams::default();
        match self.in_time(self.leases.create(&params, lease)).await {
            Ok(lease) => Answer::Written(Box::new(lease)),
            Err(failure) if failure.code() == Some(409) => Answer::Raced,
            Err(failure) => Answer::Failed(failure),
        }
    }

    async fn replace(&self, lease: &Lease) -> Answer {
        let params = PostParams::default();
        match self.in_time(self.leases.replace(&self.name, &params, lease)).await {
            Ok(lease) => Answer::Written(Box::new(lease)),
            // Not found: somebody deleted it since it was read.
            Err(failure) if matches!(failure.code(), Some(404 | 409)) => Answer::Raced,
            Err(failure) => Answer::Failed(failure),
        }
    }

    /// A request is given up early enough for another one before the deadline.
    async fn in_time<T>(
        &self,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, Failure> {
        let mut limit = self.timing.request_timeout();
        if let Some(ends) = self.election.right_ends() {
            limit = limit.min(ends.saturating_duration_since(Instant::now()));
        }
        match tokio::time::timeout(limit, request).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(Failure::Error(error)),
            Err(_) => Err(Failure::Silence(limit)),
        }
    }

    /// The retry period and up to a fifth of it, so that replicas do not try in step.
    fn standby_pause(&mut self) -> Duration {
        // Knuth's linear congruential generator; its high bits are good enough to spread replicas.
        self.jitter = self
            .jitter
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let share = (self.jitter >> 56) as u32;
        self.timing.retry_period + self.timing.retry_period / 5 * share / 256
    }
}

impl Failure {
    /// Whether the server was reached: it said no, or it said nothing.
    fn is_answered(&self) -> bool {
        match self {
            Self::Error(kube::Error::Api(_)) | Self::Silence(_) => true,
            Self::Error(_) => false,
        }
    }

    /// The status the API server answered with.
    fn code(&self) -> Option<u16> {
        match self {
            Self::Error(kube::Error::Api(status)) => Some(status.code),
            Self::Error(_) | Self::Silence(_) => None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(error) => client::broken(error).fmt(f),
            Self::Silence(limit) => write!(f, "no answer within {} ms", limit.as_millis()),
        }
    }
}
