//! Windows over each MPI library, through memory and by messages of MPI; a process that is killed
//! while it holds a lock.

use crate::started::{in_process_with, joined, note, run, run_each_to_its_end, times, way};
use motet::comm::RunError;
use motet::mpi::ThreadLevel;
use motet::window::{Lock, Op, Window, WindowError};
use motet::{Communicator, World};
use motet_testkit::mpi_libraries;
use rustix::process::{Signal, getpid, kill_process};

/// Processes, ranks in each, and whether messages go through memory.
const LAYOUTS: [(usize, usize, bool); 3] = [(2, 1, true), (2, 2, false), (2, 2, true)];

#[test]
fn sem_g345_needs_mpi_windows_over_processes() {
    const RANKS: &str = "MOTET_MPI_TEST_RANKS";
    let name = "windows::sem_g345_needs_mpi_windows_over_processes";
    let here = std::env::var(RANKS).ok();
    let here = here.and_then(|ranks| ranks.parse().ok()).unwrap_or(1);
    let body = move |mpi| {
        World::over(joined(mpi), here).run(all_of_it).unwrap();
    };
    if in_process_with(ThreadLevel::Serialized, name, body) {
        return;
    }
    for library in mpi_libraries() {
        for (processes, ranks, memory) in LAYOUTS {
            let (ranks, way) = (format!("{RANKS}={ranks}"), way(memory));
            let ran = run(name, processes, &library, &["env", &ranks, &way]);
            let out = String::from_utf8_lossy(&ran.stdout);
            let err = String::from_utf8_lossy(&ran.stderr);
            let library = library.display();
            assert!(
                ran.status.success(),
                "{library}, {ranks}, {way}: {out}{err}"
            );
        }
    }
}

async fn all_of_it(comm: Communicator) -> Result<(), WindowError> {
    const LONG: usize = 20_000;
    let (rank, size) = (comm.rank(), comm.size());
    let (next, last) = ((rank + 1) % size, (rank + size - 1) % size);
    let window = Window::create(&comm, vec![0.0; LONG]).await?;
    for round in 0..8 {
        let numbers: Vec<f64> = (0..LONG).map(|at| (at + rank + round) as f64).collect();
        window.put(next, 0, &numbers).await?;
        window.fence().await?;
        let from = |at: usize| (at + last + round) as f64;
        window.with(|there| assert!(there.iter().enumerate().all(|(at, it)| *it == from(at))));
        window.fence().await?;
        window.accumulate(next, 0, &numbers, Op::Sum).await?;
        window.fence().await?;
        window.with(|there| assert_eq!(there[LONG - 1], 2.0 * from(LONG - 1)));
        assert_eq!(window.get(rank, 0, LONG).await?.len(), LONG);
        let far = window.get(next, LONG - 3, 3).await?;
        assert_eq!(far[2], 2.0 * (LONG - 1 + rank + round) as f64);
        window.fence().await?;
    }
    let counter = Window::create(&comm, vec![0_u64, 0]).await?;
    for _ in 0..50 {
        counter.fetch_and_op(0, 0, 1, Op::Sum).await?;
        let lock = counter.lock(0, Lock::Exclusive).await?;
        let before = counter.get(0, 1, 1).await?[0];
        counter.put(0, 1, &[before + 1]).await?;
        lock.unlock().await?;
    }
    let numbers = counter.free().await?;
    let count = 50 * size as u64;
    assert_eq!(numbers, if rank == 0 { [count; 2] } else { [0; 2] });
    window.free().await?;
    comm.barrier().await?;
    let before = shared_mappings();
    comm.barrier().await?;
    for _ in 0..20 {
        let window = Window::create(&comm, vec![rank; LONG]).await?;
        comm.barrier().await?;
        drop(window);
    }
    comm.barrier().await?;
    assert_eq!(shared_mappings(), before, "of windows that were dropped");
    comm.barrier().await?;
    Ok(())
}

/// How many mappings of memory without a name this process has.
fn shared_mappings() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines()
        .filter(|line| line.contains("memfd:motet"))
        .count()
}

/// All want the lock of rank 1 again and again; rank 2 is killed when it has it for the third time,
/// and `die` does it.
async fn fight(comm: Communicator, die: impl Fn()) -> Result<(), WindowError> {
    let window = Window::create(&comm, vec![0_u64]).await?;
    for round in 0.. {
        let lock = window.lock(1, Lock::Exclusive).await?;
        window.put(1, 0, &[round]).await?;
        if comm.rank() == 2 && round == 3 {
            die();
        }
        lock.unlock().await?;
    }
    Ok(())
}

fn check(ended: Result<Vec<()>, RunError<WindowError>>) {
    match ended.unwrap_err() {
        RunError::Lost { process: 2, .. } => {}
        RunError::Elsewhere { message, .. } => assert!(message.contains("process 2"), "{message}"),
        other => panic!("{other}"),
    }
}

#[test]
fn sem_g352_needs_mpi_a_kill_of_who_holds_a_lock_ends_the_run_everywhere() {
    let name = "windows::sem_g352_needs_mpi_a_kill_of_who_holds_a_lock_ends_the_run_everywhere";
    let body = |mpi| {
        let world = World::over(joined(mpi), 1);
        let die = || {
            note("killed at");
            kill_process(getpid(), Signal::KILL).unwrap();
        };
        let ended = world.run(async |comm| fight(comm, die).await);
        check(ended);
        note("ended at");
    };
    if in_process_with(ThreadLevel::Multiple, name, body) {
        return;
    }
    for library in mpi_libraries() {
        let left = run_each_to_its_end(name, 3, &library, &[]);
        let told = left.told(&library);
        assert_eq!(times(&left.notes, "killed at ").len(), 1, "{told}");
        assert_eq!(times(&left.notes, "ended at ").len(), 2, "{told}");
        assert_eq!(times(&left.notes, "code 0 at ").len(), 2, "{told}");
    }
}

/// Rank 2 is killed while it looks at its numbers: who puts there meanwhile waits until it is gone,
/// and no longer.
#[test]
fn sem_g519_needs_mpi_numbers_that_a_killed_process_used_keep_nobody() {
    let name = "windows::sem_g519_needs_mpi_numbers_that_a_killed_process_used_keep_nobody";
    let body = |mpi| {
        let world = World::over(joined(mpi), 1);
        let ended = world.run(async |comm| -> Result<(), WindowError> {
            let window = Window::create(&comm, vec![0_u64; 1000]).await?;
            if comm.rank() == 2 {
                comm.barrier().await?;
                window.with_mut(|_| {
                    note("killed at");
                    kill_process(getpid(), Signal::KILL).unwrap();
                });
            }
            comm.barrier().await?;
            loop {
                window.put(2, 0, &[comm.rank() as u64; 1000]).await?;
                comm.sendrecv(1 - comm.rank(), (), 1 - comm.rank(), 0)
                    .await?;
            }
        });
        check(ended);
        note("ended at");
    };
    if in_process_with(ThreadLevel::Multiple, name, body) {
        return;
    }
    for library in mpi_libraries() {
        let left = run_each_to_its_end(name, 3, &library, &[]);
        let told = left.told(&library);
        assert_eq!(times(&left.notes, "killed at ").len(), 1, "{told}");
        assert_eq!(times(&left.notes, "ended at ").len(), 2, "{told}");
    }
}
