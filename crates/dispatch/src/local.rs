//! What one worker holds of one queue.
//!
//! ```text
//!   next ── deque ──────────┐            stealable: deque only
//!   home (inbox behind it) ─┼──> pop     alternately, so neither starves the other
//!   injector ───────────────┘            when both are empty, and first every 61st time
//! ```
//!
//! `next` is the head of the deque: a task is put there only when nothing else waits. So the order
//! stays first in first out. A chain of tasks, each queueing the next, touches no shared memory.

use crate::Task;
use crate::queue_core::QueueCore;
use crate::task_list::TaskList;
use crossbeam_deque as deque;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Every so many tasks the injector goes first: the bound on how long a task from outside waits for
/// tasks that workers queue for themselves.
pub(crate) const INJECTOR_TURN: u32 = 61;

/// A batch fetched from the injector is at most this long. It is so short that the worker has run
/// it before the injector goes first again, even when tasks at home take every second turn. So the
/// tasks of a batch start before the tasks behind it.
const BATCH: usize = INJECTOR_TURN as usize / 2;

pub(crate) struct LocalQueue {
    pub(crate) queue: Arc<QueueCore>,
    next: Cell<Option<Task>>,
    deque: deque::Worker<Task>,
    home: RefCell<TaskList>,
    turn: Cell<u32>,
    worker: usize,
    /// The dispatcher has more than this worker.
    has_others: bool,
}

impl LocalQueue {
    pub(crate) fn new(queue: Arc<QueueCore>, worker: usize) -> Self {
        let deque = queue.fetch_deque(worker);
        LocalQueue {
            has_others: queue.stealers.len() > 1,
            queue,
            next: Cell::new(None),
            deque,
            home: RefCell::default(),
            turn: Cell::new(0),
            worker,
        }
    }

    /// Queues a task at this worker. `true` when there are other workers, who can see it.
    #[inline]
    pub(crate) fn push(&self, task: Task) -> bool {
        let next = self.next.take();
        if next.is_none() && self.deque.is_empty() {
            self.next.set(Some(task));
            return false;
        }
        self.next.set(next);
        self.deque.push(task);
        self.has_others
    }

    /// Queues a task that only this worker may run.
    #[inline]
    pub(crate) fn push_home(&self, task: Task) {
        self.home.borrow_mut().push_back(task);
    }

    /// The worker's own next task that others may run, if the turn is its.
    #[inline]
    pub(crate) fn pop_in_turn(&self) -> Option<Task> {
        let turn = self.turn.get().wrapping_add(1);
        let own = turn.is_multiple_of(2) || self.is_nothing_home();
        if !own || turn.is_multiple_of(INJECTOR_TURN) {
            return None;
        }
        let task = self.pop_own();
        if task.is_some() {
            self.turn.set(turn);
        }
        task
    }

    /// Whether no task waits that only this worker may run.
    #[inline]
    fn is_nothing_home(&self) -> bool {
        self.home.borrow().is_empty() && self.queue.inboxes[self.worker].is_empty()
    }

    /// The task whose turn it is.
    #[inline]
    pub(crate) fn pop(&self) -> Option<Task> {
        let turn = self.turn.get().wrapping_add(1);
        self.turn.set(turn);
        if turn.is_multiple_of(INJECTOR_TURN)
            && let Some(task) = self.inject(1)
        {
            return Some(task);
        }
        let task = if turn.is_multiple_of(2) {
            self.pop_own().or_else(|| self.pop_home())
        } else {
            self.pop_home().or_else(|| self.pop_own())
        };
        task.or_else(|| self.fetch_batch())
    }

    #[inline]
    fn pop_own(&self) -> Option<Task> {
        self.next.take().or_else(|| self.deque.pop())
    }

    #[inline]
    fn pop_home(&self) -> Option<Task> {
        let mut home = self.home.borrow_mut();
        let inbox = &self.queue.inboxes[self.worker];
        if !inbox.is_empty() {
            home.append(inbox.take_all());
        }
        home.pop_front()
    }

    /// This worker has run out of tasks: the injector's turn, and the next one is a full round
    /// away.
    fn fetch_batch(&self) -> Option<Task> {
        let first = self.inject(BATCH)?;
        // The parity stays: it says whose turn it is, home's or the deque's.
        self.turn.set(self.turn.get() % 2);
        Some(first)
    }

    /// Takes a share of the injector: the first task to run, the others into the deque.
    fn inject(&self, most: usize) -> Option<Task> {
        if let Some(store) = self.queue.store() {
            let task = store.pop(self.worker);
            if task.is_some() && store.has_any() {
                self.queue.pool.sleep.notify_any();
            }
            return task;
        }
        let mut first = None;
        let taken = self
            .queue
            .injector
            .take(most, self.queue.inboxes.len(), |task| {
                if first.is_none() {
                    first = Some(task);
                } else {
                    self.deque.push(task);
                }
            });
        // While the injector was in this worker's hands another one may have found it empty and
        // fallen asleep. What is left there is for that one, as is the batch.
        if taken > 1 || (taken == 1 && !self.queue.injector.is_empty()) {
            self.queue.pool.sleep.notify_any();
        }
        first
    }

    /// Takes half of what another worker's deque holds.
    pub(crate) fn steal_from(&self, victim: usize) -> Option<Task> {
        loop {
            match self.queue.stealers[victim].steal_batch_and_pop(&self.deque) {
                deque::Steal::Success(task) => return Some(task),
                deque::Steal::Retry => {}
                deque::Steal::Empty => return None,
            }
        }
    }

    /// Takes half of what `victim` has more than this worker, the task that either runs included.
    /// `true` when something came: a third worker that found it nowhere while it moved may have
    /// fallen asleep.
    pub(crate) fn balance_with(&self, victim: usize) -> bool {
        let mine = self.deque.len() + usize::from(self.has_next());
        let theirs = self.queue.stealers[victim].len();
        if theirs <= mine {
            return false;
        }
        let share = (theirs + 1 - mine) / 2;
        // Lost to another thief, or in the middle of one: the next look will do.
        self.queue.stealers[victim]
            .steal_batch_with_limit(&self.deque, share)
            .is_success()
    }

    /// Whether a task waits here, or where this worker would look first.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        !self.home.borrow().is_empty()
            || !self.queue.inboxes[self.worker].is_empty()
            || !self.deque.is_empty()
            || self.has_next()
            || self.queue.has_common_work(self.worker)
    }

    fn has_next(&self) -> bool {
        let next = self.next.take();
        let some = next.is_some();
        self.next.set(next);
        some
    }

    /// Gives up this worker's part of a stopped queue. The next task is left for others, as the
    /// deque is. Tasks at home here are cleaned up here, on their own thread. A panic of what they
    /// carry goes the way of a handler's.
    pub(crate) fn abandon(&self) {
        if let Some(task) = self.next.take() {
            self.queue.leave_head(task);
        }
        let stored = || self.queue.store()?.pop_home(self.worker);
        while let Some(task) = self.pop_home().or_else(stored) {
            // Nobody waits for room in a queue that has been stopped.
            let _waited_for = self.queue.taken(self.worker);
            self.queue.guarded(|| task.cleanup());
        }
        // Perhaps nobody waits for this worker: the dispatcher was dropped by one of its own, or is
        // in the background. Then what is left here is this one's to clean up.
        self.queue.worker_ended(self.worker);
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use crate::pool::Pool;
    use crate::queue_core::QueueConfig;
    use motet_sync::atomic::{AtomicBool, Ordering};
    use motet_sync::thread;
    use motet_testkit::{History, Random, Sequential, patience, stress, within};
    use std::collections::VecDeque;

    /// The next slot and the deque behind it, to one thread.
    #[derive(Clone, PartialEq, Eq, Hash, Default)]
    struct Places {
        next: Option<usize>,
        deque: VecDeque<usize>,
    }

    #[derive(Debug)]
    enum Call {
        /// And whether it went to the next slot. The worker looks whether the deque is empty before
        /// it pushes. Thieves may empty it in between, and the task then goes to the deque all the
        /// same.
        Push(usize, AtomicBool),
        Pop,
        Steal,
    }

    impl Sequential for Places {
        type Call = Call;
        type Answer = Option<usize>;

        fn answer(&mut self, call: &Call) -> Option<usize> {
            match call {
                Call::Push(task, next) if next.load(Ordering::Relaxed) => {
                    // Nothing that was there before it may come after it.
                    if self.next.is_some() || !self.deque.is_empty() {
                        return Some(usize::MAX);
                    }
                    self.next = Some(*task);
                    None
                }
                Call::Push(task, _) => {
                    self.deque.push_back(*task);
                    None
                }
                Call::Pop => self.next.take().or_else(|| self.deque.pop_front()),
                Call::Steal => self.deque.pop_front(),
            }
        }
    }

    thread_local! {
        /// The number of the task that this thread ran last.
        static NUMBER: Cell<usize> = const { Cell::new(0) };
    }

    fn number(task: Task) -> usize {
        task.run();
        NUMBER.get()
    }

    fn own(local: &LocalQueue, call: &Call) -> Option<usize> {
        if let Call::Push(n, next) = call {
            let n = *n;
            let to_deque = local.push(Task::new(move || NUMBER.set(n)));
            next.store(!to_deque, Ordering::Relaxed);
            return None;
        }
        local.pop().map(number)
    }

    fn rob(queue: &QueueCore) -> Option<usize> {
        loop {
            match queue.stealers[0].steal() {
                deque::Steal::Success(task) => return Some(number(task)),
                deque::Steal::Empty => return None,
                deque::Steal::Retry => {}
            }
        }
    }

    #[test]
    fn lin_stress_sem_g43_a_worker_and_its_thieves() {
        const CALLS: usize = 12;
        within(patience(), || {
            stress(300, |seed| {
                let queue = QueueCore::new(QueueConfig::default(), 0, Arc::new(Pool::new(2)));
                let history = Arc::new(History::<Places>::new());
                let thieves = [(); 2].map(|()| {
                    let (queue, history) = (Arc::clone(&queue), Arc::clone(&history));
                    thread::spawn(move || {
                        (0..CALLS).for_each(|_| history.call(Call::Steal, |_| rob(&queue)));
                    })
                });
                let (local, mut random) = (LocalQueue::new(queue, 0), Random::new(seed));
                for n in 0..CALLS {
                    let call = [Call::Push(n, AtomicBool::new(false)), Call::Pop].into_iter();
                    let call = call.rev().nth(usize::from(random.below(3) > 0));
                    history.call(call.expect("two calls"), |call| own(&local, call));
                }
                for thief in thieves {
                    thief.join().expect("stealing does not panic");
                }
                if let Err(history) = history.check(&Places::default()) {
                    panic!("seed {seed}: {history}");
                }
            });
        });
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use crate::pool::Pool;
    use crate::queue_core::QueueConfig;
    use motet_sync::thread;

    /// Two tasks, and two workers that each take a half. One falls asleep while the other, which
    /// runs and so passes no search on, has both in its hands. Loom reports a deadlock if what that
    /// one leaves behind wakes nobody.
    #[test]
    fn loom_what_a_taker_leaves_in_the_injector_is_not_forgotten() {
        loom::model(|| {
            let pool = Arc::new(Pool::new(2));
            let queue = QueueCore::new(QueueConfig::default(), 0, Arc::clone(&pool));
            (0..2).for_each(|_| queue.injector.push(Task::new(|| ())));
            let other = thread::spawn({
                let queue = Arc::clone(&queue);
                move || {
                    let (parker, local) = (pool.sleep.register(1), LocalQueue::new(queue, 1));
                    pool.sleep.start_search();
                    while local.pop().is_none() {
                        // The one who has the injector in its hands comes first.
                        thread::yield_now();
                        pool.sleep
                            .sleep(1, &parker, || local.queue.has_work(), || ());
                    }
                    let _last = pool.sleep.end_search();
                }
            });
            let local = LocalQueue::new(queue, 0);
            drop(local.pop());
            other.join().unwrap();
        });
    }
}
