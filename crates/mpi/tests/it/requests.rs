//! Requests that end otherwise than they were meant to.

use crate::started::{on_processes, on_processes_at};
use motet_mpi::{Comm, Environment, RequestSet, ThreadLevel};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A tag that nothing else uses.
const TAG: i32 = 8;

/// The next message with the tag.
fn next(comm: &Comm) -> Vec<u8> {
    loop {
        if let Some(matched) = comm.improbe(TAG).unwrap() {
            break matched.receive().unwrap().wait().unwrap().1;
        }
    }
}

#[test]
fn needs_mpi_a_receive_that_a_set_refuses_is_cancelled() {
    on_processes(
        "requests::needs_mpi_a_receive_that_a_set_refuses_is_cancelled",
        2,
        |mpi| {
            let world = mpi.world().unwrap();
            let peer = 1 - world.rank();
            let receive = world.irecv(1 << 10, peer, TAG).unwrap();
            let mut sends = RequestSet::new();
            let pushed = catch_unwind(AssertUnwindSafe(|| sends.push(receive, ())));
            assert!(pushed.is_err() && sends.is_empty());
            world.barrier().unwrap();
            // MPI must not write it to the room that the refused receive had.
            let sent = world.isend(vec![7; 1 << 10], peer, TAG).unwrap();
            assert_eq!(next(&world), [7; 1 << 10]);
            sent.wait().unwrap();
        },
    );
}

#[test]
fn needs_mpi_only_receives_are_cancelled() {
    on_processes(
        "requests::needs_mpi_only_receives_are_cancelled",
        2,
        |mpi| {
            let world = mpi.world().unwrap();
            let peer = 1 - world.rank();
            // It comes all the same, and so does the barrier.
            let mut sent = world.isend(vec![9; 1 << 20], peer, TAG).unwrap();
            sent.cancel().unwrap();
            let mut here = world.ibarrier().unwrap();
            here.cancel().unwrap();
            assert_eq!(next(&world), vec![9; 1 << 20]);
            let (status, bytes) = sent.wait().unwrap();
            assert!(!status.cancelled() && bytes == vec![9; 1 << 20]);
            here.wait().unwrap();
            // Of a receive that is cancelled MPI says nothing but that.
            let mut none = world.irecv(1 << 20, peer, TAG).unwrap();
            none.cancel().unwrap();
            let (status, bytes) = none.wait().unwrap();
            assert!(status.cancelled() && bytes.is_empty());
            assert_eq!((status.source(), status.tag(), status.length()), (0, 0, 0));
        },
    );
}

#[test]
fn needs_mpi_a_set_of_sends_that_had_ended_becomes_empty() {
    on_processes(
        "requests::needs_mpi_a_set_of_sends_that_had_ended_becomes_empty",
        1,
        ended_before,
    );
}

#[test]
fn needs_mpi_a_set_of_sends_that_had_ended_becomes_empty_where_threads_take_turns() {
    on_processes_at(
        ThreadLevel::Serialized,
        "requests::needs_mpi_a_set_of_sends_that_had_ended_becomes_empty_where_threads_take_turns",
        1,
        ended_before,
    );
}

/// Sends that had ended before they were put into a set.
fn ended_before(mpi: &Environment) {
    let world = mpi.world().unwrap();
    let mut sends = RequestSet::new();
    for wait in [false, true] {
        for key in 0..3 {
            let mut sent = world.isend(vec![key; 3], 0, TAG).unwrap();
            assert_eq!(next(&world), [key; 3]);
            while sent.test().unwrap().is_none() {}
            sends.push(sent, key);
        }
        if wait {
            sends.wait().unwrap();
            assert!(sends.is_empty());
        }
        let mut told = Vec::new();
        while !sends.is_empty() {
            let tell = |key, bytes, fine| {
                assert!(fine && bytes == vec![key; 3]);
                told.push(key);
            };
            sends.test(tell).unwrap();
        }
        told.sort_unstable();
        let expected: &[u8] = if wait { &[] } else { &[0, 1, 2] };
        assert_eq!(told, expected);
    }
}
