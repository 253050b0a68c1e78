//! What the groups of an interleave share: the exclusion, the members, and the turns that run
//! exclusive work.
//!
//! A turn is a task like others. It runs up to [`TURN`] exclusive tasks, one after the other,
//! without going through the queue for each. Then it queues itself again behind what waits there,
//! so the other tasks of the dispatcher get their share.

use super::exclusion::Exclusion;
use super::next::{Next, Step};
use super::pending::Work;
use super::state::Fairness;
use crate::activation::Active;
use crate::deferred::Deferred;
use crate::delivery::QueueHandle;
use motet_dispatch::{Causalities, Exception, Task, TaskBody, TaskBox, TaskList};
use motet_sync::{Mutex, thread};
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Arc, Weak};

/// So many exclusive handlers run before the worker serves others.
pub(super) const TURN: usize = 16;

/// What the groups share.
pub(super) struct Shared {
    pub(super) exclusion: Exclusion<TaskBox<Turn>>,
    members: Mutex<Members>,
}

/// All that are at work, and some that are gone: they are forgotten when there may be as many of
/// them.
#[derive(Default)]
struct Members {
    list: Vec<Weak<dyn Active>>,
    sweep_at: usize,
}

/// The task that holds the exclusion; at rest without its interleave, which would else keep itself
/// alive.
pub(super) struct Turn(Option<(Arc<Shared>, QueueHandle)>);

/// A task that was held and has been let in.
struct Admitted {
    task: Task,
    /// Dropped after the task.
    pass: AdmittedPass,
}

struct AdmittedPass(Arc<Shared>);

motet_sync::model_thread_local! {
    /// The interleave that has let in the task which this thread runs.
    #[allow(clippy::missing_const_for_thread_local, reason = "models know no other form")]
    static ADMITTED: Cell<*const Shared> = Cell::new(ptr::null());
}

impl Shared {
    /// Without members; the caller holds the exclusion. More threads than workers may post.
    pub(super) fn new(fairness: Fairness) -> Arc<Self> {
        Self::with_places(fairness, (2 * thread::cores()).clamp(4, 64))
    }

    /// As above; so many threads have places of their own.
    pub(super) fn with_places(fairness: Fairness, threads: usize) -> Arc<Self> {
        Arc::new(Shared {
            exclusion: Exclusion::new(Turn::node(), fairness, threads),
            members: Mutex::default(),
        })
    }

    /// Members that are going to be registered.
    pub(super) fn join(&self, members: impl Iterator<Item = Weak<dyn Active>>) {
        let mut known = self.members.lock();
        if known.list.len() >= known.sweep_at.max(Members::LEAST) {
            known.list.retain(|member| member.strong_count() > 0);
            known.sweep_at = 2 * known.list.len();
        }
        known.list.extend(members);
    }

    /// Takes all members off their ports, and tells what destructors of theirs panic with.
    pub(super) fn close_members(&self, mut panicked: impl FnMut(Box<dyn Any + Send>)) {
        let members = self.members.lock().list.clone();
        for member in members.iter().filter_map(Weak::upgrade) {
            let closed = catch_unwind(AssertUnwindSafe(move || member.cleanup()));
            closed.unwrap_or_else(&mut panicked);
        }
    }

    /// Whether some member can still take items.
    pub(super) fn any_active(&self) -> bool {
        let members = self.members.lock().list.clone();
        members
            .iter()
            .filter_map(Weak::upgrade)
            .any(|member| member.is_active())
    }

    /// Whether the task that this thread runs was let in; it is, once.
    pub(super) fn was_admitted(&self) -> bool {
        let admitted = ptr::eq(ADMITTED.with(Cell::get), self);
        if admitted {
            ADMITTED.with(|cell| cell.set(ptr::null()));
        }
        admitted
    }

    /// Does what the exclusion says. The caller holds no lock.
    #[inline]
    pub(super) fn carry_out(self: &Arc<Self>, next: Next<TaskBox<Turn>>) {
        if !matches!(next, Next::Nothing) {
            self.carry_out_some(next);
        }
    }

    /// Does what the exclusion says once the ports are unlocked.
    pub(super) fn defer(self: &Arc<Self>, next: Next<TaskBox<Turn>>, deferred: &mut Deferred) {
        match next {
            Next::Nothing => {}
            Next::Turn(queue, node) => {
                let turn = self.turn_on(&queue, node);
                deferred.readmit(&queue, turn);
            }
            Next::BringBack(tasks) => {
                for (queue, task) in tasks {
                    deferred.release(&queue);
                    deferred.give_up(task);
                }
            }
            Next::Admit(_) => unreachable!("who asks for the exclusion lets nobody in"),
        }
    }

    #[cold]
    fn carry_out_some(self: &Arc<Self>, next: Next<TaskBox<Turn>>) {
        match next {
            Next::Nothing => {}
            Next::Turn(queue, node) => queue.readmit(self.turn_on(&queue, node)),
            Next::Admit(held) => {
                for (queue, task) in held {
                    let pass = AdmittedPass(Arc::clone(self));
                    queue.guarded(|| queue.leaves());
                    let admitted = Admitted { task, pass };
                    // The task has its own causalities.
                    queue.readmit(TaskBox::under(Causalities::none(), admitted).into_task());
                }
            }
            Next::BringBack(tasks) => bring_back(tasks),
        }
    }

    fn turn_on(self: &Arc<Self>, queue: &QueueHandle, mut node: TaskBox<Turn>) -> Task {
        node.0 = Some((Arc::clone(self), Arc::clone(queue)));
        node.into_task()
    }

    /// Holds the exclusion, on a worker of `queue`.
    fn turn(self: &Arc<Self>, node: TaskBox<Turn>, queue: &QueueHandle) {
        let mut node = Some(node);
        let (mut tasks, mut share) = (TaskList::new(), TURN);
        let next = loop {
            match self
                .exclusion
                .step(queue, std::mem::take(&mut tasks), &mut node)
            {
                Step::Run(taken) => tasks = taken,
                Step::Close => {
                    self.close_members(|payload| {
                        queue.raise(Exception::new(payload, queue.name()));
                    });
                    if self.exclusion.collect(&mut node) {
                        continue;
                    }
                    return;
                }
                Step::Teardown(task, back) => {
                    bring_back(back);
                    if !self.run_one(queue, task, &mut tasks, &mut node) {
                        return;
                    }
                    continue;
                }
                Step::End(next) => break next,
            }
            while let Some(task) = tasks.pop_front() {
                share -= 1;
                if !self.run_one(queue, task, &mut tasks, &mut node) {
                    return;
                }
                if share == 0 || self.exclusion.readers().is_closing() || !queue.may_start() {
                    break;
                }
            }
            if share == 0 || !queue.may_start() {
                break self.exclusion.end_turn(queue, tasks, node);
            }
        };
        self.carry_out(next);
    }

    /// Runs an exclusive task, or the teardown task. `false`: it is async and holds the exclusion
    /// now.
    fn run_one(
        &self,
        queue: &QueueHandle,
        task: Task,
        left: &mut TaskList,
        node: &mut Option<TaskBox<Turn>>,
    ) -> bool {
        queue.guarded(|| queue.leaves());
        queue.start(task);
        self.exclusion.ran(queue, left, node)
    }

    /// A turn will not run: its queue has given it up. What waits for that queue goes back to its
    /// ports.
    fn lose_turn(self: &Arc<Self>, queue: &QueueHandle) {
        let back = self.exclusion.withdraw(queue);
        bring_back(back.into_iter().map(|task| (Arc::clone(queue), task)));
        let next = self
            .exclusion
            .end_turn(queue, TaskList::new(), Some(Turn::node()));
        self.carry_out(next);
    }
}

impl Members {
    const LEAST: usize = 16;
}

/// Brings items of tasks that hold room back to their ports, oldest first. Who does that has the
/// exclusion, or others' tasks in hand: a destructor or a waker that panics there must not keep it.
fn bring_back(tasks: impl IntoIterator<Item = Work>) {
    for (queue, task) in tasks {
        queue.guarded(|| queue.release());
        queue.guarded(|| task.cleanup());
    }
}

impl Turn {
    /// At rest. It runs under no causality, whoever makes it.
    fn node() -> TaskBox<Self> {
        TaskBox::under(Causalities::none(), Turn(None))
    }
}

impl TaskBody for Turn {
    fn run(mut task: TaskBox<Self>) {
        if let Some((shared, queue)) = task.0.take() {
            shared.turn(task, &queue);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some((shared, queue)) = self.0.take() {
            shared.lose_turn(&queue);
        }
    }
}

impl TaskBody for Admitted {
    fn run(task: TaskBox<Self>) {
        /// Also when the handler panics.
        struct Reset(*const Shared);
        impl Drop for Reset {
            fn drop(&mut self) {
                ADMITTED.with(|cell| cell.set(self.0));
            }
        }
        let Admitted { task, pass } = task.into_inner();
        let _reset = Reset(ADMITTED.with(|cell| cell.replace(Arc::as_ptr(&pass.0))));
        task.start();
    }

    fn cleanup(task: TaskBox<Self>) {
        let Admitted { task, pass } = task.into_inner();
        task.cleanup();
        drop(pass);
    }
}

impl Drop for AdmittedPass {
    fn drop(&mut self) {
        let next = self.0.exclusion.admitted_one_ended();
        self.0.carry_out(next);
    }
}

#[cfg(all(test, not(any(motet_loom, motet_shuttle))))]
mod tests {
    use super::*;
    use motet_dispatch::{Awaited, Waiter};

    struct One;

    impl Waiter for One {
        fn awaits(&self) -> Option<Awaited> {
            None
        }
    }

    impl Active for One {
        fn register(&self) {}

        fn cleanup(&self) {}

        fn is_active(&self) -> bool {
            true
        }
    }

    #[test]
    fn members_that_are_gone_do_not_pile_up() {
        let shared = Shared::new(Fairness::default());
        let living: Vec<Arc<dyn Active>> = (0..50).map(|_| Arc::new(One) as _).collect();
        shared.join(living.iter().map(Arc::downgrade));
        for _ in 0..10_000 {
            let passing: Arc<dyn Active> = Arc::new(One);
            shared.join(std::iter::once(Arc::downgrade(&passing)));
        }
        let members = shared.members.lock();
        let lives = |member: &&Weak<dyn Active>| member.strong_count() > 0;
        assert_eq!(members.list.iter().filter(lives).count(), 50);
        assert!(members.list.len() <= 150, "{}", members.list.len());
    }
}
