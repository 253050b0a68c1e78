//! Where the numbers of a window are.

use crate::WindowError;
use motet_comm::{CommError, Communicator, Plain, SharedNumbers};
use motet_sync::Mutex;
use std::ops::Range;

/// The numbers of one rank's window. Every access holds their lock as long as it copies, so each is
/// whole, and none waits for long.
pub(crate) struct WindowMemory<T> {
    rank: usize,
    place: Place<T>,
}

enum Place<T> {
    /// In this process; `None`: freed, dropped, or elsewhere.
    Here(Mutex<Option<Vec<T>>>),
    /// Where all processes of the window use them.
    Shared(SharedNumbers<T>),
}

impl<T: Plain> WindowMemory<T> {
    /// Of this rank, in this process alone.
    pub(crate) fn here(rank: usize, numbers: Option<Vec<T>>) -> Self {
        let place = Place::Here(Mutex::new(numbers));
        WindowMemory { rank, place }
    }

    /// Of this rank, and of all ranks where they are processes that share memory; else of none. The
    /// first has no numbers then.
    pub(crate) async fn of_all(
        comm: &Communicator,
        numbers: Vec<T>,
    ) -> Result<(Self, Vec<Self>), CommError> {
        let own = comm.rank();
        Ok(match comm.share(numbers).await? {
            Ok(all) => {
                let all = all.into_iter().enumerate().map(|(rank, numbers)| {
                    let place = Place::Shared(numbers);
                    WindowMemory { rank, place }
                });
                (WindowMemory::here(own, None), all.collect())
            }
            Err(numbers) => (WindowMemory::here(own, Some(numbers)), Vec::new()),
        })
    }

    /// Whose they are.
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// Has `use_it` use the numbers. It must not use a window.
    #[inline]
    pub(crate) fn with<R>(&self, use_it: impl FnOnce(&mut [T]) -> R) -> Result<R, WindowError> {
        let used = match &self.place {
            Place::Here(numbers) => numbers.lock().as_mut().map(|numbers| use_it(numbers)),
            Place::Shared(numbers) => numbers.with(use_it),
        };
        used.ok_or(WindowError::Closed { rank: self.rank })
    }

    /// As [`WindowMemory::with`], but where another process uses the numbers for long `use_it`
    /// comes back.
    pub(crate) fn with_soon<R, F: FnOnce(&mut [T]) -> R>(
        &self,
        use_it: F,
    ) -> Result<Result<R, WindowError>, F> {
        let Place::Shared(numbers) = &self.place else {
            return Ok(self.with(use_it));
        };
        let used = numbers.with_soon(use_it)?;
        Ok(used.ok_or(WindowError::Closed { rank: self.rank }))
    }

    /// As [`WindowMemory::with`], with a part of them.
    #[inline]
    pub(crate) fn with_part<R>(
        &self,
        offset: usize,
        length: usize,
        use_it: impl FnOnce(&mut [T]) -> R,
    ) -> Result<R, WindowError> {
        self.with(|numbers| {
            let range = part(self.rank, numbers.len(), offset, length)?;
            Ok(use_it(&mut numbers[range]))
        })?
    }

    /// Nobody uses them any more, and nobody wants to know what they are.
    pub(crate) fn abandon(&self) {
        match &self.place {
            Place::Here(numbers) => drop(numbers.lock().take()),
            Place::Shared(numbers) => numbers.abandon(),
        }
    }

    /// Nobody uses them any more; what they are.
    pub(crate) fn close(&self) -> Option<Vec<T>> {
        match &self.place {
            Place::Here(numbers) => numbers.lock().take(),
            Place::Shared(numbers) => numbers.close(),
        }
    }
}

/// Where an access lies in a window of so many elements.
#[inline]
pub(crate) fn part(
    rank: usize,
    window: usize,
    offset: usize,
    length: usize,
) -> Result<Range<usize>, WindowError> {
    match offset.checked_add(length).filter(|&end| end <= window) {
        Some(end) => Ok(offset..end),
        None => Err(WindowError::Beyond {
            rank,
            offset,
            length,
            window,
        }),
    }
}
