//! What is dropped where nobody waits for it: without the interpreter, and in no guard.

use motet_sync::thread::spawn_named;
use motet_sync::thread_local;
use pyo3::prelude::*;
use std::cell::Cell;

thread_local! {
    /// A guard runs on this thread, under the locks of its ports.
    static IN_GUARD: Cell<bool> = const { Cell::new(false) };
}

/// Whether a guard runs on this thread, under the locks of its ports.
pub(crate) fn is_in_guard() -> bool {
    IN_GUARD.get()
}

/// Runs a guard.
pub(crate) fn as_guard<R>(guard: impl FnOnce() -> R) -> R {
    /// Also when the guard panics.
    struct Back(bool);
    impl Drop for Back {
        fn drop(&mut self) {
            IN_GUARD.set(self.0);
        }
    }
    let _back = Back(IN_GUARD.replace(true));
    guard()
}

/// What is dropped without the interpreter: it takes locks, or waits.
pub(crate) struct Outside<T: Send + 'static>(Option<T>);

impl<T: Send + 'static> Outside<T> {
    pub(crate) fn new(inner: T) -> Self {
        Outside(Some(inner))
    }

    pub(crate) fn get(&self) -> &T {
        self.0.as_ref().expect("it is there until the drop")
    }
}

impl<T: Send + 'static> Drop for Outside<T> {
    fn drop(&mut self) {
        let inner = self.0.take();
        if is_in_guard() {
            // The garbage collector may come in a guard, too: locks are held here that this takes.
            drop(spawn_named("motet-drop", move || drop(inner)));
            return;
        }
        // Without an interpreter there is nothing to give away.
        let mut rest = Some(inner);
        Python::try_attach(|py| {
            let inner = rest.take();
            py.detach(|| drop(inner));
        });
    }
}
