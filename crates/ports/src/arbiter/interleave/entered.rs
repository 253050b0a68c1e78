//! Handlers that run where they are called, as members of an interleave.

use super::ActiveInterleave;
use super::shared::Shared;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// The calling thread runs a handler of an interleave until this is dropped: see
/// [`ActiveInterleave::try_concurrent`] and [`ActiveInterleave::try_exclusive`].
///
/// It stays on its thread: a future that is sent between threads keeps a [`SentInterleave`].
#[must_use = "the handler has ended when this is dropped"]
pub struct EnteredInterleave<'a> {
    shared: &'a Arc<Shared>,
    alone: bool,
    /// Neither `Send` nor `Sync`: the handler is counted where its thread counts.
    stays: PhantomData<*const ()>,
}

/// A handler that has begun as [`EnteredInterleave`] says, and is a future: it has ended when this
/// is dropped, on any thread.
///
/// ```
/// use motet_dispatch::Inline;
/// use motet_ports::{Interleave, Port, Receive};
///
/// let (changes, said) = (Port::new(), Port::new());
/// let says = said.clone();
/// let interleave = Interleave::new()
///     .exclusive(Receive::persistent(&changes, move |n: u32| says.post(n).unwrap()))
///     .activate(&Inline::new("here"))
///     .unwrap();
/// let mut alone = interleave.try_exclusive().unwrap().into_sent();
/// alone.stay("first");
/// changes.post(2).unwrap();
/// assert_eq!(said.test(), None, "it waits for the first");
/// std::thread::spawn(move || drop(alone)).join().unwrap();
/// assert_eq!(said.test(), Some(2));
/// ```
#[must_use = "the handler has ended when this is dropped"]
pub struct SentInterleave {
    shared: Arc<Shared>,
    alone: bool,
    /// It holds the exclusion as an async handler does.
    stays: bool,
}

/// # Handlers without items
impl ActiveInterleave {
    /// Begins a concurrent handler on the calling thread, if it need not wait: nobody is alone, and
    /// no exclusive or teardown item waits. No item, no task and no queue take part. The handler
    /// should be short, and call nothing that waits.
    ///
    /// ```
    /// use motet_dispatch::Inline;
    /// use motet_ports::{Interleave, Port, Receive};
    ///
    /// let ends = Port::new();
    /// let interleave = Interleave::new()
    ///     .teardown(Receive::once(&ends, |()| {}))
    ///     .activate(&Inline::new("here"))
    ///     .unwrap();
    /// let (one, two) = (interleave.try_concurrent(), interleave.try_concurrent());
    /// assert!(one.is_some() && two.is_some());
    /// assert!(interleave.try_exclusive().is_none(), "not alone");
    /// drop((one, two));
    /// assert!(interleave.try_exclusive().is_some());
    /// ends.post(()).unwrap();
    /// assert!(interleave.try_concurrent().is_none(), "torn down");
    /// ```
    #[inline]
    pub fn try_concurrent(&self) -> Option<EnteredInterleave<'_>> {
        match self.0.exclusion.try_enter() {
            Ok(()) => Some(EnteredInterleave::new(&self.0, false)),
            Err(next) => {
                self.0.carry_out(next);
                None
            }
        }
    }

    /// Begins an exclusive handler on the calling thread, if it need not wait: no handler runs, and
    /// none waits. Items that come meanwhile wait, in their order, until this is dropped. Otherwise
    /// as [`ActiveInterleave::try_concurrent`].
    #[inline]
    pub fn try_exclusive(&self) -> Option<EnteredInterleave<'_>> {
        match self.0.exclusion.try_take() {
            Ok(()) => Some(EnteredInterleave::new(&self.0, true)),
            Err(next) => {
                self.0.carry_out(next);
                None
            }
        }
    }
}

impl<'a> EnteredInterleave<'a> {
    #[inline]
    fn new(shared: &'a Arc<Shared>, alone: bool) -> Self {
        EnteredInterleave {
            shared,
            alone,
            stays: PhantomData,
        }
    }
}

impl Drop for EnteredInterleave<'_> {
    #[inline]
    fn drop(&mut self) {
        let exclusion = &self.shared.exclusion;
        let next = match self.alone {
            true => exclusion.end_at_once(),
            false => exclusion.leave(),
        };
        self.shared.carry_out(next);
    }
}

impl EnteredInterleave<'_> {
    /// The same for a future, which may go on elsewhere.
    pub fn into_sent(self) -> SentInterleave {
        // It has not ended: what it goes on as says so.
        let entered = ManuallyDrop::new(self);
        SentInterleave {
            shared: Arc::clone(entered.shared),
            alone: entered.alone,
            stays: false,
        }
    }
}

impl SentInterleave {
    /// The handler, with this name, has not ended where it began: it waits. Others who want to
    /// begin at once do not look out for its end any more.
    pub fn stay(&mut self, name: &'static str) {
        if self.alone && !std::mem::replace(&mut self.stays, true) {
            self.shared.exclusion.stay_alone(name);
        }
    }
}

impl Drop for SentInterleave {
    fn drop(&mut self) {
        let exclusion = &self.shared.exclusion;
        let next = match (self.alone, self.stays) {
            (true, true) => exclusion.pass_on(),
            (true, false) => exclusion.end_at_once(),
            (false, _) => exclusion.leave(),
        };
        self.shared.carry_out(next);
    }
}

impl fmt::Debug for SentInterleave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SentInterleave")
            .field("alone", &self.alone)
            .field("stays", &self.stays)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for EnteredInterleave<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnteredInterleave")
            .field("alone", &self.alone)
            .finish_non_exhaustive()
    }
}
