//! How a subscriber is told, and what becomes of what it has no room for.

use super::Sink;
use crate::service::any_notification::AnyNotification;
use crate::{Contract, Event, Notification, Slow, StateRef};
use motet_ports::Port;
use std::sync::Arc;

/// What is needed to deliver, apart from the entry.
pub(super) struct Target<C: Contract> {
    pub(super) sink: Sink<C>,
    pub(super) limit: usize,
    pub(super) slow: Slow,
    /// Whether it wants so many and no more.
    pub(super) is_counted: bool,
}

/// A notification as JSON, once somebody has got it.
pub(super) type Written = Option<Arc<AnyNotification>>;

impl<C: Contract> Target<C> {
    pub(super) fn coalesces(&self) -> bool {
        self.slow == Slow::Coalesce && matches!(self.sink, Sink::Port(_))
    }

    pub(super) fn is_full(&self) -> bool {
        match &self.sink {
            Sink::Port(port) => port.item_count() >= self.limit,
            Sink::Json(port) => port.item_count() >= self.limit,
            Sink::Call(_) => false,
        }
    }

    pub(super) fn post(&self, notification: &Notification<C>, written: &mut Written) -> bool {
        match &self.sink {
            Sink::Port(port) => port.post(notification.clone()).is_ok(),
            Sink::Json(port) => {
                let written = written.get_or_insert_with(|| {
                    let written = AnyNotification::new(notification);
                    Arc::new(written)
                });
                port.post(Arc::clone(written)).is_ok()
            }
            Sink::Call(call) => call(notification.clone()),
        }
    }

    /// Whether the subscription goes on.
    pub(super) fn post_or_overflow(
        &self,
        notification: &Notification<C>,
        written: &mut Written,
    ) -> bool {
        if self.is_full() {
            match (&self.sink, self.slow) {
                (Sink::Json(port), _) => {
                    drop(port.post(Arc::new(AnyNotification::gone(notification.version))));
                    return false;
                }
                (Sink::Port(port), Slow::End) => {
                    let last = Notification::new(notification.version, Event::Gone);
                    drop(port.post(last));
                    return false;
                }
                (Sink::Port(port), Slow::DropOldest | Slow::Coalesce) => drop_oldest(port),
                (Sink::Call(_), _) => {}
            }
        }
        self.post(notification, written)
    }

    /// In place of all that waits: the state as it is.
    pub(super) fn coalesce(&self, version: u64, state: StateRef<C::State>) {
        if let Sink::Port(port) = &self.sink {
            while port.test().is_some() {}
            drop(port.post(Notification::new(version, Event::Replace(state))));
        }
    }
}

/// Takes the oldest out and leaves at the front how many have gone.
fn drop_oldest<C: Contract>(port: &Port<Notification<C>>) {
    let mut lost = 0;
    let mut version = 0;
    // A count of what was lost before takes no room of its own: two go, and the new count is one.
    for _ in 0..2 {
        if let Some(oldest) = port.test() {
            version = oldest.version;
            lost += match oldest.event {
                Event::Lost(count) => count,
                _ => 1,
            };
        }
    }
    // The subscriber may have taken all meanwhile.
    if lost > 0 {
        drop(port.put_back(Notification::new(version, Event::Lost(lost))));
    }
}
