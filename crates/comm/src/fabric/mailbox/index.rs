//! Finds the oldest of many that match, by hashing: for queues that have grown long.
//!
//! Each entry is a number under a [`Pattern`]. Numbers under one pattern are kept in ascending
//! order. A number that is no longer in the queue stays in its list until it comes to the front or
//! the index is made anew.

use crate::address::{Source, TagMatch};
use crate::envelope::{Context, Envelope, ReceivePattern};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

/// A queue of so many gets an index, and gives it up when so few are left.
pub(super) const LONG: usize = 64;
pub(super) const SHORT: usize = 8;

/// What a receive asks for, or one of the ways to ask for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Pattern {
    context: Context,
    source: Source,
    tag: TagMatch,
}

/// The patterns of one kind (source named or not, tag named or not) have a table of their own. A
/// table that is empty costs nothing to look at.
pub(super) const KINDS: usize = 4;

#[derive(Default)]
pub(super) struct Index {
    tables: [HashMap<Pattern, VecDeque<u64>>; KINDS],
    /// Numbers in all tables.
    entries: usize,
}

impl Pattern {
    pub(super) fn of(wanted: &ReceivePattern) -> Self {
        Pattern {
            context: wanted.context,
            source: wanted.source,
            tag: wanted.tag,
        }
    }

    /// Of all ways to ask for this message, that of the kind.
    pub(super) fn that_matches(envelope: &Envelope, kind: usize) -> Self {
        let status = envelope.status;
        Pattern {
            context: envelope.context,
            source: match kind & 1 {
                0 => status.rank().map_or(Source::Outside, Source::Rank),
                _ => Source::Any,
            },
            tag: match kind & 2 {
                0 => TagMatch::Only(status.tag),
                _ => TagMatch::Any,
            },
        }
    }

    pub(super) fn kind(&self) -> usize {
        usize::from(self.source == Source::Any) + 2 * usize::from(self.tag == TagMatch::Any)
    }
}

impl Index {
    /// Enters a number, which is there once. It is fast for one that is greater than those before
    /// it.
    pub(super) fn insert(&mut self, pattern: Pattern, number: u64) {
        let list = self.tables[pattern.kind()].entry(pattern).or_default();
        if list.back().is_none_or(|last| *last < number) {
            list.push_back(number);
        } else if let Err(at) = list.binary_search(&number) {
            list.insert(at, number);
        } else {
            return;
        }
        self.entries += 1;
    }

    /// The least number under the pattern that is still there; those before it are forgotten.
    pub(super) fn first(
        &mut self,
        pattern: Pattern,
        is_there: impl Fn(u64) -> bool,
    ) -> Option<u64> {
        let table = &mut self.tables[pattern.kind()];
        if table.is_empty() {
            return None;
        }
        let Entry::Occupied(mut list) = table.entry(pattern) else {
            return None;
        };
        while let Some(&number) = list.get().front() {
            if is_there(number) {
                return Some(number);
            }
            list.get_mut().pop_front();
            self.entries -= 1;
        }
        list.remove();
        None
    }

    /// Whether most of the index is forgotten numbers, where so many are not: then it is to be made
    /// anew.
    pub(super) fn is_stale(&self, there: usize) -> bool {
        self.entries > 4 * (there + LONG)
    }
}
