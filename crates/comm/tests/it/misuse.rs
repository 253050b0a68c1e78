//! Calls that do not fit together: every rank that is in them is told.

use crate::worlds::{Outcome, everywhere};
use motet_comm::{CommError, Communicator};
use std::fmt::Debug;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

/// Both calls of a mismatch, each with the place of its rank.
fn mismatch<T: Debug>(outcome: Outcome<T>) -> [String; 2] {
    match outcome {
        Err(CommError::Mismatch { one, other }) => [one, other],
        other => panic!("no mismatch: {other:?}"),
    }
}

fn at(line: u32) -> String {
    format!(" at {}:{line}:", file!())
}

/// Polls a call once and drops it.
fn give_up<T>(call: impl Future<Output = T>) {
    let poll = pin!(call).poll(&mut Context::from_waker(Waker::noop()));
    assert!(poll.is_pending(), "the call waits");
}

/// The last rank calls something else than the others.
fn is_odd_one(comm: &Communicator) -> bool {
    comm.rank() == comm.size() - 1
}

#[test]
fn sem_g74_different_collectives() {
    everywhere(
        async |comm| {
            if comm.size() == 1 {
                return Ok(());
            }
            let lines = line!() + 2;
            let [one, other] = mismatch(if is_odd_one(&comm) {
                comm.allgather(()).await.map(drop)
            } else {
                comm.barrier().await
            });
            assert!(one.starts_with("rank 0 calls barrier at "), "{one}");
            assert!(one.contains(&at(lines + 2)), "{one}");
            let odd = format!("rank {} calls allgather at ", comm.size() - 1);
            assert!(other.starts_with(&odd), "{other}");
            assert!(other.contains(&at(lines)), "{other}");
            comm.barrier().await
        },
        |_, _| (),
    );
}

#[test]
fn sem_g74_different_topologies_and_lanes_of_different_types() {
    everywhere(
        async |comm| {
            if comm.size() == 1 {
                return Ok(());
            }
            let [one, other] = mismatch(if is_odd_one(&comm) {
                comm.ring::<u8>().await.map(drop)
            } else {
                comm.line::<u8>().await.map(drop)
            });
            assert!(one.starts_with("rank 0 calls line at "), "{one}");
            assert!(other.contains(" calls ring at "), "{other}");
            let [one, other] = mismatch(if is_odd_one(&comm) {
                comm.ring::<u16>().await.map(drop)
            } else {
                comm.ring::<u8>().await.map(drop)
            });
            assert!(one.ends_with(" with a value of type u8"), "{one}");
            assert!(other.ends_with(" with a value of type u16"), "{other}");
            mismatch(if is_odd_one(&comm) {
                comm.reproducible_sum(&[1.0f32]).await.map(drop)
            } else {
                comm.reproducible_sum(&[1.0f64]).await.map(drop)
            });
            comm.barrier().await
        },
        |_, _| (),
    );
}

#[test]
fn sem_g74_different_roots() {
    everywhere(
        async |comm| {
            let size = comm.size();
            if size == 1 {
                return Ok(());
            }
            let root = if is_odd_one(&comm) { 1 } else { 0 };
            let [one, other] = mismatch(comm.reduce(root, 1, |a, b| a + b).await);
            assert!(one.starts_with("rank 0 calls reduce(root 0) at "), "{one}");
            let odd = format!("rank {} calls reduce(root 1) at ", size - 1);
            assert!(other.starts_with(&odd), "{other}");
            let value = (comm.rank() == root).then_some(1);
            mismatch(comm.broadcast(root, value).await);
            mismatch(comm.gather(root, 1).await);
            let values = (comm.rank() == root).then(|| vec![1; size]);
            mismatch(comm.scatter(root, values).await);
            comm.barrier().await
        },
        |_, _| (),
    );
}

#[test]
fn sem_g74_different_types() {
    everywhere(
        async |comm| {
            if comm.size() == 1 {
                return Ok(0);
            }
            let outcome = if is_odd_one(&comm) {
                comm.allreduce(1u64, |a, b| a + b).await.map(drop)
            } else {
                comm.allreduce(1u32, |a, b| a + b).await.map(drop)
            };
            let [one, other] = mismatch(outcome);
            assert!(one.starts_with("rank 0 calls allreduce at "), "{one}");
            assert!(one.ends_with(" with a value of type u32"), "{one}");
            let odd = format!("rank {} calls allreduce at ", comm.size() - 1);
            assert!(other.starts_with(&odd), "{other}");
            assert!(other.ends_with(" with a value of type u64"), "{other}");
            mismatch(if comm.rank() == 0 {
                comm.gather(0, "text".to_owned()).await.map(drop)
            } else {
                comm.gather(0, 'c').await.map(drop)
            });
            comm.allreduce(1, |a, b| a + b).await
        },
        |_, size| if size == 1 { 0 } else { size },
    );
}

#[test]
fn sem_g74_everyone_gets_the_same_words_and_they_are_readable() {
    everywhere(
        async |comm| {
            if comm.size() == 1 {
                return Ok(());
            }
            let outcome = match comm.rank() {
                0 => comm.barrier().await,
                1 => comm.allgather(1).await.map(drop),
                _ => comm.gather(0, "x".to_owned()).await.map(drop),
            };
            let text = outcome.expect_err("they do not match").to_string();
            let start = "ranks met in different collectives: rank 0 calls barrier at ";
            assert!(text.starts_with(start), "{text}");
            assert!(text.contains(", but rank 1 calls allgather at "), "{text}");
            let end = "; all ranks must call the same ones in the same order";
            assert!(text.ends_with(end), "{text}");
            let texts = comm.allgather(text.clone()).await?;
            assert_eq!(texts, vec![text; comm.size()]);
            Ok(())
        },
        |_, _| (),
    );
}

/// What the error about a root says.
fn root_problem<T: Debug>(outcome: Outcome<T>) -> String {
    match outcome {
        Err(CommError::Root { problem }) => problem,
        other => panic!("no problem with a root: {other:?}"),
    }
}

#[test]
fn a_root_without_a_value_and_a_value_without_a_root() {
    everywhere(
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            if rank == 0 {
                assert_eq!(
                    root_problem(comm.broadcast::<u8>(0, None).await),
                    "rank 0 is the root of broadcast(root 0) and passes no value"
                );
                assert_eq!(
                    root_problem(comm.scatter::<u8>(0, None).await),
                    "rank 0 is the root of scatter(root 0) and passes no value"
                );
                for wrong in [0, size - 1, size + 1].into_iter().filter(|n| *n != size) {
                    assert_eq!(
                        root_problem(comm.scatter(0, Some(vec![1; wrong])).await),
                        format!("rank 0 passes {wrong} values to scatter among {size} ranks")
                    );
                }
            } else {
                let text = format!(
                    "rank {rank} passes a value to broadcast(root 0), of which it is not the root"
                );
                assert_eq!(root_problem(comm.broadcast(0, Some(1)).await), text);
                let text = text.replace("broadcast", "scatter");
                assert_eq!(root_problem(comm.scatter(0, Some(vec![1])).await), text);
            }
            // Nobody has come to a collective: all goes on as if these had not been called.
            comm.broadcast(0, (rank == 0).then_some("well".to_owned()))
                .await
        },
        |_, _| "well".to_owned(),
    );
}

#[test]
fn sem_g75_a_dropped_collective_is_told_at_the_next_one() {
    everywhere(
        async |comm| {
            if comm.rank() > 0 {
                // Rank 0 has been to the barrier, and has left it, before anyone else comes.
                let told = comm.recv(0, 0).await?;
                comm.barrier().await?;
                return Ok(told);
            }
            if comm.size() > 1 {
                give_up(comm.barrier());
                let out = |operation| CommError::OutOfStep { operation };
                assert_eq!(comm.barrier().await, Err(out("barrier")));
                assert_eq!(comm.allgather(1).await, Err(out("allgather")));
                let told = comm.broadcast(0, Some(1)).await.unwrap_err();
                assert_eq!(
                    told.to_string(),
                    "broadcast is not possible: an earlier collective call of this rank was dropped \
                     before it ended, or has failed"
                );
            }
            // Messages do not suffer.
            for dest in 1..comm.size() {
                comm.send(dest, 0, "from 0".to_owned()).await?;
            }
            Ok(String::new())
        },
        |rank, _| if rank > 0 { "from 0" } else { "" }.to_owned(),
    );
}

#[test]
fn sem_g75_a_dropped_step_is_told_at_the_next_one() {
    everywhere(
        async |comm| {
            let (mut ring, mut line) = (comm.ring().await?, comm.line().await?);
            if comm.size() > 1 && comm.rank() == 0 {
                give_up(ring.exchange(1, 1));
                give_up(line.exchange(1, 1));
                let out = |operation| CommError::OutOfStep { operation };
                assert_eq!(ring.exchange(2, 2).await, Err(out("exchange")));
                assert_eq!(ring.shift_right(2).await, Err(out("shift_right")));
                assert_eq!(line.shift_left(2).await, Err(out("shift_left")));
                assert_eq!(line.exchange(2, 2).await, Err(out("exchange")));
            }
            // What does not use the ring goes on.
            comm.barrier().await
        },
        |_, _| (),
    );
}

#[test]
fn a_call_that_was_never_polled_has_not_begun() {
    everywhere(
        async |comm| {
            let rank = comm.rank();
            let mut ring = comm.ring().await?;
            drop(comm.barrier());
            drop(comm.allreduce(1, |a, b| a + b));
            drop(comm.send(0, 0, "not sent".to_owned()));
            drop(comm.shift(17, 1));
            drop(ring.exchange(8, 8));
            drop(ring.shift_left(9));
            let (left, right) = ring.exchange(rank, rank).await?;
            let sum = comm.allreduce(left + right, |a, b| a + b).await?;
            Ok((sum, comm.shift(rank, 0).await?))
        },
        |rank, size| (size * (size - 1), rank),
    );
}
