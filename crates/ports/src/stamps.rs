//! Stamps say where items stand in their port: by them an item that had been taken finds its old
//! place.

use crate::port_items::End;

/// How an item comes into a port.
#[derive(Clone, Copy)]
pub(crate) enum ItemEntry {
    /// Posted: behind all others.
    Posted,
    /// Put in front of all others.
    First,
    /// It had been taken, and comes back to where it stood.
    Returned,
}

/// The stamps of one port. Those of the items that wait ascend.
#[derive(Default)]
pub(crate) struct Stamps {
    first: i64,
    last: i64,
}

impl Stamps {
    /// How many have been given to items that came in from outside, at whichever end.
    pub(crate) fn given(&self) -> u64 {
        self.last.abs_diff(self.first)
    }

    /// The last that was given to an item which was posted.
    pub(crate) fn last(&self) -> i64 {
        self.last
    }

    /// The stamp of the next item that is posted.
    #[inline]
    pub(crate) fn next(&self) -> i64 {
        self.last + 1
    }

    /// Gives a stamp to a posted item, which is where it says itself.
    #[inline]
    pub(crate) fn give(&mut self) {
        self.last += 1;
    }

    /// Stamps an item that comes in, and says at which end it is offered.
    #[inline]
    pub(crate) fn stamp(&mut self, stamp: &mut i64, entry: ItemEntry) -> End {
        match entry {
            ItemEntry::Posted => {
                self.last += 1;
                *stamp = self.last;
                End::Back
            }
            ItemEntry::First => {
                self.first -= 1;
                *stamp = self.first;
                End::Front
            }
            ItemEntry::Returned => End::Front,
        }
    }
}
