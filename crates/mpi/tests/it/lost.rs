//! A process that is killed.

use crate::started::{in_process, libraries, run};
use motet_mpi::{Engine, EngineConfig, Environment, Header, MpiError, ThreadLevel};
use motet_sync::thread;
use std::time::{Duration, Instant};

const NAME: &str = "lost::sem_g408_needs_mpi_a_process_that_was_killed_is_named";

/// Within this time after its end a killed process is named, on a machine that is not overloaded.
const SOON: Duration = Duration::from_secs(10);

#[test]
fn sem_g408_needs_mpi_a_process_that_was_killed_is_named() {
    if in_process(ThreadLevel::Multiple, NAME, survive) {
        return;
    }
    for library in libraries() {
        // A launcher that sees a process end would end all: here it sees a shell, which stays.
        let ran = run(NAME, 3, &library, &["sh", "-c", "\"$0\" \"$@\"; sleep 2"]);
        let out = String::from_utf8_lossy(&ran.stdout);
        let err = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(out.matches("saw the loss").count(), 2, "{out}{err}");
        assert!(!err.contains("panicked"), "{err}");
    }
}

/// Process 1 is killed with a message of its own under way; the others get the message, then the
/// loss.
fn survive(mpi: &Environment) {
    let engine = Engine::new(&mpi.world().unwrap(), EngineConfig::default()).unwrap();
    let me = engine.process();
    let header = |to| Header {
        context: 0,
        source: me as u32,
        destination: to,
        tag: 0,
    };
    if me == 1 {
        // Only now: launchers do not stand a death while processes still meet.
        let mut met = 0;
        while met < 2 {
            engine.progress(|_| met += 1).unwrap();
        }
        engine.send(0, header(0), vec![1]).unwrap();
        engine.send(2, header(2), vec![1]).unwrap();
        std::process::abort();
    }
    engine.send(1, header(1), vec![0]).unwrap();
    // Longer than any library sends at once: it is under way when its receiver dies.
    engine.send(1, header(1), vec![0; 10 << 20]).unwrap();
    let begun = Instant::now();
    let mut came = 0;
    let lost = loop {
        match engine.progress(|_| came += 1) {
            Ok(_) => thread::yield_now(),
            Err(error) => break error,
        }
        assert!(begun.elapsed() < SOON, "the loss is not seen");
    };
    assert!(
        matches!(lost, MpiError::PeerLost { process: 1, .. }),
        "{lost}"
    );
    assert_eq!(came, 1, "what it had sent came first");
    assert_eq!(engine.under_way(), 0, "nothing waits for it");
    let refused = engine.send(1, header(1), Vec::new());
    assert!(matches!(
        refused,
        Err(MpiError::PeerLost { process: 1, .. })
    ));
    println!("process {me} saw the loss: {lost}");
    // The rest close with each other, and hear once more who is missing.
    let closed = engine.close(SOON, |_| ());
    assert!(
        matches!(closed, Err(MpiError::PeerLost { process: 1, .. })),
        "{closed:?}"
    );
    // MPI_Finalize would wait for the one that is gone.
    std::process::exit(0);
}
