//! What is decided under a port's lock and done after it is released.

use crate::delivery::QueueHandle;
use motet_dispatch::{Causalities, ClaimedRoom, Exception, QueueError, Task, announce};
use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Waker;

/// Effects in the order they were decided. The first two need no allocation: a one-time receive has
/// as many.
#[derive(Default)]
pub(crate) struct Deferred {
    /// Tasks have been queued that other workers should hear of.
    announce: bool,
    effects: Option<Effects>,
    /// Room that was waited for, to be used by the first claim on its queue.
    granted: Option<ClaimedRoom>,
    /// The queue that had no room for the last claim, if room can be waited for.
    full: Option<QueueHandle>,
}

/// At least one at first: most posts have none, and should find that out by one look.
///
/// One that is carried out may panic (it may run a destructor, or a waker). Those behind it are
/// done all the same, when this is dropped: there are tasks among them.
struct Effects {
    first: Option<Effect>,
    second: Option<Effect>,
    /// That there are none is one look, also when this is dropped.
    others: Option<VecDeque<Effect>>,
}

/// An arbiter that has decided among its branches.
pub(crate) trait Settle: Send + Sync {
    /// Takes the branches off their ports. The caller holds no lock.
    fn settle(&self);
}

/// A port at which posters wait for room.
pub(crate) trait LetIn: Send + Sync {
    /// Lets them in as far as there is room. The caller holds no lock.
    fn let_in(&self);
}

enum Effect {
    Admit(QueueHandle, Task),
    Readmit(QueueHandle, Task),
    GiveUp(Task),
    Discard(Task),
    Wake(Waker),
    /// Boxed: it is rare, and would make all others large.
    Raise(Box<(QueueHandle, Exception, Causalities)>),
    Drop(Arc<dyn Keep>),
    Settle(Arc<dyn Settle>, AdmitLast),
    Release(QueueHandle),
    LetIn(Arc<dyn LetIn>),
    Call(Box<dyn FnOnce()>),
}

/// Queues a task when it is dropped: also when what comes before panics (a handler's destructor
/// may).
struct AdmitLast(Option<(QueueHandle, Task)>);

impl Deferred {
    /// Queues a task, at once if that takes no more than a few instructions, else later. It is
    /// queued after what was decided before, which the task may count on.
    #[inline]
    pub(crate) fn admit(&mut self, queue: &QueueHandle, task: Task) {
        if self.effects.is_some() {
            return self.admit_later(queue, task);
        }
        match queue.admit_here(task) {
            Ok(visible) => self.announce |= visible,
            Err(task) => self.admit_later(queue, task),
        }
    }

    #[inline(never)]
    fn admit_later(&mut self, queue: &QueueHandle, task: Task) {
        self.push(Effect::Admit(QueueHandle::clone(queue), task));
    }

    /// Queues a task that asks for no room.
    pub(crate) fn readmit(&mut self, queue: &QueueHandle, task: Task) {
        self.push(Effect::Readmit(QueueHandle::clone(queue), task));
    }

    /// Brings back what a task carries that will not run.
    pub(crate) fn give_up(&mut self, task: Task) {
        self.push(Effect::GiveUp(task));
    }

    /// Drops a task with what it carries.
    pub(crate) fn discard(&mut self, task: Task) {
        self.push(Effect::Discard(task));
    }

    /// Lets those in who wait to post to `port`.
    pub(crate) fn let_in(&mut self, port: Arc<dyn LetIn>) {
        self.push(Effect::LetIn(port));
    }

    pub(crate) fn wake(&mut self, waker: Waker) {
        self.push(Effect::Wake(waker));
    }

    /// Routes a panic as one of a task of `queue` that runs under `causalities`.
    pub(crate) fn raise(
        &mut self,
        queue: QueueHandle,
        exception: Exception,
        causalities: Causalities,
    ) {
        self.push(Effect::Raise(Box::new((queue, exception, causalities))));
    }

    /// Gives room back that was claimed and will not be used: who waits for it is woken.
    pub(crate) fn release(&mut self, queue: &QueueHandle) {
        self.push(Effect::Release(QueueHandle::clone(queue)));
    }

    /// Gives a handle up. It may have been the last, and what goes with it may use ports.
    #[inline]
    pub(crate) fn let_go<K: Keep + 'static>(&mut self, held: Option<Arc<K>>) {
        if let Some(ended) = held.and_then(Arc::into_inner) {
            self.drop_ended(ended);
        }
    }

    /// Apart: hardly any port ends there.
    #[cold]
    #[inline(never)]
    fn drop_ended<K: Keep + 'static>(&mut self, ended: K) {
        self.drop_later(Arc::new(ended));
    }

    pub(crate) fn drop_later(&mut self, receiver: Arc<dyn Keep>) {
        self.push(Effect::Drop(receiver));
    }

    /// Lets `choice` take its branches off their ports, then queues the task of the one that won.
    pub(crate) fn settle(&mut self, choice: Arc<dyn Settle>, task: Option<(QueueHandle, Task)>) {
        self.push(Effect::Settle(choice, AdmitLast(task)));
    }

    /// Effects of something that may hold room already.
    pub(crate) fn with_room(granted: Option<ClaimedRoom>) -> Self {
        Deferred {
            granted,
            ..Deferred::default()
        }
    }

    /// Calls `effect` once the port is unlocked.
    pub(crate) fn call(&mut self, effect: impl FnOnce() + 'static) {
        self.push(Effect::Call(Box::new(effect)));
    }

    /// Claims room for one task.
    #[inline]
    pub(crate) fn claim_room(&mut self, queue: &QueueHandle) -> Result<(), QueueError> {
        if self.granted.is_some() && self.uses_room(queue) {
            return Ok(());
        }
        let claimed = queue.reserve();
        if let Err(reason) = claimed {
            self.found_full(queue, reason);
        }
        claimed
    }

    /// Whether a queue had no room for the last claim, if room can be waited for.
    #[inline]
    pub(crate) fn has_full(&self) -> bool {
        self.full.is_some()
    }

    /// The queue that had no room for the last claim since this was asked.
    pub(crate) fn take_full(&mut self) -> Option<QueueHandle> {
        self.full.take()
    }

    #[cold]
    fn found_full(&mut self, queue: &QueueHandle, reason: QueueError) {
        if reason.is_want_of_room() && queue.room().is_some() {
            self.full = Some(QueueHandle::clone(queue));
        }
    }

    #[cold]
    fn uses_room(&mut self, queue: &QueueHandle) -> bool {
        let line = queue.room();
        let of_queue = |room: &mut ClaimedRoom| line.as_ref().is_some_and(|line| room.is_of(line));
        self.granted
            .take_if(of_queue)
            .map(ClaimedRoom::keep)
            .is_some()
    }

    /// Does everything. The caller holds no lock.
    // By reference: moved, it would be copied.
    #[inline]
    pub(crate) fn carry_out(&mut self) {
        if self.announce {
            announce();
        }
        if self.effects.is_some() || self.granted.is_some() {
            self.carry_out_effects();
        }
    }

    /// Whether nothing is left that would have to be dropped.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.effects.is_none() && self.granted.is_none() && self.full.is_none()
    }

    /// Apart from the way of most posts, which have queued their task and leave nothing to do.
    #[inline(never)]
    fn carry_out_effects(&mut self) {
        if let Some(effects) = &mut self.effects {
            if let Some(first) = effects.first.take() {
                first.carry_out();
            }
            if let Some(second) = effects.second.take() {
                second.carry_out();
                if effects.others.is_some() {
                    effects.carry_out_others();
                }
            }
        }
        // All have been carried out: there is nothing to drop, and no need to look for it.
        let _done = ManuallyDrop::new(self.effects.take());
        // Room that nobody has used goes to the next.
        self.granted = None;
    }

    #[inline]
    fn push(&mut self, effect: Effect) {
        match &mut self.effects {
            None => {
                self.effects = Some(Effects {
                    first: Some(effect),
                    second: None,
                    others: None,
                });
            }
            Some(effects) if effects.second.is_none() => effects.second = Some(effect),
            Some(effects) => effects.others.get_or_insert_default().push_back(effect),
        }
    }
}

impl Effect {
    #[inline]
    fn carry_out(self) {
        match self {
            Effect::Admit(queue, task) => queue.admit(task),
            Effect::Readmit(queue, task) => queue.readmit(task),
            Effect::GiveUp(task) => task.cleanup(),
            Effect::Discard(task) => drop(task),
            Effect::Wake(waker) => waker.wake(),
            Effect::Raise(raised) => {
                let (queue, exception, causalities) = *raised;
                causalities.run(|| queue.raise(exception));
            }
            Effect::Drop(receiver) => drop(receiver),
            Effect::Settle(choice, task) => {
                choice.settle();
                drop(choice);
                drop(task);
            }
            Effect::Release(queue) => queue.release(),
            Effect::LetIn(port) => port.let_in(),
            Effect::Call(effect) => effect(),
        }
    }
}

impl Effects {
    /// The next to be carried out.
    #[inline]
    fn next(&mut self) -> Option<Effect> {
        let one = self.first.take().or_else(|| self.second.take());
        one.or_else(|| self.others.as_mut()?.pop_front())
    }

    #[cold]
    fn carry_out_others(&mut self) {
        while let Some(other) = self.next() {
            other.carry_out();
        }
        self.others = None;
    }

    /// Does what a panic has left undone. The panic is on its way to the poster; a second one has
    /// been reported by the panic hook.
    #[cold]
    fn catch_up(&mut self) {
        while let Some(next) = self.next() {
            drop(catch_unwind(AssertUnwindSafe(|| next.carry_out())));
        }
    }
}

impl Drop for Effects {
    #[inline]
    fn drop(&mut self) {
        if self.first.is_some() || self.second.is_some() || self.others.is_some() {
            self.catch_up();
        }
    }
}

impl Drop for AdmitLast {
    fn drop(&mut self) {
        if let Some((queue, task)) = self.0.take() {
            queue.admit(task);
        }
    }
}

/// What can be kept until a lock is released, whatever it is: implemented for everything that may
/// be shared by threads.
pub trait Keep: Send + Sync {}

impl<T: Send + Sync> Keep for T {}
