//! Rings and lines: steps with neighbours.

use crate::worlds::{Outcome, everywhere, on, worlds};
use motet_comm::{Communicator, Line, Local, Ring, Value, World};
use motet_testkit::Drops;
use std::fmt::Debug;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// The ranks at both sides on a ring.
fn sides(rank: usize, size: usize) -> (usize, usize) {
    ((rank + size - 1) % size, (rank + 1) % size)
}

/// The ranks at both sides on a line.
fn ends(rank: usize, size: usize) -> (Option<usize>, Option<usize>) {
    let right = Some(rank + 1).filter(|&right| right < size);
    (rank.checked_sub(1), right)
}

/// The value that `rank` sends to its side (0 left, 1 right) in a step.
type Make<T> = fn(rank: usize, side: usize, step: usize) -> T;

/// Steps of all three kinds on a ring, each value compared with what the neighbour has made.
async fn steps_on_ring<T>(ring: &mut Ring<'_, T>, rank: usize, make: Make<T>) -> Outcome<()>
where
    T: Value + PartialEq + Debug,
{
    let (left, right) = ring.neighbours();
    for step in 0..40 {
        let (from_left, from_right) = (make(left, 1, step), make(right, 0, step));
        match step % 4 {
            0 => assert_eq!(ring.shift_right(make(rank, 1, step)).await?, from_left),
            1 => assert_eq!(ring.shift_left(make(rank, 0, step)).await?, from_right),
            _ => {
                let came = ring.exchange(make(rank, 0, step), make(rank, 1, step));
                assert_eq!(came.await?, (from_left, from_right));
            }
        }
    }
    Ok(())
}

/// As [`steps_on_ring`], on a line.
async fn steps_on_line<T>(line: &mut Line<'_, T>, rank: usize, make: Make<T>) -> Outcome<()>
where
    T: Value + PartialEq + Debug,
{
    let (left, right) = line.neighbours();
    for step in 0..40 {
        let from_left = left.map(|left| make(left, 1, step));
        let from_right = right.map(|right| make(right, 0, step));
        match step % 4 {
            0 => assert_eq!(line.shift_right(make(rank, 1, step)).await?, from_left),
            1 => assert_eq!(line.shift_left(make(rank, 0, step)).await?, from_right),
            _ => {
                let came = line.exchange(make(rank, 0, step), make(rank, 1, step));
                assert_eq!(came.await?, (from_left, from_right));
            }
        }
    }
    Ok(())
}

fn number(rank: usize, side: usize, step: usize) -> usize {
    (rank * 2 + side) * 1000 + step
}

fn text(rank: usize, side: usize, step: usize) -> String {
    format!("{rank} {side} {step}")
}

fn list(rank: usize, side: usize, step: usize) -> Vec<usize> {
    vec![number(rank, side, step); step]
}

fn boxed(rank: usize, side: usize, step: usize) -> Box<[usize; 32]> {
    Box::new([number(rank, side, step); 32])
}

fn large(rank: usize, side: usize, step: usize) -> [[usize; 20]; 10] {
    [[number(rank, side, step); 20]; 10]
}

fn nothing(_: usize, _: usize, _: usize) {}

#[test]
fn sem_g77_a_ring_brings_what_the_neighbours_sent_in_the_same_step() {
    everywhere(
        async |comm| {
            let rank = comm.rank();
            steps_on_ring(&mut comm.ring().await?, rank, number).await?;
            steps_on_ring(&mut comm.ring().await?, rank, text).await?;
            steps_on_ring(&mut comm.ring().await?, rank, list).await?;
            steps_on_ring(&mut comm.ring().await?, rank, boxed).await?;
            steps_on_ring(&mut comm.ring().await?, rank, large).await?;
            steps_on_ring(&mut comm.ring().await?, rank, nothing).await
        },
        |_, _| (),
    );
}

#[test]
fn sem_g77_a_line_brings_what_the_neighbours_sent_in_the_same_step() {
    everywhere(
        async |comm| {
            let rank = comm.rank();
            steps_on_line(&mut comm.line().await?, rank, number).await?;
            steps_on_line(&mut comm.line().await?, rank, text).await?;
            steps_on_line(&mut comm.line().await?, rank, list).await?;
            steps_on_line(&mut comm.line().await?, rank, boxed).await?;
            steps_on_line(&mut comm.line().await?, rank, nothing).await
        },
        |_, _| (),
    );
}

#[test]
fn neighbours_are_named() {
    everywhere(
        async |comm| {
            let (ring, line) = (comm.ring::<u8>().await?, comm.line::<u8>().await?);
            assert!(format!("{ring:?} {line:?}").starts_with("Ring { neighbours: ("));
            Ok((ring.neighbours(), line.neighbours()))
        },
        |rank, size| (sides(rank, size), ends(rank, size)),
    );
}

/// What a rank sends on the ring or line of this name.
fn named(name: &str, rank: usize, step: usize) -> (String, usize, usize) {
    (name.to_owned(), rank, step)
}

#[test]
fn sem_g77_two_rings_and_a_line_at_once_keep_apart() {
    everywhere(
        async |comm| {
            let (mut one, mut two) = (comm.ring().await?, comm.ring().await?);
            let mut line = comm.line().await?;
            let (rank, size) = (comm.rank(), comm.size());
            let (left, right) = sides(rank, size);
            for step in 0..50 {
                let mine = named("one", rank, step);
                let came = one.exchange(mine.clone(), mine).await?;
                let (from_left, from_right) = (named("one", left, step), named("one", right, step));
                assert_eq!(came, (from_left, from_right));
                let came = two.shift_right(named("two", rank, step)).await?;
                assert_eq!(came, named("two", left, step));
                let came = line.shift_left(named("line", rank, step)).await?;
                let right = ends(rank, size).1;
                assert_eq!(came, right.map(|right| named("line", right, step)));
            }
            drop(one);
            steps_on_ring(&mut comm.ring().await?, rank, text).await?;
            two.shift_left(named("two", rank, 50)).await
        },
        |rank, size| named("two", sides(rank, size).1, 50),
    );
}

#[test]
fn steps_mix_with_messages_and_collectives() {
    everywhere(
        async |comm| {
            let mut ring = comm.ring().await?;
            let (rank, mut sum) = (comm.rank(), 0);
            for step in 0..30 {
                let (left, right) = ring.exchange(rank + step, rank * step).await?;
                sum += comm.allreduce(left * right, |a, b| a + b).await?;
                sum += comm.shift(left, 2).await? + ring.shift_left(right).await?;
            }
            comm.allreduce(sum, |a, b| a + b).await
        },
        |_, size| {
            let rank_at = |rank: usize, by: usize| (rank + by) % size;
            let mut all = 0;
            for step in 0..30 {
                let left = |rank| rank_at(rank, size - 1) * step;
                let right = |rank| rank_at(rank, 1) + step;
                let products: usize = (0..size).map(|rank| left(rank) * right(rank)).sum();
                let rest: usize = (0..size).map(|rank| left(rank) + right(rank)).sum();
                all += size * products + rest;
            }
            all
        },
    );
}

/// Polls a step once.
fn poll_once<T>(step: impl Future<Output = T>) -> Poll<T> {
    pin!(step).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn sem_g77_a_rank_may_run_four_steps_ahead() {
    everywhere(
        async |comm| {
            let mut line = comm.line().await?;
            // Rank 0 makes its steps before any other has begun: to the right it only sends.
            if comm.rank() == 0 {
                for step in 0..4 {
                    let sent = poll_once(line.shift_right(step));
                    assert_eq!(sent, Poll::Ready(Ok(None)), "step {step}");
                }
            }
            comm.barrier().await?;
            let mut came = Vec::new();
            for step in 0..if comm.rank() == 0 { 0 } else { 4 } {
                came.extend(line.shift_right(step).await?);
            }
            comm.barrier().await?;
            Ok(came)
        },
        |rank, _| (0..if rank == 0 { 0 } else { 4 }).collect(),
    );
}

#[test]
fn sem_g77_a_fast_rank_waits_for_room_and_nothing_is_lost() {
    everywhere(
        async |comm| {
            let (mut line, rank, mut came) = (comm.line().await?, comm.rank(), 0);
            for step in 0..1_000usize {
                // Each rank pauses now and then, at steps of its own.
                if step % (rank + 7) == 0 {
                    pause().await;
                }
                let value = line.shift_right(step).await?;
                assert_eq!(value, (rank > 0).then_some(step));
                came += value.map_or(0, |_| 1);
            }
            Ok(came)
        },
        |rank, _| if rank == 0 { 0 } else { 1_000 },
    );
}

/// Gives the thread to others once.
pub(crate) async fn pause() {
    let mut paused = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut paused, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[test]
fn every_value_on_a_ring_is_dropped_once() {
    let drops = Drops::new();
    let sent = drops.clone();
    on(
        worlds(),
        async move |comm| {
            let (mut ring, mut line) = (comm.ring().await?, comm.line().await?);
            for _ in 0..9 {
                ring.exchange(Local(sent.make()), Local(sent.make()))
                    .await?;
                line.exchange(Local(sent.make()), Local(sent.make()))
                    .await?;
            }
            // Three values stay on their way at the end.
            for _ in 0..if comm.rank() == 0 { 3 } else { 0 } {
                line.shift_right(Local(sent.make())).await?;
            }
            Ok(())
        },
        |_, _| (),
    );
    let made: usize = worlds().iter().map(|world| 36 * world.size() + 3).sum();
    assert_eq!((drops.made(), drops.dropped()), (made, made));
}

#[test]
fn rings_of_many_ranks() {
    on(
        vec![
            World::threads(100).workers(3),
            World::threads(64),
            World::threads(500),
        ],
        async |comm| {
            let (rank, size) = (comm.rank(), comm.size());
            let mut ring = comm.ring().await?;
            // What is passed on comes home after as many steps as there are ranks.
            let mut token = rank;
            for _ in 0..size {
                token = ring.shift_right(token).await?;
            }
            steps_on_ring(&mut ring, rank, number).await?;
            Ok(token)
        },
        |rank, _| rank,
    );
}

#[test]
fn a_ring_may_be_made_and_given_up_many_times() {
    everywhere(
        async |comm: Communicator| {
            for round in 0..200 {
                let mut ring = comm.ring().await?;
                let (left, _) = ring.exchange(comm.rank(), round).await?;
                assert_eq!(left, round);
            }
            Ok(())
        },
        |_, _| (),
    );
}
