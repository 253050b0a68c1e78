//! What time it is, and who is told when a time has come.
//!
//! A [`Clock`] is the real one or that of a [`Replay`](crate::Replay), whose time is virtual. Both
//! keep their timers in one ordered map under a lock. Whoever takes a timer out of the map, its
//! time or a cancel, decides what becomes of it.
//!
//! ```text
//!   after, at, every ──> timers in the order of their times ──> motet-timers (real), Replay (virtual)
//!                              └── cancel ──> given up                   └──> the call
//! ```

mod beat;
mod real_time;
mod timer;
mod timers;
mod timescale;
mod virtual_time;

pub use timer::Timer;
pub use timescale::Timescale;
pub(crate) use virtual_time::VirtualTime;

use crate::task::{Task, TaskBody, TaskBox};
use beat::Beat;
use real_time::RealTime;
use std::cell::RefCell;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};
use timer::Source;

/// Tells the time and runs calls when their time has come. Clones are the same clock.
///
/// Code in a task finds the clock of the queue it runs on with [`Clock::current`]. So it works
/// under a [`Dispatcher`](crate::Dispatcher) and, in virtual time, under a
/// [`Replay`](crate::Replay).
///
/// The calls run on the clock's own thread, one after the other: they must be quick and must not
/// block. What takes longer is queued by [`timer::after`](crate::timer::after).
///
/// ```
/// use motet_dispatch::Clock;
/// use std::time::Duration;
///
/// let (tell, told) = std::sync::mpsc::channel();
/// let clock = Clock::real();
/// let begun = clock.now();
/// clock.after(Duration::from_millis(2), move |due| tell.send(due).unwrap());
/// assert!(told.recv().unwrap() >= begun + Duration::from_millis(2));
/// ```
#[derive(Clone)]
pub struct Clock {
    source: Source,
    timescale: Timescale,
}

/// Longer spans than this (a hundred years) end then: times beyond could not be told.
pub(crate) const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

motet_sync::thread_local! {
    /// The clock of the replay that runs a task on this thread.
    static VIRTUAL: RefCell<Option<Clock>> = const { RefCell::new(None) };
}

impl Clock {
    /// The clock of the machine ([`Instant::now`]).
    #[must_use]
    pub fn real() -> Self {
        Clock {
            source: Source::Real(RealTime::of_process()),
            timescale: Timescale::default(),
        }
    }

    pub(crate) fn of(time: Arc<VirtualTime>) -> Self {
        Clock {
            source: Source::Virtual(time),
            timescale: Timescale::default(),
        }
    }

    /// The time now. With a virtual clock, differences between two times have a meaning and repeat,
    /// the times themselves do not.
    #[must_use]
    pub fn now(&self) -> Instant {
        match &self.source {
            Source::Real(_) => Instant::now(),
            Source::Virtual(time) => time.now(),
        }
    }

    /// Whether the time is that of a [`Replay`](crate::Replay).
    #[must_use]
    pub fn is_virtual(&self) -> bool {
        matches!(self.source, Source::Virtual(_))
    }

    /// The same clock, whose spans are to be multiplied by `timescale` (as well as by its own).
    #[must_use]
    pub fn scaled(&self, timescale: Timescale) -> Self {
        Clock {
            source: self.source.clone(),
            timescale: self.timescale.times(timescale),
        }
    }

    /// What the spans given to this clock are multiplied by.
    #[must_use]
    pub fn timescale(&self) -> Timescale {
        self.timescale
    }

    /// Runs `call` once, `span` from now (multiplied by the [timescale](Timescale)), with the time
    /// for which it was set. A panic of the call is told on standard error.
    ///
    /// # Panics
    /// When the operating system refuses the real clock its thread.
    #[allow(
        clippy::must_use_candidate,
        reason = "a timer may be set and forgotten"
    )]
    pub fn after(&self, span: Duration, call: impl FnOnce(Instant) + Send + 'static) -> Timer {
        self.at(self.in_future(span), call)
    }

    /// Runs `call` once, at `when`; at once when that has passed.
    ///
    /// # Panics
    /// As [`Clock::after`].
    #[allow(
        clippy::must_use_candidate,
        reason = "a timer may be set and forgotten"
    )]
    pub fn at(&self, when: Instant, call: impl FnOnce(Instant) + Send + 'static) -> Timer {
        self.schedule(when, TaskBox::new(Due { when, call }).into_task())
    }

    /// Runs `call` again and again, the first time `period` from now, each time with the time for
    /// which it was set. The times are whole periods apart, however late a call comes. When several
    /// have passed while the calls could not come, one call comes late and the others are left out.
    /// A panic of the call is told as with [`Clock::after`], and the next call comes all the same.
    ///
    /// # Panics
    /// When the period is zero, and as [`Clock::after`].
    #[allow(
        clippy::must_use_candidate,
        reason = "a timer may be set and forgotten"
    )]
    pub fn every(&self, period: Duration, mut call: impl FnMut(Instant) + Send + 'static) -> Timer {
        self.every_while(period, move |due| {
            call(due);
            ControlFlow::Continue(())
        })
    }

    /// Like [`Clock::every`], until the call breaks off.
    pub(crate) fn every_while(
        &self,
        period: Duration,
        call: impl FnMut(Instant) -> ControlFlow<()> + Send + 'static,
    ) -> Timer {
        assert!(period > Duration::ZERO, "the period of a timer is zero");
        let period = self.timescale.of(period).min(LONGEST);
        // A timescale may leave nothing of the shortest periods.
        Beat::start(self, period.max(Duration::from_nanos(1)), Box::new(call))
    }

    /// The time `span` from now (multiplied by the [timescale](Timescale)); of spans without an
    /// end, a time that nobody lives to see.
    #[must_use]
    pub fn in_future(&self, span: Duration) -> Instant {
        self.now() + self.timescale.of(span).min(LONGEST)
    }

    /// Runs `due` at `when` on the clock's thread. When the timer is cancelled it is cleaned up.
    pub(crate) fn schedule(&self, when: Instant, due: Task) -> Timer {
        let key = match &self.source {
            Source::Real(time) => time.insert(when, due),
            Source::Virtual(time) => time.insert(when, due),
        };
        Timer::once(self.source.clone(), key)
    }

    /// The virtual clock of this thread, while a replay runs a task on it.
    pub(crate) fn of_thread() -> Option<Clock> {
        VIRTUAL.with(|clock| clock.borrow().clone())
    }

    /// Runs `body` with this clock as the thread's.
    pub(crate) fn while_current<R>(&self, body: impl FnOnce() -> R) -> R {
        /// The clock around: a replay may run inside a task of another.
        struct Outer(Option<Clock>);
        impl Drop for Outer {
            fn drop(&mut self) {
                VIRTUAL.with(|clock| clock.replace(self.0.take()));
            }
        }
        let _outer = Outer(VIRTUAL.with(|clock| clock.replace(Some(self.clone()))));
        body()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock")
            .field("virtual", &self.is_virtual())
            .field("timescale", &self.timescale)
            .finish_non_exhaustive()
    }
}

/// The body of a call that waits for its time.
struct Due<F> {
    when: Instant,
    call: F,
}

impl<F: FnOnce(Instant) + Send + 'static> TaskBody for Due<F> {
    fn run(task: TaskBox<Self>) {
        let Due { when, call } = task.into_inner();
        call(when);
    }
}
