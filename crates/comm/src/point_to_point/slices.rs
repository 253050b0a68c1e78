//! Slices of plain numbers, sent from where they are and received where they shall be.

use super::recv::{Receiving, Unused, Use, Whole, unopened};
use crate::address::{Dest, Source, Status, Tag, TagMatch};
use crate::envelope::{Behind, Envelope, MessageKind, NotCopied};
use crate::pending::{PendingFuture, ReadyOutcome};
use crate::rendezvous_copy::{self, lend};
use crate::request::Request;
use crate::wire::{Of, bytes_of};
use crate::{CommError, Communicator, Plain};
use std::future::Future;
use std::panic::Location;

/// # Numbers in place
///
/// These are copied: into the message when it is sent, out of it when it is received. If the
/// receiver is there when many are sent, on another thread of the process, both ranks copy them
/// straight to where they shall be. A slice is received as a `Vec` by [`Communicator::recv`] too,
/// and a `Vec` that was sent by value into a slice.
impl Communicator {
    /// Sends the numbers, of any length. It does not wait for the receiver.
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`].
    #[track_caller]
    pub fn send_slice<T: Plain>(
        &self,
        dest: impl Into<Dest>,
        tag: Tag,
        numbers: &[T],
    ) -> impl Future<Output = Result<(), CommError>> {
        let (dest, location) = (dest.into(), Location::caller());
        async move {
            if self.outstanding().is_some()
                && let Some(room) = self.room(dest, tag, location)
            {
                room.await;
            }
            self.send_numbers(dest, tag, numbers, location)
        }
    }

    /// Sends the numbers and returns a request that has ended; they may be changed at once. Under a
    /// [`World::limit`](crate::World::limit) it may last until there is room for them, or they are
    /// received.
    ///
    /// # Errors
    /// The request's: [`CommError::NoSuchRank`].
    #[track_caller]
    pub fn isend_slice<T: Plain>(
        &self,
        dest: impl Into<Dest>,
        tag: Tag,
        numbers: &[T],
    ) -> Request<'_, ()> {
        let (dest, location) = (dest.into(), Location::caller());
        if let (Dest::Rank(rank), Some(outstanding)) = (dest, self.outstanding())
            && self.waits_for_room(dest)
        {
            return self.send_beyond(outstanding, (rank, tag), numbers, location);
        }
        let sent = self.send_numbers(dest, tag, numbers, location);
        Request::new(self.wait_site(), ReadyOutcome(Some(sent)))
    }

    /// Receives numbers into the beginning of `room`; how many they were, and who sent them. From
    /// [`Source::Null`] nothing comes: the answer is 0 from this rank itself.
    ///
    /// # Errors
    /// As [`Communicator::recv`]; [`CommError::Truncated`] when there are more than fit: they stay
    /// there to be received.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// World::threads(2)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let other = 1 - comm.rank();
    ///         let mut came = [0u32; 4];
    ///         comm.send_slice(other, 0, &[comm.rank() as u32; 3]).await?;
    ///         let (length, _) = comm.recv_into(&mut came, other, 0).await?;
    ///         assert_eq!(came[..length], [other as u32; 3]);
    ///         Ok(())
    ///     })
    ///     .unwrap();
    /// ```
    #[track_caller]
    pub fn recv_into<'c, T: Plain>(
        &'c self,
        room: &'c mut [T],
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> impl Future<Output = Result<(usize, Status), CommError>> {
        let (source, tag, location) = (source.into(), tag.into(), Location::caller());
        let receiving = match source {
            Source::Null => None,
            Source::Any | Source::Rank(_) | Source::Outside => {
                Some(self.receiving_into(room, source, tag, location))
            }
        };
        let own = self.rank();
        async move {
            match receiving {
                Some(receiving) => PendingFuture::new(self.wait_site(), receiving).await,
                None => Ok((0, null_status(own, tag))),
            }
        }
    }

    /// Posts a receive of numbers now and returns a request that ends when they are in `room`.
    ///
    /// # Errors
    /// The request's: as [`Communicator::recv_into`].
    #[track_caller]
    pub fn irecv_into<'c, T: Plain>(
        &'c self,
        room: &'c mut [T],
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> Request<'c, (usize, Status)> {
        let (source, tag, location) = (source.into(), tag.into(), Location::caller());
        let wait_site = self.wait_site();
        if source == Source::Null {
            let nothing = Ok((0, null_status(self.rank(), tag)));
            return Request::new(wait_site, ReadyOutcome(Some(nothing)));
        }
        let mut receiving = self.receiving_into(room, source, tag, location);
        receiving.post();
        Request::new(wait_site, receiving)
    }

    fn send_numbers<T: Plain>(
        &self,
        dest: Dest,
        tag: Tag,
        numbers: &[T],
        location: &'static Location<'static>,
    ) -> Result<(), CommError> {
        let Dest::Rank(rank) = dest else {
            return Ok(());
        };
        self.check_rank(rank)?;
        let (fabric, to) = (self.fabric(), self.team().world_rank(rank));
        if self.outstanding().is_some() {
            return self.deliver(dest, location, || {
                let mut envelope = self.message(MessageKind::User, tag, numbers.to_vec(), location);
                envelope.label.length = numbers.len();
                || envelope
            });
        }
        if let (Some(remote), Some(bytes)) = (fabric.beyond(to), bytes_of(numbers)) {
            let _entered = self.entered("send", location);
            let source = self.rank();
            let behind = Behind {
                label: None,
                typed: Of::<Vec<T>>::TYPE,
                location,
                length: numbers.len(),
                receipt: None,
            };
            let on = (self.context(MessageKind::User), Status { source, tag });
            remote.send_bytes(to, on, behind, bytes);
            return Ok(());
        }
        // Who shares the thread does not copy meanwhile.
        let alone = fabric.beyond(to).is_some() || fabric.share_thread(fabric.world_rank(), to);
        if alone || size_of_val(numbers) < rendezvous_copy::LEAST {
            return self.deliver(dest, location, || {
                let mut envelope = self.message(MessageKind::User, tag, numbers.to_vec(), location);
                envelope.label.length = numbers.len();
                || envelope
            });
        }
        let _entered = self.entered("send", location);
        let source = self.rank();
        let (context, status) = (self.context(MessageKind::User), Status { source, tag });
        lend(numbers, source < rank, self.free_buffers(), |borrowed| {
            let envelope = Envelope::exposed::<T>(context, status, location, borrowed);
            fabric.send(to, || envelope)
        })
    }

    fn receiving_into<'c, T: Plain>(
        &'c self,
        room: &'c mut [T],
        source: Source,
        tag: TagMatch,
        location: &'static Location<'static>,
    ) -> Receiving<'c, impl Use<Output = (usize, Status)> + 'c> {
        let wanted = self.wanted(MessageKind::User, source, tag);
        Receiving::new(
            self,
            wanted,
            location,
            Whole(|envelope| copy_out(envelope, room)),
        )
    }
}

/// Copies the numbers of the message into `room`.
fn copy_out<T: Plain>(envelope: Envelope, room: &mut [T]) -> Result<(usize, Status), Unused> {
    let Status { source, tag } = envelope.status;
    let (envelope, refused) = match envelope.copy_numbers(room) {
        Ok(length) => return Ok((length, Status { source, tag })),
        Err(refused) => *refused,
    };
    let error = match refused {
        NotCopied::TooMany(length) => CommError::Truncated {
            source,
            tag,
            length,
            room: room.len(),
        },
        NotCopied::Unopened(reason) => unopened::<Vec<T>>(&envelope, reason),
    };
    Err(Box::new((envelope, error)))
}

/// What comes from nobody.
fn null_status(own: usize, tag: TagMatch) -> Status {
    let tag = match tag {
        TagMatch::Any => super::recv::NO_TAG,
        TagMatch::Only(tag) => tag,
    };
    Status { source: own, tag }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use crate::envelope::{Behind, Context};
    use crate::wire::Of;

    #[test]
    fn numbers_that_cannot_be_read_are_not_of_another_type() {
        let context = Context {
            communicator: 0,
            kind: MessageKind::User,
        };
        let status = Status { source: 3, tag: 4 };
        let behind = Behind {
            label: None,
            typed: Of::<Vec<u32>>::TYPE,
            location: Location::caller(),
            length: 1,
            receipt: None,
        };
        let came = |value: &[u8]| {
            let mut bytes = value.to_vec();
            behind.write(0, true, &mut bytes);
            let read = Envelope::read(context, status, &mut bytes, |_, words| words);
            read.unwrap().0
        };
        let bytes = [1_u32, 2].map(u32::to_ne_bytes).concat();
        let mut room = [0_u32; 2];
        let copied = copy_out(came(&bytes), &mut room).ok().unwrap();
        assert_eq!((copied.0, room), (2, [1, 2]));
        // One byte of the first number is missing.
        let (_, error) = *copy_out(came(&bytes[1..]), &mut room).unwrap_err();
        match error {
            CommError::Unreadable {
                source: 3,
                tag: 4,
                reason,
                ..
            } => assert_eq!(reason, "7 bytes are no whole numbers"),
            other => panic!("{other}"),
        }
        let (_, error) = *copy_out::<u16>(came(&bytes), &mut []).unwrap_err();
        assert!(matches!(error, CommError::WrongType { .. }), "{error}");
    }
}
