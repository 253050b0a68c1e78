//! Idle: what a dispatcher with nothing to do costs.
//!
//! Question: does it stop using the processor? Definition: processor time of the dispatcher's
//! threads in the second that begins 100 ms after its last task. Threats: the clock of the system's
//! accounting; on systems that do not tell a thread's time the row says so.

use motet_dispatch::{Dispatcher, DispatcherConfig, Enqueue, QueueConfig, Task};
use motet_sync::thread;
use serde::Serialize;
use std::time::{Duration, Instant};
use std::{fs, io};

/// What was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IdleRecord {
    /// Threads of the dispatcher.
    pub threads: usize,
    /// Processor time they used in all while idle, in ms; absent where the system does not tell.
    pub processor_ms: Option<f64>,
    /// The time that was watched, in ms, beginning 100 ms after the last task.
    pub watched_ms: f64,
}

/// The dispatcher's threads are known by this name.
const NAME: &str = "motet-idle";

/// Lets a dispatcher work for a moment and watches it afterwards.
///
/// # Panics
/// When the threads cannot be started.
#[must_use]
pub fn measure() -> IdleRecord {
    let config = DispatcherConfig {
        name: NAME.to_owned(),
        ..DispatcherConfig::default()
    };
    let dispatcher = Dispatcher::with(config).expect("the threads start");
    let queue = dispatcher.queue(QueueConfig::named("idle"));
    for _ in 0..1_000 {
        queue.enqueue(Task::new(|| ())).expect("the queue is open");
    }
    dispatcher.wait_idle();
    pause(Duration::from_millis(100));
    let (before, started) = (processor_time(), Instant::now());
    pause(Duration::from_secs(1));
    let (after, watched) = (processor_time(), started.elapsed());
    let used = before
        .ok()
        .zip(after.ok())
        .map(|(before, after)| after.saturating_sub(before));
    IdleRecord {
        threads: dispatcher.workers(),
        processor_ms: used.map(|time| time.as_secs_f64() * 1e3),
        watched_ms: watched.as_secs_f64() * 1e3,
    }
}

fn pause(time: Duration) {
    let until = Instant::now() + time;
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        thread::park_timeout(left);
    }
}

/// The processor time that the dispatcher's threads have used so far (Linux).
fn processor_time() -> io::Result<Duration> {
    let mut nanoseconds = 0;
    for task in fs::read_dir("/proc/self/task")? {
        let task = task?.path();
        if fs::read_to_string(task.join("comm"))?.starts_with(NAME) {
            let statistics = fs::read_to_string(task.join("schedstat"))?;
            let time = statistics
                .split_whitespace()
                .next()
                .and_then(|field| field.parse().ok());
            nanoseconds += time.unwrap_or(0_u64);
        }
    }
    Ok(Duration::from_nanos(nanoseconds))
}
