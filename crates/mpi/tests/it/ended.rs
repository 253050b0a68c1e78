//! How MPI ends.

use crate::started::{DONE, Left, in_process_with, run_each_to_its_end};
use motet_mpi::{Environment, MpiError, ThreadLevel};
use motet_sync::thread;
use motet_testkit::mpi_libraries;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `body`, which ends MPI or not, in so many processes: all come to their end.
fn ended(level: ThreadLevel, name: &str, processes: usize, body: fn(Environment)) {
    if in_process_with(level, name, body) {
        return;
    }
    for library in mpi_libraries() {
        let Left { out, err, .. } = run_each_to_its_end(name, processes, &library, &[]);
        assert_eq!(out.matches(DONE).count(), processes, "{out}{err}");
    }
}

#[test]
fn sem_g297_needs_mpi_it_does_not_end_while_it_is_used() {
    ended(
        ThreadLevel::Multiple,
        "ended::sem_g297_needs_mpi_it_does_not_end_while_it_is_used",
        2,
        |mpi| {
            let world = mpi.world().unwrap();
            assert_eq!(mpi.finish(), Err(MpiError::InUse));
            // It still runs; now it ends.
            world.barrier().unwrap();
        },
    );
}

#[test]
fn sem_g297_needs_mpi_a_thread_that_panics_does_not_wait_for_the_others() {
    ended(
        ThreadLevel::Multiple,
        "ended::sem_g297_needs_mpi_a_thread_that_panics_does_not_wait_for_the_others",
        2,
        |mpi| {
            if mpi.world().unwrap().rank() == 0 {
                // It never comes to the end of MPI, for which the other one would wait.
                let _never_ended = ManuallyDrop::new(mpi);
                return;
            }
            let panics = catch_unwind(AssertUnwindSafe(|| {
                let _mpi = mpi;
                panic!("on purpose");
            }));
            assert!(panics.is_err());
        },
    );
}

#[test]
fn sem_g297_needs_mpi_a_thread_that_panics_hears_that_it_has_not_ended() {
    struct Finishes(Option<Environment>);

    impl Drop for Finishes {
        fn drop(&mut self) {
            let finished = self.0.take().unwrap().finish();
            assert_eq!(finished, Err(MpiError::NotEnded));
            println!("heard");
        }
    }

    const NAME: &str = "ended::sem_g297_needs_mpi_a_thread_that_panics_hears_that_it_has_not_ended";
    let body = |mpi| {
        let panics = catch_unwind(AssertUnwindSafe(|| {
            let _finishes = Finishes(Some(mpi));
            panic!("on purpose");
        }));
        assert!(panics.is_err());
    };
    ended(ThreadLevel::Multiple, NAME, 2, body);
}

#[test]
fn sem_g297_needs_mpi_where_only_one_may_call_another_thread_hears_that_it_cannot_end_it() {
    ended(
        ThreadLevel::Funneled,
        "ended::sem_g297_needs_mpi_where_only_one_may_call_another_thread_hears_that_it_cannot_end_it",
        1,
        |mpi| {
            if mpi.level() >= ThreadLevel::Serialized {
                // More than was asked for: any thread may.
                return;
            }
            let elsewhere = thread::spawn(move || mpi.finish());
            let call = "MPI_Finalize";
            assert_eq!(
                elsewhere.join().unwrap(),
                Err(MpiError::WrongThread { call })
            );
        },
    );
}
