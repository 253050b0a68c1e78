//! A queue of a dispatcher, known as such: for those who ask it for each message.

use crate::queue_core::QueueCore;
use crate::worker;
use crate::{Enqueue, Task};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A [`DispatcherQueue`](crate::DispatcherQueue) without a limit, behind no trait: what each
/// message asks of it is asked without a call.
pub struct Direct(Arc<QueueCore>);

impl Direct {
    /// The queue of that [handle](Enqueue::handle), if it is one of a dispatcher and has no limit.
    #[must_use]
    pub fn of(handle: &Arc<dyn Enqueue>) -> Option<Self> {
        let any = Arc::clone(handle) as Arc<dyn Any + Send + Sync>;
        let core = any.downcast::<QueueCore>().ok()?;
        (core.line().is_none() && !core.diverts()).then(|| Direct(core))
    }

    /// As [`Enqueue::is_free`].
    #[inline]
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.0.is_free()
    }

    /// As [`Enqueue::admit_here`].
    ///
    /// # Errors
    /// The task, when this thread is not a worker of this queue.
    #[inline]
    pub fn admit_here(&self, task: Task) -> Result<bool, Task> {
        worker::push_local(&self.0, task)
    }

    /// Has the workers let go of the references that they [keep](crate::keep_handle) before they
    /// run anything else. May be called under locks.
    pub fn let_go(&self) {
        self.0.pool.let_go();
    }

    /// The queue as any other.
    #[must_use]
    pub fn handle(&self) -> Arc<dyn Enqueue> {
        Arc::clone(&self.0) as Arc<dyn Enqueue>
    }
}

impl fmt::Debug for Direct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Direct").finish_non_exhaustive()
    }
}
