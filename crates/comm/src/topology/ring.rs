//! A ring: every rank has a left and a right neighbour, round the end.

use super::neighbours::{LEFT, Neighbours, RIGHT, join, step};
use crate::{CommError, Communicator, Value};
use std::fmt;
use std::future::Future;
use std::panic::Location;

/// The ranks as a ring (a one-dimensional torus), for messages of type `T` between neighbours.
///
/// Made by [`Communicator::ring`]. The rings between neighbours are fixed then: a step needs no
/// queue and no allocation. A rank may run ahead of its neighbours by a few steps; there is no
/// barrier (papers R035 to R039, R043).
///
/// # Cancellation
/// A step whose future is dropped before it ends leaves this rank out of step: later steps of this
/// ring return [`CommError::OutOfStep`].
pub struct Ring<'c, T: Value> {
    neighbours: Neighbours<'c, T>,
}

impl Communicator {
    /// Makes a ring of all ranks. All ranks call this together.
    ///
    /// # Errors
    /// [`CommError::Mismatch`] when a rank is in another collective or asks for another type.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let seen = World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let mut ring = comm.ring().await?;
    ///         ring.exchange(comm.rank(), comm.rank()).await
    ///     })
    ///     .unwrap();
    /// assert_eq!(seen, [(2, 1), (0, 2), (1, 0)], "what came from the left and from the right");
    /// ```
    #[track_caller]
    pub fn ring<T: Value>(&self) -> impl Future<Output = Result<Ring<'_, T>, CommError>> {
        let make = |neighbours| Ring { neighbours };
        join(self, "ring", true, Location::caller(), make)
    }
}

impl<T: Value> Ring<'_, T> {
    /// The neighbours: left and right.
    #[must_use]
    pub fn neighbours(&self) -> (usize, usize) {
        let peer = |side| {
            self.neighbours
                .peer(side)
                .expect("a rank of a ring has two neighbours")
        };
        (peer(LEFT), peer(RIGHT))
    }

    /// Sends one value to each neighbour and receives one from each: returns what came from the
    /// left and from the right (papers R037, R039).
    ///
    /// # Errors
    /// [`CommError::OutOfStep`], [`CommError::Gone`].
    #[track_caller]
    #[inline]
    pub fn exchange(
        &mut self,
        to_left: T,
        to_right: T,
    ) -> impl Future<Output = Result<(T, T), CommError>> {
        self.neighbours.begin(
            [Some(to_left), Some(to_right)],
            [true, true],
            Location::caller(),
        );
        step(&mut self.neighbours, |[left, right]| {
            (came(left), came(right))
        })
    }

    /// Sends a value to the right and receives one from the left (papers R035).
    ///
    /// # Errors
    /// [`CommError::OutOfStep`], [`CommError::Gone`].
    #[track_caller]
    #[inline]
    pub fn shift_right(&mut self, value: T) -> impl Future<Output = Result<T, CommError>> {
        self.neighbours
            .begin([None, Some(value)], [true, false], Location::caller());
        step(&mut self.neighbours, |[left, _]| came(left))
    }

    /// Sends a value to the left and receives one from the right.
    ///
    /// # Errors
    /// [`CommError::OutOfStep`], [`CommError::Gone`].
    #[track_caller]
    #[inline]
    pub fn shift_left(&mut self, value: T) -> impl Future<Output = Result<T, CommError>> {
        self.neighbours
            .begin([Some(value), None], [false, true], Location::caller());
        step(&mut self.neighbours, |[_, right]| came(right))
    }
}

/// What a step has brought from a side where a neighbour is.
#[inline]
fn came<T>(value: Option<T>) -> T {
    value.expect("a step ends when every expected message has come")
}

impl<T: Value> fmt::Debug for Ring<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring")
            .field("neighbours", &self.neighbours())
            .finish_non_exhaustive()
    }
}
