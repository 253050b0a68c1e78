//! One wake of the server for all answers that are ready, and none while it is awake.
//!
//! ```text
//!   workers: answer, answer, answer ──► list ──► server, awake: looks ──► all their tasks
//!                                        └──► server, asleep: one write to its event ──► looks
//! ```
//!
//! Tokio writes to the event of its thread for each task that another thread wakes. Here the server
//! looks at the list before it sleeps, and with each connection that it takes or goes on with: also
//! one that never sleeps looks. If it sleeps, the first answer in the list wakes one task, which
//! wakes the others from the server's own thread.

use motet_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use motet_sync::{Mutex, offer_core, renew_waker};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

/// Those who are to be woken.
#[derive(Default)]
pub(crate) struct Wakes {
    ready: Mutex<Ready>,
    /// Whether somebody is in the list, to be read without its lock.
    is_any: AtomicBool,
    /// How many wait.
    waiting: AtomicUsize,
}

#[derive(Default)]
struct Ready {
    /// Whether [`Wakes::run`] is there to wake them.
    runs: bool,
    /// The server looks before it sleeps.
    is_awake: bool,
    /// That of the task of [`Wakes::run`], until it is woken.
    own: Option<Waker>,
    list: Vec<Arc<OneWake>>,
}

/// Whoever is in the list when nobody wakes it any more would keep the list, and the list him.
struct WakesEnd<'a>(&'a Wakes);

impl Drop for WakesEnd<'_> {
    fn drop(&mut self) {
        let left = std::mem::take(&mut *self.0.ready.lock());
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

/// One of those who wait, until this is dropped.
struct WaitingOne<'a>(&'a AtomicUsize);

impl<'a> WaitingOne<'a> {
    fn new(waiting: &'a AtomicUsize) -> Self {
        // Relaxed, here and below: the server counts and looks on its own thread.
        waiting.fetch_add(1, Ordering::Relaxed);
        WaitingOne(waiting)
    }
}

impl Drop for WaitingOne<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Wakes {
    /// Wakes those whose answers are ready, for as long as it runs.
    pub(crate) async fn run(&self) {
        let _end = WakesEnd(self);
        poll_fn(|cx| {
            let mut state = self.ready.lock();
            state.runs = true;
            let before = match &mut state.own {
                Some(own) => renew_waker(own, cx.waker()),
                own => own.replace(cx.waker().clone()),
            };
            drop(state);
            drop(before);
            self.look();
            Poll::Pending
        })
        .await
    }

    /// Wakes those whose answers are ready.
    pub(crate) fn look(&self) {
        // Relaxed: what it does not see yet it sees at the next look, and under the lock below.
        if self.is_any.load(Ordering::Relaxed) {
            self.wake_all(|_| {});
        }
    }

    /// The server has nothing to do: wakes those whose answers are ready. While several wait for
    /// theirs, it first lets the workers, and those who ask, have its core: then it sleeps less
    /// often, and goes on with more of them at a time.
    pub(crate) fn before_sleep(&self) {
        if self.waiting.load(Ordering::Relaxed) > 1 && !self.is_any.load(Ordering::Relaxed) {
            offer_core(Instant::now());
        }
        // Also with some in the list: their tasks may be gone, and then it does sleep.
        self.wake_all(|state| state.is_awake = false);
    }

    /// The server is awake again: it looks before it sleeps.
    pub(crate) fn after_sleep(&self) {
        self.ready.lock().is_awake = true;
    }

    /// Empties the list, of which `first` is told.
    fn wake_all(&self, first: impl FnOnce(&mut Ready)) {
        let mut state = self.ready.lock();
        first(&mut state);
        self.is_any.store(false, Ordering::Relaxed);
        // The next ones are as many, most often.
        let room = state.list.len();
        let ready = std::mem::replace(&mut state.list, Vec::with_capacity(room));
        drop(state);
        for one in ready {
            one.waker.wake_by_ref();
        }
    }

    /// Waits for what other threads do. `future` is looked at when it has been woken: its task is
    /// for the sake of its connection, too.
    pub(crate) async fn wait<F: Future>(self: &Arc<Self>, future: F) -> F::Output {
        let _one = WaitingOne::new(&self.waiting);
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
        let mut state = self.wakes.ready.lock();
        // Before its task is woken, which looks. Inside the lock: of two that wake at once the
        // later has seen what the earlier did, and whoever sees the later sees both.
        self.is_woken.store(true, Ordering::Release);
        if !state.runs {
            drop(state);
            return self.waker.wake_by_ref();
        }
        state.list.push(Arc::clone(&self));
        self.wakes.is_any.store(true, Ordering::Relaxed);
        let own = match state.is_awake {
            true => None,
            false => state.own.take(),
        };
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
    fn a_server_that_is_awake_is_told_nothing_and_looks() {
        let (wakes, counted) = (Arc::new(Wakes::default()), Arc::new(Counted::default()));
        let waker = Waker::from(Arc::clone(&counted));
        let mut cx = Context::from_waker(&waker);
        let count = || counted.0.load(Ordering::Relaxed);
        let mut run = pin!(wakes.run());
        assert!(run.as_mut().poll(&mut cx).is_pending());
        wakes.after_sleep();
        let ask = |cx: &mut Context<'_>| {
            let (sender, receiver) = oneshot::channel();
            let mut wait = Box::pin(wakes.wait(receiver));
            assert!(wait.as_mut().poll(cx).is_pending());
            (sender, wait)
        };
        let [(one, wait_one), (two, wait_two), (three, wait_three)] =
            [(); 3].map(|()| ask(&mut cx));
        assert_eq!((one.send(1), count()), (Ok(()), 0));
        wakes.look();
        assert_eq!(count(), 1, "the first, as a connection is gone on with");
        assert_eq!((two.send(2), count()), (Ok(()), 1));
        wakes.before_sleep();
        assert_eq!(count(), 2, "the second, instead of sleep");
        wakes.before_sleep();
        assert_eq!(
            (three.send(3), count()),
            (Ok(()), 3),
            "it sleeps: it is told"
        );
        assert!(run.as_mut().poll(&mut cx).is_pending());
        assert_eq!(count(), 4);
        assert_eq!(wakes.waiting.load(Ordering::Relaxed), 3);
        for (wait, answer) in [(wait_one, 1), (wait_two, 2), (wait_three, 3)] {
            assert_eq!(pin!(wait).poll(&mut cx), Poll::Ready(Ok(answer)));
        }
        assert_eq!(wakes.waiting.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_server_that_sleeps_after_it_woke_those_who_are_gone_is_told() {
        let (wakes, counted) = (Arc::new(Wakes::default()), Arc::new(Counted::default()));
        let waker = Waker::from(Arc::clone(&counted));
        let mut run = pin!(wakes.run());
        let polled = run.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        wakes.after_sleep();
        let ask = |is_gone: bool| {
            let (sender, receiver) = oneshot::channel();
            let mut wait = Box::pin(wakes.wait(receiver));
            let mut cx = Context::from_waker(Waker::noop());
            assert!(wait.as_mut().poll(&mut cx).is_pending());
            assert_eq!(sender.send(()), Ok(()));
            (!is_gone).then_some(wait)
        };
        drop(ask(true));
        wakes.before_sleep();
        let _wait = ask(false);
        assert_eq!(counted.0.load(Ordering::Relaxed), 1);
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
