//! The references that a worker [keeps](crate::handle_cache) of the messages that it has run.

use super::{Worker, with_current};
use std::any::Any;
use std::sync::Arc;

/// Another reference to the value of `of`: one that this worker keeps, or else a new one.
#[inline]
#[must_use]
pub fn take_handle<A: ?Sized>(of: &Arc<A>) -> Arc<A> {
    let taken = with_current(|worker| worker.handles.another(of));
    taken.unwrap_or_else(|| Arc::clone(of))
}

/// Has this worker keep a reference that a message has held, for the next one ([`take_handle`]);
/// other threads keep none. Only for what sees to it that the workers
/// [let go](crate::Direct::let_go) of it when it ends.
#[inline]
pub fn keep_handle<A: Any + Send + Sync>(handle: Arc<A>) {
    let mut handle = Some(handle);
    with_current(|worker| handle = handle.take().and_then(|handle| worker.handles.keep(handle)));
}

impl Worker {
    /// Lets kept references go, one after the other. What goes with the last one is not motet's:
    /// its panic goes the way of a handler's.
    #[cold]
    pub(super) fn let_go(&self) {
        for handle in self.handles.drain() {
            let queue = Arc::clone(&self.locals.borrow()[self.cursor.get()].queue);
            queue.guarded(|| drop(handle));
        }
    }
}

#[cfg(all(test, not(any(motet_loom, motet_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_is_no_worker_keeps_nothing() {
        let here = Arc::new(1_u32);
        keep_handle(Arc::clone(&here));
        assert_eq!(Arc::strong_count(&here), 1);
        assert_eq!(*take_handle(&here), 1);
    }
}
