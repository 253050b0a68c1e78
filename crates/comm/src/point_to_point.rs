//! Messages from one rank to another, matched by source and tag.

use crate::envelope::{Context, Envelope, Source, Status, Tag, TagMatch, Wanted};
use crate::fabric::Fabric;
use crate::report::{Operation, Wait};
use crate::{CommError, Communicator};
use std::future::Future;

/// # Point to point
///
/// Messages are moved, not copied. Between two ranks, messages that match the same receives are
/// received in the order they were sent (MPI-3.1, 3.5).
impl Communicator {
    /// Sends `value` to rank `dest`. It does not wait for the receiver (MPI's buffered mode).
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`].
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let got = World::threads(2)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         if comm.rank() == 0 {
    ///             comm.send(1, 7, vec![1.0, 2.0]).await?;
    ///             Ok(None)
    ///         } else {
    ///             Ok(Some(comm.recv::<Vec<f64>>(0, 7).await?))
    ///         }
    ///     })
    ///     .unwrap();
    /// assert_eq!(got[1].as_deref(), Some(&[1.0, 2.0][..]));
    /// ```
    pub async fn send<T: Send + 'static>(
        &self,
        dest: usize,
        tag: Tag,
        value: T,
    ) -> Result<(), CommError> {
        self.send_in(Context::User, dest, tag, value)
    }

    /// Receives a message of type `T` from `source` with `tag`, each of which may be any
    /// ([`ANY_SOURCE`](crate::ANY_SOURCE), [`ANY_TAG`](crate::ANY_TAG)).
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`], and [`CommError::WrongType`] when the message that matches holds
    /// another type; it stays there to be received as that type.
    #[track_caller]
    pub fn recv<T: Send + 'static>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> impl Future<Output = Result<T, CommError>> {
        let received = self.recv_with_status(source, tag);
        async { received.await.map(|(value, _)| value) }
    }

    /// As [`Communicator::recv`], and says who sent the message, with which tag.
    ///
    /// # Errors
    /// As [`Communicator::recv`].
    #[track_caller]
    pub fn recv_with_status<T: Send + 'static>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> impl Future<Output = Result<(T, Status), CommError>> {
        let (source, tag) = (source.into(), tag.into());
        let wait = Wait::here(Operation::Recv { source, tag });
        self.recv_in(
            Wanted {
                context: Context::User,
                source,
                tag,
            },
            wait,
        )
    }

    /// Sends `value` to `dest` and receives a message from `source`, both with `tag`
    /// (MPI_SENDRECV).
    ///
    /// # Errors
    /// As [`Communicator::send`] and [`Communicator::recv`].
    #[track_caller]
    pub fn sendrecv<T: Send + 'static>(
        &self,
        dest: usize,
        value: T,
        source: usize,
        tag: Tag,
    ) -> impl Future<Output = Result<T, CommError>> {
        let received = self.recv(source, tag);
        async move {
            self.send_in(Context::User, dest, tag, value)?;
            received.await
        }
    }

    /// Every rank sends `value` to the rank `by` places on, round the end, and receives from the
    /// rank as many places before it: a circular shift (papers R035). For many shifts in a row
    /// between neighbours [`Communicator::ring`] is faster.
    ///
    /// # Errors
    /// As [`Communicator::recv`].
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let shifted = World::threads(3)
    ///     .run(async |comm| -> Result<_, CommError> { comm.shift(comm.rank(), 1).await })
    ///     .unwrap();
    /// assert_eq!(shifted, [2, 0, 1]);
    /// ```
    #[track_caller]
    pub fn shift<T: Send + 'static>(
        &self,
        value: T,
        by: isize,
    ) -> impl Future<Output = Result<T, CommError>> {
        let (rank, size) = (self.rank(), self.size());
        let by = by.rem_euclid(size.cast_signed()).cast_unsigned();
        let (dest, source) = ((rank + by) % size, (rank + size - by) % size);
        let wait = Wait::here(Operation::Recv {
            source: source.into(),
            tag: SHIFT_TAG.into(),
        });
        async move {
            self.send_in(Context::Shift, dest, SHIFT_TAG, value)?;
            let wanted = Wanted {
                context: Context::Shift,
                source: source.into(),
                tag: SHIFT_TAG.into(),
            };
            Ok(self.recv_in(wanted, wait).await?.0)
        }
    }

    /// Sends within a context.
    pub(crate) fn send_in<T: Send + 'static>(
        &self,
        context: Context,
        dest: usize,
        tag: Tag,
        value: T,
    ) -> Result<(), CommError> {
        self.check_rank(dest)?;
        let status = Status {
            source: self.rank(),
            tag,
        };
        self.fabric()
            .send(dest, Envelope::new(context, status, value));
        Ok(())
    }

    /// Receives within a context.
    pub(crate) async fn recv_in<T: Send + 'static>(
        &self,
        wanted: Wanted,
        wait: Wait,
    ) -> Result<(T, Status), CommError> {
        if let Source::Rank(rank) = wanted.source {
            self.check_rank(rank)?;
        }
        let envelope = self.fabric().recv(&wanted, wait).await;
        let Status { source, tag } = envelope.status;
        envelope
            .open()
            .map(|value| (value, Status { source, tag }))
            .map_err(|envelope| {
                let found = envelope.type_name;
                self.fabric().put_back(envelope);
                CommError::WrongType {
                    source,
                    tag,
                    wanted: std::any::type_name::<T>(),
                    found,
                }
            })
    }
}

const SHIFT_TAG: Tag = 0;
