//! What is decided under a port's lock and done after it is released.

use crate::delivery::QueueHandle;
use motet_dispatch::{Exception, Task, announce};
use std::sync::Arc;
use std::task::Waker;

/// Effects in the order they were decided. The first needs no allocation.
#[derive(Default)]
pub(crate) struct Deferred {
    /// Tasks have been queued that other workers should hear of.
    announce: bool,
    first: Option<Effect>,
    rest: Vec<Effect>,
}

enum Effect {
    Admit(QueueHandle, Task),
    Readmit(QueueHandle, Task),
    GiveUp(Task),
    Wake(Waker),
    Raise(QueueHandle, Exception),
    Drop(Arc<dyn Keep>),
}

impl Deferred {
    /// Queues a task: at once if that takes no more than a few instructions, else later.
    #[inline]
    pub(crate) fn admit(&mut self, queue: &QueueHandle, task: Task) {
        match queue.admit_here(task) {
            Ok(visible) => self.announce |= visible,
            Err(task) => self.push(Effect::Admit(QueueHandle::clone(queue), task)),
        }
    }

    /// Queues a task that asks for no room.
    pub(crate) fn readmit(&mut self, queue: &QueueHandle, task: Task) {
        self.push(Effect::Readmit(QueueHandle::clone(queue), task));
    }

    /// Brings back what a task carries that will not run.
    pub(crate) fn give_up(&mut self, task: Task) {
        self.push(Effect::GiveUp(task));
    }

    pub(crate) fn wake(&mut self, waker: Waker) {
        self.push(Effect::Wake(waker));
    }

    pub(crate) fn raise(&mut self, queue: QueueHandle, exception: Exception) {
        self.push(Effect::Raise(queue, exception));
    }

    pub(crate) fn drop_later(&mut self, receiver: Arc<dyn Keep>) {
        self.push(Effect::Drop(receiver));
    }

    /// Does everything. The caller holds no lock.
    #[inline]
    pub(crate) fn carry_out(self) {
        if self.announce {
            announce();
        }
        if let Some(first) = self.first {
            first.carry_out();
        }
        self.rest.into_iter().for_each(Effect::carry_out);
    }

    #[inline]
    fn push(&mut self, effect: Effect) {
        if self.first.is_none() && self.rest.is_empty() {
            self.first = Some(effect);
        } else {
            self.rest.push(effect);
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
            Effect::Wake(waker) => waker.wake(),
            Effect::Raise(queue, exception) => queue.raise(exception),
            Effect::Drop(receiver) => drop(receiver),
        }
    }
}

/// What can be kept until a lock is released, whatever it is: implemented for everything that may be
/// shared by threads.
pub trait Keep: Send + Sync {}

impl<T: Send + Sync> Keep for T {}
