//! What a replay and its queues share.

use super::ReplayConfig;
use super::schedule::{Decision, Schedule};
use super::trace::Trace;
use crate::clock::{Clock, LONGEST, Timescale, VirtualTime};
use crate::counters::QueueCounters;
use crate::line::RoomLine;
use crate::policy::{ExecutionPolicy, Notifications};
use crate::queue_core::QueueConfig;
use crate::queue_gate::{Passage, QueueGate};
use crate::route::{self, ExceptionRoute, Routes};
use crate::span;
use crate::waiting::{Here, WaitRegistry};
use crate::{QueueError, Task};
use motet_sync::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

pub(super) struct ReplayCore {
    pub(super) config: ReplayConfig,
    pub(super) time: Arc<VirtualTime>,
    pub(super) exceptions: Arc<ExceptionRoute>,
    pub(super) registry: Arc<WaitRegistry>,
    /// Locked by the thread that runs the replay.
    running: Mutex<()>,
    state: Mutex<State>,
}

struct State {
    lines: Vec<Line>,
    schedule: Schedule,
    trace: Trace,
    /// How many tasks have been queued; the age of a task.
    queued: u64,
    /// Where the tasks that may be next wait; kept for its memory.
    candidates: Vec<Candidate>,
    closed: bool,
}

/// Who a queue is, for its handles and for those who run its tasks.
pub(super) struct Owner {
    pub(super) name: String,
    pub(super) timescale: Timescale,
    pub(super) routes: Arc<Routes>,
    pub(super) notifications: Arc<Notifications>,
}

/// The tasks of one queue.
struct Line {
    owner: Arc<Owner>,
    waiting: VecDeque<Waiting>,
    gate: Arc<QueueGate>,
    /// The most tasks that wait, when the oldest is discarded for the newest.
    newest: Option<usize>,
    suspended: bool,
    /// Has had its turn in this round (with one thread).
    served: bool,
    counters: QueueCounters,
}

struct Waiting {
    task: Task,
    age: u64,
    /// Which task of its queue.
    number: u32,
    /// Never discarded.
    kept: bool,
}

/// Oldest first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    age: u64,
    line: usize,
    at: usize,
}

/// The right to run a replay on this thread.
pub(super) struct Running<'a> {
    /// The list of the replay around: one may run inside a task of another.
    outer: Option<Here>,
    _running: MutexGuard<'a, ()>,
}

/// Eighths of [`ReplayConfig::task_time`] that a task may take, none included.
const TASK_TIMES: u32 = 9;

impl ReplayCore {
    pub(super) fn new(mut config: ReplayConfig) -> Self {
        let state = State {
            lines: Vec::new(),
            schedule: Schedule::new(config.seed, config.script.take()),
            trace: Trace::default(),
            queued: 0,
            candidates: Vec::new(),
            closed: false,
        };
        let exceptions = Arc::default();
        ReplayCore {
            config,
            time: Arc::new(VirtualTime::new()),
            registry: Arc::new(WaitRegistry::new(0, &exceptions)),
            exceptions,
            running: Mutex::default(),
            state: Mutex::new(state),
        }
    }

    pub(super) fn clock(&self) -> Clock {
        Clock::of(Arc::clone(&self.time))
    }

    pub(super) fn trace(&self) -> Trace {
        self.state.lock().trace.clone()
    }

    pub(super) fn decisions(&self) -> Vec<Decision> {
        self.state.lock().schedule.made().to_vec()
    }

    /// Makes the calling thread the one that runs the replay, for as long as the result lives.
    pub(super) fn enter(&self) -> Running<'_> {
        let running = self.running.try_lock().expect(
            "a replay runs on one thread, and not inside its own tasks: \
             call run, run_for and step from outside, one at a time",
        );
        let here = Here {
            registry: Arc::clone(&self.registry),
            index: None,
        };
        Running {
            outer: Here::replace(Some(here)),
            _running: running,
        }
    }

    /// Runs one task, if one can start by `end`.
    pub(super) fn step(&self, end: Option<Instant>) -> bool {
        let clock = self.clock();
        let by_end = |when: &Instant| end.is_none_or(|end| *when <= end);
        while by_end(&clock.now()) {
            while let Some(due) = self.time.pop_due() {
                clock.while_current(|| self.fire(due));
            }
            if let Some((task, owner, room)) = self.take() {
                let scaled = clock.scaled(owner.timescale);
                scaled.while_current(|| {
                    if let Some(room) = room {
                        room.serve();
                    }
                    let name = || owner.name.clone();
                    owner.routes.guarded(|| span::start(task, name));
                });
                self.let_time_pass(&clock);
                return true;
            }
            match self.time.next().filter(by_end) {
                Some(when) => self.time.advance_to(when),
                None => break,
            }
        }
        false
    }

    /// Adds a queue; returns its place among them.
    pub(super) fn add(&self, config: QueueConfig) -> (usize, Arc<Owner>) {
        let owner = Arc::new(Owner {
            routes: Routes::new(&config.name, &self.exceptions),
            name: config.name,
            timescale: config.timescale,
            notifications: Arc::default(),
        });
        // The replay keeps the tasks of all its queues itself, so it finds the oldest of one itself
        // too.
        let (newest, policy) = match config.policy {
            ExecutionPolicy::ConstrainQueueDepthDiscardTasks { depth } => {
                (Some(depth.get()), ExecutionPolicy::Unconstrained)
            }
            other => (None, other),
        };
        let gate = QueueGate::new(policy, 0, self.clock(), &owner.notifications, &owner.routes);
        let mut state = self.state.lock();
        state.trace.name_queue(&owner.name);
        state.lines.push(Line {
            owner: Arc::clone(&owner),
            waiting: VecDeque::new(),
            gate: Arc::new(gate),
            newest,
            suspended: false,
            served: false,
            counters: QueueCounters::default(),
        });
        (state.lines.len() - 1, owner)
    }

    /// Claims room for a task in a queue.
    pub(super) fn reserve(&self, queue: usize) -> Result<(), QueueError> {
        let mut state = self.state.lock();
        let closed = state.closed;
        let line = &mut state.lines[queue];
        let claimed = if closed {
            Err(QueueError::Stopped)
        } else {
            line.gate.claim()
        };
        line.counters.refused += u64::from(claimed.is_err());
        claimed
    }

    /// Whether the replay has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.state.lock().closed
    }

    /// Whether a queue takes any task.
    pub(super) fn is_free(&self, queue: usize) -> bool {
        let state = self.state.lock();
        !state.closed && state.lines[queue].gate.is_open()
    }

    /// Where to wait for room in a queue.
    pub(super) fn room(&self, queue: usize) -> Option<RoomLine> {
        self.state.lock().lines[queue].gate.line().cloned()
    }

    /// Queues a task for which there is room. One that is `kept` is not discarded.
    pub(super) fn push(&self, queue: usize, task: Task, kept: bool) {
        let mut state = self.state.lock();
        if state.closed {
            drop(state);
            return task.cleanup();
        }
        state.queued += 1;
        let age = state.queued;
        let line = &mut state.lines[queue];
        line.counters.scheduled += 1;
        // Wraps in traces of more than 2³² tasks of one queue; they repeat all the same.
        #[allow(clippy::cast_possible_truncation, reason = "see above")]
        let number = line.counters.scheduled as u32;
        let discarded = match line.gate.pass(task, None, kept) {
            Passage::Discarded(task) => Some(task),
            Passage::Stored { discarded } => discarded,
            Passage::Free(task) => {
                let oldest = (!kept).then(|| line.oldest_too_many()).flatten();
                line.waiting.push_back(Waiting {
                    task,
                    age,
                    number,
                    kept,
                });
                oldest
            }
        };
        let owner = discarded.is_some().then(|| Arc::clone(&line.owner));
        drop(state);
        if let (Some(task), Some(owner)) = (discarded, owner) {
            owner.notifications.discard(task);
        }
    }

    pub(super) fn suspend(&self, queue: usize, suspended: bool) {
        self.state.lock().lines[queue].suspended = suspended;
    }

    pub(super) fn is_suspended(&self, queue: usize) -> bool {
        self.state.lock().lines[queue].suspended
    }

    pub(super) fn counters(&self, queue: usize) -> QueueCounters {
        self.state.lock().lines[queue].counters
    }

    /// Takes no more tasks and gives up those that have not started, oldest first.
    pub(super) fn close(&self) {
        let (mut unstarted, mut rooms) = (Vec::new(), Vec::new());
        {
            let mut state = self.state.lock();
            state.closed = true;
            for line in &mut state.lines {
                line.counters.executed += line.waiting.len() as u64;
                let owner = &line.owner;
                let waiting = line.waiting.drain(..);
                unstarted.extend(waiting.map(|waiting| (Arc::clone(owner), waiting.task)));
                rooms.extend(line.gate.line().cloned());
            }
        }
        rooms.iter().for_each(RoomLine::close);
        // What a destructor panics with must not keep the others from their end.
        for (owner, task) in unstarted {
            owner.routes.guarded(|| task.cleanup());
        }
        for due in self.time.close() {
            self.guarded_timer(|| due.cleanup());
        }
        // Now the queues drop whom they get.
        self.registry.end();
    }

    /// Takes the task that is next, and the line that is to be served for its room.
    fn take(&self) -> Option<(Task, Arc<Owner>, Option<RoomLine>)> {
        let mut state = self.state.lock();
        let state = &mut *state;
        state.find_candidates(self.config.threads);
        let chosen = state.schedule.decide(state.candidates.len());
        let chosen = state.candidates.get(chosen)?;
        let line = &mut state.lines[chosen.line];
        let Waiting { task, number, .. } = line.waiting.remove(chosen.at)?;
        let room = line.gate.line().filter(|room| room.leave()).cloned();
        line.served = true;
        line.counters.executed += 1;
        state.trace.push(self.time.elapsed(), chosen.line, number);
        Some((task, Arc::clone(&line.owner), room))
    }

    /// Runs a call whose time has come.
    fn fire(&self, due: Task) {
        self.guarded_timer(|| due.run());
    }

    fn guarded_timer(&self, body: impl FnOnce()) {
        route::guarded("timer", &[&self.exceptions], body);
    }

    /// A task has taken its time.
    fn let_time_pass(&self, clock: &Clock) {
        if self.config.task_time.is_zero() {
            return;
        }
        let most = TASK_TIMES - 1;
        let eighths = self.state.lock().schedule.decide(TASK_TIMES as usize);
        // No longer than the spans of a clock, so that the time can be told.
        let task_time = self.config.task_time.min(LONGEST);
        let taken = task_time * u32::try_from(eighths).unwrap_or(most) / most;
        self.time.advance_to(clock.now() + taken);
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        drop(Here::replace(self.outer.take()));
    }
}

impl State {
    /// Finds the tasks of which any may be next, oldest first.
    fn find_candidates(&mut self, threads: usize) {
        self.candidates.clear();
        if threads == 1 && !self.lines.iter().any(Line::has_turn) {
            // A new round: each queue gets its turn again.
            self.lines.iter_mut().for_each(|line| line.served = false);
        }
        for (line, tasks) in self.lines.iter().enumerate() {
            if tasks.suspended || (threads == 1 && tasks.served) {
                continue;
            }
            let oldest = tasks.waiting.iter().take(threads).enumerate();
            let candidates = oldest.map(|(at, task)| Candidate {
                age: task.age,
                line,
                at,
            });
            self.candidates.extend(candidates);
        }
        self.candidates.sort_unstable();
    }
}

impl Line {
    /// The oldest task that may be discarded, if there are as many as may wait.
    fn oldest_too_many(&mut self) -> Option<Task> {
        let most = self.newest?;
        let waiting = self.waiting.iter().filter(|task| !task.kept).count();
        let oldest = self.waiting.iter().position(|task| !task.kept);
        let oldest = oldest.filter(|_| waiting >= most)?;
        self.waiting.remove(oldest).map(|waiting| waiting.task)
    }

    /// Whether a task could start, in a round in which each queue is served once.
    fn has_turn(&self) -> bool {
        !self.served && !self.suspended && !self.waiting.is_empty()
    }
}
