//! Requests for a report about a world, and who waits for one.

use motet_sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// Where requests come together: several within a moment are one.
#[derive(Default)]
pub(crate) struct Asks {
    state: Mutex<State>,
    asked: Condvar,
}

#[derive(Default)]
struct State {
    /// Somebody has asked, and nobody has been told.
    open: bool,
    /// When somebody was last told.
    told: Option<Instant>,
}

/// A request so soon after one that has been told is answered with it. A launcher that passes a
/// signal on to all processes makes one request of each.
const MOMENT: Duration = Duration::from_secs(1);

impl Asks {
    /// Asks for a report.
    pub(crate) fn ask(&self) {
        let mut state = self.state.lock();
        if state.told.is_none_or(|told| told.elapsed() >= MOMENT) {
            state.open = true;
            self.asked.notify_all();
        }
    }

    /// Waits until somebody asks, or the time is over; whether somebody has asked.
    pub(crate) fn wait(&self, limit: Option<Duration>) -> bool {
        let begun = Instant::now();
        let mut state = self.state.lock();
        while !state.open {
            state = match limit.map(|limit| limit.saturating_sub(begun.elapsed())) {
                None => self.asked.wait(state),
                Some(Duration::ZERO) => break,
                Some(left) => self.asked.wait_timeout(state, left).0,
            };
        }
        let asked = std::mem::take(&mut state.open);
        if asked {
            state.told = Some(Instant::now());
        }
        asked
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_has_waited_in_vain_has_told_nobody() {
        let asks = Asks::default();
        assert!(!asks.wait(Some(Duration::ZERO)));
        asks.ask();
        assert!(asks.wait(Some(Duration::ZERO)));
    }

    #[test]
    fn requests_within_a_moment_are_one() {
        let asks = Asks::default();
        assert!(!asks.wait(Some(Duration::ZERO)));
        asks.state.lock().told = None;
        asks.ask();
        asks.ask();
        assert!(asks.wait(None));
        // However slow this thread is.
        asks.state.lock().told = Instant::now().checked_add(1000 * MOMENT);
        asks.ask();
        assert!(!asks.wait(Some(Duration::ZERO)), "it was answered just now");
        asks.state.lock().told = Instant::now().checked_sub(MOMENT);
        asks.ask();
        assert!(asks.wait(Some(Duration::ZERO)));
    }
}
