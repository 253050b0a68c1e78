//! What a port says of itself: its name, where it was made, what it holds and who waits for it.

use crate::port::Port;
use crate::receiver::Receiver;
use std::any::type_name;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// # Reports
impl<T: Send + 'static> Port<T> {
    /// A port with a name, which reports and `{:?}` show.
    ///
    /// ```
    /// use motet_ports::Port;
    ///
    /// let orders = Port::<u32>::named("orders");
    /// orders.post(17).unwrap();
    /// assert_eq!(orders.name(), Some("orders"));
    /// assert!(orders.to_string().starts_with("port \"orders\" of u32, made at "));
    /// assert!(orders.to_string().ends_with(": 1 item; no receiver"));
    /// ```
    #[must_use]
    #[track_caller]
    pub fn named(name: &str) -> Self {
        let port = Port::new();
        port.set_name(name);
        port
    }

    /// Names the port. A name is given once: `false` when the port has one already, which it keeps.
    pub fn set_name(&self, name: &str) -> bool {
        self.core().origin().set_name(name)
    }

    /// The port's name, if it was given one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.core().origin().name()
    }

    /// The line of the program that made the port.
    #[must_use]
    pub fn made_at(&self) -> &'static Location<'static> {
        self.core().origin().made_at()
    }

    /// The registered receivers, in the order in which they are asked (CCR's `GetReceivers`). A
    /// snapshot: others may come and go meanwhile.
    ///
    /// ```
    /// use motet_dispatch::Inline;
    /// use motet_ports::{Port, Receive};
    ///
    /// let port = Port::new();
    /// Receive::persistent(&port, |_: u32| ()).activate(&Inline::new("here")).unwrap();
    /// assert_eq!(port.receivers()[0].describe(), "receive");
    /// ```
    #[must_use]
    pub fn receivers(&self) -> Vec<Arc<dyn Receiver<T>>> {
        self.core().state().receivers().cloned().collect()
    }
}

impl<T: Send + 'static> fmt::Debug for Port<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut report = f.debug_struct("Port");
        report.field("id", &self.id());
        if let Some(name) = self.name() {
            report.field("name", &name);
        }
        report
            .field("of", &type_name::<T>())
            .field("items", &self.item_count())
            .field("receivers", &self.receiver_count())
            .field("counters", &self.counters())
            .finish()
    }
}

/// The port in words: name, type, where it was made, items, receivers.
impl<T: Send + 'static> fmt::Display for Port<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items = self.item_count();
        write!(
            f,
            "{}, made at {}: {items} item{}; ",
            self.core().label(),
            self.made_at(),
            if items == 1 { "" } else { "s" }
        )?;
        // Outside the lock: a receiver of the user's describes itself with the user's code.
        let receivers = self.receivers();
        if receivers.is_empty() {
            return f.write_str("no receiver");
        }
        for (at, receiver) in receivers.iter().enumerate() {
            let before = if at == 0 { "" } else { ", " };
            write!(f, "{before}{}", receiver.describe())?;
        }
        Ok(())
    }
}
