//! What a subscriber gets.

use crate::{Gap, Key, PeerName};
use std::ops::Deref;
use std::sync::Arc;

/// A published value, and where it comes from.
#[derive(Debug)]
pub struct Sample<T> {
    /// The value. Subscribers of the publisher's own process share it.
    pub value: Arc<T>,
    /// The key of the topic.
    pub key: Key,
    /// The node that published it.
    pub publisher: PeerName,
    /// Its number: the publications of a topic are numbered from 1.
    pub number: u64,
    /// It was published before this subscriber came.
    pub retained: bool,
    /// The numbers before this one that this subscriber has missed.
    pub gap: Option<Gap>,
}

impl<T> Clone for Sample<T> {
    fn clone(&self) -> Self {
        Sample {
            value: Arc::clone(&self.value),
            key: self.key.clone(),
            publisher: self.publisher.clone(),
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
