//! Flushes of what was asked while others were under way, or has been given up.

use crate::network::processes;
use crate::worlds::over;
use motet_comm::{Communicator, World};
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::thread;
use motet_testkit::{patience, within};
use motet_window::{Lock, Op, Window, WindowError};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

fn wait_for(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        thread::yield_now();
    }
}

/// Rank 1: has its numbers from `held` to `asked`, so that nothing is done there meanwhile. Then a
/// barrier, and its window is gone.
async fn hold_and_drop(
    comm: &Communicator,
    window: Window<i32>,
    held: &AtomicBool,
    asked: &AtomicBool,
) -> Result<(), WindowError> {
    window.with(|_| {
        held.store(true, Ordering::Release);
        wait_for(asked);
    });
    comm.barrier().await?;
    drop(window);
    comm.barrier().await?;
    comm.barrier().await?;
    Ok(())
}

/// Whether the call waits after one look.
async fn waits<R>(mut call: Pin<&mut impl Future<Output = R>>) -> bool {
    poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx).is_pending())).await
}

#[test]
fn sem_g350_a_put_during_a_flush_is_waited_for_by_the_next_one() {
    static HELD: AtomicBool = AtomicBool::new(false);
    static ASKED: AtomicBool = AtomicBool::new(false);
    within(patience(), || {
        let ended = over(2, 1, false, async |comm| {
            let window = Window::create(&comm, vec![0_i32]).await?;
            if comm.rank() == 1 {
                return hold_and_drop(&comm, window, &HELD, &ASKED).await;
            }
            wait_for(&HELD);
            window.put(1, 0, &[1]).await?;
            {
                let mut flush = pin!(window.flush(1));
                assert!(waits(flush.as_mut()).await);
                window.put(1, 0, &[2]).await?;
                ASKED.store(true, Ordering::Release);
                flush.await?;
            }
            comm.barrier().await?;
            comm.barrier().await?;
            // The second one is asked after.
            let closed = Err(WindowError::Closed { rank: 1 });
            assert_eq!(window.flush(1).await, closed);
            comm.barrier().await?;
            Ok(())
        });
        assert!(ended.iter().all(Result::is_ok), "{ended:?}");
    });
}

#[test]
fn sem_g350_a_fetch_that_was_given_up_is_waited_for() {
    static HELD: AtomicBool = AtomicBool::new(false);
    static ASKED: AtomicBool = AtomicBool::new(false);
    within(patience(), || {
        let ended = over(2, 1, false, async |comm| {
            let window = Window::create(&comm, vec![0_i32]).await?;
            if comm.rank() == 1 {
                return hold_and_drop(&comm, window, &HELD, &ASKED).await;
            }
            wait_for(&HELD);
            {
                let mut fetch = pin!(window.fetch_and_op(1, 0, 1, Op::Sum));
                assert!(waits(fetch.as_mut()).await);
            }
            ASKED.store(true, Ordering::Release);
            comm.barrier().await?;
            comm.barrier().await?;
            let closed = Err(WindowError::Closed { rank: 1 });
            assert_eq!(window.flush(1).await, closed);
            comm.barrier().await?;
            Ok(())
        });
        assert!(ended.iter().all(Result::is_ok), "{ended:?}");
    });
}

#[test]
fn sem_g345_what_is_put_while_a_fence_is_waited_for_belongs_behind_it() {
    within(patience(), || {
        let ended = over(2, 1, false, async |comm| {
            let window = Window::create(&comm, vec![0_i32; 2]).await?;
            if comm.rank() == 0 {
                window.put(1, 0, &[1]).await?;
                let mut fence = pin!(window.fence());
                assert!(waits(fence.as_mut()).await);
                window.put(1, 1, &[2]).await?;
                comm.send(1, 0, ()).await?;
                fence.await?;
            } else {
                // What was put before it was sent has come.
                comm.recv::<()>(0, 0).await?;
                window.fence().await?;
                window.with(|numbers| assert_eq!(numbers[0], 1));
            }
            window.fence().await?;
            if comm.rank() == 1 {
                window.with(|numbers| assert_eq!(numbers, [1, 2]));
            }
            window.free().await?;
            Ok(())
        });
        assert!(ended.iter().all(Result::is_ok), "{ended:?}");
    });
}

/// One that has brought its answer is done, and so is what was asked before.
#[test]
fn sem_g350_what_has_brought_its_answer_is_done() {
    within(patience(), || {
        let ended = over(2, 1, false, async |comm| {
            let window = Window::create(&comm, vec![0_i32]).await?;
            if comm.rank() == 0 {
                window.put(1, 0, &[5]).await?;
                assert_eq!(window.compare_and_swap(1, 0, 5, 6).await?, 5);
                assert_eq!(window.fetch_and_op(1, 0, 1, Op::Sum).await?, 6);
                window.flush(1).await?;
                comm.send(1, 0, ()).await?;
            } else {
                comm.recv::<()>(0, 0).await?;
                window.with(|numbers| assert_eq!(numbers, [7]));
            }
            window.free().await?;
            Ok(())
        });
        assert!(ended.iter().all(Result::is_ok), "{ended:?}");
    });
}

/// Looks once at a call that waits, and gives it up.
async fn give_up<R>(call: impl Future<Output = R>) {
    let mut call = pin!(call);
    assert!(waits(call.as_mut()).await);
}

/// Rank 0 gives calls up while rank 1 has its numbers and its lock.
async fn gives_up(comm: Communicator) -> Result<(), WindowError> {
    static HELD: AtomicBool = AtomicBool::new(false);
    static ASKED: AtomicBool = AtomicBool::new(false);
    let window = Window::create(&comm, vec![0_i32; 200]).await?;
    if comm.rank() == 0 {
        wait_for(&HELD);
        window.put(1, 0, &[1]).await?;
        give_up(window.get(1, 0, 200)).await;
        give_up(window.fetch_and_op(1, 0, 1, Op::Sum)).await;
        give_up(window.compare_and_swap(1, 0, 2, 3)).await;
        give_up(window.flush(1)).await;
        give_up(window.lock(1, Lock::Exclusive)).await;
        give_up(window.lock(1, Lock::Shared)).await;
        ASKED.store(true, Ordering::Release);
    } else {
        let lock = window.lock(1, Lock::Exclusive).await?;
        window.with(|_| {
            HELD.store(true, Ordering::Release);
            wait_for(&ASKED);
        });
        lock.unlock().await?;
    }
    window.fence().await?;
    if comm.rank() == 0 {
        // It takes what has come, and none of that is its own answer.
        assert_eq!(window.get(1, 0, 1).await?, [3]);
    }
    window.free().await?;
    Ok(())
}

#[test]
fn answers_to_calls_that_were_given_up_are_received() {
    within(patience(), || {
        let ended = processes(2, |end| {
            let ended = World::over(end, 1).run_outcome(gives_up);
            ended.map(|outcome| outcome.unmatched)
        });
        for unmatched in ended {
            assert_eq!(unmatched.unwrap(), []);
        }
    });
}
