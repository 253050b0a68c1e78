//! The fabric of one rank: messages to itself, on the calling thread.

use super::{AnyFabric, Fabric};
use crate::CommError;
use crate::Communicator;
use crate::RunError;
use crate::envelope::{Arrived, Envelope, Wanted};
use crate::rank_slot::{RankSlot, wait_until};
use crate::report::{RankState, Wait, WaitReport};
use motet_sync::atomic::{AtomicBool, Ordering};
use motet_sync::thread;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// One rank alone.
pub(crate) struct Solo(Rc<Shared>);

struct Shared {
    slot: RankSlot,
    arrived: RefCell<Arrived>,
}

impl Fabric for Solo {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn slot(&self) -> &RankSlot {
        &self.0.slot
    }

    fn shares_thread_with(&self, _: usize) -> bool {
        true
    }

    fn wake_if_sleeping(&self, _: usize) {
        self.0.slot.wake_if_sleeping();
    }

    fn send(&self, _: usize, envelope: Envelope) {
        self.0.arrived.borrow_mut().push(envelope);
        self.0.slot.wake_if_sleeping();
    }

    async fn recv(&self, wanted: &Wanted, wait: Wait) -> Envelope {
        let mut found = None;
        let look = || {
            found = self.0.arrived.borrow_mut().take(wanted);
            found.is_some()
        };
        wait_until(&self.0.slot, look, || wait).await;
        found.expect("the wait ends when a message was found")
    }

    fn put_back(&self, envelope: Envelope) {
        self.0.arrived.borrow_mut().put_back(envelope);
    }

    async fn meet_all<T: Clone + Send + Sync + 'static>(
        &self,
        _: Wait,
        value: T,
        _: impl Fn(T, T) -> T,
    ) -> Result<T, CommError> {
        Ok(value)
    }

    async fn meet_at<T: Send + 'static>(
        &self,
        _: usize,
        _: Wait,
        value: T,
        _: impl Fn(T, T) -> T,
    ) -> Result<Option<T>, CommError> {
        Ok(Some(value))
    }
}

/// Runs `body` as the only rank, on the calling thread.
pub(crate) fn run_solo<R, E>(
    body: impl AsyncFn(Communicator) -> Result<R, E>,
) -> Result<Vec<R>, RunError<E>> {
    let shared = Rc::new(Shared {
        slot: RankSlot::new(),
        arrived: RefCell::default(),
    });
    let mut rank = pin!(body(Communicator::new(AnyFabric::Solo(Solo(Rc::clone(
        &shared
    ))))));
    let caller = Arc::new(Caller {
        woken: AtomicBool::new(false),
        thread: thread::current(),
    });
    let waker = Waker::from(Arc::clone(&caller));
    loop {
        let mut cx = Context::from_waker(&waker);
        match catch_unwind(AssertUnwindSafe(|| rank.as_mut().poll(&mut cx))) {
            Ok(Poll::Ready(Ok(result))) => return Ok(vec![result]),
            Ok(Poll::Ready(Err(error))) => return Err(RunError::Rank { rank: 0, error }),
            Ok(Poll::Pending) => {}
            Err(payload) => return Err(RunError::panicked(0, payload)),
        }
        // Wakers held elsewhere than in the rank's own slot (and here, twice) may still wake it.
        let hopeless = || Arc::strong_count(&caller) == 2 + shared.slot.waker_count();
        while !caller.woken.swap(false, Ordering::AcqRel) {
            if hopeless() && !caller.woken.load(Ordering::Acquire) {
                let waits = RankState::Waiting(shared.slot.waits());
                return Err(RunError::Stuck(WaitReport { ranks: vec![waits] }));
            }
            thread::park();
        }
    }
}

/// The thread that runs the rank.
struct Caller {
    woken: AtomicBool,
    thread: thread::Thread,
}

impl Wake for Caller {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}
