//! Long slices, which sender and receiver may copy together.

use crate::worlds::{everywhere, with_ranks};
use motet_comm::{ANY_SOURCE, CommError, Communicator, World};
use num_complex::Complex;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

/// Long enough to be lent, and no whole number of pieces.
const LONG: usize = 30_001;

fn numbers(of: usize, round: usize) -> Vec<u32> {
    (0..LONG)
        .map(|n| (n * 7 + of * 31 + round) as u32)
        .collect()
}

fn next(comm: &Communicator) -> usize {
    (comm.rank() + 1) % comm.size()
}

fn last(comm: &Communicator) -> usize {
    (comm.rank() + comm.size() - 1) % comm.size()
}

#[test]
fn sem_g86_long_slices_arrive_whoever_is_early() {
    with_ranks(
        &[2, 4],
        async |comm| {
            let mut room = vec![0; LONG];
            for round in 0..12 {
                let mine = numbers(comm.rank(), round);
                // All send first in one round, and half of them receive first in the next, some
                // late.
                let early = round % 2 == 1 && comm.rank() % 2 == 0;
                if !early {
                    comm.send_slice(next(&comm), 0, &mine).await?;
                }
                if round % 3 == 0 {
                    comm.barrier().await?;
                }
                let (length, status) = match early {
                    true => {
                        let into = comm.irecv_into(&mut room, last(&comm), 0);
                        comm.send_slice(next(&comm), 0, &mine).await?;
                        into.wait().await?
                    }
                    false => comm.recv_into(&mut room, ANY_SOURCE, 0).await?,
                };
                assert_eq!((length, status.source), (LONG, last(&comm)));
                assert!(room == numbers(last(&comm), round), "round {round}");
            }
            Ok(())
        },
        |_, _| (),
    );
}

#[test]
fn sem_g68_a_send_of_a_long_slice_does_not_wait() {
    with_ranks(
        &[2, 4],
        async |comm| {
            // Nobody receives before everybody has sent, and changed what it has sent.
            let mut mine = numbers(comm.rank(), 0);
            comm.send_slice(next(&comm), 0, &mine).await?;
            comm.isend_slice(next(&comm), 1, &mine).wait().await?;
            mine.fill(0);
            comm.barrier().await?;
            let probe = comm.probe(last(&comm), 0).await?;
            assert_eq!(
                (probe.length, probe.type_name),
                (LONG, "alloc::vec::Vec<u32>")
            );
            // Too little room, another type, and a probe whose message is dropped leave it there.
            let mut short = vec![0_u32; LONG - 1];
            let truncated = comm.recv_into(&mut short, last(&comm), 0).await;
            assert!(matches!(
                truncated,
                Err(CommError::Truncated { length: LONG, .. })
            ));
            let other = comm.recv::<Vec<i32>>(last(&comm), 0).await;
            assert!(matches!(other, Err(CommError::WrongType { .. })));
            drop(comm.mprobe(last(&comm), 0).await?);
            let came: Vec<u32> = comm.recv(last(&comm), 0).await?;
            assert!(came == numbers(last(&comm), 0));
            let mut room = vec![0; LONG + 1];
            let (length, _) = comm.recv_into(&mut room, last(&comm), 1).await?;
            assert!(room[..length] == came);
            Ok(())
        },
        |_, _| (),
    );
}

#[test]
fn sem_g84_a_long_slice_outlives_receives_and_sends_that_are_given_up() {
    let got = World::threads(2).run(async |comm| -> Result<_, CommError> {
        let mut all = true;
        for round in 0..50 {
            if comm.rank() == 0 {
                let mine = numbers(0, round);
                // The future is leaked when it has ended.
                let mut sending = Box::pin(comm.send_slice(1, 0, &mine));
                let mut cx = Context::from_waker(Waker::noop());
                assert!(sending.as_mut().poll(&mut cx).is_ready());
                let _leaked = Box::leak(Box::new(sending));
            } else {
                let mut room = vec![0; LONG];
                let came = {
                    let mut given_up = pin!(comm.recv_into(&mut room, 0, 0));
                    let mut cx = Context::from_waker(Waker::noop());
                    given_up.as_mut().poll(&mut cx).is_ready()
                };
                if !came {
                    comm.recv_into(&mut room, 0, 0).await?;
                }
                all &= room == numbers(0, round);
            }
        }
        Ok(all)
    });
    assert_eq!(got.unwrap(), [true, true]);
}

#[test]
fn sem_g104_arrays_and_complex_numbers_are_plain() {
    everywhere(
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            let (to, from) = ((rank + 1) % size, (rank + size - 1) % size);
            for length in [0, 3, 20_000] {
                let point = |rank: usize| vec![[rank as f64, 0.5, -1.0]; length];
                let mut points = point(size);
                comm.send_slice(to, 0, &point(rank)).await?;
                comm.recv_into(&mut points, from, 0).await?;
                assert_eq!(points, point(from));
                let wave = |rank: usize| vec![Complex::new(rank as f64, 2.0); length];
                let mut waves = wave(size);
                comm.send_slice(to, 0, &wave(rank)).await?;
                comm.recv_into(&mut waves, from, 0).await?;
                assert_eq!(waves, wave(from));
                comm.allreduce_into(&wave(rank), &mut waves, |a, b| a + b)
                    .await?;
                let sum = (size * (size - 1) / 2) as f64;
                comm.allreduce_into(&vec![(); length], &mut vec![(); length], |(), ()| ())
                    .await?;
                assert!(
                    waves
                        .iter()
                        .all(|it| *it == Complex::new(sum, 2.0 * size as f64))
                );
            }
            Ok(())
        },
        |_, _| (),
    );
}
