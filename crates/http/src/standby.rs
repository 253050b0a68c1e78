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
        let count = self.count.load(Ordering::Relaxed);
        // Sequentially consistent, as all below: either this sees that nobody looks, or the
        // standby, which then looks once more, sees the call.
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
                if self.count.load(Ordering::SeqCst) == before {
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

    /// Whether the server's own thread is in a call.
    pub(crate) fn is_in_call(&self) -> bool {
        is_call(self.count.load(Ordering::SeqCst))
    }
}

fn is_call(count: u64) -> bool {
    count % 2 == 1
}

impl Drop for OwnCall<'_> {
    fn drop(&mut self) {
        let count = self.0.count.load(Ordering::Relaxed);
        self.0.count.store(count + 1, Ordering::Release);
    }
}
