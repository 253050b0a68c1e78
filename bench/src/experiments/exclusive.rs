//! Exclusive: exclusive handlers from many posters for a given time, to see that none hangs or
//! overtakes.
//!
//! Question: does an interleave keep its promises for minutes of load, and does its memory stay
//! where it is? Definition: eight posters on threads of their own post bursts to an exclusive port
//! and, a third as often, to a concurrent one. After each burst all of it must have been handled.
//! Exclusive handlers look whether anybody else is inside, and whether each poster's items come in
//! order. Memory: the process's after a tenth of the time, when everything has been used, beside
//! the most that it has had after it. Threats: the order in which the system runs the threads is
//! what it is; longer is better.
//!
//! ```text
//!   8 posters ──► exclusive port  ──► alone, in order
//!             ──► concurrent port ──► together
//! ```

use crate::rows::handlers::resident_bytes;
use motet_dispatch::{Dispatcher, DispatcherQueue, QueueConfig};
use motet_ports::{FromHandler, Interleave, Port, Receive};
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicU64, Ordering};
use serde::Serialize;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use thiserror::Error;

const POSTERS: usize = 8;
/// Items that each poster posts before it waits for the others.
const BURST: u64 = 2_000;
/// One item in so many is also posted to the concurrent port.
const CONCURRENT: u64 = 4;
/// Who is alone adds this to the number of those inside.
const ALONE: u64 = 1 << 32;
/// A burst takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// What the memory may vary by: the allocator keeps some of what others have freed.
const SLACK_BYTES: f64 = 32e6;

/// What was done.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExclusiveRecord {
    /// Threads that posted.
    pub posters: usize,
    /// Seconds.
    pub seconds: f64,
    /// Exclusive handlers, all alone and each poster's in order.
    pub exclusive: u64,
    /// Concurrent handlers beside them.
    pub concurrent: u64,
    /// Resident memory after a tenth of the time, in bytes; `None` where it cannot be read.
    pub resident_bytes: Option<f64>,
    /// The most after that.
    pub resident_bytes_most: Option<f64>,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ExclusiveError {
    /// A handler saw what it must not see.
    #[error("{0}")]
    Broken(String),
    /// Nothing more was handled.
    #[error("nothing was handled for {} s: {handled} of {posted} handlers of the burst have ended", PATIENCE.as_secs())]
    Stuck {
        /// Handlers that have ended in this burst.
        handled: u64,
        /// Items that were posted in it.
        posted: u64,
    },
    /// The memory has grown.
    #[error("the memory has grown from {:.0} MB to {:.0} MB", .from / 1e6, .to / 1e6)]
    Grows {
        /// Bytes after a tenth of the time.
        from: f64,
        /// Bytes at some time after it.
        to: f64,
    },
}

/// What the handlers see of each other.
struct Seen {
    inside: AtomicU64,
    /// By poster: the next item.
    next: [AtomicU64; POSTERS],
    handled: [AtomicU64; 2],
    /// How many handlers a burst has, and who is told of the last.
    burst: u64,
    end: Sender<()>,
    /// The first thing that went wrong.
    broken: Mutex<Option<String>>,
}

/// Posts bursts for `span`, and tells `progress` after each how long it has run and how many
/// exclusive handlers there were.
///
/// # Errors
/// [`ExclusiveError`]: the run ends with the burst in which something goes wrong.
///
/// # Panics
/// When the operating system refuses threads.
///
/// ```
/// use motet_bench::exclusive;
/// use std::time::Duration;
///
/// let record = exclusive::run(Duration::ZERO, |_, _| ()).unwrap();
/// assert_eq!(record.exclusive, 8 * 2_000, "one burst");
/// ```
pub fn run(
    span: Duration,
    mut progress: impl FnMut(Duration, u64),
) -> Result<ExclusiveRecord, ExclusiveError> {
    let started = Instant::now();
    let (dispatcher, posters) = (Dispatcher::new(0), Dispatcher::new(POSTERS));
    let queue = dispatcher.queue(QueueConfig::named("exclusive"));
    let posting = posters.queue(QueueConfig::named("posters"));
    let (exclusive, concurrent) = (Port::new(), Port::new());
    let (seen, ended) = Seen::new();
    activate(&seen, &exclusive, &concurrent, &queue);
    let (mut bursts, mut memory) = (0, Memory::default());
    while bursts == 0 || started.elapsed() < span {
        for poster in 0..POSTERS {
            let (exclusive, concurrent) = (exclusive.clone(), concurrent.clone());
            let post = move || {
                for n in bursts * BURST..(bursts + 1) * BURST {
                    exclusive.post((poster, n)).expect("the queue is open");
                    if n % CONCURRENT == 0 {
                        concurrent.post(n).expect("the queue is open");
                    }
                }
            };
            let posts = FromHandler::new(post).activate(&posting);
            posts.expect("the queue is open");
        }
        bursts += 1;
        seen.wait(&ended, bursts)?;
        memory.look(started.elapsed() >= span / 10)?;
        progress(started.elapsed(), seen.handled[0].load(Ordering::Relaxed));
    }
    Ok(ExclusiveRecord {
        posters: POSTERS,
        seconds: started.elapsed().as_secs_f64(),
        exclusive: seen.handled[0].load(Ordering::Relaxed),
        concurrent: seen.handled[1].load(Ordering::Relaxed),
        resident_bytes: memory.begin,
        resident_bytes_most: memory.most,
    })
}

fn activate(
    seen: &Arc<Seen>,
    exclusive: &Port<(usize, u64)>,
    concurrent: &Port<u64>,
    queue: &DispatcherQueue,
) {
    let [alone, together] = [(); 2].map(|()| Arc::clone(seen));
    Interleave::new()
        .exclusive(Receive::persistent(exclusive, move |(poster, n)| {
            alone.exclusive(poster, n);
        }))
        .concurrent(Receive::persistent(concurrent, move |_| {
            together.concurrent();
        }))
        .activate(queue)
        .expect("the queue is open");
}

impl Seen {
    fn new() -> (Arc<Self>, Receiver<()>) {
        let (end, ended) = channel();
        let seen = Seen {
            inside: AtomicU64::new(0),
            next: Default::default(),
            handled: Default::default(),
            burst: POSTERS as u64 * (BURST + BURST / CONCURRENT),
            end,
            broken: Mutex::new(None),
        };
        (Arc::new(seen), ended)
    }

    fn exclusive(&self, poster: usize, n: u64) {
        if self.inside.fetch_add(ALONE, Ordering::SeqCst) != 0 {
            self.note("an exclusive handler ran beside another one".to_owned());
        }
        // Nobody else is here.
        let expected = self.next[poster].load(Ordering::Relaxed);
        self.next[poster].store(n + 1, Ordering::Relaxed);
        if n != expected {
            self.note(format!(
                "poster {poster}: item {n} came when {expected} was next"
            ));
        }
        self.inside.fetch_sub(ALONE, Ordering::SeqCst);
        self.count(0);
    }

    fn concurrent(&self) {
        if self.inside.fetch_add(1, Ordering::SeqCst) >= ALONE {
            self.note("a concurrent handler ran beside an exclusive one".to_owned());
        }
        self.inside.fetch_sub(1, Ordering::SeqCst);
        self.count(1);
    }

    fn count(&self, kind: usize) {
        // SeqCst: of the two that end a burst together one at least sees both counts, and tells.
        self.handled[kind].fetch_add(1, Ordering::SeqCst);
        if self.all().is_multiple_of(self.burst) {
            // Nobody waits any more when the run has ended with an error.
            let _ = self.end.send(());
        }
    }

    fn all(&self) -> u64 {
        let both = self.handled.each_ref();
        both.map(|handled| handled.load(Ordering::SeqCst))
            .iter()
            .sum()
    }

    fn note(&self, what: String) {
        self.broken.lock().get_or_insert(what);
    }

    /// Waits until all of these bursts has been handled.
    fn wait(&self, ended: &Receiver<()>, bursts: u64) -> Result<(), ExclusiveError> {
        while self.all() < bursts * self.burst {
            // One burst may be told twice.
            if ended.recv_timeout(PATIENCE).is_err() {
                return Err(ExclusiveError::Stuck {
                    handled: self.all() - (bursts - 1) * self.burst,
                    posted: self.burst,
                });
            }
        }
        let broken = self.broken.lock().take();
        broken.map_or(Ok(()), |what| Err(ExclusiveError::Broken(what)))
    }
}

/// What the process has had.
#[derive(Default)]
struct Memory {
    begin: Option<f64>,
    most: Option<f64>,
}

impl Memory {
    /// Looks at what it has now; `warm`: from now on it should not grow.
    fn look(&mut self, warm: bool) -> Result<(), ExclusiveError> {
        let Some(now) = resident_bytes().ok().filter(|_| warm) else {
            return Ok(());
        };
        let from = *self.begin.get_or_insert(now);
        self.most = Some(self.most.unwrap_or(now).max(now));
        if now > from + SLACK_BYTES {
            return Err(ExclusiveError::Grows { from, to: now });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_are_handled_and_told() {
        let span = Duration::from_millis(200);
        let once = |_| {
            let mut told = Vec::new();
            match run(span, |_, handled| told.push(handled)) {
                // The memory is the process's, in which other tests may have taken much.
                Err(ExclusiveError::Grows { .. }) => None,
                ended => Some((ended.unwrap(), told)),
            }
        };
        let (record, told) = (0..100).find_map(once).expect("the memory stays once");
        let burst = POSTERS as u64 * BURST;
        assert!(
            told.iter()
                .zip(1..)
                .all(|(&handled, n)| handled == n * burst)
        );
        assert_eq!(record.exclusive, told.len() as u64 * burst);
        assert_eq!(record.concurrent * CONCURRENT, record.exclusive);
        assert!(record.seconds >= 0.2);
    }

    #[test]
    fn what_must_not_be_is_seen() {
        let (seen, ended) = Seen::new();
        seen.exclusive(1, 1);
        seen.inside.store(ALONE, Ordering::Relaxed);
        seen.concurrent();
        seen.handled[0].store(seen.burst - 1, Ordering::Relaxed);
        let error = seen.wait(&ended, 1).unwrap_err();
        assert_eq!(error.to_string(), "poster 1: item 1 came when 0 was next");
        let mut memory = Memory {
            begin: Some(-1e12),
            most: None,
        };
        assert!(resident_bytes().is_err() || memory.look(true).is_err());
    }
}
