//! Notes where the time of one rank goes. Touched by the rank's thread only.
//!
//! ```text
//!   … computing ──► enter ── messaging ──► wait ── waiting ──► leave ── computing …
//! ```
//!
//! A call that has to wait looks at the clock three times, one that has not, twice.

use super::{RankProfile, StageProfile};
use crate::CallSite;
use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::time::{Duration, Instant};

/// What tells the time of a profile.
#[derive(Debug, Clone, Copy)]
pub enum ProfileClock {
    /// The machine's, from here.
    Real(Instant),
    /// The program's.
    Own(fn() -> Duration),
}

/// A call that has been entered; it is left when this is dropped.
#[derive(Debug)]
pub struct EnteredCall<'c>(&'c Recorder);

/// A call that communicates.
#[derive(Debug, Clone, Copy)]
pub struct Called {
    /// Its name.
    pub name: &'static str,
    /// Where it is called.
    pub location: &'static Location<'static>,
}

impl Called {
    /// A call of this name, at this place.
    #[must_use]
    pub fn new(name: &'static str, location: &'static Location<'static>) -> Self {
        Called { name, location }
    }
}

/// Notes where the time of one rank goes, call by call.
///
/// ```
/// use motet_trace::{Called, ProfileClock, Recorder};
/// use std::panic::Location;
/// use std::time::Instant;
///
/// let recorder = Recorder::new(ProfileClock::Real(Instant::now()));
/// recorder.enter(Called::new("recv", Location::caller()));
/// recorder.wait();
/// recorder.leave();
/// let (profile, [begun, ended]) = recorder.finish(0, 0);
/// assert_eq!(profile.stages[0].call, "recv");
/// assert!(begun <= ended);
/// ```
#[derive(Debug)]
pub struct Recorder {
    clock: ProfileClock,
    /// The place of the call of a library that is being polled.
    layer: Cell<Option<&'static Location<'static>>>,
    state: RefCell<State>,
}

#[derive(Debug)]
struct State {
    begun: Duration,
    /// The last look at the clock; what has been done since then.
    mark: Duration,
    doing: Doing,
    /// Calls that have been entered and not left: one inside another, or several that are awaited
    /// at once.
    open: u32,
    /// What has been computed since the last call.
    piece: Duration,
    /// The stage of the open call.
    stage: usize,
    /// That of the last.
    last: usize,
    stages: Vec<Stage>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    Computing,
    Messaging,
    Waiting,
}

/// The stages that end with one call.
#[derive(Debug)]
struct Stage {
    called: Option<Called>,
    count: u64,
    computing: Duration,
    /// Sums over the pieces of computing, in seconds: of their squares, and of their distances from
    /// the mean until then.
    squares: f64,
    distances: f64,
    longest: Duration,
    messaging: Duration,
    waiting: Duration,
}

/// Of waits that are no call's, and of the end.
const OUTSIDE: usize = 0;

impl ProfileClock {
    fn now(&self) -> Duration {
        match self {
            ProfileClock::Real(begun) => begun.elapsed(),
            ProfileClock::Own(now) => now(),
        }
    }
}

impl Recorder {
    /// A rank begins.
    #[must_use]
    pub fn new(clock: ProfileClock) -> Self {
        let now = clock.now();
        let state = RefCell::new(State {
            begun: now,
            mark: now,
            doing: Doing::Computing,
            open: 0,
            piece: Duration::ZERO,
            stage: OUTSIDE,
            last: OUTSIDE,
            stages: vec![Stage::new(None)],
        });
        let layer = Cell::new(None);
        Recorder {
            clock,
            layer,
            state,
        }
    }

    /// Where the program has called the library whose calls begin from here on, if there is one:
    /// they stand at that place.
    #[must_use]
    pub fn layer(&self) -> &Cell<Option<&'static Location<'static>>> {
        &self.layer
    }

    /// A call begins, unless it is inside another.
    pub fn enter(&self, called: Called) {
        let location = self.layer.get().unwrap_or(called.location);
        let called = Called { location, ..called };
        let mut state = self.state.borrow_mut();
        state.open += 1;
        if state.open == 1 {
            state.turn_to(Doing::Messaging, self.clock.now());
            state.stage = state.find(called);
            let (stage, piece) = (state.stage, std::mem::take(&mut state.piece));
            state.stages[stage].add(piece);
        }
    }

    /// As [`Recorder::enter`], until what is returned is dropped.
    #[must_use]
    pub fn entered(&self, called: Called) -> EnteredCall<'_> {
        self.enter(called);
        EnteredCall(self)
    }

    /// The call that has begun has to wait.
    pub fn wait(&self) {
        let mut state = self.state.borrow_mut();
        if state.doing == Doing::Messaging {
            state.turn_to(Doing::Waiting, self.clock.now());
        }
    }

    /// A call has ended.
    pub fn leave(&self) {
        let mut state = self.state.borrow_mut();
        state.open = state.open.saturating_sub(1);
        if state.open == 0 {
            state.turn_to(Doing::Computing, self.clock.now());
            state.stage = OUTSIDE;
        }
    }

    /// The rank gives its thread up; if it is in no call it waits for something else.
    pub fn suspend(&self) {
        let mut state = self.state.borrow_mut();
        if state.open == 0 {
            state.turn_to(Doing::Waiting, self.clock.now());
        }
    }

    /// The rank has its thread again.
    pub fn resume(&self) {
        let mut state = self.state.borrow_mut();
        if state.open == 0 && state.doing == Doing::Waiting {
            state.turn_to(Doing::Computing, self.clock.now());
        }
    }

    /// The rank has ended: its profile, and when it has begun and ended, in seconds.
    #[must_use]
    pub fn finish(&self, rank: usize, thread: usize) -> (RankProfile, [f64; 2]) {
        let mut state = self.state.borrow_mut();
        state.turn_to(Doing::Computing, self.clock.now());
        let rest = std::mem::take(&mut state.piece);
        state.stages[OUTSIDE].add(rest);
        let times = [state.begun, state.mark].map(|at| at.as_secs_f64());
        // A call that is open still is left later.
        (state.stage, state.last) = (OUTSIDE, OUTSIDE);
        let mut all = std::mem::replace(&mut state.stages, vec![Stage::new(None)]);
        let outside = all.remove(OUTSIDE);
        let mut stages: Vec<Stage> = Vec::new();
        // A generic function may have several copies of one place.
        for stage in all {
            match stages.iter_mut().find(|other| other.key() == stage.key()) {
                Some(other) => other.join(&stage),
                None => stages.push(stage),
            }
        }
        let ranked = RankProfile {
            rank,
            thread,
            stages: stages
                .iter()
                .chain([&outside])
                .map(Stage::profile)
                .collect(),
        };
        (ranked, times)
    }
}

impl Drop for EnteredCall<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl State {
    /// What was done until now is charged; from now on something else is.
    fn turn_to(&mut self, doing: Doing, now: Duration) {
        let took = now.saturating_sub(self.mark);
        let stage = &mut self.stages[self.stage];
        match self.doing {
            Doing::Computing => self.piece += took,
            Doing::Messaging => stage.messaging += took,
            Doing::Waiting => stage.waiting += took,
        }
        // A clock that goes backwards stands still: no time is charged twice.
        (self.mark, self.doing) = (self.mark.max(now), doing);
    }

    /// The stages that end with this call. A loop comes to them in the same order again and again:
    /// mostly it is the one after the last.
    fn find(&mut self, called: Called) -> usize {
        let is_it = |stage: &Stage| {
            stage.called.is_some_and(|other| {
                std::ptr::eq(other.location, called.location) && other.name == called.name
            })
        };
        let count = self.stages.len();
        let after = (self.last + 1).min(count);
        let found = (after..count)
            .chain(1..after)
            .find(|&at| is_it(&self.stages[at]));
        self.last = found.unwrap_or(count);
        if found.is_none() {
            self.stages.push(Stage::new(Some(called)));
        }
        self.last
    }
}

impl Stage {
    fn new(called: Option<Called>) -> Self {
        Stage {
            called,
            count: 0,
            computing: Duration::ZERO,
            squares: 0.0,
            distances: 0.0,
            longest: Duration::ZERO,
            messaging: Duration::ZERO,
            waiting: Duration::ZERO,
        }
    }

    /// One more of them, with so much computing.
    fn add(&mut self, piece: Duration) {
        self.count += 1;
        self.computing += piece;
        self.longest = self.longest.max(piece);
        let seconds = piece.as_secs_f64();
        self.squares += seconds * seconds;
        self.distances += (seconds - self.mean()).abs();
    }

    fn mean(&self) -> f64 {
        self.computing.as_secs_f64() / self.count.max(1) as f64
    }

    fn key(&self) -> Option<(&'static str, CallSite)> {
        let called = self.called?;
        Some((called.name, called.location.into()))
    }

    /// More of the same.
    fn join(&mut self, other: &Stage) {
        self.count += other.count;
        self.computing += other.computing;
        self.squares += other.squares;
        self.distances += other.distances;
        self.longest = self.longest.max(other.longest);
        self.messaging += other.messaging;
        self.waiting += other.waiting;
    }

    fn profile(&self) -> StageProfile {
        let (call, site) = match self.key() {
            Some((name, site)) => (name.to_owned(), site.to_string()),
            None => ("end".to_owned(), String::new()),
        };
        let count = self.count.max(1) as f64;
        let variance = self.squares / count - self.mean() * self.mean();
        StageProfile {
            call,
            site,
            count: self.count,
            computing: self.computing.as_secs_f64(),
            deviation: variance.max(0.0).sqrt(),
            spread: self.distances / count,
            longest: self.longest.as_secs_f64(),
            messaging: self.messaging.as_secs_f64(),
            waiting: self.waiting.as_secs_f64(),
        }
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;

    thread_local! {
        /// The tests' own time, in milliseconds.
        static NOW: Cell<u64> = const { Cell::new(0) };
    }

    fn pass(milliseconds: u64) {
        NOW.set(NOW.get() + milliseconds);
    }

    fn recorder() -> Recorder {
        Recorder::new(ProfileClock::Own(|| Duration::from_millis(NOW.get())))
    }

    #[track_caller]
    fn called(name: &'static str) -> Called {
        let location = Location::caller();
        Called { name, location }
    }

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn all_time_is_charged_once() {
        let (recorder, exchange) = (recorder(), called("exchange"));
        for piece in [10, 20, 30] {
            pass(piece);
            recorder.enter(exchange);
            pass(1);
            recorder.wait();
            pass(5);
            // A call inside it, and a look that finds nothing.
            recorder.enter(called("send"));
            recorder.wait();
            pass(2);
            recorder.leave();
            recorder.leave();
        }
        recorder.suspend();
        pass(100);
        recorder.resume();
        pass(7);
        let (rank, [begun, ended]) = recorder.finish(3, 1);
        assert_eq!((rank.rank, rank.thread, rank.stages.len()), (3, 1, 2));
        let [exchange, end] = &rank.stages[..] else {
            unreachable!()
        };
        assert_eq!((exchange.count, &*exchange.call), (3, "exchange"));
        assert!(exchange.site.contains("recorder.rs"), "{exchange:?}");
        let times = [exchange.computing, exchange.messaging, exchange.waiting];
        assert!(
            times
                .iter()
                .zip([0.060, 0.003, 0.021])
                .all(|(is, be)| close(*is, be))
        );
        assert!(
            close(exchange.deviation, (200.0_f64 / 3.0).sqrt() / 1e3),
            "{exchange:?}"
        );
        assert!(close(exchange.longest, 0.030));
        assert_eq!((end.count, &*end.call, &*end.site), (1, "end", ""));
        assert!(
            close(end.computing, 0.007) && close(end.waiting, 0.100),
            "{end:?}"
        );
        let sum: f64 = rank.totals().iter().sum();
        assert!(close(sum, ended - begun));
    }

    #[test]
    fn a_clock_that_goes_backwards_charges_no_time_twice() {
        let recorder = recorder();
        pass(10);
        recorder.enter(called("recv"));
        NOW.set(NOW.get() - 6);
        recorder.wait();
        pass(8);
        recorder.leave();
        let (rank, [begun, ended]) = recorder.finish(0, 0);
        let sum: f64 = rank.totals().iter().sum();
        assert!(close(sum, ended - begun) && close(sum, 0.012), "{sum}");
    }

    #[test]
    fn a_call_may_be_left_after_the_end() {
        let recorder = recorder();
        let open = recorder.entered(called("recv"));
        recorder.wait();
        pass(5);
        let (rank, _) = recorder.finish(0, 0);
        assert!(close(rank.totals()[2], 0.005), "{rank:?}");
        drop(open);
        recorder.suspend();
        recorder.resume();
    }

    #[test]
    fn stages_are_told_apart_by_name_and_place_in_any_order() {
        let recorder = recorder();
        let calls = [
            called("send"),
            called("recv"),
            called("recv"),
            called("barrier"),
        ];
        for at in [0, 1, 2, 3, 0, 1, 2, 3, 2, 2, 0, 3] {
            recorder.enter(calls[at]);
            recorder.leave();
        }
        let (rank, _) = recorder.finish(0, 0);
        let counts: Vec<u64> = rank.stages.iter().map(|stage| stage.count).collect();
        assert_eq!(counts, [3, 2, 4, 3, 1]);
    }

    #[test]
    fn calls_of_a_library_stand_where_that_was_called() {
        let (recorder, here) = (recorder(), Location::caller());
        recorder.layer().set(Some(here));
        recorder.enter(called("recv"));
        recorder.leave();
        recorder.layer().set(None);
        recorder.enter(called("recv"));
        recorder.leave();
        let (profile, _) = recorder.finish(0, 0);
        let mut sites = profile.stages.iter().map(|stage| &*stage.site);
        assert!(sites.any(|site| site == CallSite::from(here).to_string()));
        assert_eq!(
            profile.stages[..2]
                .iter()
                .filter(|it| it.call == "recv")
                .count(),
            2
        );
    }
}
