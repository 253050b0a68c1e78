//! Long messages between two ranks (papers R018).
//!
//! Question: does a message that is moved cost the same whatever its length, and one that is copied
//! in place no more than the copy? Definition: a vector, or what a slice holds, goes from one rank
//! to the other and back; time of one way. Moved: compared with 100,000 f64 moved. In place:
//! compared with a copy of as many in memory. Both with the C program on MPI, which copies in
//! place. Threats: nobody reads what came, as nobody does there; the copy finds its numbers where
//! it left them.

use crate::contest::{Bar, Contest};
use crate::rows::rank_stages::Peers;
use crate::said::Said;
use motet_comm::{CommError, Communicator, World};
use motet_sync::thread;
use std::hint::black_box;
use std::time::{Duration, Instant};

const LENGTHS: [usize; 3] = [100_000, 1_000_000, 10_000_000];
/// What "the same" is: at most so many times the shortest.
const SAME: f64 = 1.5;
const SHORTEST: &str = "100000 f64";
/// At least 90 % of the bandwidth of a copy.
const COPIES: f64 = 1.0 / 0.9;
const COPY: &str = "memcpy";

/// Two rows for each length.
pub(crate) fn contests(rounds: u64, peers: Peers<'_>) -> Vec<Contest> {
    let beside_mpi = |row, length: usize| {
        peers.beside_mpi(row, 1.0, move |mpi, budget_us| {
            mpi.run("bandwidth", 2, &[length.to_string(), budget_us.to_string()])
        })
    };
    let moved_rows = LENGTHS.map(|length| {
        let name = format!("{length} f64, moved");
        let row = Contest::new(name, "µs a message", move || moved(length, rounds));
        let row = beside_mpi(row, length);
        match length > LENGTHS[0] {
            true => row
                .beside(SHORTEST, move || moved(LENGTHS[0], rounds))
                .bar(Bar::AtMostTimes(SAME, SHORTEST)),
            false => row,
        }
    });
    let in_place_rows = LENGTHS.map(|length| {
        // A copy takes time with its length.
        let rounds = (rounds * 10_000 / length as u64).max(3);
        let name = format!("{length} f64, in place");
        let row = Contest::new(name, "µs a message", move || in_place(length, rounds));
        beside_mpi(row, length)
            .beside(COPY, move || Ok(copied(length, rounds)))
            .bar(Bar::AtMostTimes(COPIES, COPY))
    });
    moved_rows.into_iter().chain(in_place_rows).collect()
}

/// The time of a message that is moved, in µs.
fn moved(length: usize, rounds: u64) -> Result<f64, String> {
    per_message(rounds, async |comm| {
        let (me, peer) = (comm.rank(), 1 - comm.rank());
        let mut values = (me == 0).then(|| vec![1.0; length]);
        comm.barrier().await?;
        let started = Instant::now();
        for _ in 0..rounds {
            if let Some(values) = values.take() {
                comm.send(peer, 0, values).await?;
            }
            let came: Vec<f64> = comm.recv(peer, 0).await?;
            if me == 0 {
                values = Some(came);
            } else {
                comm.send(peer, 0, came).await?;
            }
        }
        let span = started.elapsed();
        if let Some(values) = values {
            let all = values.len() == length && values[length - 1] == 1.0;
            assert!(all, "all of it");
        }
        Ok(span)
    })
}

/// The time of a message that is copied in place, in µs.
fn in_place(length: usize, rounds: u64) -> Result<f64, String> {
    per_message(rounds, async |comm| {
        let (me, peer) = (comm.rank(), 1 - comm.rank());
        let mut values = vec![me as f64; length];
        comm.barrier().await?;
        let started = Instant::now();
        for _ in 0..rounds {
            if me == 0 {
                comm.send_slice(peer, 0, &values).await?;
            }
            comm.recv_into(&mut values, peer, 0).await?;
            if me == 1 {
                comm.send_slice(peer, 0, &values).await?;
            }
        }
        let span = started.elapsed();
        assert!(values[0] == 0.0 && values[length - 1] == 0.0, "rank 0's");
        Ok(span)
    })
}

/// The time of a message of two ranks that send each other one a round, in µs.
fn per_message(
    rounds: u64,
    program: impl AsyncFn(Communicator) -> Result<Duration, CommError> + Sync,
) -> Result<f64, String> {
    let workers = thread::cores().min(2);
    let spans = World::threads(2).workers(workers).run(program).said()?;
    Ok(spans[0].as_secs_f64() * 1e6 / (2 * rounds) as f64)
}

/// The time of a copy in memory, in µs.
fn copied(length: usize, rounds: u64) -> f64 {
    let (from, mut to) = (vec![1.0f64; length], vec![0.0f64; length]);
    let started = Instant::now();
    for _ in 0..2 * rounds {
        to.copy_from_slice(black_box(&from));
        black_box(&mut to);
    }
    started.elapsed().as_secs_f64() * 1e6 / (2 * rounds) as f64
}
