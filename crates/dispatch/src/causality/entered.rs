//! The scope in which causalities are active.

use super::Causalities;
use super::current;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::thread;

/// A scope with causalities of its own; those outside are active again when it is dropped. Scopes
/// must be left in the opposite order, so the guard is not given away. Outside of this module
/// scopes are calls and polls, which nest.
#[must_use = "the scope ends when the guard is dropped"]
pub(super) struct Entered {
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
