//! The publisher's half of a flow: what waits for one subscriber, and what is under way to it.
//!
//! ```text
//!  push ──► [ queue: depth at most ] ── next, while credit lasts ──► [ in flight: window at most ] ──► accepted
//!              Latest drops the oldest                                  broken: back to the queue, or lost
//! ```
//!
//! A state machine without input and output: the caller sends what [`Outgoing::next`] returns, in
//! order. It also drops what is not needed any more, which it gets back: that may run what users
//! wrote.

use crate::{Class, Gap, Qos};
use std::collections::VecDeque;

/// A sample that waits or is under way. `P`: its payload, cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Entry<P> {
    pub(crate) number: u64,
    pub(crate) retained: bool,
    pub(crate) payload: P,
}

#[derive(Debug)]
pub(crate) struct Outgoing<P> {
    class: Class,
    depth: usize,
    queue: VecDeque<Entry<P>>,
    /// Sent and not accepted yet. Where nothing is sent again the payload is not kept: within a
    /// node, and of [`Class::Reliable`] and [`Class::Durable`].
    flight: VecDeque<Entry<Option<P>>>,
    /// How many may be in flight. 0: the subscriber is not ready.
    window: usize,
    /// How many the subscriber has missed for want of room.
    dropped: u64,
}

impl<P: Clone> Outgoing<P> {
    pub(crate) fn new(qos: &Qos) -> Self {
        Outgoing {
            class: qos.class,
            depth: qos.depth.max(1) as usize,
            queue: VecDeque::new(),
            flight: VecDeque::new(),
            window: 0,
            dropped: 0,
        }
    }

    /// Whether a sample would be taken without the loss of another one that must not be lost.
    pub(crate) fn has_room(&self) -> bool {
        match self.class {
            Class::Latest => true,
            Class::Reliable => self.queue.len() < self.depth,
            Class::Acknowledged | Class::Durable => {
                self.queue.len() + self.flight.len() < self.depth
            }
        }
    }

    /// How many samples of a log it takes.
    pub(crate) fn room(&self) -> usize {
        self.depth
            .saturating_sub(self.queue.len() + self.flight.len())
    }

    /// Takes a sample. The caller has asked [`Outgoing::has_room`]. The oldest one, if that has
    /// made room for it.
    pub(crate) fn push(&mut self, number: u64, payload: P) -> Option<Entry<P>> {
        debug_assert!(self.queue.back().is_none_or(|last| last.number < number));
        self.queue.push_back(Entry {
            number,
            retained: false,
            payload,
        });
        self.drop_beyond_depth()
    }

    /// Takes a sample of the time before the subscriber came, whatever the depth.
    pub(crate) fn push_retained(&mut self, number: u64, payload: P) {
        self.queue.push_back(Entry {
            number,
            retained: true,
            payload,
        });
    }

    fn drop_beyond_depth(&mut self) -> Option<Entry<P>> {
        if self.class != Class::Latest || self.queue.len() <= self.depth {
            return None;
        }
        // What is retained stands in front, and is not counted.
        let retained = self.queue.partition_point(|entry| entry.retained);
        if self.queue.len() - retained <= self.depth {
            return None;
        }
        self.dropped += 1;
        self.queue.pop_front()
    }

    /// Whether there is a sample to send, and room for it.
    pub(crate) fn may_send(&self) -> bool {
        self.flight.len() < self.window && !self.queue.is_empty()
    }

    /// The next sample to send, if the subscriber has room for it. `again`: it may have to be sent
    /// again.
    pub(crate) fn next(&mut self, again: bool) -> Option<Entry<P>> {
        if self.flight.len() >= self.window {
            return None;
        }
        let entry = self.queue.pop_front()?;
        self.flight.push_back(Entry {
            number: entry.number,
            retained: entry.retained,
            payload: (again && self.is_sent_again()).then(|| entry.payload.clone()),
        });
        Some(entry)
    }

    /// Whether what was under way when the link broke is sent again from here. A durable topic has
    /// it in its log.
    fn is_sent_again(&self) -> bool {
        matches!(self.class, Class::Latest | Class::Acknowledged)
    }

    /// Whether nothing waits or is under way, and a sample may be sent: there is room for it. Then
    /// [`Outgoing::sends`] does what [`Outgoing::push`] and [`Outgoing::next`] do.
    pub(crate) fn is_idle(&self) -> bool {
        self.window > 0 && self.queue.is_empty() && self.flight.is_empty()
    }

    /// Whether nothing waits, and a sample may be sent that is not sent again. Then
    /// [`Outgoing::sends`] does what [`Outgoing::push`] and [`Outgoing::next`] do.
    pub(crate) fn sends_once(&self) -> bool {
        self.class == Class::Reliable && self.queue.is_empty() && self.flight.len() < self.window
    }

    /// A sample is sent that did not wait, and that is not sent again.
    pub(crate) fn sends(&mut self, number: u64) {
        self.flight.push_back(Entry {
            number,
            retained: false,
            payload: None,
        });
    }

    /// Puts the sample that was sent last back to those that wait.
    fn put_back(&mut self, entry: Entry<Option<P>>) {
        let Entry {
            number,
            retained,
            payload,
        } = entry;
        if let Some(payload) = payload {
            self.queue.push_front(Entry {
                number,
                retained,
                payload,
            });
        }
    }

    /// Samples that [`Outgoing::next`] returned last, in this order, could not be sent: they wait
    /// again, and nothing is sent until the subscriber is [ready](Outgoing::accepted). When the
    /// link has [broken](Outgoing::broken) meanwhile, they wait already or are lost: `gone` gets
    /// their payloads.
    pub(crate) fn not_sent(
        &mut self,
        entries: impl DoubleEndedIterator<Item = Entry<P>>,
        mut gone: impl FnMut(P),
    ) {
        for entry in entries.rev() {
            let last = self.flight.pop_back_if(|last| last.number == entry.number);
            if last.is_some() {
                self.window = 0;
                self.queue.push_front(entry);
            } else {
                gone(entry.payload);
            }
        }
    }

    /// The subscriber has accepted everything up to `upto`, and takes `window` more. `gone` gets
    /// the payloads that were kept for it.
    pub(crate) fn accepted(&mut self, upto: u64, window: usize, mut gone: impl FnMut(P)) {
        self.window = window;
        while let Some(entry) = self.flight.pop_front_if(|first| first.number <= upto) {
            entry.payload.into_iter().for_each(&mut gone);
        }
        // After a broken link what was accepted may wait again.
        while let Some(entry) = self.queue.pop_front_if(|first| first.number <= upto) {
            gone(entry.payload);
        }
    }

    /// The link is broken. What is under way waits again, and `gone` gets what has no room;
    /// samples of [`Class::Reliable`] are lost, and those of [`Class::Durable`] are in the log.
    pub(crate) fn broken(&mut self, mut gone: impl FnMut(P)) -> Option<Gap> {
        self.window = 0;
        if !self.is_sent_again() {
            return self.lost();
        }
        while let Some(entry) = self.flight.pop_back() {
            self.put_back(entry);
        }
        if self.class == Class::Latest {
            while self.queue.len() > self.depth
                && let Some(oldest) = self.queue.pop_front()
            {
                self.dropped += 1;
                gone(oldest.payload);
            }
        }
        None
    }

    /// Gives everything up that has not been accepted: its numbers.
    pub(crate) fn lost(&mut self) -> Option<Gap> {
        let flight = self.flight.drain(..).map(|entry| entry.number);
        let queue = self.queue.drain(..).map(|entry| entry.number);
        let numbers: Vec<u64> = flight.chain(queue).collect();
        let (from, to) = (*numbers.iter().min()?, *numbers.iter().max()?);
        Some(Gap { from, to })
    }

    /// The number of the oldest sample that is still to be sent.
    pub(crate) fn first(&self) -> Option<u64> {
        let oldest = self.flight.front().map(|entry| entry.number);
        oldest.or_else(|| self.queue.front().map(|entry| entry.number))
    }

    /// The number of the oldest sample that waits, and is not under way.
    pub(crate) fn first_waiting(&self) -> Option<u64> {
        self.queue.front().map(|entry| entry.number)
    }

    /// Samples that wait, that are under way, and that were dropped.
    pub(crate) fn counts(&self) -> (usize, usize, u64) {
        (self.queue.len(), self.flight.len(), self.dropped)
    }

    /// How many more the subscriber takes now.
    pub(crate) fn credit(&self) -> usize {
        self.window.saturating_sub(self.flight.len())
    }
}
