//! Requests per second on our side, as `clientConnection` sets them.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// Lets requests pass at a steady rate, with some at once after a pause.
pub(crate) struct Limiter {
    /// Nothing if there is no limit.
    pace: Option<Pace>,
}

struct Pace {
    interval: Duration,
    burst: u32,
    /// When the bucket was or will be full again. Whoever holds the lock waits in front of the
    /// others, so requests pass in the order they came.
    full_at: Mutex<Instant>,
}

impl Limiter {
    /// A limit in thousandths of requests per second; none if it is not above zero.
    pub(crate) fn new(qps_milli: i64, burst: u32) -> Self {
        let pace = u64::try_from(qps_milli).ok().filter(|qps| *qps > 0).map(|qps| Pace {
            interval: Duration::from_nanos(1_000_000_000_000 / qps),
            burst: burst.max(1),
            full_at: Mutex::new(Instant::now()),
        });
        Self { pace }
    }

    /// Waits until a request may be sent.
    pub(crate) async fn pass(&self) {
        let Some(pace) = &self.pace else { return };
        let mut full_at = pace.full_at.lock().await;
        let now = Instant::now();
        let next = (*full_at).max(now) + pace.interval;
        let wait_until = next.checked_sub(pace.interval * pace.burst);
        if let Some(until) = wait_until.filter(|until| *until > now) {
            sleep_until(until).await;
        }
        *full_at = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn seconds_for(requests: u32, qps_milli: i64, burst: u32) -> f64 {
        let start = Instant::now();
        let limiter = Limiter::new(qps_milli, burst);
        for _ in 0..requests {
            limiter.pass().await;
        }
        start.elapsed().as_secs_f64()
    }

    #[tokio::test(start_paused = true)]
    async fn the_burst_passes_at_once_and_the_rest_at_the_rate() {
        assert!(seconds_for(100, 50_000, 100).await < 0.001);
        let taken = seconds_for(600, 50_000, 100).await;
        assert!((9.9..10.1).contains(&taken), "{taken}");
    }

    #[tokio::test(start_paused = true)]
    async fn no_limit_never_waits() {
        assert!(seconds_for(10_000, -1_000, 1).await < 0.001);
        assert!(seconds_for(10_000, 0, 1).await < 0.001);
    }
}
