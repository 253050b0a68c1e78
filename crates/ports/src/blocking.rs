//! Blocking waits, for threads that run no tasks: a program's main thread, a test, a foreign
//! library.

use crate::error::BlockingError;
use crate::port::Port;
use motet_dispatch::{InsideTask, inside_task};
use std::future::Future;
use std::time::Duration;

/// Blocks the thread until `future` completes: a [`Reply`](crate::Reply), a
/// [`Recv`](crate::Recv), or any future.
///
/// # Errors
/// [`BlockingError::InsideTask`] on a thread that runs a task of a dispatcher or of an `Inline`,
/// where waiting could wait for itself: await there. The future is dropped then.
///
/// ```
/// use motet_ports::{Port, wait_blocking};
///
/// let port = Port::new();
/// port.post(7).unwrap();
/// assert_eq!(wait_blocking(port.recv()), Ok(7));
/// ```
pub fn wait_blocking<F: Future>(future: F) -> Result<F::Output, BlockingError> {
    outside_task()?;
    Ok(motet_sync::block_on(future))
}

/// Like [`wait_blocking`], but not longer than `limit`. What is ready at once is got also with a
/// limit of zero.
///
/// # Errors
/// [`BlockingError::Elapsed`] when the time is up, and as [`wait_blocking`]. The future is dropped
/// then; what that means it says itself (a receive loses no item).
pub fn wait_blocking_for<F: Future>(
    future: F,
    limit: Duration,
) -> Result<F::Output, BlockingError> {
    outside_task()?;
    motet_sync::block_on_for(future, limit).ok_or(BlockingError::Elapsed)
}

/// # Waiting on a thread of one's own
///
/// For threads that run no tasks. On a worker of a dispatcher these are errors at once, whatever
/// waits in the port. A handler that would hold its thread there should be async and await
/// [`Port::recv`]. They take their turn among the other receivers as awaited receives do.
impl<T: Send + 'static> Port<T> {
    /// Blocks the thread until there is an item, and takes it.
    ///
    /// # Errors
    /// [`BlockingError::InsideTask`] on a thread that runs a task, and [`BlockingError::Closed`] at
    /// the end of a closed port.
    ///
    /// ```
    /// use motet_dispatch::{Dispatcher, QueueConfig};
    /// use motet_ports::{FromHandler, Port};
    ///
    /// let dispatcher = Dispatcher::new(1);
    /// let port = Port::new();
    /// let poster = port.clone();
    /// FromHandler::new(move || poster.post("hello").unwrap())
    ///     .activate(&dispatcher.queue(QueueConfig::default()))
    ///     .unwrap();
    /// assert_eq!(port.recv_blocking(), Ok("hello"));
    /// ```
    pub fn recv_blocking(&self) -> Result<T, BlockingError> {
        Ok(wait_blocking(self.recv().or_closed())??)
    }

    /// Blocks the thread until there is an item, and takes it; not longer than `limit`.
    ///
    /// # Errors
    /// [`BlockingError::Elapsed`] when the time is up, [`BlockingError::InsideTask`] on a thread
    /// that runs a task, [`BlockingError::Closed`] at the end of a closed port. No item is lost.
    pub fn recv_blocking_for(&self, limit: Duration) -> Result<T, BlockingError> {
        Ok(wait_blocking_for(self.recv().or_closed(), limit)??)
    }

    /// Blocks the thread until an item waits in the port, and leaves it there.
    ///
    /// # Errors
    /// As [`Port::recv_blocking`].
    pub fn ready_blocking(&self) -> Result<(), BlockingError> {
        Ok(wait_blocking(self.ready().or_closed())??)
    }

    /// Blocks the thread until an item waits in the port, and leaves it there; not longer than
    /// `limit`.
    ///
    /// # Errors
    /// As [`Port::recv_blocking_for`].
    pub fn ready_blocking_for(&self, limit: Duration) -> Result<(), BlockingError> {
        Ok(wait_blocking_for(self.ready().or_closed(), limit)??)
    }
}

fn outside_task() -> Result<(), BlockingError> {
    if inside_task() {
        return Err(InsideTask.into());
    }
    Ok(())
}
