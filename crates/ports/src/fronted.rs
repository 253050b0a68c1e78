//! A lock with an inbox before it: who only leaves something does not wait for the lock.
//!
//! As long as nobody must be asked, what is posted is left in the inbox by one compare-and-swap;
//! whoever holds the lock next finds it behind what was there before. When there are receivers the inbox
//! is closed, and posters go through the lock to ask them.
//!
//! ```text
//!            open                                      closed
//!   post ──> inbox ──> (next one with the lock)        post ──> lock ──> receivers ──> items
//!                             └──> items
//! ```
//!
//! Closing takes what is in the inbox in the same step, under the lock: an item is either there for the
//! new receiver to be offered, or its poster finds the inbox closed and asks. The order of a poster
//! stays: what it left is among the items before it can find the inbox closed.

use motet_dispatch::{BoxInbox, BoxList, Run, TaskBox};
use motet_sync::{Mutex, MutexGuard};
use std::ops::{Deref, DerefMut};

/// What is behind the lock.
pub(crate) trait Behind<R: Run> {
    /// Where what was left goes, oldest first.
    fn items_mut(&mut self) -> &mut BoxList<R>;

    /// Whether posters must ask somebody.
    fn asks(&self) -> bool;
}

/// The lock and its inbox.
pub(crate) struct Fronted<R: Run, S: Behind<R>> {
    inbox: BoxInbox<R>,
    state: Mutex<State<S>>,
}

struct State<S> {
    closed: bool,
    inner: S,
}

/// The lock, held. All that was left before is among the items.
pub(crate) struct Entry<'a, R: Run, S: Behind<R>> {
    inbox: &'a BoxInbox<R>,
    state: MutexGuard<'a, State<S>>,
}

impl<R: Run, S: Behind<R>> Fronted<R, S> {
    /// Around a state that asks nobody.
    pub(crate) fn new(inner: S) -> Self {
        Fronted {
            inbox: BoxInbox::new(),
            state: Mutex::new(State {
                closed: false,
                inner,
            }),
        }
    }

    /// Leaves something without the lock; gives it back when somebody must be asked.
    #[inline]
    pub(crate) fn leave(&self, item: TaskBox<R>) -> Result<(), TaskBox<R>> {
        self.inbox.push(item)
    }

    #[inline]
    pub(crate) fn lock(&self) -> Entry<'_, R, S> {
        let mut state = self.state.lock();
        if !state.closed {
            state.inner.items_mut().append(self.inbox.take_all());
        }
        Entry {
            inbox: &self.inbox,
            state,
        }
    }

    /// Takes the oldest item. Who takes one after the other empties the inbox in large pieces.
    #[inline]
    pub(crate) fn take_first(&self) -> Option<TaskBox<R>> {
        let mut state = self.state.lock();
        if !state.closed && state.inner.items_mut().is_empty() {
            *state.inner.items_mut() = self.inbox.take_all();
        }
        state.inner.items_mut().pop_front()
    }
}

impl<R: Run, S: Behind<R>> Entry<'_, R, S> {
    /// Lets posters ask from now on; what they left before is among the items.
    #[inline]
    pub(crate) fn close(&mut self) {
        if !self.state.closed {
            self.state.closed = true;
            let left = self.inbox.close();
            self.state.inner.items_mut().append(left);
        }
    }
}

impl<R: Run, S: Behind<R>> Drop for Entry<'_, R, S> {
    #[inline]
    fn drop(&mut self) {
        if self.state.closed && !self.state.inner.asks() {
            self.state.closed = false;
            self.inbox.open();
        }
    }
}

impl<R: Run, S: Behind<R>> Deref for Entry<'_, R, S> {
    type Target = S;
    #[inline]
    fn deref(&self) -> &S {
        &self.state.inner
    }
}

impl<R: Run, S: Behind<R>> DerefMut for Entry<'_, R, S> {
    #[inline]
    fn deref_mut(&mut self) -> &mut S {
        &mut self.state.inner
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

    #[derive(Default)]
    struct Items {
        items: BoxList<Number>,
        asks: bool,
    }

    impl Behind<Number> for Items {
        fn items_mut(&mut self) -> &mut BoxList<Number> {
            &mut self.items
        }

        fn asks(&self) -> bool {
            self.asks
        }
    }

    /// A poster against one who comes to be asked and leaves again: no item stays where nobody looks, and
    /// the poster's order is kept.
    #[test]
    fn loom_who_comes_to_be_asked_misses_nothing() {
        loom::model(|| {
            let fronted = Arc::new(Fronted::new(Items::default()));
            let poster = thread::spawn({
                let fronted = Arc::clone(&fronted);
                move || {
                    for n in 1..=2 {
                        if let Err(item) = fronted.leave(TaskBox::new(Number(n))) {
                            fronted.lock().items.push_back(item);
                        }
                    }
                }
            });
            let mut seen = Vec::new();
            {
                let mut entry = fronted.lock();
                entry.close();
                entry.asks = true;
                seen.extend(std::iter::from_fn(|| entry.items.pop_front()).map(|n| n.0));
            }
            fronted.lock().asks = false;
            poster.join().unwrap();
            seen.extend(std::iter::from_fn(|| fronted.take_first()).map(|n| n.0));
            assert_eq!(seen, [1, 2]);
        });
    }
}
