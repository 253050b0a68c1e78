//! Locks: who holds them, who waits, and what becomes of those that are given up.

use crate::worlds::{everywhere, over};
use motet_comm::{RankState, RunError, World};
use motet_testkit::{patience, within};
use motet_window::{Lock, Window, WindowError};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

#[test]
fn sem_g348_nobody_else_holds_an_exclusive_lock() {
    const EACH: usize = 12;
    everywhere(async |comm| {
        let last = comm.size() - 1;
        let window = Window::create(&comm, vec![0_usize; 2]).await?;
        for round in 0..EACH {
            let lock = window.lock(last, Lock::Exclusive).await?;
            assert_eq!(lock.rank(), last);
            let both = window.get(last, 0, 2).await?;
            assert_eq!(both[0], both[1], "somebody is half done");
            window.put(last, 0, &[both[0] + 1]).await?;
            window.put(last, 1, &[both[1] + 1]).await?;
            if round % 3 == 0 {
                // Given back all the same.
                drop(lock);
            } else {
                lock.unlock().await?;
            }
            let lock = window.lock(last, Lock::Shared).await?;
            let both = window.get(last, 0, 2).await?;
            assert_eq!(both[0], both[1], "a reader sees half");
            lock.unlock().await?;
        }
        let numbers = window.free().await?;
        let expected = if comm.rank() == last {
            EACH * comm.size()
        } else {
            0
        };
        assert_eq!(numbers, [expected; 2]);
        Ok(())
    });
}

#[test]
fn sem_g348_shared_locks_are_held_together() {
    everywhere(async |comm| {
        let window = Window::create(&comm, vec![0_u8]).await?;
        let all = window.lock_all().await?;
        let twice = window.lock(0, Lock::Shared).await.unwrap_err();
        assert_eq!(twice, WindowError::Locked { rank: 0 });
        // All hold all of them here.
        comm.barrier().await?;
        all.unlock_all().await?;
        let lock = window.lock(0, Lock::Exclusive).await?;
        lock.unlock().await?;
        window.free().await?;
        Ok(())
    });
}

#[test]
fn sem_g348_a_lock_that_is_not_waited_for_any_more_is_not_taken() {
    everywhere(async |comm| {
        let window = Window::create(&comm, vec![0_u8]).await?;
        if comm.rank() == 0 {
            let lock = window.lock(0, Lock::Exclusive).await?;
            comm.barrier().await?;
            comm.barrier().await?;
            lock.unlock().await?;
            let again = window.lock(0, Lock::Exclusive).await?;
            comm.barrier().await?;
            again.unlock().await?;
        } else {
            comm.barrier().await?;
            {
                let mut wish = pin!(window.lock(0, Lock::Exclusive));
                let mut looks = 0;
                let waits = poll_fn(|cx| {
                    looks += 1;
                    let pending = wish.as_mut().poll(cx).is_pending();
                    if looks < 3 && pending {
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    Poll::Ready(pending)
                });
                assert!(waits.await, "rank 0 holds it");
            }
            comm.barrier().await?;
            comm.barrier().await?;
        }
        window.free().await?;
        Ok(())
    });
}

#[test]
fn what_a_lock_is_told_that_was_given_up_is_received() {
    within(patience(), || {
        let outcome = World::threads(2).run_outcome(async |comm| -> Result<(), WindowError> {
            let window = Window::create(&comm, vec![0_u8]).await?;
            for is_given in [true, false] {
                if comm.rank() == 0 {
                    let lock = window.lock(0, Lock::Exclusive).await?;
                    comm.send(1, 0, ()).await?;
                    comm.recv::<()>(1, 0).await?;
                    if is_given {
                        lock.unlock().await?;
                        comm.send(1, 0, ()).await?;
                    } else {
                        comm.recv::<()>(1, 0).await?;
                        lock.unlock().await?;
                    }
                } else {
                    comm.recv::<()>(0, 0).await?;
                    {
                        let mut wish = pin!(window.lock(0, Lock::Exclusive));
                        let waits = poll_fn(|cx| Poll::Ready(wish.as_mut().poll(cx).is_pending()));
                        assert!(waits.await, "rank 0 holds it");
                        comm.send(0, 0, ()).await?;
                        if is_given {
                            comm.recv::<()>(0, 0).await?;
                        }
                    }
                    if !is_given {
                        comm.send(0, 0, ()).await?;
                    }
                }
            }
            window.free().await?;
            Ok(())
        });
        assert_eq!(outcome.unwrap().unmatched, []);
    });
}

/// Rank 0 has come to the fence when it gives the lock of rank 1 back, for which rank 2 waits
/// before it.
fn is_given_back_in_a_fence(drops: bool) {
    within(patience(), move || {
        for share in [false, true] {
            let ended = over(3, 1, share, async move |comm| {
                let window = Window::create(&comm, vec![0_u8]).await?;
                if comm.rank() == 0 {
                    let lock = window.lock(1, Lock::Exclusive).await?;
                    window.put(1, 0, &[7]).await?;
                    comm.send(2, 0, ()).await?;
                    let mut fence = pin!(window.fence());
                    let waits = poll_fn(|cx| Poll::Ready(fence.as_mut().poll(cx).is_pending()));
                    assert!(waits.await, "rank 2 has not come");
                    if drops {
                        drop(lock);
                    } else {
                        lock.unlock().await?;
                    }
                    fence.await?;
                } else {
                    if comm.rank() == 2 {
                        comm.recv::<()>(0, 0).await?;
                        let lock = window.lock(1, Lock::Exclusive).await?;
                        assert_eq!(window.get(1, 0, 1).await?, [7]);
                        lock.unlock().await?;
                    }
                    window.fence().await?;
                }
                window.free().await?;
                Ok(())
            });
            assert!(ended.iter().all(Result::is_ok), "{ended:?}");
        }
    });
}

#[test]
fn sem_g348_a_lock_that_is_dropped_in_a_fence_is_given_back() {
    is_given_back_in_a_fence(true);
}

#[test]
fn sem_g350_an_unlock_in_a_fence_needs_no_call_of_others() {
    is_given_back_in_a_fence(false);
}

#[test]
fn sem_g348_a_window_with_a_lock_is_not_freed() {
    within(patience(), || {
        World::solo()
            .run(async |comm| -> Result<_, WindowError> {
                let window = Window::create(&comm, vec![0_u8]).await?;
                let lock = window.lock(0, Lock::Shared).await?;
                let again = window.lock(0, Lock::Exclusive).await.unwrap_err();
                assert_eq!(
                    again.to_string(),
                    "this rank has locked the window of rank 0, or waits for it; unlock it first"
                );
                drop(lock);
                assert_eq!(window.free().await?, [0]);
                Ok(())
            })
            .unwrap();
    });
}

#[test]
fn who_waits_for_the_locks_of_all_is_reported_where_it_called() {
    within(patience(), || {
        let ended = World::threads(2).run(async |comm| -> Result<(), WindowError> {
            let window = Window::create(&comm, vec![0_u8]).await?;
            if comm.rank() == 1 {
                let _held = window.lock(1, Lock::Exclusive).await?;
                comm.barrier().await?;
                return Ok(comm.recv(0, 7).await?);
            }
            comm.barrier().await?;
            window.lock_all().await?.unlock_all().await
        });
        let Err(RunError::Stuck(report)) = ended else {
            panic!("{ended:?}");
        };
        let RankState::Waiting(waits) = &report.ranks[0] else {
            panic!("{report}");
        };
        assert_eq!(waits[0].location.file(), file!(), "{report}");
    });
}
