//! Who has the floor: the state machine of an interleave.
//!
//! ```text
//!            an exclusive task comes                 the last concurrent handler ends
//!    Open ────────────────────────────> Draining ─────────────────────────────────────┐
//!     ^                                     ^                                          v
//!     │ nothing is pending       Alternate: │ those held are let in                 Taken: by a turn, or by
//!     └─────────────────────────────────────┴──────────────────────────────────────  an async handler after it
//!                                                                                      │ a teardown item came, and
//!    Done <── the teardown handler has run ── Taken <── all is quiet ── Collecting <───┘ all are off their ports
//! ```
//!
//! While the floor is `Open` concurrent tasks enter without a lock: they count themselves
//! (`presence.rs`) and look at `signal`. In every other phase `signal` says `RAISED`: those who enter
//! are held, and those who leave look, under the lock, whether they were the last.
//!
//! Whoever has the floor is one thread (a turn, see `turn.rs`) or one async handler; what it gives up it
//! hands to the next by what a call returns ([`Next`]). There is one node `N` for turns: here while no turn
//! is queued.

use super::pending::{Pending, Work, same};
use super::presence::{Presence, order};
use crate::delivery::QueueHandle;
use motet_dispatch::{Task, TaskList};
use motet_sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use motet_sync::{CachePadded, Mutex};
use std::sync::Arc;

/// Who goes first when both exclusive and concurrent work waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Fairness {
    /// Exclusive work, as in CCR: a stream of it that does not end keeps concurrent work waiting.
    #[default]
    ExclusiveFirst,
    /// In turns: what is concurrent and waits is let in after at most 16 exclusive handlers.
    Alternate,
}

pub(super) struct Floor<N> {
    /// Read by every concurrent task, written when the floor changes hands.
    signal: CachePadded<AtomicU8>,
    presence: Presence,
    /// Held tasks that have been let in and have not ended.
    admitted: CachePadded<AtomicUsize>,
    state: CachePadded<Mutex<State<N>>>,
    guest: AtomicU8,
}

struct State<N> {
    phase: Phase,
    fairness: Fairness,
    exclusive: Pending,
    held: Pending,
    teardown: Option<Work>,
    /// All members are off their ports.
    off: bool,
    node: Option<N>,
    /// The async handler that has the floor.
    guest: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Concurrent tasks enter.
    Open,
    /// An exclusive task waits until the concurrent handlers have ended.
    Draining,
    /// Someone has the floor.
    Taken,
    /// The end: waits until the concurrent handlers have ended and the tasks on their way are here.
    Collecting,
    /// Nothing runs any more.
    Done,
}

/// Concurrent tasks may not enter.
const RAISED: u8 = 1;
/// A teardown item has been claimed: nothing may be taken any more.
const CLOSING: u8 = 2;

/// `guest`: the exclusive handler that runs has ended, or will, with its task's first run.
const NONE: u8 = 0;
/// It is async; its task's first run has not ended.
const STAYS: u8 = 1;
/// It is async, and has ended before its task's first run.
const LEFT: u8 = 2;
/// It has the floor alone.
const AWAY: u8 = 3;

/// What the caller has to do now, outside of all locks.
#[must_use]
pub(super) enum Next<N> {
    Nothing,
    /// Queue a turn.
    Turn(QueueHandle, N),
    /// Queue tasks that were held, and call [`Floor::admitted_one_ended`] for each when it has run.
    Admit(Pending),
    /// Give back the room of these and bring back what they carry.
    BringBack(Vec<Work>),
}

/// What a turn has to do now.
pub(super) enum Step<N> {
    /// Run these on this turn's queue, one after the other.
    Run(TaskList),
    /// Take all members off their ports, then [collect](Floor::collect).
    Close,
    /// Bring these back to their ports, then run the teardown task.
    Teardown(Task, Vec<Work>),
    /// The turn is over.
    End(Next<N>),
}

/// What became of a concurrent task that wanted to enter.
#[must_use]
pub(super) enum Entry<N> {
    In,
    Held(Next<N>),
}

/// What an interleave looks like now.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) phase: Phase,
    pub(super) guest: Option<&'static str>,
    pub(super) exclusive: usize,
    pub(super) held: usize,
}

impl<N> Floor<N> {
    /// Taken by the caller, who gives it up by [`Floor::pass_on`].
    pub(super) fn new(node: N, fairness: Fairness, threads: usize) -> Self {
        Floor {
            signal: CachePadded::new(AtomicU8::new(RAISED)),
            presence: Presence::new(threads),
            admitted: CachePadded::default(),
            state: CachePadded::new(Mutex::new(State {
                phase: Phase::Taken,
                fairness,
                exclusive: Pending::default(),
                held: Pending::default(),
                teardown: None,
                off: false,
                node: Some(node),
                guest: None,
            })),
            guest: AtomicU8::new(NONE),
        }
    }

    #[inline]
    pub(super) fn is_closing(&self) -> bool {
        self.signal.load(Ordering::Acquire) & CLOSING != 0
    }

    /// Claims the end. `true` for one caller.
    pub(super) fn close(&self) -> bool {
        self.signal.fetch_or(CLOSING, Ordering::AcqRel) & CLOSING == 0
    }

    pub(super) fn look(&self) -> Look {
        let state = self.state.lock();
        Look {
            phase: state.phase,
            guest: state.guest,
            exclusive: state.exclusive.len(),
            held: state.held.len(),
        }
    }

    #[inline]
    fn is_raised(&self) -> bool {
        self.signal.load(Ordering::SeqCst) & RAISED != 0
    }

    fn raise(&self) {
        self.signal.fetch_or(RAISED, Ordering::SeqCst);
        order();
    }
}

/// Concurrent tasks.
impl<N> Floor<N> {
    /// A task is sent to its queue. Called under the port's lock.
    #[inline]
    pub(super) fn sent(&self, thread: usize) {
        self.presence.sent(thread);
    }

    /// A worker has a task in hand. It is run now, or held; one that was let in before is never held.
    #[inline]
    pub(super) fn enter(
        &self,
        thread: usize,
        was_admitted: impl FnOnce() -> bool,
        hold: impl FnOnce() -> Work,
    ) -> Entry<N> {
        self.presence.begin(thread);
        if !self.is_raised() {
            return Entry::In;
        }
        self.enter_raised(thread, was_admitted, hold)
    }

    #[cold]
    fn enter_raised(
        &self,
        thread: usize,
        was_admitted: impl FnOnce() -> bool,
        hold: impl FnOnce() -> Work,
    ) -> Entry<N> {
        // Let in: the one who did that counts it until it has ended.
        if was_admitted() {
            return Entry::In;
        }
        let mut state = self.state.lock();
        if state.phase == Phase::Open {
            // Whoever takes the floor next sees that this one has begun.
            return Entry::In;
        }
        self.presence.take_back(thread);
        let (queue, task) = hold();
        if state.phase == Phase::Done {
            queue.hold();
            return Entry::Held(Next::BringBack(vec![(queue, task)]));
        }
        queue.hold();
        state.held.push(&queue, task);
        Entry::Held(self.hand_over(&mut state))
    }

    /// A handler has ended.
    #[inline]
    pub(super) fn leave(&self, thread: usize) -> Next<N> {
        self.presence.end(thread);
        if self.is_raised() {
            self.look_whether_last()
        } else {
            Next::Nothing
        }
    }

    /// A task that was sent will not enter: as if it had, and had ended at once.
    pub(super) fn lose(&self, thread: usize) -> Next<N> {
        self.presence.begin(thread);
        self.leave(thread)
    }

    /// A held task that was let in has ended.
    pub(super) fn admitted_one_ended(&self) -> Next<N> {
        self.admitted.fetch_sub(1, Ordering::SeqCst);
        order();
        if self.is_raised() {
            self.look_whether_last()
        } else {
            Next::Nothing
        }
    }

    #[cold]
    fn look_whether_last(&self) -> Next<N> {
        self.hand_over(&mut self.state.lock())
    }

    /// Hands the floor to who waits for the last handler to end, if that has happened.
    fn hand_over(&self, state: &mut State<N>) -> Next<N> {
        let may = match state.phase {
            Phase::Draining => !self.anyone_runs(),
            Phase::Collecting => self.is_quiet(state),
            Phase::Open | Phase::Taken | Phase::Done => false,
        };
        if may { take(state) } else { Next::Nothing }
    }

    fn anyone_runs(&self) -> bool {
        self.presence.anyone() || self.admitted.load(Ordering::SeqCst) > 0
    }

    /// Nothing runs, and no task is on its way: all are held here.
    fn is_quiet(&self, state: &State<N>) -> bool {
        !self.anyone_runs() && self.presence.on_their_way() == state.held.len()
    }
}

/// Exclusive tasks.
impl<N> Floor<N> {
    /// An exclusive task has come. Called under ports' locks.
    pub(super) fn request(&self, queue: &QueueHandle, task: Task) -> Next<N> {
        let mut state = self.state.lock();
        if state.phase == Phase::Done {
            return Next::BringBack(vec![(Arc::clone(queue), task)]);
        }
        state.exclusive.push(queue, task);
        if state.phase == Phase::Open {
            self.raise();
            state.phase = Phase::Draining;
            return self.hand_over(&mut state);
        }
        Next::Nothing
    }

    /// The teardown task has come, by who has claimed the end. Called under ports' locks.
    pub(super) fn request_teardown(&self, queue: &QueueHandle, task: Task) -> Next<N> {
        let mut state = self.state.lock();
        state.teardown = Some((Arc::clone(queue), task));
        match state.phase {
            Phase::Open | Phase::Draining => {
                self.raise();
                take(&mut state)
            }
            Phase::Taken | Phase::Collecting | Phase::Done => Next::Nothing,
        }
    }

    /// What a turn on `queue`, which has the floor, does next; `left` is what it has not run of what it was
    /// given before. Its node stays here when the turn is over.
    pub(super) fn step(
        &self,
        queue: &QueueHandle,
        left: TaskList,
        node: &mut Option<N>,
    ) -> Step<N> {
        let mut state = self.state.lock();
        state.exclusive.give_back(queue, left);
        if let Some((elsewhere, _)) = &state.teardown
            && same(elsewhere, queue)
        {
            if !state.off {
                return Step::Close;
            }
            if let Some((_, task)) = state.teardown.take() {
                return Step::Teardown(task, state.take_all());
            }
        }
        let here = state
            .exclusive
            .front()
            .is_some_and(|front| same(front, queue));
        if here && state.teardown.is_none() && !state.off {
            return Step::Run(state.exclusive.take_front());
        }
        state.node = node.take();
        Step::End(self.decide(&mut state))
    }

    /// The turn has done its share: gives the floor up.
    pub(super) fn end_turn(&self, queue: &QueueHandle, left: TaskList, node: Option<N>) -> Next<N> {
        let mut state = self.state.lock();
        state.exclusive.give_back(queue, left);
        state.node = node;
        self.decide(&mut state)
    }

    /// Who has the floor gives it up.
    pub(super) fn pass_on(&self) -> Next<N> {
        let mut state = self.state.lock();
        state.guest = None;
        self.decide(&mut state)
    }

    /// All members are off their ports. `true`: nothing runs and nothing is on its way, the turn goes on.
    pub(super) fn collect(&self, node: &mut Option<N>) -> bool {
        let mut state = self.state.lock();
        state.off = true;
        let quiet = self.is_quiet(&state);
        if !quiet {
            state.phase = Phase::Collecting;
            state.node = node.take();
        }
        quiet
    }

    /// Takes what waits for `queue`, which will not run it.
    pub(super) fn withdraw(&self, queue: &QueueHandle) -> Vec<Task> {
        let mut state = self.state.lock();
        let mut tasks = state.exclusive.withdraw(queue);
        if state
            .teardown
            .as_ref()
            .is_some_and(|(at, _)| same(at, queue))
        {
            tasks.extend(state.teardown.take().map(|(_, task)| task));
        }
        tasks
    }

    /// Decides who is next, for someone who gives the floor up.
    fn decide(&self, state: &mut State<N>) -> Next<N> {
        state.phase = Phase::Taken;
        if state.teardown.is_some() {
            return take(state);
        }
        if state.off {
            state.phase = Phase::Done;
            return Next::BringBack(state.take_all());
        }
        let waits = !state.exclusive.is_empty();
        if waits && (state.fairness == Fairness::ExclusiveFirst || state.held.is_empty()) {
            return take(state);
        }
        self.admitted.fetch_add(state.held.len(), Ordering::SeqCst);
        if waits {
            state.phase = Phase::Draining;
        } else {
            state.phase = Phase::Open;
            self.signal.fetch_and(!RAISED, Ordering::SeqCst);
        }
        if state.held.is_empty() {
            Next::Nothing
        } else {
            Next::Admit(std::mem::take(&mut state.held))
        }
    }
}

/// The exclusive handler that runs.
impl<N> Floor<N> {
    /// It goes on after its task's first run. Called during that.
    pub(super) fn stay(&self, name: &'static str) {
        self.state.lock().guest = Some(name);
        self.guest.store(STAYS, Ordering::Relaxed);
    }

    /// It has ended.
    pub(super) fn leave_later(&self) -> Next<N> {
        // AcqRel: what the handler did is seen by who runs next, and the turn's parked node is seen here.
        if self.guest.swap(LEFT, Ordering::AcqRel) == AWAY {
            self.guest.store(NONE, Ordering::Relaxed);
            return self.pass_on();
        }
        Next::Nothing
    }

    /// Its task's first run has ended. `true`: it has ended too. `false`: it has the floor, and `left`,
    /// which the turn has not run, and the turn's node are here.
    pub(super) fn ran(
        &self,
        queue: &QueueHandle,
        left: &mut TaskList,
        node: &mut Option<N>,
    ) -> bool {
        if self.guest.load(Ordering::Acquire) == NONE {
            return true;
        }
        {
            let mut state = self.state.lock();
            state.exclusive.give_back(queue, std::mem::take(left));
            state.node = node.take();
        }
        let away = self
            .guest
            .compare_exchange(STAYS, AWAY, Ordering::AcqRel, Ordering::Acquire);
        if away.is_ok() {
            return false;
        }
        self.guest.store(NONE, Ordering::Relaxed);
        let mut state = self.state.lock();
        state.guest = None;
        *node = state.node.take();
        true
    }
}

impl<N> State<N> {
    /// Takes what waits, oldest first in each group.
    fn take_all(&mut self) -> Vec<Work> {
        let exclusive = std::mem::take(&mut self.exclusive);
        exclusive.chain(std::mem::take(&mut self.held)).collect()
    }
}

/// Gives the floor to a turn, for the teardown task or the oldest exclusive one.
fn take<N>(state: &mut State<N>) -> Next<N> {
    state.phase = Phase::Taken;
    let teardown = state.teardown.as_ref().map(|(queue, _)| queue);
    let queue = teardown.or_else(|| state.exclusive.front()).cloned();
    match (queue, state.node.take()) {
        (Some(queue), Some(node)) => Next::Turn(queue, node),
        _ => unreachable!("the floor is given to a task that waits, and the node is here"),
    }
}
