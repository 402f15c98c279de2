//! Waiting for something to become true, never for time to pass.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use tokio::time::sleep;

const PAUSE: Duration = Duration::from_millis(50);

/// Tries until the inner result is there. The inner error says what is the case so far, and is
/// part of the message if it stays so for too long; the outer one ends the wait.
pub(crate) async fn until<T, F>(
    what: &str,
    within: Duration,
    mut attempt: impl FnMut() -> F,
) -> Result<T>
where
    F: Future<Output = Result<Result<T, String>>>,
{
    let start = Instant::now();
    loop {
        let so_far = match attempt().await? {
            Ok(value) => return Ok(value),
            Err(so_far) => so_far,
        };
        if start.elapsed() > within {
            bail!("waited {} s for {what}: {so_far}", within.as_secs());
        }
        sleep(PAUSE).await;
    }
}
