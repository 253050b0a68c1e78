//! A handle that does not keep its port.

use crate::delivery::parcel;
use crate::port::{Port, PortCore, put_back};
use std::fmt;
use std::sync::{Arc, Weak};

/// A port's handle that does not keep the port: for receivers, which the port keeps. Made by
/// [`Port::downgrade`].
///
/// A handler may hold the port it waits at, or a future the only handle of the port it awaits. Each
/// is then kept by the port that it keeps. If nothing comes any more, both stay. With a weak handle
/// they go.
pub struct WeakPort<T: Send + 'static>(Weak<PortCore<T>>);

impl<T: Send + 'static> Port<T> {
    /// A handle that does not keep the port.
    ///
    /// ```
    /// use motet_ports::Port;
    ///
    /// let port = Port::new();
    /// let weak = port.downgrade();
    /// weak.upgrade().expect("the port is there").post(1).unwrap();
    /// assert_eq!(port.test(), Some(1));
    /// drop(port);
    /// assert!(weak.upgrade().is_none());
    /// ```
    #[must_use]
    pub fn downgrade(&self) -> WeakPort<T> {
        WeakPort(Arc::downgrade(self.core()))
    }
}

impl<T: Send + 'static> WeakPort<T> {
    /// The port, if anybody keeps it still.
    #[must_use]
    pub fn upgrade(&self) -> Option<Port<T>> {
        self.0.upgrade().map(Port::from_core)
    }

    /// Brings an item that a task will not handle back to the front of its port. The receivers are
    /// asked first; it is kept also when the queue of one of them refuses it. If the port is gone,
    /// so is everyone who could have asked for the item.
    pub fn put_back(&self, item: T) {
        put_back(&self.0, parcel(item));
    }
}

impl<T: Send + 'static> Clone for WeakPort<T> {
    fn clone(&self) -> Self {
        WeakPort(Weak::clone(&self.0))
    }
}

impl<T: Send + 'static> fmt::Debug for WeakPort<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WeakPort").field(&self.upgrade()).finish()
    }
}
