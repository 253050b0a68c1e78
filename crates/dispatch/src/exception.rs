//! Panics of tasks: caught, described, routed, never silent.
//!
//! The route is CCR's: the queue's handler if it has one, else the dispatcher's, else standard
//! error. (Causalities, which come before all of them, are not part of this crate.)

use motet_sync::Mutex;
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A panic that ended a task.
pub struct Exception {
    message: String,
    queue: String,
    payload: Box<dyn Any + Send>,
}

impl Exception {
    /// Describes the panic `payload` of a task of `queue`.
    #[must_use]
    pub fn new(payload: Box<dyn Any + Send>, queue: &str) -> Self {
        let message = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a panic whose payload is not text".to_owned());
        Exception {
            message,
            queue: queue.to_owned(),
            payload,
        }
    }

    /// What the panic said.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The name of the queue whose task panicked.
    #[must_use]
    pub fn queue(&self) -> &str {
        &self.queue
    }

    /// The panic's payload, for [`std::panic::resume_unwind`].
    #[must_use]
    pub fn into_payload(self) -> Box<dyn Any + Send> {
        self.payload
    }
}

impl fmt::Debug for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exception")
            .field("message", &self.message)
            .field("queue", &self.queue)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a handler of queue '{}' panicked: {}",
            self.queue, self.message
        )
    }
}

impl std::error::Error for Exception {}

/// Someone who is told of panics.
pub(crate) type ExceptionHandler = dyn Fn(Exception) + Send + Sync;

/// The place of one handler, empty at first.
#[derive(Default)]
pub(crate) struct ExceptionRoute(Mutex<Option<Arc<ExceptionHandler>>>);

impl ExceptionRoute {
    pub(crate) fn set(&self, handler: Arc<ExceptionHandler>) {
        *self.0.lock() = Some(handler);
    }

    /// Tells the handler, or gives the exception back when there is none.
    fn tell(&self, exception: Exception) -> Result<(), Exception> {
        let handler = self.0.lock().clone();
        match handler {
            Some(handler) => {
                handler(exception);
                Ok(())
            }
            None => Err(exception),
        }
    }
}

/// Tells the first of `routes` that has a handler, else standard error. A handler that panics is
/// itself reported there.
pub(crate) fn route(exception: Exception, queue: &str, routes: &[&ExceptionRoute]) {
    let told = catch_unwind(AssertUnwindSafe(|| {
        let mut unheard = exception;
        for route in routes {
            match route.tell(unheard) {
                Ok(()) => return,
                Err(exception) => unheard = exception,
            }
        }
        report(&unheard);
    }));
    if let Err(payload) = told {
        report(&Exception::new(payload, queue));
    }
}

/// The end of the route: nobody asked to be told. The line is written at once, so that what other
/// threads write there does not cut it.
fn report(exception: &Exception) {
    let line = format!("motet: {exception} (no exception handler is set; see on_exception)\n");
    eprint!("{line}");
}
