//! What ranks of other processes bring to meetings, until those here are ready for it.

use motet_sync::Mutex;
use std::collections::HashMap;

/// What a crossing message belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) communicator: u32,
    /// Whether the collective was started beside others; such are counted on their own.
    pub(crate) started: bool,
    /// Which meeting of the communicator.
    pub(crate) number: u32,
    /// Which step of the meeting.
    pub(crate) step: u32,
    /// The other process.
    pub(crate) process: usize,
}

#[derive(Default)]
pub(crate) struct Crossings(Mutex<HashMap<Key, Item>>);

enum Item {
    Came(Vec<u8>),
    /// Not yet; these ranks of the world sleep until it does.
    Awaited(Vec<usize>),
}

impl Crossings {
    /// A message has come; the ranks that sleep for it.
    pub(super) fn put(&self, key: Key, payload: Vec<u8>) -> Vec<usize> {
        match self.0.lock().insert(key, Item::Came(payload)) {
            Some(Item::Awaited(ranks)) => ranks,
            Some(Item::Came(_)) | None => Vec::new(),
        }
    }

    /// The message, if it has come.
    pub(crate) fn take(&self, key: &Key) -> Option<Vec<u8>> {
        let mut items = self.0.lock();
        match items.get(key)? {
            Item::Came(_) => match items.remove(key) {
                Some(Item::Came(payload)) => Some(payload),
                Some(Item::Awaited(_)) | None => None,
            },
            Item::Awaited(_) => None,
        }
    }

    /// A rank of the world is about to sleep until the message comes.
    pub(crate) fn await_for(&self, key: Key, rank: usize) {
        let mut items = self.0.lock();
        match items.entry(key).or_insert(Item::Awaited(Vec::new())) {
            Item::Awaited(ranks) if !ranks.contains(&rank) => ranks.push(rank),
            Item::Awaited(_) | Item::Came(_) => {}
        }
    }
}
