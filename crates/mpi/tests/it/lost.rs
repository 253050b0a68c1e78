//! A process that is killed.

use crate::started::{Left, STEPS, beside_a_clock, in_process, note, run_each_to_its_end, times};
use motet_mpi::{Engine, EngineConfig, Environment, Header, MpiError, ThreadLevel};
use motet_sync::thread;
use motet_testkit::{mpi_libraries, patience};
use std::time::{Duration, Instant};

/// Within so many seconds after its end a killed process is named, where threads are not kept
/// waiting.
const SOON: f64 = 2.0;
/// A call of `progress` at least so often finds it in time.
const OFTEN: Duration = Duration::from_millis(100);

const KILLED: &str = "lost::sem_g303_needs_mpi_a_process_that_was_killed_is_named";

#[test]
fn sem_g303_needs_mpi_a_process_that_was_killed_is_named() {
    named_by_all(KILLED, |mpi| survive(mpi, |_| thread::yield_now()));
}

const SELDOM: &str = "lost::sem_g303_needs_mpi_who_looks_ten_times_a_second_names_it_as_soon";

#[test]
fn sem_g303_needs_mpi_who_looks_ten_times_a_second_names_it_as_soon() {
    named_by_all(SELDOM, |mpi| survive(mpi, |_| thread::park_timeout(OFTEN)));
}

const TRAFFIC: &str = "lost::sem_g303_needs_mpi_it_is_named_while_messages_come";

#[test]
fn sem_g303_needs_mpi_it_is_named_while_messages_come() {
    // There is always one that is here: no call finds nothing.
    named_by_all(TRAFFIC, |mpi| {
        survive(mpi, |engine| {
            let me = engine.process();
            engine.send(me, header(me, me), &mut Vec::new()).unwrap();
        });
    });
}

/// Runs `body` in three processes, of which two say that they have seen the loss.
fn named_by_all(name: &str, body: fn(&Environment)) {
    if in_process(ThreadLevel::Multiple, name, body) {
        return;
    }
    for library in mpi_libraries() {
        let (left, late) = beside_a_clock(|| run_each_to_its_end(name, 3, &library, &[]));
        let told = format!("{late:.2} s late: {}", left.told(&library));
        let Left { err, notes, .. } = left;
        assert!(!err.contains("panicked"), "{told}");
        let (died, saw) = (times(&notes, "code 134 at "), times(&notes, "saw at "));
        assert_eq!((died.len(), saw.len()), (1, 2), "{told}");
        let after = saw.iter().fold(0.0_f64, |a, &b| a.max(b)) - died[0];
        assert!(after <= SOON + STEPS * late, "{told}");
        println!("named after {after:.2} s");
    }
}

fn header(from: usize, to: usize) -> Header {
    Header {
        context: 0,
        source: from as u32,
        destination: to as u32,
        tag: 0,
    }
}

/// Process 1 is killed right after a message of its own; the others get the message, then
/// the loss. They do `between` after each look.
fn survive(mpi: &Environment, between: impl Fn(&Engine)) {
    let engine = Engine::new(&mpi.world().unwrap(), EngineConfig::default()).unwrap();
    let me = engine.process();
    if me == 1 {
        // Only now: launchers do not stand a death while processes still meet.
        let mut met = 0;
        while met < 2 {
            engine.progress(|_| met += 1).unwrap();
        }
        engine.send(0, header(1, 0), &mut vec![1]).unwrap();
        engine.send(2, header(1, 2), &mut vec![1]).unwrap();
        std::process::abort();
    }
    engine.send(1, header(me, 1), &mut vec![0]).unwrap();
    // Longer than any library sends at once: it is under way when its receiver dies.
    engine
        .send(1, header(me, 1), &mut vec![0; 10 << 20])
        .unwrap();
    let begun = Instant::now();
    let mut came = 0;
    let lost = loop {
        let looked = engine.progress(|envelope| came += u32::from(envelope.process == 1));
        match looked {
            Ok(_) => between(&engine),
            Err(error) => break error,
        }
        assert!(begun.elapsed() < patience(), "the loss is not seen");
    };
    note("saw at");
    assert!(
        matches!(lost, MpiError::PeerLost { process: 1, .. }),
        "{lost}"
    );
    assert_eq!(came, 1, "what it had sent came first");
    assert_eq!(engine.under_way(), 0, "nothing waits for it");
    let refused = engine.send(1, header(me, 1), &mut Vec::new());
    assert!(matches!(
        refused,
        Err(MpiError::PeerLost { process: 1, .. })
    ));
    println!("process {me} saw the loss: {lost}");
    // The rest close with each other, and hear once more who is missing.
    let closed = engine.close(patience(), |_| ());
    assert!(
        matches!(closed, Err(MpiError::PeerLost { process: 1, .. })),
        "{closed:?}"
    );
    // MPI_Finalize would wait for the one that is gone.
    std::process::exit(0);
}
