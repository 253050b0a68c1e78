//! Single accesses: their limits, what is atomic, and what needs no call of the target.

use crate::network::{Endpoint, sharing};
use crate::worlds::{everywhere, over};
use motet_comm::{CommError, Layout, RunError, World};
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::thread;
use motet_testkit::{patience, within};
use motet_window::{Op, Window, WindowError};
use std::sync::Arc;

#[test]
fn sem_g346_an_access_past_a_window_is_refused_by_rank_offset_and_length() {
    everywhere(async |comm| {
        let last = comm.size() - 1;
        let window = Window::create(&comm, vec![7_i32; 4 + comm.rank()]).await?;
        let room = window.length_of(last);
        let beyond = |offset, length| WindowError::Beyond {
            rank: last,
            offset,
            length,
            window: room,
        };
        let put = window.put(last, room - 1, &[1, 2]).await;
        assert_eq!(put, Err(beyond(room - 1, 2)));
        let told = put.unwrap_err().to_string();
        let expected = format!(
            "2 elements from offset {} do not lie in the window of rank {last}, which has {room}",
            room - 1
        );
        assert_eq!(told, expected);
        let got = window.get(last, usize::MAX, 2).await;
        assert_eq!(got, Err(beyond(usize::MAX, 2)));
        let fetched = window.fetch_and_op(last, room, 1, Op::Sum).await;
        assert_eq!(fetched, Err(beyond(room, 1)));
        let added = window
            .accumulate(last, 0, &vec![1; room + 1], Op::Sum)
            .await;
        assert_eq!(added, Err(beyond(0, room + 1)));
        let swapped = window.compare_and_swap(last, room, 1, 2).await;
        assert_eq!(swapped, Err(beyond(room, 1)));
        let nobody = window.put(last + 1, 0, &[1]).await;
        let size = comm.size();
        let expected = CommError::NoSuchRank { rank: size, size };
        assert_eq!(nobody, Err(WindowError::Comm(expected)));
        assert_eq!(window.free().await?, vec![7; 4 + comm.rank()]);
        Ok(())
    });
}

#[test]
fn sem_g346_numbers_without_the_operation_refuse_it() {
    everywhere(async |comm| {
        let window = Window::create(&comm, vec![0.5]).await?;
        let refused = window.accumulate(0, 0, &[1.0], Op::Xor).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "there is no Xor of f64; bits are combined of integers only"
        );
        window.free().await?;
        Ok(())
    });
}

#[test]
fn sem_g347_fetches_and_swaps_are_atomic() {
    const EACH: u64 = 20;
    everywhere(async |comm| {
        let window = Window::create(&comm, vec![0_u64, 0]).await?;
        let mut tickets = Vec::new();
        for _ in 0..EACH {
            tickets.push(window.fetch_and_op(0, 0, 1, Op::Sum).await?);
            let mut seen = window.fetch_and_op(0, 1, 0, Op::Keep).await?;
            loop {
                let before = window.compare_and_swap(0, 1, seen, seen + 2).await?;
                if before == seen {
                    break;
                }
                seen = before;
            }
        }
        let mut all = comm.allgather(tickets).await?.concat();
        all.sort_unstable();
        let count = EACH * comm.size() as u64;
        assert!(all.into_iter().eq(0..count));
        let both = window.get_accumulate(0, 0, &[0, 0], Op::Keep).await?;
        assert_eq!(both[1], 2 * count);
        window.free().await?;
        Ok(())
    });
}

#[test]
fn sem_g349_a_rank_that_computes_is_accessed() {
    for share in [false, true] {
        within(patience(), move || is_accessed_while_it_computes(share));
    }
}

fn is_accessed_while_it_computes(share: bool) {
    let ended = over(2, 1, share, async |comm| {
        let window = Window::create(&comm, vec![0_u64; 20_000]).await?;
        if comm.rank() == 0 {
            // It awaits nothing until the other one has put what it waits for.
            while window.with(|numbers| numbers[19_999]) != 9 {
                thread::yield_now();
            }
            window.with(|numbers| assert!(numbers[1..].iter().all(|number| *number == 9)));
        } else {
            window.put(0, 0, &[9; 20_000]).await?;
            assert_eq!(window.fetch_and_op(0, 0, 1, Op::Sum).await?, 9);
        }
        window.free().await?;
        Ok(())
    });
    assert!(ended.iter().all(Result::is_ok), "{ended:?}");
}

#[test]
fn sem_g350_what_was_flushed_is_there_without_the_target() {
    everywhere(async |comm| {
        let (rank, size) = (comm.rank(), comm.size());
        let (next, last) = ((rank + 1) % size, (rank + size - 1) % size);
        let window = Window::create(&comm, vec![0_usize; 3000]).await?;
        for round in 1..5 {
            window.put(next, 0, &[round; 3000]).await?;
            window.flush(next).await?;
            // A message that is sent after it finds it there.
            comm.send(next, 0, ()).await?;
            comm.recv::<()>(last, 0).await?;
            window.with(|numbers| assert!(numbers.iter().all(|number| *number == round)));
            comm.barrier().await?;
            window.accumulate(next, 2, &[1], Op::Sum).await?;
            window.flush_all().await?;
            comm.barrier().await?;
            window.with(|numbers| assert_eq!(numbers[2], round + 1));
            comm.barrier().await?;
        }
        window.free().await?;
        Ok(())
    });
}

#[test]
fn sem_g345_elements_of_layouts_are_put_and_got() {
    everywhere(async |comm| {
        let (rank, size) = (comm.rank(), comm.size());
        let (next, last) = ((rank + 1) % size, (rank + size - 1) % size);
        // A column of a matrix of 3 × 4 goes to the next rank.
        let window = Window::create(&comm, (0..12).collect()).await?;
        let column = Layout::vector(3, 1, 4)?;
        let mine = [100, 101, 102].map(|number| 10 * number + rank);
        window.put_layout(next, 2, &mine, &column).await?;
        window.fence().await?;
        let [one, two, three] = [1000, 1010, 1020].map(|number| number + last);
        let expected = [0, 1, one, 3, 4, 5, two, 7, 8, 9, three, 11];
        window.with(|numbers| assert_eq!(numbers, expected));
        assert_eq!(window.get_layout(next, 2, &column).await?, mine);
        let beyond = window.put_layout(next, 4, &mine, &column).await;
        assert!(matches!(
            beyond,
            Err(WindowError::Beyond {
                offset: 4,
                length: 9,
                ..
            })
        ));
        let few = window.put_layout(next, 0, &[1], &column).await.unwrap_err();
        assert_eq!(few.to_string(), "put_layout: 1 elements for a layout of 3");
        window.free().await?;
        Ok(())
    });
}

#[test]
fn sem_g351_some_ranks_have_epochs_with_some() {
    everywhere(async |comm| {
        let (rank, size) = (comm.rank(), comm.size());
        let others: Vec<usize> = (1..size).collect();
        let window = Window::create(&comm, vec![0; size]).await?;
        for round in 1..4 {
            if rank == 0 {
                window.post(&others).await?;
                window.wait(&others).await?;
                window.with(|numbers| assert!(numbers[1..].iter().all(|it| *it == round)));
            } else {
                window.start(&[0]).await?;
                window.put(0, rank, &[round]).await?;
                window.complete(&[0]).await?;
            }
        }
        window.free().await?;
        Ok(())
    });
}

#[test]
fn sem_g345_ranks_of_one_process_look_at_each_others_numbers_where_they_lie() {
    everywhere(async |comm| {
        let (rank, size) = (comm.rank(), comm.size());
        let window = Window::create(&comm, vec![rank]).await?;
        for other in 0..size {
            let seen = window.with_rank(other, |numbers| numbers[0]);
            let (process, here) = (comm.process_of(other)?, comm.process_of(rank)?);
            if process == here || seen.is_ok() {
                assert_eq!(seen, Ok(other));
            } else {
                let elsewhere = WindowError::Elsewhere {
                    rank: other,
                    process,
                };
                assert_eq!(seen, Err(elsewhere));
            }
        }
        window.free().await?;
        Ok(())
    });
}

#[test]
fn sem_g353_a_window_that_was_dropped_is_closed_to_the_others() {
    everywhere(async |comm| {
        let window = Window::create(&comm, vec![comm.rank(); 2]).await?;
        if comm.rank() == 0 {
            drop(window);
            comm.barrier().await?;
            comm.barrier().await?;
            return Ok(());
        }
        comm.barrier().await?;
        let closed = Err(WindowError::Closed { rank: 0 });
        assert_eq!(window.get(0, 0, 2).await.map(drop), closed);
        assert_eq!(window.get(0, 2, 0).await.map(drop), closed);
        let nothing = window.get_accumulate(0, 0, &[], Op::Sum).await;
        assert_eq!(nothing.map(drop), closed);
        assert_eq!(
            window.fetch_and_op(0, 0, 1, Op::Sum).await.map(drop),
            closed
        );
        let put = match window.put(0, 0, &[1]).await {
            Ok(()) => window.flush(0).await,
            refused => refused,
        };
        assert_eq!(put, closed);
        comm.barrier().await?;
        Ok(())
    });
}

#[test]
fn ranks_that_wait_for_a_fence_that_one_does_not_reach_are_stuck() {
    let ended = World::threads(2).run(async |comm| -> Result<_, WindowError> {
        let window = Window::create(&comm, vec![0]).await?;
        if comm.rank() == 0 {
            window.fence().await?;
        } else {
            comm.recv::<()>(0, 0).await?;
        }
        Ok(())
    });
    let Err(RunError::Stuck(report)) = ended else {
        panic!("{ended:?}");
    };
    let told = report.to_string();
    assert!(told.contains("accesses.rs"), "{told}");
}

#[test]
fn sem_g519_where_processes_share_memory_an_access_is_done_when_it_has_ended() {
    within(patience(), || {
        for ranks in [1, 2] {
            let ended = over(2, ranks, true, async |comm| {
                let (rank, size) = (comm.rank(), comm.size());
                let window = Window::create(&comm, vec![rank; 5000]).await?;
                for other in 0..size {
                    let seen = window.with_rank(other, |numbers| numbers[4999]);
                    assert_eq!(seen, Ok(other));
                }
                comm.barrier().await?;
                if rank == 0 {
                    window.put(size - 1, 0, &[77; 5000]).await?;
                    // Not by a message, which may come later.
                    let seen = window.with_rank(size - 1, |numbers| numbers.to_vec());
                    assert_eq!(seen, Ok(vec![77; 5000]));
                }
                assert_eq!(
                    window.free().await?[1],
                    if rank + 1 == size { 77 } else { rank }
                );
                Ok(())
            });
            assert!(ended.iter().all(Result::is_ok), "{ended:?}");
        }
    });
}

/// A rank of another process has its numbers until the other rank of this thread goes on.
#[test]
fn sem_g519_who_waits_for_another_process_to_use_numbers_lets_the_ranks_of_its_thread_go_on() {
    static HELD: AtomicBool = AtomicBool::new(false);
    static ENOUGH: AtomicBool = AtomicBool::new(false);
    let wait_for = |flag: &AtomicBool| {
        while !flag.load(Ordering::Acquire) {
            thread::yield_now();
        }
    };
    within(patience(), move || {
        let ended = sharing(2, move |end: Arc<Endpoint>| {
            let world = World::over(end, 2).workers(1);
            world.run(async |comm| -> Result<Vec<i32>, WindowError> {
                let window = Window::create(&comm, vec![0]).await?;
                match comm.rank() {
                    0 => {
                        wait_for(&HELD);
                        comm.send(1, 0, ()).await?;
                        window.put(2, 0, &[5]).await?;
                    }
                    1 => {
                        comm.recv::<()>(0, 0).await?;
                        ENOUGH.store(true, Ordering::Release);
                    }
                    2 => window.with(|_| {
                        HELD.store(true, Ordering::Release);
                        wait_for(&ENOUGH);
                    }),
                    _ => {}
                }
                window.free().await
            })
        });
        assert_eq!(ended[1].as_ref().unwrap()[0], [5]);
    });
}

/// Of a window of one machine no message is sent but for locks.
#[test]
fn numbers_that_are_shared_are_not_sent() {
    within(patience(), || {
        let sent = sharing(2, |end: Arc<Endpoint>| {
            let counted = Arc::clone(&end);
            let ended = World::over(end, 1).run(async |comm| -> Result<usize, WindowError> {
                let window = Window::create(&comm, vec![0_u64; 100_000]).await?;
                let before = counted.bytes_sent();
                window.put(1 - comm.rank(), 0, &[3; 100_000]).await?;
                window.fence().await?;
                let sent = counted.bytes_sent() - before;
                assert_eq!(window.free().await?, [3; 100_000]);
                Ok(sent)
            });
            ended.unwrap()[0]
        });
        assert!(sent.iter().all(|sent| *sent < 1000), "{sent:?}");
    });
}
