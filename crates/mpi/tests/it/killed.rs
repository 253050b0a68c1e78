//! Processes that are killed in the middle of a collective: the others end, in time and by
//! themselves.

use crate::started::{
    STEPS, beside_a_clock, in_process_with, joined, note, noted, run_each_to_its_end, times, way,
};
use motet_comm::{CommError, Communicator, Header, RunError, Transport, World};
use motet_mpi::{Environment, ThreadLevel};
use motet_sync::thread;
use motet_testkit::{Random, mpi_libraries, patience};
use rustix::process::{Signal, getpid, kill_process};
use std::env;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

const PROCESSES: usize = 3;
const RANKS: usize = 2;
/// So many seconds after the kill the run has ended on the others, where threads are not kept
/// waiting.
const SOON: f64 = 2.0;
/// Leaving the world without the one that is gone takes them no longer than this.
const CLOSING: f64 = 1.0;

/// The kill comes after so long, however few rounds a busy machine has done.
const LATEST: Duration = Duration::from_secs(10);

/// What the ranks do over and over again.
const WORKS: [&str; 17] = [
    "barrier",
    "broadcast",
    "reduce",
    "allreduce",
    "reduce_scatter",
    "scan",
    "exscan",
    "gather",
    "scatter",
    "allgather",
    "alltoall",
    "started",
    "neighbours",
    "ring",
    "split",
    "long",
    "pieces",
];

/// What the one that is killed holds, in bytes.
const HELD: usize = 1 << 28;

/// What a process is told: the work and the seed.
const WORK: &str = "MOTET_MPI_TEST_WORK";
const SEED: &str = "MOTET_MPI_TEST_SEED";

/// How many times each work is tried; `MOTET_MPI_KILLS` says another number.
fn rounds() -> u64 {
    env::var("MOTET_MPI_KILLS").map_or(1, |rounds| rounds.parse().expect("a number"))
}

#[test]
fn sem_g311_needs_mpi_a_kill_in_a_collective_ends_the_run_everywhere() {
    let name = "killed::sem_g311_needs_mpi_a_kill_in_a_collective_ends_the_run_everywhere";
    if in_process_with(ThreadLevel::Multiple, name, live) {
        return;
    }
    // Each work with one library, and with the other one the next.
    let libraries = mpi_libraries();
    for (number, work) in WORKS.iter().enumerate() {
        if let Some(library) = libraries.get(number % libraries.len().max(1)) {
            kill(name, library, work, number as u64 * 2);
        }
    }
}

#[test]
#[ignore = "takes a minute; `cargo xtask deep` runs it"]
fn deep_sem_g311_needs_mpi_a_kill_in_each_collective_of_each_library() {
    let name = "killed::deep_sem_g311_needs_mpi_a_kill_in_each_collective_of_each_library";
    if in_process_with(ThreadLevel::Multiple, name, live) {
        return;
    }
    for (turn, library) in mpi_libraries().iter().enumerate() {
        for round in 0..rounds() {
            for (number, work) in WORKS.iter().enumerate() {
                let seed = round * 1000 + number as u64 * 2 + turn as u64;
                kill(name, library, work, seed);
            }
        }
    }
}

#[test]
fn sem_g311_needs_mpi_nobody_waits_for_the_others_after_a_kill() {
    let name = "killed::sem_g311_needs_mpi_nobody_waits_for_the_others_after_a_kill";
    if in_process_with(ThreadLevel::Multiple, name, leave) {
        return;
    }
    for library in mpi_libraries() {
        kill(name, &library, "leaving", 0);
        kill(name, &library, "leaving", 1);
    }
}

/// Runs three processes, of which one is killed, and looks at how they ended.
fn kill(name: &str, library: &Path, work: &str, seed: u64) {
    let settings = [
        format!("{WORK}={work}"),
        format!("{SEED}={seed}"),
        // Every work both ways, one with each library.
        way((seed / 2 + seed + seed / 1000).is_multiple_of(2)),
    ];
    let (left, late) = beside_a_clock(|| run_each_to_its_end(name, PROCESSES, library, &settings));
    let told = format!("{settings:?}, {late:.2} s late: {}", left.told(library));
    let times = |of: &str| times(&left.notes, of);
    let [killed] = times("killed at ")[..] else {
        panic!("one is killed: {told}");
    };
    let (ended, closed) = (times("ended at "), times("closed at "));
    let counts = [ended.len(), closed.len(), times("code 0 at ").len()];
    assert_eq!(counts, [PROCESSES - 1; 3], "{told}");
    assert_eq!(times("code 137 at ").len(), 1, "{told}");
    let last = |times: &[f64]| times.iter().fold(0.0_f64, |a, &b| a.max(b)) - killed;
    let slack = STEPS * late;
    assert!(last(&ended) <= SOON + slack, "{told}");
    assert!(last(&closed) <= SOON + CLOSING + 2.0 * slack, "{told}");
    println!(
        "{work}, seed {seed}: the run ended after {:.2} s, the world after {:.2} s",
        last(&ended),
        last(&closed)
    );
}

/// The life of a process.
fn live(mpi: Environment) {
    let told = |name| env::var(name).expect("the launch says it");
    let (work, seed) = (told(WORK), told(SEED).parse().expect("a number"));
    let mut random = Random::new(seed);
    let (victim, rounds) = (random.below(PROCESSES), random.below(200));
    let wait = Duration::from_micros(random.below(500) as u64);
    let world = World::over(joined(mpi), RANKS);
    let process = world.process().0;
    let (begun, (order, ordered)) = (Instant::now(), mpsc::sync_channel(1));
    if process == victim {
        // One that holds much takes longer to die: for a time it is not there any more, and has not
        // ended.
        let held = vec![1_u8; HELD];
        thread::spawn(move || {
            ordered.recv().unwrap();
            thread::park_timeout(wait);
            note("killed at");
            kill_process(getpid(), Signal::KILL).unwrap();
            drop(held);
        });
    }
    let ended = world.run(async |comm: Communicator| -> Result<(), CommError> {
        let first = comm.rank() == victim * RANKS;
        repeat(&work, &comm, |round| {
            if first && (round == rounds || begun.elapsed() > LATEST) {
                // Nothing is lost when it was ordered before.
                let _ = order.try_send(());
            }
        })
        .await
    });
    note("ended at");
    drop(world);
    note("closed at");
    match ended.unwrap_err() {
        RunError::Lost { process, .. } => assert_eq!(process, victim),
        RunError::Elsewhere { message, .. } => {
            assert!(message.contains(&format!("process {victim}")), "{message}");
        }
        other => panic!("{other}"),
    }
}

/// The life of a process that leaves the others: the first when it has seen the death, the last
/// only after the first has left, which lives on.
fn leave(mpi: Environment) {
    let world = joined(mpi);
    let header = Header {
        context: 0,
        source: 0,
        destination: 0,
        tag: 0,
    };
    let process = world.process();
    if process == 1 {
        let mut met = 0;
        while met < 2 {
            met += world.progress(&mut |_, _, _| ()).unwrap();
        }
        note("killed at");
        kill_process(getpid(), Signal::KILL).unwrap();
    }
    world.send(1, header, &mut Vec::new()).unwrap();
    if process == 0 {
        while world.progress(&mut |_, _, _| ()).is_ok() {
            thread::yield_now();
        }
    } else {
        until_closed(1);
    }
    note("ended at");
    drop(world);
    note("closed at");
    if process == 0 {
        until_closed(2);
    }
}

/// Waits until so many have closed; the notes show it if they do not.
fn until_closed(count: usize) {
    let begun = Instant::now();
    while noted().matches("closed at").count() < count && begun.elapsed() < patience() / 2 {
        thread::park_timeout(Duration::from_millis(10));
    }
}

/// Does the work for ever; `each` is told the round.
async fn repeat(work: &str, comm: &Communicator, each: impl Fn(usize)) -> Result<(), CommError> {
    let (rank, size) = (comm.rank(), comm.size());
    let grid = comm
        .cartesian(&[size], &[true])
        .await?
        .expect("all are in it");
    let mut ring = comm.ring::<Vec<usize>>().await?;
    // Two ranks of different processes each.
    let pair = comm.split(Some([0, 1, 0, 2, 1, 2][rank]), 0).await?;
    let pair = pair.expect("all are in one");
    let (numbers, mut sums) = (vec![1.0; 50_000], vec![0.0; 50_000]);
    for round in 0.. {
        each(round);
        let root = round % size;
        match work {
            "barrier" => comm.barrier().await?,
            "broadcast" => {
                let value = (rank == root).then(|| vec![round; 100]);
                drop(comm.broadcast(root, value).await?);
            }
            "reduce" => drop(comm.reduce(root, round, |a, b| a + b).await?),
            "allreduce" => drop(comm.allreduce(round, |a, b| a + b).await?),
            "reduce_scatter" => {
                comm.reduce_scatter(vec![round; size], |a, b| a + b).await?;
            }
            "scan" => drop(comm.scan(round, |a, b| a + b).await?),
            "exscan" => drop(comm.exscan(round, |a, b| a + b).await?),
            "gather" => drop(comm.gather(root, round.to_string()).await?),
            "scatter" => {
                let values = (rank == root).then(|| vec![round; size]);
                comm.scatter(root, values).await?;
            }
            "allgather" => drop(comm.allgather(round.to_string()).await?),
            "alltoall" => drop(comm.alltoall(vec![round; size]).await?),
            "started" => {
                let sum = comm.allreduce(round, |a, b| a + b).start();
                let all = comm.allgather(rank).start();
                let meet = comm.barrier().start();
                meet.wait().await?;
                assert_eq!(
                    (sum.wait().await?, all.wait().await?.len()),
                    (size * round, size)
                );
            }
            "neighbours" => drop(grid.neighbour_allgather(round).await?),
            "ring" => drop(ring.exchange(vec![rank; 10], vec![round; 10]).await?),
            "split" => drop(comm.split(Some(rank % 2), 0).await?),
            // Longer than any library sends at once.
            "long" => {
                comm.alltoall(vec![vec![round as f64; 20_000]; size])
                    .await?;
            }
            "pieces" => {
                pair.allreduce_into(&numbers, &mut sums, |a, b| a + b)
                    .await?;
                assert_eq!(sums, [2.0; 50_000]);
            }
            other => panic!("there is no work {other}"),
        }
    }
    Ok(())
}
