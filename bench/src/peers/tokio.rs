//! tokio: the multi-thread runtime.

use super::rank::{ComputationChannels, ComputationSpan, ends, span};
use super::ring::ComputationRing;
use crate::program::{Pattern, WorkProgram};
use crate::said::Said;
use ::tokio::runtime::{Builder, Runtime};
use ::tokio::sync::{Barrier, mpsc};
use motet_patterns::Work;
use motet_sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Each message is a spawned task; the first of two waits under a lock.
pub(crate) fn spawn(program: &WorkProgram) -> Result<Duration, String> {
    let (ring, ended) = ComputationRing::new(program);
    let runtime = runtime(program)?;
    let _entered = runtime.enter();
    ring.time(&ended, |at| message(&ring, at))
}

/// Each computation has an unbounded channel and a task that receives and spawns a handler.
pub(crate) fn channels(program: &WorkProgram) -> Result<Duration, String> {
    let (ring, ended) = ComputationRing::new(program);
    let runtime = runtime(program)?;
    let (to, from): (Vec<_>, Vec<_>) = (0..ring.len()).map(|_| mpsc::unbounded_channel()).unzip();
    let to: Arc<[mpsc::UnboundedSender<()>]> = to.into();
    for (at, mut from) in from.into_iter().enumerate() {
        let (ring, to) = (Arc::clone(&ring), Arc::clone(&to));
        runtime.spawn(async move {
            loop {
                for _ in 0..ring.messages {
                    if from.recv().await.is_none() {
                        return;
                    }
                }
                let (ring, to) = (Arc::clone(&ring), Arc::clone(&to));
                ::tokio::spawn(async move { ring.stage(at, |next| send(&to[next])) });
            }
        });
    }
    ring.time(&ended, |at| send(&to[at]))
}

/// Each computation is a task that waits for its neighbours' messages, which come through unbounded
/// channels.
pub(crate) fn ranks(program: &WorkProgram) -> Result<Duration, String> {
    let runtime = runtime(program)?;
    let barrier = Arc::new(Barrier::new(program.parallel));
    let tasks: Vec<_> = ends(program.parallel, mpsc::unbounded_channel)
        .into_iter()
        .map(|ends| runtime.spawn(rank(*program, ends, Arc::clone(&barrier))))
        .collect();
    let spans = tasks.into_iter().map(|task| {
        let done = runtime.block_on(task);
        done.said()?
            .ok_or_else(|| "a task has lost its neighbour".to_owned())
    });
    span(
        program.parallel,
        &spans.collect::<Result<Vec<ComputationSpan>, String>>()?,
    )
}

async fn rank(
    program: WorkProgram,
    mut ends: ComputationChannels<mpsc::UnboundedSender<f64>, mpsc::UnboundedReceiver<f64>>,
    barrier: Arc<Barrier>,
) -> Option<ComputationSpan> {
    let mut value = ends.at as f64;
    barrier.wait().await;
    let started = Instant::now();
    for _ in 0..program.stages {
        program.work.stage();
        match program.pattern {
            Pattern::Pipeline => {
                ends.to_self.send(value).ok()?;
                value = ends.from_self.recv().await?;
            }
            Pattern::Shift => {
                ends.to_right.send(value).ok()?;
                value = ends.from_left.recv().await?;
            }
            Pattern::ExchangeTwoShifts => {
                ends.to_left.send(value).ok()?;
                let other = ends.from_right.recv().await?;
                ends.to_right.send(value).ok()?;
                value = 0.5 * (other + ends.from_left.recv().await?);
            }
            Pattern::Exchange | Pattern::TwoShifts => {
                ends.to_left.send(value).ok()?;
                ends.to_right.send(value).ok()?;
                let other = ends.from_left.recv().await?;
                value = 0.5 * (other + ends.from_right.recv().await?);
            }
        }
    }
    Some((started, Instant::now(), value))
}

fn message(ring: &Arc<ComputationRing>, at: usize) {
    if ring.arrives(at) {
        let ring = Arc::clone(ring);
        ::tokio::spawn(async move { ring.stage(at, |next| message(&ring, next)) });
    }
}

fn send(to: &mpsc::UnboundedSender<()>) {
    // Closed only when the runtime is being dropped, after the end.
    let _ = to.send(());
}

fn runtime(program: &WorkProgram) -> Result<Runtime, String> {
    let (started, pin) = (AtomicUsize::new(0), program.pin);
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    Builder::new_multi_thread()
        .worker_threads(program.threads)
        .on_thread_start(move || {
            if pin && !cores.is_empty() {
                let index = started.fetch_add(1, Ordering::Relaxed);
                core_affinity::set_for_current(cores[index % cores.len()]);
            }
        })
        .build()
        .map_err(|error| format!("the runtime does not start: {error}"))
}
