//! The state of a service.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::ops::{Deref, DerefMut};
use triomphe::Arc;

/// What a state can be: implemented by every type that has what it asks for. The attribute
/// [`data`](crate::data) derives all of it but `Default`.
pub trait StateType:
    Clone + Default + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static
{
}

impl<S> StateType for S where
    S: Clone + Default + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static
{
}

/// The state of a service: everything about it that others can observe.
///
/// Snapshots are shared: [`State::snapshot`] copies nothing. A change copies the state only while a
/// snapshot is out. It is noted, so that the runtime knows when there is something to tell and to
/// store.
///
/// ```
/// use motet_service::State;
///
/// let mut state = State::new(vec![1, 2]);
/// let before = state.snapshot();
/// state.push(3);
/// assert_eq!((before.len(), state.len()), (2, 3));
/// ```
pub struct State<S> {
    value: StateRef<S>,
    changed: bool,
}

/// A state that is shared: to clone this copies nothing. As an [`Arc`](std::sync::Arc) without weak
/// references, which takes less time to ask whether others share it.
#[derive(PartialEq, Eq)]
pub struct StateRef<S>(Arc<S>);

impl<S: Clone> State<S> {
    /// A state that has not changed yet.
    #[must_use]
    pub fn new(value: S) -> Self {
        Self::of(StateRef::from(value))
    }

    pub(crate) fn of(value: StateRef<S>) -> Self {
        State {
            value,
            changed: false,
        }
    }

    /// The state as it is now, for whoever wants to keep it.
    #[must_use]
    pub fn snapshot(&self) -> StateRef<S> {
        self.value.clone()
    }

    /// Replaces all of it.
    pub fn set(&mut self, value: S) {
        self.value = StateRef::from(value);
        self.changed = true;
    }

    /// Whether it has been changed since this was asked.
    pub(crate) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Whether it has been changed since [`State::take_changed`] was asked.
    pub(crate) fn has_changed(&self) -> bool {
        self.changed
    }

    /// Back to a snapshot.
    pub(crate) fn restore(&mut self, snapshot: StateRef<S>) {
        self.value = snapshot;
        self.changed = false;
    }
}

impl<S> Deref for State<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.value
    }
}

impl<S: Clone> DerefMut for State<S> {
    fn deref_mut(&mut self) -> &mut S {
        self.changed = true;
        Arc::make_mut(&mut self.value.0)
    }
}

impl<S: Clone + Default> Default for State<S> {
    fn default() -> Self {
        State::new(S::default())
    }
}

impl<S: fmt::Debug> fmt::Debug for State<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<S> StateRef<S> {
    /// Whether nobody else shares it.
    #[must_use]
    pub fn is_unique(&self) -> bool {
        self.0.is_unique()
    }
}

impl<S> From<S> for StateRef<S> {
    fn from(value: S) -> Self {
        StateRef(Arc::new(value))
    }
}

impl<S> Deref for StateRef<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.0
    }
}

impl<S> Clone for StateRef<S> {
    fn clone(&self) -> Self {
        StateRef(Arc::clone(&self.0))
    }
}

impl<S: fmt::Debug> fmt::Debug for StateRef<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
