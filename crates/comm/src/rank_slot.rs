//! The place where a rank waits and where others wake it.
//!
//! A waiting rank looks for what it waits for by itself, as [`SpinWait`] tells it. Only when that
//! has taken too long does it say that it sleeps. Whoever brings something looks at `sleeping`
//! after making it visible:
//!
//! ```text
//!  who brings                             who waits
//!  1  make it visible                     a  sleeping = true
//!  2  fence                               b  fence
//!  3  if sleeping: wake                   c  look once more; if it is there, go on
//! ```
//!
//! Of two SeqCst fences one comes first: either 3 sees a, or c sees 1. Ranks with the same home
//! worker take turns on one thread and need no fence.

use crate::report::{Wait, Why};
use motet_dispatch::{Advice, FutureHandle, SpinWait};
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicBool, Ordering, fence};
use smallvec::SmallVec;
use std::mem;
use std::num::NonZeroU64;
use std::sync::OnceLock;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// One rank's waiting place. Small: there may be millions, and most of what they leave here they
/// leave when they sleep.
pub(crate) struct RankSlot {
    /// The rank may sleep: whoever brings something must wake it. Only wakers clear it.
    sleeping: AtomicBool,
    finished: AtomicBool,
    /// The rank's task, where ranks are tasks of a dispatcher.
    task: OnceLock<FutureHandle>,
    /// Made when the rank first sleeps.
    left: Mutex<Option<Box<Left>>>,
}

/// What a rank leaves when it goes to sleep.
#[derive(Default)]
struct Left {
    /// Wakers of parts of the rank that are polled with a waker of their own.
    wakers: Vec<Waker>,
    /// The calls in which the rank sleeps; and the last one, until it sleeps again: its room would
    /// be idle. Most ranks wait in one call at a time.
    waits: SmallVec<[Listed; 1]>,
    /// How many calls have stood there.
    listed: u64,
}

/// A call in which a rank sleeps.
#[derive(Clone)]
pub(crate) struct Listed {
    /// The same for all that one call waits for: one of them will do.
    pub(crate) number: u64,
    pub(crate) why: Why,
    pub(crate) since: Instant,
    ended: Option<Instant>,
}

/// What a rank does, as others see it.
pub(crate) struct Seen {
    pub(crate) finished: bool,
    /// The calls in which it sleeps.
    pub(crate) waits: Vec<Listed>,
    /// Neither runs nor is to run.
    pub(crate) suspended: bool,
    /// Somebody has woken it from its sleep, and it has not gone back to it.
    pub(crate) woken: bool,
    /// The last call in which it slept, and when that ended.
    pub(crate) last: Option<(Wait, Instant)>,
}

/// One wait of a rank; held by the waiting future. Costs little until it sleeps.
#[derive(Debug, Default)]
pub(crate) struct RankWait {
    spin: SpinWait,
    /// The number under which the wait stands in the slot's list.
    listed: Option<NonZeroU64>,
}

impl RankSlot {
    pub(crate) fn new() -> Self {
        RankSlot {
            sleeping: AtomicBool::new(false),
            finished: AtomicBool::new(false),
            task: OnceLock::new(),
            left: Mutex::default(),
        }
    }

    /// Tells the slot which task its rank is, before the task is polled. The fence pairs with that
    /// of [`LocalRanks::end_early`](crate::fabric::LocalRanks::end_early).
    pub(crate) fn set_task(&self, task: FutureHandle) {
        if self.task.set(task).is_err() {
            unreachable!("a rank is started once")
        }
        fence(Ordering::SeqCst);
    }

    /// Wakes the rank if it sleeps; called after a fence that follows what was brought.
    #[inline]
    pub(crate) fn wake_if_sleeping(&self) {
        if self.sleeping.load(Ordering::Relaxed) {
            self.wake();
        }
    }

    /// Wakes the rank.
    #[cold]
    pub(crate) fn wake(&self) {
        self.sleeping.store(false, Ordering::Relaxed);
        let wakers = self.with_left(|left| mem::take(&mut left.wakers));
        wakers.into_iter().flatten().for_each(Waker::wake);
        if let Some(task) = self.task.get() {
            task.wake();
        }
    }

    pub(crate) fn set_finished(&self) {
        self.finished.store(true, Ordering::Release);
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire)
    }

    /// The calls in which the rank sleeps, if only a message of another rank can wake it.
    pub(crate) fn hopeless_waits(&self) -> Option<Vec<Wait>> {
        if !self.task.get()?.waits_for_handle() {
            return None;
        }
        Some(self.waits()).filter(|waits| !waits.is_empty())
    }

    /// The calls in which the rank sleeps, where it is a thread that nobody has woken.
    pub(crate) fn thread_waits(&self) -> Option<Vec<Wait>> {
        // Relaxed, as it is stored: who is asked is asked again, a message later.
        let sleeps = self.sleeping.load(Ordering::Relaxed);
        sleeps
            .then(|| self.waits())
            .filter(|waits| !waits.is_empty())
    }

    /// The calls in which the rank sleeps.
    pub(crate) fn waits(&self) -> Vec<Wait> {
        let waits = self.with_left(|left| {
            let waits = left.waits.iter().filter(|listed| listed.ended.is_none());
            waits.map(|listed| listed.why.wait).collect()
        });
        waits.unwrap_or_default()
    }

    /// What the rank does now.
    pub(crate) fn look(&self) -> Seen {
        let (all, suspended, sleeping) = {
            // While it is locked a rank that runs can neither come to the list nor leave it: what
            // stands there is of the same moment. Relaxed: a rank says that it sleeps before it
            // comes to the list.
            let left = self.left.lock();
            let suspended = self.task.get().is_some_and(FutureHandle::is_waiting);
            (
                left.as_ref().map(|left| left.waits.clone()),
                suspended,
                self.sleeping.load(Ordering::Relaxed),
            )
        };
        let (waits, ended) = all
            .into_iter()
            .flatten()
            .partition(|listed| listed.ended.is_none());
        let ended: Vec<Listed> = ended;
        Seen {
            finished: self.is_finished(),
            waits,
            suspended,
            // One that is on the list and runs still, to its next await, was not woken.
            woken: !suspended && !sleeping,
            last: ended
                .first()
                .and_then(|last| Some((last.why.wait, last.ended?))),
        }
    }

    /// Takes away what was left here of this waker. (Its data tells: `will_wake` may say no of a
    /// waker that was made in another crate.)
    pub(crate) fn take_wakers(&self, waker: &Waker) -> Vec<Waker> {
        let taken = self.with_left(|Left { wakers, .. }| {
            let is_own = |left: &Waker| left.data() == waker.data();
            let (own, others) = mem::take(wakers).into_iter().partition(is_own);
            *wakers = others;
            own
        });
        taken.unwrap_or_default()
    }

    /// Does something with what the rank has left, if it has ever slept.
    fn with_left<R>(&self, act: impl FnOnce(&mut Left) -> R) -> Option<R> {
        self.left.lock().as_deref_mut().map(act)
    }

    /// Leaves the waker of this context, unless it is that of the rank's task.
    pub(crate) fn leave_waker(&self, cx: &Context<'_>) {
        if self.task.get().is_some_and(|task| task.is_context(cx)) {
            return;
        }
        let mut left = self.left.lock();
        let Left { wakers, .. } = &mut **left.get_or_insert_default();
        if !wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
            wakers.push(cx.waker().clone());
        }
    }
}

impl RankWait {
    /// Ready when `ready` says so. Before the rank sleeps `slot` is asked for, and `why`, ahead of
    /// the last look.
    #[inline]
    pub(crate) fn poll<'s, W: IntoIterator<Item = Why>>(
        &mut self,
        slot: impl FnOnce() -> &'s RankSlot,
        cx: &Context<'_>,
        ready: impl FnMut() -> bool,
        why: impl FnOnce() -> W,
    ) -> Poll<()> {
        let mut why = Some(why);
        self.poll_stages(slot, cx, ready, || why.take().map(|why| why()))
    }

    /// The same for what may turn into something else while it is looked at. `why` is asked again
    /// after the last look, until it gives `None`. The rank waits for what `why` has given.
    #[inline]
    pub(crate) fn poll_stages<'s, W: IntoIterator<Item = Why>>(
        &mut self,
        slot: impl FnOnce() -> &'s RankSlot,
        cx: &Context<'_>,
        mut ready: impl FnMut() -> bool,
        mut why: impl FnMut() -> Option<W>,
    ) -> Poll<()> {
        match self.spin.wait(cx, &mut ready) {
            Advice::Ready => Poll::Ready(()),
            Advice::Again => Poll::Pending,
            Advice::Sleep => {
                let slot = slot();
                slot.leave_waker(cx);
                slot.sleeping.store(true, Ordering::Relaxed);
                // `why` may put the rank on a list from which a waker takes it once: from then on
                // the waker must see that it sleeps.
                while let Some(whys) = why() {
                    self.list(slot, whys);
                    fence(Ordering::SeqCst);
                    if ready() {
                        return Poll::Ready(());
                    }
                }
                Poll::Pending
            }
        }
    }

    /// The wait has ended; the next one begins anew. `slot` is asked for if the rank has slept.
    #[inline]
    pub(crate) fn end<'s>(&mut self, slot: impl FnOnce() -> &'s RankSlot) {
        self.spin.end();
        if self.listed.is_some() {
            self.unlist(slot());
        }
    }

    /// The wait was given up.
    #[inline]
    pub(crate) fn give_up(&mut self, slot: &RankSlot) {
        if self.listed.is_some() {
            self.unlist(slot);
        }
    }

    #[cold]
    fn list(&mut self, slot: &RankSlot, whys: impl IntoIterator<Item = Why>) {
        if self.listed.is_none() {
            let since = Instant::now();
            let mut left = slot.left.lock();
            let Left { waits, listed, .. } = &mut **left.get_or_insert_default();
            *listed += 1;
            let number = *listed;
            waits.retain(|listed| listed.ended.is_none());
            waits.extend(whys.into_iter().map(|why| Listed {
                number,
                why,
                since,
                ended: None,
            }));
            self.listed = NonZeroU64::new(number);
        }
    }

    #[cold]
    fn unlist(&mut self, slot: &RankSlot) {
        if let Some(number) = self.listed.take() {
            slot.with_left(|Left { waits, .. }| {
                let is_it = |listed: &Listed| listed.number == number.get();
                let last = waits.iter().position(is_it);
                let mut last = last.map(|at| waits.remove(at));
                waits.retain(|listed| !is_it(listed) && listed.ended.is_none());
                if let Some(last) = &mut last {
                    last.ended = Some(Instant::now());
                    (last.why.members, last.why.peers) = (None, None);
                }
                waits.extend(last);
            });
        }
    }
}

#[cfg(test)]
fn why() -> [Why; 1] {
    let operation = crate::report::WaitOperation::Collective {
        name: "model",
        root: None,
    };
    let location = std::panic::Location::caller();
    [Why {
        wait: Wait {
            operation,
            location: location.into(),
            communicator: 0,
        },
        members: None,
        peers: None,
        started: false,
    }]
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_is_on_the_list_and_has_not_left_its_thread_was_not_woken() {
        let slot = RankSlot::new();
        let mut wait = RankWait::default();
        let cx = Context::from_waker(Waker::noop());
        while slot.waits().is_empty() {
            assert!(wait.poll(|| &slot, &cx, || false, why).is_pending());
        }
        // As one that runs: there is no task that could be suspended.
        let seen = slot.look();
        assert_eq!((seen.suspended, seen.woken), (false, false));
        slot.wake();
        assert!(slot.look().woken);
        wait.end(|| &slot);
        assert!(slot.look().waits.is_empty());
    }
}

#[cfg(all(test, motet_loom))]
pub(crate) mod loom_tests {
    use super::*;
    use motet_sync::atomic::AtomicUsize;
    use motet_sync::{Arc, Condvar, thread};
    use std::future::poll_fn;
    use std::pin::pin;
    use std::task::Wake;

    #[derive(Default)]
    struct Bell {
        rung: Mutex<bool>,
        ring: Condvar,
    }

    impl Wake for Bell {
        fn wake(self: std::sync::Arc<Self>) {
            *self.rung.lock() = true;
            self.ring.notify_all();
        }
    }

    /// Runs a future on this thread of the model; loom reports a deadlock if it is never woken.
    pub(crate) fn block_on(future: impl Future<Output = ()>) {
        let bell = std::sync::Arc::new(Bell::default());
        let waker = Waker::from(std::sync::Arc::clone(&bell));
        let mut future = pin!(future);
        while future
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
        {
            let mut rung = bell.rung.lock();
            while !*rung {
                rung = bell.ring.wait(rung);
            }
            *rung = false;
        }
    }

    /// A rank falls asleep while two others bring what it waits for.
    #[test]
    fn loom_rank_is_woken() {
        loom::model(|| {
            let shared = Arc::new((RankSlot::new(), AtomicUsize::new(0)));
            let bringers = [(); 2].map(|()| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    shared.1.fetch_add(1, Ordering::Release);
                    fence(Ordering::SeqCst);
                    shared.0.wake_if_sleeping();
                })
            });
            let (slot, brought) = &*shared;
            let mut wait = RankWait::default();
            let ready = || brought.load(Ordering::Acquire) == 2;
            block_on(poll_fn(|cx| wait.poll(|| slot, cx, ready, why)));
            wait.end(|| slot);
            bringers
                .into_iter()
                .for_each(|bringer| bringer.join().unwrap());
            assert!(slot.waits().is_empty(), "the wait is off the list");
        });
    }
}
