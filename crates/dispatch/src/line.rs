//! The line of those who wait for room in a bounded queue.
//!
//! Room is granted first come, first served: while someone waits, nobody else gets any, and whoever
//! gives room up serves the head of the line.
//!
//! ```text
//!   claim ──> nobody waits? ──> limit: take ──> room            give up ──> somebody waits? ──> serve
//!                  │                 │                                                            │
//!                  └──── refused ────┴──> join the line ... <── granted: limit: take ─────────────┘
//! ```
//!
//! No waiter is forgotten. Who joins announces itself (`waiters`) before it tries the limit. Who
//! gives room up changes the limit before it looks at `waiters`. With a fence between the two steps
//! on both sides one sees the other.
//!
//! Lock order: the line, then the slot of one waiter. Wakers are called under neither. They are
//! others' code, and who gives room up has work in hand that is not theirs. What they panic with
//! goes the way of a handler's panic.

mod room_wait;

pub use room_wait::RoomWait;

use crate::QueueError;
use crate::limit::QueueLimit;
use crate::policy::Notifications;
use crate::route::Routes;
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicUsize, Ordering, fence};
use room_wait::InLine;
use std::collections::VecDeque;
use std::fmt;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// The room of a bounded queue, and the line of those who wait for it. Clones are the same line.
///
/// For those who build waiting forms of their own on [`Enqueue::room`](crate::Enqueue::room).
#[derive(Clone)]
pub struct RoomLine(Arc<Line>);

/// Room for one task, claimed. Dropping it gives the room to the next in line.
#[must_use = "room that is dropped is given up"]
pub struct ClaimedRoom {
    /// Taken out when the room is used.
    line: Option<RoomLine>,
}

struct Line {
    limit: QueueLimit,
    /// The length of the line, for looking without the lock. Written under it.
    waiters: AtomicUsize,
    state: Mutex<State>,
    /// Who is told that someone begins to wait.
    throttled: Option<Arc<Notifications>>,
    /// Who hears of a waker that panics.
    routes: Arc<Routes>,
}

#[derive(Default)]
struct State {
    line: VecDeque<Arc<InLine>>,
    closed: bool,
    /// A timer is set for the head of the line, in a line for a rate.
    has_timer: bool,
}

impl RoomLine {
    /// The line of the queue whose panics go by `routes`.
    pub(crate) fn new(
        limit: QueueLimit,
        throttled: Option<Arc<Notifications>>,
        routes: &Arc<Routes>,
    ) -> Self {
        RoomLine(Arc::new(Line {
            limit,
            waiters: AtomicUsize::new(0),
            state: Mutex::default(),
            throttled,
            routes: Arc::clone(routes),
        }))
    }

    /// Waits for room, first come, first served.
    ///
    /// # Cancellation
    /// Dropping the future leaves the line; room that had been granted goes to the next.
    ///
    /// # Errors
    /// [`QueueError::Stopped`] when the queue's dispatcher is stopped.
    ///
    /// A task that waits so is in the [waiting list](crate::Dispatcher::waiting) as `room`; see
    /// [`RoomWait::listed`].
    #[must_use = "a wait that is not awaited does not wait"]
    #[track_caller]
    pub fn wait(&self) -> RoomWait {
        RoomWait::new(self, Some(("room", Location::caller())))
    }

    /// Whether the queue lets posters wait for room. A queue that rejects hands back instead; only
    /// what is in its place already (the items of ports) may wait for it.
    #[must_use]
    pub fn throttles(&self) -> bool {
        self.0.throttled.is_some()
    }

    /// The number of those who wait.
    #[must_use]
    pub fn waiters(&self) -> usize {
        self.0.waiters.load(Ordering::Relaxed)
    }

    /// Whether both are the same line.
    #[must_use]
    pub fn is(&self, other: &RoomLine) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Claims room, unless others wait for it.
    #[inline]
    pub(crate) fn claim(&self) -> Result<(), QueueError> {
        if self.0.waiters.load(Ordering::Relaxed) == 0 && self.0.limit.take().is_ok() {
            return Ok(());
        }
        Err(self.0.limit.refusal())
    }

    /// Counts a task that comes back without asking for room.
    #[inline]
    pub(crate) fn exceed(&self) {
        if let QueueLimit::Depth(_, waiting) = &self.0.limit {
            waiting.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// A task has been taken by a worker. `true` when someone waits for its room, who is then to be
    /// [served](RoomLine::serve).
    #[inline]
    pub(crate) fn leave(&self) -> bool {
        match &self.0.limit {
            QueueLimit::Depth(_, waiting) => {
                waiting.fetch_sub(1, Ordering::AcqRel);
                self.0.is_waited_for()
            }
            // Room comes with the time.
            QueueLimit::Rate(..) => false,
        }
    }

    /// Gives room back that was claimed and will not be used.
    pub(crate) fn give_up(&self) {
        self.0.limit.give_back();
        if self.0.is_waited_for() {
            self.serve();
        }
    }

    /// Grants what room there is to those who wait.
    #[cold]
    pub(crate) fn serve(&self) {
        let (_, wakers) = self.0.serve(&mut self.0.state.lock());
        self.0.wake_all(wakers);
    }

    /// Nobody gets room any more.
    pub(crate) fn close(&self) {
        let mut state = self.0.state.lock();
        state.closed = true;
        let line = std::mem::take(&mut state.line);
        self.0.waiters.store(0, Ordering::Relaxed);
        drop(state);
        let tell = |waiter: Arc<InLine>| waiter.settle(Err(QueueError::Stopped));
        self.0.wake_all(line.into_iter().filter_map(tell).collect());
    }
}

impl Line {
    /// Whether someone waits, asked after room was given up.
    #[inline]
    fn is_waited_for(&self) -> bool {
        // Orders "there is room" before the look at the line: the fence in `join` is its partner.
        fence(Ordering::SeqCst);
        self.waiters.load(Ordering::Relaxed) > 0
    }

    /// Grants what room there is; says when there will be more, and who is to be woken.
    fn serve(&self, state: &mut State) -> (Option<Duration>, Vec<Waker>) {
        let mut wakers = Vec::new();
        let mut next = None;
        while let Some(waiter) = state.line.front() {
            if let Err(wait) = self.limit.take() {
                next = wait;
                break;
            }
            wakers.extend(waiter.settle(Ok(())));
            state.line.pop_front();
        }
        self.waiters.store(state.line.len(), Ordering::Relaxed);
        (next, wakers)
    }

    /// Puts a waiter at the end of the line. Its outcome may be there at once.
    fn join(line: &Arc<Line>, waiter: &Arc<InLine>) {
        let mut state = line.state.lock();
        if state.closed {
            drop(waiter.settle(Err(QueueError::Stopped)));
            return;
        }
        state.line.push_back(Arc::clone(waiter));
        line.waiters.store(state.line.len(), Ordering::Relaxed);
        // Orders "I wait" before the look for room: the fence in `is_waited_for` is its partner.
        fence(Ordering::SeqCst);
        let (next, wakers) = line.serve(&mut state);
        let timed = line.wants_time(&mut state, next);
        drop(state);
        line.wake_all(wakers);
        Line::come_back(line, timed);
    }

    /// Takes a waiter out of the line; `false` when it is not there any more.
    fn remove(&self, waiter: &Arc<InLine>) -> bool {
        let mut state = self.state.lock();
        let at = state.line.iter().position(|w| Arc::ptr_eq(w, waiter));
        if let Some(at) = at {
            state.line.remove(at);
            self.waiters.store(state.line.len(), Ordering::Relaxed);
        }
        at.is_some()
    }

    /// How long to wait for the head of the line, unless a timer has been set for that.
    fn wants_time(&self, state: &mut State, next: Option<Duration>) -> Option<Duration> {
        let timed = next.filter(|_| !state.has_timer && !state.line.is_empty());
        state.has_timer |= timed.is_some();
        timed
    }

    /// Grants room when its time has come, and so on until nobody waits.
    fn come_back(line: &Arc<Line>, after: Option<Duration>) {
        let (Some(span), QueueLimit::Rate(_, clock, _)) = (after, &line.limit) else {
            return;
        };
        let unset = UnsetTimer(line);
        let line = Arc::downgrade(line);
        // The clock's own span: a timescale is for what programs wait for.
        let timer = clock.at(clock.now() + span, move |_| {
            let Some(line) = line.upgrade() else {
                return;
            };
            let mut state = line.state.lock();
            state.has_timer = false;
            let (next, wakers) = line.serve(&mut state);
            let timed = line.wants_time(&mut state, next);
            drop(state);
            line.wake_all(wakers);
            Line::come_back(&line, timed);
        });
        drop(timer);
        let _set = ManuallyDrop::new(unset);
    }

    /// Wakes all. They have been told their outcome: the panic of one keeps it from nobody.
    fn wake_all(&self, wakers: Vec<Waker>) {
        for waker in wakers {
            self.routes.guarded(|| waker.wake());
        }
    }
}

/// A line whose timer is being set. Dropping this says that there is none: the clock has panicked.
struct UnsetTimer<'l>(&'l Line);

impl Drop for UnsetTimer<'_> {
    fn drop(&mut self) {
        self.0.state.lock().has_timer = false;
    }
}

impl ClaimedRoom {
    /// Uses the room: the caller [admits](crate::Enqueue::admit) a task for it.
    pub fn keep(mut self) {
        self.line = None;
    }

    /// Whether this is room of that line.
    #[must_use]
    pub fn is_of(&self, line: &RoomLine) -> bool {
        self.line.as_ref().is_some_and(|own| own.is(line))
    }
}

impl Drop for ClaimedRoom {
    fn drop(&mut self) {
        if let Some(line) = self.line.take() {
            line.give_up();
        }
    }
}

impl fmt::Debug for RoomLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoomLine")
            .field("waiters", &self.waiters())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ClaimedRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Room").finish_non_exhaustive()
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use motet_sync::{block_on, thread};
    use std::future::Future;
    use std::pin::Pin;
    use std::task::Context;

    fn full_line() -> RoomLine {
        let routes = Routes::new("narrow", &Arc::default());
        let line = RoomLine::new(QueueLimit::Depth(1, AtomicUsize::new(0)), None, &routes);
        line.claim().unwrap();
        line
    }

    /// A worker takes the one task while someone joins the line: loom reports a deadlock if he is
    /// forgotten.
    #[test]
    fn loom_a_waiter_joins_while_room_comes() {
        loom::model(|| {
            let line = full_line();
            let taker = thread::spawn({
                let line = line.clone();
                move || {
                    if line.leave() {
                        line.serve();
                    }
                }
            });
            block_on(line.wait()).unwrap().keep();
            taker.join().unwrap();
            assert_eq!(line.claim(), Err(QueueError::Full));
        });
    }

    /// Room comes while a plain claim and a waiter want it. Exactly one has it in the end, and if
    /// it is the claim, giving it up serves the waiter.
    #[test]
    fn loom_a_claim_against_a_waiter() {
        loom::model(|| {
            let line = full_line();
            let other = thread::spawn({
                let line = line.clone();
                move || {
                    if line.leave() {
                        line.serve();
                    }
                    if line.claim().is_ok() {
                        line.give_up();
                    }
                }
            });
            block_on(line.wait()).unwrap().keep();
            other.join().unwrap();
            assert_eq!(line.claim(), Err(QueueError::Full));
        });
    }

    /// A waiter gives up while room is granted to it: the room is there for the next.
    #[test]
    fn loom_a_wait_that_ends_against_room() {
        loom::model(|| {
            let line = full_line();
            let mut wait = line.wait();
            let mut cx = Context::from_waker(Waker::noop());
            assert!(Pin::new(&mut wait).poll(&mut cx).is_pending());
            let taker = thread::spawn({
                let line = line.clone();
                move || {
                    if line.leave() {
                        line.serve();
                    }
                }
            });
            drop(wait);
            taker.join().unwrap();
            assert_eq!(line.waiters(), 0);
            assert_eq!(line.claim(), Ok(()));
        });
    }

    /// The end comes while someone joins: he is told.
    #[test]
    fn loom_a_wait_that_begins_against_the_end() {
        loom::model(|| {
            let line = full_line();
            let closer = thread::spawn({
                let line = line.clone();
                move || line.close()
            });
            let outcome = block_on(line.wait());
            assert_eq!(outcome.err(), Some(QueueError::Stopped));
            closer.join().unwrap();
        });
    }
}
