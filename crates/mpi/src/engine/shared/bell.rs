//! How a process sleeps until another one has written into a ring of its memory.
//!
//! ```text
//!  who writes                             who sleeps
//!  1  write the frame                     a  bell = ARMED
//!  2  fence                               b  fence
//!  3  if the bell is armed: ring it       c  look into the rings; if nothing is there, sleep
//! ```
//!
//! Of two SeqCst fences one comes first: either 3 sees a, or c sees 1. Who rings disarms the bell,
//! so that a process that is slow to wake costs the others one call of the system. The system
//! sleeps only if the bell is still armed. A process that is killed between 1 and 3 rings nobody:
//! therefore nobody sleeps without a limit.

use super::ring::Memory;
use motet_sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Duration;

/// Memory with a bell, on which one of its processes sleeps.
pub(super) trait Bell: Memory {
    /// 0, or armed. Other processes may write anything.
    fn bell(&self) -> &AtomicU32;

    /// Sleeps if this is the bell's value, until it is woken, or for so long, or less.
    fn sleep(&self, value: u32, limit: Duration);

    /// Wakes who sleeps.
    fn wake(&self);
}

const ARMED: u32 = 1;
const IDLE: u32 = 0;

/// Wakes the process whose memory it is, if it sleeps, after something was written there.
#[inline]
pub(super) fn ring(memory: &impl Bell) {
    // As the module says.
    fence(Ordering::SeqCst);
    if memory.bell().load(Ordering::Relaxed) == ARMED {
        disarm(memory);
    }
}

#[cold]
fn disarm(memory: &impl Bell) {
    // Relaxed: what was written is read from the rings.
    if memory.bell().swap(IDLE, Ordering::Relaxed) == ARMED {
        memory.wake();
    }
}

/// Sleeps until somebody rings, but not longer than this; not at all if `has_come` says that there
/// is something.
pub(super) fn wait(memory: &impl Bell, limit: Duration, has_come: impl FnOnce() -> bool) {
    memory.bell().store(ARMED, Ordering::Relaxed);
    // As the module says.
    fence(Ordering::SeqCst);
    if !has_come() {
        memory.sleep(ARMED, limit);
    }
    memory.bell().store(IDLE, Ordering::Relaxed);
}
