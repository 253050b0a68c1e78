//! Answers whose calls were given up half-way: they are taken all the same, and dropped.

use motet_comm::{CommError, Communicator, Plain, Tag};
use std::cell::RefCell;
use std::future::Future;

/// An answer that was asked for: who sends it, with which tag. It comes once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WindowAnswer {
    rank: usize,
    tag: Tag,
    /// Whether it holds numbers of a window; else a word.
    is_numbers: bool,
}

/// Answers for which nobody waits any more.
#[derive(Debug, Default)]
pub(crate) struct LeftAnswers(RefCell<Vec<WindowAnswer>>);

/// Leaves an answer when it is dropped before that has come.
struct Leaving<'l> {
    left: &'l LeftAnswers,
    answer: Option<WindowAnswer>,
}

impl WindowAnswer {
    /// One of numbers.
    pub(crate) fn numbers(rank: usize, tag: Tag) -> Self {
        let is_numbers = true;
        WindowAnswer {
            rank,
            tag,
            is_numbers,
        }
    }

    /// One of a word: of a flush, or of a lock.
    pub(crate) fn word(rank: usize, tag: Tag) -> Self {
        let is_numbers = false;
        WindowAnswer {
            rank,
            tag,
            is_numbers,
        }
    }

    /// Takes it if it has come; whether it has.
    fn is_taken<T: Plain>(self, comm: &Communicator) -> bool {
        let Ok(Some(message)) = comm.improbe(self.rank, self.tag) else {
            return false;
        };
        match self.is_numbers {
            true => message.recv::<Vec<T>>().is_ok(),
            false => message.recv::<bool>().is_ok(),
        }
    }
}

impl LeftAnswers {
    /// Waits for an answer. When that is given up the answer is left.
    pub(crate) async fn or_leave<R>(
        &self,
        answer: WindowAnswer,
        call: impl Future<Output = R>,
    ) -> R {
        let mut leaving = Leaving {
            left: self,
            answer: Some(answer),
        };
        let come = call.await;
        leaving.answer = None;
        come
    }

    /// Takes those that have come.
    pub(crate) fn take_some<T: Plain>(&self, comm: &Communicator) {
        if self.0.borrow().is_empty() {
            return;
        }
        let mut left = self.0.take();
        left.retain(|answer| !answer.is_taken::<T>(comm));
        self.0.borrow_mut().append(&mut left);
    }

    /// Takes all of them, and waits for those that have not come.
    pub(crate) async fn take_all<T: Plain>(&self, comm: &Communicator) -> Result<(), CommError> {
        for answer in self.0.take() {
            let WindowAnswer { rank, tag, .. } = answer;
            match answer.is_numbers {
                true => comm.recv::<Vec<T>>(rank, tag).await.map(drop)?,
                false => comm.recv::<bool>(rank, tag).await.map(drop)?,
            }
        }
        Ok(())
    }
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.left.0.borrow_mut().extend(self.answer.take());
    }
}
