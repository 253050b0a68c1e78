//! The waiting list of the thread that runs: its dispatcher's, or that of the replay which runs
//! there.

use super::{WaitRegistry, Waiter};
use std::cell::RefCell;
use std::panic::Location;
use std::sync::{Arc, Weak};

/// Where those who wait in a task of this thread are entered.
pub(crate) struct Here {
    pub(crate) registry: Arc<WaitRegistry>,
    /// Of the worker.
    pub(crate) index: Option<usize>,
}

motet_sync::thread_local! {
    static HERE: RefCell<Option<Here>> = const { RefCell::new(None) };
}

impl Here {
    /// Makes it the place of this thread; gives back what was before: one may run inside a task of
    /// another.
    pub(crate) fn replace(here: Option<Here>) -> Option<Here> {
        HERE.with(|current| current.replace(here))
    }
}

/// Enters someone who waits in a task of this thread into the waiting list of the thread's
/// dispatcher, or of the replay that runs here. Elsewhere it does nothing. `created` is where the
/// wait was written.
pub fn watch_here(waiter: Weak<dyn Waiter>, created: &'static Location<'static>) {
    HERE.with(|current| {
        if let Some(here) = &*current.borrow() {
            here.registry.enter(here.index, waiter, created);
        }
    });
}
