//! From an arbiter that has been built to one that is at work.

use crate::outlet::Outlet;
use motet_dispatch::{Enqueue, QueueError, Task};
use std::fmt;
use std::sync::Arc;

/// An arbiter at work, or done. Dropping it changes nothing; the arbiter goes on.
#[derive(Clone)]
pub struct Activation(Arc<dyn Active>);

/// What an arbiter answers for while it is at work.
pub(crate) trait Active: Send + Sync {
    /// Registers the arbiter's receivers on their ports.
    fn register(&self);

    /// Takes them off again; nothing new starts.
    fn cleanup(&self);

    /// Whether the arbiter can still take items.
    fn is_active(&self) -> bool;
}

/// An arbiter that has been built and is not at work yet: alone, or a branch of another.
pub(crate) trait Attach: Sized {
    /// Keeps the ports until the arbiter is registered on them.
    type Ports: Send + 'static;

    /// Makes what goes to work, with its tasks sent through `outlet`.
    fn attach(self, outlet: Outlet) -> (Arc<dyn Active>, Self::Ports);

    /// Whether it takes items once only.
    #[allow(dead_code, reason = "for arbiters above others")]
    fn is_once(&self) -> bool;
}

impl Activation {
    /// Queues the registration on `queue`. It happens when the task runs, so a suspended queue
    /// delays it; items posted meanwhile wait in their ports, which are kept until then.
    pub(crate) fn start(arbiter: impl Attach, queue: &dyn Enqueue) -> Result<Self, QueueError> {
        let (arbiter, ports) = arbiter.attach(Outlet::to(queue));
        let starter = Arc::clone(&arbiter);
        queue.reserve()?;
        queue.admit_kept(Task::new(move || {
            if starter.is_active() {
                starter.register();
            }
            drop(ports);
        }));
        Ok(Activation(arbiter))
    }

    /// Takes the arbiter off its ports: it accepts nothing more. Handlers that have been queued
    /// still run. Also works before the registration has happened.
    pub fn cleanup(&self) {
        self.0.cleanup();
    }

    /// Whether the arbiter can still accept items: `false` once a one-time arbiter has accepted,
    /// and after [`Activation::cleanup`].
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.0.is_active()
    }
}

impl fmt::Debug for Activation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Activation")
            .field("active", &self.is_active())
            .finish_non_exhaustive()
    }
}
