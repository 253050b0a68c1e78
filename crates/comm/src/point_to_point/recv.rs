//! Receives.

use crate::address::{Source, Status, Tag, TagMatch};
use crate::envelope::{Envelope, MessageKind, ReceivePattern};
use crate::fabric::{PostedReceive, ReceivedValue};
use crate::pending::{PendingCall, PendingFuture, Whys};
use crate::profile::Called;
use crate::report::WaitOperation;
use crate::request::Request;
use crate::{CommError, Communicator, Value};
use std::convert::Infallible;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;

/// # Receiving
///
/// Of two receives that match the same message, the one that was posted first gets it. A receive is
/// posted when its future is first polled, or at once by [`Communicator::irecv`].
impl Communicator {
    /// Receives a message of type `T` from `source` with `tag`, each of which may be any
    /// ([`ANY_SOURCE`](crate::ANY_SOURCE), [`ANY_TAG`](crate::ANY_TAG)).
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`]; [`CommError::NullSource`]; [`CommError::WrongType`] when the
    /// message that matches holds another type: it stays there to be received as that type.
    #[track_caller]
    #[inline]
    pub fn recv<T: Value>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> impl Future<Output = Result<T, CommError>> {
        let wanted = self.wanted(MessageKind::User, source.into(), tag.into());
        self.receive(wanted, Location::caller(), |value, _| value)
    }

    /// As [`Communicator::recv`], and says who sent the message, with which tag.
    ///
    /// # Errors
    /// As [`Communicator::recv`].
    #[track_caller]
    #[inline]
    pub fn recv_with_status<T: Value>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> impl Future<Output = Result<(T, Status), CommError>> {
        let wanted = self.wanted(MessageKind::User, source.into(), tag.into());
        self.receive(wanted, Location::caller(), |value, status| (value, status))
    }

    /// Posts a receive now and returns a request that ends with the message (MPI_IRECV).
    ///
    /// # Errors
    /// The request's: as [`Communicator::recv`].
    #[track_caller]
    pub fn irecv<T: Value>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> Request<'_, T> {
        let wanted = self.wanted(MessageKind::User, source.into(), tag.into());
        let mut receiving =
            Receiving::new(self, wanted, Location::caller(), open(|value, _| value));
        receiving.post();
        Request::new(self.wait_site(), receiving)
    }

    /// As [`Communicator::irecv`]; the request ends with the message, who has sent it, and with
    /// which tag.
    ///
    /// # Errors
    /// The request's: as [`Communicator::recv`].
    #[track_caller]
    pub fn irecv_with_status<T: Value>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> Request<'_, (T, Status)> {
        let wanted = self.wanted(MessageKind::User, source.into(), tag.into());
        let give = open(|value, status| (value, status));
        let mut receiving = Receiving::new(self, wanted, Location::caller(), give);
        receiving.post();
        Request::new(self.wait_site(), receiving)
    }

    /// What a receive of this communicator waits for.
    #[inline]
    pub(crate) fn wanted(
        &self,
        kind: MessageKind,
        source: Source,
        tag: TagMatch,
    ) -> ReceivePattern {
        ReceivePattern {
            context: self.context(kind),
            source,
            tag,
            signs: true,
        }
    }

    /// The future that receives a `T` and gives it.
    #[inline]
    pub(crate) fn receive<'c, T: Value, R: 'c>(
        &'c self,
        wanted: ReceivePattern,
        location: &'static Location<'static>,
        give: impl FnOnce(T, Status) -> R + 'c,
    ) -> PendingFuture<'c, impl PendingCall<Output = Result<R, CommError>> + 'c> {
        // First: while something is there that must be dropped if this panics, it lies in memory
        // and is moved.
        let site = self.wait_site();
        PendingFuture::new(site, Receiving::new(self, wanted, location, open(give)))
    }
}

/// A message that was of no use, and why.
pub(crate) type Unused = Box<(Envelope, CommError)>;

/// What a receive makes of its message.
pub(crate) trait Use {
    type Output;
    /// What may be taken out of the message where that lies.
    type Taken;

    /// Takes that out, under the lock of those that lie there.
    fn at_hand(envelope: &mut Envelope) -> Option<Self::Taken>;

    /// Makes the result of what was taken out.
    fn give(self, taken: Self::Taken, status: Status) -> Self::Output;

    /// Makes the result of a message, or hands it back if it is of no use.
    fn open(self, envelope: Envelope) -> Result<Self::Output, Unused>;
}

/// Uses the `T` in a message.
pub(crate) struct Opening<T, G> {
    give: G,
    _value: PhantomData<fn() -> T>,
}

/// Uses a message, whatever it holds.
pub(crate) struct Whole<F>(pub(crate) F);

/// Opens a message with a `T` in it.
#[inline]
pub(crate) fn open<T: Value, R, G: FnOnce(T, Status) -> R>(give: G) -> Opening<T, G> {
    let _value = PhantomData;
    Opening { give, _value }
}

impl<T: Value, R, G: FnOnce(T, Status) -> R> Use for Opening<T, G> {
    type Output = R;
    type Taken = T;

    #[inline]
    fn at_hand(envelope: &mut Envelope) -> Option<T> {
        envelope.at_hand()
    }

    #[inline]
    fn give(self, taken: T, status: Status) -> R {
        (self.give)(taken, status)
    }

    #[inline]
    fn open(self, envelope: Envelope) -> Result<R, Unused> {
        let status = envelope.status;
        match envelope.open() {
            Ok(value) => Ok((self.give)(value, status)),
            Err(unopened) => Err(unused::<T>(*unopened)),
        }
    }
}

impl<R, F: FnOnce(Envelope) -> Result<R, Unused>> Use for Whole<F> {
    type Output = R;
    type Taken = Infallible;

    #[inline]
    fn at_hand(_: &mut Envelope) -> Option<Infallible> {
        None
    }

    fn give(self, taken: Infallible, _: Status) -> R {
        match taken {}
    }

    fn open(self, envelope: Envelope) -> Result<R, Unused> {
        (self.0)(envelope)
    }
}

#[cold]
fn unused<T>((envelope, reason): (Envelope, Option<String>)) -> Unused {
    let error = unopened::<T>(&envelope, reason);
    Box::new((envelope, error))
}

/// Why no `T` came out of an envelope: it cannot be read, if there is a reason for that; else it
/// holds something else.
pub(crate) fn unopened<T>(envelope: &Envelope, reason: Option<String>) -> CommError {
    let Status { source, tag } = envelope.status;
    let found = envelope.type_name();
    match reason {
        None => CommError::WrongType {
            source,
            tag,
            wanted: std::any::type_name::<T>(),
            found,
        },
        Some(reason) => CommError::Unreadable {
            source,
            tag,
            type_name: found,
            reason,
        },
    }
}

/// A receive.
pub(crate) struct Receiving<'c, U> {
    comm: &'c Communicator,
    wanted: ReceivePattern,
    location: &'static Location<'static>,
    use_it: Option<U>,
    /// The collective of which it is a part, if it is not a call of the program.
    part_of: Option<&'static str>,
    state: State,
}

enum State {
    New,
    Refused(Box<CommError>),
    Posted(PostedReceive),
    Ended,
}

impl<'c, U: Use> Receiving<'c, U> {
    #[inline]
    pub(crate) fn new(
        comm: &'c Communicator,
        wanted: ReceivePattern,
        location: &'static Location<'static>,
        use_it: U,
    ) -> Self {
        Receiving {
            comm,
            wanted,
            location,
            use_it: Some(use_it),
            part_of: None,
            state: State::New,
        }
    }

    /// What it receives.
    pub(crate) fn kind(&self) -> MessageKind {
        self.wanted.context.kind
    }

    /// The program has called this collective, not a receive.
    pub(crate) fn part_of(mut self, name: &'static str) -> Self {
        self.part_of = Some(name);
        self
    }

    /// Posts it to be looked at later, if that has not happened. What is there already waits in its
    /// ticket. If the receive is given up, receives that were posted after it get what they would
    /// have got without it.
    pub(crate) fn post(&mut self) {
        if matches!(self.state, State::New) {
            self.state = match self.comm.check_source(self.wanted.source) {
                Ok(()) => State::Posted(self.comm.fabric().request(&self.wanted)),
                Err(refused) => State::Refused(Box::new(refused)),
            };
        }
    }

    /// Makes the result of what has come.
    #[inline]
    fn open(&mut self, envelope: Envelope) -> Option<Result<U::Output, CommError>> {
        match self.use_it.take()?.open(envelope) {
            Ok(result) => Some(Ok(result)),
            Err(unused) => Some(Err(self.put_back(*unused))),
        }
    }

    /// Brings back what was of no use; why it was not.
    #[cold]
    fn put_back(&self, (envelope, error): (Envelope, CommError)) -> CommError {
        self.comm.fabric().put_back(envelope);
        error
    }
}

impl Communicator {
    /// Checks that messages can come from there.
    #[inline]
    pub(crate) fn check_source(&self, source: Source) -> Result<(), CommError> {
        match source {
            Source::Any | Source::Outside => Ok(()),
            Source::Rank(rank) => self.check_rank(rank),
            Source::Null => Err(CommError::NullSource),
        }
    }
}

impl<U: Use> PendingCall for Receiving<'_, U> {
    type Output = Result<U::Output, CommError>;

    #[inline]
    fn look(&mut self) -> Option<Self::Output> {
        if let State::New = self.state {
            self.state = State::Ended;
            if let Err(refused) = self.comm.check_source(self.wanted.source) {
                return Some(Err(refused));
            }
            match self.comm.fabric().post_at_hand(&self.wanted, U::at_hand) {
                Ok(ReceivedValue::AtHand(taken, status)) => {
                    return Some(Ok(self.use_it.take()?.give(taken, status)));
                }
                Ok(ReceivedValue::Message(envelope)) => return self.open(envelope),
                Err(ticket) => self.state = State::Posted(ticket),
            }
        }
        if let State::Posted(ticket) = &mut self.state {
            let envelope = self.comm.fabric().collect(ticket)?;
            self.state = State::Ended;
            return self.open(envelope);
        }
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Refused(refused) => Some(Err(*refused)),
            State::New | State::Posted(_) | State::Ended => None,
        }
    }

    fn why(&self) -> Whys {
        let operation = match self.part_of {
            Some(name) => WaitOperation::Collective { name, root: None },
            None => WaitOperation::Recv {
                source: self.wanted.source,
                tag: self.wanted.tag,
            },
        };
        vec![self.comm.waits_in(operation, self.location)]
    }

    fn called(&self) -> Option<Called> {
        Some(Called::new(self.part_of.unwrap_or("recv"), self.location))
    }

    fn cancel(&mut self) -> bool {
        self.give_up()
    }
}

impl<U> Receiving<'_, U> {
    /// Who is to send, if it is one rank.
    pub(crate) fn source(&self) -> Option<usize> {
        match self.wanted.source {
            Source::Rank(rank) => Some(rank),
            Source::Any | Source::Null | Source::Outside => None,
        }
    }

    /// Nobody waits for it any more, and its message comes all the same: its ticket, if it has not
    /// ended.
    pub(crate) fn leave(&mut self) -> Option<PostedReceive> {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::New => Some(self.comm.fabric().request(&self.wanted)),
            State::Posted(ticket) => Some(ticket),
            State::Refused(_) | State::Ended => None,
        }
    }

    /// As if it had never been posted; `false` when its message had come.
    fn give_up(&mut self) -> bool {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::New => true,
            State::Posted(ticket) => self.comm.fabric().withdraw(ticket),
            State::Refused(_) | State::Ended => false,
        }
    }
}

impl<U> Drop for Receiving<'_, U> {
    #[inline]
    fn drop(&mut self) {
        if !matches!(self.state, State::Ended) {
            self.give_up();
        }
    }
}

/// The tag of messages that need none.
pub(crate) const NO_TAG: Tag = 0;
