//! A queue with one server, M/M/1, in logical processes and in a plain loop.

use motet_sim::{Logical, Model, Options, Out, Time};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Ticks in a unit of time: a customer is served in one on average.
pub const UNIT: f64 = 1e6;

/// Queues that know nothing of each other. Of each the wait has the mean `load / (1 - load)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Queues {
    /// How many there are.
    pub queues: usize,
    /// Customers that come to each of them.
    pub customers: u32,
    /// Customers that come in a unit of time.
    pub load: f64,
    /// What everything is drawn from.
    pub seed: u64,
}

/// One queue.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueProcess {
    load: f64,
    left: u32,
    /// When the server is free.
    free: Time,
    waited: u64,
    served: u32,
}

/// What happens at a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum AtQueue {
    /// A customer comes.
    Comes,
    /// One goes.
    Goes,
}

impl Queues {
    /// The model.
    #[must_use]
    pub fn model(self) -> Model<impl Fn(usize) -> QueueProcess + Sync> {
        let options = Options {
            seed: self.seed,
            lookahead: 1,
            ..Options::default()
        };
        Model::new(self.queues, move |_| QueueProcess::new(&self), options)
    }

    /// One queue by a heap and a loop, without a library; its events, and the sum of its waits.
    #[must_use]
    pub fn plain(self) -> (u64, f64) {
        let mut drawn = self.seed;
        let mut exponential = |mean: f64| {
            drawn = drawn.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let uniform = (motet_sim::mix(drawn) >> 11) as f64 / (1_u64 << 53) as f64;
            (-mean * (1.0 - uniform).ln()).round() as Time
        };
        let (mut queue, mut number, mut events) = (QueueProcess::new(&self), 1, 0);
        let mut pending = BinaryHeap::new();
        if queue.left > 0 {
            pending.push(Reverse((0, 0_u64, AtQueue::Comes)));
        }
        while let Some(Reverse((now, _, event))) = pending.pop() {
            events += 1;
            if event == AtQueue::Goes {
                queue.served += 1;
                continue;
            }
            let goes = queue.comes(now, exponential(UNIT));
            pending.push(Reverse((goes, number, AtQueue::Goes)));
            number += 1;
            if queue.left > 0 {
                let next = now + exponential(UNIT / queue.load);
                pending.push(Reverse((next, number, AtQueue::Comes)));
                number += 1;
            }
        }
        (events, queue.waited())
    }
}

impl QueueProcess {
    fn new(given: &Queues) -> QueueProcess {
        QueueProcess {
            load: given.load,
            left: given.customers,
            free: 0,
            waited: 0,
            served: 0,
        }
    }

    /// Customers that were served.
    #[must_use]
    pub fn served(&self) -> u32 {
        self.served
    }

    /// The sum of all waits, in units of time.
    #[must_use]
    pub fn waited(&self) -> f64 {
        self.waited as f64 / UNIT
    }

    /// A customer comes who is served so long; when it goes.
    #[inline]
    fn comes(&mut self, now: Time, served: Time) -> Time {
        let begin = self.free.max(now);
        self.waited += begin - now;
        self.free = begin + served;
        self.left -= 1;
        self.free
    }
}

impl Logical for QueueProcess {
    type Event = AtQueue;

    fn start(&mut self, out: &mut Out<'_, AtQueue>) {
        if self.left > 0 {
            out.schedule(out.process(), 0, AtQueue::Comes);
        }
    }

    fn handle(&mut self, now: Time, event: AtQueue, out: &mut Out<'_, AtQueue>) {
        if event == AtQueue::Goes {
            self.served += 1;
            return;
        }
        let goes = self.comes(now, out.exponential(UNIT));
        out.schedule(out.process(), goes - now, AtQueue::Goes);
        if self.left > 0 {
            let gap = out.exponential(UNIT / self.load);
            out.schedule(out.process(), gap, AtQueue::Comes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_to_which_nobody_comes_ends_at_once() {
        let queues = Queues {
            queues: 1,
            customers: 0,
            load: 0.5,
            seed: 1,
        };
        assert_eq!(queues.plain(), (0, 0.0));
    }
}
