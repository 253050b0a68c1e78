//! Exclusive work from eight threads, with concurrent work beside it, for as long as you like: the order is
//! kept, nobody is where somebody is alone, nothing hangs and nothing piles up.
//!
//! ```text
//!   8 posters ──► exclusive port  ──► alone, in order
//!             ──► concurrent port ──► together
//! ```
//!
//! `cargo run --release -p motet --example interleave_stress 600` goes on for ten minutes.

use motet::{Dispatcher, DispatcherQueue, FromHandler, Interleave, Port, QueueConfig, Receive};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const POSTERS: usize = 8;
/// Items that each poster posts before it waits for the others.
const BURST: u64 = 2_000;

/// What the handlers see of each other.
#[derive(Default)]
struct Seen {
    inside: AtomicU64,
    /// By poster: the next item.
    next: [AtomicU64; POSTERS],
    concurrent: AtomicU64,
}

const ALONE: u64 = 1 << 32;

fn activate(
    seen: &Arc<Seen>,
    exclusive: &Port<(usize, u64)>,
    concurrent: &Port<u64>,
    queue: &DispatcherQueue,
) {
    let [alone, together] = [(); 2].map(|()| Arc::clone(seen));
    Interleave::new()
        .exclusive(Receive::persistent(
            exclusive,
            move |(poster, n): (usize, u64)| {
                assert_eq!(
                    alone.inside.fetch_add(ALONE, Ordering::SeqCst),
                    0,
                    "beside others"
                );
                let expected = alone.next[poster].load(Ordering::Relaxed);
                assert_eq!(n, expected, "poster {poster}");
                alone.next[poster].store(n + 1, Ordering::Relaxed);
                alone.inside.fetch_sub(ALONE, Ordering::SeqCst);
            },
        ))
        .concurrent(Receive::persistent(concurrent, move |n: u64| {
            assert!(
                together.inside.fetch_add(1, Ordering::SeqCst) < ALONE,
                "beside an exclusive one"
            );
            together.concurrent.fetch_add(n, Ordering::Relaxed);
            together.inside.fetch_sub(1, Ordering::SeqCst);
        }))
        .activate(queue)
        .expect("the queue is open");
}

fn main() {
    let seconds = std::env::args()
        .nth(1)
        .map_or(0.3, |arg| arg.parse().expect("a number of seconds"));
    let (start, limit) = (Instant::now(), Duration::from_secs_f64(seconds));
    let dispatcher = Dispatcher::new(0);
    let queue = dispatcher.queue(QueueConfig::named("stress"));
    let posters = Dispatcher::new(POSTERS);
    let posting = posters.queue(QueueConfig::named("posters"));
    let (exclusive, concurrent) = (Port::new(), Port::new());
    let panics = Arc::new(AtomicU64::new(0));
    let told = Arc::clone(&panics);
    queue.on_exception(move |exception| {
        eprintln!("{exception}");
        told.fetch_add(1, Ordering::Relaxed);
    });
    let seen = Arc::new(Seen::default());
    activate(&seen, &exclusive, &concurrent, &queue);

    let mut bursts = 0;
    while bursts == 0 || start.elapsed() < limit {
        for poster in 0..POSTERS {
            let (exclusive, concurrent) = (exclusive.clone(), concurrent.clone());
            let post = move || {
                for n in bursts * BURST..(bursts + 1) * BURST {
                    exclusive.post((poster, n)).expect("the queue is open");
                    if n % 3 == 0 {
                        concurrent.post(1).expect("the queue is open");
                    }
                }
            };
            FromHandler::new(post)
                .activate(&posting)
                .expect("the queue is open");
        }
        posters.wait_idle();
        // A hang shows here.
        dispatcher.wait_idle();
        bursts += 1;
        for next in &seen.next {
            assert_eq!(next.load(Ordering::Relaxed), bursts * BURST);
        }
        assert_eq!((exclusive.item_count(), concurrent.item_count()), (0, 0));
        assert_eq!(panics.load(Ordering::Relaxed), 0);
    }
    let each = bursts * BURST;
    println!(
        "{} exclusive and {} concurrent items in {:.1} s, in order",
        each * POSTERS as u64,
        seen.concurrent.load(Ordering::Relaxed),
        start.elapsed().as_secs_f64()
    );
}
