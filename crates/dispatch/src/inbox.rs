//! Many posters, one taker: tasks left for one worker, or for the takers of an injector.
//!
//! A stack of nodes. Posters push with one compare-and-swap and never wait for anyone; the taker
//! takes the whole stack with one swap and turns it round, so each poster's tasks keep their order.
//!
//! Memory order: `push` releases the node's contents, `take_all` acquires them with its swap. The
//! stack is only ever emptied whole, so the compare-and-swap has no ABA problem.
//!
//! [`Inbox`] takes tasks of any kind. [`BoxInbox`] takes tasks whose body is known and can be closed,
//! for structures that others fill without a lock as long as nobody has to be told.

use crate::task::{Header, Node, Run, Task, TaskBox};
use crate::task_list::{BoxList, TaskList};
use motet_sync::Mutex;
use motet_sync::atomic::{AtomicPtr, Ordering};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// The newest node of a [`BoxInbox`] that is closed: no node has this address.
const CLOSED: *mut Header = ptr::without_provenance_mut(1);

/// Nodes with body `R` that many leave, without a lock, for one who has it. While it is closed nothing is
/// left.
pub struct BoxInbox<R: Run> {
    /// Newest first, linked through the nodes; or [`CLOSED`].
    newest: AtomicPtr<Header>,
    /// Shared like nodes in a mutex: they are handed over and out, never looked at here.
    owns: PhantomData<Mutex<Node<R>>>,
}

#[derive(Debug)]
pub(crate) struct Inbox {
    /// Newest first, linked through the nodes.
    newest: AtomicPtr<Header>,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Inbox {
            newest: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Leaves a task.
    pub(crate) fn push(&self, task: Task) {
        let node = task.into_header();
        let mut newest = self.newest.load(Ordering::Relaxed);
        loop {
            // SAFETY: the node is owned here until the exchange succeeds.
            unsafe { node.as_ref() }.set_next(newest);
            let pushed = self.newest.compare_exchange_weak(
                newest,
                node.as_ptr(),
                Ordering::Release,
                Ordering::Relaxed,
            );
            match pushed {
                Ok(_) => return,
                Err(now) => newest = now,
            }
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.newest.load(Ordering::Acquire).is_null()
    }

    /// Takes everything, oldest first.
    pub(crate) fn take_all(&self) -> TaskList {
        let mut list = TaskList::new();
        let mut at = self.newest.swap(ptr::null_mut(), Ordering::Acquire);
        while let Some(node) = NonNull::new(at) {
            // SAFETY: the swap made this thread the owner of the whole chain.
            at = unsafe { node.as_ref() }.next();
            // SAFETY: as above; the list takes the node over.
            list.push_front(unsafe { Task::from_header(node) });
        }
        list
    }
}

impl<R: Run> BoxInbox<R> {
    /// An open inbox.
    #[must_use]
    pub fn new() -> Self {
        BoxInbox {
            newest: AtomicPtr::new(ptr::null_mut()),
            owns: PhantomData,
        }
    }

    /// Leaves a task; never waits.
    ///
    /// # Errors
    /// The task, when the inbox is closed.
    #[inline]
    pub fn push(&self, task: TaskBox<R>) -> Result<(), TaskBox<R>> {
        // Acquire: who finds it closed sees what was done before it was.
        let mut newest = self.newest.load(Ordering::Acquire);
        if newest == CLOSED {
            return Err(task);
        }
        let node = task.into_task().into_header();
        loop {
            // SAFETY: the node is owned here until the exchange succeeds.
            unsafe { node.as_ref() }.set_next(newest);
            let pushed = self.newest.compare_exchange_weak(
                newest,
                node.as_ptr(),
                Ordering::Release,
                Ordering::Acquire,
            );
            match pushed {
                Ok(_) => return Ok(()),
                // SAFETY: the node, whose body is R, is still owned here.
                Err(CLOSED) => return Err(unsafe { TaskBox::from_header(node) }),
                Err(now) => newest = now,
            }
        }
    }

    /// Takes everything, oldest first; what was open stays so. One at a time may call this, and not
    /// beside [`BoxInbox::close`] and [`BoxInbox::open`].
    #[inline]
    pub fn take_all(&self) -> BoxList<R> {
        let newest = self.newest.load(Ordering::Relaxed);
        if newest.is_null() || newest == CLOSED {
            return BoxList::new();
        }
        Self::list(self.newest.swap(ptr::null_mut(), Ordering::Acquire))
    }

    /// Takes everything and closes the inbox, in one step.
    pub fn close(&self) -> BoxList<R> {
        // AcqRel: who finds it closed sees what was done before.
        Self::list(self.newest.swap(CLOSED, Ordering::AcqRel))
    }

    /// Opens the inbox, which must be closed.
    pub fn open(&self) {
        debug_assert_eq!(self.newest.load(Ordering::Relaxed), CLOSED);
        // Nobody changes a closed inbox but who closed it.
        self.newest.store(ptr::null_mut(), Ordering::Release);
    }

    /// The nodes of a chain that was taken, oldest first.
    fn list(newest: *mut Header) -> BoxList<R> {
        let mut list = BoxList::new();
        let mut at = if newest == CLOSED {
            ptr::null_mut()
        } else {
            newest
        };
        while let Some(node) = NonNull::new(at) {
            // SAFETY: the swap made this thread the owner of the whole chain.
            at = unsafe { node.as_ref() }.next();
            // SAFETY: as above; only nodes with body R are left here, and the list takes them over.
            list.push_front(unsafe { TaskBox::from_header(node) });
        }
        list
    }
}

impl<R: Run> Default for BoxInbox<R> {
    fn default() -> Self {
        BoxInbox::new()
    }
}

impl<R: Run> Drop for BoxInbox<R> {
    fn drop(&mut self) {
        drop(self.close());
    }
}

impl<R: Run> fmt::Debug for BoxInbox<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let newest = self.newest.load(Ordering::Relaxed);
        f.debug_struct("BoxInbox")
            .field("closed", &(newest == CLOSED))
            .finish_non_exhaustive()
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        drop(self.take_all());
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    struct Number(
        u32,
        #[allow(dead_code, reason = "counts the living")] Arc<()>,
    );

    impl Run for Number {
        fn run(_: TaskBox<Self>) {}
    }

    fn numbers(mut list: BoxList<Number>) -> Vec<u32> {
        std::iter::from_fn(|| list.pop_front())
            .map(|number| number.0)
            .collect()
    }

    #[test]
    fn a_box_inbox_keeps_order_and_is_closed_and_opened() {
        let alive = Arc::new(());
        let number = |n| TaskBox::new(Number(n, Arc::clone(&alive)));
        let inbox = BoxInbox::new();
        (1..=3).for_each(|n| inbox.push(number(n)).unwrap());
        assert_eq!(numbers(inbox.take_all()), [1, 2, 3]);
        inbox.push(number(4)).unwrap();
        assert_eq!(numbers(inbox.close()), [4]);
        assert_eq!(inbox.push(number(5)).unwrap_err().0, 5, "handed back");
        assert!(numbers(inbox.take_all()).is_empty());
        inbox.open();
        inbox.push(number(6)).unwrap();
        drop(inbox);
        assert_eq!(Arc::strong_count(&alive), 1, "what is left is dropped");
    }
}

#[cfg(all(test, motet_loom))]
mod loom_tests {
    use super::*;
    use motet_sync::{Arc, thread};

    struct Number(u8);

    impl Run for Number {
        fn run(_: TaskBox<Self>) {}
    }

    /// Two posters against one who takes, closes and opens: everything is taken or handed back, once and
    /// in the poster's order.
    #[test]
    fn loom_box_inbox_closes() {
        loom::model(|| {
            let inbox = Arc::new(BoxInbox::new());
            let posters = [10_u8, 20].map(|first| {
                let inbox = Arc::clone(&inbox);
                thread::spawn(move || {
                    let back = [first, first + 1].map(|n| inbox.push(TaskBox::new(Number(n))));
                    back.map(|pushed| pushed.err().map(|task| task.0))
                })
            });
            let mut taken = Vec::new();
            let mut take = |mut list: BoxList<Number>| {
                taken.extend(std::iter::from_fn(|| list.pop_front()).map(|number| number.0));
            };
            take(inbox.take_all());
            take(inbox.close());
            inbox.open();
            let back: Vec<u8> = posters
                .into_iter()
                .flat_map(|poster| poster.join().unwrap())
                .flatten()
                .collect();
            take(inbox.close());
            for first in [10, 20] {
                let of = |all: &[u8]| -> Vec<u8> {
                    all.iter()
                        .copied()
                        .filter(|n| n / 10 == first / 10)
                        .collect()
                };
                let mut all = [of(&taken), of(&back)].concat();
                assert!(of(&taken).is_sorted());
                all.sort_unstable();
                assert_eq!(all, [first, first + 1]);
            }
        });
    }
}
