//! Messages from rank to rank: matching, order, ownership.

use crate::worlds::{Outcome, everywhere, fails_everywhere, on, worlds};
use motet_comm::{ANY_SOURCE, ANY_TAG, CommError, Communicator, Local, RunError, Status};
use motet_testkit::{Drops, patience, within};
use std::future::Future;
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};

/// Sends the numbers from 0 to `dest`, number `n` with tag `n % tags`.
async fn send_numbers(comm: &Communicator, dest: usize, count: u32, tags: u32) -> Outcome<()> {
    for n in 0..count {
        comm.send(dest, n % tags, n).await?;
    }
    Ok(())
}

#[test]
fn sem_g68_everyone_sends_to_everyone_before_anyone_receives() {
    everywhere(
        async |comm| {
            for dest in 0..comm.size() {
                comm.send(dest, 1, (comm.rank(), dest)).await?;
            }
            let mut got = Vec::new();
            for source in (0..comm.size()).rev() {
                got.push(comm.recv::<(usize, usize)>(source, 1).await?);
            }
            Ok(got)
        },
        |rank, size| (0..size).rev().map(|source| (source, rank)).collect(),
    );
}

#[test]
fn sem_g68_sending_is_done_at_the_first_poll() {
    everywhere(
        async |comm| {
            let dest = (comm.rank() + 1) % comm.size();
            for n in 0..2_000u32 {
                let send = pin!(comm.send(dest, 0, n));
                let poll = send.poll(&mut Context::from_waker(Waker::noop()));
                assert!(poll.is_ready(), "message {n} waits");
            }
            let mut sum = 0;
            for _ in 0..2_000 {
                sum += comm.recv::<u32>(ANY_SOURCE, 0).await?;
            }
            Ok(sum)
        },
        |_, _| 1999 * 1000,
    );
}

#[test]
fn sem_g68_a_message_is_moved() {
    on(
        worlds(),
        async |comm| {
            let mine = vec![comm.rank(); 1 << 16];
            let place = mine.as_ptr() as usize;
            let neighbours = (comm.rank() + 1, comm.rank() + comm.size() - 1);
            let (dest, source) = (neighbours.0 % comm.size(), neighbours.1 % comm.size());
            comm.send(dest, 0, mine).await?;
            comm.send(dest, 1, place).await?;
            let got = comm.recv::<Vec<usize>>(source, 0).await?;
            Ok(got.as_ptr() as usize == comm.recv::<usize>(source, 1).await?)
        },
        |_, _| true,
    );
}

#[test]
fn sem_g67_messages_of_a_pair_keep_their_order() {
    everywhere(
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            for dest in 0..size {
                send_numbers(&comm, dest, 300, 3).await?;
            }
            // The last tag first, then what is left with any tag.
            for source in 0..size {
                for n in (2..300).step_by(3) {
                    assert_eq!(comm.recv::<u32>(source, 2).await?, n, "{source} to {rank}");
                }
                for n in (0..300u32).filter(|n| n % 3 != 2) {
                    let (got, status) = comm.recv_with_status::<u32>(source, ANY_TAG).await?;
                    assert_eq!((got, status), (n, Status { source, tag: n % 3 }));
                }
            }
            Ok(())
        },
        |_, _| (),
    );
}

#[test]
fn sem_g67_any_source_keeps_the_order_of_each_sender() {
    everywhere(
        async |comm| {
            send_numbers(&comm, 0, 200, 2).await?;
            let mut next = vec![0; comm.size()];
            if comm.rank() == 0 {
                for _ in 0..200 * comm.size() {
                    let (n, Status { source, tag }) =
                        comm.recv_with_status::<u32>(ANY_SOURCE, ANY_TAG).await?;
                    assert_eq!((n, tag), (next[source], n % 2), "from rank {source}");
                    next[source] += 1;
                }
            }
            Ok(next)
        },
        |rank, size| vec![if rank == 0 { 200 } else { 0 }; size],
    );
}

#[test]
fn tags_are_received_in_any_order() {
    everywhere(
        async |comm| {
            let dest = (comm.rank() + 1) % comm.size();
            for tag in 0..30u32 {
                comm.send(dest, tag, tag * tag).await?;
            }
            for tag in (0..30).rev() {
                assert_eq!(comm.recv::<u32>(ANY_SOURCE, tag).await?, tag * tag);
            }
            comm.send(dest, u32::MAX, "the largest tag".to_owned())
                .await?;
            comm.recv::<String>(ANY_SOURCE, u32::MAX).await
        },
        |_, _| "the largest tag".to_owned(),
    );
}

#[test]
fn every_kind_of_type_can_be_sent() {
    struct NeitherCloneNorSync(std::cell::Cell<u8>);
    everywhere(
        async |comm| {
            let rank = comm.rank();
            let (tell, told) = mpsc::channel::<u8>();
            let call: Box<dyn FnOnce() -> usize + Send> = Box::new(move || rank + 1);
            for _ in 0..100 {
                comm.send(rank, 0, ()).await?;
            }
            comm.send(rank, 1, Local(NeitherCloneNorSync(7.into())))
                .await?;
            comm.send(rank, 2, Local(call)).await?;
            comm.send(rank, 3, Local(tell)).await?;
            comm.send(rank, 4, Local([rank; 4096])).await?;
            for _ in 0..100 {
                comm.recv::<()>(rank, 0).await?;
            }
            let Local(alone) = comm.recv::<Local<NeitherCloneNorSync>>(rank, 1).await?;
            assert_eq!(alone.0.get(), 7);
            let Local(call) = comm
                .recv::<Local<Box<dyn FnOnce() -> usize + Send>>>(rank, 2)
                .await?;
            assert_eq!(call(), rank + 1);
            let Local(tell) = comm.recv::<Local<mpsc::Sender<u8>>>(rank, 3).await?;
            tell.send(9).expect("it is open");
            assert_eq!(told.recv(), Ok(9));
            Ok(comm.recv::<Local<[usize; 4096]>>(rank, 4).await?.0[4095])
        },
        |rank, _| rank,
    );
}

#[test]
fn every_value_is_dropped_once_received_or_not() {
    let drops = Drops::new();
    let sent = drops.clone();
    on(
        worlds(),
        async move |comm| {
            for tag in 0..5 {
                comm.send((comm.rank() + 1) % comm.size(), tag, Local(sent.make()))
                    .await?;
            }
            drop(
                comm.recv::<Local<motet_testkit::Dropped>>(ANY_SOURCE, 3)
                    .await?,
            );
            Ok(())
        },
        |_, _| (),
    );
    let ranks: usize = worlds().iter().map(|world| world.size()).sum();
    assert_eq!((drops.made(), drops.dropped()), (5 * ranks, 5 * ranks));
}

#[test]
fn sendrecv_goes_round_and_to_oneself() {
    everywhere(
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            let left = comm.sendrecv((rank + 1) % size, rank, (rank + size - 1) % size, 5);
            let left = left.await?;
            Ok((left, comm.sendrecv(rank, "mine".to_owned(), rank, 5).await?))
        },
        |rank, size| ((rank + size - 1) % size, "mine".to_owned()),
    );
}

#[test]
fn sem_g81_what_stands_before_a_message_to_oneself_keeps_its_turn() {
    everywhere(
        async |comm| {
            let me = comm.rank();
            // An older message is received first, the new one after it.
            comm.send(me, 5, 1).await?;
            let mut came = vec![comm.sendrecv(me, 2, me, 5).await?];
            came.push(comm.recv(me, 5).await?);
            // So with the value in place.
            comm.send(me, 5, 3).await?;
            let mut value = 4;
            comm.sendrecv_replace(&mut value, me, me, 5).await?;
            came.extend([value, comm.recv(me, 5).await?]);
            // A receive that was posted before gets the older message, and if there is none the new
            // one.
            for older in [true, false] {
                let first = comm.irecv(ANY_SOURCE, ANY_TAG);
                if older {
                    comm.send(me, 5, 5).await?;
                }
                let mut both = pin!(comm.sendrecv(me, 6, me, 5));
                let now = both.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert_eq!(now.is_ready(), older);
                came.push(first.wait().await?);
                came.push(match now {
                    Poll::Ready(second) => second?,
                    Poll::Pending => {
                        comm.send(me, 5, 7).await?;
                        both.await?
                    }
                });
            }
            // With other messages about nothing changes.
            comm.send(me, 6, 8).await?;
            came.push(comm.sendrecv(me, 9, me, 5).await?);
            came.push(comm.recv(me, 6).await?);
            Ok(came)
        },
        |_, _| vec![1, 2, 3, 4, 5, 6, 6, 7, 9, 8],
    );
}

#[test]
fn shift_by_every_displacement() {
    const FAR: [isize; 4] = [isize::MIN, isize::MIN + 1, isize::MAX - 1, isize::MAX];
    let displacements = || (-20..=20).chain(FAR);
    everywhere(
        async move |comm| {
            let mut came = Vec::new();
            for by in displacements() {
                came.push(comm.shift(vec![comm.rank()], by).await?[0]);
            }
            Ok(came)
        },
        move |rank, size| {
            let (rank, size) = (rank as i128, size as i128);
            let source = |by: isize| (rank - by as i128).rem_euclid(size);
            displacements().map(|by| source(by) as usize).collect()
        },
    );
}

#[test]
fn a_shift_does_not_meet_the_programs_messages() {
    everywhere(
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            comm.send((rank + 1) % size, 0, 100 + rank).await?;
            let shifted = comm.shift(rank, 1).await?;
            Ok((shifted, comm.recv::<usize>(ANY_SOURCE, ANY_TAG).await?))
        },
        |rank, size| {
            let left = (rank + size - 1) % size;
            (left, 100 + left)
        },
    );
}

#[test]
fn sem_g69_another_type_is_an_error_and_the_message_stays() {
    everywhere(
        async |comm| {
            let rank = comm.rank();
            comm.send(rank, 7, 5u32).await?;
            let wrong = CommError::WrongType {
                source: rank,
                tag: 7,
                wanted: "f64",
                found: "u32",
            };
            for _ in 0..3 {
                assert_eq!(
                    comm.recv::<f64>(ANY_SOURCE, ANY_TAG).await,
                    Err(wrong.clone())
                );
            }
            assert_eq!(
                wrong.to_string(),
                format!(
                    "the message from rank {rank} with tag 7 holds u32, not f64; receive it as u32"
                )
            );
            comm.recv::<u32>(rank, 7).await
        },
        |_, _| 5,
    );
}

#[test]
fn sem_g69_a_message_of_another_type_keeps_its_place() {
    everywhere(
        async |comm| {
            let rank = comm.rank();
            for tag in 0..4u32 {
                comm.send(rank, tag, tag).await?;
            }
            comm.recv::<String>(rank, 2)
                .await
                .expect_err("it is a number");
            let mut tags = Vec::new();
            for _ in 0..4 {
                tags.push(comm.recv::<u32>(rank, ANY_TAG).await?);
            }
            Ok(tags)
        },
        |_, _| vec![0, 1, 2, 3],
    );
}

#[test]
fn there_is_no_such_rank() {
    everywhere(
        async |comm| {
            let size = comm.size();
            let (me, none) = (comm.rank(), CommError::NoSuchRank { rank: size, size });
            assert_eq!(comm.send(size, 0, 1).await, Err(none.clone()));
            assert_eq!(comm.recv::<u8>(size, 0).await, Err(none.clone()));
            assert_eq!(comm.sendrecv(size, 1, me, 0).await, Err(none.clone()));
            assert_eq!(comm.broadcast(size, Some(1)).await, Err(none.clone()));
            assert_eq!(comm.reduce(size, 1, |a, b| a + b).await, Err(none.clone()));
            assert_eq!(comm.gather(size, 1).await, Err(none.clone()));
            assert_eq!(comm.scatter(size, Some(vec![1])).await, Err(none.clone()));
            let text = format!("there is no rank {size}: the world has {size}, numbered from 0");
            assert_eq!(none.to_string(), text);
            comm.barrier().await
        },
        |_, _| (),
    );
}

#[test]
fn a_receive_that_is_dropped_takes_nothing() {
    everywhere(
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            {
                let early = pin!(comm.recv::<usize>(ANY_SOURCE, 1));
                let poll = early.poll(&mut Context::from_waker(Waker::noop()));
                assert!(poll.is_pending());
            }
            comm.barrier().await?;
            comm.send((rank + 1) % size, 1, rank).await?;
            comm.recv::<usize>(ANY_SOURCE, 1).await
        },
        |rank, size| (rank + size - 1) % size,
    );
}

#[test]
fn an_error_that_is_returned_is_the_run_s() {
    fails_everywhere(
        1,
        async |comm| comm.send(comm.size(), 0, ()).await,
        |size, error| match error {
            RunError::Rank { rank, error } => {
                assert!(rank < size);
                assert_eq!(error, CommError::NoSuchRank { rank: size, size });
            }
            other => panic!("{other}"),
        },
    );
}

#[test]
fn a_communicator_knows_its_rank_and_its_size() {
    everywhere(
        async |comm| Ok((comm.rank(), comm.size(), format!("{comm:?}"))),
        |rank, size| {
            (
                rank,
                size,
                format!("Communicator {{ rank: {rank}, size: {size}, .. }}"),
            )
        },
    );
    within(patience(), || {
        let cores = std::thread::available_parallelism().map_or(1, Into::into);
        assert_eq!(motet_comm::World::threads(0).size(), cores);
    });
}
