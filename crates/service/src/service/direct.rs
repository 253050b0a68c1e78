//! Operations that are carried out where they are called.
//!
//! A caller on a worker of the service need not post a short operation that could begin now, and
//! wait for its answer. It enters the interleave itself, as a handler, and has the answer at once.
//! Whatever must wait goes by the ports:
//!
//! ```text
//!   call ──► short, on a worker of the service*, no change of it waits?
//!             │ yes: the interleave lets in? ── yes ──► handler, on this thread ──► answer
//!             └ no ─────────────────────────── no ───► port
//! ```
//!
//! A handler that is async begins there, and goes on as a task of its own once it waits.
//!
//! \* Or on a thread that calls for many others ([`Options::at_once`]), where the handler is brief,
//! not async, and has not blocked lately. It runs there as a task of the service.
//!
//! An operation of which no answer is wanted is carried out by its post only where it is as brief:
//! stages that post to each other are to run on several workers.
//!
//! A replay has all operations posted, so that every order of them is tried.

use super::batches::BatchesRun;
use super::slot::{Common, ServiceSlot};
use crate::context::{CallContext, Panicked};
use crate::options::Options;
use crate::{Contract, Cx, Fault, Group, Operation, Snapshot};
use motet_dispatch::{Causalities, as_task};
use motet_ports::{ActiveInterleave, EnteredInterleave};
use motet_sync::{spin_for, thread_local};
use std::any::Any;
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// What a service at work does for callers on its own workers, and for those who call for many.
pub(crate) struct AtOnce<C: Contract> {
    /// What lets handlers in.
    pub(crate) interleave: ActiveInterleave,
    pub(crate) begin: BeginNow<C>,
    pub(crate) service: Arc<dyn ServesAtOnce<C>>,
}

/// A service at work, where it lies. Whoever calls it is let in.
pub(crate) trait ServesAtOnce<C: Contract>: Any + Send + Sync {
    /// Get.
    fn get(&self, slot: &ServiceSlot<C>) -> GotState<C>;

    /// Runs the handler of an operation of this group whose method is not async, and leaves its
    /// outcome in the last argument. Subscribers are told if it is exclusive.
    fn run(
        &self,
        slot: &ServiceSlot<C>,
        group: Group,
        cx: &Cx,
        request: C::Request,
        outcome: &mut Option<C::Outcome>,
    ) -> Result<(), NotRun>;
}

/// Why an operation has no outcome.
pub(crate) enum NotRun {
    Fault(Fault),
    Panic(Panicked),
}

pub(crate) type GotState<C> = Result<Snapshot<<C as Contract>::State>, Fault>;

/// Begins the handler of an operation whose method is async, if it is let in. Its context keeps the
/// slot. Else the request and the slot come back, and the options are as they were.
pub(crate) type BeginNow<C> = fn(
    Arc<ServiceSlot<C>>,
    <C as Contract>::Request,
    Option<&mut Options>,
    Option<&CallContext>,
) -> BegunOr<C>;

/// What has come of it; or what it was to get, back.
pub(crate) type BegunOr<C> =
    Result<BegunHandler<<C as Contract>::Outcome>, (<C as Contract>::Request, Arc<ServiceSlot<C>>)>;

/// An async handler that has begun where it was called.
pub(crate) enum BegunHandler<O> {
    Ended(Result<O, Fault>),
    /// It waits, and was polled with a waker of nobody.
    Waits {
        of: Arc<Common>,
        /// Until when its caller waits.
        until: Instant,
        /// The causalities that were active when it first waited.
        under: Causalities,
        rest: RestOfHandler<O>,
    },
}

pub(crate) type RestOfHandler<O> = Pin<Box<dyn Future<Output = Result<O, Fault>> + Send>>;

/// Whether a handler has left an outcome; or what it was to get, back.
pub(super) type RanOr<C> =
    Result<Result<(), Fault>, (<C as Contract>::Request, Arc<ServiceSlot<C>>)>;

/// A service at work, for operations that may be carried out where they are called. It is there
/// once the service serves, but not under a replay.
pub(crate) struct DirectService<C: Contract>(OnceLock<AtOnce<C>>);

/// So often a caller looks whether a batch has ended.
const LOOKS: u32 = 8;

/// Before each look.
const PAUSE: Duration = Duration::from_micros(1);

/// So many answers that are there at once are given to the tasks of a thread before one of them
/// waits until others have run. Else a task that only calls would keep its worker.
const IN_A_ROW: u32 = 128;

/// So many handlers that are async, or of which no answer is wanted, begin inside of each other on
/// one thread: each takes some of its stack.
const NESTED: u32 = 16;

thread_local! {
    static ANSWERS: Cell<u32> = const { Cell::new(0) };
    static NESTS: Cell<u32> = const { Cell::new(0) };
}

/// Such a handler begins on this thread, inside of others.
pub(crate) struct Nested(());

impl Nested {
    pub(crate) fn enter() -> Self {
        NESTS.set(NESTS.get() + 1);
        Nested(())
    }

    /// If there are not many yet.
    pub(super) fn enter_more() -> Option<Self> {
        (NESTS.get() < NESTED).then(Nested::enter)
    }
}

impl Drop for Nested {
    fn drop(&mut self) {
        NESTS.set(NESTS.get() - 1);
    }
}

/// Whether a task that takes an answer which is there lets others run first.
pub(crate) fn gives_way() -> bool {
    let answers = ANSWERS.get();
    let enough = answers == IN_A_ROW;
    ANSWERS.set(if enough { 0 } else { answers + 1 });
    enough
}

impl<C: Contract> AtOnce<C> {
    /// Lets a handler in, if it need not wait.
    #[inline]
    pub(crate) fn enter(&self, group: Group) -> Option<EnteredInterleave<'_>> {
        match group {
            Group::Exclusive => self.interleave.try_exclusive(),
            _ => self.interleave.try_concurrent(),
        }
    }
}

impl NotRun {
    /// As its caller has it. A panic of an operation of which no answer is wanted is raised.
    #[cold]
    pub(super) fn fault(self, common: &Common, is_one_way: bool) -> Fault {
        match self {
            NotRun::Fault(fault) => fault,
            NotRun::Panic(panicked) => {
                let fault = common.panic_fault(&panicked);
                if is_one_way {
                    common.raise(panicked);
                }
                fault
            }
        }
    }
}

impl<C: Contract> DirectService<C> {
    pub(crate) fn serve(&self, at_once: AtOnce<C>) {
        // It serves once.
        let _again = self.0.set(at_once);
    }

    #[inline]
    pub(crate) fn at_once(&self) -> Option<&AtOnce<C>> {
        self.0.get()
    }
}

impl<C: Contract> ServiceSlot<C> {
    /// What carries out `operation`, or begins it if it is async, or Get, where it is called, if
    /// that may be done now.
    #[inline]
    pub(crate) fn direct(
        &self,
        operation: Option<&Operation>,
        options: Option<&Options>,
        context: Option<&CallContext>,
    ) -> Option<&AtOnce<C>> {
        let batches = self.batches.run_now();
        let may = self
            .common
            .starts_at_once(operation, options, context, batches);
        // Behind what is held.
        (may && !self.held.holds()).then(|| self.direct.at_once())?
    }
}

impl Common {
    /// Does `work` on the calling thread as a task of the service: with its panic, beside that of a
    /// handler, whoever hears of the service's panics is told. `None`: there was one.
    pub(crate) fn as_task<R>(&self, work: impl FnOnce() -> R) -> Option<R> {
        let mut done = None;
        self.queue.guarded(|| done = Some(as_task(work)));
        done
    }

    /// Whether `operation`, or Get, may be carried out now where it is called.
    #[inline]
    fn starts_at_once(
        &self,
        operation: Option<&Operation>,
        options: Option<&Options>,
        context: Option<&CallContext>,
        batches: &BatchesRun,
    ) -> bool {
        let says = |what: fn(&Options) -> bool| options.is_some_and(what);
        let is_plain = !says(|options| options.key.is_some() || options.capture);
        let fits = match operation {
            None => true,
            Some(operation) => {
                let left = context.and_then(|context| context.inherited.deadline);
                let has_deadline = says(|options| options.within.is_some()) || left.is_some();
                let group = match operation.group {
                    Group::Concurrent => true,
                    Group::Exclusive => !self.is_stored,
                    Group::Teardown | Group::Independent => false,
                };
                let short_enough = || match self.queue.is_own_worker() {
                    // Nobody waits for it: to hand it to another worker takes as long as it does.
                    true if says(|options| options.is_one_way) => self.lengths.is_brief(operation),
                    true => {
                        let may = !operation.is_async || NESTS.get() < NESTED;
                        may && self.lengths.is_short(operation, has_deadline)
                    }
                    false => {
                        // Who has threads of its own may block.
                        let may = says(|options| options.at_once) && !has_deadline;
                        let may = may && self.threads.is_none();
                        may && !operation.is_async && self.lengths.is_brief(operation)
                    }
                };
                group && short_enough()
            }
        };
        // Changes that the caller has posted before come first.
        is_plain && fits && self.no_change_waits(batches) && self.queue.may_start()
    }

    /// Whether no change waits. A batch of them that another worker handles soon ends, so a worker
    /// looks for a moment. To post a call takes longer, and whoever calls meanwhile would post too.
    #[inline]
    fn no_change_waits(&self, batches: &BatchesRun) -> bool {
        match batches.is_now() && self.queue.is_own_worker() {
            true => self.no_change_waits_soon(batches),
            false => self.changes.is_empty(),
        }
    }

    #[cold]
    fn no_change_waits_soon(&self, batches: &BatchesRun) -> bool {
        (0..LOOKS).any(|_| {
            spin_for(PAUSE);
            !batches.is_now() && self.changes.is_empty()
        })
    }
}

impl<C: Contract> Default for DirectService<C> {
    fn default() -> Self {
        DirectService(OnceLock::new())
    }
}
