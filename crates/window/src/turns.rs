//! Accesses of one rank that wait for numbers which another process uses: one after the other, in
//! the order in which they came.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem;
use std::task::Poll;

/// Who waits.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// By number, the first to come first.
    waiting: RefCell<VecDeque<u64>>,
    /// How many have waited.
    numbers: Cell<u64>,
}

/// One that waits, until this is dropped.
pub(crate) struct Turn<'t> {
    turns: &'t Turns,
    number: u64,
}

impl Turns {
    /// Whether nobody waits.
    #[inline]
    pub(crate) fn is_free(&self) -> bool {
        self.waiting.borrow().is_empty()
    }

    /// Waits behind the others.
    pub(crate) fn wait(&self) -> Turn<'_> {
        let number = self.numbers.get();
        self.numbers.set(number + 1);
        self.waiting.borrow_mut().push_back(number);
        Turn {
            turns: self,
            number,
        }
    }
}

impl Turn<'_> {
    /// Whether it is its turn.
    pub(crate) fn is_next(&self) -> bool {
        self.turns.waiting.borrow().front() == Some(&self.number)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut waiting = self.turns.waiting.borrow_mut();
        waiting.retain(|number| *number != self.number);
    }
}

/// Lets the other ranks of this thread go on.
pub(crate) async fn give_way() {
    let mut has_given = false;
    poll_fn(|cx| {
        if mem::replace(&mut has_given, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_first_is_next_and_who_gives_up_keeps_nobody() {
        let turns = Turns::default();
        assert!(turns.is_free());
        let [first, second, third] = [(); 3].map(|()| turns.wait());
        assert!(!turns.is_free());
        assert_eq!(
            [&first, &second, &third].map(Turn::is_next),
            [true, false, false]
        );
        drop(second);
        drop(first);
        assert!(third.is_next());
        drop(third);
        assert!(turns.is_free());
    }
}
