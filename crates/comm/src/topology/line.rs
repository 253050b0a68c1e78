//! A line with fixed ends: the first rank has no left neighbour, the last no right one.

use super::neighbours::{LEFT, Neighbours, RIGHT, join, step};
use crate::{CommError, Communicator, Value};
use std::fmt;
use std::future::Future;
use std::panic::Location;

/// The ranks as a line with fixed ends, for messages of type `T` between neighbours: the
/// one-dimensional decomposition without wrap-around (papers R040).
///
/// Made by [`Communicator::line`]; otherwise as a [`Ring`](crate::Ring).
pub struct Line<'c, T: Value> {
    neighbours: Neighbours<'c, T>,
}

impl Communicator {
    /// Makes a line of all ranks. All ranks call this together.
    ///
    /// # Errors
    /// [`CommError::Mismatch`] when a rank is in another collective or asks for another type.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let seen = World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let mut line = comm.line().await?;
    ///         line.exchange(comm.rank(), comm.rank()).await
    ///     })
    ///     .unwrap();
    /// assert_eq!(seen, [(None, Some(1)), (Some(0), Some(2)), (Some(1), None)]);
    /// ```
    #[track_caller]
    pub fn line<T: Value>(&self) -> impl Future<Output = Result<Line<'_, T>, CommError>> {
        let make = |neighbours| Line { neighbours };
        join(self, "line", false, Location::caller(), make)
    }
}

impl<T: Value> Line<'_, T> {
    /// The neighbours: left and right.
    #[must_use]
    pub fn neighbours(&self) -> (Option<usize>, Option<usize>) {
        (self.neighbours.peer(LEFT), self.neighbours.peer(RIGHT))
    }

    /// Sends one value to each neighbour there is and receives one from each: returns what came
    /// from the left and from the right. A value for a neighbour that is not there is dropped
    /// (MPI_PROC_NULL).
    ///
    /// # Errors
    /// [`CommError::OutOfStep`], [`CommError::Gone`].
    #[track_caller]
    #[inline]
    pub fn exchange(
        &mut self,
        to_left: T,
        to_right: T,
    ) -> impl Future<Output = Result<(Option<T>, Option<T>), CommError>> {
        self.neighbours.begin(
            [Some(to_left), Some(to_right)],
            [true, true],
            Location::caller(),
        );
        step(&mut self.neighbours, |[left, right]| (left, right))
    }

    /// Sends a value to the right and receives one from the left, where there are neighbours.
    ///
    /// # Errors
    /// [`CommError::OutOfStep`], [`CommError::Gone`].
    #[track_caller]
    #[inline]
    pub fn shift_right(&mut self, value: T) -> impl Future<Output = Result<Option<T>, CommError>> {
        self.neighbours
            .begin([None, Some(value)], [true, false], Location::caller());
        step(&mut self.neighbours, |[left, _]| left)
    }

    /// Sends a value to the left and receives one from the right, where there are neighbours.
    ///
    /// # Errors
    /// [`CommError::OutOfStep`], [`CommError::Gone`].
    #[track_caller]
    #[inline]
    pub fn shift_left(&mut self, value: T) -> impl Future<Output = Result<Option<T>, CommError>> {
        self.neighbours
            .begin([Some(value), None], [false, true], Location::caller());
        step(&mut self.neighbours, |[_, right]| right)
    }
}

impl<T: Value> fmt::Debug for Line<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("neighbours", &self.neighbours())
            .finish_non_exhaustive()
    }
}
