//! What keeps the branches of a choice, which hold their ports, until it is registered.

use super::{Core, HeldBranches};
use crate::activation::Active;
use motet_sync::atomic::Ordering;
use std::fmt;
use std::sync::Arc;

/// Keeps the branches of a choice that anyone may register.
pub struct Kept(Arc<dyn Release>);

/// Something that holds branches.
pub(super) trait Release: Send + Sync {
    /// Lets them go.
    fn release(&self);
}

/// Registers a choice that nobody else registers, and keeps its branches until then.
pub(super) struct Registration<H: HeldBranches> {
    held: H,
    core: Arc<Core<H>>,
}

impl Kept {
    pub(super) fn new(holder: Arc<dyn Release>) -> Self {
        Kept(holder)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl<H: HeldBranches> Registration<H> {
    pub(super) fn new(core: Arc<Core<H>>, held: H) -> Self {
        Registration { held, core }
    }

    pub(super) fn run(mut self) {
        // Relaxed: nobody is misled by an old answer.
        self.core.is_held.store(false, Ordering::Relaxed);
        if self.core.is_active() {
            self.core.register_all(&mut self.held);
        }
    }
}

impl<H: HeldBranches> Drop for Registration<H> {
    fn drop(&mut self) {
        // Also if it was never run.
        self.core.is_held.store(false, Ordering::Relaxed);
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}
