//! FromHandler: a handler that runs without reading any port.

use motet_dispatch::{Enqueue, QueueError, Task, spawn};
use std::fmt;
use std::future::Future;
use std::sync::Arc;

/// Starts a handler without reading any port (papers R022).
///
/// ```
/// use motet_dispatch::Inline;
/// use motet_ports::{FromHandler, Port};
///
/// let port = Port::new();
/// let poster = port.clone();
/// FromHandler::new(move || poster.post("started").unwrap()).activate(&Inline::new("here")).unwrap();
/// assert_eq!(port.test(), Some("started"));
/// ```
#[must_use = "a handler does nothing until it is activated"]
pub struct FromHandler(Box<Start>);

/// Queues the handler.
type Start = dyn FnOnce(&dyn Enqueue) -> Result<(), QueueError> + Send;

impl FromHandler {
    /// Runs `handler` once.
    pub fn new(handler: impl FnOnce() + Send + 'static) -> Self {
        FromHandler(Box::new(|queue| {
            queue
                .enqueue(Task::new(handler))
                .map_err(|refused| refused.reason)
        }))
    }

    /// Runs the future that `handler` returns; while it waits it holds no thread.
    pub fn new_async<Fut>(handler: impl FnOnce() -> Fut + Send + 'static) -> Self
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        FromHandler(Box::new(|queue| {
            let handle: Arc<dyn Enqueue> = queue.handle();
            // The handler itself runs on the queue, not here.
            spawn(&handle, async move { handler().await }).map_err(|refused| refused.reason)
        }))
    }

    /// Queues the handler.
    ///
    /// # Errors
    /// [`QueueError`] when the queue is full or stopped.
    pub fn activate(self, queue: &impl Enqueue) -> Result<(), QueueError> {
        (self.0)(queue)
    }
}

impl fmt::Debug for FromHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FromHandler").finish_non_exhaustive()
    }
}
