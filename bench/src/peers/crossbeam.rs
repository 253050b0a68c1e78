//! crossbeam: threads that take boxed handlers from one unbounded channel, as pools of threads do;
//! and the channel itself.

use super::rank::{ComputationChannels, ComputationSpan, ends, span};
use super::ring::ComputationRing;
use crate::program::{Pattern, WorkProgram};
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use motet_patterns::Work;
use motet_sync::thread;
use std::sync::Arc;
use std::time::{Duration, Instant};

type Job = Box<dyn FnOnce() + Send>;

/// The ring, and the pool's channel; `None` ends a thread.
struct Pool {
    ring: Arc<ComputationRing>,
    jobs: Sender<Option<Job>>,
}

/// Each message is a boxed handler in the channel; the first of two waits under a lock.
pub(crate) fn threads(program: &WorkProgram) -> Result<Duration, String> {
    let (ring, ended) = ComputationRing::new(program);
    let (jobs, queue) = unbounded();
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let pin = program.pin && !cores.is_empty();
    let threads: Vec<_> = (0..program.threads)
        .map(|index| {
            let queue: Receiver<Option<Job>> = queue.clone();
            let core = pin.then(|| cores[index % cores.len()]);
            thread::spawn(move || {
                if let Some(core) = core {
                    core_affinity::set_for_current(core);
                }
                while let Ok(Some(job)) = queue.recv() {
                    job();
                }
            })
        })
        .collect();
    let pool = Arc::new(Pool { ring, jobs });
    let time = pool.ring.time(&ended, |at| message(&pool, at));
    for _ in &threads {
        let _ = pool.jobs.send(None);
    }
    threads.into_iter().try_for_each(joined)?;
    time
}

/// Each computation is a thread that waits for its neighbours' messages, which come through
/// channels of one place. They are bound to cores in turn where threads are to be.
pub(crate) fn ranks(program: &WorkProgram) -> Result<Duration, String> {
    // Threads wait until there is nobody who could send: all are there then.
    let (closed, gate) = bounded::<()>(0);
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let pin = program.pin && !cores.is_empty();
    let threads: Vec<_> = ends(program.parallel, || bounded(1))
        .into_iter()
        .map(|ends| {
            let (program, gate) = (*program, gate.clone());
            let core = pin.then(|| cores[ends.at % cores.len()]);
            thread::spawn(move || {
                if let Some(core) = core {
                    core_affinity::set_for_current(core);
                }
                let _ = gate.recv();
                rank(&program, &ends)
            })
        })
        .collect();
    drop(closed);
    let spans = threads
        .into_iter()
        .map(|thread| joined(thread)?.ok_or_else(|| "a thread has lost its neighbour".to_owned()));
    span(
        program.parallel,
        &spans.collect::<Result<Vec<ComputationSpan>, String>>()?,
    )
}

fn rank(
    program: &WorkProgram,
    ends: &ComputationChannels<Sender<f64>, Receiver<f64>>,
) -> Option<ComputationSpan> {
    let mut value = ends.at as f64;
    let started = Instant::now();
    for _ in 0..program.stages {
        program.work.stage();
        match program.pattern {
            Pattern::Pipeline => {
                ends.to_self.send(value).ok()?;
                value = ends.from_self.recv().ok()?;
            }
            Pattern::Shift => {
                ends.to_right.send(value).ok()?;
                value = ends.from_left.recv().ok()?;
            }
            Pattern::ExchangeTwoShifts => {
                ends.to_left.send(value).ok()?;
                let other = ends.from_right.recv().ok()?;
                ends.to_right.send(value).ok()?;
                value = 0.5 * (other + ends.from_left.recv().ok()?);
            }
            Pattern::Exchange | Pattern::TwoShifts => {
                ends.to_left.send(value).ok()?;
                ends.to_right.send(value).ok()?;
                let other = ends.from_left.recv().ok()?;
                value = 0.5 * (other + ends.from_right.recv().ok()?);
            }
        }
    }
    Some((started, Instant::now(), value))
}

fn message(pool: &Arc<Pool>, at: usize) {
    if pool.ring.arrives(at) {
        let here = Arc::clone(pool);
        let job: Job = Box::new(move || here.ring.stage(at, |next| message(&here, next)));
        // Closed only when the threads have ended.
        let _ = pool.jobs.send(Some(job));
    }
}

/// `producers` threads send `items` numbers in all through one unbounded channel to `consumers`
/// threads, which add them up. The time from the start of the producers to the last item's arrival,
/// and the sum.
pub(crate) fn channel(
    producers: u64,
    consumers: usize,
    items: u64,
) -> Result<(Duration, u64), String> {
    let (to, from) = unbounded();
    let consumers: Vec<_> = (0..consumers)
        .map(|_| {
            let from: Receiver<u64> = from.clone();
            thread::spawn(move || from.iter().sum::<u64>())
        })
        .collect();
    let started = Instant::now();
    for producer in 0..producers {
        let to = to.clone();
        thread::spawn(move || {
            for item in (producer..items).step_by(producers as usize) {
                // The consumers stay as long as there is a sender.
                let _ = to.send(item);
            }
        });
    }
    drop(to);
    let mut sum = 0;
    for consumer in consumers {
        sum += joined(consumer)?;
    }
    Ok((started.elapsed(), sum))
}

fn joined<T>(thread: thread::JoinHandle<T>) -> Result<T, String> {
    thread
        .join()
        .map_err(|_| "a thread of the peer panicked".to_owned())
}
