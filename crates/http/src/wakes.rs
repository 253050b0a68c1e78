//! One wake of the server for all answers that are ready.
//!
//! ```text
//!   workers: answer, answer, answer ──► list ──► one write to the server's event ──► all their tasks
//! ```
//!
//! Tokio writes to the event of its thread for each task that another thread wakes. Here the first
//! answer in the list wakes one task, which wakes the others from the server's own thread.

use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::{Mutex, renew_waker};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// Those who are to be woken.
#[derive(Default)]
pub(crate) struct Wakes(Mutex<Ready>);

#[derive(Default)]
struct Ready {
    /// Whether [`Wakes::run`] is there to wake them.
    runs: bool,
    /// That of its task, while the list is empty.
    own: Option<Waker>,
    list: Vec<Arc<OneWake>>,
}

/// Whoever is in the list when nobody wakes it any more would keep the list, and the list him.
struct WakesEnd<'a>(&'a Wakes);

impl Drop for WakesEnd<'_> {
    fn drop(&mut self) {
        let left = std::mem::take(&mut *self.0.0.lock());
        for one in left.list {
            one.waker.wake_by_ref();
        }
    }
}

/// A task that waits for what another thread does.
struct OneWake {
    wakes: Arc<Wakes>,
    waker: Waker,
    /// Since it was looked at last.
    is_woken: AtomicBool,
}

impl Wakes {
    /// Wakes those whose answers are ready, for as long as it runs.
    pub(crate) async fn run(&self) {
        let _end = WakesEnd(self);
        let mut ready = Vec::new();
        poll_fn(|cx| {
            let mut state = self.0.lock();
            state.runs = true;
            // An empty list is put in its place, with the room of the last.
            std::mem::swap(&mut state.list, &mut ready);
            let before = match &mut state.own {
                Some(own) => renew_waker(own, cx.waker()),
                own => own.replace(cx.waker().clone()),
            };
            drop(state);
            drop(before);
            for one in ready.drain(..) {
                one.waker.wake_by_ref();
            }
            Poll::Pending
        })
        .await
    }

    /// Waits for what other threads do. `future` is looked at when it has been woken: its task is
    /// for the sake of its connection, too.
    pub(crate) async fn wait<F: Future>(self: &Arc<Self>, future: F) -> F::Output {
        let mut future = pin!(future);
        let mut waker: Option<(Waker, Arc<OneWake>)> = None;
        poll_fn(|cx| {
            if !matches!(&waker, Some((_, one)) if one.waker.will_wake(cx.waker())) {
                let one = Arc::new(OneWake {
                    wakes: Arc::clone(self),
                    waker: cx.waker().clone(),
                    is_woken: AtomicBool::new(true),
                });
                waker = Some((Waker::from(Arc::clone(&one)), one));
            }
            match &waker {
                // Before the look: what wakes during it has it looked at again.
                Some((waker, one)) if one.is_woken.swap(false, Ordering::Acquire) => {
                    future.as_mut().poll(&mut Context::from_waker(waker))
                }
                _ => Poll::Pending,
            }
        })
        .await
    }
}

impl Wake for OneWake {
    fn wake(self: Arc<Self>) {
        let mut state = self.wakes.0.lock();
        // Before its task is woken, which looks. Inside the lock: of two that wake at once the
        // later has seen what the earlier did, and whoever sees the later sees both.
        self.is_woken.store(true, Ordering::Release);
        if !state.runs {
            drop(state);
            return self.waker.wake_by_ref();
        }
        state.list.push(Arc::clone(&self));
        let own = state.own.take();
        drop(state);
        if let Some(own) = own {
            own.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motet_sync::atomic::AtomicUsize;
    use motet_sync::thread::spawn;
    use std::time::Duration;
    use tokio::sync::oneshot;

    /// Counts how often it is woken.
    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn many_answers_wake_the_server_once() {
        let (wakes, counted) = (Arc::new(Wakes::default()), Arc::new(Counted::default()));
        let waker = Waker::from(Arc::clone(&counted));
        let mut cx = Context::from_waker(&waker);
        let mut run = pin!(wakes.run());
        assert!(run.as_mut().poll(&mut cx).is_pending());
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..5).map(|_| oneshot::channel()).unzip();
        let mut waiting: Vec<_> = receivers
            .into_iter()
            .map(|receiver| Box::pin(wakes.wait(receiver)))
            .collect();
        for wait in &mut waiting {
            assert!(wait.as_mut().poll(&mut cx).is_pending());
        }
        senders
            .into_iter()
            .for_each(|sender| assert_eq!(sender.send(7), Ok(())));
        assert_eq!(counted.0.load(Ordering::Relaxed), 1);
        assert!(run.as_mut().poll(&mut cx).is_pending());
        // The same waker stands for all five tasks here.
        assert_eq!(counted.0.load(Ordering::Relaxed), 6);
        for wait in &mut waiting {
            assert_eq!(wait.as_mut().poll(&mut cx), Poll::Ready(Ok(7)));
        }
    }

    #[test]
    fn who_has_not_been_woken_is_not_looked_at() {
        let wakes = Arc::new(Wakes::default());
        let (sender, mut receiver) = oneshot::channel();
        let looks = AtomicUsize::new(0);
        let looking = poll_fn(|cx| {
            looks.fetch_add(1, Ordering::Relaxed);
            pin!(&mut receiver).poll(cx)
        });
        let mut wait = pin!(wakes.wait(looking));
        let waker = Waker::from(Arc::new(Counted::default()));
        let mut cx = Context::from_waker(&waker);
        for _ in 0..3 {
            assert!(wait.as_mut().poll(&mut cx).is_pending());
        }
        assert_eq!(looks.load(Ordering::Relaxed), 1);
        assert_eq!(sender.send(7), Ok(()));
        assert_eq!(wait.as_mut().poll(&mut cx), Poll::Ready(Ok(7)));
        assert_eq!(looks.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn nobody_is_kept_when_it_has_ended() {
        let wakes = Arc::new(Wakes::default());
        let mut cx = Context::from_waker(Waker::noop());
        let mut run = Box::pin(wakes.run());
        assert!(run.as_mut().poll(&mut cx).is_pending());
        let (sender, receiver) = oneshot::channel();
        let mut wait = Box::pin(wakes.wait(receiver));
        assert!(wait.as_mut().poll(&mut cx).is_pending());
        assert_eq!(sender.send(7), Ok(()));
        drop((wait, run));
        assert_eq!(Arc::strong_count(&wakes), 1);
    }

    #[test]
    fn answers_of_other_threads_come_with_and_without_it() {
        for runs in [true, false] {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()
                .unwrap();
            let wakes = Arc::new(Wakes::default());
            runtime.block_on(async {
                let own = Arc::clone(&wakes);
                if runs {
                    tokio::spawn(async move { own.run().await });
                }
                for _ in 0..200 {
                    let (sender, receiver) = oneshot::channel();
                    spawn(move || assert_eq!(sender.send(7), Ok(())));
                    let answer =
                        tokio::time::timeout(Duration::from_secs(20), wakes.wait(receiver));
                    assert_eq!(answer.await.unwrap(), Ok(7));
                }
            });
        }
    }
}
