//! Ports nobody listens on.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

use anyhow::{Result, bail};

/// Below the ports that outgoing connections are given, so that none of them takes a port between
/// the search and the start of the server, or while the server is restarted.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

static TAKEN: AtomicU16 = AtomicU16::new(0);

/// A port that is free, and that this function does not give again soon.
pub(crate) fn free() -> Result<u16> {
    // Two runs side by side start at different places.
    let start = u16::try_from(std::process::id() % u32::from(COUNT)).expect("it is below COUNT");
    for _ in 0..COUNT {
        let step = TAKEN.fetch_add(1, Ordering::Relaxed);
        let offset = (u32::from(start) * 37 + u32::from(step)) % u32::from(COUNT);
        let port = FIRST + u16::try_from(offset).expect("it is below COUNT");
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no free port from {FIRST} to {}", FIRST + COUNT)
}
