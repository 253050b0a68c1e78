//! Timers that fire again and again.

use super::{Clock, Timer};
use crate::task::Task;
use motet_sync::Mutex;
use std::ops::ControlFlow;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// What is called, until it breaks off.
type Call = Box<dyn FnMut(Instant) -> ControlFlow<()> + Send>;

/// A periodic timer: each beat sets the next.
pub(super) struct Beat {
    this: Weak<Beat>,
    clock: Clock,
    period: Duration,
    state: Mutex<State>,
}

struct State {
    /// The timer of the next beat; `None` when there will be none.
    next: Option<Timer>,
    /// Not here while it is called.
    call: Option<Call>,
}

/// A call while it is called. It comes back to its beat, also when it panics, if that goes on.
struct TakenCall<'b> {
    beat: &'b Beat,
    call: Option<Call>,
}

/// What the handle of a periodic timer knows.
pub(super) trait Beats: Send + Sync {
    /// No beat comes any more. `true` when that was not so before.
    fn stop(&self) -> bool;
}

impl Beat {
    pub(super) fn start(clock: &Clock, period: Duration, call: Call) -> Timer {
        let state = State {
            next: None,
            call: Some(call),
        };
        let beat = Arc::new_cyclic(|this| Beat {
            this: Weak::clone(this),
            clock: clock.clone(),
            period,
            state: Mutex::new(state),
        });
        let first = clock.now() + period;
        // Under the lock: a beat that comes at once waits for its timer to be known.
        let mut state = beat.state.lock();
        state.next = Some(beat.set(first));
        drop(state);
        Timer::every(beat)
    }

    /// Sets the timer of a beat.
    fn set(&self, when: Instant) -> Timer {
        let beat = self.this.upgrade().expect("a beat that is used is alive");
        self.clock
            .schedule(when, Task::new(move || beat.fire(when)))
    }

    /// The beat whose time was `due`.
    fn fire(&self, due: Instant) {
        let call = {
            let mut state = self.state.lock();
            if state.next.is_none() {
                return;
            }
            state.next = Some(self.set(self.following(due)));
            state.call.take()
        };
        // The next beat is set before the call, which may cancel it.
        let Some(call) = call else { return };
        let mut taken = TakenCall {
            beat: self,
            call: Some(call),
        };
        let breaks = taken.call.as_mut().is_some_and(|call| call(due).is_break());
        if breaks {
            self.stop();
        }
    }

    /// The first whole period after `due` that has not passed.
    fn following(&self, due: Instant) -> Instant {
        let next = due + self.period;
        let late = self.clock.now().saturating_duration_since(next);
        let missed = late.as_nanos() / self.period.as_nanos();
        if late.is_zero() {
            return next;
        }
        let missed = u32::try_from(missed + 1).unwrap_or(u32::MAX);
        next + self.period.saturating_mul(missed)
    }
}

impl Drop for TakenCall<'_> {
    fn drop(&mut self) {
        let mut state = self.beat.state.lock();
        if state.next.is_some() {
            state.call = self.call.take();
        }
    }
}

impl Beats for Beat {
    fn stop(&self) -> bool {
        // The timer and the call are given up outside the lock: they may hold user code.
        let (next, _call) = {
            let mut state = self.state.lock();
            (state.next.take(), state.call.take())
        };
        let Some(next) = next else { return false };
        next.cancel();
        true
    }
}
