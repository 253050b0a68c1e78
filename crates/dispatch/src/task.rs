//! The unit of work and its one allocation.
//!
//! A [`TaskBox<R>`] owns one heap node: a header (how to run it, a link) and a body `R`. The same
//! node waits in a port, hangs in a dispatcher queue and is run by a worker; nothing is allocated
//! on the way. [`TaskBox::into_task`] forgets the type of the body and gives the thin [`Task`] that
//! queues carry; the [lists](crate::TaskList) are made of the nodes' own links.
//!
//! Who may touch what: a node has exactly one owner (a `TaskBox`, a `Task`, a list or an injector).
//! Only the owner reads or writes `next`, the causalities and the body. `vtable` never changes.

use crate::Causalities;
use crate::causality;
use crate::memory::NodeMemory;
use motet_sync::atomic::{AtomicPtr, Ordering};
use motet_sync::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};

/// A body that a worker can run once.
pub trait TaskBody: Send + Sized + 'static {
    /// Does the work. A panic is caught by the worker and routed as an
    /// [`Exception`](crate::Exception).
    fn run(task: TaskBox<Self>);

    /// The task will not run: bring what it carries back to where it came from. The default drops
    /// the body.
    fn cleanup(task: TaskBox<Self>) {
        drop(task);
    }

    /// The name that reports show: a type's, which says where a closure was written.
    fn name(&self) -> &'static str {
        std::any::type_name::<Self>()
    }

    /// The task has not started and will not, because a causality that
    /// [skips](crate::Causality::skipping_unstarted) such tasks was cancelled. The default drops
    /// the body.
    fn skip(task: TaskBox<Self>) {
        drop(task);
    }

    /// The task is dropped: what is to be dropped after the rest of its body, of which it borrows
    /// nothing.
    #[inline]
    fn dropped_last(&mut self) -> impl Sized + use<Self> {}
}

/// A task whose body is known: the owning pointer to one node.
pub struct TaskBox<R> {
    node: NonNull<TaskNode<R>>,
    owns: PhantomData<TaskNode<R>>,
}

/// A task whose body is not known any more: one pointer wide.
///
/// Dropping a task drops what it carries; to bring the items back to their ports call
/// [`Task::cleanup`].
#[must_use = "a task that is dropped never runs"]
pub struct Task {
    header: NonNull<TaskHeader>,
}

/// The front of every node.
pub(crate) struct TaskHeader {
    vtable: &'static VTable,
    /// The next node of the list this node is in.
    next: AtomicPtr<TaskHeader>,
    /// What the task runs under.
    causalities: UnsafeCell<Causalities>,
}

/// What can be done with a node whose body is not known.
pub(crate) struct VTable {
    pub(crate) run: unsafe fn(NonNull<TaskHeader>),
    pub(crate) cleanup: unsafe fn(NonNull<TaskHeader>),
    pub(crate) discard: unsafe fn(NonNull<TaskHeader>),
    /// Leaves the ownership where it is.
    pub(crate) name: unsafe fn(NonNull<TaskHeader>) -> &'static str,
    pub(crate) skip: unsafe fn(NonNull<TaskHeader>),
}

/// `repr(C)`: the header is at offset 0, so a pointer to the node is a pointer to the header.
#[repr(C)]
pub(crate) struct TaskNode<R> {
    header: TaskHeader,
    pub(crate) body: R,
}

impl TaskHeader {
    #[inline]
    pub(crate) fn new(vtable: &'static VTable, causalities: Causalities) -> Self {
        TaskHeader {
            vtable,
            next: AtomicPtr::new(ptr::null_mut()),
            causalities: UnsafeCell::new(causalities),
        }
    }

    /// Looks at what the task runs under.
    ///
    /// # Safety
    /// The caller owns the node.
    #[inline]
    pub(crate) unsafe fn with_causalities<R>(&self, look: impl FnOnce(&Causalities) -> R) -> R {
        // SAFETY: only the owner touches the cell.
        self.causalities.with(|cell| look(unsafe { &*cell }))
    }

    /// Exchanges what the task runs under.
    ///
    /// # Safety
    /// The caller owns the node.
    #[inline]
    pub(crate) unsafe fn replace_causalities(&self, causalities: Causalities) -> Causalities {
        // SAFETY: only the owner touches the cell.
        self.causalities
            .with_mut(|cell| unsafe { ptr::replace(cell, causalities) })
    }

    // Relaxed everywhere: only the owner touches the link; ownership moves by queues that
    // synchronise.
    #[inline]
    pub(crate) fn next(&self) -> *mut TaskHeader {
        self.next.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn set_next(&self, next: *mut TaskHeader) {
        self.next.store(next, Ordering::Relaxed);
    }
}

impl<R: TaskBody> TaskBox<R> {
    const VTABLE: &'static VTable = &VTable {
        run: |header| {
            // SAFETY: the vtable of a Node<R> is called with that node and its ownership.
            R::run(unsafe { TaskBox::from_header(header) });
        },
        cleanup: |header| {
            // SAFETY: as above.
            R::cleanup(unsafe { TaskBox::from_header(header) });
        },
        discard: |header| {
            let mut node = header.cast::<TaskNode<R>>();
            // SAFETY: as above. What it gives borrows nothing of the node, which its type says.
            let _last = unsafe { node.as_mut() }.body.dropped_last();
            // SAFETY: as above; the node was made in `build`.
            unsafe { NodeMemory::destroy(node) };
        },
        // SAFETY: the vtable of a Node<R> is called with that node, which its owner lends.
        name: |header| unsafe { header.cast::<TaskNode<R>>().as_ref() }.body.name(),
        skip: |header| {
            // SAFETY: as above.
            R::skip(unsafe { TaskBox::from_header(header) });
        },
    };

    /// Allocates the node around `body`; it runs under the causalities that are active now.
    #[inline]
    #[must_use]
    pub fn new(body: R) -> Self {
        TaskBox::under(Causalities::active(), body)
    }

    /// Allocates the node around `body`, which runs under `causalities`.
    #[inline]
    #[must_use]
    pub fn under(causalities: Causalities, body: R) -> Self {
        TaskBox::build(causalities, || body)
    }

    /// Allocates the node and then makes the body: its fields are written where they stay, instead
    /// of copied there together.
    #[inline]
    #[must_use]
    pub fn build(causalities: Causalities, body: impl FnOnce() -> R) -> Self {
        let node = NodeMemory::new().hold(|| TaskNode {
            header: TaskHeader::new(Self::VTABLE, causalities),
            body: body(),
        });
        TaskBox {
            node,
            owns: PhantomData,
        }
    }

    /// Forgets the type of the body.
    #[inline]
    pub fn into_task(self) -> Task {
        Task {
            header: ManuallyDrop::new(self).node.cast(),
        }
    }

    /// Takes the body out and frees the node.
    #[inline]
    #[must_use]
    pub fn into_inner(self) -> R {
        let node = ManuallyDrop::new(self).node;
        // SAFETY: the node was made in `build` and self owned it. Its body alone is copied.
        unsafe {
            let _memory = NodeMemory::holding(node);
            (&raw mut (*node.as_ptr()).header).drop_in_place();
            (&raw const (*node.as_ptr()).body).read()
        }
    }

    /// As [`TaskBox::into_inner`], with what the task would have run under.
    #[inline]
    #[must_use]
    pub fn into_parts(self) -> (R, Causalities) {
        // SAFETY: self owns the node.
        let header = unsafe { &self.node.as_ref().header };
        // SAFETY: as above.
        let causalities = unsafe { header.replace_causalities(Causalities::none()) };
        (self.into_inner(), causalities)
    }

    /// What the task runs under.
    #[must_use]
    pub fn causalities(&self) -> Causalities {
        // SAFETY: self owns the node.
        let header = unsafe { &self.node.as_ref().header };
        // SAFETY: as above.
        unsafe { header.with_causalities(Causalities::clone) }
    }

    /// # Safety
    /// `header` is the header of an owned `TaskNode<R>`; its ownership passes to the result.
    #[inline]
    pub(crate) unsafe fn from_header(header: NonNull<TaskHeader>) -> Self {
        TaskBox {
            node: header.cast(),
            owns: PhantomData,
        }
    }
}

impl<R: TaskBody> Deref for TaskBox<R> {
    type Target = R;
    #[inline]
    fn deref(&self) -> &R {
        // SAFETY: self owns the node.
        unsafe { &self.node.as_ref().body }
    }
}

impl<R: TaskBody> DerefMut for TaskBox<R> {
    #[inline]
    fn deref_mut(&mut self) -> &mut R {
        // SAFETY: self owns the node and is borrowed mutably.
        unsafe { &mut self.node.as_mut().body }
    }
}

impl<R> Drop for TaskBox<R> {
    fn drop(&mut self) {
        // As a task whose body is not known: boxes of all types are then dropped by the same code.
        drop(Task {
            header: self.node.cast(),
        });
    }
}

// SAFETY: a TaskBox owns its body. It needs `R: Send` and not `R: TaskBody`. A body may be
// `TaskBody` only for types that live for ever. The compiler, which forgets lifetimes when it asks
// whether a future is `Send`, could not answer for those then.
unsafe impl<R: Send> Send for TaskBox<R> {}

impl<R: TaskBody> fmt::Debug for TaskBox<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskBox").finish_non_exhaustive()
    }
}

impl Task {
    /// Runs the task on the calling thread, under its causalities; the caller's are active again
    /// afterwards.
    ///
    /// # Panics
    /// When the work does; workers catch this.
    #[inline]
    pub fn run(self) {
        let header = self.into_header();
        // SAFETY: self owned the node; the vtable is the node's own.
        unsafe {
            let causalities = header.as_ref().with_causalities(Causalities::clone);
            let run = header.as_ref().vtable.run;
            causality::within(causalities, || run(header));
        }
    }

    /// As [`Task::run`], for the queues: a task that must not start any more
    /// ([`Causality::skipping_unstarted`](crate::Causality::skipping_unstarted)) is skipped
    /// instead.
    ///
    /// # Panics
    /// When the work does; workers catch this.
    #[inline]
    pub fn start(self) {
        if self.skips() {
            return self.skip();
        }
        self.run();
    }

    /// What the task runs under.
    #[must_use]
    pub fn causalities(&self) -> Causalities {
        // SAFETY: self owns the node.
        unsafe { self.header.as_ref().with_causalities(Causalities::clone) }
    }

    #[inline]
    fn skips(&self) -> bool {
        // SAFETY: self owns the node.
        unsafe { self.header.as_ref().with_causalities(Causalities::skips) }
    }

    #[cold]
    fn skip(self) {
        let causalities = self.causalities();
        let header = self.into_header();
        // SAFETY: self owned the node; the vtable is the node's own.
        causality::within(causalities, || unsafe {
            (header.as_ref().vtable.skip)(header);
        });
    }

    /// Gives the task up without running it: the items it carries go back to the front of their
    /// ports (CCR's `Cleanup`).
    pub fn cleanup(self) {
        let header = self.into_header();
        // SAFETY: as in `run`.
        unsafe { (header.as_ref().vtable.cleanup)(header) }
    }

    /// What runs: the name of the handler's type, which for a closure says where it was written.
    ///
    /// ```
    /// use motet_dispatch::Task;
    ///
    /// fn well_known() {}
    /// assert!(Task::new(well_known).name().ends_with("well_known"));
    /// ```
    #[must_use]
    pub fn name(&self) -> &'static str {
        // SAFETY: self owns the node; the vtable is the node's own.
        unsafe { (self.header.as_ref().vtable.name)(self.header) }
    }

    #[inline]
    pub(crate) fn into_header(self) -> NonNull<TaskHeader> {
        ManuallyDrop::new(self).header
    }

    /// # Safety
    /// `header` belongs to an owned node whose ownership passes to the result.
    #[inline]
    pub(crate) unsafe fn from_header(header: NonNull<TaskHeader>) -> Self {
        Task { header }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        // SAFETY: self owns the node; the vtable is the node's own.
        unsafe { (self.header.as_ref().vtable.discard)(self.header) }
    }
}

// SAFETY: a Task owns its node. Bodies made by TaskBox are Send. Those of async tasks that are not
// Send are only run and dropped on one thread, as the contract of `spawn_unchecked` demands.
unsafe impl Send for Task {}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").finish_non_exhaustive()
    }
}
