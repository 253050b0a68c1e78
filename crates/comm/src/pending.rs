//! Something that a rank waits for: the one way in which calls of this crate wait.

use crate::profile::{Called, Recorder};
use crate::rank_slot::{RankSlot, RankWait};
use crate::report::Why;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Something that has begun, or begins at the first look, and will end.
pub(crate) trait PendingCall {
    /// What it ends with.
    type Output;

    /// Begins what has not begun; its outcome when it has ended. Not to be called again after that.
    fn look(&mut self) -> Option<Self::Output>;

    /// Called before the rank sleeps for it, ahead of the last look. Says what the rank waits for,
    /// and has those told who are to wake it.
    fn why(&self) -> Whys;

    /// Changes when a look has found something else to wait for: [`why`](PendingCall::why) is called
    /// again then.
    fn stage(&self) -> usize {
        0
    }

    /// What was called, for a profile; `None` when nothing was.
    fn called(&self) -> Option<Called>;

    /// Gives it up; `false` when it cannot be given up, or has ended.
    fn cancel(&mut self) -> bool {
        false
    }
}

impl<P: PendingCall + ?Sized> PendingCall for Box<P> {
    type Output = P::Output;

    fn look(&mut self) -> Option<P::Output> {
        (**self).look()
    }

    fn why(&self) -> Whys {
        (**self).why()
    }

    fn stage(&self) -> usize {
        (**self).stage()
    }

    fn called(&self) -> Option<Called> {
        (**self).called()
    }

    fn cancel(&mut self) -> bool {
        (**self).cancel()
    }
}

/// One of two ways to the same end.
pub(crate) enum Either<A, B> {
    One(A),
    Other(B),
}

impl<A: PendingCall, B: PendingCall<Output = A::Output>> PendingCall for Either<A, B> {
    type Output = A::Output;

    #[inline]
    fn look(&mut self) -> Option<A::Output> {
        match self {
            Either::One(pending) => pending.look(),
            Either::Other(pending) => pending.look(),
        }
    }

    fn why(&self) -> Whys {
        match self {
            Either::One(pending) => pending.why(),
            Either::Other(pending) => pending.why(),
        }
    }

    fn stage(&self) -> usize {
        match self {
            Either::One(pending) => pending.stage(),
            Either::Other(pending) => pending.stage(),
        }
    }

    fn called(&self) -> Option<Called> {
        match self {
            Either::One(pending) => pending.called(),
            Either::Other(pending) => pending.called(),
        }
    }

    fn cancel(&mut self) -> bool {
        match self {
            Either::One(pending) => pending.cancel(),
            Either::Other(pending) => pending.cancel(),
        }
    }
}

/// Something and, if it ends well, perhaps something after it: one call of the program.
pub(crate) struct Then<A, N, B> {
    step: Either<A, B>,
    next: Option<N>,
}

impl<A, N, B> Then<A, N, B> {
    pub(crate) fn new(first: A, next: N) -> Self {
        Then {
            step: Either::One(first),
            next: Some(next),
        }
    }
}

impl<A, N, B, T, R, E> PendingCall for Then<A, N, B>
where
    A: PendingCall<Output = Result<T, E>>,
    N: FnOnce(T) -> Either<R, B>,
    B: PendingCall<Output = Result<R, E>>,
{
    type Output = Result<R, E>;

    #[inline]
    fn look(&mut self) -> Option<Result<R, E>> {
        loop {
            match &mut self.step {
                Either::One(first) => match first.look()? {
                    Err(error) => return Some(Err(error)),
                    Ok(outcome) => match self.next.take()?(outcome) {
                        Either::One(outcome) => return Some(Ok(outcome)),
                        Either::Other(second) => self.step = Either::Other(second),
                    },
                },
                Either::Other(second) => return second.look(),
            }
        }
    }

    fn why(&self) -> Whys {
        match &self.step {
            Either::One(first) => first.why(),
            Either::Other(second) => second.why(),
        }
    }

    fn stage(&self) -> usize {
        match &self.step {
            Either::One(first) => 2 * first.stage(),
            Either::Other(second) => 2 * second.stage() + 1,
        }
    }

    fn called(&self) -> Option<Called> {
        match &self.step {
            Either::One(first) => first.called(),
            Either::Other(second) => second.called(),
        }
    }
}

/// Something that gives this when it has ended well.
pub(crate) struct Giving<P, R> {
    pending: P,
    gives: Option<R>,
}

impl<P, R> Giving<P, R> {
    pub(crate) fn new(pending: P, gives: R) -> Self {
        let gives = Some(gives);
        Giving { pending, gives }
    }
}

impl<P: PendingCall<Output = Result<(), E>>, R, E> PendingCall for Giving<P, R> {
    type Output = Result<R, E>;

    fn look(&mut self) -> Option<Result<R, E>> {
        match self.pending.look()? {
            Ok(()) => self.gives.take().map(Ok),
            Err(error) => Some(Err(error)),
        }
    }

    fn why(&self) -> Whys {
        self.pending.why()
    }

    fn stage(&self) -> usize {
        self.pending.stage()
    }

    fn called(&self) -> Option<Called> {
        self.pending.called()
    }
}

/// What a rank waits for: one thing, or one of several.
pub(crate) type Whys = Vec<Why>;

/// Something that has ended: its outcome.
pub(crate) struct ReadyOutcome<T>(pub(crate) Option<T>);

impl<T> PendingCall for ReadyOutcome<T> {
    type Output = T;

    fn look(&mut self) -> Option<T> {
        self.0.take()
    }

    fn why(&self) -> Whys {
        Vec::new()
    }

    fn called(&self) -> Option<Called> {
        None
    }
}

/// Where a rank waits, and what notes its time if the run is profiled.
#[derive(Clone, Copy)]
pub(crate) struct WaitSite<'c> {
    pub(crate) slot: &'c RankSlot,
    pub(crate) recorder: Option<&'c Recorder>,
}

/// The future that waits for it.
pub(crate) struct PendingFuture<'c, P: PendingCall> {
    /// Before what is waited for: it goes first.
    wait: Wait<'c>,
    pending: P,
}

/// What a wait leaves with others, until it ends or is given up.
struct Wait<'c> {
    wait_site: WaitSite<'c>,
    rank: RankWait,
    /// The recorder has been told of the call.
    entered: bool,
}

impl<'c, P: PendingCall> PendingFuture<'c, P> {
    #[inline]
    pub(crate) fn new(wait_site: WaitSite<'c>, pending: P) -> Self {
        let wait = Wait {
            wait_site,
            rank: RankWait::default(),
            entered: false,
        };
        PendingFuture { wait, pending }
    }

    /// What is waited for.
    pub(crate) fn into_pending(self) -> P {
        self.pending
    }
}

impl Wait<'_> {
    /// The call begins, if this is its first poll.
    #[cold]
    fn enter(&mut self, recorder: &Recorder, called: impl FnOnce() -> Option<Called>) {
        if !self.entered
            && let Some(called) = called()
        {
            self.entered = true;
            recorder.enter(called);
        }
    }

    /// The call has ended, or is given up.
    #[cold]
    fn leave(&mut self, recorder: &Recorder) {
        if std::mem::take(&mut self.entered) {
            recorder.leave();
        }
    }
}

// Nothing in it is pinned.
impl<P: PendingCall> Unpin for PendingFuture<'_, P> {}

impl<P: PendingCall> Future for PendingFuture<'_, P> {
    type Output = P::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<P::Output> {
        let PendingFuture { wait, pending } = self.get_mut();
        let wait_site = wait.wait_site;
        if let Some(recorder) = wait_site.recorder {
            wait.enter(recorder, || pending.called());
        }
        let mut outcome = pending.look();
        if outcome.is_none() {
            if let Some(recorder) = wait_site.recorder {
                recorder.wait();
            }
            let pending = std::cell::RefCell::new(pending);
            let ready = || {
                if outcome.is_none() {
                    outcome = pending.borrow_mut().look();
                }
                outcome.is_some()
            };
            let mut asked = None;
            let why = || {
                let stage = pending.borrow().stage();
                (asked.replace(stage) != Some(stage)).then(|| pending.borrow().why())
            };
            let rank = &mut wait.rank;
            if rank
                .poll_stages(|| wait_site.slot, cx, ready, why)
                .is_pending()
            {
                return Poll::Pending;
            }
        }
        wait.rank.end(|| wait_site.slot);
        if let Some(recorder) = wait_site.recorder {
            wait.leave(recorder);
        }
        outcome.map_or(Poll::Pending, Poll::Ready)
    }
}

impl Drop for Wait<'_> {
    /// Takes the wait off the slot's list also when the future is dropped.
    #[inline]
    fn drop(&mut self) {
        self.rank.give_up(self.wait_site.slot);
        if let Some(recorder) = self.wait_site.recorder {
            self.leave(recorder);
        }
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::task::Waker;

    /// Ends never. The first look after the rank was asked why finds that it is over, and there is
    /// something else.
    struct Turning<'a> {
        asked: &'a Cell<[u32; 2]>,
        turned: bool,
    }

    impl PendingCall for Turning<'_> {
        type Output = ();

        fn look(&mut self) -> Option<()> {
            self.turned |= self.asked.get()[0] > 0;
            None
        }

        fn why(&self) -> Whys {
            let mut asked = self.asked.get();
            asked[usize::from(self.turned)] += 1;
            self.asked.set(asked);
            Vec::new()
        }

        fn stage(&self) -> usize {
            usize::from(self.turned)
        }

        fn called(&self) -> Option<Called> {
            None
        }
    }

    #[test]
    fn who_sleeps_was_asked_for_what_its_last_look_has_left() {
        let (slot, asked) = (RankSlot::new(), Cell::default());
        let wait_site = WaitSite {
            slot: &slot,
            recorder: None,
        };
        let turning = Turning {
            asked: &asked,
            turned: false,
        };
        let mut waiting = PendingFuture::new(wait_site, Either::<_, Turning<'_>>::One(turning));
        let mut cx = Context::from_waker(Waker::noop());
        while asked.get()[0] == 0 {
            assert!(Pin::new(&mut waiting).poll(&mut cx).is_pending());
        }
        assert_eq!(asked.get(), [1, 1]);
    }
}
