//! What a waiting async task asks of its worker; see [`SpinWait`](crate::SpinWait).

use super::Worker;
use crate::inline;
use motet_sync::offer_core;
use std::task::Context;
use std::time::Instant;

impl Worker {
    /// Whether this worker could run something else now.
    #[inline]
    pub(crate) fn has_other_work(&self) -> bool {
        !self.is_current() || self.has_own_work()
    }

    /// The task being polled gets another turn after its poll, if `cx` is its own context.
    #[inline]
    pub(crate) fn poll_again(&self, cx: &Context<'_>) -> bool {
        // An inline task runs inside another task; it has no turns of its own.
        let own = self.polling.get() == cx.waker().data() && !inline::is_running();
        if own {
            self.again.set(true);
        }
        own
    }

    /// A poll found nothing to do. When nothing but such polls happens, the core is offered to
    /// others.
    #[inline]
    pub(crate) fn fruitless(&self) {
        /// About as many polls as fit into `Backoff::SPIN`.
        const PATIENCE: u32 = 256;
        self.fruitless.set(self.fruitless.get() + 1);
        if self.fruitless.get() > PATIENCE && !self.is_patient() {
            offer_core(Instant::now());
        }
    }

    /// Whether waits keep the core because someone is being woken.
    #[inline]
    pub(crate) fn is_patient(&self) -> bool {
        let Some(until) = self.patient_until.get() else {
            return false;
        };
        let patient = Instant::now() < until;
        if !patient {
            self.patient_until.set(None);
        }
        patient
    }

    /// A poll got what it waited for.
    #[inline]
    pub(crate) fn fruitful(&self) {
        self.fruitless.set(0);
    }

    #[inline]
    pub(super) fn polling(&self, data: *const (), poll: &mut impl FnMut()) -> bool {
        /// The task around the one being polled, and whether it has been promised another turn. A
        /// poll may poll another task, on an inline queue or by `spawn_here`, and that may panic.
        struct Outer<'a>(&'a Worker, *const (), bool);
        impl Drop for Outer<'_> {
            fn drop(&mut self) {
                self.0.polling.set(self.1);
                self.0.again.set(self.2);
            }
        }
        let _outer = Outer(self, self.polling.replace(data), self.again.replace(false));
        poll();
        self.again.get()
    }
}
