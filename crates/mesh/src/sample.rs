//! What a subscriber gets.

use crate::{Gap, Key, PeerName};
use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A published value, and where it comes from.
///
/// Its handler runs under the causalities that it was published under. Of a sample of another node
/// these are new ones with the same names, which nothing cancels. They end when the last clone of
/// the sample is dropped. What is retained, and what comes from a log, has none.
pub struct Sample<T> {
    /// The value. Subscribers of the publisher's own process share it.
    pub value: Arc<T>,
    /// Its number: the publications of a topic are numbered from 1.
    pub number: u64,
    /// It was published before this subscriber came.
    pub retained: bool,
    /// The numbers before this one that this subscriber has missed.
    pub gap: Option<Gap>,
    pub(crate) origin: Arc<SampleOrigin>,
    /// What ends with the last clone of the sample: the causalities that were made for it. With
    /// [`Ack::Handled`](crate::Ack::Handled) it is accepted then.
    pub(crate) handled: Option<Arc<dyn Any + Send + Sync>>,
}

/// What all samples of a topic have in common.
#[derive(Debug)]
pub(crate) struct SampleOrigin {
    pub(crate) key: Key,
    pub(crate) publisher: PeerName,
}

impl<T> Sample<T> {
    /// The key of the topic.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.origin.key
    }

    /// The node that published it.
    #[must_use]
    pub fn publisher(&self) -> &PeerName {
        &self.origin.publisher
    }
}

impl<T> Clone for Sample<T> {
    fn clone(&self) -> Self {
        Sample {
            value: Arc::clone(&self.value),
            origin: Arc::clone(&self.origin),
            handled: self.handled.clone(),
            ..*self
        }
    }
}

impl<T> Deref for Sample<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Sample<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sample")
            .field("value", &self.value)
            .field("key", self.key())
            .field("publisher", self.publisher())
            .field("number", &self.number)
            .field("retained", &self.retained)
            .field("gap", &self.gap)
            .finish_non_exhaustive()
    }
}
