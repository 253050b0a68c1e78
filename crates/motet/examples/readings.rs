//! Readings of a sensor, broadcast to three who want them differently.
//!
//! ```text
//!                 ┌─► display   the latest: the oldest is dropped
//!  sensor ──► broadcast ─► store     batches of 8, or what there is after 50 ms
//!                 └─► alarms    two at a time: each takes a while
//! ```
//!
//! It runs in virtual time, so it takes no time at all and says the same each time.

use motet::ports::timer::sleep;
use motet::{
    BroadcastPort, Enqueue, MultipleItemReceive, Overflow, Port, QueueConfig, Receive, Replay,
    spawn_with_handle,
};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const READINGS: u32 = 100;

fn main() {
    let replay = Replay::new(1);
    let queue = replay.queue(QueueConfig::named("readings"));
    let readings = BroadcastPort::new();
    let display = readings.subscribe(1, Overflow::DropOldest);
    let store = readings.subscribe(100, Overflow::Reject);
    let alarms = readings.subscribe(4, Overflow::Wait);

    let (written, called) = (Port::new(), Port::new());
    let rows = written.clone();
    MultipleItemReceive::persistent(&store, 8, move |batch: Vec<u32>| {
        rows.post(batch.len()).expect("nobody refuses");
    })
    .or_after(50 * MS)
    .activate(&queue)
    .expect("the queue is open");

    let calls = called.clone();
    Receive::persistent_async(&alarms, move |reading| {
        let calls = calls.clone();
        async move {
            sleep(20 * MS).await;
            calls.post(reading).expect("nobody refuses");
        }
    })
    .at_most(2)
    .activate(&queue)
    .expect("the queue is open");

    // Who waits for the slowest is slowed down by it; the others lose nothing by that.
    let mut sensor = spawn_with_handle(&queue.handle(), async move {
        for reading in 0..READINGS {
            assert!(readings.post_wait(reading).await.is_complete());
            sleep(5 * MS).await;
        }
        readings.subscriber_count()
    })
    .expect("the queue is open");
    replay.run();

    let subscribers = sensor.join_blocking().expect("no panic, no abort");
    let sizes = written.items();
    println!(
        "{subscribers} subscribers; the display shows {:?} and missed {}; {} batches; {} calls in {:?}",
        display.items(),
        display.missed(),
        sizes.len(),
        called.item_count(),
        replay.elapsed()
    );
    assert_eq!(
        (display.items(), display.missed()),
        (vec![READINGS - 1], 99)
    );
    assert_eq!(sizes.iter().sum::<usize>(), 100);
    assert!(sizes.iter().all(|size| (1..=8).contains(size)));
    assert_eq!((called.item_count(), alarms.missed()), (100, 0));
    assert!(replay.elapsed() >= 1000 * MS, "100 alarms, two at a time");
}
