//! What an arbiter above others is asked and told.

use crate::deferred::{Deferred, Settle};
use crate::delivery::QueueHandle;
use crate::readers::{Begun, Readers, ThreadCounts};
use motet_dispatch::Task;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// An arbiter above others. A group of an interleave and a choice each are one.
pub(crate) trait Parent: Settle {
    /// Whether a branch may still take anything. A branch that may not leaves its port.
    fn is_open(&self) -> bool;

    /// Decides for the branch that asks, which has all it needs. After `true` it takes its items.
    /// Called under ports' locks: no port may be used.
    fn claim(&self) -> bool;

    /// Takes over a task that has been claimed, whose room in `queue` is reserved: sends it off, or
    /// holds it until its turn. Called under ports' locks; what must wait goes into `deferred`.
    /// `this` is the parent itself, to be kept if need be.
    fn send(
        &self,
        this: &Arc<dyn Parent>,
        queue: &QueueHandle,
        task: Task,
        deferred: &mut Deferred,
    );

    /// A worker is about to run a task's handler, which is `counted` if it has counted itself among
    /// the parent's readers. The parent may ask for the task, to hold it longer. Else the handler
    /// runs now, and the pass, if there is one, is dropped when it has ended. `above` is the parent
    /// itself, for the pass.
    fn enter<'a>(
        &'a self,
        above: &'a Above,
        queue: &QueueHandle,
        counted: bool,
        task: &mut dyn FnMut() -> Task,
    ) -> Option<Pass<'a>>;

    /// Who counts the handlers that get passes.
    fn host(&self) -> &dyn HandlerCounter;

    /// A task that was sent has been dropped and will not enter. Its items are back in their ports.
    fn lose(&self);
}

/// A parent, as its branch keeps it. For branches whose handlers run together with others the
/// parent has readers. What the parent would be asked is asked of those, and of the parent only
/// where they are not biased.
#[derive(Clone)]
pub(crate) struct Above {
    parent: Arc<dyn Parent>,
    readers: Option<Arc<Readers>>,
    asked: bool,
}

/// An arbiter that counts the handlers that are in.
pub(crate) trait HandlerCounter: Send + Sync {
    /// A handler has ended on the thread where it entered: it returned or panicked.
    fn leave(&self);

    /// The same of one that has been counted already.
    fn left(&self);

    /// A handler goes on after its task's first run: it is async.
    /// [`leave_later`](HandlerCounter::leave_later) is called in place of `leave` then, on what this returns.
    fn stay(&self) -> Arc<dyn HandlerCounter>;

    /// A handler that stayed has ended: its future ended, panicked, or was dropped.
    fn leave_later(&self);
}

/// Tells the arbiter above, by being dropped, that a handler has ended.
// Two words, which are handed on in registers.
pub struct Pass<'a> {
    above: &'a Above,
    /// Where it is counted, if it entered under a bias.
    place: Option<&'a ThreadCounts>,
}

/// The pass of a handler that goes on after its task's first run.
pub struct LongPass(Arc<dyn HandlerCounter>);

impl Above {
    pub(crate) fn new(parent: Arc<dyn Parent>, readers: Option<Arc<Readers>>) -> Self {
        Above {
            parent,
            readers,
            asked: true,
        }
    }

    /// Says whether handlers ask the parent before they run, as they do if nothing is said.
    pub(crate) fn asked(self, asked: bool) -> Self {
        Above { asked, ..self }
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.asked
    }

    pub(crate) fn readers(&self) -> Option<&Arc<Readers>> {
        self.readers.as_ref()
    }

    /// As [`Parent::is_open`].
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        match &self.readers {
            Some(readers) => !readers.is_closing(),
            None => self.parent.is_open(),
        }
    }

    /// As [`Parent::claim`].
    #[inline]
    pub(crate) fn claim(&self) -> bool {
        match &self.readers {
            Some(readers) => !readers.is_closing(),
            None => self.parent.claim(),
        }
    }

    /// Whether a task that has been claimed goes straight to its queue. If not, it is
    /// [sent](Above::send).
    #[inline]
    pub(crate) fn lets_pass(&self) -> bool {
        let readers = self.readers.as_ref();
        readers.inspect(|readers| readers.sent()).is_some()
    }

    /// As [`Parent::send`].
    pub(crate) fn send(&self, queue: &QueueHandle, task: Task, deferred: &mut Deferred) {
        self.parent.send(&self.parent, queue, task, deferred);
    }

    /// As [`Parent::enter`], for a task that `work` becomes if the parent asks for it. `None`: it
    /// has.
    #[inline]
    pub(crate) fn enter<W>(
        &self,
        queue: &QueueHandle,
        work: W,
        into_task: impl Fn(W) -> Task,
    ) -> Option<(W, Option<Pass<'_>>)> {
        let counted = match self.begin() {
            Begun::Biased(place) => return Some((work, Some(self.pass(Some(place))))),
            Begun::Counted => true,
            Begun::Not if !self.asked => return Some((work, None)),
            Begun::Not => false,
        };
        self.ask(queue, counted, work, into_task)
    }

    #[cold]
    #[inline(never)]
    fn ask<W>(
        &self,
        queue: &QueueHandle,
        counted: bool,
        work: W,
        into_task: impl Fn(W) -> Task,
    ) -> Option<(W, Option<Pass<'_>>)> {
        let mut work = Some(work);
        let mut task = || into_task(work.take().expect("a parent asks for the task once"));
        let pass = self.parent.enter(self, queue, counted, &mut task);
        work.map(|work| (work, pass))
    }

    /// For a handler that has entered.
    #[inline]
    pub(crate) fn pass<'a>(&'a self, place: Option<&'a ThreadCounts>) -> Pass<'a> {
        Pass { above: self, place }
    }

    #[inline]
    fn begin(&self) -> Begun<'_> {
        let readers = self.readers.as_ref();
        readers.map_or(Begun::Not, |readers| readers.begin_biased())
    }

    /// As [`Parent::lose`].
    pub(crate) fn lose(&self) {
        self.parent.lose();
    }

    /// A handler that has entered under a bias has ended, and the bias is revoked.
    #[cold]
    fn left(&self) {
        self.parent.host().left();
    }
}

impl Pass<'_> {
    /// For an async handler, which keeps it until its future has ended.
    #[must_use = "the handler counts as ended when its pass is dropped"]
    pub fn into_long(self) -> LongPass {
        LongPass(ManuallyDrop::new(self).above.parent.host().stay())
    }
}

impl Drop for Pass<'_> {
    #[inline]
    fn drop(&mut self) {
        match self.place {
            Some(place) if place.end_biased() => {}
            Some(_) => self.above.left(),
            None => self.above.parent.host().leave(),
        }
    }
}

impl Drop for LongPass {
    fn drop(&mut self) {
        self.0.leave_later();
    }
}

impl fmt::Debug for Pass<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pass").finish_non_exhaustive()
    }
}

impl fmt::Debug for LongPass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LongPass").finish_non_exhaustive()
    }
}
