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
use motet_sync::atomic::{AtomicU32, Ordering};
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

    /// Runs the handler of an exclusive operation whose method is not async, leaves its outcome in
    /// the last argument, and tells subscribers.
    fn change(
        &self,
        slot: &ServiceSlot<C>,
        cx: &Cx,
        request: C::Request,
        outcome: &mut Option<C::Outcome>,
    ) -> Result<(), NotRun>;

    /// Runs that of a concurrent one.
    fn query(
        &self,
        slot: &ServiceSlot<C>,
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

/// What is known of the handler of each operation: a [`Length`], and, if it has blocked, how many
/// brief runs it is from being taken for brief again, times [`RUN`].
pub(crate) struct HandlerLengths(Box<[AtomicU32]>);

/// How long a handler takes.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Length {
    /// It was never measured.
    Unknown,
    Brief,
    Short,
    Long,
}

/// A handler that takes longer is not for a thread that calls for many others: about as long as it
/// takes to post it. Code that is not optimised takes longer.
const BRIEF: Duration = match cfg!(debug_assertions) {
    true => SHORT,
    false => Duration::from_micros(2),
};

/// A handler that has taken as long has blocked, or its thread had no processor. It is not for such
/// a thread until it has been brief [`OFTEN`] times since.
const BLOCKED_FOR: Duration = Duration::from_millis(50);

/// So often that a handler which blocks as seldom hardly holds a thread.
const OFTEN: u32 = 100_000;

/// Beside the length: one run.
const RUN: u32 = 1 << 2;

/// A handler that takes longer goes by the queue, where other workers can take it: about as long as
/// it takes to wake one.
const SHORT: Duration = Duration::from_micros(10);

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

impl HandlerLengths {
    /// Of so many operations.
    pub(crate) fn new(operations: usize) -> Self {
        let unknown = || AtomicU32::new(Length::Unknown as u32);
        HandlerLengths((0..operations).map(|_| unknown()).collect())
    }

    /// The handler of an operation has run for so long.
    #[inline]
    pub(crate) fn ran(&self, operation: &Operation, span: Duration) {
        let noted = |known| Some(after(known, span)).filter(|next| *next != known);
        // Relaxed, here and below: any length is right at any time.
        if let Some(place) = self.0.get(operation.number) {
            let _known = place.fetch_update(Ordering::Relaxed, Ordering::Relaxed, noted);
        }
    }

    /// `None` for one that the contract does not list.
    fn of(&self, operation: &Operation) -> Option<u32> {
        let place = self.0.get(operation.number)?;
        Some(place.load(Ordering::Relaxed))
    }

    /// Whether the next run of the handler of an operation is to be measured in any case.
    #[inline]
    pub(crate) fn is_unknown(&self, operation: &Operation) -> bool {
        self.of(operation) == Some(Length::Unknown as u32)
    }

    /// Whether the next run of the handler of an async operation is to be measured in any case.
    #[inline]
    pub(crate) fn is_not_short(&self, operation: &Operation) -> bool {
        const UNKNOWN: u32 = Length::Unknown as u32;
        const LONG: u32 = Length::Long as u32;
        let known = self.of(operation).map(|known| known % RUN);
        matches!(known, Some(UNKNOWN | LONG))
    }

    /// Whether a handler is taken for brief, and has not blocked lately.
    #[inline]
    fn is_brief(&self, operation: &Operation) -> bool {
        self.of(operation) == Some(Length::Brief as u32)
    }

    /// Whether a handler is taken for short. A change that was never measured is, since nothing of
    /// the service could run beside it; not where somebody waits for only so long.
    #[inline]
    fn is_short(&self, operation: &Operation, has_deadline: bool) -> bool {
        const UNKNOWN: u32 = Length::Unknown as u32;
        const LONG: u32 = Length::Long as u32;
        match self.of(operation).map(|known| known % RUN) {
            Some(UNKNOWN) => operation.group == Group::Exclusive && !has_deadline,
            Some(length) => length != LONG,
            None => false,
        }
    }
}

/// What is known of a handler once it has run for so long.
#[inline]
fn after(known: u32, span: Duration) -> u32 {
    let length = match span {
        span if span < BRIEF => Length::Brief,
        span if span < SHORT => Length::Short,
        _ => Length::Long,
    };
    let left = match known / RUN {
        _ if span >= BLOCKED_FOR => OFTEN,
        left if length == Length::Brief => left.saturating_sub(1),
        left => left,
    };
    left * RUN + length as u32
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Value, Verb};

    const CHANGE: Operation = Operation {
        name: "change",
        verb: Verb::Update,
        group: Group::Exclusive,
        about: "",
        body: || Value::Null,
        answer: || Value::Null,
        job: false,
        rollback: false,
        is_async: false,
        number: 0,
        called: true,
    };

    #[test]
    fn a_handler_is_what_it_was_last_and_one_that_has_blocked_is_long_not_brief() {
        let lengths = HandlerLengths::new(1);
        // Whether it is brief, and whether it is short.
        let told = || {
            let is_short = lengths.is_short(&CHANGE, true);
            (lengths.is_brief(&CHANGE), is_short)
        };
        assert!(lengths.is_unknown(&CHANGE) && lengths.is_short(&CHANGE, false));
        assert_eq!(told(), (false, false));
        for (span, is) in [
            (Duration::ZERO, (true, true)),
            (SHORT, (false, false)),
            (Duration::ZERO, (true, true)),
            (BLOCKED_FOR, (false, false)),
            (Duration::ZERO, (false, true)),
            (SHORT, (false, false)),
            (Duration::ZERO, (false, true)),
        ] {
            lengths.ran(&CHANGE, span);
            assert_eq!(told(), is, "{span:?}");
        }
        // It was brief twice since.
        let brief = |times: u32| (0..times).for_each(|_| lengths.ran(&CHANGE, Duration::ZERO));
        brief(OFTEN - 3);
        assert_eq!(told(), (false, true));
        brief(1);
        assert_eq!(told(), (true, true));
        lengths.ran(&CHANGE, BLOCKED_FOR);
        brief(OFTEN - 1);
        assert_eq!(told(), (false, true));
    }

    #[test]
    fn of_an_operation_that_the_contract_does_not_list_nothing_is_known() {
        let lengths = HandlerLengths::new(1);
        let other = Operation {
            number: 1,
            ..CHANGE
        };
        lengths.ran(&other, Duration::ZERO);
        assert!(!lengths.is_unknown(&other) && !lengths.is_not_short(&other));
        assert!(!lengths.is_brief(&other) && !lengths.is_short(&other, false));
    }
}
