//! Waits with deadlines, and one timer for many of them.
//!
//! ```text
//!   wait ── enter ──► slab of waits ◄── fire ── one timer, at the earliest deadline that was seen
//!     └──── leave ──► nothing is cancelled: a timer that finds nobody due is set anew, or rests
//! ```
//!
//! A call that is answered in time takes a place in a slab and gives it back. The clock hears of it
//! only if no timer is set for an earlier time, which is once per span and not once per call. The
//! timers for later times stay, and serve who is left: so a long wait beside short ones has one.

use motet_dispatch::Clock;
use motet_sync::{Mutex, renew_waker, thread_number};
use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::task::{Poll, Waker};
use std::time::Instant;

/// The waits of a node.
pub(crate) struct Deadlines {
    clock: Clock,
    shards: Vec<Arc<Shard>>,
}

/// Those of some threads.
struct Shard(Mutex<Waits>);

#[derive(Default)]
struct Waits {
    places: Vec<Option<Wait>>,
    free: Vec<usize>,
    /// When timers are set for: each was set while all others were for later times.
    timers: BTreeSet<Instant>,
}

struct Wait {
    until: Instant,
    waker: Waker,
    between: Option<ServiceWait>,
}

/// A service that waits for the answer of another.
#[derive(Clone)]
pub(crate) struct ServiceWait {
    pub(crate) from: Arc<str>,
    pub(crate) to: Arc<str>,
    pub(crate) since: Instant,
}

/// A place among the waits, given back when it is dropped.
pub(crate) struct WaitEntry {
    shard: Arc<Shard>,
    at: usize,
}

/// The time of a wait is over.
pub(crate) struct Over;

const SHARDS: usize = 8;

impl Deadlines {
    pub(crate) fn new(clock: &Clock) -> Self {
        Deadlines {
            clock: clock.clone(),
            shards: (0..SHARDS)
                .map(|_| Arc::new(Shard(Mutex::default())))
                .collect(),
        }
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Has `waker` woken at `until` or after it, once.
    fn enter(&self, until: Instant, waker: &Waker, between: Option<ServiceWait>) -> WaitEntry {
        // A replay runs on whichever thread: its timers must not depend on the number of that.
        let number = if self.clock.is_virtual() {
            0
        } else {
            thread_number()
        };
        let shard = &self.shards[number % SHARDS];
        let (at, arm) = shard.0.lock().enter(until, waker.clone(), between);
        if arm {
            set_timer(&self.clock, shard, until);
        }
        WaitEntry {
            shard: Arc::clone(shard),
            at,
        }
    }

    /// Waits for `future`, or until `until`, if there is one, is over; what is there when both have
    /// come is taken.
    pub(crate) async fn before<F: Future>(
        &self,
        until: impl Into<Option<Instant>>,
        future: F,
    ) -> Result<F::Output, Over> {
        let until = until.into();
        let mut future = pin!(future);
        let mut place = None;
        poll_fn(|cx| {
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(Ok(output));
            }
            let Some(until) = until else {
                return Poll::Pending;
            };
            self.poll(&mut place, until, cx.waker(), |_| None).map(Err)
        })
        .await
    }

    /// The calls that services wait for, and until when.
    pub(crate) fn waiting(&self) -> Vec<(ServiceWait, Instant)> {
        let mut all = Vec::new();
        for shard in &self.shards {
            let waits = shard.0.lock();
            let between = waits.places.iter().flatten();
            all.extend(between.filter_map(|wait| Some((wait.between.clone()?, wait.until))));
        }
        all
    }

    /// Whether a wait that takes a place at its first poll is over. `between` says whose it is, by
    /// the time.
    pub(crate) fn poll(
        &self,
        place: &mut Option<WaitEntry>,
        until: Instant,
        waker: &Waker,
        between: impl FnOnce(Instant) -> Option<ServiceWait>,
    ) -> Poll<Over> {
        match place {
            // A place is woken only when its time has come, and then it is empty.
            Some(entered) if entered.renew(waker) => Poll::Pending,
            _ => {
                let now = self.clock.now();
                if now >= until {
                    *place = None;
                    return Poll::Ready(Over);
                }
                *place = Some(self.enter(until, waker, between(now)));
                Poll::Pending
            }
        }
    }
}

impl Waits {
    /// The place, and whether a timer is to be set.
    fn enter(
        &mut self,
        until: Instant,
        waker: Waker,
        between: Option<ServiceWait>,
    ) -> (usize, bool) {
        let wait = Some(Wait {
            until,
            waker,
            between,
        });
        let at = match self.free.pop() {
            Some(at) => {
                self.places[at] = wait;
                at
            }
            None => {
                self.places.push(wait);
                self.places.len() - 1
            }
        };
        (at, self.arm(until))
    }

    /// Whether a timer is to be set for this time: none comes before it, or then.
    fn arm(&mut self, until: Instant) -> bool {
        let arm = self.timers.first().is_none_or(|first| until < *first);
        if arm {
            self.timers.insert(until);
        }
        arm
    }

    /// Takes those out whose time is over; the earliest of the others, if a timer is to be set.
    fn due(&mut self, now: Instant) -> (Vec<Waker>, Option<Instant>) {
        let mut wakers = Vec::new();
        let mut next: Option<Instant> = None;
        for place in &mut self.places {
            match place {
                Some(wait) if wait.until <= now => {
                    wakers.extend(place.take().map(|wait| wait.waker))
                }
                Some(wait) => next = Some(next.map_or(wait.until, |next| next.min(wait.until))),
                None => {}
            }
        }
        (wakers, next.filter(|next| self.arm(*next)))
    }
}

fn set_timer(clock: &Clock, shard: &Arc<Shard>, until: Instant) {
    let (weak, again) = (Arc::downgrade(shard), clock.clone());
    clock.at(until, move |_| fire(&again, &weak, until));
}

/// The timer that was set for `due` has come.
fn fire(clock: &Clock, shard: &Weak<Shard>, due: Instant) {
    let Some(shard) = shard.upgrade() else {
        return;
    };
    let mut waits = shard.0.lock();
    waits.timers.remove(&due);
    let (wakers, next) = waits.due(clock.now().max(due));
    drop(waits);
    if let Some(next) = next {
        set_timer(clock, &shard, next);
    }
    for waker in wakers {
        waker.wake();
    }
}

impl WaitEntry {
    /// Keeps the waker up to date; `false` when the place is empty, since its time has come.
    fn renew(&self, waker: &Waker) -> bool {
        let mut waits = self.shard.0.lock();
        let Some(wait) = &mut waits.places[self.at] else {
            return false;
        };
        let before = renew_waker(&mut wait.waker, waker);
        drop(waits);
        // As when it is dropped.
        drop(before);
        true
    }
}

impl Drop for WaitEntry {
    fn drop(&mut self) {
        let mut waits = self.shard.0.lock();
        let left = waits.places[self.at].take();
        waits.free.push(self.at);
        drop(waits);
        // A waker's destructor may be the last of a task.
        drop(left);
    }
}
