//! A rank that blocks its thread.

use crate::error::{Code, Failure};
use crate::run::{Next, SharedRun};
use motet::comm::Entered;
use motet::dispatch::{eagerly, moves};
use motet::{CommError, Communicator};
use motet_sync::{Backoff, Parker, poll_until, thread_local, thread_number};
use std::cell::{Cell, RefCell};
use std::mem;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// A rank that waits for other processes looks at least so often: it may be the one that takes
/// messages in for its process.
const NAP: Duration = Duration::from_micros(100);
/// So long it looks then and offers its core to nobody: an answer from another process takes less.
/// A rank of this process may wait for that core.
const ALONE: Duration = Duration::from_micros(20);
/// So long it does not sleep.
const SPIN: Duration = Duration::from_micros(100);

thread_local! {
    /// A rank runs on this thread.
    static HERE: Cell<bool> = const { Cell::new(false) };
}

/// A rank, on the thread that made it.
pub(crate) struct Rank {
    pub(crate) run: Arc<SharedRun>,
    /// Its number in the world.
    number: usize,
    thread: usize,
    parker: Parker,
    waker: Waker,
    /// What keeps the run of a rank that the calling thread is.
    entered: RefCell<Option<Entered>>,
    /// The communicator of all ranks, while the body runs, of a rank that is one of several here.
    world: RefCell<Option<Rc<Communicator>>>,
}

/// A communicator of a rank.
pub(crate) struct Comm {
    pub(crate) rank: Rc<Rank>,
    pub(crate) comm: Rc<Communicator>,
}

/// Wakes a rank of a watched run.
struct Bell {
    run: Arc<SharedRun>,
    number: usize,
}

/// Says that the rank has ended, however it ends.
pub(crate) struct RankEndGuard {
    run: Arc<SharedRun>,
    number: usize,
    before: bool,
}

impl Rank {
    /// The rank on this thread, until the second of the two is dropped.
    pub(crate) fn begin(
        run: Arc<SharedRun>,
        number: usize,
        entered: Option<Entered>,
    ) -> (Rc<Rank>, RankEndGuard) {
        let parker = Parker::new();
        run.begin(number, parker.unparker());
        let bell = Bell {
            run: Arc::clone(&run),
            number,
        };
        let ending = RankEndGuard {
            run: Arc::clone(&run),
            number,
            before: HERE.with(|here| here.replace(true)),
        };
        let rank = Rank {
            run,
            number,
            thread: thread_number(),
            parker,
            waker: Waker::from(Arc::new(bell)),
            entered: RefCell::new(entered),
            world: RefCell::default(),
        };
        (Rc::new(rank), ending)
    }

    /// Has the rank hear of the end of the run in other processes, until it is given nothing.
    pub(crate) fn hear(&self, world: Option<Rc<Communicator>>) {
        *self.world.borrow_mut() = world;
    }

    /// What keeps its run, if the thread was made its rank.
    pub(crate) fn take_entered(&self) -> Option<Entered> {
        self.entered.borrow_mut().take()
    }

    /// Whether this is the thread of the rank, and the run goes on.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.thread != thread_number() {
            return Err(elsewhere());
        }
        match self.is_over() {
            true => Err(self.over()),
            false => Ok(()),
        }
    }

    fn is_over(&self) -> bool {
        let world = self.world.borrow();
        self.run.is_stopped()
            || self.entered.borrow().as_ref().is_some_and(Entered::is_over)
            || world.as_ref().is_some_and(|world| world.run_is_over())
    }

    #[cold]
    fn over(&self) -> Failure {
        match self.run.reason() {
            Some(reason) if reason.code == Code::Stuck => reason,
            Some(reason) => Failure::new(
                Code::Stopped,
                format!("the run has been stopped: {}", reason.text),
            ),
            None => Failure::new(
                Code::Stopped,
                "the run has been stopped by another process; motet_world_run says why",
            ),
        }
    }

    /// Blocks the thread until the future has ended.
    pub(crate) fn wait<T>(
        &self,
        future: impl Future<Output = Result<T, CommError>>,
    ) -> Result<T, Failure> {
        let mut future = pin!(future);
        let look = |future: Pin<&mut _>| {
            let mut context = Context::from_waker(Waker::noop());
            eagerly(|| Future::poll(future, &mut context))
        };
        // Sends end at once.
        if let Poll::Ready(outcome) = look(future.as_mut()) {
            return outcome.map_err(Failure::from);
        }
        let alone = if self.run.is_watched() {
            Duration::ZERO
        } else {
            ALONE
        };
        let (mut begun, mut backoff, mut seen) = (Instant::now(), Backoff::new(SPIN), moves());
        // What comes soon is seen soonest by who looks; who sleeps has others look.
        while begun.elapsed() < alone || backoff.go_on_beside() {
            if let Poll::Ready(outcome) = look(future.as_mut()) {
                return outcome.map_err(Failure::from);
            }
            // A long message is on its way: who looks moves it.
            if mem::replace(&mut seen, moves()) != seen {
                (begun, backoff) = (Instant::now(), Backoff::new(SPIN));
            }
        }
        if !self.run.is_watched() {
            let sleep = |parker: &Parker| {
                // Woken or not: it looks again.
                let _ = parker.park_timeout(NAP);
                !self.is_over()
            };
            let ended = poll_until(future, sleep).ok_or_else(|| self.over())?;
            return ended.map_err(Failure::from);
        }
        loop {
            self.run.look(self.number);
            let mut context = Context::from_waker(&self.waker);
            if let Poll::Ready(outcome) = future.as_mut().poll(&mut context) {
                return outcome.map_err(Failure::from);
            }
            if self.run.found_nothing(self.number) == Next::Sleep {
                while self.run.is_asleep(self.number) {
                    self.parker.park();
                }
            }
            if self.run.is_stopped() {
                return Err(self.over());
            }
        }
    }
}

/// Whether a rank runs on this thread.
pub(crate) fn is_here() -> bool {
    HERE.with(Cell::get)
}

fn elsewhere() -> Failure {
    Failure::new(
        Code::Thread,
        "a communicator belongs to the thread of its rank; use it there only",
    )
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.run.wake(self.number);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.run.wake(self.number);
    }
}

impl Drop for RankEndGuard {
    fn drop(&mut self) {
        HERE.with(|here| here.set(self.before));
        self.run.end(self.number);
    }
}
