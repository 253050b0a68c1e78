//! A subscription as its subscriber has it.

use super::client::Client;
use crate::{Contract, Fault, Notification};
use motet_ports::Port;
use std::fmt;
use std::ops::Deref;

/// A subscription: a port to which the changes of a service are posted. Join it, select it, receive
/// it. Dropping it ends it.
pub struct Subscription<C: Contract> {
    client: Client<C>,
    id: u64,
    port: Port<Notification<C>>,
    kept: bool,
}

impl<C: Contract> Subscription<C> {
    pub(crate) fn new(client: Client<C>, id: u64, port: Port<Notification<C>>) -> Self {
        let kept = false;
        Subscription {
            client,
            id,
            port,
            kept,
        }
    }

    /// The number of the subscription at the service.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The port of the notifications.
    #[must_use]
    pub fn port(&self) -> &Port<Notification<C>> {
        &self.port
    }

    /// Ends the subscription. Nothing comes after this has answered; what has come is in the port.
    ///
    /// # Cancellation
    /// Dropping the future ends the subscription, as dropping it does.
    ///
    /// # Errors
    /// As a call. The subscription ends all the same; what is on its way may still come.
    pub async fn unsubscribe(self) -> Result<(), Fault> {
        // What it is dropped for is done already when the service has answered.
        self.client.unsubscribe(self.id).await
    }

    /// Lets the subscription go on as long as the service does.
    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl<C: Contract> Deref for Subscription<C> {
    type Target = Port<Notification<C>>;

    fn deref(&self) -> &Self::Target {
        &self.port
    }
}

impl<C: Contract> Drop for Subscription<C> {
    fn drop(&mut self) {
        if !self.kept {
            self.client.forget(self.id);
        }
    }
}

impl<C: Contract> fmt::Debug for Subscription<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("service", &self.client)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
