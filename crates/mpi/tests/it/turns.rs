//! Calls that wait, where the library allows one thread at a time.

use crate::started::{in_process, on_processes_at, run};
use motet_mpi::{Environment, RequestSet, ThreadLevel};
use motet_sync::thread;
use motet_testkit::mpi_libraries;
use std::sync::Arc;
use std::time::Duration;

/// Long enough for another thread to be inside a call that waits.
const A_WHILE: Duration = Duration::from_millis(50);

#[test]
fn sem_g298_needs_mpi_who_waits_leaves_the_turn_to_the_others() {
    on_processes_at(
        ThreadLevel::Serialized,
        "turns::sem_g298_needs_mpi_who_waits_leaves_the_turn_to_the_others",
        2,
        others_send,
    );
}

/// One thread of each process waits for what another thread of the other one sends later.
fn others_send(mpi: &Environment) {
    /// Longer than any library sends at once: its send waits for the receive.
    const LONG: usize = 4 << 20;
    let world = Arc::new(mpi.world().unwrap());
    let peer = 1 - world.rank();
    let later = |body: fn(&motet_mpi::Comm)| {
        let world = Arc::clone(&world);
        thread::spawn(move || {
            thread::park_timeout(A_WHILE);
            body(&world);
        })
    };

    let other = later(|world| {
        let sent = world.isend(vec![1], 1 - world.rank(), 1).unwrap();
        sent.wait().unwrap();
    });
    assert_eq!(world.irecv(1, peer, 1).unwrap().wait().unwrap().1, [1]);
    other.join().unwrap();

    let other = later(|world| {
        let came = world.irecv(LONG, 1 - world.rank(), 2).unwrap();
        assert_eq!(came.wait().unwrap().1.len(), LONG);
    });
    let mut sends = RequestSet::new();
    sends.push(world.isend(vec![2; LONG], peer, 2).unwrap(), ());
    sends.wait().unwrap();
    other.join().unwrap();

    // Process 1 comes to the barrier only when the other thread of process 0 has sent.
    let other = later(|world| {
        if world.rank() == 0 {
            world.isend(vec![3], 1, 3).unwrap().wait().unwrap();
        }
    });
    if world.rank() == 1 {
        assert_eq!(world.irecv(1, 0, 3).unwrap().wait().unwrap().1, [3]);
    }
    world.barrier().unwrap();
    other.join().unwrap();
}

const ABORTS: &str = "turns::sem_g298_needs_mpi_nobody_s_turn_keeps_a_process_from_ending_all";

#[test]
fn sem_g298_needs_mpi_nobody_s_turn_keeps_a_process_from_ending_all() {
    if in_process(ThreadLevel::Serialized, ABORTS, abort_beside_a_broadcast) {
        return;
    }
    for library in mpi_libraries() {
        let ran = run(ABORTS, 2, &library, &[]);
        let err = String::from_utf8_lossy(&ran.stderr);
        assert!(!ran.status.success(), "all are ended");
        assert!(!err.contains("panicked"), "{err}");
    }
}

/// A thread is in a call that keeps its turn, and will for ever.
fn abort_beside_a_broadcast(mpi: &Environment) {
    let world = mpi.world().unwrap();
    if world.rank() == 0 {
        // The root does not come.
        thread::spawn(move || world.broadcast(&mut [0u8; 4], 1));
        thread::park_timeout(A_WHILE);
        mpi.abort(3).unwrap();
    }
    loop {
        thread::park_timeout(A_WHILE);
    }
}
