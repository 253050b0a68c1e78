//! Exceptions as items: a port that receives the panics of a queue's or dispatcher's tasks.

use crate::Port;
use motet_dispatch::{Dispatcher, DispatcherQueue, Exception, Inline, Replay, ReplayQueue};

/// Those who can post their tasks' panics to a port.
///
/// ```
/// use motet_dispatch::{Enqueue, Inline, Task};
/// use motet_ports::ExceptionPort;
///
/// let queue = Inline::new("fragile");
/// let exceptions = queue.exception_port();
/// queue.enqueue(Task::new(|| panic!("out of tune"))).unwrap();
/// let exception = exceptions.test().unwrap();
/// assert_eq!((exception.message(), exception.queue()), ("out of tune", "fragile"));
/// ```
pub trait ExceptionPort {
    /// Makes a port that receives all panics of tasks from now on; it takes the place of an
    /// earlier handler. An exception that the port cannot take goes to standard error.
    fn exception_port(&self) -> Port<Exception>;
}

impl ExceptionPort for DispatcherQueue {
    fn exception_port(&self) -> Port<Exception> {
        let (port, handler) = port_and_handler();
        self.on_exception(handler);
        port
    }
}

impl ExceptionPort for Dispatcher {
    fn exception_port(&self) -> Port<Exception> {
        let (port, handler) = port_and_handler();
        self.on_exception(handler);
        port
    }
}

impl ExceptionPort for Inline {
    fn exception_port(&self) -> Port<Exception> {
        let (port, handler) = port_and_handler();
        self.on_exception(handler);
        port
    }
}

impl ExceptionPort for Replay {
    fn exception_port(&self) -> Port<Exception> {
        let (port, handler) = port_and_handler();
        self.on_exception(handler);
        port
    }
}

impl ExceptionPort for ReplayQueue {
    fn exception_port(&self) -> Port<Exception> {
        let (port, handler) = port_and_handler();
        self.on_exception(handler);
        port
    }
}

fn port_and_handler() -> (Port<Exception>, impl Fn(Exception) + Send + Sync + 'static) {
    let port = Port::new();
    let poster = port.clone();
    (port, move |exception| {
        if let Err(refused) = poster.post(exception) {
            eprintln!("motet: {} (not posted: {})", refused.item, refused.reason);
        }
    })
}
