//! How a thread waits for a future.

use crate::{Parker, Unparker};
use std::future::Future;
use std::mem;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// Runs `future` on the calling thread, which sleeps while the future waits. For threads outside a
/// dispatcher: a worker that sleeps here runs nothing else meanwhile.
///
/// ```
/// assert_eq!(motet_sync::block_on(async { 6 * 7 }), 42);
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    let wait = |parker: &Parker| {
        parker.park();
        true
    };
    poll_until(future, wait).expect("it waits until the future has ended")
}

/// Like [`block_on`], but sleeps no longer than `limit`: `None` when the time is up, and the future
/// has been dropped. What is ready at once is got also with a limit of zero. A future that wakes
/// itself again and again has its limit as others have.
///
/// ```
/// use motet_sync::block_on_for;
/// use std::time::Duration;
///
/// assert_eq!(block_on_for(async { 6 * 7 }, Duration::ZERO), Some(42));
/// assert_eq!(block_on_for(std::future::pending::<u32>(), Duration::ZERO), None);
/// ```
pub fn block_on_for<F: Future>(future: F, limit: Duration) -> Option<F::Output> {
    let (begin, mut is_last) = (Instant::now(), false);
    poll_until(future, |parker| {
        let left = limit.saturating_sub(begin.elapsed());
        // Who was woken in time is polled once more, and only once: it may wake itself for ever.
        !mem::replace(&mut is_last, left.is_zero()) && parker.park_timeout(left)
    })
}

/// Polls `future` again and again until it has ended. In between it calls `sleep`, with a parker
/// that is unparked when the future is woken. `None` when `sleep` says `false`, and the future has
/// been dropped.
pub fn poll_until<F: Future>(
    future: F,
    mut sleep: impl FnMut(&Parker) -> bool,
) -> Option<F::Output> {
    let parker = Parker::new();
    let waker = Waker::from(Arc::new(WakeThread(parker.unparker())));
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return Some(output);
        }
        if !sleep(&parker) {
            return None;
        }
    }
}

struct WakeThread(Unparker);

impl Wake for WakeThread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use crate::{Mutex, thread};

    #[test]
    fn a_future_that_is_woken_from_elsewhere_ends() {
        let mut polls = 0;
        let wakers = Arc::new(Mutex::new(Vec::new()));
        let woken = block_on(std::future::poll_fn(|cx| {
            polls += 1;
            if polls == 3 {
                return Poll::Ready(polls);
            }
            wakers.lock().push(cx.waker().clone());
            let wakers = Arc::clone(&wakers);
            thread::spawn(move || {
                let left = std::mem::take(&mut *wakers.lock());
                left.into_iter().for_each(Waker::wake);
            });
            Poll::Pending
        }));
        assert_eq!(woken, 3);
    }

    #[test]
    fn a_future_that_wakes_itself_again_and_again_has_its_limit() {
        let ready_after = |times: u32| {
            let mut polls = 0;
            std::future::poll_fn(move |cx| {
                polls += 1;
                if polls > times {
                    return Poll::Ready(polls);
                }
                cx.waker().wake_by_ref();
                Poll::Pending
            })
        };
        for limit in [0, 1] {
            let limit = Duration::from_millis(limit);
            assert_eq!(block_on_for(ready_after(u32::MAX), limit), None);
            assert_eq!(block_on_for(ready_after(1), limit), Some(2));
        }
    }
}
