//! Rooms: what one member says all who are in the room hear.

use super::{OverlayError, Shared};
use crate::subscribe_config::SubscribeConfig;
use crate::subscription::Subscription;
use crate::topic::Topic;
use crate::{PeerName, PublishError, Published, Qos, Sample};
use motet_ports::Port;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::sync::Arc;

/// A room of an [`Overlay`](crate::Overlay), entered. It is left when this is dropped.
///
/// A message comes once to each who is in the room, its sender too. This also holds over links that
/// break and come back within 30 s ([`Acknowledged`](crate::Class::Acknowledged)). Who enters later
/// does not hear what was said before.
pub struct Room<T: Send + Sync + 'static> {
    shared: Arc<Shared>,
    topic: Topic<T>,
    heard: Subscription<T>,
}

impl<T: Serialize + DeserializeOwned + Send + Sync + 'static> Room<T> {
    pub(super) fn enter(shared: &Arc<Shared>, key: &str, depth: u32) -> Result<Self, OverlayError> {
        let node = &shared.node;
        Ok(Room {
            shared: Arc::clone(shared),
            heard: node.subscribe(key, &SubscribeConfig::default())?,
            topic: node.topic(key, Qos::acknowledged(depth))?,
        })
    }
}

impl<T: Send + Sync + 'static> Room<T> {
    /// Says something to all who are in the room. Does not wait.
    ///
    /// # Errors
    /// [`PublishError`], with the message: a listener has no room for it, it cannot be written, or
    /// the node has left.
    pub fn say(&self, message: T) -> Result<Published, PublishError<T>> {
        self.topic.publish(message)
    }

    /// As [`say`](Room::say), once every listener has room for it.
    ///
    /// # Cancellation
    /// As [`Topic::publish_wait`](crate::Topic::publish_wait).
    ///
    /// # Errors
    /// [`PublishError`], but never for want of room.
    pub async fn say_wait(&self, message: T) -> Result<Published, PublishError<T>> {
        self.topic.publish_wait(message).await
    }

    /// Where messages come: each with its sender and its number.
    #[must_use]
    pub fn port(&self) -> &Port<Sample<T>> {
        self.heard.port()
    }

    /// Who is in the room and can be reached, this member too, in order of their names.
    #[must_use]
    pub fn present(&self) -> Vec<PeerName> {
        let members = self.shared.members.lock().names();
        let mut there = self.heard.publishers();
        there.retain(|name| members.binary_search(name).is_ok());
        there
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for Room<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Room")
            .field("key", self.topic.key())
            .field("present", &self.present().len())
            .finish_non_exhaustive()
    }
}
