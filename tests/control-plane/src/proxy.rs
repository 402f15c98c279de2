//! A proxy between a scheduler and the API server: it passes everything on as it comes, keeps a
//! record, and does to binds, changes of volumes, watches and connections what it is told.
//!
//! It speaks HTTP/1.1 without TLS to the scheduler and with TLS to the API server, one connection
//! there for each one here, so that what breaks on one side breaks on the other.

mod body;
mod fault;
mod line;
mod record;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

pub use fault::{Fault, Plan};
pub use record::Exchange;

use line::Shared;

/// A proxy that runs on a thread of its own until it is dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// The thread ends when this is dropped.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Listens on a free port of loopback, for an API server that listens on `upstream`. Requests
    /// without a token get this one: some clients do not trust theirs to a line without TLS.
    pub fn start(upstream: u16, token: &str) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let listener = listener.context("listening on loopback")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(upstream, token));
        let (stop, stopped) = oneshot::channel();
        let served = shared.clone();
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = line::accept(served, listener) => {}
                    _ = stopped => {}
                }
            });
        });
        Ok(Self { address, shared, stop: Some(stop), thread: Some(thread) })
    }

    /// What a kubeconfig file names as its server.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Does this to binds, after what was planned before.
    pub fn inject(&self, plan: Plan) {
        self.shared.faults().push(plan);
    }

    /// Does this to changes of claims and volumes, after what was planned before.
    pub fn inject_into_volumes(&self, plan: Plan) {
        self.shared.volume_faults().push(plan);
    }

    /// Leaves further binds and changes alone, and passes on those that are held.
    pub fn release(&self) {
        self.shared.faults().clear();
        self.shared.volume_faults().clear();
        self.shared.release();
    }

    /// How many binds are held.
    pub fn held(&self) -> usize {
        self.shared.held()
    }

    /// Cuts the connections of all watches, and says how many.
    pub fn cut_watches(&self) -> usize {
        self.shared.cut(true)
    }

    /// Keeps watches that begin from reaching the server until told: they arrive late, and ask for
    /// what they asked then.
    pub fn hold_watches(&self, is_holding: bool) {
        self.shared.hold_watches(is_holding);
    }

    /// Lets changes of a status reach the server late.
    pub fn delay_statuses(&self, delay: Duration) {
        self.shared.delay_statuses(delay);
    }

    /// Cuts all connections and accepts no other until told.
    pub fn refuse(&self, is_refusing: bool) {
        self.shared.refuse(is_refusing);
        if is_refusing {
            self.shared.cut(false);
        }
    }

    /// Every request so far, in the order of arrival.
    pub fn record(&self) -> Vec<Exchange> {
        self.shared.record()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A proxy that panicked has failed the test by its silence.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
