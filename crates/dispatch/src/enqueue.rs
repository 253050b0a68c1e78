//! What a queue of tasks is to everyone who fills it.

use crate::clock::Clock;
use crate::error::{QueueError, Refused};
use crate::line::{RoomLine, RoomWait};
use crate::span;
use crate::waiting::Waiter;
use crate::{Exception, Task};
use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

/// A place that takes tasks and sees to it that they run.
///
/// [`DispatcherQueue`](crate::DispatcherQueue), its [`Home`](crate::Home)s,
/// [`Inline`](crate::Inline) and [`ReplayQueue`](crate::ReplayQueue) implement it; a queue of your
/// own may too.
///
/// A port must know that there is room before it takes an item out for a handler. So admission is a
/// step of its own: [`reserve`](Enqueue::reserve), then [`admit`](Enqueue::admit).
pub trait Enqueue: Any + Send + Sync {
    /// Claims room for one task.
    ///
    /// # Errors
    /// [`QueueError`] when the queue has no room or is stopped; nothing is claimed then.
    fn reserve(&self) -> Result<(), QueueError>;

    /// Whether the queue takes a task now without being asked for room: it has no limit, and is not
    /// stopped. Then the task may be admitted at once, as if [`reserve`](Enqueue::reserve) had said
    /// `Ok`. Called under locks, as that is: it must be quick, and use no port. (`false`, unless
    /// overridden.)
    fn is_free(&self) -> bool {
        false
    }

    /// Whether the queue is stopped: it takes nothing more, and nothing in it starts. (`false`,
    /// unless overridden.)
    fn is_stopped(&self) -> bool {
        false
    }

    /// Gives back room that was claimed and will not be used. Called under no lock: those who wait
    /// for room are woken here.
    fn release(&self);

    /// Queues a task that has claimed room.
    fn admit(&self, task: Task);

    /// Queues a task that has claimed room, if the calling thread can do so in a few instructions
    /// and without waking anyone. This is for callers that hold a lock. `Ok(true)` asks them to
    /// call [`announce`](crate::announce) once they have released it. `Err` gives the task back, to
    /// be passed to [`admit`](Enqueue::admit) then.
    ///
    /// # Errors
    /// The task, when this thread is not a worker of this queue (always, unless overridden).
    fn admit_here(&self, task: Task) -> Result<bool, Task> {
        Err(task)
    }

    /// Queues a task that was admitted before and comes back, an async task that was woken, or the
    /// registration of an arbiter. It is never refused, so a wake-up is never lost; a full queue
    /// may exceed its depth by these.
    fn readmit(&self, task: Task);

    /// Counts the room of a task that a worker has taken and an arbiter now holds, whether there is
    /// any or not. [`leaves`](Enqueue::leaves) gives it back, before the task is
    /// [readmitted](Enqueue::readmit). (Does nothing, unless overridden.)
    fn hold(&self) {}

    /// A task that has claimed room, or that was [held](Enqueue::hold), goes on otherwise than by a
    /// worker that takes it from here. It leaves its room to others; a rate has let it through.
    /// Called under no lock. (As [`release`](Enqueue::release), unless overridden.)
    fn leaves(&self) {
        self.release();
    }

    /// Whether tasks of this queue may start now: not while it is suspended, nor once it is
    /// stopped. One that does the work of several looks in between. (`true`, unless overridden.)
    fn may_start(&self) -> bool {
        true
    }

    /// Queues a task that has claimed room and must run: a policy that discards tasks spares it.
    /// (As [`admit`](Enqueue::admit), unless overridden.)
    fn admit_kept(&self, task: Task) {
        self.admit(task);
    }

    /// Where to wait for room. `None`, unless overridden: the queue never lacks room, or nobody is
    /// told when there is some.
    fn room(&self) -> Option<RoomLine> {
        None
    }

    /// Whether the calling thread is one of those that run this queue's tasks, so that it must not
    /// block until there is room.
    fn is_own_worker(&self) -> bool {
        false
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

    /// An arbiter of this queue has ended without a task: its ports are closed, and too little is
    /// left in them. Called under no lock. (Does nothing, unless overridden.)
    fn arbiter_ended(&self) {}

    /// Routes a panic that happened in a task of this queue.
    fn raise(&self, exception: Exception);

    /// Enters someone who waits for the sake of this queue into the waiting list of its dispatcher
    /// ([`Dispatcher::waiting`](crate::Dispatcher::waiting)). A queue without a dispatcher keeps
    /// none. `created` is where the wait was written.
    fn watch(&self, waiter: Weak<dyn Waiter>, created: &'static Location<'static>) {
        let _ = (waiter, created);
    }

    /// Starts a task of this queue on the calling thread as its workers do. The task is skipped if
    /// it must not start any more, and its panic is [raised](Enqueue::raise). For tasks that do the
    /// work of several.
    fn start(&self, task: Task) {
        let name = || self.name().to_owned();
        guarded(self, || span::start(task, name));
    }

    /// Claims room and queues the task. What becomes of it then, and of others, is up to the
    /// queue's [policy](crate::ExecutionPolicy).
    ///
    /// # Errors
    /// [`Refused`] hands the task back when the queue has no room or is stopped.
    fn enqueue(&self, task: Task) -> Result<(), Refused> {
        match self.reserve() {
            Ok(()) => {
                self.admit(task);
                Ok(())
            }
            Err(reason) => Err(Refused { task, reason }),
        }
    }

    /// Queues the task once there is room, first come, first served. Holds no thread.
    ///
    /// # Cancellation
    /// Dropping the future drops the task, unless it is [taken out](EnqueueWait::into_task) before.
    ///
    /// # Errors
    /// [`Refused`] hands the task back when the queue is stopped; and when it is full, if it does
    /// not [let wait](RoomLine::throttles).
    ///
    /// ```
    /// use motet_dispatch::{Dispatcher, Enqueue, ExecutionPolicy, QueueConfig, Task, spawn};
    ///
    /// let dispatcher = Dispatcher::new(1);
    /// let depth = 1.try_into().unwrap();
    /// let narrow = dispatcher.queue(QueueConfig {
    ///     policy: ExecutionPolicy::ConstrainQueueDepthThrottleExecution { depth },
    ///     ..QueueConfig::named("narrow")
    /// });
    /// let wide = dispatcher.queue(QueueConfig::default());
    /// let queue = narrow.clone();
    /// spawn(&wide.handle(), async move {
    ///     for _ in 0..10 {
    ///         queue.enqueue_wait(Task::new(|| ())).await.unwrap();
    ///     }
    /// }).unwrap();
    /// dispatcher.wait_idle();
    /// assert_eq!(narrow.counters().executed, 10);
    /// ```
    #[must_use = "a task that is not awaited is not queued"]
    #[track_caller]
    fn enqueue_wait(&self, task: Task) -> EnqueueWait {
        let listed = Some(("enqueue_wait", Location::caller()));
        EnqueueWait {
            queue: self.handle(),
            wait: self
                .room()
                .filter(RoomLine::throttles)
                .map(|line| line.wait().listed(listed)),
            task: Some(task),
        }
    }

    /// Like [`enqueue_wait`](Enqueue::enqueue_wait), for a thread outside the dispatcher, which
    /// sleeps until there is room.
    ///
    /// # Errors
    /// As there; and [`QueueError::OnOwnWorker`] when there is no room now and the calling thread
    /// is one of those that could make some.
    fn enqueue_blocking(&self, task: Task) -> Result<(), Refused> {
        if self.is_own_worker() {
            return self.enqueue(task).map_err(|refused| match refused.reason {
                reason if reason.is_want_of_room() => Refused {
                    reason: QueueError::OnOwnWorker,
                    ..refused
                },
                _ => refused,
            });
        }
        motet_sync::block_on(self.enqueue_wait(task))
    }
}

impl dyn Enqueue {
    /// Runs code for the sake of this queue that is not its own, or holds such (a destructor, a
    /// waker). The caller has work of others in hand meanwhile. So the code's panic is
    /// [raised](Enqueue::raise) as that of a task.
    ///
    /// ```
    /// use motet_dispatch::{Enqueue, Inline};
    ///
    /// let queue = Inline::new("here");
    /// queue.on_exception(|exception| assert_eq!(exception.message(), "broken"));
    /// queue.handle().guarded(|| panic!("broken"));
    /// ```
    pub fn guarded(&self, body: impl FnOnce()) {
        guarded(self, body);
    }
}

fn guarded<Q: Enqueue + ?Sized>(queue: &Q, body: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(body)) {
        queue.raise(Exception::new(payload, queue.name()));
    }
}

/// The future of [`Enqueue::enqueue_wait`].
pub struct EnqueueWait {
    queue: Arc<dyn Enqueue>,
    wait: Option<RoomWait>,
    /// There until the future has ended.
    task: Option<Task>,
}

impl EnqueueWait {
    /// Gives the wait up and the task back; `None` when it has been queued or handed back.
    #[must_use]
    pub fn into_task(mut self) -> Option<Task> {
        self.task.take()
    }
}

impl Future for EnqueueWait {
    type Output = Result<(), Refused>;

    /// # Panics
    /// When the future has ended.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let claimed = match &mut this.wait {
            None => this.queue.reserve(),
            Some(wait) => match Pin::new(wait).poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(room) => room.map(|room| room.keep()),
            },
        };
        let task = this.task.take().expect("an ended future is not polled");
        Poll::Ready(match claimed {
            Ok(()) => {
                this.queue.admit(task);
                Ok(())
            }
            Err(reason) => Err(Refused { task, reason }),
        })
    }
}

impl fmt::Debug for EnqueueWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnqueueWait")
            .field("queue", &self.queue.name())
            .field("queued", &self.task.is_none())
            .finish_non_exhaustive()
    }
}
