//! Which way the bytes of long frames go: through the caches or past them.
//!
//! Where both processes' cores share a cache, one finds there what the other has written. Where
//! they share none, each line that is written is first taken back from the other core, and few at a
//! time. There it is quicker to write past the caches, to memory, from where the other core reads.
//! How the cores lie no process knows, and a host may move them. So a sender measures a frame now
//! and then.

use super::frame::LINE;
use std::time::{Duration, Instant};

/// The way of long frames to another process.
#[derive(Debug, Default)]
pub(super) struct Course {
    past: bool,
    /// Frames until one is measured.
    rest: u32,
    /// The last one measured was slow.
    slow: bool,
}

/// Frames with so many bytes and more are long.
const LONG: usize = 4 * 1024;

/// Time for a line that another core gives back soon enough: cores that share a cache take 1 to 4
/// ns, others 20 to 30.
const LINE_NS: u128 = 8;

/// After so many frames one is measured: through the caches, which costs those that go past them
/// something.
const EVERY: u32 = 16;
const EVERY_PAST: u32 = 256;

impl Course {
    /// Writes so many bytes of a frame by `write`, which is told whether they are to go past the
    /// caches.
    #[inline]
    pub(super) fn write(&mut self, bytes: usize, write: impl FnOnce(bool)) {
        if bytes < LONG {
            return write(false);
        }
        if let Some(rest) = self.rest.checked_sub(1) {
            self.rest = rest;
            return write(self.past);
        }
        let begun = Instant::now();
        write(false);
        self.measured(begun.elapsed(), bytes);
    }

    /// A frame with so many bytes has gone through the caches.
    fn measured(&mut self, took: Duration, bytes: usize) {
        let slow = took.as_nanos() > (bytes / LINE) as u128 * LINE_NS;
        // Two in a row: the first may have been interrupted.
        self.past = slow && self.slow;
        self.rest = match (slow, self.past) {
            (_, true) => EVERY_PAST,
            (true, false) => 0,
            (false, false) => EVERY,
        };
        self.slow = slow;
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;

    /// How many of the next frames go past the caches.
    fn past(course: &mut Course, frames: u32) -> u32 {
        let mut past = 0;
        for _ in 0..frames {
            course.write(LONG, |it| past += u32::from(it));
        }
        past
    }

    #[test]
    fn frames_go_past_the_caches_while_those_that_do_not_are_slow() {
        let [fast, slow] = [100, 2000].map(Duration::from_nanos);
        let mut course = Course::default();
        course.measured(slow, LONG);
        assert_eq!(course.rest, 0, "perhaps it was interrupted");
        course.measured(slow, LONG);
        assert_eq!(past(&mut course, EVERY_PAST), EVERY_PAST);
        course.measured(slow, LONG);
        assert_eq!(past(&mut course, EVERY_PAST), EVERY_PAST);
        course.measured(fast, LONG);
        assert_eq!(past(&mut course, EVERY), 0);
        course.measured(slow, LONG);
        course.measured(fast, LONG);
        assert_eq!(past(&mut course, EVERY), 0);
    }
}
