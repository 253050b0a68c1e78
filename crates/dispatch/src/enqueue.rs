//! What a queue of tasks is to everyone who fills it.

use crate::clock::Clock;
use crate::span;
use crate::waiting::Waiter;
use crate::{Exception, Task};
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::{Arc, Weak};

/// A place that takes tasks and sees to it that they run.
///
/// [`DispatcherQueue`](crate::DispatcherQueue), its [`Home`](crate::Home)s,
/// [`Inline`](crate::Inline) and [`ReplayQueue`](crate::ReplayQueue) implement it; a queue of your own
/// may too.
///
/// A port must know that there is room before it takes an item out for a handler, so admission is
/// a step of its own: [`reserve`](Enqueue::reserve), then [`admit`](Enqueue::admit).
pub trait Enqueue: Send + Sync + 'static {
    /// Claims room for one task.
    ///
    /// # Errors
    /// [`QueueError`] when the queue is full or stopped; nothing is claimed then.
    fn reserve(&self) -> Result<(), QueueError>;

    /// Gives back room that was claimed and will not be used.
    fn release(&self);

    /// Queues a task that has claimed room.
    fn admit(&self, task: Task);

    /// Queues a task that has claimed room, if the calling thread can do so in a few instructions and
    /// without waking anyone: for callers that hold a lock. `Ok(true)` asks them to call
    /// [`announce`](crate::announce) once they have released it. `Err` gives the task back, to be
    /// passed to [`admit`](Enqueue::admit) then.
    ///
    /// # Errors
    /// The task, when this thread is not a worker of this queue (always, unless overridden).
    fn admit_here(&self, task: Task) -> Result<bool, Task> {
        Err(task)
    }

    /// Queues a task that was admitted before and comes back: an async task that was woken. It is
    /// never refused, so a wake-up is never lost; a full queue may exceed its depth by these.
    fn readmit(&self, task: Task);

    /// Counts the room of a task that a worker has taken and an arbiter now holds, whether there is any
    /// or not: [`release`](Enqueue::release) gives it back, before the task is
    /// [readmitted](Enqueue::readmit). (Does nothing, unless overridden.)
    fn hold(&self) {}

    /// Whether tasks of this queue may start now: not while it is suspended, nor once it is stopped. One
    /// that does the work of several looks in between. (`true`, unless overridden.)
    fn may_start(&self) -> bool {
        true
    }

    /// A handle that arbiters and async tasks keep.
    fn handle(&self) -> Arc<dyn Enqueue>;

    /// The queue's name, for messages.
    fn name(&self) -> &str;

    /// The clock of this queue's timers, and of its tasks ([`Clock::current`]): the real one unless
    /// overridden.
    fn clock(&self) -> Clock {
        Clock::real()
    }

    /// Routes a panic that happened in a task of this queue.
    fn raise(&self, exception: Exception);

    /// Enters someone who waits for the sake of this queue into the waiting list of its dispatcher
    /// ([`Dispatcher::waiting`](crate::Dispatcher::waiting)). A queue without a dispatcher keeps none.
    /// `created` is where the wait was written.
    fn watch(&self, waiter: Weak<dyn Waiter>, created: &'static Location<'static>) {
        let _ = (waiter, created);
    }

    /// Starts a task of this queue on the calling thread as its workers do: it is skipped if it must not
    /// start any more, and its panic is [raised](Enqueue::raise). For tasks that do the work of several.
    fn start(&self, task: Task) {
        let name = || self.name().to_owned();
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| span::start(task, name))) {
            self.raise(Exception::new(payload, self.name()));
        }
    }

    /// Claims room and queues the task.
    ///
    /// # Errors
    /// [`Refused`] hands the task back when the queue is full or stopped.
    fn enqueue(&self, task: Task) -> Result<(), Refused> {
        match self.reserve() {
            Ok(()) => {
                self.admit(task);
                Ok(())
            }
            Err(reason) => Err(Refused { task, reason }),
        }
    }
}

/// Why a queue takes no task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueueError {
    /// The queue holds as many tasks as its depth allows.
    Full,
    /// The queue's dispatcher has been stopped.
    Stopped,
}

/// A task that was not queued, and why.
#[derive(Debug)]
pub struct Refused {
    /// The task, as it was.
    pub task: Task,
    /// What the queue said.
    pub reason: QueueError,
}

impl fmt::Display for QueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            QueueError::Full => "the dispatcher queue is full",
            QueueError::Stopped => "the dispatcher has been stopped",
        })
    }
}

impl std::error::Error for QueueError {}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task not queued: {}", self.reason)
    }
}

impl std::error::Error for Refused {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.reason)
    }
}
