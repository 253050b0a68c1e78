//! The scope in which causalities are active.

use super::current;
use super::{Causalities, Causality};
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::thread;

/// A scope with causalities of its own; those outside are active again when it is dropped. Made by
/// [`Causality::enter`] and [`Causalities::enter`]; scopes are left in the opposite order.
///
/// ```compile_fail,E0277
/// fn elsewhere<T: Send>(_: T) {}
/// elsewhere(motet_dispatch::Causality::new("it stays on its thread").enter());
/// ```
#[must_use = "the scope ends when the guard is dropped"]
pub struct Entered {
    outer: Causalities,
    /// A destructor that a panic runs may have scopes of its own, in which nothing goes wrong.
    unwinding: bool,
    stays: PhantomData<*const ()>,
}

impl Entered {
    pub(super) fn new(causalities: Causalities) -> Self {
        let unwinding = thread::panicking();
        if !unwinding {
            current::forget_failure();
        }
        Entered {
            outer: current::replace(causalities),
            unwinding,
            stays: PhantomData,
        }
    }

    /// Leaves the scope; what was active in it.
    pub(super) fn leave(self) -> Causalities {
        let mut entered = ManuallyDrop::new(self);
        current::replace(std::mem::take(&mut entered.outer))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let inner = current::replace(std::mem::take(&mut self.outer));
        if self.unwinding {
            return;
        }
        if thread::panicking() {
            current::fail(inner);
        } else {
            current::forget_failure();
        }
    }
}

impl fmt::Debug for Entered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entered")
            .field("active", &Causality::active())
            .finish_non_exhaustive()
    }
}
