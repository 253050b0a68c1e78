//! How long a connection waits for the head of a request.
//!
//! ```text
//!   connection ──► waits since now ──► head came ──► answer ──► waits since now ──► …
//!                          └── the connection's one timer rings: too long? else it is set anew
//! ```
//!
//! hyper makes a timer for each head, and takes it back when the head is there. This one is looked
//! at when it rings: once for as long as a head may take, however many heads come meanwhile.

use motet_sync::Mutex;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::task::coop::unconstrained;
use tokio::time::{Instant, Sleep, sleep_until};

/// Since when a connection waits for a head.
#[derive(Debug)]
pub(crate) struct HeadWait(Mutex<HeadState>);

#[derive(Debug)]
struct HeadState {
    /// `None`: a request is answered.
    since: Option<Instant>,
    /// How many heads have come.
    heads: u64,
    /// The other side takes nothing of the answer before: how long it may, `writes.rs` says.
    is_blocked: bool,
}

impl HeadWait {
    /// Of a connection that begins.
    pub(crate) fn new() -> Self {
        HeadWait(Mutex::new(HeadState {
            since: Some(Instant::now()),
            heads: 0,
            is_blocked: false,
        }))
    }

    /// A head is waited for from now on.
    pub(crate) fn begins(&self) {
        self.0.lock().since = Some(Instant::now());
    }

    /// The head behind that of this number is waited for from now on, unless it has come.
    fn begins_behind(&self, number: u64) {
        let mut state = self.0.lock();
        if state.heads == number {
            state.since = Some(Instant::now());
        }
    }

    /// The head is there.
    pub(crate) fn came(&self) {
        let mut state = self.0.lock();
        state.heads += 1;
        state.since = None;
    }

    /// The other side takes nothing of what is written.
    pub(crate) fn writes_wait(&self) {
        self.0.lock().is_blocked = true;
    }

    /// It takes something again. Whoever waits for a head has waited for that until now.
    pub(crate) fn writes_go_on(&self) {
        let mut state = self.0.lock();
        state.is_blocked = false;
        if let Some(since) = &mut state.since {
            *since = Instant::now();
        }
    }
}

impl HeadState {
    /// When to look again; `None`: the head has not come within `most`.
    fn look(&self, now: Instant, most: Duration) -> Option<Instant> {
        match self.since {
            Some(since) if !self.is_blocked => {
                let due = since + most;
                (due > now).then_some(due)
            }
            // A wait that begins later ends later than this.
            _ => Some(now + most.max(LEAST)),
        }
    }
}

/// No timer is set for less.
const LEAST: Duration = Duration::from_millis(1);

/// Has the connection wait for the next head when it is dropped. That may be there by then, where
/// the rest of a body was taken before it.
#[derive(Debug)]
pub(crate) struct HeadAgain {
    heads: Arc<HeadWait>,
    /// Of the head that came last.
    number: u64,
}

impl HeadAgain {
    pub(crate) fn new(heads: Arc<HeadWait>) -> Self {
        let number = heads.0.lock().heads;
        HeadAgain { heads, number }
    }
}

impl Drop for HeadAgain {
    fn drop(&mut self) {
        self.heads.begins_behind(self.number);
    }
}

/// The timer of a connection.
pub(crate) struct HeadTimer {
    heads: Arc<HeadWait>,
    most: Duration,
    sleep: Pin<Box<Sleep>>,
}

impl HeadTimer {
    /// A head may take so long.
    pub(crate) fn new(heads: Arc<HeadWait>, most: Duration) -> Self {
        HeadTimer {
            heads,
            most,
            sleep: Box::pin(sleep_until(Instant::now() + most)),
        }
    }

    /// Whether there is something to look at.
    pub(crate) fn rings(&self) -> bool {
        self.sleep.is_elapsed()
    }

    /// Ready when a head has not come in time; else it wakes when it rings.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // Also where tokio lets the task do nothing more now: it must hear of the ring.
        while pin!(unconstrained(self.sleep.as_mut())).poll(cx).is_ready() {
            let next = self.heads.0.lock().look(Instant::now(), self.most);
            match next {
                None => return Poll::Ready(()),
                Some(next) => self.sleep.as_mut().reset(next),
            }
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Duration = Duration::from_secs(5);

    #[test]
    fn who_waits_for_a_head_waits_for_so_long() {
        let begun = Instant::now();
        let mut state = HeadState {
            since: Some(begun),
            heads: 0,
            is_blocked: false,
        };
        assert_eq!(state.look(begun, MOST), Some(begun + MOST));
        assert_eq!(state.look(begun + MOST, MOST), None);
        // The timer was set for the wait before.
        state.since = Some(begun + 3 * LEAST);
        let due = begun + 3 * LEAST + MOST;
        assert_eq!(state.look(begun + MOST, MOST), Some(due));
        assert_eq!(state.look(due, MOST), None);
        assert_eq!(state.look(due, Duration::ZERO), None);
    }

    #[test]
    fn a_head_that_has_come_is_not_waited_for_by_what_was_before() {
        let heads = Arc::new(HeadWait::new());
        heads.came();
        let before = HeadAgain::new(Arc::clone(&heads));
        heads.came();
        drop(before);
        assert_eq!(heads.0.lock().since, None);
        drop(HeadAgain::new(Arc::clone(&heads)));
        assert!(heads.0.lock().since.is_some());
    }

    #[test]
    fn who_is_answered_or_takes_nothing_does_not_wait_for_a_head() {
        let now = Instant::now();
        for (since, is_blocked) in [(None, false), (None, true), (Some(now), true)] {
            let heads = 0;
            let state = HeadState {
                since,
                heads,
                is_blocked,
            };
            let later = now + 100 * MOST;
            assert_eq!(state.look(later, MOST), Some(later + MOST));
            assert_eq!(state.look(later, Duration::ZERO), Some(later + LEAST));
        }
    }

    #[test]
    fn an_end_of_a_write_that_waited_is_a_begin() {
        let heads = HeadWait::new();
        let since = || heads.0.lock().since;
        heads.came();
        heads.writes_wait();
        heads.writes_go_on();
        assert_eq!(since(), None, "a request is answered");
        let again = Arc::new(HeadWait::new());
        again.came();
        drop(HeadAgain::new(Arc::clone(&again)));
        assert!(again.0.lock().since.is_some(), "it waits again");
        again.writes_wait();
        assert!(again.0.lock().is_blocked);
        // No clock comes to this before the end of the test.
        let wrong = Instant::now() + 1000 * MOST;
        again.0.lock().since = Some(wrong);
        again.writes_go_on();
        assert!(again.0.lock().since.unwrap() < wrong);
        assert!(!again.0.lock().is_blocked);
    }
}
