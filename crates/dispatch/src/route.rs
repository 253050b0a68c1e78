//! The way of a panic to someone who hears of it.
//!
//! CCR's way: the innermost causalities that hear of panics; if there is none, the queue's handler,
//! else the dispatcher's, else standard error. It is never silent.

use crate::causality::{self, Causalities};
use crate::exception::Exception;
use motet_sync::Mutex;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Someone who is told of panics.
pub(crate) type ExceptionHandler = dyn Fn(Exception) + Send + Sync;

/// The place of one handler, empty at first.
#[derive(Default)]
pub(crate) struct ExceptionRoute(Mutex<Option<Arc<ExceptionHandler>>>);

/// The way of the panics of one queue, shared by all that run code for its sake.
pub(crate) struct Routes {
    queue: Box<str>,
    own: ExceptionRoute,
    /// The dispatcher's, or the replay's.
    above: Arc<ExceptionRoute>,
}

impl Routes {
    /// The way from the queue with this name, which has no handler yet.
    pub(crate) fn new(queue: &str, above: &Arc<ExceptionRoute>) -> Arc<Self> {
        Arc::new(Routes {
            queue: queue.into(),
            own: ExceptionRoute::default(),
            above: Arc::clone(above),
        })
    }

    /// The queue's name.
    pub(crate) fn queue(&self) -> &str {
        &self.queue
    }

    /// Sets the queue's own handler.
    pub(crate) fn set(&self, handler: Arc<ExceptionHandler>) {
        self.own.set(handler);
    }

    pub(crate) fn raise(&self, exception: Exception) {
        route(exception, &self.queue, &[&self.own, &self.above]);
    }

    /// As [`guarded`], for the sake of the queue.
    pub(crate) fn guarded(&self, body: impl FnOnce()) {
        guarded(&self.queue, &[&self.own, &self.above], body);
    }
}

impl ExceptionRoute {
    pub(crate) fn set(&self, handler: Arc<ExceptionHandler>) {
        let before = self.0.lock().replace(handler);
        // Outside the lock: its destructor is the program's.
        drop(before);
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

/// Runs code that is not motet's, or holds such; its panic goes the way of a handler's of `queue`.
pub(crate) fn guarded(queue: &str, routes: &[&ExceptionRoute], body: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(body)) {
        route(Exception::new(payload, queue), queue, routes);
    }
}

/// Tells those causalities that hear of panics of what was active where the panic began. If there
/// are none, tells the first of `routes` that has a handler, else standard error.
pub(crate) fn route(exception: Exception, queue: &str, routes: &[&ExceptionRoute]) {
    route_under(exception, &causality::failed(), queue, routes);
}

/// As [`route`], for a panic that began under `causalities`. Tells each of the innermost of them
/// that hear of panics. One that hands the exception back, or panics itself, is left out: those
/// outside of it are told of what it leaves.
pub(crate) fn route_under(
    exception: Exception,
    causalities: &Causalities,
    queue: &str,
    routes: &[&ExceptionRoute],
) {
    let hearers = causalities.hearers();
    let copies = hearers.iter().skip(1).map(|_| exception.duplicate());
    let mut copies: Vec<Exception> = copies.collect();
    copies.push(exception);
    if hearers.is_empty() {
        return copies
            .into_iter()
            .for_each(|exception| tell_handlers(exception, queue, routes));
    }
    // The original, which stands last, goes to the first.
    for (hearer, mut exception) in hearers.iter().zip(copies.into_iter().rev()) {
        let outside = causalities.outside_of(hearer);
        exception.set_causality(Some(hearer.name()));
        let heard = catch_unwind(AssertUnwindSafe(|| {
            causality::within(outside.clone(), || hearer.hear(exception))
        }));
        let left = match heard {
            Ok(Ok(())) => continue,
            Ok(Err(exception)) => exception,
            Err(payload) => Exception::new(payload, queue),
        };
        causality::forget_failure();
        route_under(left, &outside, queue, routes);
    }
}

/// Tells the first of `routes` that has a handler, else standard error. A handler that panics is
/// itself reported there.
fn tell_handlers(mut exception: Exception, queue: &str, routes: &[&ExceptionRoute]) {
    exception.set_causality(None);
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
        causality::forget_failure();
        report(&Exception::new(payload, queue));
    }
}

/// The end of the route: nobody asked to be told.
fn report(exception: &Exception) {
    let why = "no exception handler is set; see on_exception";
    tell_standard_error(&format!("{exception} ({why})"));
}

/// Writes a line to standard error, at once, so that what other threads write there does not cut
/// it. If that is closed the line is lost: `eprintln` would panic, and end the thread that tells.
pub(crate) fn tell_standard_error(text: &str) {
    let _ = io::stderr().write_all(format!("motet: {text}\n").as_bytes());
}
