//! One small parallel sum in three forms beside each other: with a lock, with ranks, with ports.
//!
//! ```text
//!  lock    block ─► lock ─► total += part ─► unlock            who comes second waits for the lock
//!  ranks   block ─► allreduce ─► every rank has the total      who comes first waits for the last
//!  ports   block ─► post(part) ─► all parts there ─► handler   nobody waits
//! ```
//!
//! All three compute the same parts, of which each thread has as many as the others. With the lock,
//! the total is shared and whoever holds the lock may change it. That it is complete says something
//! else, here the end of all tasks. With ranks, nothing is shared: a part goes into a collective,
//! which is also where the ranks meet. With ports, a part is a message, and the handler that adds
//! starts when the last one has come.

#![allow(
    clippy::disallowed_types,
    reason = "a program outside of motet uses the locks of std"
)]

use motet::{
    CommError, Dispatcher, Enqueue, MultipleItemReceive, Port, QueueConfig, Receive, Task, World,
};
use std::ops::Range;
use std::sync::{Arc, Mutex};

const NUMBERS: u64 = 100_000;

fn main() {
    let known = NUMBERS * (NUMBERS - 1) * (2 * NUMBERS - 1) / 6;
    for (threads, parts) in [(1, 1), (2, 2), (2, 7), (3, 3)] {
        let sums = [
            ("lock", with_a_lock(threads, parts)),
            ("ranks", with_ranks(threads, parts)),
            ("ports", with_ports(threads, parts)),
        ];
        for (form, sum) in sums {
            println!("{form:>5}: {parts} parts on {threads} threads: {sum}");
            assert_eq!(sum, known, "{form}");
        }
    }
}

/// The sum of the squares in one part.
fn squares(part: usize, parts: usize) -> u64 {
    let edge = |part: usize| NUMBERS * part as u64 / parts as u64;
    let numbers: Range<u64> = edge(part)..edge(part + 1);
    numbers.map(|n| n * n).sum()
}

fn with_a_lock(threads: usize, parts: usize) -> u64 {
    let dispatcher = Dispatcher::new(threads);
    let queue = dispatcher.queue(QueueConfig::named("lock"));
    let total = Arc::new(Mutex::new(0));
    for part in 0..parts {
        let total = Arc::clone(&total);
        let task = Task::new(move || {
            // Outside of the lock: what is computed under it, no other thread computes meanwhile.
            let mine = squares(part, parts);
            *total.lock().expect("no holder panics") += mine;
        });
        queue.enqueue(task).expect("the queue is open");
    }
    assert!(dispatcher.drain().is_empty(), "every task ran");
    *total.lock().expect("no holder panics")
}

fn with_ranks(threads: usize, parts: usize) -> u64 {
    let sums = World::threads(parts)
        .workers(threads)
        .run(async |comm| -> Result<_, CommError> {
            let mine = squares(comm.rank(), comm.size());
            comm.allreduce(mine, |a, b| a + b).await
        })
        .expect("no rank fails");
    sums[0]
}

fn with_ports(threads: usize, parts: usize) -> u64 {
    let dispatcher = Dispatcher::new(threads);
    let queue = dispatcher.queue(QueueConfig::named("ports"));
    let (blocks, sums, total) = (Port::new(), Port::new(), Port::new());
    let out = sums.clone();
    Receive::persistent(&blocks, move |part: usize| {
        out.post(squares(part, parts)).expect("nobody refuses");
    })
    .activate(&queue)
    .expect("the queue is open");
    let out = total.clone();
    MultipleItemReceive::once(&sums, parts, move |sums: Vec<u64>| {
        out.post(sums.into_iter().sum()).expect("nobody refuses");
    })
    .activate(&queue)
    .expect("the queue is open");
    for part in 0..parts {
        blocks.post(part).expect("the queue is open");
    }
    total.recv_blocking().expect("this is no handler")
}
