//! Looking at messages before they are received.

use super::recv::{Receiving, Use, Whole, open};
use crate::address::{Source, Status, TagMatch};
use crate::envelope::{Envelope, MessageKind, ReceivePattern};
use crate::pending::{PendingCall, PendingFuture, Whys};
use crate::profile::Called;
use crate::report::WaitOperation;
use crate::{CommError, Communicator, Value};
use std::fmt;
use std::future::Future;
use std::panic::Location;

/// What is known of a message that waits to be received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Who sent it, with which tag.
    pub status: Status,
    /// The type of what it holds.
    pub type_name: &'static str,
    /// The number of elements, if it was sent as a slice; otherwise 1.
    pub length: usize,
}

/// A message that was taken by a matched probe: no other receive can get it.
///
/// # Cancellation
/// A message that is dropped without having been received is there again for other receives.
#[must_use = "a message that is dropped is there again for other receives"]
pub struct Message<'c> {
    comm: &'c Communicator,
    envelope: Option<Envelope>,
}

/// # Probing
impl Communicator {
    /// Waits until a message from `source` with `tag` is there, and leaves it there (MPI_PROBE).
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`]; [`CommError::NullSource`].
    ///
    /// ```
    /// use motet_comm::{ANY_SOURCE, CommError, World};
    ///
    /// World::threads(2)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         if comm.rank() == 1 {
    ///             return comm.send_slice(0, 5, &[1.0, 2.0, 3.0]).await;
    ///         }
    ///         let probe = comm.probe(ANY_SOURCE, 5).await?;
    ///         let mut numbers = vec![0.0; probe.length];
    ///         comm.recv_into(&mut numbers, probe.status.source, 5).await?;
    ///         assert_eq!(numbers, [1.0, 2.0, 3.0]);
    ///         Ok(())
    ///     })
    ///     .unwrap();
    /// ```
    #[track_caller]
    pub fn probe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> impl Future<Output = Result<Probe, CommError>> {
        let wanted = self.wanted(MessageKind::User, source.into(), tag.into());
        let probing = Probing {
            comm: self,
            wanted,
            location: Location::caller(),
            seen: None,
        };
        PendingFuture::new(self.wait_site(), probing)
    }

    /// Looks whether a message from `source` with `tag` is there, and leaves it there (MPI_IPROBE).
    ///
    /// # Errors
    /// As [`Communicator::probe`].
    pub fn iprobe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> Result<Option<Probe>, CommError> {
        let wanted = self.wanted(MessageKind::User, source.into(), tag.into());
        self.check_source(wanted.source)?;
        Ok(self.fabric().peek(&wanted, Probe::of))
    }

    /// Waits until a message from `source` with `tag` is there, and takes it, whatever it holds
    /// (MPI_MPROBE). [`Message::recv`] opens it.
    ///
    /// # Errors
    /// As [`Communicator::probe`].
    #[track_caller]
    pub fn mprobe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> impl Future<Output = Result<Message<'_>, CommError>> {
        let wanted = self.taken(source.into(), tag.into());
        let message = |envelope| {
            Ok(Message {
                comm: self,
                envelope: Some(envelope),
            })
        };
        let receiving = Receiving::new(self, wanted, Location::caller(), Whole(message));
        PendingFuture::new(self.wait_site(), receiving)
    }

    /// Takes a message from `source` with `tag`, if one is there, whatever it holds (MPI_IMPROBE).
    ///
    /// # Errors
    /// As [`Communicator::probe`].
    pub fn improbe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> Result<Option<Message<'_>>, CommError> {
        let wanted = self.taken(source.into(), tag.into());
        self.check_source(wanted.source)?;
        // As `iprobe` does: what comes from other processes need not come by itself.
        self.fabric().poll();
        Ok(match self.fabric().post(&wanted) {
            Ok(envelope) => Some(Message {
                comm: self,
                envelope: Some(envelope),
            }),
            Err(ticket) => {
                self.fabric().withdraw(ticket);
                None
            }
        })
    }

    /// What a matched probe waits for: it only takes the message, and whoever receives it signs for
    /// it.
    fn taken(&self, source: Source, tag: TagMatch) -> ReceivePattern {
        ReceivePattern {
            signs: false,
            ..self.wanted(MessageKind::User, source, tag)
        }
    }
}

impl Message<'_> {
    /// What is known of it.
    #[must_use]
    pub fn probe(&self) -> Probe {
        Probe::of(self.envelope.as_ref().expect("it was not received"))
    }

    /// Receives it (MPI_MRECV).
    ///
    /// # Errors
    /// [`CommError::WrongType`] when it holds another type: it is there again for other receives.
    ///
    /// ```
    /// use motet_comm::{ANY_SOURCE, ANY_TAG, CommError, World};
    ///
    /// World::solo()
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         comm.send(0, 3, "to myself".to_owned()).await?;
    ///         let message = comm.mprobe(ANY_SOURCE, ANY_TAG).await?;
    ///         assert_eq!(message.probe().status.tag, 3);
    ///         assert_eq!(message.recv::<String>()?, "to myself");
    ///         Ok(())
    ///     })
    ///     .unwrap();
    /// ```
    pub fn recv<T: Value>(mut self) -> Result<T, CommError> {
        let mut envelope = self.envelope.take().expect("it was not received");
        let receipt = envelope.receipt.take();
        match open(|value, _| value).open(envelope) {
            Ok(value) => {
                if let Some(receipt) = receipt {
                    self.comm.fabric().sign(&receipt);
                }
                Ok(value)
            }
            Err(refused) => {
                let (mut envelope, error) = *refused;
                envelope.receipt = receipt;
                self.envelope = Some(envelope);
                Err(error)
            }
        }
    }
}

impl Drop for Message<'_> {
    fn drop(&mut self) {
        if let Some(envelope) = self.envelope.take() {
            self.comm.fabric().put_back(envelope);
        }
    }
}

impl fmt::Debug for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("probe", &self.envelope.as_ref().map(Probe::of))
            .finish_non_exhaustive()
    }
}

impl Probe {
    fn of(envelope: &Envelope) -> Probe {
        let Status { source, tag } = envelope.status;
        Probe {
            status: Status { source, tag },
            type_name: envelope.type_name(),
            length: envelope.label.length,
        }
    }
}

/// A probe that waits.
struct Probing<'c> {
    comm: &'c Communicator,
    wanted: ReceivePattern,
    location: &'static Location<'static>,
    /// The arrivals at the last look.
    seen: Option<u32>,
}

impl PendingCall for Probing<'_> {
    type Output = Result<Probe, CommError>;

    fn look(&mut self) -> Option<Result<Probe, CommError>> {
        if let Err(refused) = self.comm.check_source(self.wanted.source) {
            return Some(Err(refused));
        }
        let arrivals = self.comm.fabric().arrivals();
        if self.seen.replace(arrivals) == Some(arrivals) {
            return None;
        }
        self.comm.fabric().peek(&self.wanted, Probe::of).map(Ok)
    }

    fn why(&self) -> Whys {
        let operation = WaitOperation::Probe {
            source: self.wanted.source,
            tag: self.wanted.tag,
        };
        vec![self.comm.waits_in(operation, self.location)]
    }

    fn called(&self) -> Option<Called> {
        Some(Called::new("probe", self.location))
    }
}
