//! A thread that works for one owner.

use crate::Mutex;
use crate::thread::{self, JoinHandle};
use std::{fmt, io};

/// A thread that its owner waits for, once he has told it to end.
///
/// ```
/// use motet_sync::{Arc, Mutex, OwnedThread};
///
/// let count = Arc::new(Mutex::new(0));
/// let own = Arc::clone(&count);
/// let thread = OwnedThread::spawn("counts", move || *own.lock() += 1).unwrap();
/// thread.join();
/// assert_eq!(*count.lock(), 1);
/// ```
pub struct OwnedThread(Mutex<Option<JoinHandle<()>>>);

impl OwnedThread {
    /// Starts it, with this name.
    ///
    /// # Errors
    /// The operating system's reason when it refuses another thread.
    pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let started = thread::spawn_named(name, body)?;
        Ok(OwnedThread(Mutex::new(Some(started))))
    }

    /// Waits until it has ended; only the first call does. A call on the thread itself, by what it
    /// has called, does not wait: it would do so for ever.
    pub fn join(&self) {
        let thread = self.0.lock().take();
        let own = thread::current().id();
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != own) {
            // What it panicked of has been told on standard error.
            drop(thread.join());
        }
    }
}

impl fmt::Debug for OwnedThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedThread").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(motet_loom, motet_shuttle))))]
mod tests {
    use super::*;
    use crate::Arc;
    use std::sync::mpsc::channel;

    #[test]
    fn a_thread_that_ends_its_owner_does_not_wait_for_itself() {
        let ((give, given), (tell, told)) = (channel::<Arc<OwnedThread>>(), channel());
        let body = move || {
            given.recv().unwrap().join();
            tell.send(()).unwrap();
        };
        let thread = Arc::new(OwnedThread::spawn("own", body).unwrap());
        give.send(thread).unwrap();
        assert_eq!(told.recv(), Ok(()));
    }

    #[test]
    fn a_thread_that_has_panicked_has_ended() {
        let thread = OwnedThread::spawn("panics", || panic!("it is told")).unwrap();
        thread.join();
        thread.join();
    }
}
