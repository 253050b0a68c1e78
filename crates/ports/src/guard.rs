//! Guards: which items of a port a part of a join takes, by source and by tag.
//!
//! A guard is a predicate on the item. Any closure will do. There are ready ones for items that say
//! who sent them and what they are about. With them a join can wait for messages of particular
//! senders.
//!
//! ```
//! use motet_dispatch::Inline;
//! use motet_ports::guard::{self, Tagged};
//! use motet_ports::{JoinedReceive, Port};
//!
//! struct Message { from: usize, about: u32, text: &'static str }
//!
//! impl Tagged for Message {
//!     fn source(&self) -> usize { self.from }
//!     fn tag(&self) -> u32 { self.about }
//! }
//!
//! let (inbox, permits, said) = (Port::<Message>::new(), Port::new(), Port::new());
//! let out = said.clone();
//! JoinedReceive::persistent((inbox.when(guard::source(3)), &permits), move |(message, ())| {
//!     out.post(message.text).unwrap();
//! })
//! .activate(&Inline::new("here"))
//! .unwrap();
//! permits.post(()).unwrap();
//! inbox.post(Message { from: 5, about: 0, text: "not awaited" }).unwrap();
//! inbox.post(Message { from: 3, about: 0, text: "awaited" }).unwrap();
//! assert_eq!(said.items(), ["awaited"]);
//! assert_eq!(inbox.item_count(), 1);
//! ```

/// An item that says where it comes from and what it is about.
pub trait Tagged {
    /// The number of the sender.
    fn source(&self) -> usize;

    /// What the item is about, in the program's own numbers.
    fn tag(&self) -> u32;
}

/// Items from this source.
pub fn source<T: Tagged + 'static>(
    source: usize,
) -> impl Fn(&T) -> bool + Clone + Send + Sync + 'static {
    move |item| item.source() == source
}

/// Items with this tag.
pub fn tag<T: Tagged + 'static>(tag: u32) -> impl Fn(&T) -> bool + Clone + Send + Sync + 'static {
    move |item| item.tag() == tag
}

/// Items from this source with this tag.
pub fn source_and_tag<T: Tagged + 'static>(
    source: usize,
    tag: u32,
) -> impl Fn(&T) -> bool + Clone + Send + Sync + 'static {
    move |item| item.source() == source && item.tag() == tag
}

/// A payload with its source and its tag in front.
impl<T> Tagged for (usize, u32, T) {
    fn source(&self) -> usize {
        self.0
    }

    fn tag(&self) -> u32 {
        self.1
    }
}
