//! What a handler can do: schedule events and draw numbers.

use crate::draw::{draw, exponential, mix, uniform};
use crate::event::{EventKey, KeyedEvent};
use crate::rules::Rules;
use crate::{ModelError, Tie, Time};
use serde::{Deserialize, Serialize};

/// What a process has counted; a part of its state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessCounters {
    /// Events that it has scheduled.
    pub(crate) sent: u64,
    /// Numbers that it has drawn.
    pub(crate) drawn: u64,
}

/// What a handler of a process schedules events and draws numbers with.
#[derive(Debug)]
pub struct Out<'a, E> {
    rules: &'a Rules,
    /// The key of the event that is handled.
    cause: EventKey,
    counters: &'a mut ProcessCounters,
    sent: &'a mut Vec<KeyedEvent<E>>,
    /// What the handler has done that the model must not.
    refused: Option<ModelError>,
}

impl<'a, E> Out<'a, E> {
    pub(crate) fn new(
        rules: &'a Rules,
        cause: &EventKey,
        counters: &'a mut ProcessCounters,
        sent: &'a mut Vec<KeyedEvent<E>>,
    ) -> Self {
        Out {
            rules,
            cause: *cause,
            counters,
            sent,
            refused: None,
        }
    }

    /// The virtual time of the event that is handled; 0 at the start.
    #[must_use]
    pub fn now(&self) -> Time {
        self.cause.time
    }

    /// The number of the process.
    #[must_use]
    pub fn process(&self) -> usize {
        self.cause.to as usize
    }

    /// The key of the event that is handled: who has scheduled it, as which of its events. At the
    /// start the numbers mean nothing.
    #[must_use]
    pub fn cause(&self) -> EventKey {
        self.cause
    }

    /// Schedules an event for process `to`, `delay` ticks from now.
    ///
    /// An event at the model's end or later is dropped: nobody would handle it.
    ///
    /// What the model does not allow ends the run with a [`ModelError`] when the handler returns:
    /// - a process that is not there;
    /// - another process sooner than the lookahead;
    /// - a link that was not declared;
    /// - a time that cannot be written;
    /// - more than 2³² events at one time, each of which has scheduled the next with delay 0.
    #[inline]
    pub fn schedule(&mut self, to: usize, delay: Time, event: E) {
        match self.key(to, delay) {
            Ok(key) => {
                self.counters.sent += 1;
                if key.time < self.rules.end {
                    self.sent.push(KeyedEvent { key, body: event });
                }
            }
            Err(refused) => self.refused = self.refused.take().or(Some(*refused)),
        }
    }

    /// The next number of the process's own stream, of 64 random bits.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        let drawn = draw(self.rules.seed, self.cause.to, self.counters.drawn);
        self.counters.drawn += 1;
        drawn
    }

    /// A random number in [0, 1).
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        uniform(self.draw())
    }

    /// A random time of the exponential distribution with this mean, in whole ticks.
    ///
    /// It is computed by the platform's logarithm: other platforms may give another last tick.
    ///
    /// The time is rounded to the nearest tick, so that its mean is 1 / (2 sinh(1 / (2 `mean`))).
    /// That is less than `mean` by about 1 part in 24 `mean`²: by 0.04 % for 10, by 4 % for 1, by
    /// 15 % for 0.5. Let a tick be short beside what is drawn.
    ///
    /// # Panics
    /// When `mean` is negative or no number. An infinite one gives [`Time::MAX`].
    #[inline]
    #[track_caller]
    pub fn exponential(&mut self, mean: f64) -> Time {
        exponential(mean, self.uniform())
    }

    pub(crate) fn refused(self) -> Option<ModelError> {
        self.refused
    }

    #[inline]
    fn key(&self, to: usize, delay: Time) -> Result<EventKey, Box<ModelError>> {
        let (from, time) = (self.cause.to as usize, self.cause.time);
        let Some(at) = time.checked_add(delay) else {
            return Err(Box::new(ModelError::TimeOverflow { from, time, delay }));
        };
        if to != from {
            self.rules.check(from, to, time, delay)?;
        }
        let step = match delay {
            0 => self.cause.step.checked_add(1),
            _ => Some(0),
        };
        let Some(step) = step else {
            return Err(Box::new(ModelError::TooManySteps { from, time }));
        };
        let number = self.counters.sent;
        let tie = match self.rules.tie {
            Tie::Order => 0,
            Tie::Hash => {
                let stream = mix(self.rules.seed ^ u64::from(self.cause.to));
                (mix(stream ^ number) >> 32) as u32
            }
        };
        Ok(EventKey {
            time: at,
            step,
            to: to as u32,
            tie,
            from: self.cause.to,
            number,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;

    #[test]
    fn sem_g532_a_chain_of_events_without_delay_has_an_end() {
        let rules = Rules::new(4, &Options::default(), None).expect("few processes");
        let mut cause = EventKey {
            time: 5,
            step: u32::MAX - 1,
            to: 2,
            tie: 0,
            from: 2,
            number: 0,
        };
        let mut counters = ProcessCounters::default();
        let mut sent = Vec::new();
        let mut out = Out::new(&rules, &cause, &mut counters, &mut sent);
        out.schedule(2, 0, ());
        assert_eq!(out.refused(), None);
        cause = sent.remove(0).key;
        assert_eq!(cause.step, u32::MAX);
        let mut out = Out::new(&rules, &cause, &mut counters, &mut sent);
        out.schedule(2, 1, ());
        out.schedule(2, 0, ());
        let many = ModelError::TooManySteps { from: 2, time: 5 };
        assert!(many.to_string().contains("process 2"), "{many}");
        assert_eq!(out.refused(), Some(many));
        assert_eq!(sent.len(), 1);
    }
}
