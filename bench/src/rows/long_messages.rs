//! Long messages between two ranks (papers R018).
//!
//! Question: does a message that is moved cost the same whatever its length? Definition: a vector goes from
//! one rank to the other and back; time of one way. Compared with 100,000 f64 in the same way, and with
//! the C program on MPI, which copies in place. Threats: nobody reads what was moved, as nobody does there.

use crate::contest::{Bar, Contest, Program as Run};
use crate::rows::rank_stages::Peers;
use motet_comm::{CommError, World};
use motet_sync::thread;
use std::rc::Rc;
use std::time::Instant;

const LENGTHS: [usize; 3] = [100_000, 1_000_000, 10_000_000];
/// What "the same" is: at most so many times the shortest.
const SAME: f64 = 1.5;
const SHORTEST: &str = "100000 f64";

/// One row for each length.
pub(crate) fn contests(rounds: u64, peers: Peers<'_>) -> Vec<Contest> {
    LENGTHS
        .map(|length| {
            let mut against: Vec<(&'static str, Run)> = (0..peers.mpi.len())
                .map(|at| (peers.mpi[at].name, on_mpi(peers, at, length)))
                .collect();
            let mut bars: Vec<Bar> = peers
                .mpi
                .iter()
                .map(|mpi| Bar::AtMostTimes(1.0, mpi.name))
                .collect();
            if length > LENGTHS[0] {
                against.push((SHORTEST, Box::new(move || moved(LENGTHS[0], rounds))));
                bars.push(Bar::AtMostTimes(SAME, SHORTEST));
            }
            Contest {
                row: format!("{length} f64, moved"),
                unit: "µs a message",
                motet: Box::new(move || moved(length, rounds)),
                peers: against,
                bars,
                limit: None,
                cold: false,
            }
        })
        .into()
}

fn on_mpi(peers: Peers<'_>, at: usize, length: usize) -> Run {
    let all = Rc::clone(peers.mpi);
    // About 10 GB a second.
    let rounds = (peers.budget_us / (length as f64 * 0.0016)) as usize;
    Box::new(move || {
        let arguments = [length, rounds.max(2)].map(|number| number.to_string());
        all[at].run("bandwidth", 2, &arguments)
    })
}

/// The time of a message, in µs.
fn moved(length: usize, rounds: u64) -> Result<f64, String> {
    let spans = World::threads(2)
        .workers(thread::cores().min(2))
        .run(async |comm| -> Result<f64, CommError> {
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
            let span = started.elapsed().as_secs_f64() * 1e6;
            if let Some(values) = values {
                assert!(
                    values.len() == length && values[length - 1] == 1.0,
                    "all of it"
                );
            }
            Ok(span)
        })
        .map_err(|error| error.to_string())?;
    Ok(spans[0] / (2 * rounds) as f64)
}
