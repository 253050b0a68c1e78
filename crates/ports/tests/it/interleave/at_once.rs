//! Handlers that begin at once on the calling thread.

use motet_dispatch::{Dispatcher, Inline, QueueConfig};
use motet_ports::{Interleave, Port, Receive};
use motet_sync::atomic::{AtomicU64, Ordering};
use motet_sync::thread;
use motet_testkit::{Log, within};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn sem_g397_what_would_have_to_wait_does_not_begin() {
    let (writes, log) = (Port::new(), Log::new());
    let notes = log.clone();
    let interleave = Interleave::new()
        .exclusive(Receive::persistent(&writes, move |n: u32| notes.push(n)))
        .activate(&Inline::new("here"))
        .unwrap();
    let alone = interleave.try_exclusive().expect("nobody is there");
    assert!(interleave.try_exclusive().is_none());
    assert!(interleave.try_concurrent().is_none());
    writes.post(1).unwrap();
    assert_eq!(log.entries(), [0u32; 0], "it waits");
    drop(alone);
    assert_eq!(log.entries(), [1]);
    let together = interleave.try_concurrent().expect("nobody is alone");
    assert!(interleave.try_concurrent().is_some());
    assert!(interleave.try_exclusive().is_none());
    writes.post(2).unwrap();
    assert!(
        interleave.try_concurrent().is_none(),
        "an item that waits comes first"
    );
    drop(together);
    assert_eq!(log.entries(), [1, 2]);
    assert!(interleave.try_exclusive().is_some());
}

#[test]
fn sem_g397_nothing_begins_after_a_teardown_item() {
    let (ends, log) = (Port::new(), Log::new());
    let notes = log.clone();
    let interleave = Interleave::new()
        .teardown(Receive::once(&ends, move |()| notes.push("end")))
        .activate(&Inline::new("here"))
        .unwrap();
    let alone = interleave.try_exclusive();
    ends.post(()).unwrap();
    assert!(log.entries().is_empty(), "the end waits");
    assert!(interleave.try_concurrent().is_none());
    drop(alone);
    assert_eq!(log.entries(), ["end"]);
    assert!(interleave.try_exclusive().is_none());
}

#[test]
fn stress_at_once_beside_items() {
    within(Duration::from_secs(60), || {
        const EACH: u64 = 20_000;
        let dispatcher = Dispatcher::new(2);
        let queue = dispatcher.queue(QueueConfig::named("stress"));
        let (writes, count) = (Port::new(), Arc::new(AtomicU64::new(0)));
        let add = |count: &AtomicU64| {
            // Not one step: two at a time would lose one.
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        };
        let counted = Arc::clone(&count);
        let interleave = Interleave::new()
            .exclusive(Receive::persistent(&writes, move |()| add(&counted)))
            .activate(&queue)
            .unwrap();
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (interleave, writes, count) =
                    (interleave.clone(), writes.clone(), Arc::clone(&count));
                thread::spawn(move || {
                    for _ in 0..EACH {
                        drop(interleave.try_concurrent());
                        match interleave.try_exclusive() {
                            Some(alone) => {
                                add(&count);
                                drop(alone);
                            }
                            None => writes.post(()).unwrap(),
                        }
                    }
                })
            })
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        while count.load(Ordering::Relaxed) < 2 * EACH {
            thread::yield_now();
        }
        assert!(interleave.is_active());
    });
}
