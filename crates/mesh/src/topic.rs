//! Topics: what a node publishes, and the flows to those who subscribe.

use crate::flow::Hub;
use crate::publishing::{Lost, Published, Publishing};
use crate::{Key, PublishError, PublishRefusal, Qos, SubscriberInfo};
use motet_ports::{Port, reply};
use serde::Serialize;
use std::fmt;
use std::sync::{Arc, Weak};

/// Publishes samples under one key. Clones are the same topic; with the last one it ends, once all
/// that waits for subscribers has been accepted.
pub struct Topic<T: Send + Sync + 'static> {
    shared: Arc<Publishing<T>>,
    handle: Arc<Handle>,
}

/// Ends the topic with the last of its clones.
struct Handle {
    topic: u32,
    hub: Weak<dyn Hub>,
}

impl<T: Send + Sync + 'static> Topic<T> {
    pub(crate) fn new(hub: &Arc<dyn Hub>, id: u32, key: Key, qos: Qos) -> Self
    where
        T: Serialize,
    {
        let shared = Arc::new(Publishing::new(hub, id, key, qos));
        let handle = Arc::new(Handle {
            topic: id,
            hub: Arc::downgrade(hub),
        });
        Topic { shared, handle }
    }

    pub(crate) fn shared(&self) -> Arc<Publishing<T>> {
        Arc::clone(&self.shared)
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &Key {
        self.shared.key()
    }

    /// Publishes a value to all who subscribe now. Does not wait.
    ///
    /// # Errors
    /// [`PublishError`] hands the value back, and nobody has got it. A subscriber of a topic that
    /// is not [`Latest`](crate::Class::Latest) has no room, the value cannot be written, or the
    /// node has left.
    pub fn publish(&self, value: T) -> Result<Published, PublishError<T>> {
        self.shared.publish(value, None)
    }

    /// Publishes a value, once every subscriber has room for it.
    ///
    /// # Cancellation
    /// Dropping the future drops the value, if it still waits; else it is published.
    ///
    /// # Errors
    /// [`PublishError`], but never for want of room.
    pub async fn publish_wait(&self, value: T) -> Result<Published, PublishError<T>> {
        // Only one that is refused needs somebody who waits.
        let mut value = match self.shared.publish(value, None) {
            Err(PublishError {
                value,
                reason: PublishRefusal::Full { .. },
            }) => value,
            published => return published,
        };
        loop {
            let (room, has_room) = reply();
            match self.shared.publish(value, Some(room)) {
                Ok(published) => return Ok(published),
                Err(PublishError {
                    value: back,
                    reason: PublishRefusal::Full { .. },
                }) => {
                    value = back;
                    // An error: the topic's state is gone; the next try says why.
                    let _ = has_room.await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Where it is told which samples a subscriber will not get, because it is gone or its link
    /// broke. The last 1024 are kept.
    #[must_use]
    pub fn losses(&self) -> &Port<Lost> {
        self.shared.losses()
    }

    /// Who subscribes, and how far each of them is.
    #[must_use]
    pub fn subscribers(&self) -> Vec<SubscriberInfo> {
        self.shared.subscribers()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Some(hub) = self.hub.upgrade() {
            hub.end_topic(self.topic);
        }
    }
}

impl<T: Send + Sync + 'static> Clone for Topic<T> {
    fn clone(&self) -> Self {
        Topic {
            shared: Arc::clone(&self.shared),
            handle: Arc::clone(&self.handle),
        }
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for Topic<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (published, subscribers) = self.shared.counts();
        f.debug_struct("Topic")
            .field("key", self.key())
            .field("published", &published)
            .field("subscribers", &subscribers)
            .finish_non_exhaustive()
    }
}
