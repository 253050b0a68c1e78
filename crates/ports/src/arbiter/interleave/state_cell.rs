//! The state of an interleave, and who has it.
//!
//! The groups decide who may have it: many who read, or one who writes, or the teardown handler.
//! The cell only hands it out, and relies on no group for memory safety. The state lies in an
//! `Arc`, of which each reader has a clone, and a writer the only one. Its lock is held for a few
//! instructions.

use crate::parent::LongPass;
use motet_sync::Mutex;
use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// The state of an interleave for an async concurrent handler, which may keep it over its awaits.
/// The handler counts as running until its future has ended and this has been dropped.
pub struct SharedState<S> {
    // Dropped before the pass, which lets others in.
    state: Arc<S>,
    _pass: Option<Arc<LongPass>>,
}

/// The state of an interleave for an async exclusive handler, which may keep it over its awaits.
/// The handler counts as running until its future has ended and this has been dropped.
pub struct Exclusive<S> {
    // Dropped before the pass, which lets others in.
    state: Taken<S>,
    _pass: Option<Arc<LongPass>>,
}

/// Where the state lies while nobody writes it; empty while somebody does, and after the teardown.
pub(super) struct StateCell<S>(Mutex<Option<Arc<S>>>);

/// The state in the hands of one writer. It goes back when this is dropped, also by a panic.
pub(super) struct Taken<S> {
    /// There until it is dropped.
    state: Option<Arc<S>>,
    home: Arc<StateCell<S>>,
}

impl<S> StateCell<S> {
    pub(super) fn new(state: S) -> Arc<Self> {
        Arc::new(StateCell(Mutex::new(Some(Arc::new(state)))))
    }

    /// For one of several readers.
    pub(super) fn share(&self) -> Arc<S> {
        let state = self.0.lock().clone();
        state.expect("the groups keep readers apart from writers")
    }

    /// For one writer.
    pub(super) fn take(self: &Arc<Self>) -> Taken<S> {
        let state = self.0.lock().take();
        assert!(state.is_some(), "the groups keep writers apart");
        Taken {
            state,
            home: Arc::clone(self),
        }
    }

    /// For the teardown handler: nobody gets it any more.
    pub(super) fn take_out(&self) -> S {
        let state = self.0.lock().take();
        let state = state.and_then(Arc::into_inner);
        state.expect("the groups leave the teardown handler alone")
    }
}

impl<S> Deref for Taken<S> {
    type Target = S;

    fn deref(&self) -> &S {
        self.state.as_ref().expect("there until it is dropped")
    }
}

impl<S> DerefMut for Taken<S> {
    fn deref_mut(&mut self) -> &mut S {
        let state = self.state.as_mut().and_then(Arc::get_mut);
        state.expect("the groups keep readers apart from writers")
    }
}

impl<S> Drop for Taken<S> {
    fn drop(&mut self) {
        let before = mem::replace(&mut *self.home.0.lock(), self.state.take());
        debug_assert!(before.is_none(), "there is one state");
    }
}

impl<S> SharedState<S> {
    pub(super) fn new(state: Arc<S>, pass: Option<Arc<LongPass>>) -> Self {
        SharedState { state, _pass: pass }
    }
}

impl<S> Deref for SharedState<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.state
    }
}

impl<S> Exclusive<S> {
    pub(super) fn new(state: Taken<S>, pass: Option<Arc<LongPass>>) -> Self {
        Exclusive { state, _pass: pass }
    }
}

impl<S> Deref for Exclusive<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.state
    }
}

impl<S> DerefMut for Exclusive<S> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.state
    }
}

impl<S: fmt::Debug> fmt::Debug for SharedState<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedState").field(&**self).finish()
    }
}

impl<S: fmt::Debug> fmt::Debug for Exclusive<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Exclusive").field(&**self).finish()
    }
}
