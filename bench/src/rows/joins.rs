//! Joins: what it costs to take two items of two ports in one step.
//!
//! Question: is a join dearer than to receive the two items one after the other? Definition: time per
//! pair of items; a join posts to both ports and handles them in one run, the chain of two receives
//! handles each in a run of its own. One thread: nothing else is measured.

use crate::contest::{Bar, Contest};
use motet_dispatch::{Dispatcher, DispatcherQueue, QueueConfig};
use motet_ports::{JoinedReceive, Port, Receive};
use motet_sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Instant;

/// The rows.
pub(crate) fn contests(pairs: u64) -> Vec<Contest> {
    vec![Contest {
        row: "join of two items".to_owned(),
        unit: "ns a pair",
        motet: Box::new(move || timed(pairs, joined)),
        peers: vec![("two receives", Box::new(move || timed(pairs, in_turn)))],
        bars: vec![Bar::AtMostTimes(1.5, "two receives")],
        limit: None,
        cold: false,
    }]
}

/// Counts the pairs and tells the end.
struct Pairs {
    left: AtomicU64,
    end: mpsc::Sender<()>,
}

impl Pairs {
    /// Whether there are more after this one.
    fn go_on(&self) -> bool {
        let more = self.left.fetch_sub(1, Ordering::Relaxed) > 1;
        if !more {
            let _ = self.end.send(());
        }
        more
    }
}

fn timed(
    pairs: u64,
    program: fn(&DispatcherQueue, &(Port<u64>, Port<u64>), Pairs),
) -> Result<f64, String> {
    let (end, ended) = mpsc::channel();
    let dispatcher = Dispatcher::new(1);
    let queue = dispatcher.queue(QueueConfig::named("joins"));
    let ports = (Port::new(), Port::new());
    let left = AtomicU64::new(pairs);
    program(&queue, &ports, Pairs { left, end });
    dispatcher.wait_idle();
    let started = Instant::now();
    post(&ports.0, 0);
    post(&ports.1, 0);
    ended
        .recv()
        .map_err(|_| "the handlers ended before the last pair".to_owned())?;
    Ok(started.elapsed().as_secs_f64() * 1e9 / pairs as f64)
}

/// Both items start one handler, which posts the next two.
fn joined(queue: &DispatcherQueue, ports: &(Port<u64>, Port<u64>), pairs: Pairs) {
    let (a, b) = ports.clone();
    JoinedReceive::persistent((&ports.0, &ports.1), move |(first, second)| {
        if pairs.go_on() {
            post(&a, first + 1);
            post(&b, second + 1);
        }
    })
    .activate(queue)
    .expect("the queue is open");
}

/// The first item's handler posts the second, whose handler posts the first again.
fn in_turn(queue: &DispatcherQueue, ports: &(Port<u64>, Port<u64>), pairs: Pairs) {
    let (a, b) = ports.clone();
    Receive::persistent(&ports.0, move |item: u64| post(&b, item + 1))
        .activate(queue)
        .expect("the queue is open");
    Receive::persistent(&ports.1, move |item: u64| {
        // The second port's first item came from outside and starts nothing.
        if item > 0 && pairs.go_on() {
            post(&a, item + 1);
        }
    })
    .activate(queue)
    .expect("the queue is open");
}

fn post(port: &Port<u64>, item: u64) {
    port.post(item).expect("the queue is open");
}
