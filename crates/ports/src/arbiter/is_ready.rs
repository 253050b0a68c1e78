//! The branch that waits for an item and leaves it where it is.

use crate::activation::{Active, Attach};
use crate::arbiter::port_place::{Placed, PortPlace};
use crate::outlet::Outlet;
use crate::port::Port;
use crate::receiver::{Offer, Receiver, Verdict};
use motet_dispatch::{Awaited, Task, Waiter};
use motet_sync::Mutex;
use std::sync::Arc;

/// Runs a handler once, when an item is there, which it leaves in the port.
pub(crate) struct IsReady<T: Send + 'static> {
    port: Port<T>,
    /// Made beforehand: a post allocates for its own item only.
    task: Task,
}

struct Core<T: Send + 'static> {
    place: PortPlace<T, Self>,
    task: Mutex<Option<Task>>,
}

impl<T: Send + 'static> IsReady<T> {
    pub(crate) fn new(port: &Port<T>, handler: impl FnOnce() + Send + 'static) -> Self {
        IsReady {
            port: port.clone(),
            task: Task::new(handler),
        }
    }
}

impl<T: Send + 'static> Attach for IsReady<T> {
    type Ports = Port<T>;

    fn attach(self, outlet: Outlet) -> (Arc<dyn Active>, Port<T>) {
        let IsReady { port, task } = self;
        let core = Arc::new_cyclic(|this| Core {
            place: PortPlace::new(this, &port, true, outlet),
            task: Mutex::new(Some(task)),
        });
        (core, port)
    }

    fn is_once(&self) -> bool {
        true
    }
}

impl<T: Send + 'static> Receiver<T> for Core<T> {
    fn offer(&self, offer: &mut Offer<'_, T>) -> Verdict {
        if !self.place.is_open() {
            offer.leave_port();
            return Verdict::Reject;
        }
        if let Err(verdict) = offer.claim(self.place.outlet()) {
            return verdict;
        }
        self.place.taken(offer);
        if let Some(task) = self.task.lock().take() {
            offer.send(self.place.outlet(), task);
        }
        Verdict::Reject
    }

    fn ended(&self) {
        self.place.ended();
    }
}

impl<T: Send + 'static> Waiter for Core<T> {
    fn awaits(&self) -> Option<Awaited> {
        self.place.awaits("ready")
    }
}

impl<T: Send + 'static> Placed for Core<T> {
    type Item = T;

    fn place(&self) -> &PortPlace<T, Self> {
        &self.place
    }
}
