//! Ranks that read long slices by themselves, where they lie.
//!
//! The thread that looks for messages leaves these slices to them: it wakes the rank, and gives it
//! time. Where the rank has read nothing meanwhile, since its thread does something else, the slice
//! is taken in: others wait behind it.

use super::{RunProcesses, VECTOR, run_of};
use crate::transport::Header;
use motet_sync::atomic::{AtomicU32, Ordering};

/// By place: 0, or a number that changes with each slice that the rank reads.
pub(super) struct Readers(Box<[AtomicU32]>);

/// What the thread that looks for messages has left to ranks.
#[derive(Default)]
pub(crate) struct Left {
    /// By place: the number of the rank when it was last left something.
    seen: Vec<u32>,
}

impl Readers {
    pub(super) fn new(ranks: usize) -> Self {
        Readers((0..ranks).map(|_| AtomicU32::new(0)).collect())
    }
}

impl RunProcesses {
    /// A rank that lives here begins to read, or goes on, or ends.
    pub(in crate::fabric) fn reads(&self, rank: usize, goes_on: bool) {
        let Some(place) = self.place_of(rank) else {
            return;
        };
        // Relaxed, and not as one operation: it only says that the rank is at it.
        let reader = &self.readers.0[place];
        let next = reader.load(Ordering::Relaxed).wrapping_add(1).max(1);
        reader.store(if goes_on { next } else { 0 }, Ordering::Relaxed);
    }

    /// Takes in what has come, but for what ranks read; the number of messages, and whether
    /// something was left to ranks.
    pub(crate) fn progress_beside(&self, left: &mut Left) -> (usize, bool) {
        let mut any = false;
        left.seen.resize(self.readers.0.len(), 0);
        let mut leave = |header: &Header| {
            let what = (header.context >> 40) as u8;
            let place = self.place_of(header.destination as usize);
            let (VECTOR, Some(place)) = (what, place.filter(|_| run_of(header) == self.run)) else {
                return false;
            };
            let number = self.readers.0[place].load(Ordering::Relaxed);
            let is_news = number != 0 && number != left.seen[place];
            if is_news {
                left.seen[place] = number;
                self.wake(header.destination as usize);
                any = true;
            }
            is_news
        };
        let messages = self.progress_but(&mut leave);
        (messages, any)
    }
}
