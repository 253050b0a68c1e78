//! Notifications: what subscribers are told.

use crate::weight::length;
use crate::{Contract, StateRef, Verb};
use std::fmt;
use std::sync::Arc;

/// What a subscriber is told. It shares what it carries with the others.
pub struct Notification<C: Contract> {
    /// The version of the state after this.
    pub version: u64,
    /// What has happened.
    pub event: Event<C>,
    /// Set on the first notification after some have been missed: the state was brought, not what
    /// led to it.
    pub reinstated: bool,
    /// What the publisher said to filter by.
    pub(crate) keys: Arc<[String]>,
}

/// What has happened to a service.
pub enum Event<C: Contract> {
    /// This operation has changed the state.
    Operation(Arc<C::Request>),
    /// This is the whole state.
    Replace(StateRef<C::State>),
    /// So many notifications did not find room in the queue of the subscriber, here.
    Lost(u64),
    /// The publisher, or the subscription, has ended: nothing follows.
    Gone,
}

impl<C: Contract> Notification<C> {
    pub(crate) fn new(version: u64, event: Event<C>) -> Self {
        Notification {
            version,
            event,
            reinstated: false,
            keys: Arc::default(),
        }
    }

    /// The operation that has changed the state, if that is what this tells.
    #[must_use]
    pub fn operation(&self) -> Option<&C::Request> {
        match &self.event {
            Event::Operation(request) => Some(request),
            _ => None,
        }
    }

    /// The whole state, if that is what this tells.
    #[must_use]
    pub fn state(&self) -> Option<&StateRef<C::State>> {
        match &self.event {
            Event::Replace(state) => Some(state),
            _ => None,
        }
    }

    /// The keys that the publisher gave to filter by.
    #[must_use]
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// The bytes of what it tells as JSON, and of its keys; `usize::MAX` for what does not fit.
    pub(crate) fn length(&self) -> usize {
        let told = match &self.event {
            Event::Operation(request) => C::length(request),
            Event::Replace(state) => length(&**state),
            Event::Lost(_) | Event::Gone => 0,
        };
        let keys = self.keys.iter().map(String::len);
        keys.fold(told, usize::saturating_add)
    }

    /// The name of the operation; `replace`, `lost`, `gone` for what is none.
    #[must_use]
    pub fn name(&self) -> &'static str {
        let [name, _] = self.words();
        name
    }

    /// The words by which a filter lets it through: its name, and its verb.
    pub(crate) fn words(&self) -> [&'static str; 2] {
        match &self.event {
            Event::Operation(request) => {
                let operation = C::operation(request);
                [operation.name, operation.verb.word()]
            }
            Event::Replace(_) => ["replace", Verb::Replace.word()],
            Event::Lost(_) => ["lost"; 2],
            Event::Gone => ["gone", Verb::Drop.word()],
        }
    }
}

impl<C: Contract> Clone for Notification<C> {
    fn clone(&self) -> Self {
        Notification {
            version: self.version,
            event: self.event.clone(),
            reinstated: self.reinstated,
            keys: Arc::clone(&self.keys),
        }
    }
}

impl<C: Contract> Clone for Event<C> {
    fn clone(&self) -> Self {
        match self {
            Event::Operation(request) => Event::Operation(Arc::clone(request)),
            Event::Replace(state) => Event::Replace(state.clone()),
            Event::Lost(count) => Event::Lost(*count),
            Event::Gone => Event::Gone,
        }
    }
}

impl<C: Contract> fmt::Debug for Event<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Operation(request) => f.debug_tuple("Operation").field(request).finish(),
            Event::Replace(_) => f.write_str("Replace(..)"),
            Event::Lost(count) => f.debug_tuple("Lost").field(count).finish(),
            Event::Gone => f.write_str("Gone"),
        }
    }
}

impl<C: Contract> fmt::Debug for Notification<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notification")
            .field("version", &self.version)
            .field("event", &self.event)
            .field("reinstated", &self.reinstated)
            .finish_non_exhaustive()
    }
}
