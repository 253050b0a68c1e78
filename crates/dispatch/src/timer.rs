//! Tasks for later: what a queue is to run when a time has come.
//!
//! The times are those of the queue's own [`Clock`], spans are multiplied by its
//! [`Timescale`](crate::Timescale).

use crate::clock::{Clock, Timer};
use crate::task::{Task, TaskBody, TaskBox};
use crate::worker;
use crate::{Enqueue, QueueError};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

impl Clock {
    /// The clock of the queue whose task runs on this thread; the real one elsewhere.
    #[must_use]
    pub fn current() -> Clock {
        Clock::of_thread()
            .or_else(worker::clock_of_task)
            .unwrap_or_else(Clock::real)
    }
}

/// Queues `task` on `queue`, `span` from now. It claims no room: a full queue may exceed its depth
/// by it. If the queue has been stopped by then the task is [cleaned up](Task::cleanup).
///
/// The timer keeps the task until it fires or is [cancelled](Timer::cancel), which cleans it up.
///
/// # Panics
/// When the operating system refuses the real clock its thread.
///
/// ```
/// use motet_dispatch::{Dispatcher, QueueConfig, Task, timer};
/// use std::time::Duration;
///
/// let dispatcher = Dispatcher::new(1);
/// let queue = dispatcher.queue(QueueConfig::named("alarms"));
/// let (tell, told) = std::sync::mpsc::channel();
/// timer::after(&queue, Duration::from_millis(1), Task::new(move || tell.send("ring").unwrap()));
/// assert_eq!(told.recv(), Ok("ring"));
/// ```
#[allow(
    clippy::must_use_candidate,
    reason = "a timer may be set and forgotten"
)]
pub fn after(queue: &(impl Enqueue + ?Sized), span: Duration, task: Task) -> Timer {
    let clock = queue.clock();
    let later = Later {
        queue: queue.handle(),
        task,
    };
    clock.schedule(clock.in_future(span), TaskBox::new(later).into_task())
}

/// Queues a task on `queue` every `period`, which runs `work` with the time for which it was set.
/// The times do not drift; a beat for which a full queue has no room is left out, and counted as
/// refused there. Beats may overlap on a dispatcher with several threads. A queue that has been
/// stopped ends the timer.
///
/// # Panics
/// When the period is zero, and as [`after`].
///
/// ```
/// use motet_dispatch::{QueueConfig, Replay, timer};
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// let replay = Replay::new(1);
/// let queue = replay.queue(QueueConfig::named("pulse"));
/// let beats = Arc::new(AtomicU32::new(0));
/// let counter = Arc::clone(&beats);
/// let pulse = timer::every(&queue, Duration::from_secs(1), move |_| {
///     counter.fetch_add(1, Ordering::Relaxed);
/// });
/// replay.run_for(Duration::from_secs(3600));
/// assert_eq!(beats.load(Ordering::Relaxed), 3600);
/// assert!(pulse.cancel());
/// ```
#[allow(
    clippy::must_use_candidate,
    reason = "a timer may be set and forgotten"
)]
pub fn every(
    queue: &(impl Enqueue + ?Sized),
    period: Duration,
    work: impl Fn(Instant) + Send + Sync + 'static,
) -> Timer {
    let (clock, queue, work) = (queue.clock(), queue.handle(), Arc::new(work));
    clock.every_while(period, move |due| {
        let work = Arc::clone(&work);
        match queue.enqueue(Task::new(move || work(due))) {
            Err(refused) if refused.reason == QueueError::Stopped => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    })
}

/// A task that waits for its time.
struct Later {
    queue: Arc<dyn Enqueue>,
    task: Task,
}

impl TaskBody for Later {
    fn run(later: TaskBox<Self>) {
        let Later { queue, task } = later.into_inner();
        queue.readmit(task);
    }

    fn cleanup(later: TaskBox<Self>) {
        later.into_inner().task.cleanup();
    }
}
