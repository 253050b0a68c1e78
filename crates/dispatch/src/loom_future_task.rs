//! Models of async tasks: wake-ups against polls, wakers that go away.

use crate::inbox::Inbox;
use crate::{Enqueue, Exception, QueueError, Task, spawn, spawn_unchecked};
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::cell::UnsafeCell;
use motet_sync::{Arc as LoomArc, Mutex, thread};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A queue that a thread of the model empties by hand.
pub(crate) struct Hand(Inbox);

impl Hand {
    pub(crate) fn new() -> Arc<Hand> {
        Arc::new(Hand(Inbox::new()))
    }

    pub(crate) fn run_all(&self) {
        let mut tasks = self.0.take_all();
        while let Some(task) = tasks.pop_front() {
            task.run();
        }
    }
}

impl Enqueue for Arc<Hand> {
    fn reserve(&self) -> Result<(), QueueError> {
        Ok(())
    }
    fn release(&self) {}

    fn admit(&self, task: Task) {
        self.0.push(task);
    }
    fn readmit(&self, task: Task) {
        self.0.push(task);
    }
    fn handle(&self) -> Arc<dyn Enqueue> {
        Arc::new(Arc::clone(self))
    }
    fn name(&self) -> &str {
        "hand"
    }
    fn raise(&self, _: Exception) {}
}

/// What a waiting future and its waker share.
struct Event {
    flag: AtomicUsize,
    waker: Mutex<Option<Waker>>,
    data: UnsafeCell<u32>,
}

// SAFETY: `data` is written before `flag` is set and read after it was seen set.
unsafe impl Sync for Event {}
// SAFETY: as above.
unsafe impl Send for Event {}

/// Ready when the flag is set; leaves its waker before it looks.
struct WaitFor(LoomArc<Event>);

impl Future for WaitFor {
    type Output = ();
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        *self.0.waker.lock() = Some(cx.waker().clone());
        if self.0.flag.load(Ordering::Acquire) == 0 {
            return Poll::Pending;
        }
        // SAFETY: the flag says that the writer has finished.
        assert_eq!(self.0.data.with(|data| unsafe { *data }), 7);
        Poll::Ready(())
    }
}

fn new_event() -> LoomArc<Event> {
    LoomArc::new(Event {
        flag: AtomicUsize::new(0),
        waker: Mutex::new(None),
        data: UnsafeCell::new(0),
    })
}

/// An event, and an async task that waits for it on the queue.
fn start() -> (Arc<Hand>, LoomArc<Event>) {
    let (hand, event) = (Hand::new(), new_event());
    spawn(&hand.handle(), WaitFor(event.clone())).unwrap();
    (hand, event)
}

/// A wake-up against the poll it is meant for: never lost, and what the waker wrote is seen.
#[test]
fn loom_wake_against_poll() {
    loom::model(|| {
        let (hand, event) = start();
        let waker = thread::spawn({
            let event = event.clone();
            move || {
                // SAFETY: nobody reads before the flag is set.
                event.data.with_mut(|data| unsafe { *data = 7 });
                event.flag.store(1, Ordering::Release);
                let waker = event.waker.lock().take();
                waker.into_iter().for_each(Waker::wake);
            }
        });
        hand.run_all();
        waker.join().unwrap();
        hand.run_all();
        let late = event.waker.lock().take();
        drop(late);
        assert_eq!(
            LoomArc::strong_count(&event),
            1,
            "the future ended and was dropped"
        );
    });
}

/// The last waker goes away, maybe while the task is being polled: the future is dropped, once.
#[test]
fn loom_abandoned_task_is_dropped() {
    loom::model(|| {
        let (hand, event) = start();
        let dropper = thread::spawn({
            let event = event.clone();
            move || drop(event.waker.lock().take())
        });
        hand.run_all();
        dropper.join().unwrap();
        let late = event.waker.lock().take();
        drop(late);
        hand.run_all();
        assert_eq!(LoomArc::strong_count(&event), 1, "the future was dropped");
    });
}

/// Two wakers at once: polled again once or twice, queued never twice at a time.
#[test]
fn loom_two_wakers() {
    loom::model(|| {
        let (hand, event) = start();
        hand.run_all();
        let first = event.waker.lock().take().unwrap();
        let second = first.clone();
        // SAFETY: the task waits.
        event.data.with_mut(|data| unsafe { *data = 7 });
        event.flag.store(1, Ordering::Release);
        let other = thread::spawn(move || second.wake());
        first.wake();
        hand.run_all();
        other.join().unwrap();
        hand.run_all();
        let late = event.waker.lock().take();
        drop(late);
        assert_eq!(
            LoomArc::strong_count(&event),
            1,
            "the future ended and was dropped"
        );
    });
}

/// Keeps the value that its last poll saw; never ends.
struct Looks {
    value: LoomArc<AtomicUsize>,
    seen: LoomArc<AtomicUsize>,
    waker: LoomArc<Mutex<Option<Waker>>>,
}

impl Future for Looks {
    type Output = ();
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut waker = self.waker.lock();
        if waker.is_none() {
            *waker = Some(cx.waker().clone());
        }
        drop(waker);
        let value = self.value.load(Ordering::Relaxed);
        self.seen.store(value, Ordering::Relaxed);
        Poll::Pending
    }
}

/// A wake-up that only leaves its mark, because another one has queued the task or it is being
/// polled. A poll follows, and sees what was written before, with nothing but the mark to carry it.
#[test]
fn loom_the_last_poll_sees_what_was_written_before_each_wake_up() {
    loom::model(|| {
        let hand = Hand::new();
        let [value, seen] = [(); 2].map(|()| LoomArc::new(AtomicUsize::new(0)));
        let waker = LoomArc::new(Mutex::new(None));
        let looks = Looks {
            value: value.clone(),
            seen: seen.clone(),
            waker: waker.clone(),
        };
        spawn(&hand.handle(), looks).unwrap();
        hand.run_all();
        let (first, second) = {
            let waker = waker.lock();
            let waker = waker.as_ref().expect("the first poll left it");
            (waker.clone(), waker.clone())
        };
        let other = thread::spawn({
            let value = value.clone();
            move || {
                value.store(1, Ordering::Relaxed);
                second.wake();
            }
        });
        first.wake();
        hand.run_all();
        other.join().unwrap();
        hand.run_all();
        assert_eq!(seen.load(Ordering::Relaxed), 1);
        let last = waker.lock().take();
        drop(last);
        hand.run_all();
        assert_eq!(LoomArc::strong_count(&value), 1, "the future was dropped");
    });
}

/// The wakers of a watched task go away at once: it is polled once more, whoever was the last.
#[test]
fn loom_watched_task_is_polled_when_its_last_waker_goes() {
    loom::model(|| {
        let (hand, event) = (Hand::new(), new_event());
        // SAFETY: the future borrows nothing, and this thread alone runs the queue's tasks.
        let handle = unsafe { spawn_unchecked(&hand.handle(), WaitFor(event.clone())) };
        hand.run_all();
        let first = event.waker.lock().take().unwrap();
        let second = first.clone();
        let other = thread::spawn(move || drop(second));
        drop(first);
        other.join().unwrap();
        assert!(!handle.waits_for_handle(), "it is queued");
        hand.run_all();
        let again = event.waker.lock().take();
        // SAFETY: the task waits.
        event.data.with_mut(|data| unsafe { *data = 7 });
        event.flag.store(1, Ordering::Release);
        drop(again.expect("it was polled"));
        hand.run_all();
        assert!(handle.is_done());
        let late = event.waker.lock().take();
        drop(late);
        assert_eq!(LoomArc::strong_count(&event), 1, "the future was dropped");
    });
}
