//! Ranks that wait for more than ranks: other threads, several things at once, other worlds.

use crate::worlds::{Outcome, everywhere, fails_everywhere, where_threads_are, worlds};
use motet_comm::{ANY_SOURCE, CommError, Communicator, RankState, RunError, WaitOperation, World};
use motet_sync::{Mutex, thread};
use motet_testkit::{Gate, patience, within};
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// A value that a thread outside hands to a waiting task.
#[derive(Default)]
struct Handed<T>(Mutex<(Option<T>, Option<Waker>)>);

impl<T> Handed<T> {
    fn hand(&self, value: T) {
        let mut state = self.0.lock();
        state.0 = Some(value);
        let waker = state.1.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    async fn get(&self) -> T {
        poll_fn(|cx| {
            let mut state = self.0.lock();
            if let Some(value) = state.0.take() {
                return Poll::Ready(value);
            }
            state.1 = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// The same; the gate is opened when the task waits.
    async fn get_behind(&self, waits: &Gate) -> T {
        let mut get = pin!(self.get());
        poll_fn(|cx| {
            let polled = get.as_mut().poll(cx);
            waits.open();
            polled
        })
        .await
    }
}

/// Both results, with the wakers of the task itself.
pub(crate) async fn both<A, B>(a: impl Future<Output = A>, b: impl Future<Output = B>) -> (A, B) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut got_a, mut got_b) = (None, None);
    poll_fn(|cx| {
        if got_a.is_none()
            && let Poll::Ready(value) = a.as_mut().poll(cx)
        {
            got_a = Some(value);
        }
        if got_b.is_none()
            && let Poll::Ready(value) = b.as_mut().poll(cx)
        {
            got_b = Some(value);
        }
        match (got_a.take(), got_b.take()) {
            (Some(a), Some(b)) => Poll::Ready((a, b)),
            (a, b) => {
                (got_a, got_b) = (a, b);
                Poll::Pending
            }
        }
    })
    .await
}

/// The first result; the other call is dropped.
async fn first<T>(a: impl Future<Output = T>, b: impl Future<Output = T>) -> T {
    let (mut a, mut b) = (pin!(a), pin!(b));
    poll_fn(|cx| {
        if let Poll::Ready(value) = a.as_mut().poll(cx) {
            return Poll::Ready(value);
        }
        b.as_mut().poll(cx)
    })
    .await
}

/// The waker of one part of a task: only parts that were woken are polled again.
struct Part {
    woken: Mutex<bool>,
    task: Waker,
}

impl Wake for Part {
    fn wake(self: Arc<Self>) {
        *self.woken.lock() = true;
        self.task.wake_by_ref();
    }
}

/// All results of calls that are polled only when their own waker was woken.
async fn all_with_own_wakers<T>(calls: Vec<Pin<Box<dyn Future<Output = T> + '_>>>) -> Vec<T> {
    let mut parts: Vec<Option<Arc<Part>>> = calls.iter().map(|_| None).collect();
    let mut results: Vec<Option<T>> = calls.iter().map(|_| None).collect();
    let mut calls = calls;
    poll_fn(|cx| {
        for (at, call) in calls.iter_mut().enumerate() {
            if results[at].is_some() {
                continue;
            }
            let part = parts[at].get_or_insert_with(|| {
                Arc::new(Part {
                    woken: Mutex::new(true),
                    task: cx.waker().clone(),
                })
            });
            let woken = std::mem::take(&mut *part.woken.lock());
            if !woken {
                continue;
            }
            let waker = Waker::from(Arc::clone(part));
            if let Poll::Ready(value) = call.as_mut().poll(&mut Context::from_waker(&waker)) {
                results[at] = Some(value);
            }
        }
        if results.iter().all(Option::is_some) {
            return Poll::Ready(());
        }
        Poll::Pending
    })
    .await;
    results.into_iter().flatten().collect()
}

#[test]
fn a_rank_that_a_thread_will_wake_is_not_stuck() {
    where_threads_are(
        async |comm| {
            let handed = Arc::new(Handed::default());
            let waits = Gate::new();
            let (giver, gate) = (Arc::clone(&handed), waits.clone());
            let thread = thread::spawn(move || {
                gate.pass();
                // Long enough for every worker to fall asleep.
                for _ in 0..50 {
                    thread::yield_now();
                }
                giver.hand(7);
            });
            let opened = poll_fn(|_| {
                waits.open();
                Poll::Ready(0)
            });
            let (got, _) = both(handed.get(), opened).await;
            thread.join().expect("it hands a value");
            comm.allreduce(got, |a, b| a + b).await
        },
        |_, size| 7 * size,
    );
}

#[test]
fn one_rank_waits_for_a_thread_and_the_others_for_that_rank() {
    where_threads_are(
        async |comm| {
            let mut sum = 0;
            for round in 0..10 {
                if comm.rank() == round % comm.size() {
                    let handed = Arc::new(Handed::default());
                    let giver = Arc::clone(&handed);
                    let thread = thread::spawn(move || giver.hand(round));
                    let got = handed.get().await;
                    thread.join().expect("it hands a value");
                    sum += comm.broadcast(comm.rank(), Some(got)).await?;
                } else {
                    sum += comm.broadcast::<usize>(round % comm.size(), None).await?;
                }
            }
            Ok(sum)
        },
        |_, _| 45,
    );
}

#[test]
fn sem_g72_a_rank_that_a_thread_has_woken_for_the_last_time_is_found_stuck() {
    fails_everywhere(
        1,
        async |comm| {
            let handed = Arc::new(Handed::default());
            let giver = Arc::clone(&handed);
            let thread = thread::spawn(move || giver.hand(1));
            handed.get().await;
            let lost = comm.recv::<()>(comm.rank(), 5).await;
            thread.join().expect("it hands a value");
            lost
        },
        |size, error| match error {
            RunError::Stuck(report) => assert_eq!(report.ranks.len(), size),
            other => panic!("{other}"),
        },
    );
}

#[test]
fn sem_g72_a_rank_whose_waker_is_given_up_later_is_found_stuck() {
    within(patience(), || {
        for world in worlds().into_iter().filter(|world| world.size() > 1) {
            let (kept, ended) = (Arc::new(Mutex::new(None)), Gate::new());
            let (keep, end, running) = (Arc::clone(&kept), ended.clone(), world.clone());
            let run = thread::spawn(move || {
                running.run(async |comm: Communicator| {
                    if comm.rank() == 0 {
                        let waker = poll_fn(|cx| Poll::Ready(cx.waker().clone())).await;
                        *keep.lock() = Some(waker);
                        end.open();
                    }
                    comm.recv::<()>(comm.rank(), 1).await
                })
            });
            ended.pass();
            // Long enough for every worker to fall asleep; in any case the run ends.
            thread::park_timeout(Duration::from_millis(2));
            let given_up = kept.lock().take();
            drop(given_up);
            let outcome = run.join().expect("a run does not panic");
            assert!(
                matches!(outcome, Err(RunError::Stuck(_))),
                "{world:?}: {outcome:?}"
            );
        }
    });
}

#[test]
fn both_of_two_receives_in_any_order() {
    everywhere(
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
            let mut sums = (0, 0);
            for round in 0..50usize {
                let (to_left, to_right) = ((left, 1, round), (right, 2, 2 * round));
                let sends = if round % 2 == 0 {
                    [to_left, to_right]
                } else {
                    [to_right, to_left]
                };
                for (dest, tag, value) in sends {
                    comm.send(dest, tag, value).await?;
                }
                let got = both(comm.recv::<usize>(left, 2), comm.recv::<usize>(right, 1)).await;
                sums = (sums.0 + got.0?, sums.1 + got.1?);
            }
            Ok(sums)
        },
        |_, _| (2450, 1225),
    );
}

#[test]
fn the_first_of_two_receives_and_the_other_keeps_its_message() {
    everywhere(
        async |comm| {
            let rank = comm.rank();
            comm.send(rank, 2, "second".to_owned()).await?;
            let early = first(comm.recv(rank, 1), comm.recv(rank, 2)).await?;
            comm.send(rank, 1, "first".to_owned()).await?;
            let late = first(comm.recv(rank, 1), comm.recv(rank, 2)).await?;
            Ok((early, late))
        },
        |_, _| ("second".to_owned(), "first".to_owned()),
    );
}

#[test]
fn sem_g72_a_rank_that_waits_for_two_things_names_both() {
    fails_everywhere(
        2,
        async |comm| {
            if comm.rank() == 0 {
                return first(comm.recv::<()>(1, 4), comm.recv::<()>(ANY_SOURCE, 5)).await;
            }
            comm.barrier().await
        },
        |_, error| {
            let RunError::Stuck(report) = error else {
                panic!("it is stuck: {error}")
            };
            let text = report.to_string();
            for operation in ["recv(source 1, tag 4)", "recv(any source, tag 5)"] {
                assert!(
                    text.contains(&format!("waits in {operation} at ")),
                    "{text}"
                );
            }
            assert_eq!(text.matches(" and waits in ").count(), 1, "{text}");
            let RankState::Waiting(waits) = &report.ranks[0] else {
                panic!("rank 0 waits")
            };
            let tag = |operation| match operation {
                WaitOperation::Recv { tag, .. } => tag,
                other => panic!("{other}"),
            };
            let tags: Vec<_> = waits.iter().map(|wait| tag(wait.operation)).collect();
            assert!(
                tags.contains(&4.into()) && tags.contains(&5.into()),
                "{tags:?}"
            );
        },
    );
}

#[test]
fn calls_with_wakers_of_their_own() {
    everywhere(
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            let mut total = 0;
            for round in 0..20 {
                let mut calls: Vec<Pin<Box<dyn Future<Output = Outcome<usize>>>>> = Vec::new();
                for source in 0..size {
                    calls.push(Box::pin(comm.recv(source, round)));
                }
                calls.push(Box::pin(comm.allreduce(rank, |a, b| a + b)));
                calls.push(Box::pin(async {
                    for dest in (0..size).rev() {
                        comm.send(dest, round, dest * rank).await?;
                    }
                    Ok(0)
                }));
                for value in all_with_own_wakers(calls).await {
                    total += value?;
                }
            }
            Ok(total)
        },
        |rank, size| 20 * (size * (size - 1) / 2) * (rank + 1),
    );
}

#[test]
fn sem_g70_results_come_in_rank_order_and_the_body_may_borrow() {
    within(patience(), || {
        let words: Vec<String> = (0..8).map(|n| format!("word {n}")).collect();
        let seen = Mutex::new(Vec::new());
        for world in worlds() {
            let results: Result<Vec<&str>, RunError<CommError>> = world.run(async |comm| {
                comm.barrier().await?;
                seen.lock().push(comm.rank());
                Ok(&*words[comm.rank()])
            });
            assert_eq!(results.expect("it ends well"), words[..world.size()]);
            let mut ranks = std::mem::take(&mut *seen.lock());
            ranks.sort_unstable();
            assert_eq!(ranks, Vec::from_iter(0..world.size()));
        }
    });
}

#[test]
fn sem_g70_a_rank_stays_on_its_thread_and_holds_what_is_not_send() {
    everywhere(
        async |comm| {
            let (home, count) = (thread::current().id(), Rc::new(Cell::new(0)));
            let mut ring = comm.ring().await?;
            for _ in 0..30 {
                let shared = Rc::clone(&count);
                ring.exchange((), ()).await?;
                comm.barrier().await?;
                comm.shift((), 1).await?;
                assert_eq!(thread::current().id(), home);
                shared.set(shared.get() + 1);
            }
            Ok(count.get())
        },
        |_, _| 30,
    );
}

/// The sum of the ranks of a world, each taken `factor` times.
fn sum_in(world: &World, factor: usize) -> usize {
    let sums = world
        .run(async |comm: Communicator| comm.allreduce(comm.rank() * factor, |a, b| a + b).await);
    sums.expect("it ends well")[0]
}

#[test]
fn a_world_may_run_inside_a_rank_of_another() {
    everywhere(
        async |comm| {
            let mut sum = 0;
            for world in [
                World::threads(3),
                World::threads(2).workers(1),
                World::solo(),
            ] {
                sum += sum_in(&world, comm.rank());
                sum += comm.allreduce(1, |a, b| a + b).await?;
            }
            Ok(sum)
        },
        |rank, size| 3 * rank + rank + 3 * size,
    );
}

#[test]
fn worlds_run_from_several_threads_at_once() {
    within(patience(), || {
        let run = |factor| {
            thread::spawn(move || {
                let sums = (0..20).map(|round| sum_in(&World::threads(1 + round % 5), factor));
                sums.sum::<usize>()
            })
        };
        let threads = [1, 2, 3, 4].map(run);
        let sums = threads.map(|thread| thread.join().expect("it ends well"));
        assert_eq!(sums, [80, 160, 240, 320]);
    });
}

#[test]
fn sem_g76_ranks_that_wait_leave_their_thread_to_others() {
    within(patience(), || {
        // One thread: each rank can go on only when the other has had its turn.
        let world = World::threads(50).workers(1);
        let passed = world.run(async |comm: Communicator| {
            let (rank, size) = (comm.rank(), comm.size());
            for round in 0..20u32 {
                if rank > 0 || round > 0 {
                    let round = if rank == 0 { round - 1 } else { round };
                    comm.recv::<()>((rank + size - 1) % size, round).await?;
                }
                comm.send((rank + 1) % size, round, ()).await?;
            }
            Ok::<_, CommError>(rank)
        });
        assert_eq!(passed.expect("it ends well"), Vec::from_iter(0..50));
    });
}

/// Says on which thread, and that, it was dropped.
struct Stays {
    home: std::thread::ThreadId,
    dropped: Arc<Mutex<Vec<bool>>>,
    _not_send: Rc<()>,
}

impl Drop for Stays {
    fn drop(&mut self) {
        let at_home = std::thread::current().id() == self.home;
        self.dropped.lock().push(at_home);
    }
}

/// Whoever drops the last waker, and when, the rank that has gone to sleep is told.
#[test]
fn sem_g72_a_rank_alone_whose_last_waker_goes_on_another_thread_is_stuck() {
    within(patience(), || {
        for naps in [0, 1, 20] {
            let waits = Gate::new();
            let handed = Arc::new(Handed::<()>::default());
            let (holder, gate) = (Arc::clone(&handed), waits.clone());
            let thread = thread::spawn(move || {
                gate.pass();
                // Mostly long enough for the rank to fall asleep; another time it is as well.
                for _ in 0..naps {
                    thread::park_timeout(Duration::from_millis(2));
                }
                drop(holder.0.lock().1.take());
            });
            let ended = World::solo().run(async |_| {
                handed.get_behind(&waits).await;
                Ok::<_, CommError>(())
            });
            assert!(matches!(ended, Err(RunError::Stuck(_))), "{ended:?}");
            thread.join().expect("it drops a waker");
        }
    });
}

/// What a rank holds need not be `Send`: it is dropped on the rank's thread before the run returns,
/// and who has kept the rank's waker wakes nobody later.
#[test]
fn sem_g108_a_rank_is_dropped_at_home_whoever_wakes_it_after_the_run() {
    within(patience(), || {
        for _ in 0..20 {
            let (handed, dropped) = (Handed::<()>::default(), Arc::new(Mutex::new(Vec::new())));
            let waits = Gate::new();
            let outcome = World::threads(2).workers(2).run(async |comm| {
                if comm.rank() == 1 {
                    waits.pass();
                    return Err("enough");
                }
                let _stays = Stays {
                    home: std::thread::current().id(),
                    dropped: Arc::clone(&dropped),
                    _not_send: Rc::new(()),
                };
                handed.get_behind(&waits).await;
                Ok(())
            });
            assert!(matches!(outcome, Err(RunError::Rank { rank: 1, .. })));
            assert_eq!(
                *dropped.lock(),
                [true],
                "once, at home, before the run returns"
            );
            let waker = handed.0.lock().1.take().expect("the rank has waited");
            waker.wake();
            assert_eq!(dropped.lock().len(), 1);
        }
    });
}
