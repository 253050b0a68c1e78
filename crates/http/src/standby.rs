//! A second thread that takes new connections while the server's own is in a handler that blocks.
//!
//! ```text
//!   own thread: call ─► brief handler ─► call ─► a handler that blocks ───────────────────►
//!   standby:     │ told: looks each 50 ms        │ twice in the same call: takes connections
//!                └ nothing is called any more: waits until it is told again
//! ```
//!
//! The server's own thread carries out brief operations itself
//! ([`Options::at_once`](motet_service::Options)). Those whose connections it has wait for a handler
//! that blocks there; whoever comes anew does not.

use motet_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::sleep;

/// Between two looks. A call that is seen twice has blocked.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// After so many looks at which nothing had been called, the standby waits.
const IDLE: u32 = 20;

/// The calls that the server's own thread carries out.
#[derive(Default)]
pub(crate) struct OwnCalls {
    /// Twice the number of those that have ended, and one while there is one.
    count: AtomicU64,
    /// Whether the standby looks.
    is_watched: AtomicBool,
    watch: Notify,
}

/// A call on the server's own thread, until this is dropped.
struct OwnCall<'a>(&'a OwnCalls);

impl OwnCalls {
    /// Does what may carry out an operation on this thread.
    pub(crate) fn run<R>(&self, call: impl FnOnce() -> R) -> R {
        // Relaxed: this thread alone writes it.
        let count = self.count.load(Ordering::Relaxed);
        // Sequentially consistent, as what the standby does: either this sees that nobody looks, or
        // the standby, which then looks once more, sees the call.
        self.count.store(count + 1, Ordering::SeqCst);
        let _ends = OwnCall(self);
        if !self.is_watched.load(Ordering::SeqCst) {
            self.is_watched.store(true, Ordering::SeqCst);
            self.watch.notify_one();
        }
        call()
    }

    /// Waits for a call that blocks; its number.
    pub(crate) async fn blocked(&self) -> u64 {
        let (mut before, mut idle) = (self.count.load(Ordering::SeqCst), IDLE);
        loop {
            if idle == IDLE {
                self.is_watched.store(false, Ordering::SeqCst);
                // A call that had begun by then tells nobody.
                if self.count.load(Ordering::SeqCst) == before && !is_call(before) {
                    self.watch.notified().await;
                }
                self.is_watched.store(true, Ordering::SeqCst);
                idle = 0;
            }
            sleep(LOOK).await;
            let now = self.count.load(Ordering::SeqCst);
            match now == before {
                true if is_call(now) => return now,
                true => idle += 1,
                false => idle = 0,
            }
            before = now;
        }
    }

    /// Waits until that call has ended.
    pub(crate) async fn has_ended(&self, call: u64) {
        while self.count.load(Ordering::SeqCst) == call {
            sleep(LOOK).await;
        }
    }

    /// The number of the call in which the server's own thread is.
    pub(crate) fn now(&self) -> Option<u64> {
        let count = self.count.load(Ordering::SeqCst);
        is_call(count).then_some(count)
    }
}

fn is_call(count: u64) -> bool {
    count % 2 == 1
}

impl Drop for OwnCall<'_> {
    fn drop(&mut self) {
        // Relaxed: this thread alone writes it. Release: what the call did is done when its end is
        // seen.
        let count = self.0.count.load(Ordering::Relaxed);
        self.0.count.store(count + 1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use tokio::time::timeout;

    /// Only what never comes takes as long.
    const LONG: Duration = Duration::from_secs(60);

    fn looks<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let looked = runtime.block_on(async { timeout(LONG, future).await });
        looked.expect("the standby is told")
    }

    #[test]
    fn a_call_that_has_begun_before_the_standby_looks_is_seen() {
        let calls = OwnCalls::default();
        let first = calls.run(|| looks(calls.blocked()));
        looks(calls.has_ended(first));
        // It is told nothing more: the standby was looking when this began.
        let second = calls.run(|| {
            assert!(calls.is_watched.load(Ordering::SeqCst));
            looks(calls.blocked())
        });
        assert_ne!(first, second);
        looks(calls.has_ended(second));
        assert_eq!(calls.now(), None);
    }

    #[test]
    fn a_call_that_panics_has_ended() {
        let calls = OwnCalls::default();
        let call = || calls.run(|| assert_eq!(calls.now(), None, "it is one"));
        assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
        assert_eq!(calls.now(), None);
        assert_eq!(calls.run(|| calls.now()), Some(3));
    }
}
