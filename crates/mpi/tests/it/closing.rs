//! Closing where not all goes well.

use crate::started::{
    DONE, Left, in_process, in_process_with, noted, on_processes, run, run_each_to_its_end,
};
use motet_comm::Transport;
use motet_mpi::{
    Engine, EngineConfig, Environment, Header, MpiError, Processes, ReceivedMessage, ThreadLevel,
};
use motet_sync::atomic::{AtomicU64, Ordering};
use motet_sync::thread;
use motet_testkit::{mpi_libraries, patience};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, process};

const NOBODY: Header = Header {
    context: 0,
    source: 0,
    destination: 0,
    tag: 0,
};

/// The processes that have not closed.
fn silent(closed: Result<(), MpiError>) -> Vec<usize> {
    match closed {
        Err(MpiError::Silent { processes, .. }) => processes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn sem_g302_needs_mpi_a_close_goes_on_where_the_last_one_stopped() {
    on_processes(
        "closing::sem_g302_needs_mpi_a_close_goes_on_where_the_last_one_stopped",
        2,
        |mpi| {
            let world = mpi.world().unwrap();
            let engine = Engine::new(&world, EngineConfig::default()).unwrap();
            if engine.process() == 1 {
                assert_eq!(silent(engine.close(Duration::ZERO, |_| ())), [0]);
                world.barrier().unwrap();
                world.barrier().unwrap();
            } else {
                world.barrier().unwrap();
                // All have said that they close; the other one does not wait for the end yet.
                let limit = Duration::from_millis(500);
                assert!(silent(engine.close(limit, |_| ())).is_empty());
                world.barrier().unwrap();
            }
            engine.close(patience(), |_| ()).unwrap();
            // It has closed: nobody has to come once more.
            if engine.process() == 0 {
                engine.close(patience(), |_| ()).unwrap();
            }
        },
    );
}

#[test]
fn sem_g302_needs_mpi_the_limit_holds_while_messages_come() {
    on_processes(
        "closing::sem_g302_needs_mpi_the_limit_holds_while_messages_come",
        2,
        |mpi| {
            const LIMIT: Duration = Duration::from_millis(50);
            /// To take them in lasts much longer than the limit.
            const MESSAGES: u32 = 500;
            const EACH: Duration = Duration::from_millis(2);
            let config = EngineConfig {
                at_once: 1,
                ..EngineConfig::default()
            };
            let world = mpi.world().unwrap();
            let engine = Engine::new(&world, config).unwrap();
            if engine.process() == 0 {
                // Those to itself are here: every look finds one.
                for _ in 0..MESSAGES {
                    engine.send(0, NOBODY, &mut Vec::new()).unwrap();
                }
                let mut came = 0;
                let slowly = |_: ReceivedMessage<'_>| {
                    came += 1;
                    thread::park_timeout(EACH);
                };
                assert_eq!(silent(engine.close(LIMIT, slowly)), [1]);
                assert!(came < MESSAGES / 2, "{came} were taken in");
            }
            world.barrier().unwrap();
            engine.close(patience(), |_| ()).unwrap();
        },
    );
}

#[test]
fn sem_g302_needs_mpi_what_a_thread_sends_while_another_closes_arrives_or_is_refused() {
    on_processes(
        "closing::sem_g302_needs_mpi_what_a_thread_sends_while_another_closes_arrives_or_is_refused",
        2,
        |mpi| {
            const MOST: u64 = 50_000;
            let world = mpi.world().unwrap();
            for _ in 0..10 {
                let engine = Engine::new(&world, EngineConfig::default()).unwrap();
                let engine = Arc::new(engine);
                let (me, peer) = (engine.process(), 1 - engine.process());
                let senders: Vec<_> = (0..2)
                    .map(|_| {
                        let engine = Arc::clone(&engine);
                        thread::spawn(move || {
                            let mut sent = 0;
                            // Until then, if that is not too late: all of it has to be taken in.
                            while sent < MOST && engine.send(peer, NOBODY, &mut vec![1]).is_ok() {
                                sent += 1;
                            }
                            sent
                        })
                    })
                    .collect();
                thread::park_timeout(Duration::from_micros(300));
                let came = AtomicU64::new(0);
                let take = |_: ReceivedMessage<'_>| {
                    came.fetch_add(1, Ordering::Relaxed);
                };
                engine.close(patience(), take).unwrap();
                let sent: u64 = senders.into_iter().map(|one| one.join().unwrap()).sum();
                let all = world.allgather(&[sent]).unwrap();
                assert_eq!(came.into_inner(), all[peer], "{me}");
            }
        },
    );
}

const DIES: &str =
    "closing::sem_g303_needs_mpi_who_dies_between_its_close_message_and_the_end_is_named";

#[test]
fn sem_g303_needs_mpi_who_dies_between_its_close_message_and_the_end_is_named() {
    if in_process(ThreadLevel::Multiple, DIES, close_and_death) {
        return;
    }
    for library in mpi_libraries() {
        let Left { out, err, .. } = run_each_to_its_end(DIES, 3, &library, &[]);
        assert_eq!(out.matches("saw the loss").count(), 2, "{out}{err}");
        assert!(!err.contains("panicked"), "{err}");
    }
}

/// Process 1 says that it closes, and is killed before the others do.
fn close_and_death(mpi: &Environment) {
    let engine = Engine::new(&mpi.world().unwrap(), EngineConfig::default()).unwrap();
    let me = engine.process();
    if me == 1 {
        let mut met = 0;
        while met < 2 {
            engine.progress(|_| met += 1).unwrap();
        }
        engine.send(0, NOBODY, &mut Vec::new()).unwrap();
        engine.send(2, NOBODY, &mut Vec::new()).unwrap();
        assert_eq!(silent(engine.close(Duration::ZERO, |_| ())), [0, 2]);
        process::abort();
    }
    engine.send(1, NOBODY, &mut Vec::new()).unwrap();
    let mut came = 0;
    while came == 0 {
        engine.progress(|_| came += 1).unwrap();
    }
    // Until it has died; nobody has lost anything.
    while !noted().contains("code ") {
        engine.progress(|_| ()).unwrap();
    }
    let begun = Instant::now();
    for _ in 0..2 {
        let closed = engine.close(patience(), |_| ());
        assert!(
            matches!(closed, Err(MpiError::PeerLost { process: 1, .. })),
            "{closed:?}"
        );
    }
    println!("process {me} saw the loss after {:?}", begun.elapsed());
    // MPI_Finalize would wait for the one that is gone.
    process::exit(0);
}

const LATE: &str = "closing::sem_g330_needs_mpi_who_leaves_waits_for_one_that_works_on";

#[test]
fn sem_g330_needs_mpi_who_leaves_waits_for_one_that_works_on() {
    if in_process_with(ThreadLevel::Serialized, LATE, leave_early_or_late) {
        return;
    }
    for library in mpi_libraries() {
        let ran = run(LATE, 2, &library, &[]);
        let out = String::from_utf8_lossy(&ran.stdout);
        let err = String::from_utf8_lossy(&ran.stderr);
        // A launcher that sees one end without MPI_Finalize ends the other one, and says so by its
        // code.
        assert!(ran.status.success(), "{}: {out}{err}", ran.status);
        assert_eq!(out.matches(DONE).count(), 2, "{out}{err}");
    }
}

/// Process 1 leaves at once, and waits for process 0 at next to no cost.
fn leave_early_or_late(mpi: Environment) {
    const WORK: Duration = Duration::from_secs(4);
    let processes = Processes::new(mpi).unwrap();
    let (begun, before) = (Instant::now(), processor_time());
    if processes.process() == 0 {
        while begun.elapsed() < WORK {
            thread::park_timeout(WORK);
        }
        return;
    }
    drop(processes);
    let (waited, used) = (begun.elapsed(), processor_time() - before);
    println!("waited {waited:?}, used {used:?}");
    assert!(used < waited / 10, "{used:?} of {waited:?}");
}

/// What this process has used of the processors.
fn processor_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .collect();
    // proc(5): field 14 for the program, 15 for the system, in hundredths of a second.
    let ticks = |field: usize| fields[field - 3].parse::<u64>().unwrap();
    Duration::from_millis(10 * (ticks(14) + ticks(15)))
}
