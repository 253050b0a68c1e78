//! tokio: the multi-thread runtime.

use super::ring::Ring;
use crate::program::Program;
use ::tokio::runtime::{Builder, Runtime};
use ::tokio::sync::mpsc;
use motet_sync::atomic::{AtomicUsize, Ordering};
use motet_sync::thread;
use std::sync::Arc;
use std::time::Duration;

/// Each message is a spawned task; the first of two waits under a lock.
pub(crate) fn spawn(program: &Program) -> Result<Duration, String> {
    let (ring, ended) = Ring::new(program);
    let runtime = runtime(program.threads)?;
    let _entered = runtime.enter();
    ring.time(&ended, |at| message(&ring, at))
}

/// Each computation has an unbounded channel and a task that receives and spawns a handler.
pub(crate) fn channels(program: &Program) -> Result<Duration, String> {
    let (ring, ended) = Ring::new(program);
    let runtime = runtime(program.threads)?;
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

fn message(ring: &Arc<Ring>, at: usize) {
    if ring.arrives(at) {
        let ring = Arc::clone(ring);
        ::tokio::spawn(async move { ring.stage(at, |next| message(&ring, next)) });
    }
}

fn send(to: &mpsc::UnboundedSender<()>) {
    // Closed only when the runtime is being dropped, after the end.
    let _ = to.send(());
}

fn runtime(threads: usize) -> Result<Runtime, String> {
    let started = AtomicUsize::new(0);
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    Builder::new_multi_thread()
        .worker_threads(threads)
        .on_thread_start(move || {
            if threads == thread::cores() && !cores.is_empty() {
                let index = started.fetch_add(1, Ordering::Relaxed);
                core_affinity::set_for_current(cores[index % cores.len()]);
            }
        })
        .build()
        .map_err(|error| format!("the runtime does not start: {error}"))
}
