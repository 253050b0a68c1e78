//! Drops that do not recurse, and drops that a panic does not cut short.
//!
//! What a port or an async task holds may hold the next one, and so on. Dropped one inside the
//! other they need stack for each. [`drop_flat`] drops the first [`DEEPEST`] levels as usual. What
//! is deeper waits in a list of its thread, which the outermost call empties before it returns.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::panic::{self, AssertUnwindSafe};
use std::thread;

/// So many drops may run one inside the other. A level takes some hundred bytes of stack per
/// function; workers may have stacks of 64 KiB.
const DEEPEST: usize = 4;

motet_sync::thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// Without a destructor, so that it can be used while a thread ends: the outermost call leaves
    /// it empty and without memory.
    static LATER: ManuallyDrop<RefCell<Vec<Box<dyn Any>>>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// Drops a value whose destructor may drop others by this function, as deep as they like. All of it
/// has been dropped when the outermost call on this thread returns.
///
/// For the interiors of ports and for the futures of tasks: a chain of any length takes a bounded
/// stack.
///
/// # Panics
/// When a destructor does, after everything else has been dropped: with the first panic.
///
/// ```
/// use motet_dispatch::drop_flat;
///
/// struct Link(Option<Box<Link>>);
/// impl Drop for Link {
///     fn drop(&mut self) {
///         drop_flat(self.0.take());
///     }
/// }
///
/// let chain = (0..100_000).fold(Link(None), |next, _| Link(Some(Box::new(next))));
/// drop(chain);
/// ```
pub fn drop_flat<T: 'static>(value: T) {
    let depth = DEPTH.with(Cell::get);
    if depth >= DEEPEST {
        return LATER.with(|later| later.borrow_mut().push(Box::new(value)));
    }
    DEPTH.with(|current| current.set(depth + 1));
    let _level = Level(depth);
    drop(value);
}

/// Drops each value, also those behind one whose destructor panics.
///
/// # Panics
/// With the first panic of a destructor, at the end; not while the thread panics already.
pub fn drop_each<T>(values: impl IntoIterator<Item = T>) {
    let mut first = None;
    for value in values {
        let dropped = panic::catch_unwind(AssertUnwindSafe(|| drop(value)));
        if let Err(payload) = dropped {
            first.get_or_insert(payload);
        }
    }
    if let Some(payload) = first
        && !thread::panicking()
    {
        panic::resume_unwind(payload);
    }
}

/// A drop that runs, inside so many others.
struct Level(usize);

impl Drop for Level {
    fn drop(&mut self) {
        let depth = self.0;
        /// Also when a destructor panics.
        struct Leave(usize);
        impl Drop for Leave {
            fn drop(&mut self) {
                DEPTH.with(|current| current.set(self.0));
            }
        }
        let _leave = Leave(depth);
        if depth == 0 {
            // One by one: each may leave more.
            let next = || LATER.with(|later| std::mem::take(&mut *later.borrow_mut()));
            let rounds = std::iter::from_fn(|| Some(next()).filter(|round| !round.is_empty()));
            drop_each(rounds.flatten());
        }
    }
}

#[cfg(all(test, not(any(motet_loom, motet_shuttle))))]
mod tests {
    use super::*;
    use motet_sync::{Arc, Mutex};

    struct Link {
        next: Option<Box<Link>>,
        number: usize,
        panics: bool,
        dropped: Arc<Mutex<Vec<usize>>>,
    }

    impl Drop for Link {
        fn drop(&mut self) {
            self.dropped.lock().push(self.number);
            drop_flat(self.next.take());
            assert!(!self.panics, "link {}", self.number);
        }
    }

    fn chain(length: usize, panics: impl Fn(usize) -> bool) -> (Link, Arc<Mutex<Vec<usize>>>) {
        let dropped = Arc::default();
        let link = |next, number| Link {
            next,
            number,
            panics: panics(number),
            dropped: Arc::clone(&dropped),
        };
        let last = link(None, length - 1);
        let first = (0..length - 1)
            .rev()
            .fold(last, |next, number| link(Some(Box::new(next)), number));
        (first, dropped)
    }

    #[test]
    fn a_long_chain_is_dropped_in_order_before_the_call_returns() {
        let (first, dropped) = chain(100_000, |_| false);
        drop_flat(first);
        assert!(dropped.lock().iter().copied().eq(0..100_000));
    }

    #[test]
    fn what_is_behind_panics_is_dropped_too() {
        let (first, dropped) = chain(100, |number| number % 10 == 9);
        let end = panic::catch_unwind(AssertUnwindSafe(|| drop_flat(first)));
        assert!(end.is_err());
        assert_eq!(dropped.lock().len(), 100);
        assert_eq!(DEPTH.with(Cell::get), 0);
    }

    #[test]
    fn each_is_dropped_though_some_panic() {
        let dropped = Arc::default();
        let links = (0..10).map(|number| Link {
            next: None,
            number,
            panics: number % 3 == 1,
            dropped: Arc::clone(&dropped),
        });
        let links: Vec<_> = links.collect();
        let end = panic::catch_unwind(AssertUnwindSafe(|| drop_each(links)));
        assert_eq!(
            end.unwrap_err().downcast_ref::<String>(),
            Some(&"link 1".to_owned())
        );
        assert_eq!(dropped.lock().len(), 10);
    }
}
