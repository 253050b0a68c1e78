//! Ranks that sleep until there is room for what they send: the thread that looks for messages
//! wakes them again and again.
//!
//! Nobody tells a sender that its receiver has made room: that would cost each message something.

use super::RunProcesses;
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicUsize, Ordering};
use std::mem;
use std::time::Duration;

/// Who waits for room.
#[derive(Default)]
pub(super) struct WaitingSenders {
    /// Ranks of the world that live here.
    waiting: Mutex<Vec<usize>>,
    /// How many.
    count: AtomicUsize,
}

/// How long a rank sleeps until it looks again.
const NAP: Duration = Duration::from_micros(200);

impl RunProcesses {
    /// A rank that lives here, and is about to sleep, has more to send than there is room for. It
    /// is woken soon.
    pub(in crate::fabric) fn wait_for_room(&self, rank: usize) {
        let mut waiting = self.room.waiting.lock();
        if !waiting.contains(&rank) {
            waiting.push(rank);
            // Release: who sees it finds the rank in the list.
            self.room.count.store(waiting.len(), Ordering::Release);
        }
    }

    /// Whether ranks wait for room: then not all wait for each other.
    pub(super) fn waits_for_room(&self) -> bool {
        self.room.count.load(Ordering::Acquire) > 0
    }

    /// Wakes the ranks that wait for room.
    pub(crate) fn wake_for_room(&self) {
        if self.waits_for_room() {
            let ranks = {
                let mut waiting = self.room.waiting.lock();
                self.room.count.store(0, Ordering::Release);
                mem::take(&mut *waiting)
            };
            self.wake_all(&ranks);
        }
    }

    /// How long the thread that looks for messages sleeps at most, of so long.
    pub(super) fn nap(&self, limit: Duration) -> Duration {
        match self.waits_for_room() {
            true => limit.min(NAP),
            false => limit,
        }
    }
}
