//! What goes wrong again and again is said once, and then ever more seldom.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::{debug, info, warn};

/// How soon an outage is spoken of again; the time doubles up to the second.
const PAUSE: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(600)];

/// Whether the API server is reached at all. All connections notice when it is not, and one of them
/// says so. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Outage(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// When it was not reached for the first time since it was.
    since: Option<Instant>,
    failures: u64,
    /// When that was last said, and how long nothing is said after it.
    said: Option<(Instant, Duration)>,
}

impl Outage {
    /// A request did not reach the server, or its answer did not reach us.
    pub(crate) fn failed(&self, error: &str) {
        let (mut state, now) = (self.state(), Instant::now());
        state.failures += 1;
        let since = *state.since.get_or_insert(now);
        let pause = match state.said {
            Some((at, pause)) if now - at < pause => {
                debug!(error, "the API server is not reached");
                return;
            }
            // An outage long after the last is news.
            Some((at, pause)) if now - at < 2 * pause || since < now => (2 * pause).min(PAUSE[1]),
            Some(_) | None => PAUSE[0],
        };
        state.said = Some((now, pause));
        let (seconds, failures) = ((now - since).as_secs(), state.failures);
        warn!(error, seconds, failures, "the API server is not reached");
    }

    /// The server answered, whatever it said.
    pub(crate) fn answered(&self) {
        let mut state = self.state();
        let Some(since) = state.since.take() else { return };
        let failures = std::mem::take(&mut state.failures);
        if state.said.is_some_and(|(at, _)| at >= since) {
            let seconds = since.elapsed().as_secs();
            info!(seconds, failures, "the API server is reached again");
        }
    }

    /// Whether the server was not reached the last time.
    pub(crate) fn is_on(&self) -> bool {
        self.state().since.is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether something that goes wrong again is worth a line: the first time, the second, the fourth,
/// the eighth and so on, and whenever it is something else.
#[derive(Default)]
pub(crate) struct Repeats {
    message: String,
    count: u64,
}

impl Repeats {
    pub(crate) fn is_news(&mut self, message: &str) -> bool {
        if self.message != message {
            (self.message, self.count) = (message.into(), 0);
        }
        self.count += 1;
        self.count.is_power_of_two()
    }

    /// It went well.
    pub(crate) fn end(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::log_lines;

    #[tokio::test(start_paused = true)]
    async fn an_outage_is_said_once_then_ever_more_seldom_and_at_its_end() {
        let outage = Outage::default();
        let lines = log_lines();
        let mut hours = Vec::new();
        for _ in 0..3 {
            for _ in 0..36_000 {
                outage.failed("connection refused");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            hours.push(lines.take().len());
        }
        assert_eq!(hours, [11, 6, 6]);
        assert!(outage.is_on());
        outage.answered();
        outage.answered();
        let said = lines.take();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("reached again") && said[0].contains("failures=108000"));
        assert!(!outage.is_on());
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_comes_and_goes_is_not_spoken_of_all_the_time() {
        let (outage, lines) = (Outage::default(), log_lines());
        for _ in 0..1_000 {
            outage.failed("connection refused");
            outage.answered();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(lines.take().len(), 2);
        tokio::time::sleep(Duration::from_secs(3600)).await;
        outage.failed("connection refused");
        tokio::time::sleep(Duration::from_secs(10)).await;
        outage.failed("connection refused");
        assert_eq!(lines.take().len(), 2, "an hour later it is news again");
    }

    #[test]
    fn the_same_again_is_no_news() {
        let mut repeats = Repeats::default();
        let news = (0..100).filter(|_| repeats.is_news("a")).count();
        assert_eq!(news, 7);
        assert!(repeats.is_news("b") && repeats.is_news("a"));
        repeats.end();
        assert!(repeats.is_news("a"));
    }
}
