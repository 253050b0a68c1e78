//! The calls of MPI, between processes.

use crate::started::{on_processes, on_processes_at};
use motet_mpi::{
    Comm, Environment, Family, Library, LibrarySearch, MpiError, Reduction, RequestSet, ThreadLevel,
};
use motet_sync::thread;
use motet_testkit::mpi_libraries;
use std::sync::Arc;

/// A tag that nothing else uses.
const TAG: i32 = 7;

#[test]
fn sem_g296_needs_mpi_a_library_says_what_it_is() {
    for path in mpi_libraries() {
        assert_eq!(LibrarySearch::named(&path).find(), Ok(path.clone()));
        let library = Library::open(&path).unwrap();
        let version = library.version();
        assert!(version.contains("MPI"), "{version}");
        assert!(library.standard() >= (4, 0), "{:?}", library.standard());
        assert_eq!(library.path(), path);
    }
}

#[test]
fn sem_g297_needs_mpi_it_starts_once_and_ends_with_its_last_user() {
    on_processes(
        "calls::sem_g297_needs_mpi_it_starts_once_and_ends_with_its_last_user",
        2,
        |mpi| {
            let again = mpi.library().start();
            assert_eq!(again.err(), Some(MpiError::Started));
            assert!(mpi.level() >= ThreadLevel::Serialized, "{}", mpi.level());
            assert!(!mpi.processor_name().unwrap().is_empty());
            let before = mpi.wtime();
            mpi.world().unwrap().barrier().unwrap();
            assert!(mpi.wtime() >= before);
        },
    );
}

#[test]
fn sem_g298_needs_mpi_any_thread_may_call() {
    on_processes(
        "calls::sem_g298_needs_mpi_any_thread_may_call",
        2,
        four_threads,
    );
}

#[test]
fn sem_g298_needs_mpi_threads_take_turns_where_they_must() {
    on_processes_at(
        ThreadLevel::Serialized,
        "calls::sem_g298_needs_mpi_threads_take_turns_where_they_must",
        2,
        four_threads,
    );
}

/// Four threads of each process, each with its own in the other one.
fn four_threads(mpi: &Environment) {
    let world = Arc::new(mpi.world().unwrap());
    assert!(mpi.level() >= ThreadLevel::Serialized, "{}", mpi.level());
    let threads: Vec<_> = (0..4)
        .map(|tag| {
            let world = Arc::clone(&world);
            thread::spawn(move || {
                let peer = 1 - world.rank();
                for round in 0..200 {
                    let mut sent = world.isend(vec![round; 10], peer, tag).unwrap();
                    let mut came = world.irecv(10, peer, tag).unwrap();
                    // Waiting in MPI would keep the turn from the others.
                    while came.test().unwrap().is_none() || sent.test().unwrap().is_none() {
                        thread::yield_now();
                    }
                    assert_eq!(came.into_bytes().unwrap(), [round; 10]);
                }
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

#[test]
fn sem_g298_needs_mpi_another_thread_is_refused_where_only_one_may_call() {
    on_processes_at(
        ThreadLevel::Funneled,
        "calls::sem_g298_needs_mpi_another_thread_is_refused_where_only_one_may_call",
        2,
        |mpi| {
            let world = Arc::new(mpi.world().unwrap());
            world.barrier().unwrap();
            if mpi.level() >= ThreadLevel::Serialized {
                // More than was asked for: nobody has to be refused.
                return;
            }
            let elsewhere = Arc::clone(&world);
            let refused = thread::spawn(move || elsewhere.isend(vec![1], 0, TAG).err());
            let call = "MPI_Isend";
            assert_eq!(
                refused.join().unwrap(),
                Some(MpiError::WrongThread { call })
            );
        },
    );
}

#[test]
fn needs_mpi_collectives_on_four_processes() {
    on_processes("calls::needs_mpi_collectives_on_four_processes", 4, |mpi| {
        let world = mpi.world().unwrap();
        let (rank, size) = (world.rank(), world.size());
        assert_eq!(size, 4);
        let mut text = [0u8; 5];
        if rank == 2 {
            text = *b"motet";
        }
        world.broadcast(&mut text, 2).unwrap();
        assert_eq!(&text, b"motet");
        let values = [rank as f64, 1.0];
        for (by, expected) in [
            (Reduction::Sum, [6.0, 4.0]),
            (Reduction::Min, [0.0, 1.0]),
            (Reduction::Max, [3.0, 1.0]),
            (Reduction::Product, [0.0, 1.0]),
        ] {
            let mut results = [f64::NAN; 2];
            world.allreduce(&values, &mut results, by).unwrap();
            assert_eq!(results, expected, "{by:?}");
        }
        let all = world.allgather(&[rank as i64 * 10, -1]).unwrap();
        assert_eq!(all, [0, -1, 10, -1, 20, -1, 30, -1]);
        let node = world.split_shared().unwrap();
        assert_eq!((node.rank(), node.size()), (rank, size), "one machine");
        node.free().unwrap();
        let mut here = world.ibarrier().unwrap();
        while here.test().unwrap().is_none() {}
    });
}

#[test]
fn needs_mpi_communicators_keep_their_messages_apart() {
    on_processes(
        "calls::needs_mpi_communicators_keep_their_messages_apart",
        2,
        |mpi| {
            let world = mpi.world().unwrap();
            let copy = world.dup().unwrap();
            let peer = 1 - world.rank();
            let first = world.isend(b"world".to_vec(), peer, TAG).unwrap();
            let second = copy.isend(b"copy".to_vec(), peer, TAG).unwrap();
            // Asked for in the other order.
            assert_eq!(take(&copy), b"copy");
            assert_eq!(take(&world), b"world");
            first.wait().unwrap();
            second.wait().unwrap();
            copy.free().unwrap();
        },
    );
}

/// The next message with the tag, and that a probe says the same of it.
fn take(comm: &Comm) -> Vec<u8> {
    let probed = loop {
        if let Some(status) = comm.iprobe(TAG).unwrap() {
            break status;
        }
    };
    let matched = comm.improbe(TAG).unwrap().expect("it was probed");
    assert_eq!(probed.length(), matched.length());
    assert_eq!(probed.source(), matched.source());
    assert_eq!((probed.tag(), matched.tag()), (TAG, TAG));
    let (status, bytes) = matched.receive().unwrap().wait().unwrap();
    assert_eq!(status.length(), bytes.len());
    bytes
}

#[test]
fn needs_mpi_what_nothing_matches_is_cancelled() {
    on_processes(
        "calls::needs_mpi_what_nothing_matches_is_cancelled",
        2,
        |mpi| {
            let world = mpi.world().unwrap();
            let mut none = world.irecv(8, 1 - world.rank(), TAG).unwrap();
            assert_eq!(none.test(), Ok(None));
            none.cancel().unwrap();
            let (status, bytes) = none.wait().unwrap();
            assert!(status.cancelled() && bytes.is_empty());
            // One that is dropped is cancelled too: it must not take what comes later.
            drop(world.irecv(8, 1 - world.rank(), TAG).unwrap());
            world.barrier().unwrap();
            let sent = world.isend(vec![5], 1 - world.rank(), TAG).unwrap();
            assert_eq!(take(&world), [5]);
            sent.wait().unwrap();
        },
    );
}

#[test]
fn needs_mpi_requests_give_their_bytes_when_they_have_ended() {
    on_processes(
        "calls::needs_mpi_requests_give_their_bytes_when_they_have_ended",
        2,
        |mpi| {
            let world = mpi.world().unwrap();
            let peer = 1 - world.rank();
            let came = world.irecv(100, peer, TAG).unwrap();
            let mut came = came.into_bytes().expect_err("nothing was sent yet");
            world.barrier().unwrap();
            let (_, bytes) = world.isend(vec![3; 7], peer, TAG).unwrap().wait().unwrap();
            assert_eq!(bytes, [3; 7], "a send gives back what it sent");
            let status = loop {
                if let Some(status) = came.test().unwrap() {
                    break status;
                }
            };
            assert_eq!((status.source(), status.length()), (peer, 7));
            // Asked again it still has what came.
            assert!(came.test().unwrap().is_some());
            assert_eq!(came.into_bytes().unwrap(), [3; 7]);
        },
    );
}

#[test]
fn needs_mpi_many_sends_are_tested_together() {
    on_processes(
        "calls::needs_mpi_many_sends_are_tested_together",
        2,
        many_sends,
    );
}

fn many_sends(mpi: &Environment) {
    const COUNT: usize = 20;
    // Longer than any library sends at once.
    const LENGTH: usize = 1 << 20;
    let world = mpi.world().unwrap();
    let peer = 1 - world.rank();
    let mut sends = RequestSet::new();
    for key in 0..COUNT {
        sends.push(
            world.isend(vec![key as u8; LENGTH], peer, TAG).unwrap(),
            key,
        );
    }
    assert_eq!(sends.len(), COUNT);
    let (mut ended, mut came) = (Vec::new(), 0);
    while came < COUNT || !sends.is_empty() {
        sends
            .test(|key, bytes, fine| {
                assert!(fine && bytes == vec![key as u8; LENGTH]);
                ended.push(key);
            })
            .unwrap();
        assert_eq!(sends.keys().count() + ended.len(), COUNT);
        if let Some(matched) = world.improbe(TAG).unwrap() {
            let (_, bytes) = matched.receive().unwrap().wait().unwrap();
            assert_eq!(bytes, vec![came as u8; LENGTH], "in order");
            came += 1;
        }
    }
    ended.sort_unstable();
    assert_eq!(ended, (0..COUNT).collect::<Vec<_>>());
    sends.push(world.isend(vec![1], peer, TAG).unwrap(), 0);
    assert_eq!(take(&world), [1]);
    sends.wait().unwrap();
    assert!(sends.is_empty());
}

#[test]
fn sem_g299_needs_mpi_errors_are_returned_with_their_words() {
    on_processes(
        "calls::sem_g299_needs_mpi_errors_are_returned_with_their_words",
        2,
        |mpi| {
            let world = mpi.world().unwrap();
            let nobody = MpiError::NoSuchProcess {
                process: 2,
                processes: 2,
            };
            assert_eq!(world.isend(Vec::new(), 2, TAG).err(), Some(nobody));
            if Family::of(&mpi.library().version()) == Family::Intel {
                // It ends the program: its library for the standard ABI keeps no error handler.
                return;
            }
            let error = world.isend(Vec::new(), 1 - world.rank(), -5).unwrap_err();
            let MpiError::Call { call, class, text } = &error else {
                panic!("{error:?}");
            };
            // MPI_ERR_TAG.
            assert_eq!((*call, *class), ("MPI_Isend", 4), "{text}");
            assert!(text.contains("tag"), "{text}");
        },
    );
}
