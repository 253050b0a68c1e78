//! A run of one rank, on the calling thread.

use super::RunEnd;
use super::profiling::Profiling;
use crate::fabric::{AnyFabric, Fabric, Mail, Solo};
use crate::limit::{Outstanding, SendLimit};
use crate::profile::{ProfileClock, Recorder};
use crate::report::{RankState, WaitReport};
use crate::{Communicator, RunError};
use motet_sync::atomic::{AtomicBool, Ordering, fence};
use motet_sync::thread;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

/// Runs `body` as the only rank, on the calling thread.
pub(crate) fn run_solo<R, E>(
    (profile, limit): (Option<ProfileClock>, Option<SendLimit>),
    body: impl AsyncFn(Communicator) -> Result<R, E>,
) -> Result<RunEnd<R>, RunError<E>> {
    let fabric = Solo::new();
    let profiling = profile.map(|clock| Profiling::new(clock, 1));
    let recorder = profiling.as_ref().map(Profiling::begin);
    let comm = Communicator::new(AnyFabric::Solo(fabric.clone()), Arc::new(Solo::team()), 0);
    let mut rank = Box::pin(body(
        comm.with(recorder.clone(), limit.map(Outstanding::new)),
    ));
    let mut outcome = None;
    let mut turn = |cx: &mut Context<'_>| {
        let polled = catch_unwind(AssertUnwindSafe(|| rank.as_mut().poll(cx)));
        outcome = match polled {
            Ok(Poll::Ready(Ok(result))) => Some(Ok(result)),
            Ok(Poll::Ready(Err(error))) => Some(Err(RunError::Rank { rank: 0, error })),
            Ok(Poll::Pending) => None,
            Err(payload) => Some(Err(RunError::panicked(0, payload))),
        };
        outcome.is_some()
    };
    let stuck = drive(&mut turn, &fabric, recorder.as_deref());
    let outcome = match (stuck, outcome) {
        (Some(report), _) => Err(RunError::Stuck(report)),
        (None, outcome) => outcome.expect("a rank that is not stuck has ended"),
    };
    // What the rank still holds may panic when it is dropped; an earlier failure goes first.
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(rank)));
    let result = outcome?;
    dropped.map_err(|payload| RunError::panicked(0, payload))?;
    let profile = profiling.zip(recorder).map(|(profiling, recorder)| {
        profiling.end(0, 0, 0, &recorder);
        profiling.profile(1)
    });
    Ok(RunEnd {
        results: vec![result],
        unmatched: fabric.mail().unmatched(0, usize::MAX),
        profile,
    })
}

/// Polls the rank by `turn` until that says that it has ended; what it waits for if nobody can wake
/// it.
fn drive(
    turn: &mut dyn FnMut(&mut Context<'_>) -> bool,
    fabric: &Solo,
    recorder: Option<&Recorder>,
) -> Option<WaitReport> {
    let caller = Arc::new(Caller {
        woken: AtomicBool::new(false),
        thread: thread::current(),
    });
    let (mut waker, mut held) = Caller::waker(&caller);
    while !turn(&mut Context::from_waker(&waker)) {
        recorder.into_iter().for_each(Recorder::suspend);
        if !caller.is_woken() {
            // By those that are held here and in the rank's own slot nobody wakes it now.
            let own = fabric.slot().take_wakers(&waker);
            let is_left = !own.is_empty();
            drop((own, waker));
            if !caller.sleep(&held) {
                let waits = RankState::Waiting(fabric.slot().waits());
                return Some(WaitReport {
                    ranks: vec![waits],
                    unmatched: fabric.mail().unmatched(0, usize::MAX),
                });
            }
            (waker, held) = match held.upgrade() {
                Some(way) => (Waker::from(way), held),
                None => Caller::waker(&caller),
            };
            if is_left {
                fabric.slot().leave_waker(&Context::from_waker(&waker));
            }
        }
        recorder.into_iter().for_each(Recorder::resume);
    }
    None
}

/// The thread that runs the rank.
struct Caller {
    woken: AtomicBool,
    thread: thread::Thread,
}

/// What all wakers of the rank hold. The thread is told when the last of them is gone, on whichever
/// thread: nobody can wake the rank then.
struct WayToCaller(Arc<Caller>);

impl Caller {
    /// A waker of the rank, and how to see whether there is any.
    fn waker(caller: &Arc<Caller>) -> (Waker, Weak<WayToCaller>) {
        let way = Arc::new(WayToCaller(Arc::clone(caller)));
        let held = Arc::downgrade(&way);
        (Waker::from(way), held)
    }

    /// Whether the rank was woken since this was asked last.
    fn is_woken(&self) -> bool {
        self.woken.swap(false, Ordering::AcqRel)
    }

    /// Sleeps until the rank is woken; `false` if no waker is left that could.
    fn sleep(&self, held: &Weak<WayToCaller>) -> bool {
        while !self.is_woken() {
            if held.strong_count() == 0 {
                // Whoever has dropped the last of them may have woken the rank before.
                fence(Ordering::Acquire);
                return self.is_woken();
            }
            thread::park();
        }
        true
    }
}

impl Wake for WayToCaller {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.woken.store(true, Ordering::Release);
        self.0.thread.unpark();
    }
}

impl Drop for WayToCaller {
    fn drop(&mut self) {
        self.0.thread.unpark();
    }
}
