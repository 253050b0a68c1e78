//! What is decided under a port's lock and done after it is released.

use crate::delivery::QueueHandle;
use motet_dispatch::{Exception, QueueError, Room, Task, announce};
use std::sync::Arc;
use std::task::Waker;

/// Effects in the order they were decided. The first needs no allocation.
#[derive(Default)]
pub(crate) struct Deferred {
    /// Tasks have been queued that other workers should hear of.
    announce: bool,
    first: Option<Effect>,
    rest: Vec<Effect>,
    /// Room that was waited for, to be used by the first claim on its queue.
    room: Option<Room>,
    /// The queue that had no room for the last claim, if room can be waited for.
    full: Option<QueueHandle>,
}

enum Effect {
    Admit(QueueHandle, Task),
    Wake(Waker),
    Raise(QueueHandle, Exception),
    Drop(Arc<dyn Keep>),
    Call(Box<dyn FnOnce()>),
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

    pub(crate) fn wake(&mut self, waker: Waker) {
        self.push(Effect::Wake(waker));
    }

    pub(crate) fn raise(&mut self, queue: QueueHandle, exception: Exception) {
        self.push(Effect::Raise(queue, exception));
    }

    pub(crate) fn drop_later(&mut self, receiver: Arc<dyn Keep>) {
        self.push(Effect::Drop(receiver));
    }

    /// Effects of something that holds room already.
    pub(crate) fn with_room(room: Option<Room>) -> Self {
        Deferred {
            room,
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
        if self.room.is_some() && self.uses_room(queue) {
            return Ok(());
        }
        let claimed = queue.reserve();
        if let Err(reason) = claimed
            && reason.is_want_of_room()
            && queue.room().is_some()
        {
            self.full = Some(QueueHandle::clone(queue));
        }
        claimed
    }

    /// The queue that had no room for the last claim since this was asked.
    #[inline]
    pub(crate) fn take_full(&mut self) -> Option<QueueHandle> {
        self.full.take()
    }

    #[cold]
    fn uses_room(&mut self, queue: &QueueHandle) -> bool {
        let line = queue.room();
        let room = self
            .room
            .take_if(|room| line.as_ref().is_some_and(|line| room.is_of(line)));
        room.map(Room::keep).is_some()
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
            Effect::Wake(waker) => waker.wake(),
            Effect::Raise(queue, exception) => queue.raise(exception),
            Effect::Drop(receiver) => drop(receiver),
            Effect::Call(effect) => effect(),
        }
    }
}

/// What can be kept until a lock is released, whatever it is: implemented for everything that may be
/// shared by threads.
pub trait Keep: Send + Sync {}

impl<T: Send + Sync> Keep for T {}
