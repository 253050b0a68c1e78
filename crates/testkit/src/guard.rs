//! Tests that end, even when what they test hangs.

use crate::stress::stress_time;
use motet_sync::thread;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc;
use std::time::Duration;

/// How long a test may take before it counts as hanging: long, because machines are slow and
/// shared, and longer under [`stress`](crate::stress()).
#[must_use]
pub fn patience() -> Duration {
    Duration::from_secs(600) + 2 * stress_time()
}

/// Runs `body` on a thread of its own and returns what it returns.
///
/// ```
/// use motet_testkit::{patience, within};
///
/// assert_eq!(within(patience(), || 6 * 7), 42);
/// ```
///
/// # Panics
/// With the body's own panic, or, when the body has not ended after `limit`, with the test's name;
/// the thread that hangs is left behind.
pub fn within<R: Send + 'static>(limit: Duration, body: impl FnOnce() -> R + Send + 'static) -> R {
    let name = thread::current().name().unwrap_or("test").to_owned();
    let (tell, told) = mpsc::channel();
    thread::spawn_named(&name, move || {
        // Nobody listens any more when the limit has passed; the test has failed already.
        let _ = tell.send(catch_unwind(AssertUnwindSafe(body)));
    })
    .expect("a thread for the test");
    match told.recv_timeout(limit) {
        Ok(result) => result.unwrap_or_else(|panic| resume_unwind(panic)),
        Err(_) => panic!("{name} hangs: no end after {limit:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "a_hang_is_told hangs")]
    fn a_hang_is_told() {
        within(Duration::from_millis(20), || {
            loop {
                thread::park();
            }
        });
    }

    #[test]
    #[should_panic(expected = "own words")]
    fn a_panic_is_passed_on() {
        within(patience(), || panic!("own words"));
    }
}
