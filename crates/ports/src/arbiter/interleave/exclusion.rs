//! The mutual exclusion of an interleave: the state machine that says who may run.
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
//! While the exclusion is `Open` concurrent tasks enter without a lock: they count themselves among
//! the readers (`readers.rs`). In every other phase a writer waits: those who enter are held, and
//! those who leave look, under the lock, whether they were the last.
//!
//! An exclusive handler that begins at once takes an `Open` exclusion without a lock, too, and
//! gives it back. Who comes meanwhile makes it `Taken`, under the lock: then the handler passes it
//! on as others do.
//!
//! Whoever holds the exclusion is one thread (a turn, see `shared.rs`) or one async handler. What
//! it releases it passes to the next by what a call returns ([`Next`]). There is one node `N` for
//! turns: here while no turn is queued.

mod at_once;

use super::async_holder::AsyncHolder;
use super::next::{Entry, Next, Step};
use super::pending::{Work, same};
use super::state::{Fairness, Look, Phase, State};
use crate::delivery::QueueHandle;
use crate::readers::{Readers, order};
use motet_dispatch::{Task, TaskList};
use motet_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use motet_sync::{CachePadded, Mutex, asymmetric};
use std::sync::Arc;

/// The state machine. See the [module](self).
pub(super) struct Exclusion<N> {
    readers: Arc<Readers>,
    /// Held tasks that have been let in and have not ended.
    admitted: CachePadded<AtomicUsize>,
    state: CachePadded<Mutex<State<N>>>,
    async_holder: AsyncHolder,
    /// Someone has wanted to be alone since the last look whether to bias.
    had_writer: AtomicBool,
}

impl<N> Exclusion<N> {
    /// Taken by the caller, who gives it up by [`Exclusion::pass_on`].
    pub(super) fn new(node: N, fairness: Fairness, threads: usize) -> Self {
        Exclusion {
            readers: Arc::new(Readers::new(threads)),
            admitted: CachePadded::default(),
            state: CachePadded::new(Mutex::new(State::new(node, fairness))),
            async_holder: AsyncHolder::new(),
            had_writer: AtomicBool::new(false),
        }
    }

    /// Those who may run together.
    #[inline]
    pub(super) fn readers(&self) -> &Arc<Readers> {
        &self.readers
    }

    pub(super) fn look(&self) -> Look {
        let mut look = self.state.lock().look();
        if look.phase == Phase::Open && self.readers.is_alone() {
            look.phase = Phase::Taken;
        }
        look
    }
}

/// Concurrent tasks.
impl<N> Exclusion<N> {
    /// A worker has a task in hand, which is `counted` if it has begun under a bias that was
    /// revoked then. It is run now, or held; one that was let in before is never held.
    pub(super) fn enter(
        &self,
        counted: bool,
        was_admitted: impl FnOnce() -> bool,
        hold: impl FnOnce() -> Work,
    ) -> Entry<N> {
        if !counted && self.readers.begin() {
            self.look_whether_to_bias();
        }
        // Let in: the one who did that counts it until it has ended.
        if !self.readers.writer_waits() || was_admitted() {
            return Entry::In;
        }
        self.enter_while_writer_waits(hold)
    }

    #[cold]
    fn enter_while_writer_waits(&self, hold: impl FnOnce() -> Work) -> Entry<N> {
        let mut state = self.state.lock();
        if self.is_open(&mut state) {
            // Whoever takes the exclusion next sees that this one has begun.
            return Entry::In;
        }
        self.readers.take_back();
        let (queue, task) = hold();
        queue.hold();
        if state.phase == Phase::Done {
            return Entry::Held(Next::BringBack(vec![(queue, task)]));
        }
        state.held.push(&queue, task);
        Entry::Held(self.pass_to_turn(&mut state))
    }

    /// A handler has ended.
    #[inline]
    pub(super) fn leave(&self) -> Next<N> {
        if self.readers.end() {
            Next::Nothing
        } else {
            self.look_whether_last()
        }
    }

    /// A task that was sent will not enter: as if it had, and had ended at once.
    pub(super) fn lose(&self) -> Next<N> {
        self.readers.begin();
        self.leave()
    }

    /// A held task that was let in has ended.
    pub(super) fn admitted_one_ended(&self) -> Next<N> {
        self.admitted.fetch_sub(1, Ordering::SeqCst);
        order();
        self.look_whether_last()
    }

    /// One has ended. Passes the exclusion on if it was the last.
    pub(super) fn look_whether_last(&self) -> Next<N> {
        // If no writer waits now, the next one sees that this one has ended.
        if self.readers.writer_waits() {
            self.pass_to_turn(&mut self.state.lock())
        } else {
            Next::Nothing
        }
    }

    /// A thread has run many concurrent handlers since it looked last.
    #[cold]
    fn look_whether_to_bias(&self) {
        if !asymmetric::is_available() {
            return;
        }
        let state = self.state.lock();
        // Relaxed: it decides only whether it pays.
        let had_writer = self.had_writer.swap(false, Ordering::Relaxed);
        if state.phase == Phase::Open && !had_writer {
            self.readers.set_bias();
        }
    }

    /// Whether who has begun may go on. If not, somebody holds the exclusion or waits for it, or
    /// has begun at once and is alone: that one finds at its end that others wait.
    fn is_open(&self, state: &mut State<N>) -> bool {
        if state.phase == Phase::Open && self.readers.wait_for_alone() {
            state.phase = Phase::Taken;
        }
        state.phase == Phase::Open
    }

    /// An open exclusion is open no longer. `true`: nobody holds it.
    fn shut(&self, state: &mut State<N>) -> bool {
        self.note_writer();
        let is_alone = self.readers.stop_readers();
        state.phase = match is_alone {
            true => Phase::Taken,
            false => Phase::Draining,
        };
        !is_alone
    }

    #[inline]
    fn note_writer(&self) {
        // Relaxed: as where it is asked. Mostly it is known.
        if !self.had_writer.load(Ordering::Relaxed) {
            self.had_writer.store(true, Ordering::Relaxed);
        }
    }

    /// Passes the exclusion to who waits for the last handler to end, if that has happened.
    fn pass_to_turn(&self, state: &mut State<N>) -> Next<N> {
        let may = match state.phase {
            Phase::Draining => !self.anyone_runs(),
            Phase::Collecting => self.is_quiet(state),
            Phase::Open | Phase::Taken | Phase::Done => false,
        };
        if may {
            state.give_to_turn()
        } else {
            Next::Nothing
        }
    }

    fn anyone_runs(&self) -> bool {
        self.readers.anyone() || self.admitted.load(Ordering::SeqCst) > 0
    }

    /// Nothing runs, and no task is on its way: all are held here.
    fn is_quiet(&self, state: &State<N>) -> bool {
        // In this order: who begins between the two looks was on its way at the first. The other
        // way round it would be missed by both, and be held when everything has been brought back.
        self.readers.on_their_way() == state.held.len() && !self.anyone_runs()
    }
}

/// Exclusive tasks.
impl<N> Exclusion<N> {
    /// An exclusive task has come. Called under ports' locks.
    pub(super) fn request(&self, queue: &QueueHandle, task: Task) -> Next<N> {
        let mut state = self.state.lock();
        if state.phase == Phase::Done {
            return Next::BringBack(vec![(Arc::clone(queue), task)]);
        }
        state.exclusive.push(queue, task);
        if state.phase == Phase::Open && self.shut(&mut state) {
            return self.pass_to_turn(&mut state);
        }
        Next::Nothing
    }

    /// The teardown task has come, by who has claimed the end. Called under ports' locks.
    pub(super) fn request_teardown(&self, queue: &QueueHandle, task: Task) -> Next<N> {
        let mut state = self.state.lock();
        state.teardown = Some((Arc::clone(queue), task));
        let may = match state.phase {
            Phase::Open => self.shut(&mut state),
            Phase::Draining => true,
            Phase::Taken | Phase::Collecting | Phase::Done => false,
        };
        if may {
            state.give_to_turn()
        } else {
            Next::Nothing
        }
    }

    /// What a turn on `queue`, which holds the exclusion, does next; `left` is what it has not run
    /// of what it was given before. Its node stays here when the turn is over.
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

    /// The turn has done its share: releases the exclusion.
    pub(super) fn end_turn(&self, queue: &QueueHandle, left: TaskList, node: Option<N>) -> Next<N> {
        let mut state = self.state.lock();
        state.exclusive.give_back(queue, left);
        state.node = node;
        self.decide(&mut state)
    }

    /// Who holds the exclusion gives it up.
    pub(super) fn pass_on(&self) -> Next<N> {
        let mut state = self.state.lock();
        state.async_holder = None;
        self.decide(&mut state)
    }

    /// All members are off their ports. `true`: nothing runs and nothing is on its way, the turn
    /// goes on.
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

    /// Decides who is next, for someone who releases the exclusion.
    fn decide(&self, state: &mut State<N>) -> Next<N> {
        state.phase = Phase::Taken;
        if state.teardown.is_some() {
            return state.give_to_turn();
        }
        if state.off {
            state.phase = Phase::Done;
            return Next::BringBack(state.take_all());
        }
        let waits = !state.exclusive.is_empty();
        if waits && (state.fairness == Fairness::ExclusiveFirst || state.held.is_empty()) {
            return state.give_to_turn();
        }
        self.admitted.fetch_add(state.held.len(), Ordering::SeqCst);
        if waits {
            state.phase = Phase::Draining;
        } else {
            state.phase = Phase::Open;
            self.readers.admit_readers();
        }
        if state.held.is_empty() {
            Next::Nothing
        } else {
            Next::Admit(std::mem::take(&mut state.held))
        }
    }
}

/// The exclusive handler that runs.
impl<N> Exclusion<N> {
    /// It goes on after its task's first run. Called during that.
    pub(super) fn stay(&self, name: &'static str) {
        self.state.lock().async_holder = Some(name);
        self.async_holder.stay();
    }

    /// It has ended.
    pub(super) fn leave_later(&self) -> Next<N> {
        if self.async_holder.leave() {
            self.pass_on()
        } else {
            Next::Nothing
        }
    }

    /// Its task's first run has ended. `true`: it has ended too. `false`: it holds the exclusion,
    /// and `left`, which the turn has not run, and the turn's node are here.
    pub(super) fn ran(
        &self,
        queue: &QueueHandle,
        left: &mut TaskList,
        node: &mut Option<N>,
    ) -> bool {
        if !self.async_holder.has_stayed() {
            return true;
        }
        {
            let mut state = self.state.lock();
            state.exclusive.give_back(queue, std::mem::take(left));
            state.node = node.take();
        }
        if self.async_holder.takes_over() {
            return false;
        }
        let mut state = self.state.lock();
        state.async_holder = None;
        *node = state.node.take();
        true
    }
}
