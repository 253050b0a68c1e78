//! How long a batch waits for more items: since when it does, and the timer of its end.

use motet_dispatch::{Clock, Timer};
use motet_sync::Mutex;
use std::mem::{self, ManuallyDrop};
use std::time::{Duration, Instant};

/// The time that a batch may take to fill up, counted from its first item.
pub(super) struct Patience {
    span: Duration,
    clock: Clock,
    alarm: Mutex<Alarm>,
}

/// The number of a batch: a timer of one that has been taken meanwhile says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BatchNumber(u64);

/// Written under the port's lock, but for the timer.
#[derive(Default)]
struct Alarm {
    number: u64,
    /// A first item waits.
    begun: bool,
    /// There soon after the beginning: it is set when the port is unlocked.
    timer: Option<Timer>,
}

impl Patience {
    pub(super) fn new(span: Duration, clock: Clock) -> Self {
        Patience {
            span,
            clock,
            alarm: Mutex::default(),
        }
    }

    /// An item waits. For the first one: the caller [sets the timer](Patience::set) once the port
    /// is unlocked.
    pub(super) fn begin(&self) -> Option<BatchNumber> {
        let mut alarm = self.alarm.lock();
        let first = !mem::replace(&mut alarm.begun, true);
        first.then_some(BatchNumber(alarm.number))
    }

    /// Calls `due` when the time of the batch is over. The caller holds no lock.
    pub(super) fn set(&self, number: BatchNumber, due: impl FnOnce(Instant) + Send + 'static) {
        let unset = UnsetTimer(self, number);
        let timer = self.clock.after(self.span, due);
        let _set = ManuallyDrop::new(unset);
        let mut alarm = self.alarm.lock();
        if alarm.begun && alarm.number == number.0 {
            alarm.timer = Some(timer);
            return;
        }
        drop(alarm);
        timer.cancel();
    }

    /// The batch has been taken. Its timer, if it was set, is to be cancelled once the port is
    /// unlocked.
    #[must_use]
    pub(super) fn end(&self) -> Option<Timer> {
        let mut alarm = self.alarm.lock();
        alarm.number += u64::from(mem::take(&mut alarm.begun));
        alarm.timer.take()
    }

    /// The time of a batch is over. `false` when it has been taken before.
    pub(super) fn is_over(&self, number: BatchNumber) -> bool {
        let mut alarm = self.alarm.lock();
        let over = alarm.begun && alarm.number == number.0;
        if over {
            alarm.number += 1;
            alarm.begun = false;
            // It has fired: there is nothing to cancel.
            alarm.timer = None;
        }
        over
    }
}

/// A batch whose timer is being set. Dropping this says that there is none, as the clock has
/// panicked: the next item begins it anew.
struct UnsetTimer<'p>(&'p Patience, BatchNumber);

impl Drop for UnsetTimer<'_> {
    fn drop(&mut self) {
        let UnsetTimer(patience, number) = self;
        let mut alarm = patience.alarm.lock();
        if alarm.number == number.0 {
            alarm.begun = false;
        }
    }
}

impl Drop for Patience {
    fn drop(&mut self) {
        if let Some(timer) = self.end() {
            timer.cancel();
        }
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use motet_dispatch::Replay;
    use motet_sync::thread;
    use std::sync::Arc;

    /// A port without items of its own: how many wait, and for how long they may.
    struct Waiting {
        count: Mutex<usize>,
        patience: Patience,
    }

    impl Waiting {
        /// What a post does to a receive of two.
        fn post(&self) {
            let (mut begun, mut ended) = (None, None);
            let mut count = self.count.lock();
            *count += 1;
            if *count == 2 {
                *count = 0;
                ended = self.patience.end();
            } else {
                begun = self.patience.begin();
            }
            drop(count);
            if let Some(timer) = ended {
                timer.cancel();
            }
            if let Some(number) = begun {
                self.patience.set(number, |_| ());
            }
        }
    }

    /// Batches begin and end while timers are set: at the end there is a timer if an item waits,
    /// and none if not.
    #[test]
    fn loom_a_batch_that_waits_has_a_timer_and_one_that_is_taken_has_none() {
        for posts in [1, 2] {
            loom::model(move || {
                let replay = Replay::new(1);
                let waiting = Arc::new(Waiting {
                    count: Mutex::new(0),
                    patience: Patience::new(Duration::from_secs(1), replay.clock()),
                });
                let other = Arc::clone(&waiting);
                let poster = thread::spawn(move || other.post());
                (0..posts).for_each(|_| waiting.post());
                poster.join().unwrap();
                assert_eq!(replay.timers(), *waiting.count.lock());
            });
        }
    }
}
