//! Async tasks that are kept by a handle.

use crate::support::{Bell, with_queue};
use motet_dispatch::{Enqueue, FutureHandle, spawn_unchecked};
use motet_testkit::{Drops, Log};
use std::task::Poll;

/// Starts a future of this test that is kept by its handle alone.
fn start_kept(queue: &impl Enqueue, future: impl Future<Output = ()> + 'static) -> FutureHandle {
    // SAFETY: the futures of these tests own what they use and are Send.
    unsafe { spawn_unchecked(&queue.handle(), future) }
}

#[test]
fn a_handle_wakes_its_task_and_tells_when_it_is_done() {
    with_queue(1, |dispatcher, queue| {
        let log = Log::new();
        let polls = log.clone();
        let handle = start_kept(
            &queue,
            std::future::poll_fn(move |_| {
                polls.push(());
                if polls.len() < 3 {
                    Poll::Pending
                } else {
                    Poll::Ready(())
                }
            }),
        );
        for done in [false, false, true] {
            dispatcher.wait_idle();
            assert_eq!((handle.is_done(), handle.waits_for_handle()), (done, !done));
            handle.wake();
        }
        dispatcher.wait_idle();
        assert_eq!(log.len(), 3);
    });
}

#[test]
fn a_task_whose_handle_goes_is_dropped_unless_somebody_else_can_wake_it() {
    with_queue(1, |dispatcher, queue| {
        let (bell, drops) = (Bell::default(), Drops::new());
        let (value, rung) = (drops.make(), bell.rung());
        let handle = start_kept(&queue, async move {
            let _value = value;
            rung.await;
        });
        dispatcher.wait_idle();
        assert!(!handle.waits_for_handle(), "the bell has a waker, too");
        drop(handle);
        dispatcher.wait_idle();
        assert_eq!(drops.dropped(), 0);
        bell.abandon();
        dispatcher.wait_idle();
        assert_eq!(drops.dropped(), 1);
        let value = drops.make();
        let handle = start_kept(&queue, async move {
            let _value = value;
            std::future::pending::<()>().await;
        });
        dispatcher.wait_idle();
        drop(handle);
        dispatcher.wait_idle();
        assert_eq!(drops.dropped(), 2);
    });
}
