//! The papers' port loop. The index of every block is posted to a port, a handler does the block,
//! and a latch tells when all are done.
//!
//! ```text
//!  main ── 0, 1, … ──► (blocks) ──► Receive ──► handler: the block ──► latch ──► main
//! ```
//!
//! The split is static: whoever writes the loop says which block is how large. The papers' latch
//! counted threads while the posts counted blocks, so their loop ended rightly only when both were
//! the same; this one counts blocks.
//!
//! `main` sleeps until the loop has ended. A program with many short loops makes port and receive
//! once and calls its loops from a task of the dispatcher, which awaits `end.recv()`. No thread has
//! to be woken for a loop then. That wake-up is most of what a loop costs.

use motet::{Dispatcher, Port, QueueConfig, Receive};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const NUMBERS: u64 = 100_000;

fn main() {
    // As many blocks as threads, fewer, more, and none.
    for (threads, blocks) in [(2, 2), (3, 1), (2, 7), (2, 1000), (2, 0)] {
        let sum = sum_of_squares(threads, blocks);
        println!("{blocks} blocks on {threads} threads: {sum}");
        let all = NUMBERS * (NUMBERS - 1) * (2 * NUMBERS - 1) / 6;
        assert_eq!(sum, if blocks == 0 { 0 } else { all });
    }
}

fn sum_of_squares(threads: usize, blocks: usize) -> u64 {
    let dispatcher = Dispatcher::new(threads);
    let sum = Arc::new(AtomicU64::new(0));
    let total = Arc::clone(&sum);
    port_loop(&dispatcher, blocks, move |block| {
        let squares = share(block, blocks).map(|n| n * n).sum();
        total.fetch_add(squares, Ordering::Relaxed);
    });
    sum.load(Ordering::Relaxed)
}

/// Runs `body` for each block on the dispatcher's threads, and returns when all have ended.
fn port_loop(dispatcher: &Dispatcher, blocks: usize, body: impl Fn(usize) + Send + Sync + 'static) {
    if blocks == 0 {
        return;
    }
    let queue = dispatcher.queue(QueueConfig::named("loop"));
    let (indices, end) = (Port::new(), Port::new());
    let (latch, ended) = (AtomicUsize::new(blocks), end.clone());
    Receive::persistent(&indices, move |block: usize| {
        body(block);
        // The last to count down has seen what all others wrote before they did.
        if latch.fetch_sub(1, Ordering::AcqRel) == 1 {
            ended.post(()).expect("nobody refuses");
        }
    })
    .activate(&queue)
    .expect("the queue is open");
    for block in 0..blocks {
        indices.post(block).expect("the queue is open");
    }
    end.recv_blocking().expect("this is no handler");
}

/// The numbers of a block.
fn share(block: usize, blocks: usize) -> Range<u64> {
    let edge = |block: usize| NUMBERS * block as u64 / blocks as u64;
    edge(block)..edge(block + 1)
}
