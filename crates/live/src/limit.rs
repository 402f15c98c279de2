//! Requests per second on our side, as `clientConnection` sets them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Lets requests pass at a steady rate, with some at once after a pause.
pub(crate) struct Limiter {
    /// Nothing if there is no limit.
    pace: Option<Pace>,
}

struct Pace {
    interval: Duration,
    burst: u32,
    /// When the bucket was or will be full again. Nobody waits while holding the lock.
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

    /// Waits until a request may be sent. Requests pass in the order they came.
    pub(crate) async fn pass(&self) {
        let Some(pace) = &self.pace else { return };
        if let Some(until) = pace.reserve() {
            sleep_until(until).await;
        }
    }

    /// Waits until a request may be sent that stands back for others: it takes no turn before one
    /// is there, and leaves half of the burst to whoever comes next.
    pub(crate) async fn pass_behind(&self) {
        let Some(pace) = &self.pace else { return };
        while let Some(until) = pace.take_spare() {
            sleep_until(until).await;
        }
    }
}

impl Pace {
    /// Takes the next turn, and tells when it comes if it is not there.
    fn reserve(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        *full_at = (*full_at).max(now) + self.interval;
        (*full_at).checked_sub(self.interval * self.burst).filter(|until| *until > now)
    }

    /// Takes a turn if there are enough, and tells when there may be if there are not.
    fn take_spare(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let next = (*full_at).max(now) + self.interval;
        let spare = self.interval * (self.burst - self.burst / 2);
        let until = next.checked_sub(spare).filter(|until| *until > now);
        if until.is_none() {
            *full_at = next;
        }
        until
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

    #[tokio::test(start_paused = true)]
    async fn whoever_stands_back_is_never_in_the_way() {
        let limiter = std::sync::Arc::new(Limiter::new(50_000, 100));
        for _ in 0..500 {
            let limiter = limiter.clone();
            tokio::spawn(async move { limiter.pass_behind().await });
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        let start = Instant::now();
        for _ in 0..50 {
            limiter.pass().await;
        }
        assert!(start.elapsed().is_zero(), "half of the burst is left: {:?}", start.elapsed());
        for _ in 0..50 {
            limiter.pass().await;
        }
        let taken = start.elapsed().as_secs_f64();
        assert!((0.9..1.1).contains(&taken), "and then they pass at the rate: {taken}");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_stands_back_passes_at_the_rate_when_nobody_else_is_there() {
        let (start, limiter) = (Instant::now(), Limiter::new(50_000, 100));
        for _ in 0..550 {
            limiter.pass_behind().await;
        }
        let taken = start.elapsed().as_secs_f64();
        assert!((9.9..10.1).contains(&taken), "{taken}");
        let (start, limiter) = (Instant::now(), Limiter::new(1_000, 1));
        for _ in 0..4 {
            limiter.pass_behind().await;
        }
        let taken = start.elapsed().as_secs_f64();
        assert!((2.9..3.1).contains(&taken), "a burst of one: {taken}");
    }
}
