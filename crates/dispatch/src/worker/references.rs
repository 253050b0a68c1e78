//! The references that a worker [keeps](crate::spare) of the messages that it has run.

use super::{Worker, with_current};
use std::any::Any;
use std::sync::Arc;

/// Another reference to the value of `of`: one that this worker keeps, or else a new one.
#[inline]
#[must_use]
pub fn take_spare<A: ?Sized>(of: &Arc<A>) -> Arc<A> {
    let taken = with_current(|worker| worker.spares.another(of));
    taken.unwrap_or_else(|| Arc::clone(of))
}

/// Has this worker keep a reference that a message has held, for the next one ([`take_spare`]);
/// other threads keep none. Only for what sees to it that the workers
/// [let go](crate::Direct::let_go) of it when it ends.
#[inline]
pub fn keep_spare<A: Any + Send + Sync>(spare: Arc<A>) {
    let mut spare = Some(spare);
    with_current(|worker| spare = spare.take().and_then(|spare| worker.spares.keep(spare)));
}

impl Worker {
    /// Lets kept references go, one after the other. What goes with the last one is not motet's:
    /// its panic goes the way of a handler's.
    #[cold]
    pub(super) fn let_go(&self) {
        for spare in self.spares.drain() {
            let queue = Arc::clone(&self.locals.borrow()[self.cursor.get()].queue);
            queue.guarded(|| drop(spare));
        }
    }
}

#[cfg(all(test, not(any(motet_loom, motet_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_is_no_worker_keeps_nothing() {
        let here = Arc::new(1_u32);
        keep_spare(Arc::clone(&here));
        assert_eq!(Arc::strong_count(&here), 1);
        assert_eq!(*take_spare(&here), 1);
    }
}
