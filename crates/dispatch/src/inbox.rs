//! Many posters, one taker: tasks left for one worker, or for the takers of an injector.
//!
//! A stack of nodes. Posters push with one compare-and-swap and never wait for anyone. The taker
//! takes the whole stack with one swap and turns it round, so each poster's tasks keep their order.
//!
//! Memory order: `push` releases the node's contents, `take_all` acquires them with its swap. The
//! stack is only ever emptied whole, so the compare-and-swap has no ABA problem.

use crate::task::{Task, TaskHeader};
use crate::task_list::TaskList;
use motet_sync::atomic::{AtomicPtr, Ordering};
use std::ptr::{self, NonNull};

#[derive(Debug)]
pub(crate) struct Inbox {
    /// Newest first, linked through the nodes.
    newest: AtomicPtr<TaskHeader>,
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

impl Drop for Inbox {
    fn drop(&mut self) {
        drop(self.take_all());
    }
}
