//! Causalities: for whom something is done, carried along wherever the work goes.
//!
//! A [`Causality`] is a name. If wanted, it has a place for the panics of all work done under it, a
//! deadline and a way to cancel. What runs under it passes it on. Each task that is made (a posted
//! item, a spawned future, a registration) captures the active set and runs under it; see
//! [`Causalities`]. CCR has the idea and the name.
//!
//! ```text
//!   enter ──► active set ──capture──► task ──► runs under it ──► posts, spawns ──capture──► …
//!                                                  │ panics
//!                                                  └──► innermost on_exception ──► outer … ──► queue
//! ```

mod current;
mod entered;
mod fate;
mod set;
mod wait;

use entered::Entered;
pub use fate::Cancelled;
pub use set::Causalities;
pub use wait::UntilCancelled;

pub(crate) use current::{failed, forget_failure, leave, within};
pub(crate) use fate::{DeadlineAlarm, WorkDeadline};

use crate::Exception;
use fate::Fate;
use motet_sync::Serial;
use std::any::Any;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

/// One logical thread of cause and effect, however many handlers on however many threads it takes
/// (CCR's `Causality`).
///
/// The handle is cheap to clone; all clones are the same causality. It is made under the
/// causalities that are active then: they are *outside* of it. It is set up before it is first
/// entered or cloned.
///
/// ```
/// use motet_dispatch::{Causality, Enqueue, Inline, Task};
/// use std::sync::mpsc;
///
/// let (tell, told) = mpsc::channel();
/// let order = Causality::new("order 17").on_exception(move |exception| {
///     tell.send(exception.message().to_owned()).unwrap();
///     Ok(())
/// });
/// let queue = Inline::new("here");
/// let inner = queue.clone();
/// order.run(|| {
///     queue.enqueue(Task::new(move || {
///         inner.enqueue(Task::new(|| panic!("out of stock"))).unwrap();
///     })).unwrap();
/// });
/// assert_eq!(told.recv().unwrap(), "out of stock");
/// assert!(Causality::active().is_empty(), "the scope has been left");
/// ```
#[derive(Clone)]
pub struct Causality(Arc<Inner>);

struct Inner {
    id: u64,
    name: String,
    on_exception: Option<Box<Hear>>,
    coordination: Option<Arc<dyn Any + Send + Sync>>,
    skips: bool,
    fate: Fate,
}

/// Hears of a panic, or hands it on to the next outer causality.
type Hear = dyn Fn(Exception) -> Result<(), Exception> + Send + Sync;

/// # Setting up
///
/// # Panics
/// Each of these when the causality has been cloned or entered already.
impl Causality {
    /// A causality inside those that are active now.
    #[must_use]
    pub fn new(name: &str) -> Self {
        static IDS: Serial = Serial::new();
        Causality(Arc::new(Inner {
            id: IDS.next(),
            name: name.to_owned(),
            on_exception: None,
            coordination: None,
            skips: false,
            fate: Fate::new(Causalities::active()),
        }))
    }

    /// Tells `handler` of each panic of work under this causality that no inner one hears of. It
    /// runs where the panic was caught, at once, under the causalities outside of this one. What it
    /// hands back, and its own panic, go to the next outer one.
    #[must_use]
    pub fn on_exception(
        self,
        handler: impl Fn(Exception) -> Result<(), Exception> + Send + Sync + 'static,
    ) -> Self {
        self.set_up(|inner| inner.on_exception = Some(Box::new(handler)))
    }

    /// Something that work under this causality finds by its type, wherever it runs
    /// ([`Causality::coordination`]): a way back to whoever made the causality.
    #[must_use]
    pub fn with_coordination<C: Any + Send + Sync>(self, coordination: C) -> Self {
        self.set_up(|inner| inner.coordination = Some(Arc::new(coordination)))
    }

    /// Tasks that have not started when the causality (or one outside of it) is cancelled do not
    /// run. The items they carry are dropped, but for those that were joined to them and are not
    /// cancelled themselves: these go back to their ports. A future that has been polled goes on.
    #[must_use]
    pub fn skipping_unstarted(self) -> Self {
        self.set_up(|inner| inner.skips = true)
    }

    /// Cancels itself when that is over.
    pub(crate) fn set_deadline(self, deadline: impl WorkDeadline + 'static) -> Self {
        self.set_up(|inner| inner.fate.set_deadline(Box::new(deadline)))
    }

    fn set_up(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        let inner = Arc::get_mut(&mut self.0);
        change(inner.expect("a causality is set up before it is cloned or entered"));
        self
    }
}

/// # Scopes
impl Causality {
    /// Calls `work` under this causality, the innermost then, and those that it was made under. An
    /// ended causality changes nothing. Scopes nest because calls do; for a future there is
    /// [`Causality::wrap`].
    ///
    /// # Panics
    /// When `work` does.
    pub fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        self.over(&current::active()).run(work)
    }

    /// `future` under this causality, inside of those that are active when it is first polled.
    ///
    /// # Cancellation
    /// Dropping it drops `future`.
    pub fn wrap<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        let causality = self.clone();
        async move {
            let causalities = causality.over(&current::active());
            drop(causality);
            polled_within(causalities, future).await
        }
    }

    /// The active causalities, innermost first (CCR's `Dispatcher.ActiveCausalities`).
    #[must_use]
    pub fn active() -> Vec<Causality> {
        Causalities::active().iter().cloned().collect()
    }

    /// No causality is active any more, until the handler or the innermost scope ends.
    pub fn clear() {
        drop(current::replace(Causalities::none()));
    }

    /// `future` in a scope of its own: causalities that received items add while it runs end with
    /// it. A loop that receives does each round in one.
    ///
    /// # Cancellation
    /// Dropping it drops `future`.
    pub async fn scoped<F: Future>(future: F) -> F::Output {
        polled_within(Causalities::active(), future).await
    }

    /// What the innermost active causality has for its creators that is a `C`.
    #[must_use]
    pub fn coordination<C: Any + Send + Sync>() -> Option<Arc<C>> {
        let found = |causality: &Causality| {
            let coordination = Arc::clone(causality.0.coordination.as_ref()?);
            coordination.downcast().ok()
        };
        current::active().iter().find_map(found)
    }

    /// The set in which this is innermost, over `outer` and those it was made under.
    fn over(&self, outer: &Causalities) -> Causalities {
        if self.is_ended() {
            return outer.clone();
        }
        outer.union(&self.0.fate.outside()).with_inner(self)
    }
}

/// # Ends
impl Causality {
    /// Cancels what is done under this causality and under those made or entered inside it. Whoever
    /// waits for that is woken. `false` when it was cancelled, or ended, before.
    pub fn cancel(&self, reason: &str) -> bool {
        self.0.fate.cancel(reason)
    }

    /// Ends the causality. It hears of no panic any more and cannot be cancelled. Whatever still
    /// carries it drops it when that is next passed on. For work that is known to be done while
    /// things that took part (a resource, a long-lived task) live on.
    pub fn end(&self) {
        self.0.fate.end();
    }

    /// Whether it has been ended.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.0.fate.is_ended()
    }

    /// Whether it, or one that it was made under, has been cancelled or is past its deadline.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancellation().is_some()
    }

    /// Why it is cancelled.
    #[must_use]
    pub fn cancellation(&self) -> Option<Cancelled> {
        let own = self.own_cancellation();
        own.or_else(|| self.0.fate.outside().check().err())
    }

    /// Whether the work in hand is still wanted: a few loads, and a look at the clock for each
    /// active causality with a deadline.
    ///
    /// # Errors
    /// Which active causality has been cancelled, and why.
    #[inline]
    pub fn check() -> Result<(), Cancelled> {
        current::check()
    }

    /// Waits until it, or one that it was made under, is cancelled. Once it is ended: for ever.
    ///
    /// # Cancellation
    /// Dropping the future gives up the wait.
    pub fn cancelled(&self) -> UntilCancelled {
        UntilCancelled::new(self.over(&Causalities::none()))
    }

    /// Waits for `future`, or until an active causality is cancelled. If both have happened,
    /// `future` wins: nothing it has received is lost.
    ///
    /// # Errors
    /// Which causality was cancelled, and why; `future` has been dropped then.
    pub async fn unless_cancelled<F: Future>(future: F) -> Result<F::Output, Cancelled> {
        let mut future = pin!(future);
        let mut cancelled = UntilCancelled::new(Causalities::active());
        poll_fn(move |cx| {
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(Ok(output));
            }
            Pin::new(&mut cancelled).poll(cx).map(Err)
        })
        .await
    }

    /// Its own cancellation, whatever is outside.
    fn own_cancellation(&self) -> Option<Cancelled> {
        self.0.fate.cancellation(&self.0.name)
    }
}

/// # Looking at it
impl Causality {
    /// Its name, for messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// A number that no other causality of this process has.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// Whether it wants to hear of panics.
    pub(crate) fn hears(&self) -> bool {
        self.0.on_exception.is_some() && !self.is_ended()
    }

    /// Tells it of a panic.
    pub(crate) fn hear(&self, exception: Exception) -> Result<(), Exception> {
        match &self.0.on_exception {
            Some(handler) => handler(exception),
            None => Err(exception),
        }
    }
}

/// Two handles are equal when they are the same causality.
impl PartialEq for Causality {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for Causality {}

impl fmt::Debug for Causality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Causality")
            .field("id", &self.0.id)
            .field("name", &self.0.name)
            .field("cancelled", &self.is_cancelled())
            .field("ended", &self.is_ended())
            .finish_non_exhaustive()
    }
}

/// Polls `future` under `causalities` and what its polls add to them.
async fn polled_within<F: Future>(causalities: Causalities, future: F) -> F::Output {
    let mut future = pin!(future);
    let mut kept = causalities;
    poll_fn(move |cx| {
        let entered = std::mem::take(&mut kept).enter();
        let polled = future.as_mut().poll(cx);
        kept = entered.leave();
        polled
    })
    .await
}
