//! Tasks, dispatcher queues and dispatchers: who runs what, when, on which thread.
//!
//! The second half of motet's one way through. Something above (a port's arbiter, a rank's fabric)
//! has made a task. This crate queues it and runs it.
//!
//! - Depends on: `motet-sync`, `crossbeam-deque` (the workers' deques), `core_affinity` (pinning),
//!   `rustix` (thread priorities on Linux).
//! - Used by: `motet-ports`, `motet-comm`, `motet-mesh`, `motet-mesh-zenoh`, `motet-patterns`,
//!   `motet-search`, `motet-service`, `motet-testkit`, `motet-counts`, the facade, the command
//!   line, the benchmarks.
//!
//! ```text
//!            ┌──────────── DispatcherQueue ────────────┐      ┌───── Dispatcher ─────┐
//!  enqueue ──┤ from a worker: its next slot, its deque ├──────┤ worker 0 ⇄ worker 1  │──> task runs
//!            │ from outside:  the injector             │      │ (stealing, one task  │    panics go to
//!            │ for one worker: that worker's inbox     │      │  of each queue in    │    on_exception
//!            └─────────────────────────────────────────┘      │  turn; sleep.md)     │
//!                                                             └──────────────────────┘
//! ```
//!
//! | to run … | use |
//! |---|---|
//! | a closure | [`Task::new`] and [`Enqueue::enqueue`] |
//! | a future | [`spawn`] |
//! | a future whose result is awaited, or that is aborted | [`spawn_with_handle`] |
//! | on a pool of threads | [`Dispatcher`], [`DispatcherQueue`] |
//! | on one particular thread of it | [`DispatcherQueue::home`] |
//! | here and now, in order | [`Inline`] |
//! | later, or again and again | [`timer`], [`Clock`] |
//! | in an order that a seed decides, in virtual time | [`Replay`] |
//! | a call that blocks | [`DispatcherQueue::run_blocking`] |
//! | no more than so many at a time, or so many per second | [`ExecutionPolicy`] |
//! | when there is room | [`Enqueue::enqueue_wait`], [`Enqueue::enqueue_blocking`] |
//! | under a name, with a way for its panics and to cancel it | [`Causality`] |
//! | a body of your own in the task's one allocation | [`TaskBody`], [`TaskBox`] |
//!
//! ```
//! use motet_dispatch::{Dispatcher, Enqueue, QueueConfig, Task};
//!
//! let dispatcher = Dispatcher::new(2);
//! let queue = dispatcher.queue(QueueConfig::named("work"));
//! let (tell, told) = std::sync::mpsc::channel();
//! queue.enqueue(Task::new(move || tell.send(6 * 7).unwrap())).unwrap();
//! assert_eq!(told.recv(), Ok(42));
//! dispatcher.wait_idle();
//! assert_eq!(queue.counters().executed, 1);
//! ```
//!
//! Read next: [`Task`] (the one allocation), `worker.rs` and `local.rs` (the loop and the order in
//! which it serves), `sleep.md` (how workers sleep and are woken).

mod beyond;
mod blocking;
mod causality;
mod clock;
mod closure_task;
mod cores;
mod counters;
mod deadline;
mod direct;
mod dispatcher;
mod drops;
mod enqueue;
mod error;
mod exception;
mod future_task;
mod handle_cache;
mod home;
mod inbox;
mod injector;
mod inline;
mod inside_task;
mod join_handle;
mod limit;
mod line;
mod local;
mod memory;
mod policy;
mod pool;
mod priority;
mod queue;
mod queue_core;
mod queue_gate;
mod rate;
mod registry;
mod replay;
mod route;
mod sleep;
mod span;
mod spin_wait;
mod stall;
mod started;
mod store;
mod task;
mod task_list;
mod waiting;
mod watch;
mod worker;

pub mod timer;

#[cfg(all(test, motet_loom))]
mod loom_future_task;

pub use beyond::beyond_depth;
pub use blocking::RunBlocking;
pub use causality::{Cancelled, Causalities, Causality, UntilCancelled};
pub use clock::{Clock, Timer, Timescale};
pub use counters::{QueueCounters, WorkerCounters};
pub use direct::Direct;
pub use dispatcher::{Dispatcher, DispatcherConfig, IdleWatch};
pub use drops::{drop_each, drop_flat};
pub use enqueue::{Enqueue, EnqueueWait};
pub use error::{QueueError, Refused};
pub use exception::Exception;
pub use future_task::{FutureHandle, is_task_context, spawn, spawn_here, spawn_unchecked};
pub use home::Home;
pub use inline::{Inline, as_task};
pub use inside_task::{InsideTask, inside_task};
pub use join_handle::{JoinError, JoinHandle, spawn_with_handle};
pub use line::{ClaimedRoom, RoomLine, RoomWait};
pub use policy::{ExecutionPolicy, ExecutionPolicyNotification};
pub use priority::ThreadPriority;
pub use queue::DispatcherQueue;
pub use queue_core::QueueConfig;
pub use rate::{Rate, RateError};
pub use replay::{Decision, Replay, ReplayConfig, ReplayQueue, ReplayStep, Trace};
pub use spin_wait::{Advice, SpinWait, eagerly, keep_looking, moves};
pub use stall::Stall;
pub use task::{Task, TaskBody, TaskBox};
pub use task_list::{BoxList, TaskList};
pub use waiting::{Awaited, Wait, WaitPart, Waiter, Waiting, watch_here};
pub use worker::{announce, keep_handle, take_handle};
