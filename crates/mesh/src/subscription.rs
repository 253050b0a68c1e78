//! Subscriptions: what a program holds of samples that come.

use crate::flow::{AnySubscription, Hub};
use crate::subscribe_config::SubscribeConfig;
use crate::subscribed::Subscribed;
use crate::{Key, PeerName, Sample};
use motet_ports::Port;
use serde::de::DeserializeOwned;
use std::fmt;
use std::sync::Arc;

/// Samples of all topics that match a pattern, in a port. Ends when it is dropped.
pub struct Subscription<T: Send + Sync + 'static> {
    shared: Arc<Subscribed<T>>,
}

impl<T: Send + Sync + 'static> Subscription<T> {
    pub(crate) fn new(hub: &Arc<dyn Hub>, id: u32, pattern: Key, config: &SubscribeConfig) -> Self
    where
        T: DeserializeOwned,
    {
        let shared = Arc::new(Subscribed::new(hub, id, pattern, config));
        Subscription { shared }
    }

    pub(crate) fn shared(&self) -> Arc<Subscribed<T>> {
        Arc::clone(&self.shared)
    }

    /// The port that samples come to: receive it, join it with other ports, choose it.
    #[must_use]
    pub fn port(&self) -> &Port<Sample<T>> {
        self.shared.port()
    }

    /// The pattern.
    #[must_use]
    pub fn pattern(&self) -> &Key {
        self.shared.pattern()
    }

    /// How many samples were published and did not come: they were dropped, or lost with a link.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.shared.info().missed
    }

    /// How many samples came and could not be read as `T`.
    #[must_use]
    pub fn unreadable(&self) -> u64 {
        self.shared.info().unreadable
    }

    /// The number of publishers whose samples come here.
    #[must_use]
    pub fn publisher_count(&self) -> usize {
        self.shared.info().publishers
    }

    /// The nodes whose topics come here, in order of their names.
    #[must_use]
    pub fn publishers(&self) -> Vec<PeerName> {
        self.shared.publishers().into_iter().collect()
    }
}

impl<T: Send + Sync + 'static> Drop for Subscription<T> {
    fn drop(&mut self) {
        self.shared.unsubscribe();
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for Subscription<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("pattern", self.pattern())
            .field("publishers", &self.publisher_count())
            .field("missed", &self.missed())
            .finish_non_exhaustive()
    }
}
