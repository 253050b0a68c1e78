//! Who goes on at which time.

use super::process::Number;
use crate::Time;
use crate::event::Timed;
use crate::ladder_queue::LadderQueue;
use std::cmp::Reverse;
use std::collections::HashSet;

/// Processes by the time at which they go on; of the same time, in the order in which they began to
/// wait.
#[derive(Debug, Default)]
pub(super) struct Calendar {
    waiting: LadderQueue<Reverse<(Time, u64, Number)>>,
    /// Numbers of entries that nobody waits for any more.
    cancelled: HashSet<u64>,
}

impl Timed for Reverse<(Time, u64, Number)> {
    fn time(&self) -> Time {
        self.0.0
    }
}

impl Calendar {
    pub(super) fn add(&mut self, time: Time, number: u64, process: Number) {
        self.waiting.push(Reverse((time, number, process)));
    }

    pub(super) fn cancel(&mut self, number: u64) {
        self.cancelled.insert(number);
        if self.cancelled.len() > 64 && self.cancelled.len() > self.waiting.len() / 2 {
            let cancelled = std::mem::take(&mut self.cancelled);
            self.waiting
                .retain(|Reverse((_, number, _))| !cancelled.contains(number));
        }
    }

    /// The next process that goes on at `now`.
    pub(super) fn next(&mut self, now: Time) -> Option<Number> {
        if self.time()? > now {
            return None;
        }
        self.waiting.pop().map(|Reverse((_, _, process))| process)
    }

    /// When the next process goes on.
    pub(super) fn time(&mut self) -> Option<Time> {
        loop {
            let Reverse((time, number, _)) = self.waiting.peek()?;
            if self.cancelled.is_empty() || !self.cancelled.remove(number) {
                return Some(*time);
            }
            self.waiting.pop();
        }
    }
}
