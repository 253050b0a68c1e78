//! The papers' parallel loop: a range of blocks, and at most so many threads that take one block after the other.
//!
//! ```text
//!              ┌─► task: next block, next block, … ─┐
//!  0 .. blocks ┤                                    ├─► (end): one item per task
//!              └─► task: next block, next block, … ─┘
//! ```
//!
//! The split is dynamic: a thread that is done early takes more. The blocks here differ in what they cost, which a static split
//! would not know.

use motet::{Dispatcher, DispatcherQueue, Enqueue, MultipleItemReceive, Port, QueueConfig, Task};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const BLOCKS: usize = 400;

fn main() {
    let dispatcher = Dispatcher::new(0);
    let queue = dispatcher.queue(QueueConfig::named("loop"));
    let known: Vec<u32> = (0..BLOCKS).map(steps).collect();
    for degree in [1, 2, 5] {
        let found: Arc<[AtomicUsize]> = (0..BLOCKS).map(|_| AtomicUsize::new(0)).collect();
        let places = Arc::clone(&found);
        parallel_loop(&queue, degree, BLOCKS, move |block| {
            places[block].fetch_add(steps(block) as usize, Ordering::Relaxed);
        });
        let found = found
            .iter()
            .map(|steps| steps.load(Ordering::Relaxed) as u32);
        assert!(found.eq(known.iter().copied()), "each block once");
    }
    let longest = (0..BLOCKS).max_by_key(|&block| known[block]);
    println!("of the numbers below {BLOCKS} the one with the most steps to 1: {longest:?}");
    assert_eq!(longest, Some(327));
}

/// Runs `body` for each block on at most `degree` threads, and returns when all have ended.
fn parallel_loop(
    queue: &DispatcherQueue,
    degree: usize,
    blocks: usize,
    body: impl Fn(usize) + Send + Sync + 'static,
) {
    let (next, body) = (Arc::new(AtomicUsize::new(0)), Arc::new(body));
    let (end, all) = (Port::new(), Port::new());
    let ended = all.clone();
    MultipleItemReceive::once(&end, degree, move |_| {
        ended.post(()).expect("nobody refuses")
    })
    .activate(queue)
    .expect("the queue is open");
    for _ in 0..degree {
        let (next, body, end) = (Arc::clone(&next), Arc::clone(&body), end.clone());
        let task = Task::new(move || {
            // Only who gets which block is decided here; the end is told by messages.
            let take = || next.fetch_add(1, Ordering::Relaxed);
            std::iter::repeat_with(take)
                .take_while(|&block| block < blocks)
                .for_each(&*body);
            end.post(()).expect("the queue is open");
        });
        queue.enqueue(task).expect("the queue is open");
    }
    all.recv_blocking().expect("this is no handler");
}

/// Collatz's steps from a number to 1.
fn steps(from: usize) -> u32 {
    let next = |n: &usize| {
        (*n > 1).then(|| {
            if n.is_multiple_of(2) {
                n / 2
            } else {
                3 * n + 1
            }
        })
    };
    std::iter::successors(Some(from), next).skip(1).count() as u32
}
