//! Topics: what a node publishes, and the flows to those who subscribe.

use crate::flow::Hub;
use crate::log::LogWriter;
use crate::publishing::{Lost, Published, Publishing, TopicLog};
use crate::{Key, LogInfo, PublishError, PublishRefusal, Qos, SubscriberInfo};
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
    pub(crate) fn new(
        hub: &Arc<dyn Hub>,
        id: u32,
        (key, qos): (Key, Qos),
        log: Option<LogWriter>,
    ) -> Self
    where
        T: Serialize,
    {
        let shared = Arc::new(Publishing::new(hub, id, (key, qos), log));
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

    /// Publishes a value to all who subscribe now. Does not wait, but for the disk where the topic
    /// is [`Durable`](crate::Class::Durable).
    ///
    /// # Errors
    /// [`PublishError`] hands the value back, and nobody has got it. A subscriber of a topic that
    /// is `Reliable` or `Acknowledged` has no room, the value cannot be written, or the node has
    /// left. The log of a durable topic does not take it, or it is published by a task, which must
    /// not wait.
    pub fn publish(&self, value: T) -> Result<Published, PublishError<T>> {
        match self.shared.log() {
            None => self.shared.publish(value, None),
            Some(log) => self.shared.publish_to_log(log, value),
        }
    }

    /// Publishes a value, once every subscriber has room for it. Of a durable topic: ends when the
    /// value is on the disk. Those that wait for that together wait for the disk once.
    ///
    /// # Cancellation
    /// Dropping the future drops the value, if it still waits; else it is published. What was on
    /// its way to the disk is published, too.
    ///
    /// # Errors
    /// [`PublishError`], but never for want of room at a subscriber.
    pub async fn publish_wait(&self, value: T) -> Result<Published, PublishError<T>> {
        if let Some(log) = self.shared.log() {
            return self.shared.publish_to_log_wait(log, value).await;
        }
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

    /// Where it is told which samples a subscriber will not get, because it is gone, its link broke
    /// or the log has dropped them. The last 1024 are kept.
    #[must_use]
    pub fn losses(&self) -> &Port<Lost> {
        self.shared.losses()
    }

    /// The log, where the topic is durable.
    #[must_use]
    pub fn log(&self) -> Option<LogInfo> {
        self.shared.log().map(TopicLog::info)
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
