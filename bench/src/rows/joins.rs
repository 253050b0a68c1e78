//! Joins and choices: what it costs to take two items in one step, or one of two.
//!
//! Question: is a join dearer than to receive the two items one after the other, and a choice than
//! one of its branches alone? Definitions: time per pair of items, where a join posts to both ports
//! and handles them in one run. The chain of two receives handles each in a run of its own. Time
//! per one-time receive that is made, activated and run. It runs alone or as a branch of a choice
//! whose other branch has no item. One thread: nothing else is measured.

use crate::contest::{Bar, Contest, ContestProgram};
use motet_dispatch::{Dispatcher, DispatcherQueue, QueueConfig};
use motet_ports::{Choice, JoinedReceive, Port, Receive};
use motet_sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Instant;

/// The rows.
pub(crate) fn contests(steps: u64) -> Vec<Contest> {
    vec![
        Contest::new("join of two items", "ns a pair", timed(steps, joined))
            .beside("two receives", timed(steps, in_turn))
            .bar(Bar::AtMostTimes(1.5, "two receives")),
        Contest::new(
            "choice of two, uncontended",
            "ns a choice",
            timed(steps, chosen),
        )
        .beside("receive", timed(steps, received))
        .bar(Bar::AtMostOver(100.0, "receive")),
    ]
}

/// Counts the steps and tells the end.
struct Steps {
    left: AtomicU64,
    end: mpsc::Sender<()>,
}

impl Steps {
    /// Whether there are more after this one.
    fn go_on(&self) -> bool {
        let more = self.left.fetch_sub(1, Ordering::Relaxed) > 1;
        if !more {
            let _ = self.end.send(());
        }
        more
    }
}

/// Two ports, a queue and how many steps are left: all that a program needs.
struct Stand {
    queue: DispatcherQueue,
    a: Port<u64>,
    b: Port<u64>,
    steps: Steps,
}

/// Times a program, which sets itself up and begins with an item of the first port.
fn timed(steps: u64, program: fn(&Arc<Stand>)) -> ContestProgram {
    Box::new(move || {
        let (end, ended) = mpsc::channel();
        let dispatcher = Dispatcher::new(1);
        let stand = Arc::new(Stand {
            queue: dispatcher.queue(QueueConfig::named("joins")),
            a: Port::new(),
            b: Port::new(),
            steps: Steps {
                left: AtomicU64::new(steps),
                end,
            },
        });
        program(&stand);
        dispatcher.wait_idle();
        let started = Instant::now();
        post(&stand.a, 0);
        ended
            .recv()
            .map_err(|_| "the handlers ended before the last step".to_owned())?;
        Ok(started.elapsed().as_secs_f64() * 1e9 / steps as f64)
    })
}

/// Both items start one handler, which posts the next two.
fn joined(stand: &Arc<Stand>) {
    let here = Arc::clone(stand);
    JoinedReceive::persistent((&stand.a, &stand.b), move |(first, second)| {
        if here.steps.go_on() {
            post(&here.a, first + 1);
            post(&here.b, second + 1);
        }
    })
    .activate(&stand.queue)
    .expect("the queue is open");
    // Its partner comes when the clock runs.
    post(&stand.b, 0);
}

/// The first item's handler posts the second, whose handler posts the first again.
fn in_turn(stand: &Arc<Stand>) {
    let here = Arc::clone(stand);
    Receive::persistent(&stand.a, move |item| post(&here.b, item + 1))
        .activate(&stand.queue)
        .expect("the queue is open");
    let here = Arc::clone(stand);
    Receive::persistent(&stand.b, move |item| {
        if here.steps.go_on() {
            post(&here.a, item + 1);
        }
    })
    .activate(&stand.queue)
    .expect("the queue is open");
}

/// A one-time receive, whose handler makes the next one and posts to it.
fn received(stand: &Arc<Stand>) {
    let here = Arc::clone(stand);
    Receive::once(&stand.a, move |item| go_on(&here, item, received))
        .activate(&stand.queue)
        .expect("the queue is open");
}

/// The same receive beside another one that gets nothing.
fn chosen(stand: &Arc<Stand>) {
    let here = Arc::clone(stand);
    Choice::new()
        .or(Receive::once(&stand.a, move |item| {
            go_on(&here, item, chosen);
        }))
        .or(Receive::once(&stand.b, |_| ()))
        .activate(&stand.queue)
        .expect("the queue is open");
}

fn go_on(stand: &Arc<Stand>, item: u64, next: fn(&Arc<Stand>)) {
    if stand.steps.go_on() {
        next(stand);
        post(&stand.a, item + 1);
    }
}

fn post(port: &Port<u64>, item: u64) {
    port.post(item).expect("the queue is open");
}
