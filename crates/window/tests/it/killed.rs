//! A process that is killed while ranks hold locks: the others end with an error.

use crate::network::processes;
use crate::started::{in_process_with, joined, note, run_each_to_its_end, times};
use motet_comm::{Communicator, RunError, World};
use motet_mpi::ThreadLevel;
use motet_testkit::{mpi_libraries, patience, within};
use motet_window::{Lock, Window, WindowError};
use rustix::process::{Signal, getpid, kill_process};

/// All want the lock of rank 1 again and again; rank 2 is killed when it has it for the third time, and `die` does it.
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
fn sem_g1037_a_process_that_is_lost_with_a_lock_ends_the_run() {
    within(patience(), || {
        processes(3, |end| {
            let dying = std::sync::Arc::clone(&end);
            let is_victim = World::over(end.clone(), 1).process().0 == 2;
            let ended = World::over(end, 1).run(async |comm| fight(comm, || dying.kill()).await);
            if !is_victim {
                check(ended);
            }
        });
    });
}

#[test]
fn sem_g1037_needs_mpi_a_kill_of_who_holds_a_lock_ends_the_run_everywhere() {
    let name = "killed::sem_g1037_needs_mpi_a_kill_of_who_holds_a_lock_ends_the_run_everywhere";
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
        let told = format!(
            "{}: {}{}{}",
            library.display(),
            left.notes,
            left.out,
            left.err
        );
        assert_eq!(times(&left.notes, "killed at ").len(), 1, "{told}");
        assert_eq!(times(&left.notes, "ended at ").len(), 2, "{told}");
        assert_eq!(times(&left.notes, "code 0 at ").len(), 2, "{told}");
    }
}
